"""Actions of functions of Python's standard library and of common packages."""

import posixpath

from trotline.analysis.code.call_actions import ACTIONS, CallAction, build_actions
from trotline.analysis.code.code_effects import (
    UNKNOWN_VALUE,
    CodeCall,
    CodeEffects,
    CodeValue,
    concatenate,
    make_list,
    make_text,
    mix_values,
)
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR
from trotline.formats.lazy_regex import lazy_regex

_HTTP = ("requests", "httpx", "requests.Session", "httpx.Client", "aiohttp.ClientSession", "session")


def _make_path(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    parts = [value.text for value in call.args] or ["."]
    return mix_values(list(call.args))._replace(text=posixpath.join(*parts), name="Path")


def _bind_to_owner(action: str) -> CallAction:
    """Return an action on the path that the method belongs to."""

    def apply(effects: CodeEffects, call: CodeCall) -> CodeValue:
        owner = call.owner or UNKNOWN_VALUE
        return ACTIONS[action](effects, call._replace(args=(owner._replace(name=""), *call.args)))

    return apply


def _derive_path(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return a path that a method derives: `with_name`, `joinpath`, `glob`."""
    owner, name = call.owner or UNKNOWN_VALUE, call.method
    first = call.args[0].text if call.args else UNKNOWN_CHAR
    if name in {"with_name", "with_stem"}:
        return owner._replace(text=posixpath.join(posixpath.dirname(owner.text), first))
    if name in {"joinpath", "glob"}:
        return owner._replace(text=posixpath.join(owner.text, *(value.text for value in call.args)))
    if name == "rglob":
        return owner._replace(text=posixpath.join(owner.text, "**", first))
    if name == "iterdir":
        return owner._replace(text=posixpath.join(owner.text, "*"))
    return owner


def _expanduser(effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.args[0] if call.args else call.owner or UNKNOWN_VALUE
    return ACTIONS["expand_tilde"](effects, call._replace(args=(owner,)))._replace(name=owner.name)


def _expandvars(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Expand `$NAME` and `${NAME}`."""
    value = call.get_first()
    return value.with_text(
        _VARIABLE.sub(lambda found: effects.get_variable(make_text(found[1] or found[2])).text, value.text)
    )


_VARIABLE = lazy_regex(r"\$(?:(\w+)|\{(\w+)\})")


def _write_descriptor(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Handle `os.write(os.open(path, flags), data)`."""
    file, content = call.get_arg(0) or UNKNOWN_VALUE, call.get_arg(1)
    for path in file.paths if file.name == "<file>" else ():
        effects.add_write(make_text(path), "write", content)
    return UNKNOWN_VALUE


def _get_home(effects: CodeEffects, _call: CodeCall) -> CodeValue:
    return CodeValue(effects.call.state.environment.home, name="Path")


def _get_cwd(effects: CodeEffects, call: CodeCall) -> CodeValue:
    return CodeValue(effects.call.state.cwd, name="Path" if call.name.startswith("pathlib") else "")


def _chdir(effects: CodeEffects, call: CodeCall) -> CodeValue:
    if call.args:
        effects.call.state.cwd = effects.resolve(call.args[0])
    return UNKNOWN_VALUE


def _walk(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the result of `os.walk`: every directory and the names in it."""
    root = call.get_arg(0, "top", "path") or UNKNOWN_VALUE
    everywhere = root._replace(text=posixpath.join(root.text, "**"), items=None)
    return make_list([make_list([everywhere, make_text("*"), make_text("*")])])


def _list_directory(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    if call.method == "listdir":
        return CodeValue("*", name="<glob>")
    return CodeValue(posixpath.join(call.args[0].text if call.args else ".", "*"), name="Path")


def _call_text_method(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Handle methods of strings: `join`, `format`, `replace`, `split`, `strip` and others."""
    owner, name = call.owner or UNKNOWN_VALUE, call.method
    values = list(call.args)
    if name == "join" and values and values[0].items is not None:
        return concatenate(list(values[0].items), owner.text)
    if name == "format":
        text = owner.text
        for index, value in enumerate(values):
            text = text.replace("{}", value.text, 1).replace(f"{{{index}}}", value.text)
        for key, value in call.kwargs.items():
            text = text.replace(f"{{{key}}}", value.text)
        return mix_values([owner, *values]).with_text(text)
    if name == "replace" and len(values) > 1 and values[0].text:
        return owner.with_text(owner.text.replace(values[0].text, values[1].text))
    if name == "split":
        parts = owner.text.split(values[0].text if values and values[0].text else None)
        return make_list([owner.with_text(part) for part in parts]) if owner.is_known else owner
    if name in {"strip", "lstrip", "rstrip", "lower", "upper"} and not values:
        return owner.with_text(getattr(owner.text, name)())
    return owner


def _decode(effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    return ACTIONS["decode"](effects, call._replace(args=(owner, *call.args))) if call.args else owner


def _make_characters(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the text of character codes: `chr(114)`, `bytes([114, 109])`."""
    values = call.args[0].flatten() if call.args else ()
    if values and all(value.text.isascii() and value.text.isdigit() and len(value.text) < 7 for value in values):
        return make_text("".join(chr(min(int(value.text), 0x10FFFF)) for value in values))
    return values[0] if len(values) == 1 else UNKNOWN_VALUE


def _connect_database(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return a connection that remembers its database client."""
    return CodeValue(call.args[0].text if call.args else UNKNOWN_CHAR, name=f"database:{call.name.partition('.')[0]}")


_CLIENTS = {"sqlite3": "sqlite3", "psycopg2": "psql", "psycopg": "psql", "MySQLdb": "mysql", "pymysql": "mysql"}


def run_query(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze an SQL query with the client program of its database."""
    owner = call.owner or UNKNOWN_VALUE
    client = _CLIENTS.get(owner.name.partition(":")[2], "")
    if client and call.args:
        target = owner._replace(name="") if client == "sqlite3" else make_text("-c")
        effects.analyze_command([make_text(client), target, call.args[0]])
    return owner


def _call_c_system(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze `CDLL(None).system(...)`."""
    return effects.analyze_script(call.args[0]) if call.args else UNKNOWN_VALUE


def _start_process(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Start a process that may get input later by `write_to_process`."""
    return ACTIONS["run_program"](effects, call)._replace(name=PROCESS, body=call)


def write_to_process(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Handle `process.communicate(text)` and `process.stdin.write(text)`."""
    owner = call.owner or UNKNOWN_VALUE
    process = owner if owner.name == PROCESS else owner.owner or UNKNOWN_VALUE
    process_call, stdin = process.body, call.get_arg(0, "input")
    if isinstance(process_call, CodeCall) and stdin is not None:
        return ACTIONS["run_program"](effects, process_call._replace(kwargs={**process_call.kwargs, "input": stdin}))
    return process._replace(name="", body=None)


PROCESS = "<process>"


def _make_temporary(effects: CodeEffects, _call: CodeCall) -> CodeValue:
    return CodeValue(f"{effects.call.state.environment.temporary[0]}/scratch", name="<file>")


PYTHON_ACTIONS = build_actions(
    decode_base64="base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode base64.decodebytes"
    " binascii.a2b_base64",
    change_mode="os.chmod os.chown os.lchown os.fchmod shutil.chown",
    decode="codecs.decode",
    connect="socket.create_connection socket.connect paramiko.SSHClient.connect ftplib.FTP telnetlib.Telnet"
    " http.client.HTTPSConnection http.client.HTTPConnection smtplib.SMTP socket.connect_ex",
    copy="shutil.copy shutil.copy2 shutil.copyfile shutil.copytree",
    delete="os.remove os.unlink Path.unlink send2trash.send2trash",
    download="urllib.request.urlretrieve urllib.urlretrieve wget.download",
    truncate="os.truncate",
    run_code="exec eval compile runpy.run_string execfile code.InteractiveInterpreter.runsource types.FunctionType"
    " timeit.timeit timeit.repeat cProfile.run profile.run trace.Trace.run",
    replace_process="os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl"
    " os.spawnle os.spawnlp os.spawnv os.spawnve os.spawnvp os.spawnvpe os.posix_spawn os.posix_spawnp",
    expand_tilde="os.path.expanduser",
    fetch="urllib.request.urlopen urllib.urlopen urllib2.urlopen urllib.request.Request "
    + " ".join(f"{client}.{verb}" for client in _HTTP for verb in ("get", "head", "options", "stream")),
    build_glob="glob.glob glob.iglob",
    decode_hex="bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex",
    decompress="zlib.decompress gzip.decompress bz2.decompress lzma.decompress",
    join_paths="os.path.join",
    kill="os.kill os.killpg",
    link="os.link os.symlink",
    load_code="ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.PyDLL runpy.run_path torch.hub.load",
    create="os.mkdir os.makedirs os.mkfifo os.mknod",
    move="os.rename os.renames os.replace shutil.move",
    open="open io.open codecs.open os.open os.fdopen",
    run_program="subprocess.run subprocess.call subprocess.check_call subprocess.check_output pty.spawn"
    " subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell",
    mix_arguments="repr",
    read="os.listxattr numpy.load pandas.read_csv pandas.read_json dotenv.load_dotenv dotenv.dotenv_values",
    request=" ".join(f"{client}.request" for client in _HTTP),
    reverse_text="reversed",
    rmdir="os.rmdir os.removedirs",
    return_first="str bytes bytearray os.fspath os.path.abspath os.path.realpath os.path.normpath os.fsencode"
    " os.fsdecode shlex.quote textwrap.dedent sorted list tuple set iter open_text bytes.decode io.StringIO io.BytesIO",
    print="print sys.stdout.write sys.stdout.buffer.write",
    send=" ".join(f"{client}.{verb}" for client in _HTTP for verb in ("post", "put", "patch", "delete")),
    run_words="asyncio.create_subprocess_exec sh.Command",
    run_script="os.system os.popen os.startfile commands.getoutput popen2.popen2 platform.popen pexpect.run"
    " pexpect.spawn pexpect.runu invoke.run invoke.Context.run fabric.api.local fabric.api.run fabric.api.sudo"
    " fabric.Connection.run fabric.Connection.local fabric.Connection.sudo paramiko.SSHClient.exec_command"
    " delegator.run envoy.run",
    delete_tree="shutil.rmtree distutils.dir_util.remove_tree setuptools._distutils.dir_util.remove_tree",
    unpickle="pickle.load pickle.loads cPickle.load cPickle.loads _pickle.load _pickle.loads marshal.load"
    " marshal.loads dill.load dill.loads cloudpickle.load cloudpickle.loads joblib.load torch.load yaml.unsafe_load"
    " shelve.open",
    get_variable="os.getenv os.environ.get os.environ.copy os.environ.items os.getenvb os.environ.values",
    connect_stdin="os.dup2",
)
PYTHON_ACTIONS |= {
    "?.system": _call_c_system,
    "subprocess.Popen": _start_process,
    "bytes.decode": _decode,
    "chr": _make_characters,
    "bytes": _make_characters,
    "os.chdir": _chdir,
    "os.getcwd": _get_cwd,
    "os.listdir": _list_directory,
    "os.path.expanduser": _expanduser,
    "os.path.expandvars": _expandvars,
    "os.scandir": _list_directory,
    "os.walk": _walk,
    "os.write": _write_descriptor,
    "os.fwalk": _walk,
    "pathlib.Path": _make_path,
    "pathlib.Path.cwd": _get_cwd,
    "pathlib.Path.home": _get_home,
    "pathlib.PosixPath": _make_path,
    "pathlib.PurePath": _make_path,
    "tempfile.NamedTemporaryFile": _make_temporary,
    "tempfile.mkdtemp": _make_temporary,
    "tempfile.TemporaryDirectory": _make_temporary,
    **dict.fromkeys((f"{client}.connect" for client in _CLIENTS), _connect_database),
}

PATH_METHODS = {
    **dict.fromkeys("unlink remove".split(), _bind_to_owner("delete")),
    **dict.fromkeys("rename replace move".split(), _bind_to_owner("move")),
    **dict.fromkeys("write_text write_bytes".split(), _bind_to_owner("write")),
    **dict.fromkeys("read_text read_bytes".split(), _bind_to_owner("read")),
    **dict.fromkeys("touch mkdir".split(), _bind_to_owner("create")),
    **dict.fromkeys("symlink_to hardlink_to link_to".split(), _bind_to_owner("link")),
    **dict.fromkeys("joinpath with_name with_stem resolve absolute as_posix glob rglob iterdir".split(), _derive_path),
    "chmod": _bind_to_owner("change_mode"),
    "copy": _bind_to_owner("copy"),
    "expanduser": _expanduser,
    "open": _bind_to_owner("open"),
    "rmdir": _bind_to_owner("rmdir"),
    "rmtree": _bind_to_owner("delete_tree"),
}
"""Methods of paths."""

TEXT_METHODS = {
    **dict.fromkeys(
        "join format replace strip lstrip rstrip lower upper encode split splitlines read readlines".split(),
        _call_text_method,
    ),
    "decode": _decode,
}
