"""Actions reported by two events: which executions raise an alarm."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_rows
from trotline.audit.query.alarms import DONE_DESPITE_DENIAL, DONE_WITHOUT_CALL, NEVER_DONE, Alarm, find_alarms
from trotline.audit.record.actions import (
    DENIED,
    ENDED,
    PERMITTED,
    RAN,
    UNKNOWN,
    ActionStep,
    collect_steps,
    get_action_id,
    get_related_ids,
)
from trotline.audit.record.record_reader import convert_record
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
CONVERSATION = ("somebody", "c1")


STARTED, FAILED, ABORTED, ASKING, OTHER = "begun", "failed", "aborted", "asked", "other"
EVENTS = {
    STARTED: "sessionStart",
    FAILED: "postToolUseFailure",
    ENDED: "stop",
    ABORTED: "stop",
    RAN: "afterShellExecution",
}
"""Events that are not before an action."""


def build_steps(*kinds: str, action: str = "a", conversation: tuple[str, str] = CONVERSATION) -> list[ActionStep]:
    """Build one step for each kind; a letter after a kind names its action."""
    return [
        build_step(seq, *kind.split(), action=action, conversation=conversation) for seq, kind in enumerate(kinds, 1)
    ]


def build_step(seq: int, kind: str, named: str = "", *, action: str, conversation: tuple[str, str]) -> ActionStep:
    event = EVENTS.get(kind, "beforeShellExecution")
    if kind in {STARTED, FAILED}:
        return ActionStep(seq, f"id-{seq}", conversation, event)
    if kind in {ENDED, ABORTED}:
        return ActionStep(seq, f"id-{seq}", conversation, event, ENDED, "completed" if kind == ENDED else "aborted")
    return ActionStep(
        seq, f"id-{seq}", conversation, event, PERMITTED if kind == ASKING else kind, named or action, kind == ASKING
    )


def select_alarms(alarms: list[Alarm], kind: str) -> list[tuple[int, int]]:
    return [(alarm.seq, alarm.decision_seq) for alarm in alarms if alarm.kind == kind]


@pytest.mark.parametrize(
    "kinds,alarms",
    read_rows("actions", "execution_raises_an_alarm_if_only_denials_match_it", as_tuples=True),
    ids=lambda value: " ".join(map(str, value)),
)
def test_execution_raises_an_alarm_if_only_denials_match_it(kinds: list[str], alarms: list[tuple[int, int]]) -> None:
    assert select_alarms(find_alarms(build_steps(*kinds)), DONE_DESPITE_DENIAL) == [*alarms]


@pytest.mark.parametrize(
    "kinds,alarms",
    read_rows("actions", "execution_without_a_question_raises_an_alarm_if_the_agent_asks"),
    ids=lambda value: " ".join(map(str, value)),
)
def test_execution_without_a_question_raises_an_alarm_if_the_agent_asks(kinds: list[str], alarms: list[int]) -> None:
    found = find_alarms(build_steps(*kinds))
    assert [seq for seq, _ in select_alarms(found, DONE_WITHOUT_CALL)] == alarms
    assert select_alarms(found, DONE_DESPITE_DENIAL) == []


def test_session_without_questions_raises_an_alarm_if_other_sessions_had_them() -> None:
    first = build_steps(STARTED, PERMITTED, RAN)
    second = [
        step._replace(seq=step.seq + 9) for step in build_steps(STARTED, RAN, RAN, conversation=("somebody", "c2"))
    ]
    assert select_alarms(find_alarms([*first, *second]), DONE_WITHOUT_CALL) == [(11, 0)]
    elsewhere = [step._replace(conversation=("another", "c2")) for step in second]
    assert find_alarms([*first, *elsewhere]) == []


@pytest.mark.parametrize(
    "kinds,alarms",
    read_rows("actions", "unused_permission_raises_an_alarm_in_a_completed_turn", as_tuples=True),
    ids=lambda value: " ".join(map(str, value)),
)
def test_unused_permission_raises_an_alarm_in_a_completed_turn(kinds: list[str], alarms: list[tuple[int, int]]) -> None:
    assert select_alarms(find_alarms(build_steps(*kinds)), NEVER_DONE) == [*alarms]


def test_execution_of_rewritten_input_raises_no_alarm() -> None:
    shared: dict[str, Any] = {"agent": "h", "decided": "none"}
    before = {**shared, "id": "1", "event": "preToolUse", "edited": True, "detail": {"action": "a"}}
    after = {**shared, "id": "2", "event": "postToolUse", "detail": {"action": "b"}}
    started = {**shared, "id": "0", "event": "sessionStart", "detail": {}}
    ended = {**shared, "id": "3", "event": "stop", "detail": {"measures": {"status": "completed"}}}
    assert find_alarms(collect_steps(map(convert_record, (started, before, after, ended)))) == []
    unchanged = {**before, "edited": False, "event": "beforeShellExecution"}
    assert find_alarms(collect_steps(map(convert_record, (started, unchanged, after)))) == []


def test_other_actions_and_conversations_do_not_explain_an_execution() -> None:
    refused, ran = build_steps(DENIED, RAN)
    assert find_alarms([refused, ran._replace(action="b")]) == []
    assert find_alarms([refused, ran._replace(conversation=("somebody", "c2"))]) == []
    other = refused._replace(kind=PERMITTED, conversation=("another", "c1"))
    assert len(find_alarms([refused, other, ran])) == 1


@given(st.lists(st.sampled_from([DENIED, PERMITTED, RAN, UNKNOWN]), max_size=30))
def test_there_are_never_more_alarms_than_executions(kinds: list[str]) -> None:
    found = len(select_alarms(find_alarms(build_steps(*kinds)), DONE_DESPITE_DENIAL))
    assert found <= kinds.count(RAN)
    assert DENIED in kinds or not found


@given(
    st.lists(
        st.sampled_from([STARTED, DENIED, PERMITTED, ASKING, "permitted b", "ran b", RAN, UNKNOWN, FAILED, ENDED]),
        max_size=30,
    )
)
def test_no_record_gets_the_same_alarm_twice(kinds: list[str]) -> None:
    found = find_alarms(build_steps(*kinds))
    assert len(set(found)) == len(found)
    assert len(select_alarms(found, DONE_WITHOUT_CALL)) <= 1  # of one family in one conversation
    assert not {about for _, about in select_alarms(found, NEVER_DONE)} & {
        about for _, about in select_alarms(found, DONE_DESPITE_DENIAL)
    }


def test_before_and_after_events_of_an_action_share_an_id() -> None:
    shared: dict[str, Any] = {"conversation_id": "c", "generation_id": "g"}
    before, after = BeforeShell(command="make", cwd="/w", **shared), AfterShell(command="make", **shared)
    assert get_action_id(before, KEY) == get_action_id(after, KEY) != ""
    assert get_action_id(before, KEY) != get_action_id(BeforeShell(command="make it", **shared), KEY)
    assert get_action_id(before, KEY) != get_action_id(before, b"another")
    assert get_action_id(Stop(**shared), KEY) == ""


def test_tool_use_id_takes_precedence_over_the_tool_input() -> None:
    shared: dict[str, Any] = {"tool_name": "Shell", "conversation_id": "c"}
    first = PreToolUse(tool_input={"command": "a"}, tool_use_id="t1", **shared)
    rewritten = PostToolUse(tool_input={"command": "rewritten"}, tool_use_id="t1", **shared)
    second = PreToolUse(tool_input={"command": "a"}, tool_use_id="t2", **shared)
    assert get_action_id(first, KEY) == get_action_id(rewritten, KEY)
    assert get_action_id(first, KEY) != get_action_id(second, KEY)


def test_withheld_denial_raises_no_alarm() -> None:
    def record(number: int, event: str, **fields: Any) -> dict[str, Any]:
        return {"id": str(number), "agent": "h", "event": event, "detail": {"action": "a"}, **fields}

    after = record(2, "afterShellExecution", decided="none")
    refused = record(1, "beforeShellExecution", decided="deny")
    assert len(find_alarms(collect_steps(map(convert_record, (refused, after))))) == 1
    assert find_alarms(collect_steps(map(convert_record, ({**refused, "withheld": ["deny"]}, after)))) == []
    assert find_alarms(collect_steps(map(convert_record, (refused, {**after, "detail": {}})))) == []


SHARED: dict[str, Any] = {"conversation_id": "c", "generation_id": "g"}
START, PROMPT, END = (
    SessionStart(**SHARED),
    BeforeSubmitPrompt(prompt="go", **SHARED),
    Stop(status="completed", **SHARED),
)


def build_tool_event(kind: type[ToolEvent], id_: str, **fields: Any) -> Event:
    return kind(tool_name="Shell", tool_input={"command": id_}, tool_use_id=id_, **SHARED, **fields)


def before(id_: str) -> Event:
    return build_tool_event(PreToolUse, id_)


def after(id_: str) -> Event:
    return build_tool_event(PostToolUse, id_)


def build_write(path: str) -> Event:
    return PreToolUse(tool_name="Write", tool_input={"file_path": path}, cwd="/w", **SHARED)


def build_edit(path: str) -> Event:
    return AfterFileEdit(file_path=path, **SHARED)


def find_alarm_positions(
    *events: Event, agent: str = "cursor", refused: tuple[int, ...] = (), **fields: Any
) -> list[tuple[str, int]]:
    """Return the alarms of a conversation, each with the position of the event that it is about or that shows it."""
    records = [
        {
            "seq": at,
            "id": f"id-{at}",
            "agent": agent,
            "conversation": "c",
            "event": event.wire_name,
            "decided": "deny" if at in refused else "none",
            "detail": {
                "action": get_action_id(event, KEY),
                "related": get_related_ids(event, KEY),
                "measures": {"status": "done"},
            },
            **(fields if at in refused else {}),
        }
        for at, event in enumerate(events)
    ]
    alarms = find_alarms(collect_steps(map(convert_record, records)))
    return [(alarm.kind, alarm.decision_seq or alarm.seq) for alarm in alarms]


def test_denied_edit_that_was_done_raises_an_alarm() -> None:
    assert find_alarm_positions(START, build_write("/w/a"), build_edit("/w/a"), refused=(1,)) == [
        (DONE_DESPITE_DENIAL, 1)
    ]
    assert find_alarm_positions(START, build_write("a"), build_edit("/w/a"), build_edit("/w/a"), refused=(1,)) == [
        (DONE_DESPITE_DENIAL, 1)
    ]
    assert find_alarm_positions(START, build_write("/w/a"), build_edit("/w/b"), refused=(1,)) == []
    assert find_alarm_positions(START, build_write("/w/a"), build_edit("/w/a"), refused=(1,), withheld=["deny"]) == []
    assert find_alarm_positions(START, build_write("/w/a"), build_edit("/w/a"), refused=(1,), sent="none") == []


@pytest.mark.parametrize("order", [(1,), (2,)])
def test_edit_that_was_denied_once_and_permitted_once_raises_no_alarm(order: tuple[int, ...]) -> None:
    assert (
        find_alarm_positions(
            START, build_write("/w/a"), build_write("/w/a"), build_edit("/w/a"), build_edit("/w/a"), refused=order
        )
        == []
    )


def test_denied_subagent_that_worked_raises_an_alarm() -> None:
    started = SubagentStart(subagent_type="shell", subagent_id="s", **SHARED)
    stopped = SubagentStop(subagent_type="shell", subagent_id="s", tool_call_count=3, **SHARED)
    idle = SubagentStop(subagent_type="shell", subagent_id="s", **SHARED)
    nameless = SubagentStop(subagent_type="shell", tool_call_count=3, **SHARED)
    assert find_alarm_positions(START, started, stopped, refused=(1,)) == [(DONE_DESPITE_DENIAL, 1)]
    assert find_alarm_positions(START, started, idle, nameless, refused=(1,)) == []
    assert find_alarm_positions(START, started, stopped) == []


def test_denied_prompt_that_was_answered_raises_an_alarm() -> None:
    response = AfterAgentResponse(text="done", **SHARED)
    assert find_alarm_positions(START, PROMPT, before("t"), after("t"), response, refused=(1,)) == [
        (DONE_DESPITE_DENIAL, 1)
    ]
    assert find_alarm_positions(START, PROMPT, PROMPT, response, refused=(2,)) == [], (
        "the first prompt of this turn was permitted"
    )
    later = AfterAgentResponse(text="done", conversation_id="c", generation_id="g2")
    assert find_alarm_positions(START, PROMPT, later, refused=(1,)) == []


def test_paired_events_of_an_execution_raise_one_alarm() -> None:
    done = PostToolUse(tool_name="Write", tool_input={"file_path": "/w/a"}, cwd="/w", **SHARED)
    assert find_alarm_positions(START, build_write("/w/a"), build_edit("/w/a"), done, refused=(1,)) == [
        (DONE_DESPITE_DENIAL, 1)
    ]


def test_failures_and_rejections_do_not_hide_an_execution_without_a_question() -> None:
    failed = build_tool_event(PostToolUseFailure, "t1")
    first = (START, PROMPT, before("t0"), after("t0"), before("t1"))
    assert find_alarm_positions(*first, failed, after("t2"), END) == [(DONE_WITHOUT_CALL, 6)]
    assert find_alarm_positions(*first, PROMPT, after("t2"), END) == [(DONE_WITHOUT_CALL, 6)]
    assert find_alarm_positions(*first, after("t2")) == [(DONE_WITHOUT_CALL, 5)], (
        "an agent that sends tool use IDs uses no other ID"
    )
    assert find_alarm_positions(*first, failed, before("t3"), after("t3"), END) == []


def test_prompt_during_an_execution_keeps_its_permission() -> None:
    assert find_alarm_positions(START, PROMPT, before("t1"), PROMPT, after("t1"), END) == []


@pytest.mark.parametrize("agent,alarms", [("codex", []), ("factory-droid", []), ("claude-code", [(NEVER_DONE, 3)])])
def test_agent_that_does_not_report_everything_raises_no_alarm(agent: str, alarms: list[tuple[str, int]]) -> None:
    assert find_alarm_positions(START, before("t0"), after("t0"), before("t1"), END, agent=agent) == alarms
    assert find_alarm_positions(START, before("t0"), after("t0"), after("t1"), END, agent=agent) == [
        (DONE_WITHOUT_CALL, 3)
    ]


def test_windsurf_reports_writes_before_and_reads_after() -> None:
    read = PostToolUse(tool_name="Read", tool_input={"file_path": "/w/a"}, **SHARED)
    assert (
        find_alarm_positions(START, build_write("/w/a"), build_edit("/w/a"), read, read, read, END, agent="windsurf")
        == []
    )
