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
from trotline.config.problems import load_codes
from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS, Edition
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS

FIELDS = sorted(set(Edition.__struct_fields__) - {"name", "sources"})

# The documents of those dates (seeds/000, seeds/003) and the newest contract, read a second time.
ROWS: dict[str, dict[str, Any]] = read_corpus("editions")["rows"]


def test_newest_of_three_editions_is_the_default() -> None:
    assert EDITION_NAMES == ("2025-11", "2026-02", "2026-09")
    assert NEWEST_EDITION == "2026-09"
    assert get_edition() == get_edition("2026-09")


@pytest.mark.parametrize("date", EDITION_NAMES)
@pytest.mark.parametrize("field", [field for field in FIELDS if field not in {"fatal_codes", "reply_keys"}])
def test_edition_has_the_documented_value(date: str, field: str) -> None:
    value = getattr(get_edition(date), field)
    assert (sorted(value) if isinstance(value, frozenset) else value) == ROWS[date][field]


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
    assert set(load_codes()) >= MEASURED_FATAL_CODES


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
