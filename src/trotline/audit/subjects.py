"""What a call is about, in our words, where the payload has others: a record shows it, and is found by it."""

from typing import Any

from trotline.events import Event, PostToolUse, PostToolUseFailure, PreToolUse
from trotline.hosts.patches import patched
from trotline.hosts.specific import LAST_WORDS, absolute, texts_of

NAMES = ("command", "file_path", "prompt")
"""Fields of events, and of the input of tools."""

PATHS = ("file_path", "path", "notebook_path")
BESIDES = ("prompt", "url", "query", "pattern", "text", "status", "reason")

SUBJECTS: dict[str, tuple[str, ...]] = {
    "sessionStart": ("source", "composer_mode", "cwd", "workspace_roots"),
    "sessionEnd": ("reason", "final_status", "status"),
    "workspaceOpen": ("workspace_roots",),
    "preCompact": ("trigger",),
    "subagentStart": ("task", "prompt", "subagent_type", "agent_type"),
    "subagentStop": ("summary", LAST_WORDS, "result", "task", "prompt", "subagent_type", "agent_type", "status"),
    "stop": (LAST_WORDS, "prompt_response", "status", "reason"),
}
"""Where the subject of these events stands, the best first. Our names and those of hosts: what a payload has under one
of them is not kept twice."""

ANY = ("command", *PATHS, *BESIDES)
"""The same for all others."""

WRITES = "Write"
BETWEEN = "; "


def about_of(event: Event, payload: Any) -> dict[str, Any]:
    """Nothing of what stands in the payload under the same name: nobody redacts a text twice for that."""
    given = getattr(event, "tool_input", None)
    own = SUBJECTS.get(event.wire_name, ())
    found = ((name, getattr(event, name, None) or _in(given, name)) for name in dict.fromkeys((*NAMES, *own)))
    told = {name: BETWEEN.join(texts_of(value)) for name, value in found if value and not isinstance(value, tuple)}
    if LAST_WORDS in own and event.raw.get(LAST_WORDS):
        told[LAST_WORDS] = str(event.raw[LAST_WORDS])
    inner = _in(payload, "tool_input")
    there = {name: {_as_text(_in(payload, name)), _as_text(_in(inner, name))} for name in told}
    shown = {_as_text(_in(payload, name)) for name in own}
    about = {name: text for name, text in told.items() if text not in there[name] | shown}
    paths = _patched(event, given)
    return {**about, "paths": paths} if paths else about


def _patched(event: Event, given: Any) -> list[str]:
    """The files of a patch, which has no field for them."""
    if not isinstance(event, PreToolUse | PostToolUse | PostToolUseFailure) or event.tool_name != WRITES:
        return []
    patch = _in(given, "patch")
    files = patched(patch) if isinstance(patch, str) else ()
    return list(dict.fromkeys(absolute(event.cwd, file.path) for file in files))


def _in(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, dict) else None


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
