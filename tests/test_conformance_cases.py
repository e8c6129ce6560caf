"""The corpus of situations: each must be seen exactly as it is wanted."""

from pathlib import Path

import pytest

from pure import play
from trotline.testing.conformance import CASE_GROUPS, ConformanceCase, load_cases, set_up_case
from trotline.testing.conformance_engine import run_case

CASES = load_cases()
SAYS_NOTHING: tuple[dict[str, str], ...] = ({"permission": "allow"}, {"permission": "none"}, {})


@pytest.mark.parametrize("case", [case for case in CASES if "earlier" not in case.body], ids=lambda case: case.name)
def test_the_situation_ends_as_its_note_says(case: ConformanceCase, tmp_path: Path) -> None:
    seen = play(case, tmp_path)
    assert {key: seen[key] for key in case.want} == case.want, case.body["note"]


@pytest.mark.parametrize("case", [case for case in CASES if "event" in case.body], ids=lambda case: case.name)
def test_the_situation_ends_the_same_when_real_processes_play_it(case: ConformanceCase, tmp_path: Path) -> None:
    seen = run_case(set_up_case(case, tmp_path))
    wanted = {key: value for key, value in case.want.items() if key in seen}
    assert {key: seen[key] for key in wanted} == wanted, case.body["note"]


def test_there_are_at_least_300_situations_for_real_processes() -> None:
    assert sum("event" in case.body for case in CASES) >= 300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_situation_has_a_sentence_a_source_and_asserts_more_than_permission_to_go_on(case: ConformanceCase) -> None:
    assert len(case.body["note"].split()) >= 4
    assert case.body["source"]
    assert case.want not in SAYS_NOTHING


def test_no_two_situations_have_the_same_sentence() -> None:
    notes = [case.body["note"] for case in CASES]
    assert len(set(notes)) == len(notes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_situation_belongs_to_a_rule_and_says_what_was_measured_in_known_words(case: ConformanceCase) -> None:
    assert case.group in CASE_GROUPS
    assert case.measured in {"", "agrees"} or case.measured.startswith("differs: ")
