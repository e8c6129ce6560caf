"""Internal errors are recorded like other calls: agent, event, failure and reply."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace
from secret_samples import fill_template
from trotline import Engine
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import AgentReply
from trotline.agents.derived_events import derive_events
from trotline.audit.store.spool import Spool
from trotline.conversation.functions import EventHandler
from trotline.domain.errors import UsageError, describe_error
from trotline.domain.events import EVENTS, BeforeShell, Event, PostToolUse, Stop
from trotline.domain.outcomes import Call, Outcome
from trotline.evaluation import panel
from trotline.hook import process
from trotline.hook.process import handle_call, write_detail
from trotline.service import bootstrap, cold_path
from trotline.service.cold_path import ClientCall

TOKEN = fill_template("ghp_{crc*36}")


def line(workspace: Workspace, agent: str = "cursor", event: str = "beforeShellExecution") -> tuple[str, ...]:
    return ("--agent", agent, "--event", event, "--home", str(workspace.home))


def last(workspace: Workspace) -> dict[str, Any]:
    return Spool(workspace.roots().state / "spool").read().records[-1]


def late(workspace: Workspace, payload: bytes | None, remaining_ms: int = 0) -> ClientCall:
    return ClientCall("late-1", 5, remaining_ms, "unfit", list(line(workspace)), payload, time.monotonic())


def test_a_deadline_that_has_passed_is_a_refusal_and_a_record(workspace: Workspace) -> None:
    sent, _ = cold_path._answer_in_time(late(workspace, b"{}"))
    assert json.loads(sent.stdout)["permission"] == "deny"
    record = last(workspace)
    assert (record["id"], record["at_us"], record["agent"]) == ("late-1", 5, "cursor")
    assert (record["event"], record["decided"], record["sent"]) == ("beforeShellExecution", "deny", "deny")
    assert record["responses"][0]["failure"] == "timed out"
    assert (record["payload_bytes"], record["sent_bytes"]) == (2, len(sent.stdout))


def test_a_deadline_during_input_is_recorded(workspace: Workspace) -> None:
    reader, writer = os.pipe()
    saved_stdin = os.dup(0)
    os.dup2(reader, 0)
    try:
        sent, _ = cold_path._answer_in_time(late(workspace, None, remaining_ms=30))
    finally:
        os.dup2(saved_stdin, 0)
        for descriptor in (reader, writer, saved_stdin):
            os.close(descriptor)
    assert json.loads(sent.stdout)["permission"] == "deny"
    assert last(workspace)["responses"][0]["failure"] == "timed out"


def fail(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, agent: str = "cursor") -> dict[str, Any]:
    """Return the record and the detail of a call whose evaluation fails."""

    def breaks(*_: object) -> None:
        raise RecursionError("somewhere of ours")

    monkeypatch.setattr(process, "answer", breaks)
    event = next(theirs for theirs, ours in get_agent(agent).events.items() if EVENTS[ours].contract.refusable)
    call = Call(
        id="f-1", argv=line(workspace, agent, event), payload=b'{"command": "ls"}', received_us=int(time.time() * 1e6)
    )
    sent, outcome = handle_call(call, [], guarded=True)
    assert "Trotline failed: RecursionError at test_internal_errors.py:" in sent.stderr
    write_detail(outcome, str(workspace.home))
    return last(workspace)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_internal_error_is_recorded_with_its_text(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    record = fail(workspace, monkeypatch, agent)
    assert (record["id"], record["agent"], record["decided"]) == ("f-1", agent, "deny")
    assert EVENTS[record["event"]].contract.refusable
    assert record["responses"][0]["failure"] == "crashed"
    assert record["detail"]["payload"] == {"command": "ls"}


def test_log_and_stats_show_an_internal_error(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(workspace, monkeypatch)
    for words in (["log", "show", "f-1"], ["log", "stats"]):
        assert "crashed" in workspace.run(*words).stdout


def test_an_unknown_agent_is_recorded(workspace: Workspace) -> None:
    handle_call(Call(id="n-1", argv=line(workspace, "nobody"), payload=b"{}", received_us=5), [], guarded=True)
    record = last(workspace)
    assert (record["id"], record["event"], record["responses"][0]["failure"]) == (
        "n-1",
        "beforeShellExecution",
        "crashed",
    )


def test_an_unwritable_record_is_reported_and_the_call_answered(workspace: Workspace) -> None:
    spool = workspace.roots().state / "spool"
    spool.parent.mkdir(parents=True)
    spool.write_text("a file where a directory belongs")
    sent, _ = cold_path._answer_in_time(late(workspace, b"{}"))
    assert json.loads(sent.stdout)["permission"] == "deny"
    assert "the record of this call could not be written" in sent.stderr


def test_deeply_nested_input_is_no_internal_error(workspace: Workspace) -> None:
    deep = "[" * 100_000
    assert [
        one.wire_name for one in derive_events(PostToolUse(tool_name="Shell", tool_input=deep, tool_output=""))
    ] == []
    for event in ("postToolUse", "preToolUse"):
        body = {"hook_event_name": event, "tool_name": "Shell", "tool_input": deep, "tool_output": deep}
        call = Call(id=event, argv=line(workspace, event=event), payload=json.dumps(body).encode(), received_us=5)
        sent, _ = handle_call(call, [], guarded=True)
        assert "RecursionError" not in sent.stderr
        assert "RecursionError" not in json.dumps(last(workspace))


def describe_failure(sent: AgentReply, outcome: Outcome) -> str:
    return f"{sent.stdout}{sent.stderr}{[response.failure for response in outcome.responses]}{outcome.alarms}"


def test_an_internal_error_that_quotes_the_call_is_reported_by_kind_and_place(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise KeyError(TOKEN)

    call = Call(id="i", argv=line(workspace, "cursor"), payload=b'{"command": "ls"}', received_us=5)
    monkeypatch.setattr(panel, "analyze_event", breaks)
    by_guards = describe_failure(*handle_call(call, [], guarded=True))
    monkeypatch.setattr(process, "build_record", breaks)
    by_record = describe_failure(*handle_call(call, [], guarded=True))
    for text in (by_guards, by_record):
        assert "KeyError at test_internal_errors.py:" in text
        assert TOKEN not in text
    assert "Trotline's guards failed: KeyError" in by_guards
    assert "Trotline failed: KeyError" in by_record


def test_an_engine_that_breaks_or_cannot_keep_a_record_does_not_quote_the_event(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> str:
        raise KeyError(TOKEN)

    loaded = Engine.load(project=workspace.project, home=workspace.home, system=workspace.system)
    monkeypatch.setattr(loaded.current, "refresh", breaks)
    loaded.sink = breaks
    outcome = loaded.dispatch(BeforeShell(command="ls"))
    assert [alarm.partition(" at ")[0] for alarm in outcome.alarms] == [
        "trotline itself failed: KeyError",
        "the record of this call could not be kept: KeyError",
    ]
    assert TOKEN not in outcome.explain()


def test_a_raising_handler_is_reported_with_its_place_and_without_secrets() -> None:
    def looks_up(_: Event) -> None:
        json.loads(f"no {TOKEN}")

    def quotes(event: Event) -> None:
        raise ValueError(f"oops {event.conversation_id} " + "x" * 1000)

    details = []
    for call in (looks_up, quotes):
        response = EventHandler(name="mine", event="stop", call=call).respond(
            Stop(conversation_id=TOKEN, status="completed")
        )
        assert response.failure is not None
        details.append(response.failure.detail)
    first, second = details
    assert first.startswith("Function mine raised JSONDecodeError(")
    assert " at test_internal_errors.py:" in first
    assert "raised ValueError('oops [redacted " in second
    assert len(second) < 400
    assert TOKEN not in first + second


def test_errors_without_a_place_are_described() -> None:
    assert describe_error(ValueError(TOKEN)) == "ValueError at an unknown place"
    assert describe_error(UsageError("there is no such file")) == "there is no such file"


def test_a_call_that_cannot_be_answered_at_all_does_not_quote_its_payload() -> None:
    assert bootstrap._describe(KeyError(TOKEN)) == "KeyError at an unknown place"
    assert bootstrap._describe(SyntaxError("an upgrade")) == "SyntaxError('an upgrade')"


@pytest.mark.parametrize("path", ["/p/\ud800 x", "/p/a\0b", "C:\\\ud800\\x", "\udcff"])
@pytest.mark.parametrize(
    "event,field", [("beforeSubmitPrompt", "attachments"), ("preToolUse", "tool_input"), ("beforeTabFileRead", "")]
)
def test_a_path_that_no_disk_can_spell_is_nowhere_and_no_failure(
    tmp_path: Path, path: str, event: str, field: str
) -> None:
    every: dict[str, dict[str, Any]] = {
        "attachments": {"prompt": "hi", "attachments": [{"type": "file", "file_path": path}]},
        "tool_input": {"tool_name": "Write", "tool_input": {"file_path": path, "contents": f"token = '{TOKEN}'"}},
        "": {"file_path": path, "content": "x"},
    }
    body = {"hook_event_name": event, "conversation_id": "c", "workspace_roots": [str(tmp_path), path], **every[field]}
    argv = ("--agent", "cursor", "--event", event, "--home", str(tmp_path))
    sent, outcome = handle_call(
        Call(id="i", argv=argv, payload=json.dumps(body).encode(), received_us=5), [], guarded=True
    )
    assert [response.failure for response in outcome.responses if response.failure] == []
    assert "failed" not in sent.stdout + sent.stderr
    write_detail(outcome, str(tmp_path))
