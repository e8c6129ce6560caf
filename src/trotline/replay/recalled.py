"""A call as it can be had back: its payload as the host sent it, what was decided, and what nobody can say any more.

Records hold words without secrets. A payload of which something was taken out, cut or never kept is not the one that
was judged, and to judge the rest would be to guess.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.audit.columns import subject_of
from trotline.audit.details import MOST
from trotline.audit.records import HOST
from trotline.engine.recall import NAMES
from trotline.guards import NAMES as GUARDS
from trotline.hosts import ANYBODY, HOSTS

MARKER = re.compile(r"\[redacted ([a-z0-9-]{1,60}) [0-9a-f]{8}\]")
CUT = re.compile(r"\[\d{1,12} characters(?:, digest [0-9a-f]{1,64})?\]")
CUT_OFF = "..."

PERSON = "user_email"
ASIDE = NAMES | {PERSON}
"""Fields that no guard looks at; a rule may ask for the person, and then it is known that nobody knows."""

OURS = frozenset({*GUARDS, "canary", "guards", "policy", "redaction", "trotline"})
OURS_BY_KIND = ("rule ", "list ")
"""Who speaks wherever our own line is; anybody else is a program that is not here."""


class Said(NamedTuple):
    """What was decided, and what each of those said who said something."""

    permission: str
    voices: frozenset[tuple[str, str]] = frozenset()
    sent: str = ""  # what the host was told, where it cannot hear what was decided


class Recalled(NamedTuple):
    """One call. `missing` says why it cannot be judged again; it is empty for one that can."""

    host: str
    event: str = ""  # ours
    conversation: str = ""
    payload: bytes = b""
    said: Said | None = None  # None for a call that nobody has answered yet
    missing: str = ""
    nameless: bool = False  # whether the person's address was taken out
    monitored: bool = False
    seq: int = 0
    id: str = ""
    at_us: int = 0
    subject: str = ""
    own: bool = False  # whether an agent of somebody's own raised it, which has no host for anybody to sit under

    @property
    def wire(self) -> str:
        """Whose words the payload is in."""
        return ANYBODY if self.own else self.host


def recalled(record: dict[str, Any]) -> Recalled:
    """A call from its record."""
    detail = record.get("detail")
    payload = detail.get("payload") if isinstance(detail, dict) else None
    body = payload if isinstance(payload, dict) else {}
    own = {"conversation_id": record.get("conversation"), "generation_id": record.get("generation")}
    whole = {**body, **{name: value for name, value in own.items() if name in body}}
    nameless = MARKER.search(str(body.get(PERSON, ""))) is not None
    if nameless:
        del whole[PERSON]
    return Recalled(
        host=str(record.get("host")),
        event=str(record.get("event")),
        conversation=str(record.get("conversation") or ""),
        payload=json.dumps(whole).encode(),
        said=said_in(record),
        missing=_missing(record, detail, payload),
        nameless=nameless,
        monitored=bool(record.get("monitored")),
        seq=int(record.get("seq") or 0),
        id=str(record.get("id")),
        at_us=int(record.get("at_us") or 0),
        subject=subject_of(record),
        own=record.get("seat") == HOST,
    )


def said_in(record: dict[str, Any]) -> Said:
    voices = [one for one in record.get("voices", ()) if isinstance(one, dict)]
    asked = str(record.get("asked"))
    sent = "" if record.get("monitored") else str(record.get("sent") or asked)
    said = spoken((str(one.get("author")), str(one.get("said"))) for one in voices)
    return Said(asked, said, sent if sent != asked else "")


def spoken(voices: Iterator[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Without those who are asked about everything and had no opinion."""
    return frozenset(voice for voice in voices if voice != ("canary", "silent"))


def _missing(record: dict[str, Any], detail: Any, payload: Any) -> str:
    if not isinstance(detail, dict):
        return "nothing was kept of what was said"
    if isinstance(payload, str):
        return f"it was {payload}"
    if not isinstance(payload, dict):
        return str(detail.get("missing") or f"what was said was not kept{_level(detail)}")
    if str(record.get("host")) not in HOSTS and record.get("seat") != HOST:
        return f"there is no host `{record.get('host')}` here"
    strangers = [one for one, _ in sorted(said_in(record).voices) if not _is_ours(one)]
    if strangers:
        hooks = detail.get("hooks")
        name = (hooks if isinstance(hooks, dict) else {}).get(strangers[0], strangers[0])
        return f"`{name}` was asked, a program that is not run again"
    return "; ".join(dict.fromkeys(_gaps(payload)))


def _level(detail: dict[str, Any]) -> str:
    return f", at the level {detail['level']}" if isinstance(detail.get("level"), str) else ""


def _is_ours(author: str) -> bool:
    return author in OURS or author.startswith(OURS_BY_KIND)


def _gaps(payload: dict[str, Any]) -> Iterator[str]:
    """What is not there as it was sent, field by field."""
    for name, value in payload.items():
        texts = list(_texts(value))
        taken = sorted({found[1] for text in texts for found in MARKER.finditer(text)})
        if taken and name not in ASIDE:
            yield f"redacted: {', '.join(taken)} in `{name}`"
        if any(CUT.fullmatch(text) for text in texts):
            yield f"cut: `{name}` was too long"
    everything = list(_texts(payload))
    if CUT_OFF in everything and len(everything) >= MOST:
        yield "cut: there were too many texts in it"


def _texts(value: Any) -> Iterator[str]:
    """Every text, key and number, and an empty one for whatever holds them; the order does not matter."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        yield "" if isinstance(node, dict | list) else str(node)
        if isinstance(node, dict):
            yield from map(str, node)
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
