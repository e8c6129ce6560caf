"""Whether an action was done is known later than it was asked about; who reads its record is told all the same."""

import json
from typing import Any

import pytest

from kit import Workspace, build_payload, call_in_process, run_trotline
from trotline.audit.query.alarms import MAX_OBSERVED, OBSERVATION_BATCH
from trotline.audit.query.query import Query
from trotline.audit.store.audit_log import open_audit_log


def play(workspace: Workspace, *steps: tuple[str, str]) -> None:
    """Commands by their event; each call is a record and its words, so the numbers are odd."""
    for number, (event, command) in enumerate(steps, 1):
        call_in_process(workspace, build_payload(event, command=command), number)


def log(workspace: Workspace, *words: str) -> str:
    return str(run_trotline("log", *words, *workspace.options, cwd=workspace.project).stdout)


DONE = [("beforeShellExecution", "ls"), ("afterShellExecution", "ls"), ("beforeShellExecution", "pwd")]


def test_who_asks_as_a_program_hears_what_was_observed(workspace: Workspace) -> None:
    play(workspace, *DONE)
    found = json.loads(log(workspace, "--json"))["data"]["records"]
    assert [one.get("observed") for one in found] == [[], None, [3]]  # nothing yet, not announced, done


@pytest.mark.parametrize("words", [[], ["--no-words"]])
def test_an_export_tells_what_was_observed(workspace: Workspace, words: list[str]) -> None:
    play(workspace, *DONE)
    lines = log(workspace, "export", "--format", "jsonl", *words).splitlines()
    assert [json.loads(line).get("observed") for line in lines] == [[], None, [3]]


def test_a_command_that_is_repeated_all_day_does_not_make_its_record_long(workspace: Workspace) -> None:
    play(workspace, ("beforeShellExecution", "ls"), *[("afterShellExecution", "ls")] * (MAX_OBSERVED + 5))
    with open_audit_log(workspace.roots().state) as store:
        (first,) = store.with_observed(store.search(Query(event="beforeShellExecution")))
    assert first["observed"] == list(range(3, 3 + 2 * MAX_OBSERVED, 2))


def test_many_records_are_joined_with_few_questions(workspace: Workspace) -> None:
    play(workspace, *DONE)
    with open_audit_log(workspace.roots().state) as store:
        some = [record for record in store.search(Query()) if record["event"] != "afterShellExecution"]
        asked: list[str] = []
        store._db.set_trace_callback(asked.append)
        found = list(store.with_observed(some * OBSERVATION_BATCH))
    assert [one["observed"] for one in found] == [[], [3]] * OBSERVATION_BATCH
    assert len(asked) == 2


def shown(workspace: Workspace, number: int) -> tuple[list[Any], list[str]]:
    told = json.loads(log(workspace, "show", str(number), "--json"))["data"]["alarms_about"]
    plain = [line for line in log(workspace, "show", str(number)).splitlines() if line.startswith("alarm: ")]
    return [(alarm["kind"], alarm["about_seq"], alarm["seq"]) for alarm in told], plain


def test_a_record_that_an_alarm_is_about_says_so(workspace: Workspace) -> None:
    play(workspace, *DONE, ("beforeShellExecution", "rm -rf /"), ("afterShellExecution", "rm -rf /"))
    said = "alarm: what 7 says was refused was done all the same, says 9"
    assert shown(workspace, 7) == shown(workspace, 9) == ([("done all the same", 7, 9)], [said])
    assert shown(workspace, 1) == ([], [])


def test_an_alarm_that_takes_another_conversation_to_see_is_told_with_its_record(workspace: Workspace) -> None:
    call_in_process(workspace, build_payload("beforeShellExecution", command="ls", conversation_id="earlier"), 1)
    call_in_process(workspace, build_payload("sessionStart"), 2)
    call_in_process(workspace, build_payload("afterShellExecution", command="pwd"), 3)
    with open_audit_log(workspace.roots().state) as store:
        (alarm,) = store.alarms(0)
    assert alarm.seq == 5
    assert shown(workspace, 5)[0] == [("unasked", 0, 5)]
