"""What agents did, counted: lines by file and by whom, tools with their times and costs, how much was said."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from trotline.audit.columns import subject_of
from trotline.audit.percentiles import percentiles
from trotline.hosts import HOSTS, host_named

TOP = 10
EDITS = {"afterFileEdit": "agent", "afterTabFileEdit": "tab"}
TEXTS = {"beforeSubmitPrompt": "prompt", "afterAgentResponse": "response", "afterAgentThought": "thought"}
SPECIFIC = {"afterShellExecution", "afterMCPExecution"}
GENERIC = {"postToolUse", "postToolUseFailure"}
UNKEPT = "(not kept)"


class Work:
    """Taken in record by record, so that a trail of any length fits."""

    def __init__(self, costs: Mapping[str, float] | None = None) -> None:
        self.costs = costs or {}
        self.files: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.tools: defaultdict[str, _Tool] = defaultdict(_Tool)
        self.lengths: defaultdict[str, list[int]] = defaultdict(list)

    def take(self, record: dict[str, Any]) -> None:
        event, measures = str(record.get("event")), _measures(record)
        if event in TEXTS:
            self.lengths[TEXTS[event]].append(int(measures.get("characters", 0)))
        if {"lines_added", "lines_removed"} & measures.keys() and (event in EDITS or not _raises_both(record)):
            self._edited(record, EDITS.get(event, "agent"), measures)
        if _tells_of_a_call(record, event):
            self.tools[_tool(record, event, measures)].take(event, measures)

    def _edited(self, record: dict[str, Any], by: str, measures: dict[str, Any]) -> None:
        file = self.files[subject_of(record) or UNKEPT]
        file.update({f"{by}_added": int(measures.get("lines_added", 0))})
        file.update({f"{by}_removed": int(measures.get("lines_removed", 0))})

    def told(self) -> dict[str, Any]:
        files = sorted(self.files.items(), key=lambda item: -item[1].total())[:TOP]
        tools = sorted(self.tools.items(), key=lambda item: -item[1].calls)[:TOP]
        return {
            "files": [{"file": file, **counts} for file, counts in files],
            "tools": [{"tool": name, **tool.told(), **self._cost(name, tool.calls)} for name, tool in tools],
            "lengths": {name: percentiles(sizes) for name, sizes in self.lengths.items()},
        }

    def _cost(self, name: str, calls: int) -> dict[str, float]:
        """The price of the longest name that this one begins with."""
        priced = max((known for known in self.costs if name.startswith(known)), key=len, default=None)
        return {} if priced is None else {"cost": round(self.costs[priced] * calls, 6)}


class _Tool:
    def __init__(self) -> None:
        self.calls = 0
        self.failed = 0
        self.bytes = 0
        self.times: list[int] = []

    def take(self, event: str, measures: dict[str, Any]) -> None:
        self.calls += 1
        self.failed += event == "postToolUseFailure" or bool(measures.get("exit"))
        self.bytes += int(measures.get("output_bytes", 0))
        self.times += [int(measures["duration_ms"])] if measures.get("duration_ms") else []

    def told(self) -> dict[str, Any]:
        times = percentiles(self.times) if self.times else {}
        return {
            "calls": self.calls,
            "failed": self.failed,
            "bytes": self.bytes,
            **{f"{name}_ms": times[name] for name in ("p50", "p95") if times},
        }


def costs_of(text: str) -> dict[str, float]:
    """The setting: `MCP:search=0.01, Shell=0`."""
    pairs = [part.rpartition("=")[::2] for part in text.split(",") if "=" in part]
    return {name.strip(): float(price) for name, price in pairs}


def _tells_of_a_call(record: dict[str, Any], event: str) -> bool:
    """Once for each call: some hosts tell of commands and of servers twice."""
    if event in SPECIFIC:
        return True
    tool = str(record.get("tool") or "")
    twice = _raises_both(record) and (tool == "Shell" or tool.startswith(("MCP:", "mcp__")))
    return event in GENERIC and not (twice and event == "postToolUse")


def _raises_both(record: dict[str, Any]) -> bool:
    name = str(record.get("host"))
    return name not in HOSTS or host_named(name).both


def _tool(record: dict[str, Any], event: str, measures: dict[str, Any]) -> str:
    tool = str(record.get("tool") or "")
    if event == "afterShellExecution":
        return "Shell"
    if event == "afterMCPExecution":
        server = measures.get("mcp_server_name")
        return f"MCP:{server}:{tool}" if server else f"MCP:{tool}"
    return tool or "unnamed"


def _measures(record: dict[str, Any]) -> dict[str, Any]:
    detail = record.get("detail")
    found = detail.get("measures") if isinstance(detail, dict) else None
    return found if isinstance(found, dict) else {}
