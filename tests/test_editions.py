"""Editions: the behaviour of Cursor at a date, and the source of each fact."""

import re
from typing import Any

import msgspec
import pytest

from kit import read_corpus
from trotline.agents.cursor.cursor_editions import (
    EDITION_FACTS,
    EDITION_NAMES,
    MEASURED_FATAL_CODES,
    NEWEST_EDITION,
    UNPARSABLE,
    get_edition,
)
from trotline.config.problems import CODES
from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS, Edition, PathBase
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS
from trotline.domain.verdicts import MergeRule

FIELDS = sorted(set(Edition.__struct_fields__) - {"name", "sources"})

OF_2025 = set(
    """beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit
    beforeSubmitPrompt stop afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit""".split()
)
NEW_IN_EARLY_2026 = set(
    """sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop
    preCompact""".split()
)
GATES = {*"preToolUse beforeShellExecution beforeMCPExecution beforeReadFile subagentStart beforeTabFileRead".split()}
PERMISSION = "permission user_message agent_message"

# The documents of those dates (seeds/000, seeds/003) and the newest contract, read a second time.
ROWS: dict[str, dict[str, Any]] = {
    "2025-11": {
        "events": OF_2025,
        "entry_keys": {"command"},
        "path_base": PathBase.FILE,
        "version_required": False,
        "closed_by_default": set(),
        "bad_output_blocks": set(),
        "loop_limit_fixed": True,
        "session_start_refuses": False,
        "merge_rule": MergeRule.HIGHEST_LAYER,
        "reply_keys": {
            "beforeShellExecution": PERMISSION,
            "beforeMCPExecution": PERMISSION,
            "beforeReadFile": "permission",
            "beforeTabFileRead": "permission",
            "beforeSubmitPrompt": "continue",
            "stop": "followup_message",
        },
    },
    "2026-02": {
        "events": OF_2025 | NEW_IN_EARLY_2026,
        "entry_keys": {"command", "type", "prompt", "model", "timeout", "matcher", "loop_limit"},
        "path_base": PathBase.LAYER,
        "version_required": False,
        "closed_by_default": {"beforeMCPExecution", "beforeReadFile"},
        "bad_output_blocks": set(),
        "loop_limit_fixed": False,
        "session_start_refuses": True,
        "merge_rule": MergeRule.HIGHEST_LAYER,
        "reply_keys": {
            "sessionStart": "env additional_context continue user_message",
            "beforeSubmitPrompt": "continue user_message",
            "preToolUse": "decision reason updated_input",
            "postToolUse": "updated_mcp_tool_output",
            "beforeShellExecution": PERMISSION,
            "beforeMCPExecution": PERMISSION,
            "beforeReadFile": "permission user_message",
            "beforeTabFileRead": "permission",
            "subagentStart": "decision reason",
            "subagentStop": "followup_message",
            "preCompact": "user_message",
            "stop": "followup_message",
        },
    },
    "2026-09": {
        "events": OF_2025 | NEW_IN_EARLY_2026 | {"workspaceOpen"},
        "entry_keys": {"command", "type", "prompt", "model", "timeout", "matcher", "loop_limit", "failClosed"},
        "path_base": PathBase.LAYER,
        "version_required": True,
        "closed_by_default": set(),
        "bad_output_blocks": GATES,
        "loop_limit_fixed": False,
        "session_start_refuses": True,
        "merge_rule": MergeRule.STRICTEST,
        "reply_keys": {
            "sessionStart": "env additional_context continue user_message",
            "beforeSubmitPrompt": "continue user_message additional_context",
            "preToolUse": f"{PERMISSION} updated_input additional_context",
            "postToolUse": "additional_context updated_mcp_tool_output",
            "postToolUseFailure": "additional_context",
            "beforeShellExecution": PERMISSION,
            "beforeMCPExecution": PERMISSION,
            "beforeReadFile": "permission user_message",
            "beforeTabFileRead": "permission",
            "subagentStart": "permission user_message",
            "subagentStop": "followup_message",
            "preCompact": "user_message",
            "stop": "followup_message",
            "workspaceOpen": "pluginPaths",
        },
    },
}


def test_newest_of_three_editions_is_the_default() -> None:
    assert EDITION_NAMES == ("2025-11", "2026-02", "2026-09")
    assert NEWEST_EDITION == "2026-09"
    assert get_edition() == get_edition("2026-09")


@pytest.mark.parametrize("date", EDITION_NAMES)
@pytest.mark.parametrize("field", [field for field in FIELDS if field not in {"fatal_codes", "reply_keys"}])
def test_edition_has_the_documented_value(date: str, field: str) -> None:
    assert getattr(get_edition(date), field) == ROWS[date][field]


@pytest.mark.parametrize("date", EDITION_NAMES)
def test_edition_has_the_documented_reply_keys(date: str) -> None:
    expected = {name: tuple(keys.split()) for name, keys in ROWS[date]["reply_keys"].items()}
    assert get_edition(date).reply_keys == expected


def test_table_of_this_test_has_every_field() -> None:
    assert set(FIELDS) == {*ROWS["2026-09"], "fatal_codes"}
    assert {name for name in EVENTS if EVENTS[name].contract.answers} == set(ROWS["2026-09"]["reply_keys"])


# hosts.md 8, what kills a whole file in the newest engine, and what is merely ignored
FATAL_CODES = read_corpus("editions")["fatal_codes"]
IGNORED_CODES = {
    "TL106": "comments",
    "TL204": "version 2",
    "TL214": "extra keys",
    "TL217": "milliseconds",
    "TL401": "script",
}


@pytest.mark.parametrize("code", FATAL_CODES)
def test_measured_fatal_codes_are_fatal_in_the_newest_edition(code: str) -> None:
    assert code in get_edition().fatal_codes


@pytest.mark.parametrize("code", IGNORED_CODES)
def test_measured_harmless_codes_are_never_fatal(code: str) -> None:
    assert not any(code in get_edition(date).fatal_codes for date in EDITION_NAMES)


@pytest.mark.parametrize("date", ["2025-11", "2026-02"])
def test_only_unparsable_files_are_fatal_in_older_editions(date: str) -> None:
    assert get_edition(date).fatal_codes == UNPARSABLE
    assert {"TL101", "TL104"} <= UNPARSABLE < MEASURED_FATAL_CODES
    assert not {"TL102", "TL107", "TL202", "TL206", "TL301"} & UNPARSABLE


def test_every_fatal_code_exists() -> None:
    assert set(CODES) >= MEASURED_FATAL_CODES


# -- sources


@pytest.mark.parametrize("row", EDITION_FACTS, ids=lambda row: f"{row.since} {row.field}")
def test_every_fact_has_an_edition_a_field_and_a_source(row: Any) -> None:
    assert row.since in EDITION_NAMES
    assert row.field in FIELDS
    assert re.search(r"\bD[1-6]|measured|seeds|agents\.md|no other fatal problem", row.source)


def test_every_fact_changes_a_value() -> None:
    rows: set[tuple[str, str]] = set()
    before: dict[str, Any] = {}
    for row in EDITION_FACTS:
        assert (row.since, row.field) not in rows
        assert row.field not in before or before[row.field] != row.value, f"{row.since} {row.field} changes nothing"
        rows.add((row.since, row.field))
        before[row.field] = row.value


@pytest.mark.parametrize("date", EDITION_NAMES)
def test_every_field_of_an_edition_has_a_source(date: str) -> None:
    contracted = get_edition(date)
    assert contracted.name == date
    assert set(contracted.sources) == set(FIELDS)
    for field, source in contracted.sources.items():
        rows = [row for row in EDITION_FACTS if row.field == field and row.since <= date]
        assert source == max(rows, key=lambda row: row.since).source


# -- refusing


@pytest.mark.parametrize("date", EDITION_NAMES)
@pytest.mark.parametrize("name", EVENTS)
def test_only_known_refusable_events_can_be_refused(date: str, name: str) -> None:
    refusable = EVENTS[name].contract.refusable
    expected = refusable and name in ROWS[date]["events"]
    assert get_edition(date).refuses(name, refusable=refusable) is expected


def test_observing_event_can_be_refused_in_no_edition() -> None:
    assert not any(get_edition(date).refuses("stop", refusable=False) for date in EDITION_NAMES)
    assert not get_edition().refuses("unheard of", refusable=True)


def test_refusal_of_a_session_start_is_a_separate_fact() -> None:
    unenforced = msgspec.structs.replace(get_edition(), session_start_refuses=False)
    assert not unenforced.refuses("sessionStart", refusable=True)
    assert unenforced.refuses("beforeSubmitPrompt", refusable=True)


def test_defaults_are_five_follow_ups_and_a_minute() -> None:
    assert (LOOP_LIMIT, TIMEOUT_SECONDS) == (5, 60.0)


# -- unknown editions


@pytest.mark.parametrize("name", ["2026-10", "2026", "", "newest", "2025-11 ", "9999-99"])
def test_unknown_edition_is_a_usage_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        get_edition(name)
    assert caught.value.message == f"unknown edition `{name}`"
    assert caught.value.hint == "one of 2025-11, 2026-02, 2026-09"
    assert caught.value.exit_code == 64
