"""Details: the texts of a call and its response, redacted before they are written and kept beside the record.

A record must not be lost, so it is written before the response is sent. On the hook side its detail is built after
that, because scanning a text for secrets takes longer than evaluating it.

The amount is a setting: `minimal` keeps sizes and digests instead of texts, `full` also keeps diffs of edits.
"""

from typing import Any

import msgspec

from trotline.agents.agent_json import parse_payload
from trotline.audit.record.actions import get_action_id, get_related_ids
from trotline.audit.record.detail_policy import DIGEST_LENGTH, DetailPolicy, hides_secret, summarize_text
from trotline.audit.record.edit_diffs import EditDiff, TextChange, build_diffs, list_changes
from trotline.audit.record.measures import collect_measures, list_attachments
from trotline.audit.record.record_builder import DETAIL_SCHEMA
from trotline.audit.record.subjects import extract_subject
from trotline.config.detail_levels import FULL
from trotline.domain.effects import Effect
from trotline.domain.errors import TrotlineError
from trotline.domain.outcomes import Outcome
from trotline.scanners.redaction import redact_tree
from trotline.scanners.spans import compute_digest

MAX_TEXT = 16_384
MAX_TEXTS = 2_000
MAX_CHARACTERS = 2_000_000
"""Limits of a detail: characters of one text, number of values, and characters of all texts.

Redacting a text of one million characters that consists only of secrets takes seconds.
"""

MCP_EFFECT = "mcp"
"""Kind of effect whose target is an MCP server and its tool."""

MAX_FIELD_NAME = 64
"""Maximum characters of a field name or a version."""

MAX_EFFECT_TEXT = 4_096
"""Maximum characters of a text in an effect: the longest possible path. Other texts are also in the payload."""

MAX_CHANGE = 262_144
"""Maximum characters of each side of an edit that is kept as a diff."""


def build_detail(outcome: Outcome, policy: DetailPolicy) -> dict[str, Any]:
    """Return the detail of an outcome: redacted texts, or only their sizes and digests at level `minimal`."""
    changes = list_changes(outcome.event)
    diffs = build_diffs(changes)
    content = _list_content(outcome, policy, diffs) if policy.keeps_content else _list_sizes(outcome, policy, diffs)
    content |= {"version": _get_version(outcome), "measures": collect_measures(outcome.event, diffs)}
    values = [*content.values(), _cut_changes(changes, policy)]  # the field names are ours and need no redaction
    (*texts, changed), findings = redact_tree(values, policy.key, policy.scanners)
    clean = dict(zip(content, texts, strict=True))
    if "reply" in clean:
        clean["reply"] = clean["reply"][:MAX_TEXT]  # only after redaction: half a secret is still sensitive
    shown = build_diffs(TextChange(*change) for change in changed)
    return {
        "schema": DETAIL_SCHEMA,
        "id": outcome.call.id,
        "level": policy.level,
        "machine": policy.machine,
        "user": policy.user,
        **clean,
        **({"diffs": [[diff.path, diff.text] for diff in shown]} if shown else {}),
        "redacted": sorted({finding.kind for finding in findings}),
        "action": get_action_id(outcome.event, policy.key),
        **({"related": related} if (related := get_related_ids(outcome.event, policy.key)) else {}),
    }


def _cut_changes(changes: list[TextChange], policy: DetailPolicy) -> list[list[str]]:
    """Return the changes to redact before diffing: scanners miss a multi-line key once its lines have diff signs."""
    limiter = TextLimiter(policy.key, MAX_CHANGE)
    return [[limiter.limit(part) for part in change] for change in changes] if policy.level == FULL else []


def _list_content(outcome: Outcome, policy: DetailPolicy, diffs: list[EditDiff]) -> dict[str, Any]:
    responses = outcome.responses
    return {
        "payload": TextLimiter(policy.key).limit(_parse_payload(outcome)),
        "subject": TextLimiter(policy.key).limit(extract_subject(outcome.event, _parse_payload(outcome))),
        "reasons": [[response.author, response.summary] for response in responses if response.summary != "no opinion"],
        "hooks": {response.author: response.name for response in responses if response.name != response.author},
        "not_run": [[entry.hook.id, entry.hook.label, entry.why] for entry in outcome.not_run],
        "warnings": [warning for response in responses for warning in response.warnings],
        "effects": [_encode_redacted_effect(effect, policy) for effect in outcome.effects],
        "attachments": list_attachments(outcome.event),
        "lines": [[diff.path, diff.added, diff.removed] for diff in diffs],
        "reply": str(outcome.sent.get("stdout", "")),
    }


def _encode_redacted_effect(effect: Effect, policy: DetailPolicy) -> list[Any]:
    """Encode an effect. An MCP target is summarized if server and tool together may have been one secret."""
    if effect.kind == MCP_EFFECT and hides_secret(effect.target, policy):
        effect = msgspec.structs.replace(effect, target=summarize_text(effect.target, policy.key))
    return list(TextLimiter(policy.key, MAX_EFFECT_TEXT).limit(encode_effect(effect)))


def _list_sizes(outcome: Outcome, policy: DetailPolicy, diffs: list[EditDiff]) -> dict[str, Any]:
    """Return field names, sizes and digests instead of texts; equal texts have equal digests."""

    def digest(text: str) -> str:
        return compute_digest(text.encode("utf-8", "surrogatepass"), policy.key)[:DIGEST_LENGTH]

    payload = _parse_payload(outcome)
    fields = payload if isinstance(payload, dict) else {}
    inner = fields.get("tool_input")
    texts = {**fields, **(inner if isinstance(inner, dict) else {})}
    return {
        "sizes": {
            _shorten(str(name), policy.key, MAX_FIELD_NAME): [len(value), digest(value)]
            for name, value in list(texts.items())[:MAX_TEXTS]
            if isinstance(value, str) and value and name not in RECORDED_FIELDS
        },
        "effects": list(map(outline_effect, outcome.effects)),
        "attachments": [[kind, digest(path)] for kind, path in list_attachments(outcome.event)],
        "lines": [[digest(diff.path), diff.added, diff.removed] for diff in diffs],
    }


RECORDED_FIELDS = frozenset({"hook_event_name", "conversation_id", "generation_id", "session_id", "model", "model_id"})


def _get_version(outcome: Outcome) -> str:
    version = outcome.event.raw.get("version") or outcome.event.cursor_version
    text = str(version or "")
    return text if len(text) <= MAX_FIELD_NAME else f"[{len(text)} characters]"


def _parse_payload(outcome: Outcome) -> Any:
    try:
        return parse_payload(outcome.call.payload)
    except TrotlineError:
        return f"{len(outcome.call.payload)} bytes that are no JSON object"


def _shorten(text: str, key: bytes, max_length: int) -> str:
    return text if len(text) <= max_length else summarize_text(text, key)


class TextLimiter:
    """A limit on the length of texts and the number of values in a tree, applied before redaction."""

    def __init__(self, key: bytes, max_length: int = MAX_TEXT) -> None:
        self.values_left = MAX_TEXTS
        self.characters_left = MAX_CHARACTERS
        self.key = key
        self.max_length = max_length

    def limit(self, value: Any) -> Any:
        """Return the value with long texts summarized and surplus values dropped."""
        self.values_left -= 1
        if self.values_left < 0:
            return "..."
        if isinstance(value, str):
            self.characters_left -= min(len(value), self.max_length)
            return (
                _shorten(value, self.key, self.max_length)
                if self.characters_left >= 0
                else summarize_text(value, self.key)
            )
        if isinstance(value, dict):
            items = list(value.items())[: self.values_left + 1]
            return {_shorten(str(name), self.key, self.max_length): self.limit(inner) for name, inner in items}
        if isinstance(value, list):
            return [self.limit(inner) for inner in value[: self.values_left + 1]]
        return value


EFFECT_FLAGS = ("writes", "recursive", "certainty")
"""Fields of an effect that contain no text of the agent and are kept at every level."""

EFFECT_TEXTS = ("host", "target", "package", "source", "why")
ZERO_VALUES = ("", False, "known")
"""Values that are not stored."""


def encode_effect(effect: Effect) -> list[Any]:
    """Return an effect as a list with all its fields. Columns are left out: they refer to the text before redaction."""
    return _build_effect_row(effect, effect.path or effect.host or effect.target, (*EFFECT_TEXTS, *EFFECT_FLAGS))


def outline_effect(effect: Effect) -> list[Any]:
    """Return an effect as a list without the texts about its object."""
    return _build_effect_row(effect, "", EFFECT_FLAGS)


def _build_effect_row(effect: Effect, target: str, names: tuple[str, ...]) -> list[Any]:
    more = {name: value for name in names if (value := getattr(effect, name)) not in ZERO_VALUES}
    return [effect.kind, effect.verb, target, *([more] if more else [])]
