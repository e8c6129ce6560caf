"""What a record says of a tool that was executed: which one, whether it is a server's, how it went."""

import json
from typing import Any

from trotline.audit.shapes import dict_of
from trotline.hooks import mcp_parts
from trotline.hosts import HOSTS, host_named
from trotline.hosts.host import Host, known_events

EXECUTED = {"afterShellExecution": "Shell", "afterMCPExecution": "", "postToolUse": "", "postToolUseFailure": ""}
"""Events that say that a tool was executed, and its name where the event has none."""

RESULTS = ("result_json", "tool_output", "tool_response")
LONGEST_RESULT = 1_000_000
"""Characters in which a server's word for a failure is looked for."""

MCP_FAILED = "tool_error"
OTHER = "_OTHER"
"""Kinds of errors, as the conventions of OpenTelemetry name them."""


REFUSED = "permission_denied"
"""How Cursor says that a tool did not run because somebody did not let it."""


def is_execution(record: dict[str, Any]) -> bool:
    """Whether it is the one that tells of it: some hosts raise an event of its own for a command or a call of a server
    beside that for any tool, and one command is one deed. Of a command only the second says how it ended."""
    event, name = str(record.get("event")), str(record.get("host"))
    if event not in EXECUTED or (event == "postToolUseFailure" and measured(record).get("failure_type") == REFUSED):
        return False
    host = host_named(name) if name in HOSTS else None
    if host is None or not host.both:
        return True
    if event == "afterShellExecution":
        return not _tells_again(host, record)
    if event == "postToolUse" and record.get("tool") == "Shell":
        return _tells_again(host, record)
    return event != "postToolUse" or not is_mcp(record)


def _tells_again(host: Host, record: dict[str, Any]) -> bool:
    """Whether this version has the event after any tool, too. Those that had none did not say which they are."""
    version = str(detail_of(record).get("version") or "")
    return bool(version) and host.wiring is not None and "postToolUse" in known_events(host.wiring, version)


def is_mcp(record: dict[str, Any]) -> bool:
    return str(record.get("event")).endswith("MCPExecution") or bool(mcp_parts(str(record.get("tool") or ""))[1])


def tool_of(record: dict[str, Any]) -> str:
    """Its name; a server's without the server."""
    tool = str(record.get("tool") or "")
    return mcp_parts(tool)[1] or tool or EXECUTED.get(str(record.get("event")), "")


def failure_of(record: dict[str, Any]) -> str:
    """The kind of error it ended with, or that it was refused; nothing if it ended well, or nobody says."""
    event, told = str(record.get("event")), measured(record)
    if event not in EXECUTED:
        return ""
    if event == "postToolUseFailure":
        return str(told.get("failure_type") or OTHER)
    if is_mcp(record) and any(_is_error(told.get(name)) for name in RESULTS):
        return MCP_FAILED
    if told.get("failed") is True:  # where no words are kept, or the host has others for it
        return MCP_FAILED if is_mcp(record) else OTHER
    status = told.get("exit")
    return OTHER if isinstance(status, int) and status else ""


def _is_error(result: Any) -> bool:
    if isinstance(result, str) and "isError" in result[:LONGEST_RESULT]:
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return False
    return dict_of(result).get("isError") is True


def measured(record: dict[str, Any]) -> dict[str, Any]:
    """What the host counted stands in its payload, and apart from it where the payload is not kept."""
    return {**payload_of(record), **dict_of(detail_of(record).get("measures"))}


def payload_of(record: dict[str, Any]) -> dict[str, Any]:
    return dict_of(detail_of(record).get("payload"))


def detail_of(record: dict[str, Any]) -> dict[str, Any]:
    return dict_of(record.get("detail"))
