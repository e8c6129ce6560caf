"""A failure of ours is on record like every other call: who called, of what event, how we failed, what was sent."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from trotline import program
from trotline.audit.spool import Spool
from trotline.events import EVENTS, PostToolUse
from trotline.hosts import HOSTS, host_named
from trotline.hosts.specific import specifics
from trotline.outcomes import Call
from trotline.program import answered, remember
from trotline.service import conclusion
from trotline.service.conclusion import Known
from worlds import World, new_world, trotline_process


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
    assert "Trotline failed: RecursionError('somewhere of ours')" in sent.stderr
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
