"""Actions of functions of Python's standard library and of common packages."""

import posixpath

from trotline.analysis.code.call_actions import ACTIONS, CallAction
from trotline.analysis.code.code_effects import (
    PROCESS,
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


def _expand_user(effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.args[0] if call.args else call.owner or UNKNOWN_VALUE
    return ACTIONS["expand_tilde"](effects, call._replace(args=(owner,)))._replace(name=owner.name)


def _expand_variables(effects: CodeEffects, call: CodeCall) -> CodeValue:
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


def _get_cwd(effects: CodeEffects, call: CodeCall) -> CodeValue:
    return CodeValue(effects.state.cwd, name="Path" if call.name.startswith("pathlib") else "")


def _change_directory(effects: CodeEffects, call: CodeCall) -> CodeValue:
    if call.args:
        effects.state.cwd = effects.resolve(call.args[0])
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


def _make_bytes(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the text of character codes: `chr(114)`, `bytes([114, 109])`."""
    values = call.args[0].flatten() if call.args else ()
    if values and all(value.text.isascii() and value.text.isdigit() and len(value.text) < 7 for value in values):
        return make_text("".join(chr(min(int(value.text), 0x10FFFF)) for value in values))
    return values[0] if len(values) == 1 else UNKNOWN_VALUE


def _connect_database(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return a connection that remembers its database client."""
    return CodeValue(call.args[0].text if call.args else UNKNOWN_CHAR, name=f"database:{call.name.partition('.')[0]}")


_CLIENTS = {"sqlite3": "sqlite3", "psycopg2": "psql", "psycopg": "psql", "MySQLdb": "mysql", "pymysql": "mysql"}


def analyze_query(effects: CodeEffects, call: CodeCall) -> CodeValue:
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


PYTHON_ACTIONS: dict[str, CallAction] = {
    "call_c_system": _call_c_system,
    "change_directory": _change_directory,
    "connect_database": _connect_database,
    "decode_owner": _decode,
    "expand_user": _expand_user,
    "expand_variables": _expand_variables,
    "get_cwd": _get_cwd,
    "get_home_path": lambda effects, _: CodeValue(effects.state.environment.home, name="Path"),
    "list_directory": _list_directory,
    "make_bytes": _make_bytes,
    "make_path": _make_path,
    "make_temporary": lambda effects, _: CodeValue(f"{effects.state.environment.temporary[0]}/scratch", name="<file>"),
    "start_process": _start_process,
    "walk": _walk,
    "write_descriptor": _write_descriptor,
}

_PATH_ACTIONS = {
    "change_mode": "chmod",
    "copy": "copy",
    "create": "touch mkdir",
    "delete": "unlink remove",
    "delete_tree": "rmtree",
    "link": "symlink_to hardlink_to link_to",
    "move": "rename replace move",
    "open": "open",
    "read": "read_text read_bytes",
    "rmdir": "rmdir",
    "write": "write_text write_bytes",
}
PATH_METHODS: dict[str, CallAction] = {
    **{name: _bind_to_owner(action) for action, names in _PATH_ACTIONS.items() for name in names.split()},
    **dict.fromkeys("joinpath with_name with_stem resolve absolute as_posix glob rglob iterdir".split(), _derive_path),
    "expanduser": _expand_user,
}
"""Methods of paths."""

TEXT_METHODS = {
    **dict.fromkeys(
        "join format replace strip lstrip rstrip lower upper encode split splitlines read readlines".split(),
        _call_text_method,
    ),
    "decode": _decode,
}
