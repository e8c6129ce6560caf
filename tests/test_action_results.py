"""Observed executions of an action are joined to the record of its question when it is read."""

import json
from typing import Any

import pytest

from kit import Workspace, build_payload, call_in_process
from trotline.audit.query.alarms import MAX_OBSERVED, OBSERVATION_BATCH
from trotline.audit.query.query import Query
from trotline.audit.store.audit_log import open_audit_log


def record_calls(workspace: Workspace, *steps: tuple[str, str]) -> None:
    """Record calls about commands; each call is a record and its detail, so the record numbers are odd."""
    for number, (event, command) in enumerate(steps, 1):
        call_in_process(workspace, build_payload(event, command=command), number)


def run_log(workspace: Workspace, *words: str) -> str:
    return str(workspace.run("log", *words).stdout)


DONE = [("beforeShellExecution", "ls"), ("afterShellExecution", "ls"), ("beforeShellExecution", "pwd")]


def test_json_output_contains_observed_executions(workspace: Workspace) -> None:
    record_calls(workspace, *DONE)
    found = json.loads(run_log(workspace, "--json"))["data"]["records"]
    assert [record.get("observed") for record in found] == [[], None, [3]]  # nothing yet, not announced, done


@pytest.mark.parametrize("words", [[], ["--no-details"]])
def test_export_contains_observed_executions(workspace: Workspace, words: list[str]) -> None:
    record_calls(workspace, *DONE)
    lines = run_log(workspace, "export", "--format", "jsonl", *words).splitlines()
    assert [json.loads(line).get("observed") for line in lines] == [[], None, [3]]


def test_number_of_observed_executions_in_a_record_is_limited(workspace: Workspace) -> None:
    record_calls(workspace, ("beforeShellExecution", "ls"), *[("afterShellExecution", "ls")] * (MAX_OBSERVED + 5))
    with open_audit_log(workspace.roots().state) as store:
        (first,) = store.with_observed(store.search(Query(event="beforeShellExecution")))
    assert first.observed == list(range(3, 3 + 2 * MAX_OBSERVED, 2))


def test_many_records_are_joined_with_few_queries(workspace: Workspace) -> None:
    record_calls(workspace, *DONE)
    with open_audit_log(workspace.roots().state) as store:
        some = [record for record in store.search(Query()) if record.event != "afterShellExecution"]
        statements: list[str] = []
        store._db.set_trace_callback(statements.append)
        found = list(store.with_observed(some * OBSERVATION_BATCH))
    assert [record.observed for record in found] == [[], [3]] * OBSERVATION_BATCH
    assert len(statements) == 2


def show_alarms(workspace: Workspace, number: int) -> tuple[list[Any], list[str]]:
    alarms = json.loads(run_log(workspace, "show", str(number), "--json"))["data"]["related_alarms"]
    plain = [line for line in run_log(workspace, "show", str(number)).splitlines() if line.startswith("alarm: ")]
    return [(alarm["kind"], alarm["decision_seq"], alarm["seq"]) for alarm in alarms], plain


def test_record_shows_the_alarms_about_it(workspace: Workspace) -> None:
    record_calls(workspace, *DONE, ("beforeShellExecution", "rm -rf /"), ("afterShellExecution", "rm -rf /"))
    line = "alarm: what 7 says was refused was done all the same, says 9"
    assert show_alarms(workspace, 7) == show_alarms(workspace, 9) == ([("done all the same", 7, 9)], [line])
    assert show_alarms(workspace, 1) == ([], [])


def test_alarm_that_depends_on_another_conversation_is_shown_with_its_record(workspace: Workspace) -> None:
    call_in_process(workspace, build_payload("beforeShellExecution", command="ls", conversation_id="earlier"), 1)
    call_in_process(workspace, build_payload("sessionStart"), 2)
    call_in_process(workspace, build_payload("afterShellExecution", command="pwd"), 3)
    with open_audit_log(workspace.roots().state) as store:
        (alarm,) = store.alarms(0)
    assert alarm.seq == 5
    assert show_alarms(workspace, 5)[0] == [("unasked", 0, 5)]
