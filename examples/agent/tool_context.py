"""The context of tools: the session for events, the workspace, and the person who can be asked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agent.mcp_client import Server
from trotline import Outcome, Session


class RefusedError(Exception):
    """A hook or the person refused a call; the model reads the message."""


class Person(Protocol):
    """The person who uses the agent."""

    def confirm(self, question: str) -> bool: ...

    def show(self, text: str) -> None: ...


class AbsentPerson:
    """No person: every question is answered with no."""

    def confirm(self, question: str) -> bool:  # noqa: ARG002 - the answer is always no
        return False

    def show(self, text: str) -> None:
        """Show nothing."""


class ToolOutput(NamedTuple):
    """The output of a tool: a text for the model, and a record for hooks."""

    text: str
    record: dict[str, Any]


class Workspace:
    """A directory that file tools cannot leave, and its MCP servers."""

    def __init__(self, root: Path, servers: Mapping[str, Server] | None = None) -> None:
        self.root = root.resolve()
        self.servers = dict(servers or {})

    def resolve(self, name: str) -> Path:
        """Return the path with links followed, so that links cannot deceive hooks."""
        return (self.root / name).resolve()

    def find(self, name: str) -> Path:
        """Return the path of a file in the workspace; raise if it is outside."""
        path = self.resolve(name)
        if not path.is_relative_to(self.root):
            raise RefusedError(f"`{name}` is not in the workspace")
        return path

    def find_writable(self, name: str) -> Path:
        """Return the path of a file that the agent may write: hooks.json is not one."""
        path = self.find(name)
        if path.suffix == ".json" and path.parent == self.root / ".cursor":
            raise RefusedError(f"`{name}` is not the agent's to change")
        return path


class ToolContext:
    """The state that the tools of an agent share."""

    def __init__(self, session: Session, workspace: Workspace, person: Person) -> None:
        self.session = session
        self.workspace = workspace
        self.person = person
        self.modified: list[str] = []

    def check_permission(self, outcome: Outcome) -> None:
        """Raise RefusedError if a hook denies, or asks and the person says no."""
        if outcome.is_denied:
            self.person.show(outcome.user_message)
            raise RefusedError(outcome.agent_message or "a hook refused this and gave no reason")
        if outcome.is_asked and not self.person.confirm(outcome.user_message):
            raise RefusedError(f"the person was asked and said no. {outcome.decision.verdict.agent_message}".rstrip())

    def note_modified(self, path: Path) -> None:
        if str(path) not in self.modified:
            self.modified.append(str(path))
