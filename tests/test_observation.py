"""Whether an action was done is known later than it was asked about; who reads its record is told all the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from trails import called, raised
from trotline.audit.observation import AT_ONCE, MOST
from trotline.audit.query import Query
from trotline.audit.trail import opened
from worlds import World, new_world, trotline_process


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def play(world: World, *steps: tuple[str, str]) -> None:
    """Commands by their event; each call is a record and its words, so the numbers are odd."""
    for number, (event, command) in enumerate(steps, 1):
        called(world, raised(event, command=command), number)


def log(world: World, *words: str) -> str:
    return str(trotline_process("log", *words, *world.options, cwd=world.project).stdout)


DONE = [("beforeShellExecution", "ls"), ("afterShellExecution", "ls"), ("beforeShellExecution", "pwd")]


def test_who_asks_as_a_program_hears_what_was_observed(world: World) -> None:
    play(world, *DONE)
    found = json.loads(log(world, "--json"))["data"]["records"]
    assert [one.get("observed") for one in found] == [[], None, [3]]  # nothing yet, not announced, done


@pytest.mark.parametrize("words", [[], ["--no-words"]])
def test_an_export_tells_what_was_observed(world: World, words: list[str]) -> None:
    play(world, *DONE)
    lines = log(world, "export", "--format", "jsonl", *words).splitlines()
    assert [json.loads(line).get("observed") for line in lines] == [[], None, [3]]


def test_a_command_that_is_repeated_all_day_does_not_make_its_record_long(world: World) -> None:
    play(world, ("beforeShellExecution", "ls"), *[("afterShellExecution", "ls")] * (MOST + 5))
    with opened(world.roots().state) as store:
        (first,) = store.with_observed(store.search(Query(event="beforeShellExecution")))
    assert first["observed"] == list(range(3, 3 + 2 * MOST, 2))


def test_many_records_are_joined_with_few_questions(world: World) -> None:
    play(world, *DONE)
    with opened(world.roots().state) as store:
        some = [record for record in store.search(Query()) if record["event"] != "afterShellExecution"]
        asked: list[str] = []
        store._db.set_trace_callback(asked.append)
        found = list(store.with_observed(some * AT_ONCE))
    assert [one["observed"] for one in found] == [[], [3]] * AT_ONCE
    assert len(asked) == 2


def shown(world: World, number: int) -> tuple[list[Any], list[str]]:
    told = json.loads(log(world, "show", str(number), "--json"))["data"]["alarms_about"]
    plain = [line for line in log(world, "show", str(number)).splitlines() if line.startswith("alarm: ")]
    return [(alarm["kind"], alarm["about_seq"], alarm["seq"]) for alarm in told], plain


def test_a_record_that_an_alarm_is_about_says_so(world: World) -> None:
    play(world, *DONE, ("beforeShellExecution", "rm -rf /"), ("afterShellExecution", "rm -rf /"))
    said = "alarm: what 7 says was refused was done all the same, says 9"
    assert shown(world, 7) == shown(world, 9) == ([("done all the same", 7, 9)], [said])
    assert shown(world, 1) == ([], [])


def test_an_alarm_that_takes_another_conversation_to_see_is_told_with_its_record(world: World) -> None:
    called(world, raised("beforeShellExecution", command="ls", conversation_id="earlier"), 1)
    called(world, raised("sessionStart"), 2)
    called(world, raised("afterShellExecution", command="pwd"), 3)
    with opened(world.roots().state) as store:
        (alarm,) = store.alarms(0)
    assert alarm.seq == 5
    assert shown(world, 5)[0] == [("unasked", 0, 5)]
