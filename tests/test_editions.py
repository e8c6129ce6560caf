"""Editions: how Cursor of a date behaves, row by row, and where each row comes from."""

import re
from typing import Any

import msgspec
import pytest

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

OF_2025 = {
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
NEW_IN_EARLY_2026 = {
    "sessionStart",
    "sessionEnd",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "preCompact",
}
GATES = {
    "preToolUse",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "subagentStart",
    "beforeTabFileRead",
}
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


def test_there_are_three_editions_and_the_newest_is_the_default() -> None:
    assert EDITION_NAMES == ("2025-11", "2026-02", "2026-09")
    assert NEWEST_EDITION == "2026-09"
    assert get_edition() == get_edition("2026-09")


@pytest.mark.parametrize("date", EDITION_NAMES)
@pytest.mark.parametrize("field", [field for field in FIELDS if field not in {"fatal_codes", "reply_keys"}])
def test_an_edition_says_what_its_documents_say(date: str, field: str) -> None:
    assert getattr(get_edition(date), field) == ROWS[date][field]


@pytest.mark.parametrize("date", EDITION_NAMES)
def test_an_edition_answers_with_the_keys_that_its_documents_have(date: str) -> None:
    wanted = {name: tuple(keys.split()) for name, keys in ROWS[date]["reply_keys"].items()}
    assert get_edition(date).reply_keys == wanted


def test_the_table_of_this_test_has_a_row_for_every_field() -> None:
    assert set(FIELDS) == {*ROWS["2026-09"], "fatal_codes"}
    assert {name for name in EVENTS if EVENTS[name].contract.answers} == set(ROWS["2026-09"]["reply_keys"])


# hosts.md 8, what kills a whole file in the newest engine, and what is merely ignored
VOIDS = {
    "TL101": "not JSON",
    "TL102": "trailing comma",
    "TL103": "byte order mark",
    "TL104": "not UTF-8",
    "TL107": "// inside a string",
    "TL202": "no version",
    "TL203": "version 0, 1.5 or a string",
    "TL206": "unknown event",
    "TL207": "another product's event",
    "TL208": "nested groups",
    "TL211": "no command",
    "TL213": "a key of the wrong type",
    "TL216": "timeout 0 or negative",
    "TL218": "loop_limit 0",
    "TL219": "unknown type",
    "TL301": "matcher that is no regular expression",
}
IGNORED = {"TL106": "comments", "TL204": "version 2", "TL214": "extra keys", "TL217": "milliseconds", "TL401": "script"}


@pytest.mark.parametrize("code", VOIDS)
def test_what_was_measured_to_void_a_file_voids_it_in_the_newest_edition(code: str) -> None:
    assert code in get_edition().fatal_codes


@pytest.mark.parametrize("code", IGNORED)
def test_what_was_measured_to_be_harmless_voids_nothing(code: str) -> None:
    assert not any(code in get_edition(date).fatal_codes for date in EDITION_NAMES)


@pytest.mark.parametrize("date", ["2025-11", "2026-02"])
def test_before_the_measurements_only_what_cannot_be_parsed_voids_a_file(date: str) -> None:
    assert get_edition(date).fatal_codes == UNPARSABLE
    assert {"TL101", "TL104"} <= UNPARSABLE < MEASURED_FATAL_CODES
    assert not {"TL102", "TL107", "TL202", "TL206", "TL301"} & UNPARSABLE


def test_every_voiding_code_exists() -> None:
    assert set(CODES) >= MEASURED_FATAL_CODES


# -- sources


@pytest.mark.parametrize("row", EDITION_FACTS, ids=lambda row: f"{row.since} {row.field}")
def test_every_row_names_an_edition_a_field_and_a_source(row: Any) -> None:
    assert row.since in EDITION_NAMES
    assert row.field in FIELDS
    assert re.search(r"\bD[1-6]|measured|seeds|agents\.md|no void rule", row.source)


def test_no_row_repeats_the_one_before_it() -> None:
    seen: set[tuple[str, str]] = set()
    before: dict[str, Any] = {}
    for row in EDITION_FACTS:
        assert (row.since, row.field) not in seen
        assert row.field not in before or before[row.field] != row.value, f"{row.since} {row.field} changes nothing"
        seen.add((row.since, row.field))
        before[row.field] = row.value


@pytest.mark.parametrize("date", EDITION_NAMES)
def test_every_field_of_an_edition_has_its_own_source(date: str) -> None:
    contracted = get_edition(date)
    assert contracted.name == date
    assert set(contracted.sources) == set(FIELDS)
    for field, source in contracted.sources.items():
        rows = [row for row in EDITION_FACTS if row.field == field and row.since <= date]
        assert source == max(rows, key=lambda row: row.since).source


# -- refusing


@pytest.mark.parametrize("date", EDITION_NAMES)
@pytest.mark.parametrize("name", EVENTS)
def test_only_a_refusable_event_that_the_edition_knows_can_be_refused(date: str, name: str) -> None:
    refusable = EVENTS[name].contract.refusable
    wanted = refusable and name in ROWS[date]["events"]
    assert get_edition(date).refuses(name, refusable=refusable) is wanted


def test_an_event_that_only_observes_is_refused_in_no_edition() -> None:
    assert not any(get_edition(date).refuses("stop", refusable=False) for date in EDITION_NAMES)
    assert not get_edition().refuses("unheard of", refusable=True)


def test_whether_a_session_start_can_be_refused_is_a_row_of_its_own() -> None:
    unenforced = msgspec.structs.replace(get_edition(), session_start_refuses=False)
    assert not unenforced.refuses("sessionStart", refusable=True)
    assert unenforced.refuses("beforeSubmitPrompt", refusable=True)


def test_the_defaults_are_five_follow_ups_and_a_minute() -> None:
    assert (LOOP_LIMIT, TIMEOUT_SECONDS) == (5, 60.0)


# -- unknown editions


@pytest.mark.parametrize("name", ["2026-10", "2026", "", "newest", "2025-11 ", "9999-99"])
def test_an_unknown_edition_is_a_usage_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        get_edition(name)
    assert caught.value.message == f"unknown edition `{name}`"
    assert caught.value.hint == "one of 2025-11, 2026-02, 2026-09"
    assert caught.value.exit_code == 64
