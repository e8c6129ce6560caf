"""The store of docs/extend/stores.md does what every store does, as far as the page says."""

import re
from pathlib import Path
from typing import Any

import pytest

from store_behaviour import (  # noqa: F401 - tests
    test_a_detail_alone_is_no_record,
    test_a_detail_belongs_to_its_record_whichever_comes_first,
    test_calls_that_only_tried_the_lines_are_left_out_unless_asked_for,
    test_everything_that_is_asked_must_be_true,
    test_fields_that_nobody_knows_are_kept,
    test_newest_is_what_came_last_whatever_its_clock_said,
    test_records_come_newest_first,
    test_the_same_id_again_changes_nothing,
    test_to_forget_nothing_is_nothing,
    test_to_keep_a_size_is_to_forget_nothing_where_that_is_no_help,
    test_what_cannot_be_read_is_no_record_and_stops_nobody,
    test_what_is_forgotten_does_not_come_back,
    test_what_is_forgotten_is_found_by_nothing,
    test_what_is_no_record_of_ours_is_no_entry,
    test_what_is_unknown_is_not_found,
    test_words_that_come_after_others_for_the_same_call_change_nothing,
)
from trotline.audit.query.query import Query
from trotline.audit.store.store import ForgetRequest, Store, StoredLine, UnreadLine

PAGE = (Path(__file__).parents[1] / "docs" / "extend" / "stores.md").read_text("utf-8")


@pytest.fixture
def store() -> Store:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program.partition("\nstore = ")[0], names)
    made: Store = names["ListStore"]()
    return made


def test_the_page_names_every_field_of_what_a_store_is_asked_and_given() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    for kind in (StoredLine, UnreadLine, ForgetRequest):
        assert {*kind._fields} - {"place", "line"} <= named
    assert {*Query.__struct_fields__} <= named
