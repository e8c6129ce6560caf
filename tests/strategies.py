"""Strategies for hypothesis: every event in canonical form, verdicts, and the responses of several hooks.

In canonical events a surrogate pair is one character, text that contains an object is that object, and the fields in
`raw` are unknown to the event. Every drawn event must survive writing and reading.
"""

import json
from typing import Any

from hypothesis import strategies as st

from trotline.domain.event_records import Attachment, Edit, ModelParam, Range, TabEdit
from trotline.domain.events import EVENTS, Event, OtherEvent
from trotline.domain.verdicts import Permission, RankedVerdict, Verdict

Values = st.SearchStrategy[Any]


def join_surrogates(text: str) -> str:
    """Join surrogate pairs as JSON does, so that only lone surrogates remain."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


texts = st.text(st.characters(exclude_categories=()), max_size=12).map(join_surrogates)
"""Any characters, including lone surrogates."""

words = st.text("abcxyz_:. ", max_size=8)
whole_numbers = st.integers(-(2**70), 2**70)
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | whole_numbers | numbers | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
json_objects = st.dictionaries(texts, json_values, max_size=3)


def build_nested(levels: int, *, lists: bool) -> Any:
    value: Any = {"at": "the bottom"}
    for _ in range(levels):
        value = [value] if lists else {"in": value}
    return value


deep_values = st.builds(build_nested, st.integers(50, 300), lists=st.booleans())


def contains_json_value(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


plain_texts = texts.filter(lambda text: not contains_json_value(text))
tool_inputs = json_objects | st.lists(json_values, max_size=3) | plain_texts | deep_values
maybe_text = st.none() | texts
maybe_bool = st.none() | st.booleans()
maybe_whole = st.none() | whole_numbers
roots = st.lists(texts, max_size=2).map(tuple)
attachments = st.lists(st.builds(Attachment, type=words, file_path=texts), max_size=2).map(tuple)
model_params = st.none() | st.lists(st.builds(ModelParam, id=texts, value=texts), max_size=2).map(tuple)
edits = st.lists(st.builds(Edit, old_string=texts, new_string=texts), max_size=2).map(tuple)
ranges = st.builds(
    Range,
    start_line_number=whole_numbers,
    start_column=whole_numbers,
    end_line_number=whole_numbers,
    end_column=whole_numbers,
)
tab_edits = st.lists(
    st.builds(TabEdit, old_string=texts, new_string=texts, range=ranges, old_line=texts, new_line=texts), max_size=2
).map(tuple)
bare_tool_names = texts.filter(lambda name: not name.startswith("MCP:"))

COMMON: dict[str, Values] = {
    "conversation_id": texts,
    "generation_id": texts,
    "workspace_roots": roots,
    "model": maybe_text,
    "model_id": maybe_text,
    "model_params": model_params,
    "session_id": maybe_text,
    "cursor_version": texts,
    "user_email": maybe_text,
    "transcript_path": maybe_text,
}
TOKENS: dict[str, Values] = {
    "input_tokens": maybe_whole,
    "output_tokens": maybe_whole,
    "cache_read_tokens": maybe_whole,
    "cache_write_tokens": maybe_whole,
}
TOOL: dict[str, Values] = {
    "tool_name": texts | st.sampled_from(["Shell", "MCP:tool", "MCP:server:tool"]),
    "tool_input": tool_inputs,
    "tool_use_id": texts | st.just("call-1\nfc_2"),
    "cwd": texts,
}

FIELDS: dict[str, dict[str, Values]] = {
    "sessionStart": {"is_background_agent": st.booleans(), "composer_mode": maybe_text},
    "sessionEnd": {
        "reason": texts,
        "duration_ms": numbers,
        "is_background_agent": st.booleans(),
        "final_status": texts,
        "error_message": maybe_text,
    },
    "beforeSubmitPrompt": {**TOKENS, "prompt": texts, "attachments": attachments, "composer_mode": maybe_text},
    "preToolUse": {**TOOL, "agent_message": maybe_text},
    "postToolUse": {**TOOL, "tool_output": texts, "duration": numbers},
    "postToolUseFailure": {
        **TOOL,
        "error_message": texts,
        "failure_type": texts,
        "duration": numbers,
        "is_interrupt": st.booleans(),
    },
    "beforeShellExecution": {
        "command": texts,
        "cwd": texts,
        "sandbox": maybe_bool,
        "timeout": st.none() | numbers,
    },
    "afterShellExecution": {
        "command": texts,
        "output": texts,
        "duration": numbers,
        "sandbox": maybe_bool,
        "cwd": maybe_text,
    },
    "beforeMCPExecution": {
        "tool_name": bare_tool_names,
        "tool_input": tool_inputs,
        "mcp_server_name": maybe_text,
        "mcp_server_url": maybe_text,
        "url": maybe_text,
        "command": maybe_text,
    },
    "afterMCPExecution": {
        "tool_name": bare_tool_names,
        "tool_input": tool_inputs,
        "result_json": texts,
        "duration": numbers,
        "mcp_server_name": maybe_text,
        "mcp_server_url": maybe_text,
    },
    "beforeReadFile": {"file_path": texts, "content": texts, "attachments": attachments},
    "afterFileEdit": {"file_path": texts, "edits": edits},
    "subagentStart": {
        "subagent_type": texts,
        "subagent_id": texts,
        "task": texts,
        "parent_conversation_id": texts,
        "tool_call_id": texts,
        "subagent_model": texts,
        "is_parallel_worker": st.booleans(),
        "git_branch": maybe_text,
    },
    "subagentStop": {
        "subagent_type": texts,
        "subagent_id": maybe_text,
        "parent_conversation_id": maybe_text,
        "status": texts,
        "task": texts,
        "description": maybe_text,
        "summary": maybe_text,
        "duration_ms": numbers,
        "message_count": whole_numbers,
        "tool_call_count": whole_numbers,
        "loop_count": whole_numbers,
        "modified_files": roots,
        "agent_transcript_path": maybe_text,
    },
    "preCompact": {
        "trigger": texts,
        "context_usage_percent": numbers,
        "context_tokens": whole_numbers,
        "context_window_size": whole_numbers,
        "message_count": whole_numbers,
        "messages_to_compact": whole_numbers,
        "is_first_compaction": st.booleans(),
    },
    "afterAgentResponse": {**TOKENS, "text": texts},
    "afterAgentThought": {"text": texts, "duration_ms": st.none() | numbers},
    "stop": {**TOKENS, "status": texts, "loop_count": whole_numbers},
    "beforeTabFileRead": {"file_path": texts, "content": texts},
    "afterTabFileEdit": {"file_path": texts, "edits": tab_edits},
    "workspaceOpen": {},
}
"""Every field that an event has beside the common ones, by the event's name on the wire."""

READ_AS_SOMETHING_ELSE = frozenset(
    {"hook_event_name", "raw", "server", "prompt", "result", "duration", "attachments"}
    | {"tool_input", "tool_output", "result_json"}
)
"""Names that mean something on some event, under one spelling or another, and so are not unknown."""


def unknown_fields(cls: type[Event]) -> st.SearchStrategy[dict[str, Any]]:
    known = READ_AS_SOMETHING_ELSE.union(cls.__struct_fields__)
    names = (texts | st.sampled_from(sorted(EVENTS))).filter(lambda name: name not in known)
    return st.dictionaries(names, json_values | deep_values, max_size=3)


def events_named(name: str) -> st.SearchStrategy[Event]:
    """Draw any event of this name in canonical form."""
    cls = EVENTS[name]
    return st.builds(cls, **COMMON, **FIELDS[name], raw=unknown_fields(cls))


other_events = st.builds(
    OtherEvent,
    **COMMON,
    hook_event_name=texts.filter(lambda name: bool(name) and name not in EVENTS),
    raw=unknown_fields(OtherEvent),
)

permissions = st.sampled_from(Permission)
some_object = st.none() | st.dictionaries(words, scalars, min_size=1, max_size=1)
verdicts = st.builds(
    Verdict,
    permission=permissions,
    user_message=texts,
    agent_message=texts,
    edited_input=some_object,
    context=texts,
    follow_up=texts,
    env=st.dictionaries(st.sampled_from("ABC"), words, max_size=3),
    replaced_output=some_object,
    plugin_paths=st.lists(texts, max_size=2).map(tuple),
)


def rank_verdicts(ranked: list[tuple[int, Verdict]]) -> list[RankedVerdict]:
    ordered = sorted(ranked, key=lambda item: item[0])
    return [RankedVerdict(f"hook-{number}", rank, verdict) for number, (rank, verdict) in enumerate(ordered)]


ranked_verdicts = st.lists(st.tuples(st.integers(1, 4), verdicts), max_size=4).map(rank_verdicts)
"""Responses in configured order: layers of the highest rank first, each response with a different author."""

verdicts_of_one_layer = st.lists(st.tuples(st.just(2), verdicts), max_size=4).map(rank_verdicts)

_TEXT = st.text(max_size=12) | st.sampled_from(
    ["x", "./x.sh", "python3 x.py", "echo '{}'", "$FILE", "(", "Shell", "~/x"]
)
_SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT
_KEY = st.sampled_from(
    ["command", "type", "prompt", "model", "timeout", "matcher", "loop_limit", "failClosed", "hooks"]
)
_ENTRY = st.dictionaries(_KEY | _TEXT, _SCALAR | st.lists(_SCALAR, max_size=2), max_size=5) | _SCALAR
_GROUP = st.fixed_dictionaries({"hooks": st.lists(_ENTRY, max_size=3)}, optional={"matcher": _SCALAR})
_EVENT = st.sampled_from([*EVENTS, "PreToolUse", "Stop", "Notification", "beforeFileEdit"]) | _TEXT
_EVENTS = st.dictionaries(_EVENT, st.lists(_ENTRY | _GROUP, max_size=4) | _SCALAR, max_size=4)
_TOP = st.fixed_dictionaries({}, optional={"version": _SCALAR, "hooks": _EVENTS | _SCALAR, "disableAllHooks": _SCALAR})
_WHOLE = st.builds(json.dumps, _TOP | _SCALAR | st.lists(_SCALAR), indent=st.sampled_from([None, 1])).map(str.encode)
_TORN = st.builds(
    lambda whole, at, lost, put: whole[: at % (len(whole) + 1)] + put + whole[at % (len(whole) + 1) + lost :],
    _WHOLE,
    st.integers(min_value=0),
    st.integers(min_value=0, max_value=5),
    st.binary(max_size=3) | st.sampled_from([b'"', b",", b"{", b"}", b"[", b"]", b"//", b"/*", b"\\", b"'"]),
)
file_contents = _WHOLE | _TORN | st.binary(max_size=100)
"""Bytes of a hooks file: mostly nearly valid, and some invalid."""
