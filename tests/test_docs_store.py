"""The store of docs/extend/stores.md behaves like every store, as far as the page promises."""

import re
from pathlib import Path
from typing import Any

import pytest

from store_behaviour import (  # noqa: F401 - tests
    test_body_with_an_invalid_schema_or_id_is_dropped,
    test_detail_alone_is_not_a_record,
    test_detail_belongs_to_its_record_in_any_order,
    test_forget_without_matches_changes_nothing,
    test_forgotten_records_are_not_found,
    test_forgotten_records_are_not_stored_again,
    test_newest_record_is_the_last_one_stored_despite_its_clock,
    test_records_come_newest_first,
    test_records_match_every_filter,
    test_second_detail_of_a_call_changes_nothing,
    test_second_record_with_the_same_id_changes_nothing,
    test_self_tests_are_omitted_by_default,
    test_size_limit_forgets_nothing_if_it_cannot_help,
    test_unknown_fields_are_preserved,
    test_unknown_id_is_not_found,
    test_unreadable_line_does_not_stop_other_records,
)
from trotline.audit.query.query import Query
from trotline.audit.store.store import ForgetRequest, Store, StoredLine, UnreadLine

PAGE = (Path(__file__).parents[1] / "docs" / "extend" / "stores.md").read_text("utf-8")


@pytest.fixture
def store() -> Store:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program.partition("\nstore = ")[0], names)
    created: Store = names["ListStore"]()
    return created


def test_page_names_every_field_of_the_store_protocol() -> None:
    names_on_page = set(re.findall(r"`(\w+)`", PAGE))
    for kind in (StoredLine, UnreadLine, ForgetRequest):
        assert {*kind._fields} - {"place", "line"} <= names_on_page
    assert {*Query.__struct_fields__} <= names_on_page
