"""MCP servers and tools that agents have called, from the audit log: times, number of calls and verdicts."""

from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from trotline.audit.record.record import BEFORE_MCP, Record

GENERIC = "preToolUse"
RESULTS = frozenset({"afterMCPExecution", "postToolUse"})


class McpTool(msgspec.Struct, kw_only=True):
    """A tool of an MCP server, with times in microseconds.

    `server` is empty if no event named it. If events only had its address or program, that is used, but policies do not
    match it.
    """

    server: str
    tool: str
    first_us: int
    last_us: int
    calls: int = 0
    verdicts: dict[str, int] = {}
    found: dict[str, int] = {}  # scanner findings in its results, by kind
    agents: list[str] = []
    named: bool = False  # the agent itself names the server

    @property
    def name(self) -> str:
        """Return the name used in the lists of a policy."""
        return f"{self.server}:{self.tool}" if self.server else self.tool


ToolName = tuple[str, str]
"""Server and tool."""


class ConversationCalls:
    """Calls of one conversation, by tool.

    Agents may send two events for a call and name the server in only one of them.
    """

    def __init__(self) -> None:
        self.generic: dict[str, list[Record]] = {}
        self.specific: Counter[str] = Counter()


def list_mcp_tools(records: Iterable[Record]) -> list[McpTool]:
    """Return all tools called in these records, sorted by server and tool."""
    tools: dict[ToolName, McpTool] = {}
    conversations: dict[tuple[str, str], ConversationCalls] = {}
    results = []
    for record in records:
        server, tool = record.mcp_call
        if not server and record.event.endswith("MCPExecution"):
            server = guess_server(record.payload)
        if not tool:
            continue
        calls = conversations.setdefault((record.agent, record.conversation), ConversationCalls())
        if record.event in RESULTS:
            results.append(((server, tool), record))
        elif record.event == GENERIC and not server:
            calls.generic.setdefault(tool, []).append(record)
        else:
            calls.specific[tool] += record.event == BEFORE_MCP
            _count_call(tools, (server, tool), record)
    for calls in conversations.values():
        for tool, generic in calls.generic.items():
            for record in _list_unpaired_calls(generic, calls.specific[tool]):
                _count_call(tools, ("", tool), record)
    _add_findings(tools, results)
    return sorted(tools.values(), key=lambda tool: (tool.server, tool.tool))


def _list_unpaired_calls(calls: list[Record], specific: int) -> list[Record]:
    """Return the calls without a second event: the denied ones, and those an agent reports in one event only."""
    denied = [record for record in calls if record.effective_verdict == "deny"]
    others = [record for record in calls if record.effective_verdict != "deny"]
    return [*denied, *others[: max(0, len(others) - specific)]]


def _count_call(tools: dict[ToolName, McpTool], name: ToolName, record: Record) -> None:
    at = record.at_us
    tool = tools.setdefault(name, McpTool(server=name[0], tool=name[1], first_us=at, last_us=at))
    tool.first_us, tool.last_us = min(tool.first_us, at), max(tool.last_us, at)
    tool.calls += 1
    tool.named |= bool(record.mcp_call[0])
    tool.verdicts = {**tool.verdicts, record.effective_verdict: tool.verdicts.get(record.effective_verdict, 0) + 1}
    tool.agents = sorted({*tool.agents, record.agent})


def _add_findings(tools: dict[ToolName, McpTool], results: Iterable[tuple[ToolName, Record]]) -> None:
    """Add findings to the tool that returned them, matched by full name, or by tool name if it is unique."""
    kinds: dict[ToolName, dict[str, Counter[str]]] = {}
    for (server, tool), record in results:
        matches = [name for name in tools if name[1] == tool and server in {"", name[0]}]
        if len(matches) == 1 and record.findings:
            by_event = kinds.setdefault(matches[0], {})
            by_event.setdefault(record.event, Counter()).update(finding.kind for finding in record.findings)
    for name, by_event in kinds.items():
        total: Counter[str] = Counter()
        for counts in by_event.values():
            total |= counts  # not a sum: two events may report the same result
        tools[name].found = dict(total)


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
