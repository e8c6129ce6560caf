"""Payloads as the product sends them: every event, every edition, made from the declarations.

What an edition did not have yet is left out, and what it called otherwise has its old name.
"""

from typing import Any

from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.fields import sample
from trotline.hosts.cursor_editions import NEWEST, edition

SINCE_2026_02 = frozenset({"model", "cursor_version", "user_email", "transcript_path", "duration", "session_id"})
SINCE_2026_09 = frozenset(
    {"model_id", "model_params", "sandbox", "mcp_server_name", "mcp_server_url", "agent_message", "composer_mode"}
)
OF_A_SESSION = frozenset({"sessionStart", "sessionEnd"})

NEW: dict[str, frozenset[str]] = {
    "2025-11": SINCE_2026_02 | SINCE_2026_09,
    "2026-02": SINCE_2026_09,
}
"""Fields that an edition did not send."""

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
"""Events that were sent with these fields alone, under these names."""

OLD_ATTACHMENTS = {
    "2025-11": frozenset({"beforeSubmitPrompt"}),
    "2026-02": frozenset({"beforeSubmitPrompt", "beforeReadFile"}),
}
"""Where the path of an attachment was written `filePath`."""

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


def payload(event: str, edition_name: str = NEWEST, **fields: Any) -> dict[str, Any]:
    """A payload of this event, with these fields set; a field that the event does not have is a mistake."""
    known = edition(edition_name)
    if event not in known.events:
        hint = f"edition {edition_name} has: {', '.join(sorted(known.events))}"
        raise UsageError(f"there is no event `{event}` in edition {edition_name}", hint=hint)
    stray = [name for name in fields if name not in EVENTS[event].__struct_fields__ or name == "raw"]
    if stray:
        raise UsageError(f"{event} has no field `{stray[0]}`", hint=f"`trotline events {event}` shows them")
    return _as_sent({**sample(event), **fields}, event, edition_name)


def _as_sent(body: dict[str, Any], event: str, edition_name: str) -> dict[str, Any]:
    new = NEW.get(edition_name, frozenset()) - ({"session_id", "composer_mode"} if event in OF_A_SESSION else set())
    body = {name: value for name, value in body.items() if name not in new}
    shape = OLD_SHAPES.get((edition_name, event))
    if shape is not None:
        body = {shape.get(name, name): value for name, value in body.items() if name in shape or name in ENVELOPE}
    if event in OLD_ATTACHMENTS.get(edition_name, frozenset()):
        body["attachments"] = [_old_attachment(one) for one in body.get("attachments", [])]
    return body


def _old_attachment(attachment: dict[str, Any]) -> dict[str, Any]:
    return {"filePath" if name == "file_path" else name: value for name, value in attachment.items()}
