"""What the functions of Python's library, and of a few packages that everybody has, would do."""

import posixpath
from collections.abc import Callable

from trotline.analysis.code.acts import ACTS, Act, table
from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.values import NOTHING, Call, Value, concatenated, listed, mixed, text
from trotline.analysis.scene import UNKNOWN
from trotline.pattern import pattern

_HTTP = ("requests", "httpx", "requests.Session", "httpx.Client", "aiohttp.ClientSession", "session")


def _path(deeds: Deeds, call: Call) -> Value:
    del deeds
    parts = [value.text for value in call.values] or ["."]
    return mixed(list(call.values))._replace(text=posixpath.join(*parts), name="Path")


def _method(act: str) -> Act:
    """The act on the path that the method belongs to."""

    def apply(deeds: Deeds, call: Call) -> Value:
        owner = call.owner or NOTHING
        return ACTS[act](deeds, call._replace(values=(owner._replace(name=""), *call.values)))

    return apply


def _on_path(deeds: Deeds, call: Call) -> Value:
    """A path that is made of the owner: `with_name`, `parent / ...`, `glob`."""
    del deeds
    owner, name = call.owner or NOTHING, call.name.rpartition(".")[2]
    first = call.values[0].text if call.values else UNKNOWN
    if name in {"with_name", "with_stem"}:
        return owner._replace(text=posixpath.join(posixpath.dirname(owner.text), first))
    if name in {"joinpath", "glob"}:
        return owner._replace(text=posixpath.join(owner.text, *(value.text for value in call.values)))
    if name == "rglob":
        return owner._replace(text=posixpath.join(owner.text, "**", first))
    if name == "iterdir":
        return owner._replace(text=posixpath.join(owner.text, "*"))
    return owner


def _expanduser(deeds: Deeds, call: Call) -> Value:
    owner = call.values[0] if call.values else call.owner or NOTHING
    return ACTS["expand"](deeds, call._replace(values=(owner,)))._replace(name=owner.name)


def _expandvars(deeds: Deeds, call: Call) -> Value:
    """`$NAME` and `${NAME}`; those of the line are known."""
    value = call.first()
    return value.with_text(_VARIABLE.sub(lambda found: deeds.variable(text(found[1] or found[2])).text, value.text))


_VARIABLE = pattern(r"\$(?:(\w+)|\{(\w+)\})")


def _written(deeds: Deeds, call: Call) -> Value:
    """`os.write(os.open(path, flags), data)`."""
    file, content = call.at(0) or NOTHING, call.at(1)
    for path in file.paths if file.name == "<file>" else ():
        deeds.write(text(path), "write", content)
    return NOTHING


def _home(deeds: Deeds, call: Call) -> Value:
    del call
    return Value(deeds.step.scene.world.home, "Path")


def _cwd(deeds: Deeds, call: Call) -> Value:
    return Value(deeds.step.scene.cwd, "Path" if call.name.startswith("pathlib") else "")


def _chdir(deeds: Deeds, call: Call) -> Value:
    if call.values:
        deeds.step.scene.cwd = deeds.path(call.values[0])
    return NOTHING


def _walk(deeds: Deeds, call: Call) -> Value:
    """What `os.walk` gives: every directory, and the names in it."""
    del deeds
    root = call.at(0, "top", "path") or NOTHING
    everywhere = root._replace(text=posixpath.join(root.text, "**"), items=None)
    return listed([listed([everywhere, text("*"), text("*")])])


def _listing(deeds: Deeds, call: Call) -> Value:
    del deeds
    return Value("*", "<glob>") if call.name.endswith("listdir") else Value(_entry(call), "Path")


def _entry(call: Call) -> str:
    return posixpath.join(call.values[0].text if call.values else ".", "*")


def _formatted(deeds: Deeds, call: Call) -> Value:
    """Methods of texts that keep their text, or put others into it."""
    del deeds
    owner, name = call.owner or NOTHING, call.name.rpartition(".")[2]
    values = list(call.values)
    if name == "join" and values and values[0].items is not None:
        return concatenated(list(values[0].items), owner.text)
    if name == "format":
        done = owner.text
        for index, value in enumerate(values):
            done = done.replace("{}", value.text, 1).replace(f"{{{index}}}", value.text)
        for key, value in call.named.items():
            done = done.replace(f"{{{key}}}", value.text)
        return mixed([owner, *values]).with_text(done)
    if name == "replace" and len(values) > 1 and values[0].text:
        return owner.with_text(owner.text.replace(values[0].text, values[1].text))
    if name == "split":
        parts = owner.text.split(values[0].text if values and values[0].text else None)
        return listed([owner.with_text(part) for part in parts]) if owner.known else owner
    changes: dict[str, Callable[[str], str]] = {
        "strip": str.strip,
        "lower": str.lower,
        "upper": str.upper,
        "rstrip": str.rstrip,
        "lstrip": str.lstrip,
    }
    return owner.with_text(changes[name](owner.text)) if name in changes and not values else owner


def _decode(deeds: Deeds, call: Call) -> Value:
    owner = call.owner or NOTHING
    return ACTS["codec"](deeds, call._replace(values=(owner, *call.values))) if call.values else owner


def _characters(deeds: Deeds, call: Call) -> Value:
    """`chr(114)`, `bytes([114, 109])`: letters by their numbers."""
    del deeds
    values = call.values[0].flat() if call.values else ()
    if values and all(value.text.isascii() and value.text.isdigit() and len(value.text) < 7 for value in values):
        return text("".join(chr(min(int(value.text), 0x10FFFF)) for value in values))
    return values[0] if len(values) == 1 else NOTHING


def _database(deeds: Deeds, call: Call) -> Value:
    """What a connection is told is told to the program that talks to the same database."""
    del deeds
    return Value(call.values[0].text if call.values else UNKNOWN, f"database:{call.name.partition('.')[0]}")


_CLIENTS = {"sqlite3": "sqlite3", "psycopg2": "psql", "psycopg": "psql", "MySQLdb": "mysql", "pymysql": "mysql"}


def query(deeds: Deeds, call: Call) -> Value:
    owner = call.owner or NOTHING
    client = _CLIENTS.get(owner.name.partition(":")[2], "")
    if client and call.values:
        words = [text(client), owner._replace(name="")] if client == "sqlite3" else [text(client), text("-c")]
        deeds.run([*words, call.values[0]])
    return owner


def _of_a_library(deeds: Deeds, call: Call) -> Value:
    """`CDLL(None).system`: C has the same."""
    return deeds.script(call.values[0]) if call.values else NOTHING


def _popen(deeds: Deeds, call: Call) -> Value:
    """A process that may be told more: `told` has it by its call."""
    return ACTS["program"](deeds, call)._replace(name=PROCESS, body=call)


def told(deeds: Deeds, call: Call) -> Value:
    """`process.communicate(text)`, `process.stdin.write(text)`."""
    owner = call.owner or NOTHING
    process = owner if owner.name == PROCESS else owner.owner or NOTHING
    begun, said = process.body, call.at(0, "input")
    if isinstance(begun, Call) and said is not None:
        return ACTS["program"](deeds, begun._replace(named={**begun.named, "input": said}))
    return process._replace(name="", body=None)


PROCESS = "<process>"


def _tempfile(deeds: Deeds, call: Call) -> Value:
    del call
    return Value(f"{deeds.step.scene.world.temporary[0]}/scratch", "<file>")


CALLS = table(
    base64="base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode base64.decodebytes binascii.a2b_base64",
    chmod="os.chmod os.chown os.lchown os.fchmod shutil.chown",
    codec="codecs.decode",
    connect="socket.create_connection socket.connect paramiko.SSHClient.connect ftplib.FTP telnetlib.Telnet"
    " http.client.HTTPSConnection http.client.HTTPConnection smtplib.SMTP socket.connect_ex",
    copy="shutil.copy shutil.copy2 shutil.copyfile shutil.copytree",
    delete="os.remove os.unlink Path.unlink send2trash.send2trash",
    download="urllib.request.urlretrieve urllib.urlretrieve wget.download",
    empty="os.truncate",
    eval="exec eval compile runpy.run_string execfile code.InteractiveInterpreter.runsource types.FunctionType"
    " timeit.timeit timeit.repeat cProfile.run profile.run trace.Trace.run",
    exec="os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle"
    " os.spawnlp os.spawnv os.spawnve os.spawnvp os.spawnvpe os.posix_spawn os.posix_spawnp",
    expand="os.path.expanduser",
    fetch="urllib.request.urlopen urllib.urlopen urllib2.urlopen urllib.request.Request "
    + " ".join(f"{client}.{verb}" for client in _HTTP for verb in ("get", "head", "options", "stream")),
    glob="glob.glob glob.iglob",
    hex="bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex",
    inflate="zlib.decompress gzip.decompress bz2.decompress lzma.decompress",
    join="os.path.join",
    kill="os.kill os.killpg",
    link="os.link os.symlink",
    load="ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.PyDLL runpy.run_path torch.hub.load",
    make="os.mkdir os.makedirs os.mkfifo os.mknod",
    move="os.rename os.renames os.replace shutil.move",
    open="open io.open codecs.open os.open os.fdopen",
    program="subprocess.run subprocess.call subprocess.check_call subprocess.check_output pty.spawn"
    " subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell",
    quiet="repr",
    read="os.listxattr numpy.load pandas.read_csv pandas.read_json dotenv.load_dotenv dotenv.dotenv_values",
    request=" ".join(f"{client}.request" for client in _HTTP),
    reversed="reversed",
    rmdir="os.rmdir os.removedirs",
    same="str bytes bytearray os.fspath os.path.abspath os.path.realpath os.path.normpath os.fsencode os.fsdecode"
    " shlex.quote textwrap.dedent sorted list tuple set iter open_text bytes.decode io.StringIO io.BytesIO",
    say="print sys.stdout.write sys.stdout.buffer.write",
    send=" ".join(f"{client}.{verb}" for client in _HTTP for verb in ("post", "put", "patch", "delete")),
    several="asyncio.create_subprocess_exec sh.Command",
    script="os.system os.popen os.startfile commands.getoutput popen2.popen2 platform.popen pexpect.run pexpect.spawn"
    " pexpect.runu invoke.run invoke.Context.run fabric.api.local fabric.api.run fabric.api.sudo fabric.Connection.run"
    " fabric.Connection.local fabric.Connection.sudo paramiko.SSHClient.exec_command delegator.run envoy.run",
    tree="shutil.rmtree distutils.dir_util.remove_tree setuptools._distutils.dir_util.remove_tree",
    unpickle="pickle.load pickle.loads cPickle.load cPickle.loads _pickle.load _pickle.loads marshal.load marshal.loads"
    " dill.load dill.loads cloudpickle.load cloudpickle.loads joblib.load torch.load yaml.unsafe_load shelve.open",
    variable="os.getenv os.environ.get os.environ.copy os.environ.items os.getenvb os.environ.values",
    wire="os.dup2",
)
CALLS |= {
    "?.system": _of_a_library,
    "subprocess.Popen": _popen,
    "bytes.decode": _decode,
    "chr": _characters,
    "bytes": _characters,
    "os.chdir": _chdir,
    "os.getcwd": _cwd,
    "os.listdir": _listing,
    "os.path.expanduser": _expanduser,
    "os.path.expandvars": _expandvars,
    "os.scandir": _listing,
    "os.walk": _walk,
    "os.write": _written,
    "os.fwalk": _walk,
    "pathlib.Path": _path,
    "pathlib.Path.cwd": _cwd,
    "pathlib.Path.home": _home,
    "pathlib.PosixPath": _path,
    "pathlib.PurePath": _path,
    "tempfile.NamedTemporaryFile": _tempfile,
    "tempfile.mkdtemp": _tempfile,
    "tempfile.TemporaryDirectory": _tempfile,
    **dict.fromkeys((f"{client}.connect" for client in _CLIENTS), _database),
}

METHODS = {
    **dict.fromkeys("unlink remove".split(), _method("delete")),
    **dict.fromkeys("rename replace move".split(), _method("move")),
    **dict.fromkeys("write_text write_bytes".split(), _method("write")),
    **dict.fromkeys("read_text read_bytes".split(), _method("read")),
    **dict.fromkeys("touch mkdir".split(), _method("make")),
    **dict.fromkeys("symlink_to hardlink_to link_to".split(), _method("link")),
    **dict.fromkeys("joinpath with_name with_stem resolve absolute as_posix glob rglob iterdir".split(), _on_path),
    "chmod": _method("chmod"),
    "copy": _method("copy"),
    "expanduser": _expanduser,
    "open": _method("open"),
    "rmdir": _method("rmdir"),
    "rmtree": _method("tree"),
}
"""Of paths."""

TEXT_METHODS = {
    **dict.fromkeys(
        "join format replace strip lstrip rstrip lower upper encode split splitlines read readlines".split(), _formatted
    ),
    "decode": _decode,
}
