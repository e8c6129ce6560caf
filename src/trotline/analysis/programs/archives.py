"""Archivers: they read what they pack, write what they unpack, and some run other programs."""

from trotline.analysis.options import ParsedOptions
from trotline.analysis.programs import enter_directories
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, Stream, join_streams

_TAR_VALUED = (
    "f C T X b g V L N H K file directory files-from exclude exclude-from checkpoint-action transform xform"
    " strip-components owner group mode mtime one-top-level starting-file suffix newer"
)
_TAR_SCRIPTS = "to-command info-script new-volume-script F rsh-command rmt-command I use-compress-program"


def _handle_tar(call: Invocation) -> None:
    _expand_old_options(call)
    default = call.state.get_variable("TAR_OPTIONS")
    if default is not None and default.texts[0]:
        call.args = [*(call.program._replace(text=part) for part in default.texts[0].split()), *call.args]
    options = call.parse_options(_TAR_VALUED, scripts=_TAR_SCRIPTS)
    for arg in options.values("checkpoint-action"):
        if arg.text.startswith("exec="):
            call.analyze_script(arg._replace(text=arg.text[5:]))
    state = enter_directories(call.state, options.values("C", "directory"))
    archives = options.values("f", "file")
    if options.has("c", "create", "r", "append", "u", "update", "A"):
        _pack(call, options, archives[-1:], state.cwd)
    elif options.has("x", "extract", "get"):
        stream = _read_archive(call, archives)
        if options.has("O", "to-stdout"):
            call.stdout = stream.drop_text().add_origins("decoded")
        else:
            arg = (options.values("C", "directory") or [Argument(".", call.start, call.end)])[-1]
            call.add_write(arg, verb="unpack", recursive=True, source=stream.effect_source)
            _record_unpacked(call, stream, state.cwd)
            call.stdout = EMPTY_STREAM
    elif options.has("t", "list", "d", "diff"):
        _read_archive(call, archives)
        call.stdout = Stream()


def _expand_old_options(call: Invocation) -> None:
    """Add the dashes to `tar xzf a.tgz`, whose first word consists of option letters."""
    if call.args and call.args[0].text[:1].isalpha() and "/" not in call.args[0].text:
        first = call.args[0]
        if {*first.text} & set("cxtruA") and len(first.text) < 9:
            call.args = [first._replace(text="-" + first.text), *call.args[1:]]
            letters = [letter for letter in first.text if letter in "fCTXIbVLgNHK"]
            if len(letters) > 1 or (letters and first.text[-1] not in letters):
                plain = "".join(letter for letter in first.text if letter not in letters)
                values = call.args[1 : 1 + len(letters)]
                pairs = [
                    first._replace(text=f"-{letter}{value.text}")
                    for letter, value in zip(letters, values, strict=False)
                ]
                call.args = [first._replace(text="-" + plain), *pairs, *call.args[1 + len(letters) :]]


def _pack(call: Invocation, options: ParsedOptions, archives: list[Argument], cwd: str) -> None:
    state = call.state.copy()
    state.cwd = cwd
    files = [arg._replace(text=state.resolve(arg.text)) for arg in options.rest]
    content = _read_packed_files(call, files, recursive=not options.has("no-recursion"))
    for arg in files if options.has("remove-files") else ():
        call.add_delete(arg, recursive=True)
    for arg in options.values("T", "files-from"):
        call.add_read(arg)
    call.stdout = content
    for arg in archives:
        _write_archive(call, arg, content)


def _read_packed_files(call: Invocation, files: list[Argument], *, recursive: bool) -> Stream:
    """Add reads of files that are packed, and return the content of the archive."""
    for arg in files:
        call.add_read(arg, verb="pack", recursive=recursive)
    return join_streams([call.state.get_content(call.resolve(arg)) for arg in files]).drop_text()


def _write_archive(call: Invocation, arg: Argument, content: Stream) -> None:
    """Add the effects of an archive that goes to a pipe, a file, or with `host:` to another machine."""
    if arg.text in {"-", "/dev/stdout"}:
        return
    host, colon, _ = arg.text.partition(":")
    if colon and "/" not in host and len(host) > 1:
        call.add_send(host.rpartition("@")[2], arg, source=content.effect_source)
    elif arg.text.startswith("/dev/fd/") and arg.text[8:] in call.state.descriptors:
        path = call.state.descriptors[arg.text[8:]][0]
        call.add_send(path.split("/")[3] if path.startswith("/dev/tcp/") else "", arg, source=content.effect_source)
    else:
        call.add_write(arg, verb="pack", source=content.effect_source)
        call.state.record_write(call.resolve(arg), content)
        call.stdout = EMPTY_STREAM


def _record_unpacked(call: Invocation, stream: Stream, directory: str) -> None:
    if "network" in stream.origins:
        call.state.unpacked_dirs.append(directory)


def _read_archive(call: Invocation, archives: list[Argument]) -> Stream:
    for arg in archives[-1:]:
        if arg.text != "-" and arg.pipe is None:
            call.add_read(arg, verb="look")
            return call.state.get_content(call.resolve(arg))
        if arg.pipe is not None:
            return arg.pipe
    return call.stdin


def _handle_zip(call: Invocation) -> None:
    options = call.parse_options("b n t P Z TT unzip-command temp-path i x")
    words = list(call.args)
    for index, word in enumerate(words[:-1]):
        if word.text in {"-TT", "--unzip-command"}:
            call.analyze_script(words[index + 1])
    files = [word for word in options.rest if word.text != "-" or word is options.rest[0]]
    listed = [call.program._replace(text=line) for line in (call.stdin.text or "").split()] if options.has("@") else []
    packed = [arg for arg in [*files[1:], *listed] if arg.text != "-"]
    content = _read_packed_files(call, packed, recursive=options.has("r")) if packed else call.stdin.drop_text()
    for arg in packed if options.has("m", "move") else ():
        call.add_delete(arg, recursive=options.has("r"))
    call.stdout = content
    for arg in files[:1]:
        if arg.text != "-":
            call.add_write(arg, verb="pack", source=content.effect_source)
            call.state.record_write(call.resolve(arg), content)
            call.stdout = EMPTY_STREAM


def _handle_unzip(call: Invocation) -> None:
    options = call.parse_options("d P x")
    for arg in options.rest[:1]:
        call.add_read(arg, verb="look")
    if options.has("l", "t", "v", "z", "Z"):
        return
    if options.has("p", "c"):
        contents = join_streams([call.state.get_content(call.resolve(arg)) for arg in options.rest[:1]])
        call.stdout = contents.drop_text().add_origins("decoded")
        return
    arg = (options.values("d") or [Argument(".", call.start, call.end)])[-1]
    call.add_write(arg, verb="unpack", recursive=True)


def _handle_7z(call: Invocation) -> None:
    """`7z`, `rar`, `ar`, `jar`: a letter or word for the action, the archive, the files."""
    words = [word for word in call.args if not (word.text.startswith("-") and len(word.text) > 1)]
    if len(words) < 2:
        return
    verb = words[0].text.lower() or "?"
    archive, files = words[1], words[2:]
    if verb[0] in "ex" or verb.startswith("extract"):
        call.add_read(archive, verb="look")
        target = next((word._replace(text=word.text[2:]) for word in call.args if word.text.startswith("-o")), None)
        call.add_write(target or Argument(".", call.start, call.end), verb="unpack", recursive=True)
    elif verb[0] in "aucmrqp" and verb != "p":
        content = _read_packed_files(call, files, recursive=True) if files else Stream()
        call.add_write(archive, verb="pack")
        call.state.record_write(call.resolve(archive), content)
        if any(word.text == "-sdel" for word in call.args) or (call.name == "rar" and verb == "m"):
            for arg in files:
                call.add_delete(arg, recursive=True)


def _handle_cpio(call: Invocation) -> None:
    options = call.parse_options("F I O D E H file directory format", scripts="rsh-command")
    names = [call.program._replace(text=line) for line in (call.stdin.text or "").split()]
    if options.has("o", "create", "p", "pass-through"):
        for arg in names:
            call.add_read(arg, verb="pack")
        call.stdout = Stream(None, call.stdin.origins, (*call.stdin.paths, *(call.resolve(arg) for arg in names)))
        for arg in (*options.values("F", "O", "file"), *(options.rest if options.has("p") else ())):
            call.add_write(arg, verb="pack")
    elif options.has("i", "extract") and not options.has("t", "list"):
        call.add_write(Argument(".", call.start, call.end), verb="unpack", recursive=True)


def _handle_mksquashfs(call: Invocation) -> None:
    options = call.parse_options("d dest comp b", long_dash=True)
    for arg in options.rest[:-1]:
        call.add_read(arg, verb="pack", recursive=True)
    for arg in options.rest[-1:]:
        call.add_write(arg, verb="pack")


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("7z 7za 7zr 7zz ar jar p7zip rar unrar".split(), _handle_7z),
    **dict.fromkeys("tar gtar bsdtar".split(), _handle_tar),
    "cpio": _handle_cpio,
    "genisoimage": _handle_mksquashfs,
    "mksquashfs": _handle_mksquashfs,
    "unzip": _handle_unzip,
    "zip": _handle_zip,
}
