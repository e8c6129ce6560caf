"""One hook, in one of three languages, with its test and its entries in hooks.json, made from the events' contracts."""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.config.edit import Entry, Shape, Terms
from trotline.config.installation import Installation
from trotline.config.places import Roots
from trotline.contracts import Contract
from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.sdk import On, When
from trotline.starters.sheets import Sheet, filled

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
LAUNCHER = "with-trotline"

DECORATORS = {when.events[0]: name for name, when in reversed([*vars(On).items()]) if isinstance(when, When)}
"""Event -> its own decorator; families stand behind, and are overwritten."""


class Language(NamedTuple):
    suffix: str
    names_event: bool = False  # whether hooks.json has to say which event it is


LANGUAGES = {"python": Language(".py"), "bash": Language(".sh", names_event=True), "node": Language(".mjs")}

KINDS = {
    "env": "context",
    "permission": "gate",
    "continue": "gate",
    "followup_message": "follow_up",
    "additional_context": "context",
}
"""An answer that an event takes -> what its hook is an example of. The first that it takes counts; else it observes."""

IMPORTS = {
    "gate": ("Verdict", "deny"),
    "context": ("Verdict", "add_context"),
    "follow_up": ("Verdict", "follow_up"),
    "observer": (),
}
LONG = 80
TEXTS = ("prompt", "file_path")
REFUSAL = {
    "permission": "deny",
    "continue": False,
    "user_message": "This is not wanted here.",
    "agent_message": "Find another way.",
}
ALLOWANCE = {"permission": "allow", "continue": True}


class Home(NamedTuple):
    """A layer that hooks can be put into: its root, what Cursor calls its directory from there, and its interpreter."""

    layer: str
    root: Path
    seen_as: str  # where `hooks` is, from where the layer's commands are run
    python: tuple[str, ...]  # what runs a program of the SDK
    options: tuple[str, ...] = ()  # what the program is told

    @property
    def directory(self) -> Path:
        return self.root / ".cursor"


class Order(NamedTuple):
    """What somebody wants."""

    name: str
    events: tuple[str, ...]
    language: str
    fail_closed: bool
    home: Home

    @property
    def file(self) -> str:
        return f"{self.name}{LANGUAGES[self.language].suffix}"

    @property
    def test_file(self) -> str:
        return f"test_{self.name.replace('-', '_')}.py"


def home_of(layer: str, roots: Roots, interpreter: str, moved: Path | None) -> Home:
    """A project is shared, so its programs are run by whatever Python has Trotline there; a person's by this one."""
    if layer == "project":
        return Home(layer, roots.projects[0], ".cursor/hooks", (f".cursor/hooks/{LAUNCHER}",))
    options = ("--home", str(moved)) if moved else ()
    return Home(layer, roots.home, "./hooks", (interpreter, "-E", "-P"), options)


def ordered(order: Order) -> Order:
    """The order, if it can mean something."""
    if not NAME.fullmatch(order.name):
        message = f"`{order.name}` cannot be the name of a hook"
        raise UsageError(message, hint="letters, digits, `-` and `_`; it begins with a letter or a digit")
    for event in order.events:
        if event not in EVENTS:
            from difflib import get_close_matches  # noqa: PLC0415 - only for those who mistype

            near = get_close_matches(event, EVENTS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else "`trotline events` lists them"
            raise UsageError(f"there is no event `{event}`", hint=hint)
    return order._replace(events=tuple(dict.fromkeys(order.events)))


def sheets_of(order: Order) -> list[Sheet]:
    """The hook, its test, and what runs a Python program in a project."""
    home = order.home.directory
    sheets = [
        Sheet(home / "hooks" / order.file, _hook(order), executable=order.language != "python"),
        Sheet(home / "tests" / order.test_file, _test(order)),
    ]
    if order.language == "python" and order.home.layer == "project":
        sheets.append(launcher_in(home / "hooks"))
    return sheets


def launcher_in(directory: Path) -> Sheet:
    """What finds a Python that has Trotline, on a machine that nobody knows yet."""
    return Sheet(directory / LAUNCHER, filled(f"{LAUNCHER}.txt"), executable=True, shared=True)


def entries_of(order: Order) -> list[Entry]:
    """What is to stand in hooks.json."""
    return [
        Entry(event, {"command": _command(order, event)} | ({"failClosed": True} if _closed(order, event) else {}))
        for event in order.events
    ]


def installation_of(order: Order, roots: Roots) -> Installation:
    """hooks.json of the layer. Its records are kept apart from those of `trotline install`, which gives back what it
    found, this hook included."""
    commands = {_command(order, event) for event in order.events}
    file = order.home.directory / "hooks.json"
    terms = Terms(shape=Shape.FLAT, ours=commands.__contains__, version=1, file=str(file))
    return Installation(path=file, terms=terms, owner_directory=order.home.root, state=roots.state / "new")


def sample_of(order: Order) -> str:
    """What `trotline fire` takes to show what the hook does."""
    event = EVENTS[order.events[0]]
    kind = _kind(event.contract)
    looked_at = [_field(event.contract)] if kind == "gate" else []
    needed = [field.name for field in msgspec.structs.fields(event) if field.required]
    fields = dict.fromkeys([*looked_at, *needed], "replace-me")
    fields |= {"status": "completed", "loop_count": "0"} if kind == "follow_up" else {}
    return " ".join([order.events[0], *(f"--set {name}={value}" for name, value in fields.items())])


def _command(order: Order, event: str) -> str:
    """As Cursor runs it: from the root of the project, or from ~/.cursor."""
    script = f"{order.home.seen_as}/{order.file}"
    if order.language == "python":
        return shlex.join([*order.home.python, script, *order.home.options])
    return f"{script} {event}" if LANGUAGES[order.language].names_event else script


def _hook(order: Order) -> str:
    kinds = [_kind(EVENTS[event].contract) for event in order.events]
    handlers = [filled(f"hook/{order.language}/{kind}.txt", **_words(order, event)) for kind, event in _each(order)]
    between = "\n\n" if order.language == "python" else ""
    return filled(
        f"hook/{order.language}/hook.txt",
        name=order.name,
        first=order.events[0],
        imports=_imports(order, kinds),
        constants=filled("hook/python/constants.txt") if "gate" in kinds else "",
        handlers=between.join(handlers).rstrip("\n"),
    )


def _imports(order: Order, kinds: Sequence[str]) -> str:
    names = {"on", "run", *(name for kind in kinds for name in IMPORTS[kind])}
    classes = [EVENTS[event].__name__ for event in order.events]
    return f"from trotline import {_listed(names)}\nfrom trotline.events import {_listed(classes)}"


def _listed(names: Iterable[str]) -> str:
    """In one line, or in one each."""
    listed = ", ".join(sorted(names))
    return listed if len(listed) < LONG else "(\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")"


def _test(order: Order) -> str:
    tests = [filled(f"hook/test/{kind}.txt", **_words(order, event)) for kind, event in _each(order)]
    return filled(
        "hook/test/hook.txt",
        name=order.name,
        file=order.file,
        imports="import shlex\n" if LANGUAGES[order.language].names_event else "",
        tests="\n\n".join(tests).rstrip("\n"),
    )


def _each(order: Order) -> Sequence[tuple[str, str]]:
    return [(_kind(EVENTS[event].contract), event) for event in order.events]


def _words(order: Order, event: str) -> dict[str, str]:
    """All that a template may want to know of an event."""
    contract = EVENTS[event].contract
    closed = _closed(order, event)
    taken = {name: value for name, value in REFUSAL.items() if name in contract.answers}
    by_language = {"python": "agent.program(HOOK)", "bash": f'shlex.join([str(HOOK), "{event}"])', "node": "HOOK"}
    return {
        "event": event,
        "when": contract.when,
        "decorator": DECORATORS[event],
        "class": EVENTS[event].__name__,
        "field": _field(contract),
        "options": "(fail_closed=True)" if closed else "",
        "settings": ", fail_closed=True" if closed else "",
        "refusal": json.dumps(taken),
        "allowance": json.dumps({name: value for name, value in ALLOWANCE.items() if name in contract.answers}),
        "layer": order.home.layer,
        "command": by_language[order.language],
    }


def _kind(contract: Contract) -> str:
    return next((kind for answer, kind in KINDS.items() if answer in contract.answers), "observer")


def _closed(order: Order, event: str) -> bool:
    return order.fail_closed and _kind(EVENTS[event].contract) == "gate"


def _field(contract: Contract) -> str:
    """The text of an event that its example looks at."""
    fields = EVENTS[contract.name].__struct_fields__
    return contract.subject.field or next((name for name in TEXTS if name in fields), "")
