"""Subjects of calls under our field names, for payloads that use other names.

Records show them and are found by them.
"""

from typing import Any

from trotline.agents.derived_events import LAST_MESSAGE_KEY, list_texts, make_absolute
from trotline.agents.patches import parse_patch
from trotline.domain.events import Event, PostToolUse, PostToolUseFailure, PreToolUse

SUBJECT_NAMES = ("command", "file_path", "prompt")
"""Subject fields of events and of tool inputs."""

PATH_FIELDS = ("file_path", "path", "notebook_path")
OTHER_SUBJECT_FIELDS = ("prompt", "url", "query", "pattern", "text", "status", "reason")

SUBJECT_FIELDS: dict[str, tuple[str, ...]] = {
    "sessionStart": ("source", "composer_mode", "cwd", "workspace_roots"),
    "sessionEnd": ("reason", "final_status", "status"),
    "workspaceOpen": ("workspace_roots",),
    "preCompact": ("trigger",),
    "subagentStart": ("task", "prompt", "subagent_type", "agent_type"),
    "subagentStop": ("summary", LAST_MESSAGE_KEY, "result", "task", "prompt", "subagent_type", "agent_type", "status"),
    "stop": (LAST_MESSAGE_KEY, "prompt_response", "status", "reason"),
}
"""Fields with the subject of these events, best first.

They include our names and those of agents, so that a text which the payload has under any of them is not stored twice.
"""

DEFAULT_SUBJECT_FIELDS = ("command", *PATH_FIELDS, *OTHER_SUBJECT_FIELDS)
"""Fields with the subject of all other events, best first."""

WRITE_TOOL = "Write"
SUBJECT_SEPARATOR = "; "


def extract_subject(event: Event, payload: Any) -> dict[str, Any]:
    """Return the subject of an event by field name.

    Texts that the payload has under the same name are left out, to avoid redacting them twice.
    """
    tool_input = getattr(event, "tool_input", None)
    names = SUBJECT_FIELDS.get(event.wire_name, ())
    subject = {}
    for name in (*SUBJECT_NAMES, *names):
        value = getattr(event, name, None) or _get(tool_input, name)
        if value and not isinstance(value, tuple):
            subject[name] = SUBJECT_SEPARATOR.join(list_texts(value))
    if LAST_MESSAGE_KEY in names and event.raw.get(LAST_MESSAGE_KEY):
        subject[LAST_MESSAGE_KEY] = str(event.raw[LAST_MESSAGE_KEY])
    payload_input = _get(payload, "tool_input")
    known = {name: {_as_text(_get(payload, name)), _as_text(_get(payload_input, name))} for name in subject}
    shown = {_as_text(_get(payload, name)) for name in names}
    new = {name: text for name, text in subject.items() if text not in known[name] | shown}
    paths = _list_patched_files(event, tool_input)
    return {**new, "paths": paths} if paths else new


def _list_patched_files(event: Event, tool_input: Any) -> list[str]:
    """Return the files of a patch, which names them only in its text."""
    if not isinstance(event, PreToolUse | PostToolUse | PostToolUseFailure) or event.tool_name != WRITE_TOOL:
        return []
    patch = _get(tool_input, "patch")
    files = parse_patch(patch) if isinstance(patch, str) else ()
    return list(dict.fromkeys(make_absolute(event.cwd, file.path) for file in files))


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
