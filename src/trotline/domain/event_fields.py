"""The meaning of each payload field, with a sample value.

Schemas, example payloads and the reference page are generated from this table.
"""

from typing import Any, NamedTuple

from trotline.domain.events import EVENTS, NULLABLE


class EventField(NamedTuple):
    """The meaning and a sample value of a payload field."""

    meaning: str
    sample: Any


FIELDS: dict[str, EventField] = {
    "conversation_id": EventField("stable over all turns of a conversation", "0b6f7c1e-5d0a-4c7e-9a51-2f1f6f2f7d11"),
    "generation_id": EventField("changes with every message of the person", "7a1c9f7c-1c0e-4e62-8f0e-5a3c3b0f9d22"),
    "hook_event_name": EventField("the event", ""),
    "workspace_roots": EventField("the folders of the workspace", ["/srv/shop"]),
    "model": EventField("the model picked in the product; often `default`", "default"),
    "model_id": EventField("the model's structured id", "sonnet-4.5"),
    "model_params": EventField("settings of the model", [{"id": "thinking", "value": "high"}]),
    "session_id": EventField("the same as conversation_id", "0b6f7c1e-5d0a-4c7e-9a51-2f1f6f2f7d11"),
    "cursor_version": EventField("the product's version; a dated build on the command line", "3.21.16"),
    "user_email": EventField("who is logged in, or null", "dev@example.com"),
    "transcript_path": EventField("the conversation's transcript, or null", None),
    "composer_mode": EventField("agent, ask or edit", "agent"),
    "input_tokens": EventField("tokens read so far; not documented", 5120),
    "output_tokens": EventField("tokens written so far; not documented", 310),
    "cache_read_tokens": EventField("tokens read from the cache; not documented", 4096),
    "cache_write_tokens": EventField("tokens written to the cache; not documented", 0),
    "is_background_agent": EventField("whether nobody is watching", False),
    "reason": EventField("completed, aborted, error, window_close or user_close", "completed"),
    "duration_ms": EventField("how long it took, in milliseconds", 45210),
    "final_status": EventField("the status at the end", "completed"),
    "error_message": EventField("what went wrong", "Command timed out after 30s"),
    "prompt": EventField("what the person wrote", "Add a test for the parser."),
    "attachments": EventField(
        "files and rules that go with the prompt", [{"type": "file", "file_path": "/srv/shop/a.py"}]
    ),
    "tool_name": EventField("the tool: Shell, Read, Write, Grep, Delete, Task, MCP:<tool>", "Shell"),
    "tool_input": EventField("the tool's arguments", {"command": "npm test", "cwd": "", "timeout": 30000}),
    "tool_use_id": EventField("the call's id; two lines on some clients", "tool_3f9a"),
    "cwd": EventField("the working directory; often empty", "/srv/shop"),
    "agent_message": EventField("what the agent said before the call; seldom there", "I will run the tests."),
    "tool_output": EventField("the result, as JSON text", '{"output":"ok\\n","exitCode":0}'),
    "duration": EventField("how long it took, in milliseconds", 1234.5),
    "failure_type": EventField("timeout, error or permission_denied", "timeout"),
    "is_interrupt": EventField("whether the person interrupted it", False),
    "command": EventField("the command line; for MCP the one that starts the server", "npm test"),
    "sandbox": EventField("whether it runs in the sandbox", False),
    "timeout": EventField("the tool's own time limit; only in early 2026", 30),
    "output": EventField("all that the command printed", "ok\n"),
    "mcp_server_name": EventField("the server's key in mcp.json", "tickets"),
    "mcp_server_url": EventField("the server's address, for HTTP and SSE", "https://tickets.example.com/mcp"),
    "url": EventField("the server's address, for HTTP and SSE", "https://tickets.example.com/mcp"),
    "result_json": EventField("the result, as JSON text", '{"content":[{"type":"text","text":"closed"}]}'),
    "file_path": EventField("the file, as an absolute path", "/srv/shop/a.py"),
    "content": EventField("what is in the file", "print('hello')\n"),
    "edits": EventField("what was replaced by what", [{"old_string": "a", "new_string": "b"}]),
    "subagent_id": EventField("the sub-agent's id", "sub_91"),
    "subagent_type": EventField("generalPurpose, explore, shell, or one of the project's own", "explore"),
    "task": EventField("what it is asked to do", "Find where prices are rounded."),
    "parent_conversation_id": EventField("who started it", "0b6f7c1e-5d0a-4c7e-9a51-2f1f6f2f7d11"),
    "tool_call_id": EventField("the Task call that started it", "tool_4c1d"),
    "subagent_model": EventField("the model it runs on", "sonnet-4.5"),
    "is_parallel_worker": EventField("whether others work beside it", False),
    "git_branch": EventField("the branch it works on", "main"),
    "status": EventField("completed, aborted or error", "completed"),
    "description": EventField("the task in a few words", "find rounding"),
    "summary": EventField("what it reports back", "Prices are rounded in cart.py."),
    "message_count": EventField("messages so far", 12),
    "tool_call_count": EventField("tool calls so far", 7),
    "loop_count": EventField("follow-ups already triggered; starts at 0", 0),
    "modified_files": EventField("files it changed", ["/srv/shop/a.py"]),
    "agent_transcript_path": EventField("the sub-agent's own transcript, or null", None),
    "trigger": EventField("auto or manual", "auto"),
    "context_usage_percent": EventField("how full the context is, 0 to 100", 85),
    "context_tokens": EventField("tokens in the context", 108800),
    "context_window_size": EventField("tokens that fit", 128000),
    "messages_to_compact": EventField("messages that will be summarised", 30),
    "is_first_compaction": EventField("whether it is the first in this conversation", True),
    "text": EventField("what the assistant wrote", "Done: the parser has a test."),
}

TAB_EDIT = {
    "old_string": "a",
    "new_string": "b",
    "range": {"start_line_number": 3, "start_column": 1, "end_line_number": 3, "end_column": 2},
    "old_line": "a = 1",
    "new_line": "b = 1",
}

SAMPLES: dict[tuple[str, str], Any] = {
    ("afterTabFileEdit", "edits"): [TAB_EDIT],
    ("beforeMCPExecution", "tool_name"): "close_ticket",
    ("beforeMCPExecution", "tool_input"): '{"id": 42}',
    ("beforeMCPExecution", "command"): "npx -y tickets-mcp",
    ("afterMCPExecution", "tool_name"): "close_ticket",
    ("afterMCPExecution", "tool_input"): '{"id": 42}',
    ("sessionStart", "generation_id"): "",
    ("sessionEnd", "error_message"): None,
    ("beforeMCPExecution", "url"): None,
    ("beforeMCPExecution", "mcp_server_url"): None,
    ("afterMCPExecution", "mcp_server_url"): None,
    ("beforeShellExecution", "timeout"): None,
    ("afterShellExecution", "cwd"): None,
    ("preToolUse", "agent_message"): None,
}
"""Samples for fields whose value differs between events."""

WORKSPACE_OPEN_FIELDS = frozenset({"workspace_roots", "cursor_version", "user_email"})


def build_sample(name: str) -> dict[str, Any]:
    """Return a sample payload of this event."""
    fields = [field for field in EVENTS[name].__struct_fields__ if field != "raw" and field not in UNDOCUMENTED]
    if name == "workspaceOpen":
        fields = [field for field in fields if field in WORKSPACE_OPEN_FIELDS]
    body = {field: SAMPLES.get((name, field), FIELDS[field].sample) for field in fields}
    return {"hook_event_name": name, **{key: value for key, value in body.items() if _is_shown(key, value)}}


UNDOCUMENTED = frozenset({"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "model_params"})


def _is_shown(key: str, value: Any) -> bool:
    return value is not None or key in NULLABLE
