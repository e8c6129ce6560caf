"""Programs that write, copy, move, change and delete files."""

import posixpath

from trotline.analysis.options import ParsedOptions
from trotline.analysis.programs import enter_directories
from trotline.analysis.programs.readers import read_contents
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.redirections import route_output
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream
from trotline.analysis.windows.windows_words import to_posix_path
from trotline.formats.lazy_regex import lazy_regex


def _handle_rm(call: Invocation) -> None:
    options = call.parse_options("interactive")
    recursive = options.has("r", "R", "recursive")
    for word in options.rest:
        call.add_delete(word, recursive=recursive, verb="rm" if call.name != "srm" else "srm")
        call.state.forget_file(call.resolve(word))
    if not options.rest and recursive:
        return
    call.stdout = Stream("")


def _handle_rmdir(call: Invocation) -> None:
    if any(word.text.lower() in {"/s", "/q"} for word in call.args):
        _handle_rd(call)  # on Windows it also deletes the contents
        return
    for word in call.parse_options().rest:
        call.add_effect("delete", "rmdir", word, path=call.resolve(word), source="empty", writes=True)
    call.stdout = Stream("")


def _handle_unlink(call: Invocation) -> None:
    for word in call.parse_options("n iterations s size random-source").rest:
        call.add_delete(word, verb=call.name)
    call.stdout = Stream("")


def _handle_rimraf(call: Invocation) -> None:
    """Add the deletions of the npm packages `rimraf` and `del-cli`."""
    options = call.parse_options("i impl tmp max-retries retry-delay backoff max-backoff")
    for word in options.rest if not options.has("dry-run") else ():
        call.add_delete(word, recursive=True, verb=call.name)
    call.stdout = Stream("")


def _handle_wipe(call: Invocation) -> None:
    """Add deletions; the files are also overwritten."""
    options = call.parse_options("b l o P Q R S T X q p")
    for word in options.rest:
        call.add_delete(word, recursive=options.has("r", "s"), verb="wipe")


def _handle_rd(call: Invocation) -> None:
    """Add the deletions of `rd /s /q` and `del /s` on Windows, also with options of PowerShell."""
    switches = {word.text.lower() for word in call.args if word.text.startswith("/") and len(word.text) == 2}
    flags = {word.text.lower() for word in call.args if word.text.startswith("-")}
    recursive = "/s" in switches or any("-recurse".startswith(flag) and len(flag) > 1 for flag in flags)
    for word in call.args:
        if word.text.lower() not in switches | flags:
            call.add_delete(to_posix_path(call, word), recursive=recursive, verb=call.name.lower())


def _handle_cp(call: Invocation) -> None:
    options = call.parse_options("t S target-directory suffix")
    sources, targets = _split_sources(options)
    for source in sources:
        call.add_read(source, verb="copy", recursive=options.has("r", "R", "a", "recursive", "archive"))
    _write_copies(call, sources, targets, "copy")
    call.stdout = Stream("")


def _write_copies(call: Invocation, sources: tuple[Argument, ...], targets: tuple[Argument, ...], verb: str) -> None:
    """Add writes of the targets, which have the contents of the sources for the rest of the line."""
    files = targets if verb == "link" else _get_written_files(call, sources, targets)
    for file in files:
        call.add_write(file, verb=verb, source=",".join(call.resolve(source) for source in sources))
    for target in targets[:1]:
        for source in sources:
            content = read_contents(call, (source,))
            inside = f"{call.resolve(target)}/{posixpath.basename(call.resolve(source))}"
            call.state.record_write(inside, content)  # if the target is a directory
            call.state.record_write(call.resolve(target), content)


def _get_written_files(
    call: Invocation, sources: tuple[Argument, ...], targets: tuple[Argument, ...]
) -> tuple[Argument, ...]:
    """Return the written files: in `DIRECTORY/`, each source under its own name."""
    if not targets or not targets[0].text.endswith("/") or not targets[0].is_known:
        return targets
    names = (posixpath.basename(call.resolve(source)) for source in sources[:MAX_FILES] if source.is_known)
    return tuple(targets[0]._replace(text=targets[0].text + name) for name in names) or targets


def _split_sources(options: ParsedOptions) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    directory = tuple(options.values("t", "target-directory"))
    return (options.rest, directory) if directory else (options.rest[:-1], options.rest[-1:])


def _handle_mv(call: Invocation) -> None:
    options = call.parse_options("t S target-directory suffix")
    sources, targets = _split_sources(options)
    for source in sources:
        path, target_path = call.resolve(source), call.resolve(targets[0]) if targets else ""
        call.add_effect("delete", "move", source, path=path, target=target_path, recursive=True, writes=True)
    _write_copies(call, sources, targets, "move")
    call.stdout = Stream("")


def _handle_trash(call: Invocation) -> None:
    """Add moves instead of deletions, because files in the trash can be restored."""
    for file in call.parse_options("trash-dir").rest:
        call.add_effect("delete", "move", file, path=call.resolve(file), recursive=True, writes=True)


_GIO_PROGRAMS = {"cat": "cat", "copy": "cp", "move": "mv", "open": "xdg-open", "remove": "rm", "trash": "trash-put"}


def _handle_gio(call: Invocation) -> None:
    verb, words = call.args[:1], call.args[1:]
    if verb and verb[0].text in _GIO_PROGRAMS:
        call.analyze_command((verb[0]._replace(text=_GIO_PROGRAMS[verb[0].text]), *words))


def _handle_ln(call: Invocation) -> None:
    options = call.parse_options("t S target-directory suffix")
    sources, targets = _split_sources(options)
    _write_copies(call, sources, targets, "link")
    for source in sources:
        target_path = call.resolve(targets[0]) if targets else ""
        call.add_effect("link", "link", source, path=call.resolve(source), target=target_path)


def _handle_tee(call: Invocation) -> None:
    options = call.parse_options()
    for file in options.rest:
        call.add_write(file, source=",".join(call.stdin.paths))
        route_output(call.analyzer, [(call.resolve(file), options.has("a", "append"))], call.stdin, call.state)
    call.stdout = call.stdin


def _handle_touch(call: Invocation) -> None:
    """Add the writes of `touch`, `mkdir`, `mkfifo` and `truncate`."""
    options = call.parse_options("d r t s m size mode date reference")
    if call.name.lower() == "truncate" and options.rest and options.rest[0].text.lower() == "table":
        call.analyze_command([call.program._replace(text="drop"), *call.args])  # `TRUNCATE TABLE x` is SQL
        return
    verb = {"truncate": "empty", "touch": "touch", "mkdir": "touch", "mkfifo": "pipe"}.get(call.name, "")
    for file in options.rest:
        call.add_write(file, verb=verb)
    call.stdout = Stream("")


def _handle_install(call: Invocation) -> None:
    options = call.parse_options("m o g t S mode owner group target-directory")
    sources, targets = _split_sources(options)
    if options.has("d", "directory"):
        sources, targets = options.rest[:0], options.rest
    for source in sources:
        call.add_read(source, verb="copy")
    _write_copies(call, sources, targets, "copy")


def _handle_dd(call: Invocation) -> None:
    for word in call.args:
        name, _, value = word.text.partition("=")
        if name == "if":
            call.add_read(word._replace(text=value))
        elif name == "of":
            sources = [other._replace(text=other.text[3:]) for other in call.args if other.text.startswith("if=")]
            call.add_write(word._replace(text=value), source=sources[0].text if sources else "")
            call.state.record_write(call.resolve(word._replace(text=value)), read_contents(call, tuple(sources[:1])))
    call.stdout = call.stdin.drop_text()


def _handle_sed(call: Invocation) -> None:
    options = call.parse_options("e f l expression file")
    scripts = options.values("e", "expression")
    files = options.rest if scripts or options.has("f", "file") else options.rest[1:]
    is_in_place = options.has("i", "in-place") or any(flag.startswith("i") for flag in options.flags)
    for file in files:
        call.add_read(file)
        if is_in_place:
            call.add_write(file, verb="edit")
    for script in scripts or list(options.rest[:1]):
        _analyze_sed_script(call, script)
    content = read_contents(call, files)
    call.stdout = content.drop_text() if not is_in_place else Stream("")
    if content.text is not None and len(options.rest) - len(files) == 1 and not is_in_place:
        call.stdout = content._replace(text=_substitute(content.text, options.rest[0].text))


MAX_SUBSTITUTION = 200
MAX_FILES = 16
_LITERAL_SUBSTITUTION = lazy_regex(r"s([/|#,:@!])([\w ./=:,@%+-]*)\1([\w ./=:,@%+-]*)\1(g?)")


def _substitute(text: str, script: str) -> str | None:
    """Return the text after a substitution of plain words, or None if the script does anything else."""
    match = _LITERAL_SUBSTITUTION.fullmatch(script) if len(script) < MAX_SUBSTITUTION else None
    if match is None or "." in match[2] or not match[2]:
        return None
    return "\n".join(line.replace(match[2], match[3], -1 if match[4] else 1) for line in text.split("\n"))


_ADDRESS = r"(?:^|[;\n{}])[ \t]*(?:(?:\d+|\$|/(?:\\.|[^/\\\n])*/)[ \t]*,?[ \t]*){0,2}!?[ \t]*"
_SED_RUNS = lazy_regex(_ADDRESS + r"e[ \t]+([^\n]+)")
_SED_WRITES = lazy_regex(_ADDRESS + r"[wW][ \t]+([^\n;]+)")
_SED_SUBSTITUTIONS = lazy_regex(
    _ADDRESS + r"s([^\w\s\\])((?:\\.|(?!\1)[^\\\n])*)\1((?:\\.|(?!\1)[^\\])*)\1([gpiIemM0-9]*)(?:w[ \t]+([^\n;]+))?"
)
MAX_SCRIPT = 10_000
"""Characters of a sed script that are analyzed."""


def _analyze_sed_script(call: Invocation, arg: Argument) -> None:
    """Analyze the commands (`e`, `s///e`) and files (`w`) of a script of GNU sed."""
    text = arg.text[:MAX_SCRIPT]
    for match in _SED_RUNS.finditer(text):
        call.analyze_script(arg._replace(text=match[1]))
    for match in _SED_WRITES.finditer(text):
        call.add_write(arg._replace(text=match[1].strip()))
    for match in _SED_SUBSTITUTIONS.finditer(text):
        if match[5]:
            call.add_write(arg._replace(text=match[5].strip()))
        if "e" in match[4]:
            replacement = _REPLACEMENT_REFERENCE.sub(UNKNOWN_CHAR, match[3])
            call.analyze_script(arg._replace(text=replacement.replace(f"\\{match[1]}", match[1])))
            call.add_opaque("sed runs what it has replaced", arg)


_REPLACEMENT_REFERENCE = lazy_regex(r"(?<!\\)&|\\[0-9]")
"""`&` and `\\1` in a replacement stand for text of the line."""


def _handle_chmod(call: Invocation) -> None:
    options = call.parse_options("reference")
    recursive = options.has("R", "recursive") or call.state.walks_tree
    if call.name == "chmod":
        words = [word for word in call.args if not (word.text.startswith("-") and set(word.text[1:]) <= set("Rcfv"))]
        words = [word for word in words if not word.text.startswith("--")]
        mode, files = (words[0].text, words[1:]) if words else ("", [])
    else:
        mode, files = (options.rest[0].text, list(options.rest[1:])) if options.rest else ("", [])
    for file in files:
        path = call.resolve(file)
        call.add_effect("permissions", call.name, file, path=path, recursive=recursive, target=mode, writes=True)
    call.stdout = Stream("")


def _handle_chattr(call: Invocation) -> None:
    """Add attribute changes. The words with a sign are the mode: `-i` removes an attribute."""
    words = [word for word in call.args if word.text not in {"-f", "-V", "-R", "--"}]
    modes = [word.text for word in words if word.text[:1] in {"+", "-", "="}]
    recursive = call.state.walks_tree or any(word.text == "-R" for word in call.args)
    for file in [word for word in words if word.text not in modes] if modes else ():
        path, mode = call.resolve(file), " ".join(modes)
        call.add_effect("permissions", "chattr", file, path=path, recursive=recursive, target=mode, writes=True)
    call.stdout = Stream("")


def _handle_mktemp(call: Invocation) -> None:
    options = call.parse_options("p suffix tmpdir")
    template = options.rest[0].text if options.rest else "tmp.XXXXXXXXXX"
    name = template if template.startswith("/") else f"{call.state.environment.temporary[0]}/{template}"
    call.print(name + "\n")


def _handle_dirname(call: Invocation) -> None:
    part = posixpath.dirname if call.name == "dirname" else posixpath.basename
    words = call.parse_options().rest
    call.print(part(words[0].text) + "\n" if words else None)


def _handle_realpath(call: Invocation) -> None:
    words = call.parse_options("relative-to relative-base").rest
    call.print(call.resolve(words[0]) + "\n" if words else None)


def _handle_patch(call: Invocation) -> None:
    """Analyze `patch FILE PATCH`, or a patch alone, which names the files that it changes."""
    from trotline.analysis.git.git_worktree import list_patched_files  # noqa: PLC0415 - few lines apply a patch

    options = call.parse_options(
        "b B d D F g i o p r V Y z input output directory strip fuzz reject-file prefix suffix basename-prefix"
    )
    if options.has("dry-run", "check", "C", "version", "help"):
        return
    call.state = enter_directories(call.state, options.values("d", "directory")[-1:])
    patches = [*options.values("i", "input"), *options.rest[1:2]]
    for patch in patches:
        call.add_read(patch, verb="patch")
    for file in [*options.values("o", "output"), *options.values("r", "reject-file")]:
        call.add_write(file, verb="patch")
    if options.has("o", "output"):
        return
    texts = [call.state.written_texts.get(call.resolve(patch)) for patch in patches] or [call.stdin.text]
    listed = [call.program._replace(text=name) for text in texts for name in list_patched_files(text or "")]
    for file in options.rest[:1] or listed:
        call.add_write(file, verb="patch")


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("basename dirname".split(), _handle_dirname),
    **dict.fromkeys("chgrp chmod chown".split(), _handle_chmod),
    **dict.fromkeys("del erase rd".split(), _handle_rd),
    **dict.fromkeys("grm rm srm".split(), _handle_rm),
    **dict.fromkeys("gvfs-trash rmtrash trash trash-put".split(), _handle_trash),
    **dict.fromkeys("mkdir mkfifo touch truncate".split(), _handle_touch),
    **dict.fromkeys("del-cli rimraf".split(), _handle_rimraf),
    **dict.fromkeys("readlink realpath".split(), _handle_realpath),
    **dict.fromkeys("sdelete wipe".split(), _handle_wipe),
    **dict.fromkeys("shred unlink".split(), _handle_unlink),
    **dict.fromkeys("sponge tee".split(), _handle_tee),
    "chattr": _handle_chattr,
    "cp": _handle_cp,
    "dd": _handle_dd,
    "gio": _handle_gio,
    "install": _handle_install,
    "ln": _handle_ln,
    "mktemp": _handle_mktemp,
    "mv": _handle_mv,
    "patch": _handle_patch,
    "rmdir": _handle_rmdir,
    "sed": _handle_sed,
}
