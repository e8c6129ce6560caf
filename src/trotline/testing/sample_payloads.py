"""Sample payloads of every event in every edition, built from the declarations of events.

Fields that an edition did not have are left out; renamed fields have their old names.
"""

from typing import Any

from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.domain.errors import UsageError
from trotline.domain.event_fields import build_sample
from trotline.domain.events import EVENTS

SINCE_2026_02 = frozenset({"model", "cursor_version", "user_email", "transcript_path", "duration", "session_id"})
SINCE_2026_09 = frozenset(
    {"model_id", "model_params", "sandbox", "mcp_server_name", "mcp_server_url", "agent_message", "composer_mode"}
)
SESSION_EVENTS = frozenset({"sessionStart", "sessionEnd"})

MISSING_FIELDS: dict[str, frozenset[str]] = {
    "2025-11": SINCE_2026_02 | SINCE_2026_09,
    "2026-02": SINCE_2026_09,
}
"""Fields that an edition did not have."""

OLD_SHAPES: dict[tuple[str, str], dict[str, str]] = {
    ("2026-02", "subagentStart"): {"subagent_type": "subagent_type", "task": "prompt"},
    ("2026-02", "subagentStop"): {
        "subagent_type": "subagent_type",
        "status": "status",
        "summary": "result",
        "duration_ms": "duration",
        "agent_transcript_path": "agent_transcript_path",
    },
}
"""Events that had only these fields, under these names."""

OLD_ATTACHMENTS = {
    "2025-11": frozenset({"beforeSubmitPrompt"}),
    "2026-02": frozenset({"beforeSubmitPrompt", "beforeReadFile"}),
}
"""Events whose attachments had `filePath` instead of `file_path`."""

ENVELOPE = frozenset(
    {
        "conversation_id",
        "generation_id",
        "hook_event_name",
        "workspace_roots",
        "model",
        "cursor_version",
        "user_email",
        "transcript_path",
    }
)


def build_payload(event: str, edition_name: str = NEWEST_EDITION, **fields: Any) -> dict[str, Any]:
    """Build a payload with these fields and sample values for the others; raise for a field the event does not have."""
    edition = get_edition(edition_name)
    if event not in edition.events:
        hint = f"edition {edition_name} has: {', '.join(sorted(edition.events))}"
        raise UsageError(f"there is no event `{event}` in edition {edition_name}", hint=hint)
    unknown = [name for name in fields if name not in EVENTS[event].__struct_fields__ or name == "raw"]
    if unknown:
        raise UsageError(f"{event} has no field `{unknown[0]}`", hint=f"`trotline events {event}` shows them")
    return _adapt_to_edition({**build_sample(event), **fields}, event, edition_name)


def _adapt_to_edition(body: dict[str, Any], event: str, edition_name: str) -> dict[str, Any]:
    missing = MISSING_FIELDS.get(edition_name, frozenset()) - (
        {"session_id", "composer_mode"} if event in SESSION_EVENTS else set()
    )
    body = {name: value for name, value in body.items() if name not in missing}
    shape = OLD_SHAPES.get((edition_name, event))
    if shape is not None:
        body = {shape.get(name, name): value for name, value in body.items() if name in shape or name in ENVELOPE}
    if event in OLD_ATTACHMENTS.get(edition_name, frozenset()):
        body["attachments"] = [_build_old_attachment(attachment) for attachment in body.get("attachments", [])]
    return body


def _build_old_attachment(attachment: dict[str, Any]) -> dict[str, Any]:
    return {"filePath" if name == "file_path" else name: value for name, value in attachment.items()}
