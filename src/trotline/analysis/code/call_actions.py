"""Actions that calls perform, by name. `languages.toml` maps the functions of each language to them."""

import base64
import binascii
import codecs
import posixpath
from collections.abc import Callable, Iterable

from trotline.analysis.code.code_effects import (
    MAX_TEXT,
    PROCESS,
    UNKNOWN_VALUE,
    CodeCall,
    CodeEffects,
    CodeValue,
    concatenate,
    flatten_values,
    make_list,
    make_text,
    mix_values,
)
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR

CallAction = Callable[[CodeEffects, CodeCall], CodeValue]
_BODY_OPTIONS = ("data", "json", "files", "body", "content", "form", "postfields")


# Encoded text


def _decode_bytes(value: CodeValue, data: bytes) -> CodeValue:
    """Decode bytes as UTF-8, or byte by byte, because they may be compressed."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return CodeValue(text, origins=value.origins | {"decoded"}, paths=value.paths)


def _mark_decoded(value: CodeValue) -> CodeValue:
    return CodeValue(origins=value.origins | {"decoded"}, paths=value.paths)


def _decode_base64(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    value = call.get_first()
    if not value.is_known:
        return _mark_decoded(value)
    packed = "".join(value.text.split()).replace("-", "+").replace("_", "/").encode("utf-8", "replace")
    try:
        return _decode_bytes(value, base64.b64decode(packed + b"=" * (-len(packed) % 4)))
    except (binascii.Error, ValueError):
        return _mark_decoded(value)


def _decode_hex(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    value = call.get_first()
    digits = "".join(value.text.split())
    try:
        return _decode_bytes(value, bytes.fromhex(digits)) if value.is_known else _mark_decoded(value)
    except ValueError:
        return _mark_decoded(value)


def _decode_with_codec(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Decode `decode(text, encoding)`."""
    value, encoding = call.get_first(), call.get_arg(1, "encoding")
    name = encoding.text.lower().replace("-", "").replace("_", "") if encoding is not None else ""
    if name in {"rot13", "rot"}:
        return _decode_bytes(value, codecs.encode(value.text, "rot13").encode("utf-8", "replace"))
    if name.startswith("hex"):
        return _decode_hex(effects, call)
    if name.startswith("base64"):
        return _decode_base64(effects, call)
    return value if name.startswith(("utf", "ascii", "latin")) else _mark_decoded(value)


def _decompress(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    import zlib  # noqa: PLC0415 - seldom needed

    value = call.get_first()
    try:
        unpacked = zlib.decompressobj(wbits=47).decompress(value.text.encode("latin-1"), MAX_TEXT)
    except (zlib.error, UnicodeEncodeError):
        return _mark_decoded(value)
    return _decode_bytes(value, unpacked)


# Files


def _delete_values(
    effects: CodeEffects, call: CodeCall, values: Iterable[CodeValue], *, is_tree: bool = False
) -> CodeValue:
    recursive = is_tree or call.is_true("recursive", "force_recursive")
    for value in values:
        effects.add_delete(value, call.method, recursive=recursive)
    return UNKNOWN_VALUE


def _rmdir(effects: CodeEffects, call: CodeCall) -> CodeValue:
    recursive = call.is_true("recursive")
    return effects.add_delete(call.get_first(), call.method, recursive=recursive, source="" if recursive else "empty")


def _move(effects: CodeEffects, call: CodeCall) -> CodeValue:
    source, target = call.get_first(), call.get_arg(1, "dst", "target", "to") or UNKNOWN_VALUE
    path, into = effects.resolve(source), effects.resolve(target)
    effects.add_effect("delete", "move", source, path=path, target=into, recursive=True, writes=True)
    effects.add_write(target, "move", source=path)
    return target


def _copy(effects: CodeEffects, call: CodeCall) -> CodeValue:
    source, target = call.get_first(), call.get_arg(1, "dst", "target", "to") or UNKNOWN_VALUE
    content = effects.add_read(source, "copy", recursive=call.method in {"copytree", "cp_r", "cpSync", "cp"})
    effects.add_write(target, "copy", content, source=effects.resolve(source))
    return target


def _link(effects: CodeEffects, call: CodeCall) -> CodeValue:
    source, target = call.get_first(), call.get_arg(1, "dst") or UNKNOWN_VALUE
    effects.add_write(target, "link", source=effects.resolve(source))
    return effects.add_effect("link", "link", source, path=effects.resolve(source), target=effects.resolve(target))


def _read(effects: CodeEffects, call: CodeCall) -> CodeValue:
    value = call.get_first()
    if "://" in value.text:
        return effects.add_fetch(value, call.method, list(call.args[1:]))
    return effects.add_read(value, call.method)


def _open(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Read or write a file, depending on the mode. A name that starts with a bar is a command, as in Ruby."""
    file, mode = call.get_first(), call.get_arg(1, "mode", "flags")
    letters = mode.text if mode is not None else "r"
    if file.text.startswith("|"):
        return effects.analyze_script(file.with_text(file.text[1:]))
    if "://" in file.text:
        return effects.add_fetch(file, "open", [])
    if set(letters) & set("wax+") and len(letters) <= 4:
        effects.add_write(file, "open")
        return CodeValue(file.text, name="<file>", paths=(effects.resolve(file),))
    return effects.add_read(file, "open")._replace(name="<file>")


def _change_mode(effects: CodeEffects, call: CodeCall) -> CodeValue:
    mode = call.get_arg(1, "mode")
    text = mode.text if mode is not None and mode.is_known else ""
    fields = {"path": effects.resolve(call.get_first()), "target": text, "writes": True}
    verb = "chown" if "own" in call.method else "chmod"
    return effects.add_effect("permissions", verb, call.get_first(), **fields, recursive=call.method.endswith("_R"))


def _change_modes(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Change the mode of several files; the mode is the first argument."""
    for value in flatten_values(call.args[1:]):
        effects.add_effect(
            "permissions", "chmod", value, path=effects.resolve(value), target=call.args[0].text, writes=True
        )
    return UNKNOWN_VALUE


def _join_paths(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    values = flatten_values(call.args)
    if not values:
        return UNKNOWN_VALUE
    return mix_values(values)._replace(text=posixpath.join(*(value.text for value in values)))


def _expand_tilde(effects: CodeEffects, call: CodeCall) -> CodeValue:
    value = call.get_first()
    return value.with_text(effects.state.expand_tilde(value.text)) if value.text.startswith("~") else value


# Programs


def _analyze_program(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze a list as a program with its arguments, or a text as a script."""
    command, stdin = call.get_arg(0, "args", "command") or UNKNOWN_VALUE, call.kwargs.get("input")
    if command.items is None:
        return effects.analyze_script(command, stdin)
    if call.is_true("shell") and command.items:
        return effects.analyze_script(command.items[0], stdin)
    return effects.analyze_command(list(command.items), stdin)


def _analyze_script_or_command(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze one word as a script, and several as a program with its arguments."""
    words = flatten_values(call.args)
    return effects.analyze_script(words[0]) if len(words) == 1 else effects.analyze_command(words)


def _analyze_program_in_list(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze a program whose arguments are in a list."""
    command, stdin = call.kwargs.get("cmd"), call.kwargs.get("input")
    words = flatten_values(call.args[:2]) if command is None else list(command.flatten())
    words = [word for word in words if word.text != UNKNOWN_CHAR or word is words[0]]
    words += call.kwargs["args"].flatten() if "args" in call.kwargs and len(words) == 1 else ()
    if call.is_true("shell") and words:
        return effects.analyze_script(concatenate(words, " "), stdin)
    return effects.analyze_command(words, stdin)


def _replace_process(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze the program of an `exec*` function. The first word after it is only its displayed name."""
    values = call.args[1:] if call.method.startswith("spawn") or "posix_spawn" in call.name else call.args
    words = flatten_values(values)
    return effects.analyze_command([*words[:1], *words[2:]])


def _load(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Add the execution of a code file, or of code at an address."""
    value = call.get_first()
    if "://" in value.text:
        effects.analyze_code(effects.add_fetch(value, call.method, []))
    elif value.is_known and value.text not in {"", "None"}:
        path = effects.resolve(value)
        text = effects.state.written_texts.get(path)
        effects.add_effect("execute", "load", value, path=path, source="file" if text is None else "written")
        if text is not None:
            effects.analyze_code(CodeValue(text))
    return UNKNOWN_VALUE


def _unpickle(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Load objects that may run code."""
    values = [
        effects.add_read(value, "load") if value.is_known and not value.origins else value for value in call.args[:1]
    ]
    value = mix_values(values)
    if any("://" in value.text for value in call.args):
        value = effects.add_fetch(call.get_first(), call.method, [])
    source = "network" if "network" in value.origins else "file"
    path = value.paths[0] if value.paths else ""
    return effects.add_effect(
        "execute", "unpickle", source=source, path=path, why="what is loaded can run code of its own"
    )


def _kill(effects: CodeEffects, call: CodeCall) -> CodeValue:
    target = next((value.text for value in call.args if value.is_known), "")
    return effects.add_effect("process", "kill", target=target)


# The network and the environment


def _get_address(call: CodeCall) -> CodeValue:
    """Return the address, or the host name in an object of options."""
    url = call.get_arg(0, "url") or UNKNOWN_VALUE
    return url if url.is_known else call.kwargs.get("hostname") or call.kwargs.get("host") or url


def _fetch(effects: CodeEffects, call: CodeCall) -> CodeValue:
    url = _get_address(call)
    method = call.kwargs.get("method")
    if any(name in call.kwargs for name in _BODY_OPTIONS) or (
        method is not None and method.text.upper() not in {"GET", "HEAD"}
    ):
        return effects.add_send(url, call.method, [*call.args[1:], *call.kwargs.values()])
    return effects.add_fetch(url, call.method, [*call.args[1:], *call.kwargs.values()])


def _download(effects: CodeEffects, call: CodeCall) -> CodeValue:
    url, file = call.get_arg(0, "url") or UNKNOWN_VALUE, call.get_arg(1, "filename", "destfile")
    response = effects.add_fetch(url, call.method, [])
    if file is not None:
        effects.add_write(file, "download", source="network")
    return response


def _send(effects: CodeEffects, call: CodeCall) -> CodeValue:
    url = call.get_arg(0, "url") or UNKNOWN_VALUE
    return effects.add_send(url, call.method, [*call.args[1:], *call.kwargs.values()])


def _request(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Send a request. The method is the first argument, the address the second."""
    method, url = call.get_arg(0, "method") or UNKNOWN_VALUE, call.get_arg(1, "url") or UNKNOWN_VALUE
    rest = [*call.args[2:], *call.kwargs.values()]
    reads = method.text.upper() in {"GET", "HEAD", "OPTIONS"} and not any(name in call.kwargs for name in _BODY_OPTIONS)
    return effects.add_fetch(url, "request", rest) if reads else effects.add_send(url, "request", rest)


def _connect(effects: CodeEffects, call: CodeCall) -> CodeValue:
    words = flatten_values(call.args)
    hosts = [word for word in [*words, *call.kwargs.values()] if word.is_known and not word.text.isdigit()]
    return effects.add_connect(hosts[0] if hosts else UNKNOWN_VALUE, "connect")


def _print(effects: CodeEffects, call: CodeCall) -> CodeValue:
    end = call.kwargs.get("end")
    line = call.method not in {"write", "print", "printf", "echo"} or (
        end is None and "python" in effects.invocation.name
    )
    values = flatten_values(call.args)
    effects.print(concatenate(values, " "), end.text if end is not None else "\n" if line else "")
    return UNKNOWN_VALUE


def _make_characters(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the text of character codes."""
    numbers = [value.text for value in call.args if value.text.isascii() and value.text.isdigit()]
    if len(numbers) != len(call.args) or not numbers:
        return UNKNOWN_VALUE
    return make_text("".join(chr(min(int(number[:7]), 0x10FFFF)) for number in numbers))


# Functions of single languages


def _perl_open(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Handle `open(F, ">x")`, `open(F, "<", "x")`, `open(F, "cmd |")` and `open(F, "-|", "cmd")`."""
    if len(call.args) < 2:
        return UNKNOWN_VALUE
    mode, rest = call.args[1].text.strip(), list(call.args[2:])
    if mode in {"|-", "-|"}:
        return _analyze_script_or_command(effects, call._replace(args=tuple(rest)))
    if not rest and (mode.startswith("|") or mode.endswith("|")):
        return effects.analyze_script(call.args[1].with_text(mode.strip("|")))
    sign = mode.lstrip("+")[:1]
    target = rest[0] if rest else call.args[1].with_text(mode.lstrip("+<> "))
    if sign == ">" or mode.startswith("+"):
        return effects.add_write(target, "open")
    return effects.add_read(target, "open")


def _perl_sysopen(effects: CodeEffects, call: CodeCall) -> CodeValue:
    target = call.args[1] if len(call.args) > 1 else UNKNOWN_VALUE
    if [value.name for value in call.args[2:]] == ["O_RDONLY"]:
        return effects.add_read(target, "open")
    return effects.add_write(target, "open")


def _perl_pack(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Decode `pack("H*", digits)`."""
    template = call.get_first().text
    if template[:1] in {"H", "h"} and len(call.args) > 1:
        return _decode_hex(effects, call._replace(args=call.args[1:]))
    return (
        _make_characters(effects, call._replace(args=call.args[1:]))
        if template[:1] in {"C", "c", "U"}
        else UNKNOWN_VALUE
    )


def _join_parts(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Join the parts of `join(separator, parts...)` and `implode`."""
    parts = [inner for value in call.args[1:] for inner in value.flatten()]
    return concatenate(parts, call.get_first().text) if parts else UNKNOWN_VALUE


def _set_timer(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze `setTimeout("code", 1)`. A function argument is analyzed in place."""
    return effects.analyze_code(call.get_first()) if call.get_first().is_known else UNKNOWN_VALUE


def _start_worker(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze `new Worker("code", {eval: true})` or a file."""
    return ACTIONS["run_code" if call.is_true("eval") else "load_code"](effects, call)


def _ruby_read(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Read a file, or run a command for `IO.read("|command")`."""
    value = call.get_first()
    return (
        effects.analyze_script(value.with_text(value.text[1:])) if value.text.startswith("|") else _read(effects, call)
    )


ACTIONS: dict[str, CallAction] = {
    "build_glob": lambda _, call: CodeValue(call.get_first().text, name="<glob>"),
    "change_mode": _change_mode,
    "change_modes": _change_modes,
    "concatenate_arguments": lambda _, call: concatenate(list(call.args)),
    "connect": _connect,
    "connect_stdin": lambda effects, _: effects.connect_stdin(),
    "copy": _copy,
    "create": lambda effects, call: effects.add_write(call.get_first(), "touch"),
    "decode": _decode_with_codec,
    "decode_base64": _decode_base64,
    "decode_hex": _decode_hex,
    "decompress": _decompress,
    "delete": lambda effects, call: _delete_values(effects, call, call.get_first().flatten()),
    "delete_all": lambda effects, call: _delete_values(effects, call, flatten_values(call.args)),
    "delete_tree": lambda effects, call: _delete_values(effects, call, call.get_first().flatten(), is_tree=True),
    "download": _download,
    "expand_tilde": _expand_tilde,
    "fetch": _fetch,
    "get_home": lambda effects, _: CodeValue(effects.state.environment.home),
    "get_variable": lambda effects, call: (
        effects.get_variable(call.get_first()) if call.args else effects.get_environment()
    ),
    "join_parts": _join_parts,
    "join_paths": _join_paths,
    "kill": _kill,
    "link": _link,
    "load_code": _load,
    "make_characters": _make_characters,
    "make_vector": lambda _, call: make_list(flatten_values(call.args)),  # `c(...)` and `list(...)` in R
    "mix_arguments": lambda _, call: mix_values(call.get_all()),
    "move": _move,
    "open": _open,
    "perl_open": _perl_open,
    "perl_pack": _perl_pack,
    "perl_sysopen": _perl_sysopen,
    "print": _print,
    "read": _read,
    "replace_process": _replace_process,
    "request": _request,
    "return_first": lambda _, call: call.get_first(),
    "reverse_text": lambda _, call: call.get_first().with_text(call.get_first().text[::-1]),
    "rmdir": _rmdir,
    "ruby_read": _ruby_read,
    "run_code": lambda effects, call: effects.analyze_code(call.get_arg(0, "source", "text") or UNKNOWN_VALUE),
    "run_list": _analyze_program_in_list,
    "run_named": lambda effects, call: effects.analyze_command([make_text(call.method), *flatten_values(call.args)]),
    "run_program": _analyze_program,
    "run_script": lambda effects, call: effects.analyze_script(
        call.get_arg(0, "command", "args", "cmd") or UNKNOWN_VALUE, call.kwargs.get("input")
    ),
    "run_words": _analyze_script_or_command,
    "send": _send,
    "set_timer": _set_timer,
    "spawn_process": lambda effects, call: _analyze_program_in_list(effects, call)._replace(name=PROCESS, body=call),
    "start_worker": _start_worker,
    "truncate": lambda effects, call: effects.add_write(call.get_first(), "empty"),
    "unpickle": _unpickle,
    "write": lambda effects, call: effects.add_write(call.get_first(), call.method, call.get_arg(1, "data", "content")),
    "write_to": lambda effects, call: effects.add_write(
        call.get_arg(1, "con", "file", "path") or UNKNOWN_VALUE, call.method, call.get_arg(0)
    ),  # the content is the first argument
}


FindAction = Callable[[CodeValue], CallAction | None]
"""A function that returns the action of a value that is a known function, or None."""


def find_passed_function(call: CodeCall, find_action: FindAction) -> tuple[CallAction | None, CodeCall] | None:
    """Find a known function among the arguments of a call.

    The callee may call it with the other arguments. Without other arguments the action is None, because the callee may
    return the function.
    """
    for index, argument in enumerate([*call.args, *call.kwargs.values()]):
        value = next((inner for inner in argument.flatten() if find_action(inner) is not None), argument)
        action = find_action(value)
        if action is not None:
            others = [
                *(call.args[index + 1 :] or call.args[:index]),
                *(call.kwargs[name] for name in call.kwargs if name in _ARGUMENT_NAMES),
            ]
            rest = get_passed_arguments(others)
            return action if rest else None, CodeCall(value.name or value.text, rest, {}, value.owner)
    return None


_ARGUMENT_NAMES = ("args", "arguments", "argv")
"""Names of arguments for the passed function; other named arguments are for the callee."""


def get_passed_arguments(values: list[CodeValue]) -> tuple[CodeValue, ...]:
    """Return the arguments of a passed function, with lists flattened. Unknown names (`this`, `null`) are dropped."""
    flat = [inner for value in values for inner in value.flatten()]
    return tuple(value for value in flat if value.is_known or not value.name or value.name[0] == "<")


def is_function(name: str) -> bool:
    """Return whether a name means a function: a member of a module, or a shell function of any language."""
    return "." in name or name in _RUNNING_FUNCTIONS


_RUNNING_FUNCTIONS = frozenset("eval exec system spawn popen passthru shell_exec".split())
