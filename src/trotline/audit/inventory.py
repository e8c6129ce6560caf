"""Which MCP servers and tools agents have called, as the trail knows them: since when, how often, and what was said."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from trotline.audit.actions import verdict_of
from trotline.audit.deeds import payload_of
from trotline.audit.mcp_calls import ASKED, called_tool
from trotline.audit.server_names import server_at

GENERIC = "preToolUse"
RESULTS = frozenset({"afterMCPExecution", "postToolUse"})
REFUSED = "deny"


class ToolSeen(msgspec.Struct, kw_only=True):
    """One tool of one server; without a name where no event told the server, and with its address or program for one,
    which no policy knows, where that is all that was told. Times in microseconds."""

    server: str
    tool: str
    first_us: int
    last_us: int
    calls: int = 0
    verdicts: dict[str, int] = {}
    found: dict[str, int] = {}  # what scanners found in its results, by kind
    hosts: list[str] = []
    named: bool = False  # whether the host itself names the server

    @property
    def name(self) -> str:
        """As lists of a policy name it."""
        return f"{self.server}:{self.tool}" if self.server else self.tool


class _Talk:
    """What a conversation called, by tool: a host may raise two events for a call, and name the server in one."""

    def __init__(self) -> None:
        self.generic: dict[str, list[dict[str, Any]]] = {}
        self.specific: Counter[str] = Counter()


def tools_seen(records: Iterable[dict[str, Any]]) -> list[ToolSeen]:
    """All of them, by server and tool."""
    found: dict[tuple[str, str], ToolSeen] = {}
    talks: dict[tuple[str, str], _Talk] = {}
    results = []
    for record in records:
        server, tool = called_tool(record)
        server = server or _placed(record)
        if not tool:
            continue
        talk = talks.setdefault((str(record.get("host")), str(record.get("conversation") or "")), _Talk())
        if record.get("event") in RESULTS:
            results.append(((server, tool), record))
        elif record.get("event") == GENERIC and not server:
            talk.generic.setdefault(tool, []).append(record)
        else:
            talk.specific[tool] += record.get("event") == ASKED
            _count(found, (server, tool), record)
    for talk in talks.values():
        for tool, calls in talk.generic.items():
            for record in _alone(calls, talk.specific[tool]):
                _count(found, ("", tool), record)
    _note(found, results)
    return sorted(found.values(), key=lambda one: (one.server, one.tool))


def _alone(calls: list[dict[str, Any]], specific: int) -> list[dict[str, Any]]:
    """Those after which no second event came: what was refused, and what a host told in one event only."""
    refused = [record for record in calls if verdict_of(record) == REFUSED]
    others = [record for record in calls if verdict_of(record) != REFUSED]
    return [*refused, *others[: max(0, len(others) - specific)]]


def _placed(record: dict[str, Any]) -> str:
    return server_at(payload_of(record)) if str(record.get("event")).endswith("MCPExecution") else ""


def _count(found: dict[tuple[str, str], ToolSeen], name: tuple[str, str], record: dict[str, Any]) -> None:
    at = int(record["at_us"])
    one = found.setdefault(name, ToolSeen(server=name[0], tool=name[1], first_us=at, last_us=at))
    one.first_us, one.last_us = min(one.first_us, at), max(one.last_us, at)
    one.calls += 1
    one.named |= bool(called_tool(record)[0])
    word = verdict_of(record)
    one.verdicts = {**one.verdicts, word: one.verdicts.get(word, 0) + 1}
    one.hosts = sorted({*one.hosts, str(record.get("host"))})


def _note(found: dict[tuple[str, str], ToolSeen], results: Iterable[tuple[tuple[str, str], dict[str, Any]]]) -> None:
    """What results held, at the tool that gave them: by its full name, or the only tool that is called so."""
    held: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for (server, tool), record in results:
        same = [name for name in found if name[1] == tool and server in {"", name[0]}]
        kinds = [str(finding[1]) for finding in record.get("findings", ())]
        if len(same) == 1 and kinds:
            held.setdefault(same[0], {}).setdefault(str(record.get("event")), Counter()).update(kinds)
    for name, by_event in held.items():
        most: Counter[str] = Counter()
        for counts in by_event.values():
            most |= counts  # two events tell of one result
        found[name].found = dict(most)
