"""`powershell`, `pwsh`, and cmdlets that a command line names directly."""

import base64
import binascii

from trotline.analysis.network_addresses import get_host
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, UNKNOWN_REFERENCE, Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, Stream, join_streams
from trotline.analysis.windows.cmdlets import ALIASES, CMDLETS, Cmdlet, parse_parameters
from trotline.analysis.windows.powershell_parser import PowerShellParser, PowerShellToken
from trotline.analysis.windows.windows_words import (
    get_windows_variables,
    restore_backslashes,
    restore_powershell_word,
    to_posix_path,
)

_DIRECT_ALIASES = frozenset("gci icm iex irm iwr ri saps spps".split())
"""Aliases that are not names of Unix programs."""

MAX_DEPTH = 12
_KEYWORDS = frozenset(
    "if elseif else foreach for while do until try catch finally switch function filter param".split()
)


class PowerShellScript:
    """A PowerShell script with its variables."""

    def __init__(self, call: Invocation, at: Argument) -> None:
        self.call, self.at = call, at
        environment = call.state.environment
        self.variables = {
            "home": environment.home,
            "pwd": call.state.cwd,
            "env:home": environment.home,
            "env:localappdata": f"{environment.home}/AppData/Local",
            "env:programfiles": "/Program Files",
            **{f"env:{name}": value for name, value in get_windows_variables(environment).items()},
        }
        self.assigned_streams: dict[str, Stream] = {}
        self.depth = 0

    def analyze(self, text: str, stdin: Stream = EMPTY_STREAM) -> Stream:
        """Analyze a script or a block and return its output."""
        if self.depth > MAX_DEPTH:
            return Stream()
        self.depth += 1
        streams = []
        for pipe in PowerShellParser(text, self.variables).parse():
            stream = stdin
            for stage in pipe.stages:
                stream = self.analyze_command(list(stage), stream)
            if pipe.variable:
                self._assign(pipe.variable, stream)
            else:
                streams.append(stream)
        self.depth -= 1
        return join_streams(streams)

    def _assign(self, name: str, stream: Stream) -> None:
        if name.startswith("env:"):
            self.call.add_effect("environment", "set", self.at, target=name[4:].upper(), source=stream.text or "")
        self.variables[name] = stream.text.rstrip("\n") if stream.text is not None else UNKNOWN_CHAR
        if stream.origins:
            self.assigned_streams[name] = stream

    def analyze_command(self, words: list[PowerShellToken], stdin: Stream) -> Stream:
        """Analyze one command of a pipe and return its output."""
        if words[0].kind == "&":
            words = self._resolve_called_name(words[1:])
        if not words:
            return stdin
        first = words[0]
        if first.kind == "{":
            return self.analyze(first.text, stdin)
        if first.kind == "(" or first.text.startswith("["):
            return self._evaluate_expression(first)
        name = ALIASES.get(first.text.lower(), first.text.lower())
        if name in _KEYWORDS:
            return join_streams([self.analyze(word.text, stdin) for word in words if word.kind in {"{", "("}])
        if name in CMDLETS and not first.is_quoted:
            return self._analyze_cmdlet(name, words[1:], stdin)
        if len(words) == 1 and (
            first.is_quoted or first.text[:1] in {UNKNOWN_CHAR, "$", "", "@"} or first.text.isdigit()
        ):
            return self._get_value(first)
        return self.call.analyze_command([self.build_argument(word) for word in words], stdin)

    def _resolve_called_name(self, words: list[PowerShellToken]) -> list[PowerShellToken]:
        """Replace an expression that computes the name of a command: `& ('ri') path`."""
        name = self._evaluate_expression(words[0]).text if len(words) > 1 and words[0].kind == "(" else None
        return [PowerShellToken(name.strip()), *words[1:]] if name else words

    def _get_value(self, token: PowerShellToken) -> Stream:
        if UNKNOWN_CHAR not in token.text:
            return Stream(token.text)
        assigned = join_streams(list(self.assigned_streams.values()))
        return Stream(None, assigned.origins, assigned.paths)

    def build_argument(self, token: PowerShellToken) -> Argument:
        """Return the value of a token; blocks and expressions in it are analyzed."""
        if token.kind == "(" or token.calls:
            stream = self._evaluate_expression(token)
            text = stream.text.rstrip("\n") if stream.text is not None else UNKNOWN_CHAR
            return self.at._replace(
                text=text, why="" if stream.text is not None else "the script computes it", stream=stream
            )
        if token.kind == "{":
            self.analyze(token.text)
            return self.at._replace(text="", stream=None)
        why = "" if UNKNOWN_CHAR not in token.text else "the script computes it"
        return self.at._replace(text=token.text, why=why, stream=None)

    def to_path(self, argument: Argument) -> Argument:
        """Convert an argument to a path on this machine."""
        text = argument.text
        if text.startswith("~"):
            return argument._replace(text=self.call.state.expand_tilde(text.replace("\\", "/")))
        return to_posix_path(self.call, argument)

    def _analyze_cmdlet(self, name: str, words: list[PowerShellToken], stdin: Stream) -> Stream:
        blocks = [word for word in words if word.kind == "{"]
        parameters = parse_parameters(words, self.build_argument)
        if parameters.has("whatif"):
            return Stream()
        cmdlet = Cmdlet(self, name, parameters, stdin, tuple(block.text for block in blocks))
        return CMDLETS[name](cmdlet)

    def _evaluate_expression(self, token: PowerShellToken) -> Stream:
        """Evaluate `(New-Object X).Method('y')` or `[IO.File]::Delete('x')`."""
        stream = self.analyze(token.text) if token.kind == "(" else EMPTY_STREAM
        for method, arguments in token.calls:
            stream = self._call_method(token.text.lower(), method.lower(), self._parse_arguments(arguments), stream)
        return stream

    def _parse_arguments(self, text: str) -> list[Argument]:
        pipes = list(PowerShellParser(text, self.variables).parse())
        return [self.build_argument(word) for pipe in pipes for stage in pipe.stages for word in stage]

    def _call_method(self, target: str, method: str, values: list[Argument], inner: Stream) -> Stream:
        call = self.call
        first = values[0] if values else self.at._replace(text=UNKNOWN_CHAR, why="the script computes it")
        host = get_host(first.text)
        if method in {"downloadstring", "downloaddata", "openread", "getstringasync"}:
            call.add_effect("fetch", method, first, host=host, target=first.text)
            return Stream(None, frozenset({"network"}))
        if method == "downloadfile":
            call.add_effect("fetch", method, first, host=host, target=first.text)
            for file in values[1:2]:
                call.add_write(self.to_path(file), verb="download", source="network")
        elif method in {"uploadstring", "uploadfile", "uploaddata"}:
            call.add_effect("send", method, first, host=host, source=",".join(value.text for value in values[1:]))
        elif method == "delete" and ("file" in target or "directory" in target):
            call.add_delete(self.to_path(first), recursive=len(values) > 1, verb="delete")
        elif method.startswith("write") and "file" in target:
            call.add_write(self.to_path(first), verb=method)
        elif method.startswith("read") and "file" in target:
            call.add_read(self.to_path(first), verb=method)
        elif method == "frombase64string":
            return Stream(_decode_base64(first.text, "utf-8"), frozenset({"decoded"}))
        elif method == "getstring" and first.stream is not None:
            return first.stream
        elif method == "start" and "process" in target:
            return call.analyze_command(values)
        elif method == "create" and "scriptblock" in target:
            return self.analyze(first.text)
        return inner


def _decode_base64(text: str, encoding: str) -> str | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode(encoding, "replace")
    except (binascii.Error, ValueError):
        return None


# The programs


def _handle_powershell(call: Invocation) -> None:
    words = list(call.args)
    while words and words[0].text[:1] in {"-", "/"} and len(words[0].text) > 1:
        name = words.pop(0).text[1:].lower()
        if "command".startswith(name) or name == "commandwithargs":
            _analyze_text(call, words)
            return
        if "encodedcommand".startswith(name) or name == "ec":
            _analyze_encoded(call, words)
            return
        if "file".startswith(name):
            break
        if words and not _is_switch(name):
            words.pop(0)
    if not words or words[0].text == "-":
        _analyze_stdin(call)
    elif words[0].text.lower().endswith((".ps1", ".psm1")) or call.name.lower().startswith("pwsh"):
        _analyze_file(call, words[0])
    else:
        _analyze_text(call, words)


def _is_switch(name: str) -> bool:
    switches = "noprofile nologo noninteractive noexit sta mta nop login interactive help version"
    return any(switch.startswith(name) for switch in switches.split()) and len(name) > 1


def _analyze_text(call: Invocation, words: list[Argument]) -> None:
    if not words:
        return
    if words[0].text == "-":
        _analyze_stdin(call)
        return
    text = " ".join(restore_backslashes(call, word).text for word in words)
    at = words[0]._replace(text=text, end=words[-1].end)
    if not at.is_known and not text.strip(UNKNOWN_CHAR + " "):
        call.add_opaque(words[0].why or "the script is not in this line", words[0], source="text")
        return
    call.stdout = PowerShellScript(call, at).analyze(text.replace(UNKNOWN_CHAR, UNKNOWN_REFERENCE), call.stdin)


def _analyze_encoded(call: Invocation, words: list[Argument]) -> None:
    text = _decode_base64("".join(words[0].text.split()), "utf-16-le") if words and words[0].is_known else None
    at = words[0] if words else call.program
    call.add_effect("execute", "encoded", at, source="decoded", why="the script is encoded, so that nobody can read it")
    if text is not None:
        call.stdout = PowerShellScript(call, at).analyze(text)


def _analyze_file(call: Invocation, at: Argument) -> None:
    file = to_posix_path(call, at)
    call.add_run(file)
    text = call.state.written_texts.get(call.resolve(file))
    if text is not None:
        call.stdout = PowerShellScript(call, at).analyze(text)


def _analyze_stdin(call: Invocation) -> None:
    stream = call.stdin
    if stream.origins & {"network", "decoded"}:
        source = "network" if "network" in stream.origins else "decoded"
        call.add_effect("execute", "pipe", source=source, why="PowerShell reads what comes through the pipe")
    if stream.text is not None:
        call.stdout = PowerShellScript(call, call.program).analyze(stream.text)


def _handle_cmdlet(call: Invocation) -> None:
    """Analyze a cmdlet that is used as a program: agents on Windows pass such lines unchanged."""
    tokens = [PowerShellToken(restore_powershell_word(call, word).text) for word in (call.program, *call.args)]
    script = PowerShellScript(call, call.program._replace(end=call.end))
    call.stdout = script.analyze_command(tokens, call.stdin)


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("powershell powershell_ise pwsh pwsh-preview".split(), _handle_powershell),
    **dict.fromkeys((*CMDLETS, *_DIRECT_ALIASES), _handle_cmdlet),
}
