"""A failure of ours is on record like every other call: who called, of what event, how we failed, what was sent."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from planted import made
from trotline import Engine, judging, program
from trotline.audit.spool import Spool
from trotline.engine.functions import Function
from trotline.errors import UsageError, cause_of
from trotline.events import EVENTS, BeforeShell, Event, PostToolUse, Stop
from trotline.hosts import HOSTS, host_named
from trotline.hosts.host import Answer
from trotline.hosts.specific import specifics
from trotline.outcomes import Call, Outcome
from trotline.program import answered, remember
from trotline.service import conclusion, entrance
from trotline.service.conclusion import Known
from worlds import World, new_world, trotline_process

TOKEN = made("ghp_{crc*36}")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def line(world: World, host: str = "cursor", event: str = "beforeShellExecution") -> tuple[str, ...]:
    return ("--host", host, "--event", event, "--home", str(world.home))


def last(world: World) -> dict[str, Any]:
    return Spool(world.roots().state / "spool").read().records[-1]


def late(world: World, payload: bytes | None, left_ms: int = 0) -> Known:
    return Known("late-1", 5, left_ms, "unfit", list(line(world)), payload, time.monotonic())


def test_a_deadline_that_has_passed_is_a_refusal_and_a_record(world: World) -> None:
    sent, _ = conclusion._in_time(late(world, b"{}"))
    assert json.loads(sent.stdout)["permission"] == "deny"
    record = last(world)
    assert (record["id"], record["at_us"], record["host"]) == ("late-1", 5, "cursor")
    assert (record["event"], record["asked"], record["sent"]) == ("beforeShellExecution", "deny", "deny")
    assert record["voices"][0]["failure"] == "timed out"
    assert (record["payload_bytes"], record["sent_bytes"]) == (2, len(sent.stdout))


def test_a_deadline_that_passes_while_the_host_still_speaks_is_a_record_too(world: World) -> None:
    reader, writer = os.pipe()
    kept = os.dup(0)
    os.dup2(reader, 0)
    try:
        sent, _ = conclusion._in_time(late(world, None, left_ms=30))
    finally:
        os.dup2(kept, 0)
        for descriptor in (reader, writer, kept):
            os.close(descriptor)
    assert json.loads(sent.stdout)["permission"] == "deny"
    assert last(world)["voices"][0]["failure"] == "timed out"


def fail(world: World, monkeypatch: pytest.MonkeyPatch, host: str = "cursor") -> dict[str, Any]:
    """What is on record when we break while judging; its words too."""

    def breaks(*_: object) -> None:
        raise RecursionError("somewhere of ours")

    monkeypatch.setattr(program, "answer", breaks)
    event = next(theirs for theirs, ours in host_named(host).events.items() if EVENTS[ours].contract.refusable)
    call = Call(
        id="f-1", argv=line(world, host, event), payload=b'{"command": "ls"}', received_us=int(time.time() * 1e6)
    )
    sent, outcome = answered(call, [], guarded=True)
    assert "Trotline failed: RecursionError at test_own_failures.py:" in sent.stderr
    remember(outcome, str(world.home))
    return last(world)


@pytest.mark.parametrize("host", HOSTS)
def test_whatever_breaks_in_us_is_on_record_with_its_words(
    world: World, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    record = fail(world, monkeypatch, host)
    assert (record["id"], record["host"], record["asked"]) == ("f-1", host, "deny")
    assert EVENTS[record["event"]].contract.refusable
    assert record["voices"][0]["failure"] == "crashed"
    assert record["detail"]["payload"] == {"command": "ls"}


def test_log_trace_and_stats_show_a_failure_of_ours(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(world, monkeypatch)
    for words in (["log", "show", "f-1"], ["trace"], ["log", "stats"]):
        assert "crashed" in trotline_process(*words, *world.options, cwd=world.project).stdout


def test_a_host_that_nobody_knows_is_a_record_too(world: World) -> None:
    answered(Call(id="n-1", argv=line(world, "nobody"), payload=b"{}", received_us=5), [], guarded=True)
    record = last(world)
    assert (record["id"], record["event"], record["voices"][0]["failure"]) == ("n-1", "beforeShellExecution", "crashed")


def test_a_record_that_cannot_be_written_is_said_and_answered_all_the_same(world: World) -> None:
    spool = world.roots().state / "spool"
    spool.parent.mkdir(parents=True)
    spool.write_text("a file where a directory belongs")
    sent, _ = conclusion._in_time(late(world, b"{}"))
    assert json.loads(sent.stdout)["permission"] == "deny"
    assert "the record of this call could not be written" in sent.stderr


def test_input_that_is_nested_without_end_is_no_failure_of_ours(world: World) -> None:
    deep = "[" * 100_000
    assert [one.wire_name for one in specifics(PostToolUse(tool_name="Shell", tool_input=deep, tool_output=""))] == []
    for event in ("postToolUse", "preToolUse"):
        body = {"hook_event_name": event, "tool_name": "Shell", "tool_input": deep, "tool_output": deep}
        call = Call(id=event, argv=line(world, event=event), payload=json.dumps(body).encode(), received_us=5)
        sent, _ = answered(call, [], guarded=True)
        assert "RecursionError" not in sent.stderr
        assert "RecursionError" not in json.dumps(last(world))


# -- what is said of it


def told(sent: Answer, outcome: Outcome) -> str:
    return f"{sent.stdout}{sent.stderr}{[voice.failure for voice in outcome.voices]}{outcome.alarms}"


def test_an_error_of_ours_that_quotes_the_call_is_told_by_its_kind_and_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise KeyError(TOKEN)

    call = Call(id="i", argv=line(world, "cursor"), payload=b'{"command": "ls"}', received_us=5)
    monkeypatch.setattr(judging, "of_event", breaks)
    by_guards = told(*answered(call, [], guarded=True))
    monkeypatch.setattr(program, "record_of", breaks)
    by_record = told(*answered(call, [], guarded=True))
    for said in (by_guards, by_record):
        assert "KeyError at test_own_failures.py:" in said
        assert TOKEN not in said
    assert "Trotline's guards failed: KeyError" in by_guards
    assert "Trotline failed: KeyError" in by_record


def test_an_engine_that_breaks_or_cannot_keep_a_record_does_not_quote_the_event(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> str:
        raise KeyError(TOKEN)

    loaded = Engine.load(project=world.project, home=world.home, system=world.system)
    monkeypatch.setattr(loaded.current, "refresh", breaks)
    loaded.sink = breaks
    outcome = loaded.dispatch(BeforeShell(command="ls"))
    assert [alarm.partition(" at ")[0] for alarm in outcome.alarms] == [
        "trotline itself failed: KeyError",
        "the record of this call could not be kept: KeyError",
    ]
    assert TOKEN not in outcome.explain()


def test_an_authors_function_that_raises_is_told_with_its_place_and_without_secrets() -> None:
    def looks_up(_: Event) -> None:
        json.loads(f"no {TOKEN}")

    def quotes(event: Event) -> None:
        raise ValueError(f"oops {event.conversation_id} " + "x" * 1000)

    details = []
    for call in (looks_up, quotes):
        voice = Function(name="mine", event="stop", call=call).voice(Stop(conversation_id=TOKEN, status="completed"))
        assert voice.failure is not None
        details.append(voice.failure.detail)
    first, second = details
    assert first.startswith("Function mine raised JSONDecodeError(")
    assert " at test_own_failures.py:" in first
    assert "raised ValueError('oops [redacted " in second
    assert len(second) < 400
    assert TOKEN not in first + second


def test_an_error_without_a_place_has_an_unknown_one_and_one_for_people_has_its_words() -> None:
    assert cause_of(ValueError(TOKEN)) == "ValueError at an unknown place"
    assert cause_of(UsageError("there is no such file")) == "there is no such file"


def test_a_call_that_cannot_be_answered_at_all_does_not_quote_its_payload() -> None:
    assert entrance._cause(KeyError(TOKEN)) == "KeyError at an unknown place"
    assert entrance._cause(SyntaxError("an upgrade")) == "SyntaxError('an upgrade')"


# -- paths that no disk can spell


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
    argv = ("--host", "cursor", "--event", event, "--home", str(tmp_path))
    sent, outcome = answered(
        Call(id="i", argv=argv, payload=json.dumps(body).encode(), received_us=5), [], guarded=True
    )
    assert [voice.failure for voice in outcome.voices if voice.failure] == []
    assert "failed" not in sent.stdout + sent.stderr
    remember(outcome, str(tmp_path))
