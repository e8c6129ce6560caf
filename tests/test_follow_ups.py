"""Follow-up counts: a repeated call counts once and gets the same reply."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trotline.agents import get_agent
from trotline.config.paths import Roots
from trotline.conversation.functions import EventHandler
from trotline.conversation.sessions import MAX_CLAIMS, Sessions, SessionState
from trotline.domain.editions import LOOP_LIMIT
from trotline.domain.events import Stop
from trotline.domain.outcomes import Call
from trotline.domain.verdicts import Verdict
from trotline.engine.dispatch import Dispatcher
from trotline.hook.answer import AnswerContext, answer

STOP = b'{"hook_event_name": "stop", "conversation_id": "c", "status": "completed"}'


def get_follow_up(directory: Path, call: str, *, by: str = "judge", **fields: Any) -> str:
    """Return the follow-up of a stop on the hook side."""
    handler = EventHandler(name=by, event="stop", call=lambda _: Verdict(follow_up=f"{by} says on"))
    context = AnswerContext(get_agent("cursor"), [handler], Sessions(directory))
    return answer(Call(id=call, payload=STOP, **fields), context)[1].decision.verdict.follow_up


def read_counts(directory: Path) -> dict[str, int]:
    return Sessions(directory).read("c").session.follow_ups


def test_repeated_call_counts_once_and_gets_the_same_reply(tmp_path: Path) -> None:
    assert [get_follow_up(tmp_path, "one") for _ in range(3)] == ["judge says on"] * 3
    assert read_counts(tmp_path) == {"judge": 1}


def test_repeated_call_keeps_the_last_follow_up(tmp_path: Path) -> None:
    for number in range(LOOP_LIMIT):
        get_follow_up(tmp_path, str(number))
    assert get_follow_up(tmp_path, str(LOOP_LIMIT - 1)) == "judge says on"
    assert get_follow_up(tmp_path, "another") == ""
    assert get_follow_up(tmp_path, "another") == ""
    assert read_counts(tmp_path) == {"judge": LOOP_LIMIT}


def test_repeated_call_counts_for_its_last_handler(tmp_path: Path) -> None:
    get_follow_up(tmp_path, "one")
    assert get_follow_up(tmp_path, "one", by="other") == "other says on"
    assert read_counts(tmp_path) == {"other": 1}


def test_calls_without_an_id_are_different(tmp_path: Path) -> None:
    for _ in range(2):
        get_follow_up(tmp_path, "")
    assert read_counts(tmp_path) == {"judge": 2}


def test_engine_counts_a_repeated_call_once(tmp_path: Path) -> None:
    engine = Dispatcher(Roots(home=tmp_path, system=tmp_path, projects=(tmp_path,)), {}, clock=lambda: 5)
    engine.functions.append(EventHandler(name="judge", event="stop", call=lambda _: Verdict(follow_up="on")))
    event = Stop(conversation_id="c", status="completed")
    outcomes = [engine.dispatch(event, Call(id="one")) for _ in range(2)]
    assert [outcome.follow_up for outcome in outcomes] == ["on", "on"]
    assert [outcome.event.loop_count for outcome in outcomes if isinstance(outcome.event, Stop)] == [0, 0]
    assert engine.sessions.read("c").session.follow_ups == {"judge": 1}


def test_number_of_remembered_calls_is_limited() -> None:
    session = SessionState()
    for number in range(3 * MAX_CLAIMS):
        session.count_follow_up("judge", str(number))
    assert list(session.claims) == [str(number) for number in range(2 * MAX_CLAIMS, 3 * MAX_CLAIMS)]
    assert session.follow_ups == {"judge": 3 * MAX_CLAIMS}


@pytest.mark.parametrize("claims", [{"one": "gone"}, {"one": "judge"}])
def test_counts_of_an_edited_session_do_not_become_negative(claims: dict[str, str]) -> None:
    session = SessionState(claims=claims)
    session.undo_claim("one")
    assert (session.follow_ups, session.claims) == ({}, {})


@settings(deadline=None)  # file access may be slow
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 3)), max_size=14))
def test_repetitions_of_calls_do_not_change_the_counts(stops: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as once, tempfile.TemporaryDirectory() as again:
        for number, (handler, times) in enumerate(stops):
            follow_up = get_follow_up(Path(once), str(number), by=handler)
            assert {get_follow_up(Path(again), str(number), by=handler) for _ in range(times)} == {follow_up}
        assert read_counts(Path(again)) == read_counts(Path(once))
