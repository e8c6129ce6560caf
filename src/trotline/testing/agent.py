"""An agent that is not there: hooks of any language are put into its layers, events are raised, Outcomes come back.

Everything it has is in one directory: home, the machine's root, the workspace, and a clock that stands still. Nothing
of the person who runs the test is read or changed.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trotline.assemble import Engine
from trotline.config.places import Roots, policy_files
from trotline.config.policies import read_policies
from trotline.config.trust import TrustState
from trotline.engine.engine import Options
from trotline.engine.functions import AGENT
from trotline.errors import UsageError
from trotline.events import EVENTS, Event
from trotline.hooks import LayerKind
from trotline.hosts.cursor import read_event
from trotline.hosts.cursor_editions import NEWEST
from trotline.outcomes import Outcome, Run, Voice
from trotline.testing.payloads import payload

NEW_YEAR_2026 = 1_767_225_600_000_000
FIRST_DAY = "2026-01-01"
CONVERSATION = "a-conversation-of-a-test"
PLAIN = re.compile(r"[\w@%+=:,./ -]+")
"""A command line without anything that a shell would give a meaning to."""

ENTRY_NAMES = {"fail_closed": "failClosed"}


class HookFailed(AssertionError):  # noqa: N818 - a failed test, not an error of ours
    """A hook failed, or said something that its event does not take; a test that meant that says so."""


class Agent:
    """Raises events at the hooks it was given."""

    def __init__(self, directory: Path, environ: Mapping[str, str] | None = None) -> None:
        self.home = directory / "home"
        self.system = directory / "system"
        self.project = directory / "project"
        for root in (self.home, self.system, self.project):
            root.mkdir(parents=True, exist_ok=True)
        self.environ = {**(os.environ if environ is None else environ), "HOME": str(self.home)}
        self.now = NEW_YEAR_2026
        self.conversation_id = CONVERSATION
        self.edition: str | None = None
        self._files: dict[Path, dict[str, Any]] = {}
        self._engine: Engine | None = None
        self._guarded = False

    def layer(self, kind: str, hook: str | Path, *, event: str | None = None, **settings: Any) -> None:
        """Put a hook into a layer, by its path or its command line; for one event, or without a name for all.

        Settings are those of hooks.json: matcher, timeout, fail_closed, loop_limit.
        """
        entry = {"command": _command(hook), **{ENTRY_NAMES.get(key, key): value for key, value in settings.items()}}
        content = self._files.setdefault(self._file(kind), {"version": 1, "hooks": {}})
        for name in [event] if event else EVENTS:
            content["hooks"].setdefault(name, []).append(entry)
        self._written()

    def program(self, hook: Path) -> str:
        """The command line of a program written with the SDK: run by this Python, its records in this agent's home."""
        return shlex.join([sys.executable, "-P", _from_anywhere(hook), "--home", str(self.home)])

    def hooks_json(self, kind: str, content: str | Path | dict[str, Any]) -> None:
        """Put a whole file into a layer: its text, its path, or its content."""
        text = json.dumps(content) if isinstance(content, dict) else content
        file = self._file(kind)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.read_bytes() if isinstance(text, Path) else text.encode())
        self._files.pop(file, None)
        self._engine = None

    def guards(self, **policies: str | Path) -> None:
        """Trotline's guards judge as well, by the policies that layers have: enterprise, team, user, project; of each
        its text, or its path."""
        places = dict(policy_files(self._roots(), [str(self.project)]))
        strange = [layer for layer in policies if layer not in places]
        if strange:
            raise UsageError(f"there is no layer `{strange[0]}` that has a policy", hint=", ".join(places))
        for layer, file in places.items():
            policy = policies.get(layer)
            if policy is not None:
                text = policy.read_text("utf-8") if isinstance(policy, Path) else policy
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                Path(file).write_text(text, "utf-8")
        problems = read_policies(self._roots(), [self.project], today=FIRST_DAY).problems
        if problems:
            raise HookFailed("\n".join(f"{problem.place}: {problem.message}" for problem in problems))
        self._guarded = True
        self._engine = None

    def fire(self, event: str | Event, *, may_fail: bool = False, **fields: Any) -> Outcome:
        """Raise an event, by its name and fields or as it is, and say what came of it.

        A hook that fails, or whose reply is not what the event takes, fails the test, unless it may.
        """
        raised = event if isinstance(event, Event) else self.event(event, **fields)
        outcome = self.engine.dispatch(raised)
        if outcome.alarms:
            raise HookFailed("\n".join(outcome.alarms))
        complaints = [line for voice in outcome.voices for line in _complaints(voice, outcome)]
        complaints += [f"{entry.hook.line} did not run: {entry.why}" for entry in outcome.not_run]
        if complaints and not may_fail:
            raise HookFailed("\n".join(complaints))
        return outcome

    def event(self, name: str, **fields: Any) -> Event:
        """The event as this agent would raise it: samples for all fields that are not given."""
        own = {"conversation_id": self.conversation_id, "workspace_roots": [str(self.project)]}
        known = {key: value for key, value in own.items() if name in EVENTS and key not in fields}
        return read_event(json.dumps(payload(name, self.edition or NEWEST, **known, **fields)))

    @property
    def engine(self) -> Engine:
        """The engine that plays the host. A test trusts its own hooks, also after it has changed them."""
        if self._engine is None or self._engine.trust(self.project).state is not TrustState.TRUSTED:
            looked = self._load(())
            self._engine = self._load((looked.trust(self.project).coverage.digest,))
        return self._engine

    def _load(self, digests: tuple[str, ...]) -> Engine:
        path = tuple(entry for entry in self.environ.get("PATH", "").split(os.pathsep) if entry)
        options = Options(edition_name=self.edition, trusted_digests=digests)
        engine = Engine(self._roots(path), self.environ, lambda: self.now, options)
        if self._guarded:
            engine.guard()
        return engine

    def _roots(self, path: tuple[str, ...] = ()) -> Roots:
        return Roots(home=self.home, system=self.system, projects=(self.project,), search_path=path)

    def _file(self, kind: str) -> Path:
        roots = self._roots()
        files = {
            LayerKind.ENTERPRISE: roots.enterprise_file,
            LayerKind.TEAM: roots.team_file,
            LayerKind.PROJECT: self.project / ".cursor" / "hooks.json",
            LayerKind.USER: roots.user_file,
        }
        found = {str(name): file for name, file in files.items()}.get(kind)
        if found is None:
            raise UsageError(f"there is no layer `{kind}` to put a hook into", hint=", ".join(files))
        return found

    def _written(self) -> None:
        for file, content in self._files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content, indent=2), "utf-8")
        self._engine = None


def _command(hook: str | Path) -> str:
    """As it would stand in hooks.json. Files named from where the test runs are found from anywhere."""
    if isinstance(hook, Path):
        return shlex.quote(_from_anywhere(hook))
    if not PLAIN.fullmatch(hook):
        return hook
    return " ".join(shlex.quote(_from_anywhere(word)) if Path(word).is_file() else word for word in hook.split())


def _from_anywhere(path: str | Path) -> str:
    """Links stay links: the interpreter of a virtual environment is one, and is lost when it is followed."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow them


def _complaints(voice: Voice, outcome: Outcome) -> list[str]:
    """What a hook author should hear of: how it failed, and what of its reply this event does not take."""
    lines = []
    if voice.failure is not None:
        lines.append(f"{voice.name} failed on {outcome.event.wire_name}, {voice.failure.kind}: {voice.failure.detail}")
    guard = not isinstance(voice, Run) and voice.layer != AGENT  # to warn is one of the things that guards say
    lines += [f"{voice.name} on {outcome.event.wire_name}: {warning}" for warning in voice.warnings if not guard]
    if lines and isinstance(voice, Run):
        shown = {"stdout": voice.stdout, "stderr": voice.stderr}
        lines += [f"  {name}: {data.decode('utf-8', 'replace').strip()[:500]}" for name, data in shown.items() if data]
        takes = ", ".join(outcome.event.contract.answers) or "nothing"
        lines.append(f"  {outcome.event.wire_name} takes {takes}; `trotline events {outcome.event.wire_name}`")
    return lines
