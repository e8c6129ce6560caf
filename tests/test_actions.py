"""Actions in two events: when a deed is an alarm, and when it can be explained."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.audit.actions import ENDED, LET, RAN, REFUSED, UNKNOWN, Step, action_of, steps_in
from trotline.audit.alarms import DONE_ALL_THE_SAME, NEVER_DONE, UNASKED, Alarm, alarms_in
from trotline.events import AfterShell, BeforeShell, PostToolUse, PreToolUse, Stop
from worlds import patient

KEY = b"k" * 32
TALK = ("somebody", "c1")


BEGUN, FAILED, ABORTED, ASKED, OTHER = "begun", "failed", "aborted", "asked", "other"
EVENTS = {
    BEGUN: "sessionStart",
    FAILED: "postToolUseFailure",
    ENDED: "stop",
    ABORTED: "stop",
    RAN: "afterShellExecution",
}
"""What stands for an event that speaks of no action; the others are before one."""


def steps(*kinds: str, action: str = "a", talk: tuple[str, str] = TALK) -> list[Step]:
    """A kind with a letter behind it is about that action."""
    return [_step(seq, *kind.split(), action=action, talk=talk) for seq, kind in enumerate(kinds, 1)]


def _step(seq: int, kind: str, named: str = "", *, action: str, talk: tuple[str, str]) -> Step:
    event = EVENTS.get(kind, "beforeShellExecution")
    if kind in {BEGUN, FAILED}:
        return Step(seq, f"id-{seq}", talk, event)
    if kind in {ENDED, ABORTED}:
        return Step(seq, f"id-{seq}", talk, event, ENDED, "completed" if kind == ENDED else "aborted")
    return Step(seq, f"id-{seq}", talk, event, LET if kind == ASKED else kind, named or action, kind == ASKED)


def kinds_of(alarms: list[Alarm], kind: str) -> list[tuple[int, int]]:
    return [(alarm.seq, alarm.about_seq) for alarm in alarms if alarm.kind == kind]


@pytest.mark.parametrize(
    "kinds,alarms",
    [
        ([REFUSED, RAN], [(2, 1)]),
        ([REFUSED], []),
        ([RAN], []),
        ([RAN, REFUSED], []),
        ([LET, RAN], []),
        ([REFUSED, LET, RAN], []),
        ([LET, REFUSED, RAN], []),
        ([REFUSED, LET, RAN, RAN], [(4, 1)]),
        ([REFUSED, REFUSED, RAN], [(3, 2)]),
        ([REFUSED, UNKNOWN, RAN], []),
        ([REFUSED, UNKNOWN, RAN, RAN], [(4, 1)]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_a_deed_is_an_alarm_if_only_refusals_can_be_meant(kinds: list[str], alarms: list[tuple[int, int]]) -> None:
    assert kinds_of(alarms_in(steps(*kinds)), DONE_ALL_THE_SAME) == alarms


@pytest.mark.parametrize(
    "kinds,alarms",
    [
        ([BEGUN, LET, RAN, RAN], [4]),
        ([BEGUN, LET, RAN, "ran b", "ran c"], [4]),
        ([BEGUN, "refused x", RAN], [3]),
        ([BEGUN, UNKNOWN, RAN, RAN], []),
        ([BEGUN, LET, "ran b"], []),
        ([BEGUN, LET, LET, RAN, "ran b", "ran c"], [6]),
        ([BEGUN, RAN], []),
        ([LET, RAN, RAN], []),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_a_deed_that_nobody_asked_about_is_an_alarm_where_a_host_asks(kinds: list[str], alarms: list[int]) -> None:
    found = alarms_in(steps(*kinds))
    assert [seq for seq, _ in kinds_of(found, UNASKED)] == alarms
    assert kinds_of(found, DONE_ALL_THE_SAME) == []


def test_a_session_with_deeds_and_no_question_is_an_alarm_if_others_had_them() -> None:
    first = steps(BEGUN, LET, RAN)
    second = [step._replace(seq=step.seq + 9) for step in steps(BEGUN, RAN, RAN, talk=("somebody", "c2"))]
    assert kinds_of(alarms_in([*first, *second]), UNASKED) == [(11, 0)]
    elsewhere = [step._replace(talk=("another", "c2")) for step in second]
    assert alarms_in([*first, *elsewhere]) == []


@pytest.mark.parametrize(
    "kinds,alarms",
    [
        ([LET, RAN, "let b", ENDED], [(4, 3)]),
        (["let b", LET, RAN, ENDED], [(4, 1)]),
        ([LET, RAN, ENDED], []),
        (["let b", ENDED], []),
        ([LET, RAN, "let b", ABORTED], []),
        ([LET, RAN, "let b", FAILED, ENDED], []),
        ([LET, RAN, "asked b", ENDED], []),
        ([LET, RAN, "refused b", ENDED], []),
        ([LET, RAN, UNKNOWN, ENDED], []),
        ([LET, RAN, "let b", BEGUN, ENDED], []),
        ([LET, RAN, "let b", "ran c", ENDED], []),
        ([LET, RAN, "let b", ENDED, ENDED], [(4, 3)]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_leave_that_nobody_used_is_an_alarm_in_a_turn_that_went_well(
    kinds: list[str], alarms: list[tuple[int, int]]
) -> None:
    assert kinds_of(alarms_in(steps(*kinds)), NEVER_DONE) == alarms


def test_input_that_a_hook_rewrote_is_done_under_another_name_and_accuses_nobody() -> None:
    before = {
        "id": "1",
        "host": "h",
        "event": "preToolUse",
        "asked": "silent",
        "edited": True,
        "detail": {"action": "a"},
    }
    after = {"id": "2", "host": "h", "event": "postToolUse", "asked": "silent", "detail": {"action": "b"}}
    begun = {"id": "0", "host": "h", "event": "sessionStart", "asked": "silent", "detail": {}}
    ended = {
        "id": "3",
        "host": "h",
        "event": "stop",
        "asked": "silent",
        "detail": {"measures": {"status": "completed"}},
    }
    assert alarms_in(steps_in([begun, before, after, ended])) == []
    assert len(alarms_in(steps_in([begun, {**before, "edited": False, "event": "beforeShellExecution"}, after]))) == 0


def test_another_action_and_another_conversation_explain_nothing_and_accuse_nobody() -> None:
    refused, ran = steps(REFUSED, RAN)
    assert alarms_in([refused, ran._replace(action="b")]) == []
    assert alarms_in([refused, ran._replace(talk=("somebody", "c2"))]) == []
    other = refused._replace(kind=LET, talk=("another", "c1"))
    assert len(alarms_in([refused, other, ran])) == 1


@patient
@given(st.lists(st.sampled_from([REFUSED, LET, RAN, UNKNOWN]), max_size=30))
def test_there_are_never_more_alarms_than_deeds_without_leave(kinds: list[str]) -> None:
    found = len(kinds_of(alarms_in(steps(*kinds)), DONE_ALL_THE_SAME))
    assert found <= kinds.count(RAN)
    assert REFUSED in kinds or not found


@patient
@given(
    st.lists(st.sampled_from([BEGUN, REFUSED, LET, ASKED, "let b", "ran b", RAN, UNKNOWN, FAILED, ENDED]), max_size=30)
)
def test_no_record_is_accused_twice_of_the_same(kinds: list[str]) -> None:
    found = alarms_in(steps(*kinds))
    assert len(set(found)) == len(found)
    assert len(kinds_of(found, UNASKED)) <= 1  # of one family in one conversation
    assert not {about for _, about in kinds_of(found, NEVER_DONE)} & {
        about for _, about in kinds_of(found, DONE_ALL_THE_SAME)
    }


def test_before_and_after_of_one_action_have_one_name() -> None:
    shared: dict[str, Any] = {"conversation_id": "c", "generation_id": "g"}
    before, after = BeforeShell(command="make", cwd="/w", **shared), AfterShell(command="make", **shared)
    assert action_of(before, KEY) == action_of(after, KEY) != ""
    assert action_of(before, KEY) != action_of(BeforeShell(command="make it", **shared), KEY)
    assert action_of(before, KEY) != action_of(before, b"another")
    assert action_of(Stop(**shared), KEY) == ""


def test_the_hosts_own_id_counts_more_than_what_is_done() -> None:
    one = PreToolUse(tool_name="Shell", tool_input={"command": "a"}, tool_use_id="t1", conversation_id="c")
    assert action_of(one, KEY) == action_of(
        PostToolUse(tool_name="Shell", tool_input={"command": "rewritten"}, tool_use_id="t1", conversation_id="c"), KEY
    )
    assert action_of(one, KEY) != action_of(
        PreToolUse(tool_name="Shell", tool_input={"command": "a"}, tool_use_id="t2", conversation_id="c"), KEY
    )


def test_what_was_only_monitored_was_not_refused() -> None:
    def record(number: int, event: str, **fields: Any) -> dict[str, Any]:
        return {"id": str(number), "host": "h", "event": event, "detail": {"action": "a"}, **fields}

    after = record(2, "afterShellExecution", asked="silent")
    refused = record(1, "beforeShellExecution", asked="deny")
    assert len(alarms_in(steps_in([refused, after]))) == 1
    assert alarms_in(steps_in([{**refused, "withheld": ["deny"]}, after])) == []
    assert alarms_in(steps_in([refused, {**after, "detail": {}}])) == []
