"""How often an agent is kept going is counted by call: one that is made again counts once and is answered as before."""

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


def going_on(directory: Path, call: str, *, by: str = "judge", **fields: Any) -> str:
    """The follow-up of a stop, in our own seat."""
    judge = EventHandler(name=by, event="stop", call=lambda _: Verdict(follow_up=f"{by} says on"))
    seat = AnswerContext(get_agent("cursor"), [judge], Sessions(directory))
    return answer(Call(id=call, payload=STOP, **fields), seat)[1].decision.verdict.follow_up


def counts(directory: Path) -> dict[str, int]:
    return Sessions(directory).read("c").session.follow_ups


def test_the_same_call_counts_once_and_is_answered_as_before(tmp_path: Path) -> None:
    assert [going_on(tmp_path, "one") for _ in range(3)] == ["judge says on"] * 3
    assert counts(tmp_path) == {"judge": 1}


def test_the_call_that_took_the_last_follow_up_has_it_when_it_is_made_again(tmp_path: Path) -> None:
    for number in range(LOOP_LIMIT):
        going_on(tmp_path, str(number))
    assert going_on(tmp_path, str(LOOP_LIMIT - 1)) == "judge says on"
    assert going_on(tmp_path, "another") == ""
    assert going_on(tmp_path, "another") == ""
    assert counts(tmp_path) == {"judge": LOOP_LIMIT}


def test_a_call_that_is_made_again_and_answered_by_another_counts_for_that_one(tmp_path: Path) -> None:
    going_on(tmp_path, "one")
    assert going_on(tmp_path, "one", by="other") == "other says on"
    assert counts(tmp_path) == {"other": 1}


def test_calls_without_an_id_are_all_different(tmp_path: Path) -> None:
    for _ in range(2):
        going_on(tmp_path, "")
    assert counts(tmp_path) == {"judge": 2}


def test_the_engine_counts_a_call_once_as_well(tmp_path: Path) -> None:
    engine = Dispatcher(Roots(home=tmp_path, system=tmp_path, projects=(tmp_path,)), {}, clock=lambda: 5)
    engine.functions.append(EventHandler(name="judge", event="stop", call=lambda _: Verdict(follow_up="on")))
    event = Stop(conversation_id="c", status="completed")
    outcomes = [engine.dispatch(event, Call(id="one")) for _ in range(2)]
    assert [outcome.follow_up for outcome in outcomes] == ["on", "on"]
    assert [outcome.event.loop_count for outcome in outcomes if isinstance(outcome.event, Stop)] == [0, 0]
    assert engine.sessions.read("c").session.follow_ups == {"judge": 1}


def test_what_is_remembered_of_calls_is_bounded() -> None:
    session = SessionState()
    for number in range(3 * MAX_CLAIMS):
        session.count("judge", str(number))
    assert list(session.claims) == [str(number) for number in range(2 * MAX_CLAIMS, 3 * MAX_CLAIMS)]
    assert session.follow_ups == {"judge": 3 * MAX_CLAIMS}


@pytest.mark.parametrize("claims", [{"one": "gone"}, {"one": "judge"}])
def test_a_session_that_somebody_edited_counts_nothing_below_zero(claims: dict[str, str]) -> None:
    session = SessionState(claims=claims)
    session.take_back("one")
    assert (session.follow_ups, session.claims) == ({}, {})


@settings(deadline=None)  # files, on a machine that may be busy
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 3)), max_size=14))
def test_however_often_calls_are_made_again_the_counts_are_those_of_the_calls(stops: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as once, tempfile.TemporaryDirectory() as again:
        for number, (judge, times) in enumerate(stops):
            said = going_on(Path(once), str(number), by=judge)
            assert {going_on(Path(again), str(number), by=judge) for _ in range(times)} == {said}
        assert counts(Path(again)) == counts(Path(once))
