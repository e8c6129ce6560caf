"""The kinds of calls that count, by name: tables of languages map their functions to these."""

import posixpath
from collections.abc import Callable

from trotline.analysis.code.decoding import base64_decoded, codec_decoded, hex_decoded, inflated
from trotline.analysis.code.deeds import Deeds, words_of
from trotline.analysis.code.values import NOTHING, Call, Value, concatenated, mixed, text
from trotline.analysis.scene import UNKNOWN

Act = Callable[[Deeds, Call], Value]
_SENDS = ("data", "json", "files", "body", "content", "form", "postfields")


def last_name(call: Call) -> str:
    return call.name.replace("::", ".").rpartition(".")[2]


# Files


def _delete(deeds: Deeds, call: Call) -> Value:
    for value in call.first().flat():
        deeds.delete(value, last_name(call), recursive=call.true("recursive", "force_recursive"))
    return NOTHING


def _deletes(deeds: Deeds, call: Call) -> Value:
    for value in words_of(call.values):
        deeds.delete(value, last_name(call), recursive=call.true("recursive"))
    return NOTHING


def _tree(deeds: Deeds, call: Call) -> Value:
    for value in call.first().flat():
        deeds.delete(value, last_name(call), recursive=True)
    return NOTHING


def _rmdir(deeds: Deeds, call: Call) -> Value:
    recursive = call.true("recursive")
    deeds.delete(call.first(), last_name(call), recursive=recursive, source="" if recursive else "empty")
    return NOTHING


def _move(deeds: Deeds, call: Call) -> Value:
    source, target = call.first(), call.at(1, "dst", "target", "to") or NOTHING
    path, into = deeds.path(source), deeds.path(target)
    deeds.effect("delete", "move", source, path=path, target=into, recursive=True, writes=True)
    deeds.write(target, "move", source=path)
    return target


def _copy(deeds: Deeds, call: Call) -> Value:
    source, target = call.first(), call.at(1, "dst", "target", "to") or NOTHING
    content = deeds.read(source, "copy", recursive=last_name(call) in {"copytree", "cp_r", "cpSync", "cp"})
    deeds.write(target, "copy", content, source=deeds.path(source))
    return target


def _link(deeds: Deeds, call: Call) -> Value:
    source, target = call.first(), call.at(1, "dst") or NOTHING
    deeds.write(target, "link", source=deeds.path(source))
    deeds.effect("link", "link", source, path=deeds.path(source), target=deeds.path(target))
    return NOTHING


def _write(deeds: Deeds, call: Call) -> Value:
    deeds.write(call.first(), last_name(call), call.at(1, "data", "content"))
    return NOTHING


def _write_to(deeds: Deeds, call: Call) -> Value:
    """The content comes first, the file second."""
    deeds.write(call.at(1, "con", "file", "path") or NOTHING, last_name(call), call.at(0))
    return NOTHING


def _empty(deeds: Deeds, call: Call) -> Value:
    deeds.write(call.first(), "empty")
    return NOTHING


def _make(deeds: Deeds, call: Call) -> Value:
    deeds.write(call.first(), "touch")
    return NOTHING


def _read(deeds: Deeds, call: Call) -> Value:
    value = call.first()
    if "://" in value.text:
        return deeds.fetch(value, last_name(call), list(call.values[1:]))
    return deeds.read(value, last_name(call))


def _open(deeds: Deeds, call: Call) -> Value:
    """Reads or writes, by its mode; a name that begins or ends with a bar is a command, as in Perl and Ruby."""
    file, mode = call.first(), call.at(1, "mode", "flags")
    how = mode.text if mode is not None else "r"
    if file.text.startswith("|"):
        return deeds.script(file.with_text(file.text[1:]))
    if "://" in file.text:
        return deeds.fetch(file, "open", [])
    if set(how) & set("wax+") and len(how) <= 4:
        deeds.write(file, "open")
        return Value(file.text, "<file>", None, frozenset(), (deeds.path(file),))
    return deeds.read(file, "open")._replace(name="<file>")


def _permissions(deeds: Deeds, call: Call) -> Value:
    mode = call.at(1, "mode")
    text = mode.text if mode is not None and mode.known else ""
    fields = {"path": deeds.path(call.first()), "target": text, "writes": True}
    verb = "chown" if "own" in last_name(call) else "chmod"
    deeds.effect("permissions", verb, call.first(), **fields, recursive=last_name(call).endswith("_R"))
    return NOTHING


def _permissions_after(deeds: Deeds, call: Call) -> Value:
    """The mode comes first, then the files."""
    for value in words_of(call.values[1:]):
        deeds.effect("permissions", "chmod", value, path=deeds.path(value), target=call.values[0].text, writes=True)
    return NOTHING


def _glob(deeds: Deeds, call: Call) -> Value:
    del deeds
    pattern = call.first()
    return Value(pattern.text, "<glob>", None)


def _join(deeds: Deeds, call: Call) -> Value:
    del deeds
    values = words_of(call.values)
    if not values:
        return NOTHING
    return mixed(values)._replace(text=posixpath.join(*(value.text for value in values)))


def _same(deeds: Deeds, call: Call) -> Value:
    del deeds
    return call.first()


def _home(deeds: Deeds, call: Call) -> Value:
    del call
    return Value(deeds.step.scene.world.home)


def _expanded(deeds: Deeds, call: Call) -> Value:
    value = call.first()
    return value.with_text(deeds.step.scene.tilde(value.text)) if value.text.startswith("~") else value


# Programs


def _script(deeds: Deeds, call: Call) -> Value:
    return deeds.script(call.at(0, "command", "args", "cmd") or NOTHING, call.named.get("input"))


def _program(deeds: Deeds, call: Call) -> Value:
    """A list is a program with its words; a text is read by a shell, or split by blanks."""
    what, given = call.at(0, "args", "command") or NOTHING, call.named.get("input")
    if what.items is None:
        return deeds.script(what, given)
    if call.true("shell") and what.items:
        return deeds.script(what.items[0], given)
    return deeds.run(list(what.items), given)


def _several(deeds: Deeds, call: Call) -> Value:
    """One word is read by a shell; several are a program with its words."""
    words = words_of(call.values)
    return deeds.script(words[0]) if len(words) == 1 else deeds.run(words)


def _named(deeds: Deeds, call: Call) -> Value:
    """`shell.rm("-rf", files)`: a function by the name of a program, which takes its words."""
    return deeds.run([text(last_name(call)), *words_of(call.values)])


def _spawn(deeds: Deeds, call: Call) -> Value:
    """A program, then a list of its words."""
    command, given = call.named.get("cmd"), call.named.get("input")
    words = words_of(call.values[:2]) if command is None else list(command.flat())
    words = [word for word in words if word.text != UNKNOWN or word is words[0]]
    words += call.named["args"].flat() if "args" in call.named and len(words) == 1 else ()
    if call.true("shell") and words:
        return deeds.script(concatenated(words, " "), given)
    return deeds.run(words, given)


def _replace_process(deeds: Deeds, call: Call) -> Value:
    """`exec*`: the program, then its words, of which the first is only what it is called."""
    values = call.values[1:] if last_name(call).startswith("spawn") or "posix_spawn" in call.name else call.values
    words = words_of(values)
    return deeds.run([*words[:1], *words[2:]])


def _evaluate(deeds: Deeds, call: Call) -> Value:
    return deeds.evaluate(call.at(0, "source", "text") or NOTHING)


def _load(deeds: Deeds, call: Call) -> Value:
    """A file, or an address, whose code is run."""
    value = call.first()
    if "://" in value.text:
        deeds.evaluate(deeds.fetch(value, last_name(call), []))
    elif value.known and value.text not in {"", "None"}:
        path = deeds.path(value)
        known = deeds.step.scene.written.get(path)
        deeds.effect("execute", "load", value, path=path, source="file" if known is None else "written")
        if known is not None:
            deeds.evaluate(Value(known))
    return NOTHING


def _unpickle(deeds: Deeds, call: Call) -> Value:
    """Objects that bring their own code."""
    values = [deeds.read(value, "load") if value.known and not value.origins else value for value in call.values[:1]]
    value = mixed(values)
    if any("://" in value.text for value in call.values):
        value = deeds.fetch(call.first(), last_name(call), [])
    source = "network" if "network" in value.origins else "file"
    path = value.paths[0] if value.paths else ""
    deeds.effect("execute", "unpickle", source=source, path=path, why="what is loaded can run code of its own")
    return NOTHING


def _kill(deeds: Deeds, call: Call) -> Value:
    target = next((value.text for value in call.values if value.known), "")
    deeds.effect("process", "kill", target=target)
    return NOTHING


# The network and the environment


def _address(call: Call) -> Value:
    """An address as it is, or the host in an object of options."""
    url = call.at(0, "url") or NOTHING
    return url if url.known else call.named.get("hostname") or call.named.get("host") or url


def _fetch(deeds: Deeds, call: Call) -> Value:
    url = _address(call)
    method = call.named.get("method")
    if any(name in call.named for name in _SENDS) or (
        method is not None and method.text.upper() not in {"GET", "HEAD"}
    ):
        return deeds.send(url, last_name(call), [*call.values[1:], *call.named.values()])
    return deeds.fetch(url, last_name(call), [*call.values[1:], *call.named.values()])


def _download(deeds: Deeds, call: Call) -> Value:
    url, file = call.at(0, "url") or NOTHING, call.at(1, "filename", "destfile")
    found = deeds.fetch(url, last_name(call), [])
    if file is not None:
        deeds.write(file, "download", source="network")
    return found


def _send(deeds: Deeds, call: Call) -> Value:
    url = call.at(0, "url") or NOTHING
    return deeds.send(url, last_name(call), [*call.values[1:], *call.named.values()])


def _request(deeds: Deeds, call: Call) -> Value:
    """The method comes first, the address second."""
    method, url = call.at(0, "method") or NOTHING, call.at(1, "url") or NOTHING
    rest = [*call.values[2:], *call.named.values()]
    reads = method.text.upper() in {"GET", "HEAD", "OPTIONS"} and not any(name in call.named for name in _SENDS)
    return deeds.fetch(url, "request", rest) if reads else deeds.send(url, "request", rest)


def _connect(deeds: Deeds, call: Call) -> Value:
    words = words_of(call.values)
    hosts = [word for word in [*words, *call.named.values()] if word.known and not word.text.isdigit()]
    return deeds.connect(hosts[0] if hosts else NOTHING, "connect")


def _wire(deeds: Deeds, call: Call) -> Value:
    del call
    deeds.wired()
    return NOTHING


def _variable(deeds: Deeds, call: Call) -> Value:
    return deeds.variable(call.first()) if call.values else deeds.environment()


def _say(deeds: Deeds, call: Call) -> Value:
    end = call.named.get("end")
    line = last_name(call) not in {"write", "print", "printf", "echo"} or (end is None and "python" in deeds.step.name)
    values = words_of(call.values)
    deeds.say(concatenated(values, " "), end.text if end is not None else "\n" if line else "")
    return NOTHING


def _reversed(deeds: Deeds, call: Call) -> Value:
    del deeds
    value = call.first()
    return value.with_text(value.text[::-1])


def _quiet(deeds: Deeds, call: Call) -> Value:
    del deeds
    return mixed(call.all())


ACTS: dict[str, Act] = {
    "base64": base64_decoded,
    "chmod": _permissions,
    "chmods": _permissions_after,
    "codec": codec_decoded,
    "connect": _connect,
    "copy": _copy,
    "delete": _delete,
    "deletes": _deletes,
    "download": _download,
    "empty": _empty,
    "eval": _evaluate,
    "exec": _replace_process,
    "expand": _expanded,
    "fetch": _fetch,
    "glob": _glob,
    "hex": hex_decoded,
    "home": _home,
    "inflate": inflated,
    "join": _join,
    "kill": _kill,
    "link": _link,
    "load": _load,
    "make": _make,
    "move": _move,
    "named": _named,
    "open": _open,
    "program": _program,
    "quiet": _quiet,
    "read": _read,
    "request": _request,
    "reversed": _reversed,
    "rmdir": _rmdir,
    "same": _same,
    "say": _say,
    "send": _send,
    "several": _several,
    "script": _script,
    "spawn": _spawn,
    "tree": _tree,
    "unpickle": _unpickle,
    "variable": _variable,
    "wire": _wire,
    "write": _write,
    "write to": _write_to,
}


def table(**rows: str) -> dict[str, Act]:
    """From the names of acts to the functions that they are: `delete="os.remove os.unlink"`."""
    return {name: ACTS[act.replace("_", " ")] for act, names in rows.items() for name in names.split()}
