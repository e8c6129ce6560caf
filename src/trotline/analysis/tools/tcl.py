"""Tcl: its commands are words in lines, and a few of them reach the machine."""

import re

from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SILENT

_COMMAND = re.compile(
    r"(?:^|[;\[{\n])[ \t]*(?:(?:eval|catch|uplevel|after[ \t]+\w+)[ \t]+\{?)*"
    r"(?P<name>exec|file[ \t]+delete|open[ \t]+\"?\|)(?P<rest>[^\n;\]]*)"
)


def _tcl(step: Step) -> None:
    files = step.options(("encoding",)).rest
    step.out = SILENT
    if not files:
        if step.stdin.origins & {"network", "decoded"}:
            why = f"{step.name} runs what comes through the pipe"
            step.effect("execute", "pipe", source=step.stdin.origin, why=why)
        _read(step, step.program._replace(text=step.stdin.text or ""))
        return
    path = step.path(files[0])
    known = path in step.scene.written
    step.effect("execute", "run", files[0], path=path, source="written" if known else "file")
    _read(step, files[0]._replace(text=step.scene.written.get(path) or ""))


def _read(step: Step, at: Argument) -> None:
    for match in _COMMAND.finditer(at.text):
        rest = match["rest"].strip().rstrip('}"')
        line = f"rm -rf {rest.removeprefix('-force')}" if match["name"].startswith("file") else rest
        step.script(at._replace(text=line))


TOOLS: dict[str, Handler] = dict.fromkeys(("tclsh", "wish"), _tcl)
