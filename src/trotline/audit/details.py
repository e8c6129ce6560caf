"""What was asked and answered, in words: kept beside the record, redacted before it is written anywhere.

A record says that something happened and must not be lost, so it is written before the answer goes out. Its detail is
made when nobody waits any more, because to look for secrets in a text takes longer than to judge it.

How much is kept is a setting: `minimal` keeps sizes and digests of texts and no text, `full` also what edits change.
"""

from typing import Any

import msgspec

from trotline.audit.actions import action_of, also_of
from trotline.audit.changes import Change, Diff, changes_of, diffs_of
from trotline.audit.kept_effects import kept, outlined
from trotline.audit.measures import attachments_of, measures_of
from trotline.audit.names import DIGEST, cuts_a_value, measured
from trotline.audit.records import DETAIL
from trotline.audit.subjects import about_of
from trotline.audit.wording import Wording
from trotline.config.levels import FULL
from trotline.effects import Effect
from trotline.errors import TrotlineError
from trotline.hosts.cursor import object_of
from trotline.outcomes import Outcome
from trotline.scanners.finding import digest_of
from trotline.scanners.redaction import redacted_tree

LONGEST = 16_384
MOST = 2_000
MOST_CHARACTERS = 2_000_000
"""Characters of one text, texts of one detail, and characters of all of them, that are kept: a text that is nothing but
secrets takes seconds for a million."""

CALL = "mcp"
"""The kind of effect that names a server and its tool."""

LONGEST_FIELD = 64
"""Characters of the name of a field, and of a version."""

LONGEST_OF_EFFECT = 4_096
"""The longest path there is; what else is said of an effect stands in the payload as well."""

LONGEST_CHANGE = 262_144
"""Characters of one side of an edit that is kept as a diff."""


def detail_of(outcome: Outcome, wording: Wording) -> dict[str, Any]:
    """What was said without secrets and personal data, or only how much of it there was."""
    changes = changes_of(outcome.event)
    diffs = diffs_of(changes)
    told = _content(outcome, wording, diffs) if wording.keeps_content else _outline(outcome, wording, diffs)
    told |= {"version": _version(outcome), "measures": measures_of(outcome.event, diffs)}
    given = [*told.values(), _cut_changes(changes, wording)]  # names of ours are no text of anybody's
    (*texts, changed), findings = redacted_tree(given, wording.key, wording.scanners)
    clean = dict(zip(told, texts, strict=True))
    if "reply" in clean:
        clean["reply"] = clean["reply"][:LONGEST]  # not sooner: half of a secret is one too
    shown = diffs_of(Change(*change) for change in changed)
    return {
        "schema": DETAIL,
        "id": outcome.call.id,
        "level": wording.level,
        "machine": wording.machine,
        "user": wording.user,
        **clean,
        **({"diffs": [[diff.path, diff.text] for diff in shown]} if shown else {}),
        "redacted": sorted({finding.kind for finding in findings}),
        "action": action_of(outcome.event, wording.key),
        **({"also": also} if (also := also_of(outcome.event, wording.key)) else {}),
    }


def _cut_changes(changes: list[Change], wording: Wording) -> list[list[str]]:
    """What diffs are made of once it is redacted: between the signs of a diff a key of many lines is not seen."""
    cut = _Cut(wording.key, LONGEST_CHANGE)
    return [[cut.of(part) for part in change] for change in changes] if wording.level == FULL else []


def _content(outcome: Outcome, wording: Wording, diffs: list[Diff]) -> dict[str, Any]:
    voices = outcome.voices
    return {
        "payload": _Cut(wording.key).of(_payload(outcome)),
        "about": _Cut(wording.key).of(about_of(outcome.event, _payload(outcome))),
        "reasons": [[voice.author, voice.said] for voice in voices if voice.said != "no opinion"],
        "hooks": {voice.author: voice.name for voice in voices if voice.name != voice.author},
        "not_run": [[entry.hook.id, entry.hook.line, entry.why] for entry in outcome.not_run],
        "warnings": [warning for voice in voices for warning in voice.warnings],
        "effects": [_effect(effect, wording) for effect in outcome.effects],
        "attachments": attachments_of(outcome.event),
        "lines": [[diff.path, diff.added, diff.removed] for diff in diffs],
        "reply": str(outcome.sent.get("stdout", "")),
    }


def _effect(effect: Effect, wording: Wording) -> list[Any]:
    """What we took for the name of a server, and for that of its tool, may have been one value before."""
    if effect.kind == CALL and cuts_a_value(effect.target, wording):
        effect = msgspec.structs.replace(effect, target=measured(effect.target, wording.key))
    return list(_Cut(wording.key, LONGEST_OF_EFFECT).of(kept(effect)))


def _outline(outcome: Outcome, wording: Wording, diffs: list[Diff]) -> dict[str, Any]:
    """What there was, and how much of it: names of fields, sizes, digests that say the same of the same text."""

    def digest(text: str) -> str:
        return digest_of(text.encode("utf-8", "surrogatepass"), wording.key)[:DIGEST]

    payload = _payload(outcome)
    fields = payload if isinstance(payload, dict) else {}
    inner = fields.get("tool_input")
    texts = {**fields, **(inner if isinstance(inner, dict) else {})}
    return {
        "sizes": {
            _shortened(str(name), wording.key, LONGEST_FIELD): [len(value), digest(value)]
            for name, value in list(texts.items())[:MOST]
            if isinstance(value, str) and value and name not in SAID_ELSEWHERE
        },
        "effects": list(map(outlined, outcome.effects)),
        "attachments": [[kind, digest(path)] for kind, path in attachments_of(outcome.event)],
        "lines": [[digest(diff.path), diff.added, diff.removed] for diff in diffs],
    }


SAID_ELSEWHERE = frozenset({"hook_event_name", "conversation_id", "generation_id", "session_id", "model", "model_id"})


def _version(outcome: Outcome) -> str:
    found = outcome.event.raw.get("version") or outcome.event.cursor_version
    text = str(found or "")
    return text if len(text) <= LONGEST_FIELD else f"[{len(text)} characters]"


def _payload(outcome: Outcome) -> Any:
    try:
        return object_of(outcome.call.payload)
    except TrotlineError:
        return f"{len(outcome.call.payload)} bytes that are no JSON object"


def _shortened(text: str, key: bytes, longest: int) -> str:
    return text if len(text) <= longest else measured(text, key)


class _Cut:
    """The same value with its long texts cut before anybody reads them, and no more texts than a person would."""

    def __init__(self, key: bytes, longest: int = LONGEST) -> None:
        self.left = MOST
        self.characters = MOST_CHARACTERS
        self.key = key
        self.longest = longest

    def of(self, value: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            return "..."
        if isinstance(value, str):
            self.characters -= min(len(value), self.longest)
            return _shortened(value, self.key, self.longest) if self.characters >= 0 else measured(value, self.key)
        if isinstance(value, dict):
            items = list(value.items())[: self.left + 1]
            return {_shortened(str(name), self.key, self.longest): self.of(inner) for name, inner in items}
        if isinstance(value, list):
            return [self.of(inner) for inner in value[: self.left + 1]]
        return value
