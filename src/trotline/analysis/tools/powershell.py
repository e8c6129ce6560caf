"""`powershell`, `pwsh`, and the cmdlets that a line may name by themselves."""

import base64
import binascii

from trotline.analysis.addresses import host_of
from trotline.analysis.powershell import PowerShell, Token
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream, joined
from trotline.analysis.tools.administration import ADMINISTRATION
from trotline.analysis.tools.cmdlets import ALIASES, CMDLETS, Cmdlet, parameters
from trotline.analysis.typed import as_written, for_powershell, windows

_KNOWN = {**CMDLETS, **ADMINISTRATION}
_ALIASES_ALONE = frozenset("gci icm iex irm iwr ri saps spps".split())
"""Short names that no program of Unix has."""

DEEPEST = 12
_KEYWORDS = frozenset(
    "if elseif else foreach for while do until try catch finally switch function filter param".split()
)


class Script:
    """A script of PowerShell that a step runs."""

    def __init__(self, step: Step, at: Argument) -> None:
        self.step, self.at = step, at
        world = step.scene.world
        self.variables = {
            "home": world.home,
            "pwd": step.scene.cwd,
            "env:appdata": f"{world.home}/AppData/Roaming",
            "env:home": world.home,
            "env:homepath": world.home,
            "env:localappdata": f"{world.home}/AppData/Local",
            "env:programfiles": "/Program Files",
            "env:systemdrive": "C:",
            "env:systemroot": "/Windows",
            "env:temp": world.temporary[0],
            "env:tmp": world.temporary[0],
            "env:username": world.user,
            "env:userprofile": world.home,
            "env:windir": "/Windows",
        }
        self.origins: dict[str, Stream] = {}
        self.depth = 0

    def read(self, text: str, stdin: Stream = Stream("")) -> Stream:  # noqa: B008 - a constant
        if self.depth > DEEPEST:
            return Stream()
        self.depth += 1
        streams = []
        for pipe in PowerShell(text, self.variables).pipes():
            stream = stdin
            for stage in pipe.stages:
                stream = self._stage(list(stage), stream)
            if pipe.variable:
                self._assign(pipe.variable, stream)
            else:
                streams.append(stream)
        self.depth -= 1
        return joined(streams)

    def _assign(self, name: str, stream: Stream) -> None:
        if name.startswith("env:"):
            self.step.effect("environment", "set", self.at, target=name[4:].upper(), source=stream.text or "")
        self.variables[name] = stream.text.rstrip("\n") if stream.text is not None else UNKNOWN
        if stream.origins:
            self.origins[name] = stream

    def _stage(self, words: list[Token], stdin: Stream) -> Stream:
        if words[0].sign == "&":
            words = words[1:]
        if not words:
            return stdin
        first = words[0]
        if first.sign == "{":
            return self.read(first.text, stdin)
        if first.sign == "(" or first.text.startswith("["):
            return self._expression(first)
        name = ALIASES.get(first.text.lower(), first.text.lower())
        if name in _KEYWORDS:
            return joined([self.read(word.text, stdin) for word in words if word.sign in {"{", "("}])
        if name in _KNOWN and not first.quoted:
            return self._cmdlet(name, words[1:], stdin)
        if len(words) == 1 and (first.quoted or first.text[:1] in {UNKNOWN, "$", "", "@"} or first.text.isdigit()):
            return self._value(first)
        return self.step.run([self.argument(word) for word in words], stdin)

    def _value(self, token: Token) -> Stream:
        if UNKNOWN not in token.text:
            return Stream(token.text)
        known = joined(list(self.origins.values()))
        return Stream(None, known.origins, known.paths)

    def argument(self, token: Token) -> Argument:
        if token.sign == "(" or token.calls:
            stream = self._expression(token)
            text = stream.text.rstrip("\n") if stream.text is not None else UNKNOWN
            return self.at._replace(
                text=text, why="" if stream.text is not None else "the script works it out", stream=stream
            )
        if token.sign == "{":
            self.read(token.text)
            return self.at._replace(text="", stream=None)
        why = "" if UNKNOWN not in token.text else "the script works it out"
        return self.at._replace(text=token.text, why=why, stream=None)

    def path(self, argument: Argument) -> Argument:
        """The path that an argument is on this machine."""
        text = argument.text
        if text.startswith("~"):
            return argument._replace(text=self.step.scene.tilde(text.replace("\\", "/")))
        return windows(self.step, argument)

    def _cmdlet(self, name: str, words: list[Token], stdin: Stream) -> Stream:
        blocks = [word for word in words if word.sign == "{"]
        found = parameters(words, self.argument)
        if found.has("whatif"):
            return Stream()
        cmdlet = Cmdlet(self, name, found, stdin, tuple(block.text for block in blocks))
        return _KNOWN[name](cmdlet)

    def _expression(self, token: Token) -> Stream:
        """`(New-Object X).Method('y')`, `[IO.File]::Delete('x')`."""
        stream = self.read(token.text) if token.sign == "(" else Stream("")
        for method, arguments in token.calls:
            stream = self._method(token.text.lower(), method.lower(), self._quoted(arguments), stream)
        return stream

    def _quoted(self, text: str) -> list[Argument]:
        pipes = list(PowerShell(text, self.variables).pipes())
        return [self.argument(word) for pipe in pipes for stage in pipe.stages for word in stage]

    def _method(self, called: str, method: str, values: list[Argument], inner: Stream) -> Stream:
        step = self.step
        first = values[0] if values else self.at._replace(text=UNKNOWN, why="the script works it out")
        if method in {"downloadstring", "downloaddata", "openread", "getstringasync"}:
            step.effect("fetch", method, first, host=host_of(first.text), target=first.text)
            return Stream(None, frozenset({"network"}))
        if method == "downloadfile":
            step.effect("fetch", method, first, host=host_of(first.text), target=first.text)
            for file in values[1:2]:
                step.write(self.path(file), verb="download", source="network")
        elif method in {"uploadstring", "uploadfile", "uploaddata"}:
            step.effect("send", method, first, host=host_of(first.text), source=",".join(v.text for v in values[1:]))
        elif method == "delete" and ("file" in called or "directory" in called):
            step.delete(self.path(first), recursive=len(values) > 1, verb="delete")
        elif method.startswith("write") and "file" in called:
            step.write(self.path(first), verb=method)
        elif method.startswith("read") and "file" in called:
            step.read(self.path(first), verb=method)
        elif method == "frombase64string":
            return Stream(_base64(first.text, "utf-8"), frozenset({"decoded"}))
        elif method == "getstring" and first.stream is not None:
            return first.stream
        elif method == "start" and "process" in called:
            return step.run(values)
        elif method == "create" and "scriptblock" in called:
            return self.read(first.text)
        return inner


def _base64(text: str, encoding: str) -> str | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode(encoding, "replace")
    except (binascii.Error, ValueError):
        return None


# The programs


def _powershell(step: Step) -> None:
    words = list(step.words)
    while words and words[0].text[:1] in {"-", "/"} and len(words[0].text) > 1:
        name = words.pop(0).text[1:].lower()
        if "command".startswith(name) or name == "commandwithargs":
            _text(step, words)
            return
        if "encodedcommand".startswith(name) or name == "ec":
            _encoded(step, words)
            return
        if "file".startswith(name):
            break
        if words and not _switch(name):
            words.pop(0)
    if not words or words[0].text == "-":
        _stdin(step)
    elif words[0].text.lower().endswith((".ps1", ".psm1")) or step.name.lower().startswith("pwsh"):
        _file(step, words[0])
    else:
        _text(step, words)


def _switch(name: str) -> bool:
    switches = "noprofile nologo noninteractive noexit sta mta nop login interactive help version"
    return any(switch.startswith(name) for switch in switches.split()) and len(name) > 1


def _text(step: Step, words: list[Argument]) -> None:
    if not words:
        return
    if words[0].text == "-":
        _stdin(step)
        return
    text = " ".join(as_written(step, word).text for word in words)
    at = words[0]._replace(text=text, end=words[-1].end)
    if not at.known and not text.strip(UNKNOWN + " "):
        step.opaque(words[0].why or "the script is not in this line", words[0], source="text")
        return
    step.out = Script(step, at).read(text.replace(UNKNOWN, "$__trotline_gap"), step.stdin)


def _encoded(step: Step, words: list[Argument]) -> None:
    text = _base64("".join(words[0].text.split()), "utf-16-le") if words and words[0].known else None
    at = words[0] if words else step.program
    step.effect("execute", "encoded", at, source="decoded", why="the script is encoded, so that nobody can read it")
    if text is not None:
        step.out = Script(step, at).read(text)


def _file(step: Step, at: Argument) -> None:
    path = step.path(windows(step, at))
    known = step.scene.written.get(path)
    step.effect("execute", "run", at, path=path, source="written" if path in step.scene.written else "file")
    if known is not None:
        step.out = Script(step, at).read(known)


def _stdin(step: Step) -> None:
    stream = step.stdin
    if stream.origins & {"network", "decoded"}:
        source = "network" if "network" in stream.origins else "decoded"
        step.effect("execute", "pipe", source=source, why="PowerShell reads what comes through the pipe")
    if stream.text is not None:
        step.out = Script(step, step.program).read(stream.text)


def _alone(step: Step) -> None:
    """A cmdlet as a word of another shell: hosts on Windows hand such lines over as they are."""
    tokens = [Token(for_powershell(step, word).text) for word in (step.program, *step.words)]
    script = Script(step, step.program._replace(end=step.end))
    step.out = script._stage(tokens, step.stdin)  # noqa: SLF001 - its own module


TOOLS: dict[str, Handler] = {
    "powershell": _powershell,
    "powershell_ise": _powershell,
    "pwsh": _powershell,
    "pwsh-preview": _powershell,
    **dict.fromkeys((*_KNOWN, *_ALIASES_ALONE), _alone),
}
