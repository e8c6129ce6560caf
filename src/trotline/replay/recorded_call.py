"""A recorded call: the payload of the agent, the decision, and the reason why the call cannot be evaluated again.

Records contain redacted text. A payload from which something was removed, cut or not stored differs from the one that
was evaluated, so evaluating the rest would be a guess.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from trotline.agents import AGENTS, DEFAULT_AGENT, get_agent
from trotline.agents.translation import decode_event
from trotline.audit.record.details import MAX_TEXTS
from trotline.audit.record.record import Record
from trotline.audit.record.record_builder import ENGINE_SIDE
from trotline.config.paths import Roots
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import Event
from trotline.engine.prompts import IDENTITY_FIELDS
from trotline.guards import GUARD_NAMES

REDACTED = re.compile(r"\[redacted ([a-z0-9-]{1,60}) [0-9a-f]{8}\]")
CUT = re.compile(r"\[\d{1,12} characters(?:, digest [0-9a-f]{1,64})?\]")
CUT_OFF = "..."

USER_EMAIL = "user_email"
IGNORED_FIELDS = IDENTITY_FIELDS | {USER_EMAIL}
"""Fields that no guard reads. A rule may test the user; `RecordedCall.has_no_user` covers that case."""

BUILTIN_AUTHORS = frozenset({*GUARD_NAMES, "canary", "guards", "policy", "redaction", "trotline"})
BUILTIN_PREFIXES = ("rule ", "list ")
"""Authors that every installed hook line has; any other author is a program that is not run again."""


class DecisionSummary(NamedTuple):
    """A decision, and the response of each author that had an opinion."""

    permission: str
    responses: frozenset[tuple[str, str]] = frozenset()
    sent: str = ""  # the permission sent to the agent, where the agent does not support the decided one


class RecordedCall(NamedTuple):
    """One call of an agent. `missing` is the reason why it cannot be evaluated again, or empty."""

    agent: str
    event: str = ""  # Trotline's name of the event
    conversation: str = ""
    payload: bytes = b""
    decision: DecisionSummary | None = None  # None for a call that was never answered
    missing: str = ""
    has_no_user: bool = False  # the email address of the user was redacted
    monitored: bool = False
    seq: int = 0
    id: str = ""
    at_us: int = 0
    subject: str = ""
    is_embedded: bool = False  # raised by an embedded session, which has no agent

    @property
    def wire_agent(self) -> str:
        """The agent whose format the payload has."""
        return DEFAULT_AGENT if self.is_embedded else self.agent

    def parse_event(self) -> Event:
        """Return the event of the payload; raise UnreadablePayload if it has none."""
        agent = get_agent(self.wire_agent)
        theirs = next((name for name, ours in agent.events.items() if ours == self.event), self.event)
        return decode_event(agent, self.payload, theirs).event

    def move_to(self, project: str) -> "RecordedCall":
        """Return the call as if it had been made in this project."""
        workspaces = self._get_workspaces()
        places = {place: project for root in workspaces or () if (place := normalize_root(root))}
        if not places:
            return self
        return self._replace(payload=json.dumps(replace_paths(json.loads(self.payload), places)).encode())

    def was_made_in(self, roots: Roots) -> bool:
        """Check whether the call was made in one of these projects; true if that is unknown."""
        workspaces = self._get_workspaces()
        if workspaces is None:
            return True
        return not {os.path.realpath(root) for root in workspaces}.isdisjoint(map(os.path.realpath, roots.projects))

    def _get_workspaces(self) -> tuple[str, ...] | None:
        try:
            return None if self.missing else tuple(self.parse_event().workspace_roots)
        except UnreadablePayload:
            return None


def normalize_root(root: str) -> str:
    """Return a workspace root without its final slash; empty for `/`, which is part of every path."""
    return root.rstrip("/") if len(root.strip("/")) > 1 else ""


def replace_paths(value: Any, places: Mapping[str, str]) -> Any:
    """Return a JSON value in which directories are replaced wherever their whole name occurs."""
    if isinstance(value, str):
        for place in sorted(places, key=len, reverse=True):
            value = re.sub(re.escape(place) + r"(?![\w.-])", places[place].replace("\\", r"\\"), value)
        return value
    if isinstance(value, dict):
        return {key: replace_paths(child, places) for key, child in value.items()}
    return [replace_paths(child, places) for child in value] if isinstance(value, list) else value


def build_call(record: Record) -> RecordedCall:
    """Return the call of a record of the audit log."""
    body = record.payload
    ids = {"conversation_id": record.conversation, "generation_id": record.generation}
    body = {**body, **{name: value for name, value in ids.items() if name in body}}
    has_no_user = REDACTED.search(str(body.get(USER_EMAIL, ""))) is not None
    if has_no_user:
        del body[USER_EMAIL]
    return RecordedCall(
        agent=record.agent,
        event=record.event,
        conversation=record.conversation,
        payload=json.dumps(body).encode(),
        decision=_summarize_decision(record),
        missing=_explain_missing(record),
        has_no_user=has_no_user,
        monitored=record.monitored,
        seq=record.seq,
        id=record.id,
        at_us=record.at_us,
        subject=record.subject,
        is_embedded=record.side == ENGINE_SIDE,
    )


def _summarize_decision(record: Record) -> DecisionSummary:
    sent = "" if record.monitored or record.sent == record.decided else record.sent
    opinions = drop_canary((response.author, response.permission) for response in record.responses)
    return DecisionSummary(record.decided, opinions, sent)


def drop_canary(responses: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Leave out the canary, which sees every call, unless it decided."""
    return frozenset(response for response in responses if response != ("canary", "none"))


def _explain_missing(record: Record) -> str:
    detail = record.detail_or_empty
    if not record.has_detail:
        return "nothing was kept of what was said"
    if isinstance(detail.payload, str):
        return f"it was {detail.payload}"
    if detail.payload is UNSET:
        level = f", at the level {detail.level}" if detail.level else ""
        return detail.missing or f"what was said was not kept{level}"
    if record.agent not in AGENTS and record.side != ENGINE_SIDE:
        return f"there is no agent `{record.agent}` here"
    authors = {author for author, _ in _summarize_decision(record).responses}
    programs = sorted(author for author in authors if not _is_builtin(author))
    if programs:
        return f"`{record.name_author(programs[0])}` was asked, a program that is not run again"
    return "; ".join(dict.fromkeys(_find_gaps(detail.payload)))


def _is_builtin(author: str) -> bool:
    return author in BUILTIN_AUTHORS or author.startswith(BUILTIN_PREFIXES)


def _find_gaps(payload: dict[str, Any]) -> Iterator[str]:
    """Yield a description of each redacted or cut field."""
    for name, value in payload.items():
        texts = list(_walk_texts(value))
        kinds = sorted({found[1] for text in texts for found in REDACTED.finditer(text)})
        if kinds and name not in IGNORED_FIELDS:
            yield f"redacted: {', '.join(kinds)} in `{name}`"
        if any(CUT.fullmatch(text) for text in texts):
            yield f"cut: `{name}` was too long"
    everything = list(_walk_texts(payload))
    if CUT_OFF in everything and len(everything) >= MAX_TEXTS:
        yield "cut: there were too many texts in it"


def _walk_texts(value: Any) -> Iterator[str]:
    """Yield every text, key and number, and an empty text for each container, in any order."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        yield "" if isinstance(node, dict | list) else str(node)
        if isinstance(node, dict):
            yield from map(str, node)
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
