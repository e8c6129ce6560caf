"""`cmd /c` and the builtins of cmd: commands, words, variables and redirections."""

import re

from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, Stream, join_streams
from trotline.analysis.windows.windows_words import get_windows_variables, restore_backslashes, to_posix_path

_TOKEN = re.compile(
    r'\^.|"[^"]*"?|&&|\|\||[&|()\n]|>>?|[ \t,;=]+|%[A-Za-z_][\w():]*%|[^\^"&|()\n> \t,;=%]+|.', re.DOTALL
)
MAX_TOKENS = 10_000


def _split_commands(text: str, call: Invocation) -> list[tuple[str, list[str]]]:
    """Return the commands of a line, each with the operator before it and its words."""
    commands: list[tuple[str, list[str]]] = [("", [])]
    word: str | None = None
    for count, match in enumerate(_TOKEN.finditer(text)):
        token = match.group()
        if count > MAX_TOKENS:
            break
        is_operator = token in {"&", "&&", "||", "|", "\n", "(", ")"}
        if is_operator or token.isspace() or token in {">", ">>"} or not token.strip(" \t,;="):
            if word is not None:
                commands[-1][1].append(word)
            word = None
            if is_operator:
                commands.append((token, []))
            elif token in {">", ">>"}:
                commands[-1][1].append(token)
            continue
        word = (word or "") + _expand_token(token, call)
    if word is not None:
        commands[-1][1].append(word)
    return [(operator, words) for operator, words in commands if words]


def _expand_token(token: str, call: Invocation) -> str:
    if token[0] == "^":
        return token[1:]
    if token[0] == '"':
        return token.strip('"')
    if token[0] == "%" and len(token) > 2:
        variables = {**get_windows_variables(call.state.environment), "cd": call.state.cwd, "homedrive": ""}
        return variables.get(token.strip("%").lower(), UNKNOWN_CHAR)
    return token


def _handle_cmd(call: Invocation) -> None:
    words = list(call.args)
    while words and words[0].text[:1] == "/" and words[0].text[1:2].lower() not in {"c", "k", "r"}:
        words.pop(0)
    if not words or words[0].text[:1] != "/":
        if call.stdin.text:
            _analyze_line(call, call.program._replace(text=call.stdin.text))
        return
    first = words.pop(0)
    attached = [first._replace(text=first.text[2:])] if len(first.text) > 2 else []
    rest = [*attached, *(restore_backslashes(call, word) for word in words)]
    if rest:
        text = " ".join(_quote_if_needed(word.text) if len(rest) > 1 else word.text for word in rest)
        _analyze_line(call, rest[0]._replace(text=text, end=rest[-1].end))


def _quote_if_needed(text: str) -> str:
    return f'"{text}"' if " " in text and '"' not in text else text


def _analyze_line(call: Invocation, at: Argument) -> None:
    stream = call.stdin
    for operator, words in _split_commands(at.text, call):
        stream = _analyze_command(call, at, words, stream if operator == "|" else call.stdin)
    call.stdout = stream


def _analyze_command(call: Invocation, at: Argument, words: list[str], stdin: Stream) -> Stream:
    redirections = [index for index, word in enumerate(words) if word in {">", ">>"}]
    for target in (word for index in redirections for word in words[index + 1 : index + 2]):
        if target.lower() not in {"nul", "con"} and not target.startswith("&"):
            call.add_write(to_posix_path(call, at._replace(text=target)))
    consumed = {index + shift for index in redirections for shift in (0, 1)}
    words = [word for index, word in enumerate(words) if index not in consumed]
    if not words:
        return EMPTY_STREAM
    name = words[0].lower().lstrip("@").removesuffix(".exe")
    rest = [
        at._replace(text=word, why="" if UNKNOWN_CHAR not in word else "a variable of Windows") for word in words[1:]
    ]
    builtin = _BUILTINS.get(name)
    if builtin is not None:
        return builtin(call, name, rest)
    return call.analyze_command([at._replace(text=words[0].lstrip("@")), *rest], stdin)


def _remove_switches(words: list[Argument]) -> list[Argument]:
    return [
        word for word in words if not (word.text.startswith("/") and len(word.text) <= 3 and word.text[1:].isalpha())
    ]


def _list_switches(words: list[Argument]) -> set[str]:
    return {part.lower() for word in words if word.text.startswith("/") for part in word.text.split("/") if part}


def _handle_del(call: Invocation, name: str, words: list[Argument]) -> Stream:
    paths = [word for word in words if not re.fullmatch(r"(?:/[A-Za-z])+", word.text)]
    switches = _list_switches([word for word in words if word not in paths])
    for word in paths:
        path = to_posix_path(call, word)
        if name in {"rd", "rmdir"} and "s" not in switches:
            call.add_effect("delete", "rmdir", path, path=call.resolve(path), source="empty", writes=True)
        else:
            call.add_delete(path, recursive="s" in switches, verb=name)
    return EMPTY_STREAM


def _handle_copy(call: Invocation, name: str, words: list[Argument]) -> Stream:
    files = [to_posix_path(call, word) for word in _remove_switches(words)]
    if len(files) < 2:
        return EMPTY_STREAM
    source, target = call.resolve(files[0]), call.resolve(files[1])
    if name in {"move", "ren", "rename"}:
        call.add_effect("delete", "move", files[0], path=source, target=target, recursive=True, writes=True)
    else:
        call.add_read(files[0], verb="copy")
    call.add_write(files[1], verb="copy" if name in {"copy", "xcopy"} else "move", source=source)
    return EMPTY_STREAM


def _handle_type(call: Invocation, _: str, words: list[Argument]) -> Stream:
    files = [to_posix_path(call, word) for word in words]
    for file in files:
        call.add_read(file, verb="type")
    return join_streams([call.state.get_content(call.resolve(file)) for file in files])


def _handle_format(call: Invocation, name: str, words: list[Argument]) -> Stream:
    for word in _remove_switches(words)[:1]:
        call.add_effect("disk", name, word, target=word.text, writes=True)
    return EMPTY_STREAM


def _handle_echo(_: Invocation, __: str, words: list[Argument]) -> Stream:
    return Stream(" ".join(word.text for word in words) + "\n")


def _handle_cd(call: Invocation, _: str, words: list[Argument]) -> Stream:
    for word in _remove_switches(words)[:1]:
        call.state.cwd = call.resolve(to_posix_path(call, word))
    return EMPTY_STREAM


def _handle_start(call: Invocation, _: str, words: list[Argument]) -> Stream:
    """Analyze the command after `start` or `call`, which may follow a title in quotes and switches."""
    rest = [word for word in words if word.text and not re.fullmatch(r"/\w+", word.text)]
    return call.analyze_command(rest) if rest else EMPTY_STREAM


_BUILTINS = expand_names(
    {
        "call start": _handle_start,
        "cd chdir": _handle_cd,
        "copy move ren rename xcopy": _handle_copy,
        "del erase rd rmdir": _handle_del,
        "echo": _handle_echo,
        "format": _handle_format,
        "type": _handle_type,
    }
)


def _handle_builtin(call: Invocation) -> None:
    """Run a builtin as a program: agents on Windows pass such lines unchanged."""
    words = [restore_backslashes(call, word).text for word in (call.program, *call.args)]
    _analyze_line(call, call.program._replace(text=" ".join(map(_quote_if_needed, words)), end=call.end))


PROGRAMS: dict[str, Handler] = {"cmd": _handle_cmd, **dict.fromkeys("copy move ren xcopy".split(), _handle_builtin)}
