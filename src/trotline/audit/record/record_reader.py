"""Read parts of records: effects, MCP calls, tool executions, edits and the verdict.

Stored data from outside may have any shape, so every reader checks types.

Self-tests use conversations with reserved names, because their records are not the work of an agent.

An effect is stored as kind, verb and object, followed by its other fields by name. Older records have only the first
three. Columns are not stored: they refer to the text before redaction.

Executions and edits count once, even if an agent reports them with several events.
"""

import json
import re
import uuid
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent
from trotline.config.detail_levels import MINIMAL
from trotline.domain.effects import Effect
from trotline.domain.hooks import split_mcp_name

MAX_COLUMN = 4_096
"""Maximum characters of a database or CSV column."""

MAX_TIME_US = 1 << 54
"""Upper limit for times, in the year 2540: later ones do not fit into a 64-bit number of nanoseconds."""


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is a dict, otherwise an empty dict."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def is_valid_time(value: Any) -> bool:
    """Check whether a value is a plausible number of microseconds, as a time since 1970 or a duration."""
    return type(value) is int and 0 <= value < MAX_TIME_US


def clean_text(value: Any, most: int = MAX_COLUMN) -> str:
    """Return a value as text that a database accepts.

    Lone surrogates, which JSON allows, cannot be encoded, and a NUL character would end the text.
    """
    return str(value if value is not None else "")[:most].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


PROOF_CONVERSATION = "trotline-prove"
REPLAY_CONVERSATION = "trotline-replay"
SELF_TEST_CONVERSATION = re.compile(r"trotline-(?:doctor|prove|replay)(?:-[0-9a-f]{12})?")


def new_test_conversation() -> str:
    """Return a unique conversation name for one `doctor` run, to find its records again."""
    return f"trotline-doctor-{uuid.uuid4().hex[:12]}"


def is_self_test(record: dict[str, Any]) -> bool:
    """Check whether a record comes from a self-test and not from an agent."""
    return SELF_TEST_CONVERSATION.fullmatch(str(record.get("conversation", ""))) is not None


ADDRESS_FIELDS = ("mcp_server_url", "url")
LAUNCHERS = frozenset({"npx", "bunx", "uvx", "node", "bun", "deno", "python", "python3"})
LAUNCHER_WORDS = frozenset({"run", "x"})
"""Programs that start another program, and subcommands that precede its name."""


def guess_server(payload: dict[str, Any]) -> str:
    """Return a name for an MCP server that the agent does not name.

    The name is the host of its URL, otherwise the program of its command. It is empty if both are missing, or if it
    contains a colon, which separates server and tool in full tool names.
    """
    found = next((name for place in ADDRESS_FIELDS if (name := _get_host(payload.get(place)))), "")
    found = found or _get_program(payload.get("command"))
    return "" if ":" in found else found


def _get_host(url: Any) -> str:
    try:
        return urlsplit(url).hostname or "" if isinstance(url, str) else ""
    except ValueError:
        return ""


def _get_program(command: Any) -> str:
    words = command.split() if isinstance(command, str) else []
    name = _get_file_name(words[0]) if words else ""
    if name.removesuffix(".exe") not in LAUNCHERS:
        return name
    started = (word for word in words[1:] if not word.startswith("-") and word not in LAUNCHER_WORDS)
    word = next(started, "")
    return (word if word.startswith("@") else _get_file_name(word)) or name  # a scoped package is no path


def _get_file_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


EFFECT_FLAGS = ("writes", "recursive", "certainty")
"""Fields of an effect that contain no text of the agent and are kept at every level."""

EFFECT_TEXTS = ("host", "target", "package", "source", "why")
ZERO_VALUES = ("", False, "known")
"""Values that are not stored."""

FIXED_EFFECT_FIELDS = 3


def encode_effect(effect: Effect) -> list[Any]:
    """Return an effect as a list with all its fields."""
    return _build_effect_row(effect, effect.path or effect.host or effect.target, (*EFFECT_TEXTS, *EFFECT_FLAGS))


def outline_effect(effect: Effect) -> list[Any]:
    """Return an effect as a list without the texts about its object."""
    return _build_effect_row(effect, "", EFFECT_FLAGS)


def _build_effect_row(effect: Effect, to: str, names: tuple[str, ...]) -> list[Any]:
    more = {name: value for name in names if (value := getattr(effect, name)) not in ZERO_VALUES}
    return [effect.kind, effect.verb, to, *([more] if more else [])]


def list_effects(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the effects of a record, each as a dict by field name; `to` is the object as shown to users."""
    rows = [row for row in as_list(as_dict(record.get("detail")).get("effects")) if isinstance(row, list)]
    return [_name_effect_fields(row) for row in rows if len(row) >= FIXED_EFFECT_FIELDS]


def _name_effect_fields(row: list[Any]) -> dict[str, Any]:
    kind, verb, to = row[:FIXED_EFFECT_FIELDS]
    more = as_dict(row[FIXED_EFFECT_FIELDS]) if len(row) > FIXED_EFFECT_FIELDS else {}
    path = {} if to in (more.get("host"), more.get("target")) else {"path": to}  # unclear in old records
    return {"kind": kind, "verb": verb, "to": to, **path, **more}


BEFORE_MCP, AFTER_MCP = "beforeMCPExecution", "afterMCPExecution"


def get_mcp_call(record: dict[str, Any]) -> tuple[str, str]:
    """Return server and tool of an MCP call, or two empty strings for any other call."""
    name = str(record.get("tool") or "")
    server, tool = split_mcp_name(name)
    if tool:
        return server, tool
    if record.get("event") not in {BEFORE_MCP, AFTER_MCP}:
        return "", ""
    for effect in list_effects(record):
        if effect["kind"] == "mcp" and str(effect["to"]).endswith(f":{name}"):
            return str(effect["to"])[: -len(name) - 1], name
    given = as_dict(as_dict(record.get("detail")).get("payload"))
    return str(given.get("mcp_server_name") or given.get("server") or ""), name


def is_mcp_event(record: dict[str, Any]) -> bool:
    """Check whether a record is about an MCP call, by its event or its tool name."""
    return record.get("event") in {BEFORE_MCP, AFTER_MCP} or bool(split_mcp_name(str(record.get("tool") or ""))[1])


EXECUTION_EVENTS = {
    "afterShellExecution": "Shell",
    "afterMCPExecution": "",
    "postToolUse": "",
    "postToolUseFailure": "",
}
"""Events that report an executed tool, with the tool name for events that contain none."""

RESULT_FIELDS = ("result_json", "tool_output", "tool_response")
MAX_RESULT = 1_000_000
"""Maximum characters of an MCP result that are searched for an error flag."""

MCP_ERROR = "tool_error"
OTHER_ERROR = "_OTHER"
"""Error types of the OpenTelemetry semantic conventions."""


PERMISSION_DENIED = "permission_denied"
"""Failure type that Cursor sends if a tool did not run because it was denied."""


def is_execution(record: dict[str, Any]) -> bool:
    """Check whether a record is the one to count for an executed tool.

    Some agents raise a specific event for a command or an MCP call in addition to the generic tool event, and each
    execution counts once. For commands the generic event counts, because only it reports how the command ended.
    """
    event, name = str(record.get("event")), str(record.get("agent"))
    if event not in EXECUTION_EVENTS or (
        event == "postToolUseFailure" and get_measures(record).get("failure_type") == PERMISSION_DENIED
    ):
        return False
    agent = get_agent(name) if name in AGENTS else None
    if agent is None or not agent.raises_paired_events:
        return True
    if event == "afterShellExecution":
        return not _tells_again(agent, record)
    if event == "postToolUse" and record.get("tool") == "Shell":
        return _tells_again(agent, record)
    return event != "postToolUse" or not is_mcp(record)


def _tells_again(agent: Agent, record: dict[str, Any]) -> bool:
    """Check whether this agent version also raises postToolUse. Versions without it did not send their version."""
    version = str(get_detail(record).get("version") or "")
    return bool(version) and agent.wiring is not None and "postToolUse" in agent.wiring.get_known_events(version)


def is_mcp(record: dict[str, Any]) -> bool:
    """Check whether a record is about an MCP call, by the suffix of its event or its tool name."""
    return str(record.get("event")).endswith("MCPExecution") or bool(split_mcp_name(str(record.get("tool") or ""))[1])


def get_tool_name(record: dict[str, Any]) -> str:
    """Return the tool name of a record, without the server for MCP tools."""
    tool = str(record.get("tool") or "")
    return split_mcp_name(tool)[1] or tool or EXECUTION_EVENTS.get(str(record.get("event")), "")


def get_failure(record: dict[str, Any]) -> str:
    """Return the error type of an executed tool, or an empty string if it succeeded or the result is unknown."""
    event, told = str(record.get("event")), get_measures(record)
    if event not in EXECUTION_EVENTS:
        return ""
    if event == "postToolUseFailure":
        return str(told.get("failure_type") or OTHER_ERROR)
    if is_mcp(record) and any(_is_error(told.get(name)) for name in RESULT_FIELDS):
        return MCP_ERROR
    if told.get("failed") is True:  # the result is not kept, or the agent reports errors differently
        return MCP_ERROR if is_mcp(record) else OTHER_ERROR
    status = told.get("exit")
    return OTHER_ERROR if isinstance(status, int) and status else ""


def _is_error(result: Any) -> bool:
    if isinstance(result, str) and "isError" in result[:MAX_RESULT]:
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return False
    return as_dict(result).get("isError") is True


def get_measures(record: dict[str, Any]) -> dict[str, Any]:
    """Return the payload fields and the measures of a record; measures are kept even without the payload."""
    return {**get_payload(record), **as_dict(get_detail(record).get("measures"))}


def get_payload(record: dict[str, Any]) -> dict[str, Any]:
    """Return the redacted payload, or an empty dict if it is not kept."""
    return as_dict(get_detail(record).get("payload"))


def get_detail(record: dict[str, Any]) -> dict[str, Any]:
    """Return the detail of a record, or an empty dict if it has none."""
    return as_dict(record.get("detail"))


EDIT_AUTHORS = {"afterFileEdit": "agent", "afterTabFileEdit": "tab"}
WRITE_TOOL = "Write"
BEFORE_TOOL, AFTER_TOOL = "preToolUse", "postToolUse"
UNKNOWN_FILE = "(not kept)"
"""File name of an edit whose path is not kept."""


class FileEdit(NamedTuple):
    """A file with its numbers of added and removed lines."""

    path: str
    added: int
    removed: int


def list_edits(record: dict[str, Any]) -> list[FileEdit]:
    """Return the edited files with their line counts, if this record is the one to count for the edit."""
    if not _tells_of_an_edit(record):
        return []
    return _lines_in(record) or [FileEdit(_path_in(record), 0, 0)]


def creates_file(record: dict[str, Any]) -> bool:
    """Check whether a record reports a new file: Cursor then sends no edits."""
    return record.get("event") in EDIT_AUTHORS and as_dict(record.get("detail")).get("lines") == []


def list_planned_edits(record: dict[str, Any]) -> list[FileEdit]:
    """Return the planned edits of a preToolUse record, if only that event has the line counts.

    Only the event after it tells whether the file is new.
    """
    is_write = record.get("event") == BEFORE_TOOL and record.get("tool") == WRITE_TOOL and get_verdict(record) != "deny"
    return _lines_in(record) if is_write and sends_paired_events(record) else []


def _lines_in(record: dict[str, Any]) -> list[FileEdit]:
    detail = as_dict(record.get("detail"))
    named = detail.get("level") != MINIMAL  # at level minimal, paths are digests
    found: dict[str, list[int]] = {}
    for line in as_list(detail.get("lines")):
        if isinstance(line, list) and len(line) == 3 and all(isinstance(count, int) for count in line[1:]):
            sums = found.setdefault(clean_text(line[0]) if named else UNKNOWN_FILE, [0, 0])
            sums[0] += line[1]
            sums[1] += line[2]
    return [FileEdit(path, *sums) for path, sums in found.items()]


def _path_in(record: dict[str, Any]) -> str:
    path = as_dict(as_dict(record.get("detail")).get("payload")).get("file_path")
    return clean_text(path) if path and isinstance(path, str) else UNKNOWN_FILE


def list_write_facts(record: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the index facts of an edit event. Guards do not evaluate such events, so they have no effects."""
    if str(record.get("event")) not in EDIT_AUTHORS:
        return set()
    paths = {("path", edited.path) for edited in list_edits(record) if edited.path != UNKNOWN_FILE}
    return {("effect", "write"), *paths}


def sends_paired_events(record: dict[str, Any]) -> bool:
    """Check whether the agent raises specific events for commands, edits and MCP calls beside the generic ones.

    Unknown agents count as doing so.
    """
    name = str(record.get("agent"))
    return name not in AGENTS or get_agent(name).raises_paired_events


def _tells_of_an_edit(record: dict[str, Any]) -> bool:
    if str(record.get("event")) in EDIT_AUTHORS:
        return True
    is_write = record.get("event") == AFTER_TOOL and record.get("tool") == WRITE_TOOL
    failed = as_dict(as_dict(record.get("detail")).get("measures")).get("failed")
    return is_write and not failed and not sends_paired_events(record)


def get_verdict(record: dict[str, Any]) -> str:
    """Return the verdict that took effect.

    An "ask" that the agent does not support was sent as "deny" and counts as such. A verdict that was withheld in
    monitor mode did not take effect and has the prefix `would_`.
    """
    asked = str(record.get("asked"))
    if record.get("sent") == "deny":
        return "deny"
    return f"{WOULD_PREFIX}{asked}" if asked in as_list(record.get("withheld")) else asked


WOULD_PREFIX = "would_"
