"""What is configured, where it came from, and when it applies.

A matcher that cannot be decided applies: a guard that runs once too often is a nuisance, one left out is a hole.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from trotline import jsregex
from trotline.editions import LOOP_LIMIT, TIMEOUT_SECONDS
from trotline.events import Event
from trotline.ids import name_of


class LayerKind(StrEnum):
    """Where hooks come from, in the order in which they run and speak."""

    ENTERPRISE = "enterprise"
    TEAM = "team"
    PROJECT = "project"
    USER = "user"
    CLAUDE_LOCAL = "claude-local"
    CLAUDE_PROJECT = "claude-project"
    CLAUDE_USER = "claude-user"
    PLUGIN = "plugin"

    @property
    def rank(self) -> int:
        return list(LayerKind).index(self) + 1

    @property
    def authority(self) -> int:
        """Whose word weighs more, which is not who speaks first: what a person set stands above what a project did."""
        levels = {LayerKind.ENTERPRISE: 1, LayerKind.TEAM: 2}
        return levels.get(self, 4 if self.needs_trust else 3)

    @property
    def from_claude(self) -> bool:
        return self.value.startswith("claude-")

    @property
    def needs_trust(self) -> bool:
        """Whoever can commit to a repository can write these."""
        return self in {LayerKind.PROJECT, LayerKind.CLAUDE_LOCAL, LayerKind.CLAUDE_PROJECT}


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One file of hooks: which kind, for which root, and where its commands run."""

    kind: LayerKind
    file: str
    root: str  # the workspace, home or managed directory it belongs to
    cwd: str  # where its commands run
    note: str = ""


class Place(msgspec.Struct, frozen=True, order=True):
    """Where something stands; lines and columns count from 1, columns in characters."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Vocabulary(msgspec.Struct, frozen=True):
    """The names by which another product's files call our tools; empty for Cursor's own."""

    tools: dict[str, tuple[str, ...]] = {}
    mcp_prefix: str = ""


CURSORS_OWN = Vocabulary()

Search = Callable[[str, str], bool | None]
"""Does this JavaScript pattern occur in this text? None when that could not be found out."""


def undecided(_pattern: str, _text: str) -> bool | None:
    return None


class Fit(NamedTuple):
    """Whether a hook applies to an event, and the sentence that says why."""

    applies: bool
    why: str


class Matcher(msgspec.Struct, frozen=True):
    """A JavaScript regular expression, or for Claude Code's plain form a list of exact names."""

    source: str
    names: tuple[str, ...] = ()

    @property
    def takes_all(self) -> bool:
        return self.source in {"", "*"}

    def fit(self, subjects: tuple[str, ...], search: Search = undecided) -> Fit:
        if self.takes_all:
            return Fit(applies=True, why=f"matcher `{self.source}` takes everything")
        if self.names:
            found = next((name for name in subjects if name in self.names), None)
            return self._said(found is not None, found or subjects[0])
        for subject in subjects:
            answer = _search(self.source, subject, search)
            if answer is None:
                return Fit(applies=True, why=f"matcher `{self.source}` could not be decided in time, so it applies")
            if answer:
                return self._said(found=True, subject=subject)
        return self._said(found=False, subject=subjects[0])

    def _said(self, found: bool, subject: str) -> Fit:
        shown = subject if len(subject) <= 60 else subject[:57] + "..."
        return Fit(applies=found, why=f"matcher `{self.source}` {'matches' if found else 'does not match'} `{shown}`")


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One configured entry, ready to run. Exactly one of `command` and `prompt` is set."""

    id: str
    event: str
    layer: Layer
    place: Place
    command: str = ""
    prompt: str = ""
    model: str | None = None
    matcher: Matcher | None = None
    timeout: float = TIMEOUT_SECONDS
    fail_closed: bool = False
    loop_limit: int | None = LOOP_LIMIT
    vocabulary: Vocabulary = CURSORS_OWN

    @property
    def line(self) -> str:
        """What a person recognises it by."""
        return self.command or f"prompt: {self.prompt}"

    def fit(self, event: Event, search: Search = undecided) -> Fit:
        """Whether this hook runs for this event; only the event's subject is looked at."""
        if event.wire_name != self.event:
            return Fit(applies=False, why=f"it waits for {self.event}")
        if self.matcher is None:
            return Fit(applies=True, why="it has no matcher")
        subject = event.subject
        if subject is None:
            return Fit(applies=True, why=f"{self.event} offers nothing to match, so every hook runs")
        if self._names_an_unknown_server(subject):
            return Fit(
                applies=True, why=f"this event does not name the MCP server that `{self.matcher.source}` asks for"
            )
        return self.matcher.fit(self._subjects(subject), search)

    def _names_an_unknown_server(self, subject: str) -> bool:
        prefix = self.vocabulary.mcp_prefix
        return (
            bool(prefix) and mcp_parts(subject) == ("", subject[4:]) and prefix in (self.matcher or Matcher("")).source
        )

    def _subjects(self, subject: str) -> tuple[str, ...]:
        server, tool = mcp_parts(subject)
        alias = f"{self.vocabulary.mcp_prefix}{server}__{tool}" if self.vocabulary.mcp_prefix and server else ""
        names = self.vocabulary.tools.get(subject, ())
        return tuple(dict.fromkeys((subject, *filter(None, (bare_name(subject), *names, alias)))))


def bare_name(subject: str) -> str:
    """A tool of an MCP server as Cursor itself calls it, which does not name the server; empty for anything else."""
    server, tool = mcp_parts(subject)
    return f"MCP:{tool}" if server else ""


def mcp_parts(tool_name: str) -> tuple[str, str]:
    """Server and tool of `MCP:tool` and `MCP:server:tool`; two empty strings for a tool that is not MCP's."""
    if not tool_name.startswith("MCP:"):
        return "", ""
    server, colon, tool = tool_name[4:].partition(":")
    return (server, tool) if colon else ("", server)


def hook_id(*, layer: str, file: str, event: str, command: str, matcher: str, ordinal: int) -> str:
    """Stable when lines move: it depends on what is configured, never on where in the file."""
    text = "\0".join((layer, file, event, command, matcher, str(ordinal)))
    return name_of(text, 16)


def _search(source: str, subject: str, beyond: Search) -> bool | None:
    compiled = _compiled(source)
    if compiled is None:
        return beyond(source, subject)
    return compiled.search(jsregex.subject(subject)) is not None


@lru_cache(maxsize=1024)
def _compiled(source: str) -> Any:
    """The pattern in re2, which is linear; None when only a backtracking engine could run it."""
    import re2  # noqa: PLC0415 - most commands never match anything

    try:
        pattern = jsregex.parse(source)
        options = re2.Options()
        options.log_errors = False
        return re2.compile(pattern.re2, options) if pattern.re2 is not None else None
    except (jsregex.PatternError, re2.error):
        return None
