"""What programs do with their words: one file per family, one handler per program.

A handler is a function of a Step. A family is imported when a line first names one of its programs, because a cold
call should not pay for knowledge that it does not need.
"""

from functools import cache, lru_cache
from importlib import import_module

from trotline.analysis import typed
from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.families import FAMILIES


@cache
def _family_of() -> dict[str, str]:
    return {program: family for family, programs in FAMILIES.items() for program in programs.split()}


def stands_for(name: str) -> bool:
    """Whether a function or an alias of this name takes the place of a program that we know."""
    return name in _family_of() or name.startswith("command_not_found_handle")


@lru_cache(maxsize=1024)
def known_as(name: str) -> str:
    """The name that the tables have: file systems that ignore case find the same program, and `perl5.36` is one."""
    families = _family_of()
    lower = name.lower()
    return next((known for known in (name, lower, lower.rstrip("0123456789.-")) if known in families), name)


@lru_cache(maxsize=1024)
def handler(name: str) -> Handler:
    """What knows this program; one that nobody knows is only said to be run."""
    known = known_as(name)
    family = _family_of().get(known)
    if family is None:
        return unknown
    tools: dict[str, Handler] = import_module(f"trotline.analysis.tools.{family}").TOOLS
    return tools[known]


def knows(name: str) -> bool:
    """Whether somebody knows this program, or this script that is called like one: `manage.py`, `jenkins-cli.jar`."""
    return handler(name) is not unknown


_RUNS_BARE = (".exe", ".bat", ".cmd", ".ps1", ".com")
"""What Windows runs by its name alone, also out of the directory where it stands."""


def unknown(step: Step) -> None:
    """A program that is a file of its own is executed; what it does is in the line only if the line wrote it."""
    program = typed.windows(step, step.program)
    path = step.path(program)
    if "/" not in program.text and not (program.text.lower().endswith(_RUNS_BARE) and path in step.scene.flows):
        return
    content = step.scene.content(path)
    written = path in step.scene.written
    source = "network" if "network" in content.origins else "written" if written else "file"
    source = "unpacked" if step.scene.is_unpacked(path) else source
    step.effect("execute", "run", step.program, path=path, source=source)
    first = (content.text or "").partition("\n")[0]
    if content.text and (not first.startswith("#!") or first.rstrip().endswith("sh")):
        step.script(step.program._replace(text=content.text))
