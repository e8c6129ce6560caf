"""The template of a hook in one of three languages, with its test and its entries in hooks.json.

The contracts of the events decide which answers the hook shows.
"""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.config.install.edit import EditTerms, EntryEdit, Shape
from trotline.config.install.installation import Installation
from trotline.config.paths import Roots
from trotline.domain.contracts import Contract
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS, get_event_class
from trotline.hook.sdk import EventDecorator, EventDecorators
from trotline.templates.template_files import LAUNCHER, NewFile, build_launcher, render_template

_HOOK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

DECORATORS = {
    decorator.events[0]: name
    for name, decorator in reversed([*vars(EventDecorators).items()])
    if isinstance(decorator, EventDecorator)
}
"""The decorator of each event. Decorators of several events are defined last, so the reversal overwrites them."""


class TemplateLanguage(NamedTuple):
    """A language that hooks can be written in."""

    suffix: str
    needs_event: bool = False  # the command in hooks.json names the event


LANGUAGES = {
    "python": TemplateLanguage(".py"),
    "bash": TemplateLanguage(".sh", needs_event=True),
    "node": TemplateLanguage(".mjs"),
}

EXAMPLE_KINDS = {
    "env": "context",
    "permission": "gate",
    "continue": "gate",
    "followup_message": "follow_up",
    "additional_context": "context",
}
"""The kind of example by an answer that the event takes; the first match counts. Other events have an observer."""

IMPORTS = {
    "gate": ("Verdict", "deny"),
    "context": ("Verdict", "add_context"),
    "follow_up": ("Verdict", "follow_up"),
    "observer": (),
}
MAX_IMPORT_LENGTH = 80
TEXT_FIELDS = ("prompt", "file_path")
REFUSAL = {
    "permission": "deny",
    "continue": False,
    "user_message": "This is not wanted here.",
    "agent_message": "Find another way.",
}
ALLOWANCE = {"permission": "allow", "continue": True}


class HookLocation(NamedTuple):
    """The layer that a hook is written to."""

    layer: str
    root: Path
    hooks_path: str  # relative to the directory in which the layer's commands run
    python: tuple[str, ...]  # runs a program of the SDK
    options: tuple[str, ...] = ()  # arguments of the program

    @property
    def directory(self) -> Path:
        """The directory with hooks.json."""
        return self.root / ".cursor"


class HookSpec(NamedTuple):
    """The hook to create."""

    name: str
    events: tuple[str, ...]
    language: str
    fail_closed: bool
    location: HookLocation

    @property
    def file(self) -> str:
        """The name of the hook's file."""
        return f"{self.name}{LANGUAGES[self.language].suffix}"

    @property
    def test_file(self) -> str:
        """The name of the test's file."""
        return f"test_{self.name.replace('-', '_')}.py"


def find_location(layer: str, roots: Roots, interpreter: str, home: Path | None) -> HookLocation:
    """Return the location of a layer. Projects are shared, so a launcher finds Python; other hooks use this one."""
    if layer == "project":
        return HookLocation(layer, roots.projects[0], ".cursor/hooks", (f".cursor/hooks/{LAUNCHER}",))
    options = ("--home", str(home)) if home else ()
    return HookLocation(layer, roots.home, "./hooks", (interpreter, "-E", "-P"), options)


def validate_spec(spec: HookSpec) -> HookSpec:
    """Return the specification without repeated events; raise if the name or an event is invalid."""
    if not _HOOK_NAME.fullmatch(spec.name):
        message = f"`{spec.name}` cannot be the name of a hook"
        raise UsageError(message, hint="letters, digits, `-` and `_`; it begins with a letter or a digit")
    for event in spec.events:
        get_event_class(event)
    return spec._replace(events=tuple(dict.fromkeys(spec.events)))


def build_files(spec: HookSpec) -> list[NewFile]:
    """Return the hook, its test, and the launcher for Python in a project."""
    directory = spec.location.directory
    files = [
        NewFile(directory / "hooks" / spec.file, _render_hook(spec), is_executable=spec.language != "python"),
        NewFile(directory / "tests" / spec.test_file, _render_test(spec)),
    ]
    if spec.language == "python" and spec.location.layer == "project":
        files.append(build_launcher(directory / "hooks"))
    return files


def build_entries(spec: HookSpec) -> list[EntryEdit]:
    """Return the entries for hooks.json."""
    entries = []
    for event in spec.events:
        fail_closed = {"failClosed": True} if _fails_closed(spec, event) else {}
        entries.append(EntryEdit(event, {"command": _build_command(spec, event)} | fail_closed))
    return entries


def build_installation(spec: HookSpec, roots: Roots) -> Installation:
    """Return the hooks.json of the layer.

    Its records are separate from those of `trotline install`, so that `uninstall` keeps this hook.
    """
    commands = {_build_command(spec, event) for event in spec.events}
    file = spec.location.directory / "hooks.json"
    terms = EditTerms(shape=Shape.FLAT, ours=commands.__contains__, version=1, file=str(file))
    return Installation(path=file, terms=terms, owner_directory=spec.location.root, state=roots.state / "new")


def build_sample_options(spec: HookSpec) -> str:
    """Return arguments of `trotline fire` that show what the hook does."""
    event = EVENTS[spec.events[0]]
    kind = _get_kind(event.contract)
    examined = [_get_field(event.contract)] if kind == "gate" else []
    required = [field.name for field in msgspec.structs.fields(event) if field.required]
    fields = dict.fromkeys([*examined, *required], "replace-me")
    fields |= {"status": "completed", "loop_count": "0"} if kind == "follow_up" else {}
    return " ".join([spec.events[0], *(f"--set {name}={value}" for name, value in fields.items())])


def _build_command(spec: HookSpec, event: str) -> str:
    """Return the command, which Cursor runs in the root of the project or in ~/.cursor."""
    script = f"{spec.location.hooks_path}/{spec.file}"
    if spec.language == "python":
        return shlex.join([*spec.location.python, script, *spec.location.options])
    return f"{script} {event}" if LANGUAGES[spec.language].needs_event else script


def _render_hook(spec: HookSpec) -> str:
    kinds = [_get_kind(EVENTS[event].contract) for event in spec.events]
    handlers = [
        render_template(f"hook/{spec.language}/{kind}.txt", **_build_values(spec, event))
        for kind, event in _list_examples(spec)
    ]
    separator = "\n\n" if spec.language == "python" else ""
    return render_template(
        f"hook/{spec.language}/hook.txt",
        name=spec.name,
        first=spec.events[0],
        imports=_render_imports(spec, kinds),
        constants=render_template("hook/python/constants.txt") if "gate" in kinds else "",
        handlers=separator.join(handlers).rstrip("\n"),
    )


def _render_imports(spec: HookSpec, kinds: Sequence[str]) -> str:
    names = {"on", "run", *(name for kind in kinds for name in IMPORTS[kind])}
    classes = [EVENTS[event].__name__ for event in spec.events]
    return f"from trotline import {_format_names(names)}\nfrom trotline.domain.events import {_format_names(classes)}"


def _format_names(names: Iterable[str]) -> str:
    """Format imported names in one line, or one per line if they are long."""
    line = ", ".join(sorted(names))
    return line if len(line) < MAX_IMPORT_LENGTH else "(\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")"


def _render_test(spec: HookSpec) -> str:
    tests = [
        render_template(f"hook/test/{kind}.txt", **_build_values(spec, event)) for kind, event in _list_examples(spec)
    ]
    return render_template(
        "hook/test/hook.txt",
        name=spec.name,
        file=spec.file,
        imports="import shlex\n" if LANGUAGES[spec.language].needs_event else "",
        tests="\n\n".join(tests).rstrip("\n"),
    )


def _list_examples(spec: HookSpec) -> Sequence[tuple[str, str]]:
    return [(_get_kind(EVENTS[event].contract), event) for event in spec.events]


def _build_values(spec: HookSpec, event: str) -> dict[str, str]:
    """Return the values of all placeholders for an event."""
    contract = EVENTS[event].contract
    is_closed = _fails_closed(spec, event)
    refusal = {name: value for name, value in REFUSAL.items() if name in contract.answers}
    commands = {
        "python": "agent.build_command(HOOK)",
        "bash": f'shlex.join([str(HOOK), "{event}"])',
        "node": "HOOK",
    }
    return {
        "event": event,
        "when": contract.when,
        "decorator": DECORATORS[event],
        "class": EVENTS[event].__name__,
        "field": _get_field(contract),
        "options": "(fail_closed=True)" if is_closed else "",
        "settings": ", fail_closed=True" if is_closed else "",
        "refusal": json.dumps(refusal),
        "allowance": json.dumps({name: value for name, value in ALLOWANCE.items() if name in contract.answers}),
        "layer": spec.location.layer,
        "command": commands[spec.language],
    }


def _get_kind(contract: Contract) -> str:
    return next((kind for answer, kind in EXAMPLE_KINDS.items() if answer in contract.answers), "observer")


def _fails_closed(spec: HookSpec, event: str) -> bool:
    return spec.fail_closed and _get_kind(EVENTS[event].contract) == "gate"


def _get_field(contract: Contract) -> str:
    """Return the field of an event that its example checks."""
    fields = EVENTS[contract.name].__struct_fields__
    return contract.subject.field or next((name for name in TEXT_FIELDS if name in fields), "")
