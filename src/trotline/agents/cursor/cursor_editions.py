"""Facts about Cursor's behaviour by date, each with its source. An edition is the set of facts at a date.

`D1` is the documentation of late 2025 (seeds/000), `D2` that of early 2026 (seeds/003), `D6` the newest. `measured`
means observed on Cursor's own engine.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from trotline.domain.editions import Edition, PathBase
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS
from trotline.domain.verdicts import MergeRule

EDITION_NAMES = ("2025-11", "2026-02", "2026-09")
NEWEST_EDITION = EDITION_NAMES[-1]

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
D2_EVENTS = D1_EVENTS | {
    "sessionStart",
    "sessionEnd",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "preCompact",
}
GATES = frozenset(name for name, cls in EVENTS.items() if cls.contract.gate)
NEWEST_REPLIES = {name: cls.contract.answers for name, cls in EVENTS.items() if cls.contract.answers}
D2_ENTRY_KEYS = frozenset({"command", "type", "prompt", "model", "timeout", "matcher", "loop_limit"})

UNPARSABLE = frozenset({"TL101", "TL104", "TL108", "TL110", "TL201", "TL205"})
"""Problems that prevent a client of any date from loading the file."""

MEASURED_FATAL_CODES = UNPARSABLE | {
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


class EditionFact(NamedTuple):
    """The value of a field of Edition from a date on, with its source."""

    since: str
    field: str
    value: Any
    source: str


EDITION_FACTS: tuple[EditionFact, ...] = (
    EditionFact("2025-11", "events", D1_EVENTS, "D1: twelve events"),
    EditionFact("2026-02", "events", D2_EVENTS, "D2: twenty events"),
    EditionFact("2026-09", "events", frozenset(EVENTS), "D3, D4, D6: workspaceOpen is the twenty-first"),
    EditionFact("2025-11", "entry_keys", frozenset({"command"}), "D1: only `command`"),
    EditionFact("2026-02", "entry_keys", D2_ENTRY_KEYS, "D2: type, timeout, loop_limit, matcher and prompt hooks"),
    EditionFact("2026-09", "entry_keys", D2_ENTRY_KEYS | {"failClosed"}, "D3: failClosed"),
    EditionFact("2025-11", "path_base", PathBase.FILE, "D1: relative to hooks.json"),
    EditionFact("2026-02", "path_base", PathBase.LAYER, "D2: project root, ~/.cursor, managed directories; measured"),
    EditionFact("2025-11", "version_required", False, "D1 and D2: default 1; D2's own examples leave it out"),
    EditionFact("2026-09", "version_required", True, "D6c: required; measured: a file without it loads nothing"),
    EditionFact("2025-11", "fatal_codes", UNPARSABLE, "no other fatal problem is known for these dates"),
    EditionFact("2026-09", "fatal_codes", MEASURED_FATAL_CODES, "hosts.md 8, measured; cursor-protocol.md C6"),
    EditionFact("2025-11", "closed_by_default", frozenset(), "D1 says nothing of failing closed"),
    EditionFact(
        "2026-02",
        "closed_by_default",
        frozenset({"beforeMCPExecution", "beforeReadFile"}),
        "D2: MCP calls and reads fail closed",
    ),
    EditionFact("2026-09", "closed_by_default", frozenset(), "D3 on: every event fails open unless failClosed"),
    EditionFact("2025-11", "bad_output_blocks", frozenset(), "D1 to D5: invalid JSON fails like a crash"),
    EditionFact("2026-09", "bad_output_blocks", GATES, "D6: blocks on all six permission events; recorded (C2)"),
    EditionFact("2025-11", "loop_limit_fixed", True, "D1: a fixed maximum of five"),
    EditionFact("2026-02", "loop_limit_fixed", False, "D2: loop_limit, default 5; D4 settles that the option wins"),
    EditionFact("2025-11", "session_start_refuses", False, "D1 has no sessionStart"),
    EditionFact(
        "2026-02",
        "session_start_refuses",
        True,
        "D2: continue may stop the session; measured on Cursor's engine; the IDE is documented not to enforce it (C18)",
    ),
    EditionFact(
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
    EditionFact(
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
    EditionFact(
        "2026-09", "reply_keys", NEWEST_REPLIES, "D3 on: permission everywhere (C14); contexts as in DJ and HM"
    ),
    EditionFact(
        "2025-11", "merge_rule", MergeRule.HIGHEST_LAYER, "D1, D2: higher-priority sources override lower ones"
    ),
    EditionFact("2026-09", "merge_rule", MergeRule.STRICTEST, "D6: deny over ask over allow, whatever the source (C1)"),
)


@lru_cache(maxsize=len(EDITION_NAMES))
def get_edition(name: str = NEWEST_EDITION) -> Edition:
    """Return the edition of a date."""
    if name not in EDITION_NAMES:
        raise UsageError(f"unknown edition `{name}`", hint=f"one of {', '.join(EDITION_NAMES)}")
    rows = {row.field: row for row in EDITION_FACTS if row.since <= name}
    values = {field: row.value for field, row in rows.items()}
    return Edition(name=name, sources={field: row.source for field, row in rows.items()}, **values)
