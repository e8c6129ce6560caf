"""Configured hooks, their layers, and their matchers.

A matcher that cannot be decided applies: running a guard too often is harmless, skipping it is a security hole.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS
from trotline.domain.events import Event
from trotline.domain.ids import hash_name
from trotline.formats import js_regex


class LayerKind(StrEnum):
    """A kind of hook configuration, in the order in which hooks run."""

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
        """The position in the execution order; 1 runs first."""
        return list(LayerKind).index(self) + 1

    @property
    def authority(self) -> int:
        """The level of authority, 1 is the highest. It differs from the rank: a user outranks a project."""
        levels = {LayerKind.ENTERPRISE: 1, LayerKind.TEAM: 2}
        return levels.get(self, 4 if self.needs_trust else 3)

    @property
    def from_claude(self) -> bool:
        """True for settings files of Claude Code."""
        return self.value.startswith("claude-")

    @property
    def needs_trust(self) -> bool:
        """True for files that anyone with commit access to the repository can write."""
        return self in {LayerKind.PROJECT, LayerKind.CLAUDE_LOCAL, LayerKind.CLAUDE_PROJECT}


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """A file of hooks."""

    kind: LayerKind
    file: str
    root: str  # the workspace, home or managed directory it belongs to
    cwd: str  # where its commands run
    note: str = ""


class Place(msgspec.Struct, frozen=True, order=True):
    """A position in a file. Lines and columns count from 1, columns in characters."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Vocabulary(msgspec.Struct, frozen=True):
    """The tool names in configuration files of another agent; empty for Cursor."""

    tools: dict[str, tuple[str, ...]] = {}
    mcp_prefix: str = ""


NO_VOCABULARY = Vocabulary()

Search = Callable[[str, str], bool | None]
"""Returns whether a JavaScript pattern occurs in a text; None if that could not be decided."""


def search_unavailable(_pattern: str, _text: str) -> bool | None:
    """Return None, because no backtracking engine may run here."""
    return None


class Fit(NamedTuple):
    """The result of matching a hook against an event, with the reason."""

    applies: bool
    why: str


class Matcher(msgspec.Struct, frozen=True):
    """A JavaScript regular expression or, for the plain form of Claude Code, a list of exact names."""

    source: str
    names: tuple[str, ...] = ()

    @property
    def takes_all(self) -> bool:
        """True if the matcher is empty or `*`."""
        return self.source in {"", "*"}

    def fit(self, subjects: tuple[str, ...], search: Search = search_unavailable) -> Fit:
        """Match any of the names of a subject."""
        if self.takes_all:
            return Fit(applies=True, why=f"matcher `{self.source}` takes everything")
        if self.names:
            listed = next((name for name in subjects if name in self.names), None)
            return self._build_fit(listed is not None, listed or subjects[0])
        for subject in subjects:
            answer = _search(self.source, subject, search)
            if answer is None:
                return Fit(applies=True, why=f"matcher `{self.source}` could not be decided in time, so it applies")
            if answer:
                return self._build_fit(applies=True, subject=subject)
        return self._build_fit(applies=False, subject=subjects[0])

    def _build_fit(self, applies: bool, subject: str) -> Fit:
        shown = subject if len(subject) <= 60 else subject[:57] + "..."
        return Fit(
            applies=applies, why=f"matcher `{self.source}` {'matches' if applies else 'does not match'} `{shown}`"
        )


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A configured hook. Exactly one of `command` and `prompt` is set."""

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
    vocabulary: Vocabulary = NO_VOCABULARY

    @property
    def label(self) -> str:
        """The text that identifies the hook to the user."""
        return self.command or f"prompt: {self.prompt}"

    def fit(self, event: Event, search: Search = search_unavailable) -> Fit:
        """Return whether this hook runs for this event. Matchers see only the subject of the event."""
        if event.wire_name != self.event:
            return Fit(applies=False, why=f"it waits for {self.event}")
        if self.matcher is None:
            return Fit(applies=True, why="it has no matcher")
        subject = event.subject
        if subject is None:
            return Fit(applies=True, why=f"{self.event} offers nothing to match, so every hook runs")
        if self._may_match_unnamed_server(subject):
            return Fit(
                applies=True, why=f"this event does not name the MCP server that `{self.matcher.source}` asks for"
            )
        return self.matcher.fit(self._list_subjects(subject), search)

    def _may_match_unnamed_server(self, subject: str) -> bool:
        """Return whether the matcher names an MCP server, and the event a tool without its server."""
        prefix = self.vocabulary.mcp_prefix
        return (
            bool(prefix)
            and split_mcp_name(subject) == ("", subject[4:])
            and prefix in (self.matcher or Matcher("")).source
        )

    def _list_subjects(self, subject: str) -> tuple[str, ...]:
        """Return all names of a subject that a matcher may use."""
        server, tool = split_mcp_name(subject)
        alias = f"{self.vocabulary.mcp_prefix}{server}__{tool}" if self.vocabulary.mcp_prefix and server else ""
        names = self.vocabulary.tools.get(subject, ())
        return tuple(dict.fromkeys((subject, *filter(None, (get_bare_name(subject), *names, alias)))))


def get_bare_name(subject: str) -> str:
    """Return the name that Cursor uses for an MCP tool, without the server; empty for other tools."""
    server, tool = split_mcp_name(subject)
    return f"MCP:{tool}" if server else ""


def split_mcp_name(tool_name: str) -> tuple[str, str]:
    """Split `MCP:tool` or `MCP:server:tool` into server and tool; two empty strings for other tools."""
    if not tool_name.startswith("MCP:"):
        return "", ""
    server, colon, tool = tool_name[4:].partition(":")
    return (server, tool) if colon else ("", server)


def build_hook_id(*, layer: str, file: str, event: str, command: str, matcher: str, ordinal: int) -> str:
    """Return an id that depends on the configured values and not on the line, so that it survives edits of the file."""
    text = "\0".join((layer, file, event, command, matcher, str(ordinal)))
    return hash_name(text, 16)


def _search(source: str, subject: str, backtracking_search: Search) -> bool | None:
    compiled = _compile_pattern(source)
    if compiled is None:
        return backtracking_search(source, subject)
    return compiled.search(js_regex.encode_subject(subject)) is not None


@lru_cache(maxsize=1024)
def _compile_pattern(source: str) -> Any:
    """Compile a pattern with re2, which runs in linear time; None if it needs a backtracking engine."""
    import re2  # noqa: PLC0415 - most commands need no matcher

    try:
        pattern = js_regex.parse_js_regex(source)
        options = re2.Options()
        options.log_errors = False
        return re2.compile(pattern.re2, options) if pattern.re2 is not None else None
    except (js_regex.PatternError, re2.error):
        return None
