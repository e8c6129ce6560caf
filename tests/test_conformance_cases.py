"""The conformance cases: each has the expected result, in one process and with real processes."""

from pathlib import Path

import pytest

from pure import play
from trotline.testing.conformance import CASE_GROUPS, ConformanceCase, load_cases, set_up_case
from trotline.testing.conformance_engine import run_case

CASES = load_cases()
TRIVIAL_EXPECTATIONS: tuple[dict[str, str], ...] = ({"permission": "allow"}, {"permission": "none"}, {})


@pytest.mark.parametrize("case", [case for case in CASES if "earlier" not in case.body], ids=lambda case: case.name)
def test_case_has_the_expected_result(case: ConformanceCase, tmp_path: Path) -> None:
    result = play(case, tmp_path)
    assert {key: result[key] for key in case.want} == case.want, case.body["note"]


@pytest.mark.parametrize("case", [case for case in CASES if "event" in case.body], ids=lambda case: case.name)
def test_case_has_the_expected_result_with_real_processes(case: ConformanceCase, tmp_path: Path) -> None:
    result = run_case(set_up_case(case, tmp_path))
    expected = {key: value for key, value in case.want.items() if key in result}
    assert {key: result[key] for key in expected} == expected, case.body["note"]


def test_at_least_300_cases_use_real_processes() -> None:
    assert sum("event" in case.body for case in CASES) >= 300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_has_a_note_a_source_and_a_real_expectation(case: ConformanceCase) -> None:
    assert len(case.body["note"].split()) >= 4
    assert case.body["source"]
    assert case.want not in TRIVIAL_EXPECTATIONS


def test_notes_are_unique() -> None:
    notes = [case.body["note"] for case in CASES]
    assert len(set(notes)) == len(notes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_belongs_to_a_rule_and_has_a_known_measurement(case: ConformanceCase) -> None:
    assert case.group in CASE_GROUPS
    assert case.measured in {"", "agrees"} or case.measured.startswith("differs: ")
