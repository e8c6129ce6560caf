"""A fake agent for tests: add hooks of any language to its layers, fire events, and check the Outcomes.

Its home, system root and workspace are in one directory, and its clock stands still. It does not read or change
files of the user who runs the test.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trotline.agents.cursor.cursor_editions import NEWEST_EDITION
from trotline.agents.cursor.payloads import read_event
from trotline.assemble import Engine
from trotline.config.paths import Roots, list_config_layers
from trotline.config.policies import read_policies
from trotline.config.trust import TrustState
from trotline.conversation.functions import AGENT
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS, Event
from trotline.domain.hooks import LayerKind
from trotline.domain.outcomes import Outcome, Response, Run
from trotline.engine.dispatch import Options
from trotline.testing.sample_payloads import build_payload

NEW_YEAR_2026 = 1_767_225_600_000_000
FIRST_DAY = "2026-01-01"
CONVERSATION = "a-conversation-of-a-test"
_PLAIN_COMMAND = re.compile(r"[\w@%+=:,./ -]+")
"""A command line without special characters of the shell."""

ENTRY_NAMES = {"fail_closed": "failClosed"}


class HookFailed(AssertionError):  # noqa: N818 - a failed test, not an error of ours
    """A hook failed, or its reply does not fit the event. Tests that expect this pass `may_fail`."""


class FakeAgent:
    """Fires events at the hooks of its layers."""

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
        self._has_guards = False

    def add_hook(self, kind: str, hook: str | Path, *, event: str | None = None, **settings: Any) -> None:
        """Add a hook to a layer by its path or command line, for one event or for all.

        Settings are those of hooks.json: matcher, timeout, fail_closed, loop_limit.
        """
        entry = {
            "command": _build_entry_command(hook),
            **{ENTRY_NAMES.get(key, key): value for key, value in settings.items()},
        }
        content = self._files.setdefault(self._find_file(kind), {"version": 1, "hooks": {}})
        for name in [event] if event else EVENTS:
            content["hooks"].setdefault(name, []).append(entry)
        self._write_files()

    def build_command(self, hook: Path) -> str:
        """Build the command line of an SDK program: this Python runs it, with records in this agent's home."""
        return shlex.join([sys.executable, "-P", _make_absolute(hook), "--home", str(self.home)])

    def write_hooks_json(self, kind: str, content: str | Path | dict[str, Any]) -> None:
        """Write the hooks.json of a layer, from a text, a path or an object."""
        text = json.dumps(content) if isinstance(content, dict) else content
        file = self._find_file(kind)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.read_bytes() if isinstance(text, Path) else text.encode())
        self._files.pop(file, None)
        self._engine = None

    def enable_guards(self, **policies: str | Path) -> None:
        """Enable the guards, with policies (texts or paths) of the layers enterprise, team, user and project."""
        files = dict(list_config_layers(self._build_roots(), [str(self.project)]))
        unknown = [layer for layer in policies if layer not in files]
        if unknown:
            raise UsageError(f"there is no layer `{unknown[0]}` that has a policy", hint=", ".join(files))
        for layer, file in files.items():
            policy = policies.get(layer)
            if policy is not None:
                text = policy.read_text("utf-8") if isinstance(policy, Path) else policy
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                Path(file).write_text(text, "utf-8")
        problems = read_policies(self._build_roots(), [self.project], today=FIRST_DAY).problems
        if problems:
            raise HookFailed("\n".join(f"{problem.place}: {problem.message}" for problem in problems))
        self._has_guards = True
        self._engine = None

    def fire(self, event: str | Event, *, may_fail: bool = False, **fields: Any) -> Outcome:
        """Fire an event and return its Outcome: an event object, or its name and the fields that differ from a sample.

        Conversation and workspace are filled in where an event object leaves them empty. A hook that fails, or whose
        reply is not what the event takes, fails the test, unless `may_fail` is set.
        """
        complete = self._fill_in_common_fields(event) if isinstance(event, Event) else self.build_event(event, **fields)
        outcome = self.engine.dispatch(complete)
        if outcome.alarms:
            raise HookFailed("\n".join(outcome.alarms))
        complaints = [line for response in outcome.responses for line in _list_complaints(response, outcome)]
        complaints += [f"{entry.hook.label} did not run: {entry.why}" for entry in outcome.not_run]
        if complaints and not may_fail:
            raise HookFailed("\n".join(complaints))
        return outcome

    def build_event(self, name: str, **fields: Any) -> Event:
        """Build an event with sample values for all other fields."""
        common = {"conversation_id": self.conversation_id, "workspace_roots": [str(self.project)]}
        missing = {key: value for key, value in common.items() if name in EVENTS and key not in fields}
        return read_event(json.dumps(build_payload(name, self.edition or NEWEST_EDITION, **missing, **fields)))

    def _fill_in_common_fields(self, event: Event) -> Event:
        common = {"conversation_id": self.conversation_id, "workspace_roots": (str(self.project),)}
        missing = {name: value for name, value in common.items() if not getattr(event, name)}
        return msgspec.structs.replace(event, **missing)

    @property
    def engine(self) -> Engine:
        """The engine of the agent, which trusts the hooks of the test in their current state."""
        if self._engine is None or self._engine.get_trust(self.project).state is not TrustState.TRUSTED:
            untrusted = self._build_engine(())
            self._engine = self._build_engine((untrusted.get_trust(self.project).coverage.digest,))
        return self._engine

    def _build_engine(self, digests: tuple[str, ...]) -> Engine:
        path = tuple(entry for entry in self.environ.get("PATH", "").split(os.pathsep) if entry)
        options = Options(edition_name=self.edition, trusted_digests=digests)
        engine = Engine(self._build_roots(path), self.environ, lambda: self.now, options)
        if self._has_guards:
            engine.guard()
        return engine

    def _build_roots(self, path: tuple[str, ...] = ()) -> Roots:
        return Roots(home=self.home, system=self.system, projects=(self.project,), search_path=path)

    def _find_file(self, kind: str) -> Path:
        roots = self._build_roots()
        files = {
            LayerKind.ENTERPRISE: roots.enterprise_file,
            LayerKind.TEAM: roots.team_file,
            LayerKind.PROJECT: self.project / ".cursor" / "hooks.json",
            LayerKind.USER: roots.user_file,
        }
        file = {str(name): path for name, path in files.items()}.get(kind)
        if file is None:
            raise UsageError(f"there is no layer `{kind}` to put a hook into", hint=", ".join(files))
        return file

    def _write_files(self) -> None:
        for file, content in self._files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content, indent=2), "utf-8")
        self._engine = None


def _build_entry_command(hook: str | Path) -> str:
    """Return the command for hooks.json, with absolute paths instead of paths relative to the test."""
    if isinstance(hook, Path):
        return shlex.quote(_make_absolute(hook))
    if not _PLAIN_COMMAND.fullmatch(hook):
        return hook
    return " ".join(shlex.quote(_make_absolute(word)) if Path(word).is_file() else word for word in hook.split())


def _make_absolute(path: str | Path) -> str:
    """Return the absolute path. Links are not followed, because the Python of a virtual environment is a link."""
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links


def _list_complaints(response: Response, outcome: Outcome) -> list[str]:
    """Describe how a hook failed, and which parts of its reply the event does not accept."""
    lines = []
    if response.failure is not None:
        lines.append(
            f"{response.name} failed on {outcome.event.wire_name}, {response.failure.kind}: {response.failure.detail}"
        )
    is_guard = not isinstance(response, Run) and response.layer != AGENT  # warnings of guards are no mistakes
    lines += [
        f"{response.name} on {outcome.event.wire_name}: {warning}" for warning in response.warnings if not is_guard
    ]
    if lines and isinstance(response, Run):
        output = {"stdout": response.stdout, "stderr": response.stderr}
        lines += [f"  {name}: {data.decode('utf-8', 'replace').strip()[:500]}" for name, data in output.items() if data]
        answers = ", ".join(outcome.event.contract.answers) or "nothing"
        lines.append(f"  {outcome.event.wire_name} takes {answers}; `trotline events {outcome.event.wire_name}`")
    return lines
