"""What tools work with: the session that they raise events at, the workspace, and the person who may be asked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from agent.mcp_client import Server
from trotline import Outcome, Session


class Refused(Exception):  # noqa: N818 - what happened, not what went wrong
    """Somebody said no; the sentence is for the model."""


class Person(Protocol):
    """Who sits before the agent."""

    def agrees(self, question: str) -> bool: ...

    def reads(self, text: str) -> None: ...


class Nobody:
    """Nobody is there, so nobody agrees."""

    def agrees(self, question: str) -> bool:  # noqa: ARG002 - whatever the question
        return False

    def reads(self, text: str) -> None:
        """Nobody reads it."""


class Done(NamedTuple):
    """What a tool did: in words for the model, and as the record that hooks read."""

    text: str
    record: dict[str, Any]


class Workspace:
    """One directory that file tools do not leave, and the MCP servers that belong to it."""

    def __init__(self, root: Path, servers: Mapping[str, Server] | None = None) -> None:
        self.root = root.resolve()
        self.servers = dict(servers or {})

    def absolute(self, name: str) -> Path:
        """The real place that a name stands for: a hook that judges paths is not deceived by a link."""
        return (self.root / name).resolve()

    def find(self, name: str) -> Path:
        path = self.absolute(name)
        if not path.is_relative_to(self.root):
            raise Refused(f"`{name}` is not in the workspace")
        return path

    def writable(self, name: str) -> Path:
        """An agent does not write the rules that it is held to."""
        path = self.find(name)
        if path.suffix == ".json" and path.parent == self.root / ".cursor":
            raise Refused(f"`{name}` is not the agent's to change")
        return path


class Hand:
    """What one agent's tools share."""

    def __init__(self, session: Session, workspace: Workspace, person: Person) -> None:
        self.session = session
        self.workspace = workspace
        self.person = person
        self.modified: list[str] = []

    def pass_gate(self, outcome: Outcome) -> None:
        """Goes on, or raises Refused: a hook said no, or one asked and the person said no."""
        if outcome.denied:
            self.person.reads(outcome.user_message)
            raise Refused(outcome.agent_message or "a hook refused this and gave no reason")
        if outcome.asks and not self.person.agrees(outcome.user_message):
            raise Refused(f"the person was asked and said no. {outcome.decision.verdict.agent_message}".rstrip())

    def touched(self, path: Path) -> None:
        if str(path) not in self.modified:
            self.modified.append(str(path))
