"""How Cursor behaved, by date: one row per fact, in force from its date on, each with its source.

An edition is nothing but these rows at a date. `D1` is the documentation of late 2025 (seeds/000), `D2` that of early
2026 (seeds/003), `D6` the newest; `measured` is what Cursor's own engine did when it was run as a black box.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from trotline.editions import Edition, PathBase
from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.verdicts import MergeRule

NAMES = ("2025-11", "2026-02", "2026-09")
NEWEST = NAMES[-1]

D1_EVENTS = frozenset(
    {
        "beforeShellExecution",
        "afterShellExecution",
        "beforeMCPExecution",
        "afterMCPExecution",
        "beforeReadFile",
        "afterFileEdit",
        "beforeSubmitPrompt",
        "stop",
        "afterAgentResponse",
        "afterAgentThought",
        "beforeTabFileRead",
        "afterTabFileEdit",
    }
)
GATES = frozenset(name for name, cls in EVENTS.items() if cls.contract.gate)
NEWEST_REPLIES = {name: cls.contract.answers for name, cls in EVENTS.items() if cls.contract.answers}
D2_ENTRY_KEYS = frozenset({"command", "type", "prompt", "model", "timeout", "matcher", "loop_limit"})

UNPARSABLE = frozenset({"TL101", "TL104", "TL108", "TL110", "TL201", "TL205"})
"""Problems after which no client of any date could have loaded the file."""

MEASURED_VOIDS = UNPARSABLE | {
    "TL102",  # trailing comma
    "TL103",  # byte order mark
    "TL107",  # `//` inside a string
    "TL202",  # no version
    "TL203",  # a version that is not a positive whole number
    "TL206",  # unknown event
    "TL207",  # another product's event
    "TL208",  # nested groups
    "TL209",  # an event whose value is not a list
    "TL210",  # an entry that is not an object
    "TL211",  # nothing to run
    "TL213",  # a key of the wrong type
    "TL216",  # timeout of zero or less
    "TL218",  # loop_limit of zero or less
    "TL219",  # unknown type
    "TL301",  # a matcher that is no regular expression
}


class Quirk(NamedTuple):
    """From this edition on, this field has this value; here is who says so."""

    since: str
    field: str
    value: Any
    source: str


QUIRKS: tuple[Quirk, ...] = (
    Quirk("2025-11", "events", D1_EVENTS, "D1: twelve events"),
    Quirk("2026-02", "events", frozenset(EVENTS) - {"workspaceOpen"}, "D2: twenty events"),
    Quirk("2026-09", "events", frozenset(EVENTS), "D3, D4, D6: workspaceOpen is the twenty-first"),
    Quirk("2025-11", "entry_keys", frozenset({"command"}), "D1: only `command`"),
    Quirk("2026-02", "entry_keys", D2_ENTRY_KEYS, "D2: type, timeout, loop_limit, matcher and prompt hooks"),
    Quirk("2026-09", "entry_keys", D2_ENTRY_KEYS | {"failClosed"}, "D3: failClosed"),
    Quirk("2025-11", "path_base", PathBase.FILE, "D1: relative to hooks.json"),
    Quirk("2026-02", "path_base", PathBase.LAYER, "D2: project root, ~/.cursor, managed directories; measured"),
    Quirk("2025-11", "version_required", False, "D1 and D2: default 1; D2's own examples leave it out"),
    Quirk("2026-09", "version_required", True, "D6c: required; measured: a file without it loads nothing"),
    Quirk("2025-11", "voids", UNPARSABLE, "no void rule is known for these dates beyond what cannot be parsed"),
    Quirk("2026-09", "voids", MEASURED_VOIDS, "hosts.md 8, measured; cursor-protocol.md C6"),
    Quirk("2025-11", "closed_by_default", frozenset(), "D1 says nothing of failing closed"),
    Quirk(
        "2026-02",
        "closed_by_default",
        frozenset({"beforeMCPExecution", "beforeReadFile"}),
        "D2: MCP calls and reads fail closed",
    ),
    Quirk("2026-09", "closed_by_default", frozenset(), "D3 on: every event fails open unless failClosed"),
    Quirk("2025-11", "bad_output_blocks", frozenset(), "D1 to D5: invalid JSON fails like a crash"),
    Quirk("2026-09", "bad_output_blocks", GATES, "D6: blocks on all six permission events; recorded (C2)"),
    Quirk("2025-11", "loop_limit_fixed", True, "D1: a fixed maximum of five"),
    Quirk("2026-02", "loop_limit_fixed", False, "D2: loop_limit, default 5; D4 settles that the option wins"),
    Quirk("2025-11", "session_start_refuses", False, "D1 has no sessionStart"),
    Quirk(
        "2026-02",
        "session_start_refuses",
        True,
        "D2: continue may stop the session; measured on Cursor's engine; the IDE is documented not to enforce it (C18)",
    ),
    Quirk(
        "2025-11",
        "reply_keys",
        {
            "beforeShellExecution": ("permission", "user_message", "agent_message"),
            "beforeMCPExecution": ("permission", "user_message", "agent_message"),
            "beforeReadFile": ("permission",),
            "beforeTabFileRead": ("permission",),
            "beforeSubmitPrompt": ("continue",),
            "stop": ("followup_message",),
        },
        "D1",
    ),
    Quirk(
        "2026-02",
        "reply_keys",
        {
            "sessionStart": ("env", "additional_context", "continue", "user_message"),
            "beforeSubmitPrompt": ("continue", "user_message"),
            "preToolUse": ("decision", "reason", "updated_input"),
            "postToolUse": ("updated_mcp_tool_output",),
            "beforeShellExecution": ("permission", "user_message", "agent_message"),
            "beforeMCPExecution": ("permission", "user_message", "agent_message"),
            "beforeReadFile": ("permission", "user_message"),
            "beforeTabFileRead": ("permission",),
            "subagentStart": ("decision", "reason"),
            "subagentStop": ("followup_message",),
            "preCompact": ("user_message",),
            "stop": ("followup_message",),
        },
        "D2: decision and reason on preToolUse and subagentStart",
    ),
    Quirk("2026-09", "reply_keys", NEWEST_REPLIES, "D3 on: permission everywhere (C14); contexts as in DJ and HM"),
    Quirk("2025-11", "merge_rule", MergeRule.HIGHEST_LAYER, "D1, D2: higher-priority sources override lower ones"),
    Quirk("2026-09", "merge_rule", MergeRule.STRICTEST, "D6: deny over ask over allow, whatever the source (C1)"),
)


@lru_cache(maxsize=len(NAMES))
def edition(name: str = NEWEST) -> Edition:
    """The contract of that date."""
    if name not in NAMES:
        raise UsageError(f"unknown edition `{name}`", hint=f"one of {', '.join(NAMES)}")
    rows = {row.field: row for row in QUIRKS if row.since <= name}
    values = {field: row.value for field, row in rows.items()}
    return Edition(name=name, sources={field: row.source for field, row in rows.items()}, **values)
