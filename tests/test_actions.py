"""Actions in two events: when a deed is an alarm, and when it can be explained."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.audit.query.alarms import DONE_DESPITE_DENIAL, NEVER_DONE, NOT_ASKED, Alarm, find_alarms
from trotline.audit.record.actions import (
    ENDED,
    PERMITTED,
    RAN,
    REFUSED,
    UNKNOWN,
    ActionStep,
    collect_steps,
    get_action_id,
    get_related_ids,
)
from trotline.domain.events import (
    AfterAgentResponse,
    AfterFileEdit,
    AfterShell,
    BeforeShell,
    BeforeSubmitPrompt,
    Event,
    PostToolUse,
    PostToolUseFailure,
    PreToolUse,
    SessionStart,
    Stop,
    SubagentStart,
    SubagentStop,
    ToolEvent,
)

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


def steps(*kinds: str, action: str = "a", talk: tuple[str, str] = TALK) -> list[ActionStep]:
    """A kind with a letter behind it is about that action."""
    return [_step(seq, *kind.split(), action=action, talk=talk) for seq, kind in enumerate(kinds, 1)]


def _step(seq: int, kind: str, named: str = "", *, action: str, talk: tuple[str, str]) -> ActionStep:
    event = EVENTS.get(kind, "beforeShellExecution")
    if kind in {BEGUN, FAILED}:
        return ActionStep(seq, f"id-{seq}", talk, event)
    if kind in {ENDED, ABORTED}:
        return ActionStep(seq, f"id-{seq}", talk, event, ENDED, "completed" if kind == ENDED else "aborted")
    return ActionStep(
        seq, f"id-{seq}", talk, event, PERMITTED if kind == ASKED else kind, named or action, kind == ASKED
    )


def kinds_of(alarms: list[Alarm], kind: str) -> list[tuple[int, int]]:
    return [(alarm.seq, alarm.about_seq) for alarm in alarms if alarm.kind == kind]


@pytest.mark.parametrize(
    "kinds,alarms",
    [
        ([REFUSED, RAN], [(2, 1)]),
        ([REFUSED], []),
        ([RAN], []),
        ([RAN, REFUSED], []),
        ([PERMITTED, RAN], []),
        ([REFUSED, PERMITTED, RAN], []),
        ([PERMITTED, REFUSED, RAN], []),
        ([REFUSED, PERMITTED, RAN, RAN], [(4, 1)]),
        ([REFUSED, REFUSED, RAN], [(3, 2)]),
        ([REFUSED, UNKNOWN, RAN], []),
        ([REFUSED, UNKNOWN, RAN, RAN], [(4, 1)]),
        ([PERMITTED, BEGUN, REFUSED, RAN], [(4, 3)]),
        ([PERMITTED, BEGUN, REFUSED, PERMITTED, RAN], []),
        ([PERMITTED, BEGUN, PERMITTED, REFUSED, RAN, RAN], [(6, 4)]),
        ([PERMITTED, BEGUN, RAN, PERMITTED, REFUSED, RAN], []),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_a_deed_is_an_alarm_if_only_refusals_can_be_meant(kinds: list[str], alarms: list[tuple[int, int]]) -> None:
    assert kinds_of(find_alarms(steps(*kinds)), DONE_DESPITE_DENIAL) == alarms


@pytest.mark.parametrize(
    "kinds,alarms",
    [
        ([BEGUN, PERMITTED, RAN, RAN], [4]),
        ([BEGUN, PERMITTED, RAN, "ran b", "ran c"], [4]),
        ([BEGUN, "refused x", RAN], [3]),
        ([BEGUN, UNKNOWN, RAN, RAN], []),
        ([BEGUN, PERMITTED, "ran b"], []),
        ([BEGUN, PERMITTED, PERMITTED, RAN, "ran b", "ran c"], [6]),
        ([BEGUN, RAN], []),
        ([PERMITTED, RAN, RAN], []),
        ([BEGUN, PERMITTED, FAILED, "ran b"], [4]),
        ([BEGUN, PERMITTED, BEGUN, "ran b"], [4]),
        ([BEGUN, PERMITTED, "let b", FAILED, "ran b"], []),
        ([BEGUN, PERMITTED, BEGUN, RAN], []),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_a_deed_that_nobody_asked_about_is_an_alarm_where_an_agent_asks(kinds: list[str], alarms: list[int]) -> None:
    found = find_alarms(steps(*kinds))
    assert [seq for seq, _ in kinds_of(found, NOT_ASKED)] == alarms
    assert kinds_of(found, DONE_DESPITE_DENIAL) == []


def test_a_session_with_deeds_and_no_question_is_an_alarm_if_others_had_them() -> None:
    first = steps(BEGUN, PERMITTED, RAN)
    second = [step._replace(seq=step.seq + 9) for step in steps(BEGUN, RAN, RAN, talk=("somebody", "c2"))]
    assert kinds_of(find_alarms([*first, *second]), NOT_ASKED) == [(11, 0)]
    elsewhere = [step._replace(talk=("another", "c2")) for step in second]
    assert find_alarms([*first, *elsewhere]) == []


@pytest.mark.parametrize(
    "kinds,alarms",
    [
        ([PERMITTED, RAN, "let b", ENDED], [(4, 3)]),
        (["let b", PERMITTED, RAN, ENDED], [(4, 1)]),
        ([PERMITTED, RAN, ENDED], []),
        (["let b", ENDED], []),
        ([PERMITTED, RAN, "let b", ABORTED], []),
        ([PERMITTED, RAN, "let b", FAILED, ENDED], []),
        ([PERMITTED, RAN, "asked b", ENDED], []),
        ([PERMITTED, RAN, "refused b", ENDED], []),
        ([PERMITTED, RAN, UNKNOWN, ENDED], []),
        ([PERMITTED, RAN, "let b", BEGUN, ENDED], []),
        ([PERMITTED, RAN, "let b", "ran c", ENDED], []),
        ([PERMITTED, RAN, "let b", ENDED, ENDED], [(4, 3)]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_leave_that_nobody_used_is_an_alarm_in_a_turn_that_went_well(
    kinds: list[str], alarms: list[tuple[int, int]]
) -> None:
    assert kinds_of(find_alarms(steps(*kinds)), NEVER_DONE) == alarms


def test_input_that_a_hook_rewrote_is_done_under_another_name_and_accuses_nobody() -> None:
    before = {
        "id": "1",
        "agent": "h",
        "event": "preToolUse",
        "asked": "none",
        "edited": True,
        "detail": {"action": "a"},
    }
    after = {"id": "2", "agent": "h", "event": "postToolUse", "asked": "none", "detail": {"action": "b"}}
    begun = {"id": "0", "agent": "h", "event": "sessionStart", "asked": "none", "detail": {}}
    ended = {
        "id": "3",
        "agent": "h",
        "event": "stop",
        "asked": "none",
        "detail": {"measures": {"status": "completed"}},
    }
    assert find_alarms(collect_steps([begun, before, after, ended])) == []
    assert (
        len(find_alarms(collect_steps([begun, {**before, "edited": False, "event": "beforeShellExecution"}, after])))
        == 0
    )


def test_another_action_and_another_conversation_explain_nothing_and_accuse_nobody() -> None:
    refused, ran = steps(REFUSED, RAN)
    assert find_alarms([refused, ran._replace(action="b")]) == []
    assert find_alarms([refused, ran._replace(talk=("somebody", "c2"))]) == []
    other = refused._replace(kind=PERMITTED, talk=("another", "c1"))
    assert len(find_alarms([refused, other, ran])) == 1


@given(st.lists(st.sampled_from([REFUSED, PERMITTED, RAN, UNKNOWN]), max_size=30))
def test_there_are_never_more_alarms_than_deeds_without_leave(kinds: list[str]) -> None:
    found = len(kinds_of(find_alarms(steps(*kinds)), DONE_DESPITE_DENIAL))
    assert found <= kinds.count(RAN)
    assert REFUSED in kinds or not found


@given(
    st.lists(
        st.sampled_from([BEGUN, REFUSED, PERMITTED, ASKED, "let b", "ran b", RAN, UNKNOWN, FAILED, ENDED]), max_size=30
    )
)
def test_no_record_is_accused_twice_of_the_same(kinds: list[str]) -> None:
    found = find_alarms(steps(*kinds))
    assert len(set(found)) == len(found)
    assert len(kinds_of(found, NOT_ASKED)) <= 1  # of one family in one conversation
    assert not {about for _, about in kinds_of(found, NEVER_DONE)} & {
        about for _, about in kinds_of(found, DONE_DESPITE_DENIAL)
    }


def test_before_and_after_of_one_action_have_one_name() -> None:
    shared: dict[str, Any] = {"conversation_id": "c", "generation_id": "g"}
    before, after = BeforeShell(command="make", cwd="/w", **shared), AfterShell(command="make", **shared)
    assert get_action_id(before, KEY) == get_action_id(after, KEY) != ""
    assert get_action_id(before, KEY) != get_action_id(BeforeShell(command="make it", **shared), KEY)
    assert get_action_id(before, KEY) != get_action_id(before, b"another")
    assert get_action_id(Stop(**shared), KEY) == ""


def test_the_agents_own_id_counts_more_than_what_is_done() -> None:
    one = PreToolUse(tool_name="Shell", tool_input={"command": "a"}, tool_use_id="t1", conversation_id="c")
    assert get_action_id(one, KEY) == get_action_id(
        PostToolUse(tool_name="Shell", tool_input={"command": "rewritten"}, tool_use_id="t1", conversation_id="c"), KEY
    )
    assert get_action_id(one, KEY) != get_action_id(
        PreToolUse(tool_name="Shell", tool_input={"command": "a"}, tool_use_id="t2", conversation_id="c"), KEY
    )


def test_what_was_only_monitored_was_not_refused() -> None:
    def record(number: int, event: str, **fields: Any) -> dict[str, Any]:
        return {"id": str(number), "agent": "h", "event": event, "detail": {"action": "a"}, **fields}

    after = record(2, "afterShellExecution", asked="none")
    refused = record(1, "beforeShellExecution", asked="deny")
    assert len(find_alarms(collect_steps([refused, after]))) == 1
    assert find_alarms(collect_steps([{**refused, "withheld": ["deny"]}, after])) == []
    assert find_alarms(collect_steps([refused, {**after, "detail": {}}])) == []


SAME: dict[str, Any] = {"conversation_id": "c", "generation_id": "g"}
START, PROMPT, END = SessionStart(**SAME), BeforeSubmitPrompt(prompt="go", **SAME), Stop(status="completed", **SAME)


def tool(kind: type[ToolEvent], id_: str, **fields: Any) -> Event:
    return kind(tool_name="Shell", tool_input={"command": id_}, tool_use_id=id_, **SAME, **fields)


def before(id_: str) -> Event:
    return tool(PreToolUse, id_)


def after(id_: str) -> Event:
    return tool(PostToolUse, id_)


def writes(path: str) -> Event:
    return PreToolUse(tool_name="Write", tool_input={"file_path": path}, cwd="/w", **SAME)


def written(path: str) -> Event:
    return AfterFileEdit(file_path=path, **SAME)


def told(*events: Event, agent: str = "cursor", refused: tuple[int, ...] = (), **fields: Any) -> list[tuple[str, int]]:
    """The alarms of a conversation, each with the place of the event that it is about or that shows it."""
    records = [
        {
            "seq": at,
            "id": f"id-{at}",
            "agent": agent,
            "conversation": "c",
            "event": event.wire_name,
            "asked": "deny" if at in refused else "none",
            "detail": {
                "action": get_action_id(event, KEY),
                "also": get_related_ids(event, KEY),
                "measures": {"status": "done"},
            },
            **(fields if at in refused else {}),
        }
        for at, event in enumerate(events)
    ]
    return [(alarm.kind, alarm.about_seq or alarm.seq) for alarm in find_alarms(collect_steps(records))]


def test_an_edit_that_was_refused_and_is_told_of_is_an_alarm() -> None:
    assert told(START, writes("/w/a"), written("/w/a"), refused=(1,)) == [(DONE_DESPITE_DENIAL, 1)]
    assert told(START, writes("a"), written("/w/a"), written("/w/a"), refused=(1,)) == [(DONE_DESPITE_DENIAL, 1)]
    assert told(START, writes("/w/a"), written("/w/b"), refused=(1,)) == []
    assert told(START, writes("/w/a"), written("/w/a"), refused=(1,), withheld=["deny"]) == []
    assert told(START, writes("/w/a"), written("/w/a"), refused=(1,), sent="none") == []


@pytest.mark.parametrize("order", [(1,), (2,)])
def test_an_edit_of_a_file_that_was_refused_and_let_through_accuses_nobody(order: tuple[int, ...]) -> None:
    assert told(START, writes("/w/a"), writes("/w/a"), written("/w/a"), written("/w/a"), refused=order) == []


def test_a_subagent_that_was_refused_and_worked_is_an_alarm() -> None:
    started = SubagentStart(subagent_type="shell", subagent_id="s", **SAME)
    stopped = SubagentStop(subagent_type="shell", subagent_id="s", tool_call_count=3, **SAME)
    idle = SubagentStop(subagent_type="shell", subagent_id="s", **SAME)
    nameless = SubagentStop(subagent_type="shell", tool_call_count=3, **SAME)
    assert told(START, started, stopped, refused=(1,)) == [(DONE_DESPITE_DENIAL, 1)]
    assert told(START, started, idle, nameless, refused=(1,)) == []
    assert told(START, started, stopped) == []


def test_a_prompt_that_was_refused_and_answered_is_an_alarm() -> None:
    said = AfterAgentResponse(text="done", **SAME)
    assert told(START, PROMPT, before("t"), after("t"), said, refused=(1,)) == [(DONE_DESPITE_DENIAL, 1)]
    assert told(START, PROMPT, PROMPT, said, refused=(2,)) == [], "the first of this turn was let through"
    later = AfterAgentResponse(text="done", conversation_id="c", generation_id="g2")
    assert told(START, PROMPT, later, refused=(1,)) == []


def test_a_refusal_of_which_two_events_tell_is_one_alarm() -> None:
    done = PostToolUse(tool_name="Write", tool_input={"file_path": "/w/a"}, cwd="/w", **SAME)
    assert told(START, writes("/w/a"), written("/w/a"), done, refused=(1,)) == [(DONE_DESPITE_DENIAL, 1)]


def test_neither_a_failure_nor_a_persons_no_hides_what_nobody_asked_about() -> None:
    failed = tool(PostToolUseFailure, "t1")
    first = (START, PROMPT, before("t0"), after("t0"), before("t1"))
    assert told(*first, failed, after("t2"), END) == [(NOT_ASKED, 6)]
    assert told(*first, PROMPT, after("t2"), END) == [(NOT_ASKED, 6)]
    assert told(*first, after("t2")) == [(NOT_ASKED, 5)], "who has names for calls has no other name for one"
    assert told(*first, failed, before("t3"), after("t3"), END) == []


def test_a_prompt_that_comes_while_something_runs_takes_no_leave_away() -> None:
    assert told(START, PROMPT, before("t1"), PROMPT, after("t1"), END) == []


@pytest.mark.parametrize("agent,alarms", [("codex", []), ("factory-droid", []), ("claude-code", [(NEVER_DONE, 3)])])
def test_an_agent_that_does_not_tell_of_everything_is_not_suspected(agent: str, alarms: list[tuple[str, int]]) -> None:
    assert told(START, before("t0"), after("t0"), before("t1"), END, agent=agent) == alarms
    assert told(START, before("t0"), after("t0"), after("t1"), END, agent=agent) == [(NOT_ASKED, 3)]


def test_windsurf_asks_before_it_writes_and_tells_after_it_reads() -> None:
    read = PostToolUse(tool_name="Read", tool_input={"file_path": "/w/a"}, **SAME)
    assert told(START, writes("/w/a"), written("/w/a"), read, read, read, END, agent="windsurf") == []
