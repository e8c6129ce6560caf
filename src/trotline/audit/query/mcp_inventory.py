"""MCP servers and tools that agents have called, from the audit log: times, number of calls and verdicts."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from trotline.audit.record.record_reader import BEFORE_MCP, get_mcp_call, get_payload, get_verdict, guess_server

GENERIC = "preToolUse"
RESULTS = frozenset({"afterMCPExecution", "postToolUse"})
REFUSED = "deny"


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


class ConversationCalls:
    """Calls of one conversation, by tool.

    Agents may send two events for a call and name the server in only one of them.
    """

    def __init__(self) -> None:
        self.generic: dict[str, list[dict[str, Any]]] = {}
        self.specific: Counter[str] = Counter()


def list_mcp_tools(records: Iterable[dict[str, Any]]) -> list[McpTool]:
    """Return all tools called in these records, sorted by server and tool."""
    found: dict[tuple[str, str], McpTool] = {}
    talks: dict[tuple[str, str], ConversationCalls] = {}
    results = []
    for record in records:
        server, tool = get_mcp_call(record)
        server = server or _guess_server(record)
        if not tool:
            continue
        talk = talks.setdefault((str(record.get("agent")), str(record.get("conversation") or "")), ConversationCalls())
        if record.get("event") in RESULTS:
            results.append(((server, tool), record))
        elif record.get("event") == GENERIC and not server:
            talk.generic.setdefault(tool, []).append(record)
        else:
            talk.specific[tool] += record.get("event") == BEFORE_MCP
            _count(found, (server, tool), record)
    for talk in talks.values():
        for tool, calls in talk.generic.items():
            for record in _alone(calls, talk.specific[tool]):
                _count(found, ("", tool), record)
    _note(found, results)
    return sorted(found.values(), key=lambda one: (one.server, one.tool))


def _alone(calls: list[dict[str, Any]], specific: int) -> list[dict[str, Any]]:
    """Return the calls without a second event: the denied ones, and those an agent reports in one event only."""
    refused = [record for record in calls if get_verdict(record) == REFUSED]
    others = [record for record in calls if get_verdict(record) != REFUSED]
    return [*refused, *others[: max(0, len(others) - specific)]]


def _guess_server(record: dict[str, Any]) -> str:
    return guess_server(get_payload(record)) if str(record.get("event")).endswith("MCPExecution") else ""


def _count(found: dict[tuple[str, str], McpTool], name: tuple[str, str], record: dict[str, Any]) -> None:
    at = int(record["at_us"])
    one = found.setdefault(name, McpTool(server=name[0], tool=name[1], first_us=at, last_us=at))
    one.first_us, one.last_us = min(one.first_us, at), max(one.last_us, at)
    one.calls += 1
    one.named |= bool(get_mcp_call(record)[0])
    word = get_verdict(record)
    one.verdicts = {**one.verdicts, word: one.verdicts.get(word, 0) + 1}
    one.agents = sorted({*one.agents, str(record.get("agent"))})


def _note(found: dict[tuple[str, str], McpTool], results: Iterable[tuple[tuple[str, str], dict[str, Any]]]) -> None:
    """Add findings to the tool that returned them, matched by full name, or by tool name if it is unique."""
    held: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for (server, tool), record in results:
        same = [name for name in found if name[1] == tool and server in {"", name[0]}]
        kinds = [str(finding[1]) for finding in record.get("findings", ())]
        if len(same) == 1 and kinds:
            held.setdefault(same[0], {}).setdefault(str(record.get("event")), Counter()).update(kinds)
    for name, by_event in held.items():
        most: Counter[str] = Counter()
        for counts in by_event.values():
            most |= counts  # not a sum: two events may report the same result
        found[name].found = dict(most)
