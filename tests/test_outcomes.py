"""Outcomes: the effect of a failure for every event, kind and edition, and how responses become a decision."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import read_rows
from strategies import ranked_verdicts, verdicts
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.domain.effects import Certainty, Effect
from trotline.domain.errors import TrotlineError, TryAgain, UnreadablePayload, UsageError
from trotline.domain.events import EVENTS, Stop
from trotline.domain.hooks import Hook, Layer, LayerKind, Place
from trotline.domain.outcomes import (
    BAD_OUTPUT,
    Call,
    Failure,
    FailureKind,
    Loss,
    NotRun,
    Outcome,
    Response,
    Run,
    decide,
    get_effective_verdict,
    refuses_on_failure,
)
from trotline.domain.verdicts import NO_OPINION, Decision, MergeRule, Permission, RankedVerdict, Verdict, merge

LAYER = Layer(kind=LayerKind.PROJECT, file="/p/.cursor/hooks.json", root="/p", cwd="/p")
OPEN = Hook(id="1", event="stop", layer=LAYER, place=Place("f"), command="guard.sh")
CLOSED = Hook(id="2", event="stop", layer=LAYER, place=Place("f"), command="guard.sh", fail_closed=True)


def failed(kind: FailureKind, *, closed: bool = False) -> Run:
    failure = Failure(kind=kind, detail="The guard fell over.")
    return Run(author="guard", rank=3, hook=CLOSED if closed else OPEN, fail_closed=closed, failure=failure)


# -- the effect of a failure, written independently of the code

GATES = set(read_rows("outcomes", "gates"))
CAN_BE_REFUSED = {
    "2025-11": {"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead"}
    | {"beforeSubmitPrompt"},
    "2026-02": GATES | {"beforeSubmitPrompt", "sessionStart"},
    "2026-09": GATES | {"beforeSubmitPrompt", "sessionStart"},
}
ALWAYS_CLOSED = {"2025-11": set[str](), "2026-02": {"beforeMCPExecution", "beforeReadFile"}, "2026-09": set[str]()}
BLOCKS_ON_BAD_OUTPUT = {"2025-11": set[str](), "2026-02": {"beforeMCPExecution", "beforeReadFile"}, "2026-09": GATES}
UNREADABLE = {"unreadable output", "output of the wrong shape", "too much output"}
WITH_FAIL_CLOSED = "2026-09"
"""The first edition whose entries can say failClosed."""


ALL = list(product(EVENTS, EDITION_NAMES))


@pytest.mark.parametrize("name, date", ALL)
def test_an_open_failure_refuses_where_the_edition_is_closed_and_nowhere_else(name: str, date: str) -> None:
    contract, contracted = EVENTS[name].contract, get_edition(date)
    for kind in FailureKind:
        wanted = name in (BLOCKS_ON_BAD_OUTPUT if kind.value in UNREADABLE else ALWAYS_CLOSED)[date]
        failure = Failure(kind=kind)
        assert refuses_on_failure(contract, fail_closed=False, failure=failure, edition=contracted) is wanted


@pytest.mark.parametrize("name", EVENTS)
def test_a_closed_failure_denies_every_refusable_event(name: str) -> None:
    contract, contracted = EVENTS[name].contract, get_edition(WITH_FAIL_CLOSED)
    wanted = name in CAN_BE_REFUSED[WITH_FAIL_CLOSED]
    for kind in FailureKind:
        failure = Failure(kind=kind)
        assert refuses_on_failure(contract, fail_closed=True, failure=failure, edition=contracted) is wanted


@pytest.mark.parametrize("name, date", [(name, date) for name, date in ALL if name not in CAN_BE_REFUSED[date]])
def test_no_failure_denies_an_event_that_cannot_be_refused(name: str, date: str) -> None:
    for kind, closed in product(FailureKind, (True, False)):
        assert (
            get_effective_verdict(failed(kind, closed=closed), EVENTS[name].contract, get_edition(date)) is NO_OPINION
        )


def test_only_output_that_is_no_answer_is_bad_output() -> None:
    assert {kind.value for kind in BAD_OUTPUT} == UNREADABLE


@settings(max_examples=30)
@given(verdicts, st.sampled_from(sorted(EVENTS)), st.sampled_from(EDITION_NAMES))
def test_a_response_without_failure_is_unchanged(verdict: Verdict, name: str, date: str) -> None:
    assert (
        get_effective_verdict(Response(author="a", verdict=verdict), EVENTS[name].contract, get_edition(date))
        is verdict
    )


def test_a_fail_closed_denial_is_explained_in_both_messages() -> None:
    reason = "Tool blocked because this hook is configured to fail closed (block when it fails). The guard fell over."
    verdict = get_effective_verdict(
        failed(FailureKind.TIMED_OUT, closed=True), EVENTS["preToolUse"].contract, get_edition()
    )
    assert verdict == Verdict(permission=Permission.DENY, user_message=reason, agent_message=reason)


@pytest.mark.parametrize(
    "name, date, kind",
    [
        ("preToolUse", "2026-09", FailureKind.UNREADABLE_OUTPUT),
        ("beforeReadFile", "2026-09", FailureKind.MISFIT),
        ("beforeMCPExecution", "2026-02", FailureKind.CRASHED),
    ],
)
def test_a_failure_closed_by_the_edition_is_explained_in_both_messages(name: str, date: str, kind: FailureKind) -> None:
    reason = "The guard fell over. The command was blocked for safety."
    verdict = get_effective_verdict(failed(kind), EVENTS[name].contract, get_edition(date))
    assert verdict == Verdict(permission=Permission.DENY, user_message=reason, agent_message=reason)


def test_an_open_failure_is_silence() -> None:
    assert (
        get_effective_verdict(failed(FailureKind.CRASHED), EVENTS["preToolUse"].contract, get_edition()) is NO_OPINION
    )


def test_a_response_without_a_process_fails_open_unless_it_is_closed() -> None:
    contract, failure = EVENTS["preToolUse"].contract, Failure(kind=FailureKind.CRASHED, detail="x")
    assert get_effective_verdict(Response(author="rule", failure=failure), contract, get_edition()) is NO_OPINION
    closed = Response(author="rule", failure=failure, fail_closed=True)
    assert get_effective_verdict(closed, contract, get_edition()).permission is Permission.DENY


@settings(max_examples=40)
@given(ranked_verdicts, st.sampled_from(sorted(EVENTS)), st.sampled_from(EDITION_NAMES))
def test_a_decision_is_the_responses_merged_by_the_editions_rule(
    verdicts: list[RankedVerdict], name: str, date: str
) -> None:
    responses = [Response(author=one.author, rank=one.rank, verdict=one.verdict) for one in verdicts]
    rule = MergeRule.STRICTEST if date == "2026-09" else MergeRule.HIGHEST_LAYER
    refusable = name in CAN_BE_REFUSED[date]
    assert decide(EVENTS[name].contract, responses, get_edition(date)) == merge(
        verdicts, rule=rule, refusable=refusable
    )


def test_no_responses_decide_nothing() -> None:
    assert decide(EVENTS["preToolUse"].contract, [], get_edition()) == Decision()


def test_a_failure_that_refuses_is_a_response_among_the_others() -> None:
    allows = Response(author="friend", rank=1, verdict=Verdict(permission=Permission.ALLOW))
    decision = decide(EVENTS["preToolUse"].contract, [allows, failed(FailureKind.CRASHED, closed=True)], get_edition())
    assert (decision.permission, decision.deciders) == (Permission.DENY, ("guard",))


def test_an_open_failure_does_not_change_the_decision() -> None:
    denies = Response(author="friend", rank=1, verdict=Verdict(permission=Permission.DENY, user_message="no"))
    decision = decide(EVENTS["preToolUse"].contract, [denies, failed(FailureKind.CRASHED)], get_edition())
    assert (decision.permission, decision.verdict.user_message) == (Permission.DENY, "no")


def test_a_permission_has_a_word() -> None:
    assert [permission.word for permission in Permission] == ["none", "allow", "ask", "deny"]
    assert list(Permission) == sorted(Permission)


def test_omitted_fields_of_a_response_are_empty() -> None:
    response = Response(author="a")
    assert (response.layer, response.rank, response.verdict, response.failure) == ("", 0, NO_OPINION, None)
    assert (response.micros, response.warnings, response.fail_closed) == (0, (), False)
    run = Run(author="a", hook=OPEN)
    assert (run.id, run.exit_code, run.stdout, run.stderr) == ("", None, b"", b"")
    assert Failure(kind=FailureKind.KILLED) == Failure(kind=FailureKind.KILLED, detail="", code=None)


def test_omitted_fields_of_a_call_are_empty() -> None:
    call = Call(id="c")
    assert (call.argv, call.cwd, call.cwd_identity, call.environ) == ((), "", (0, 0), {})
    assert (call.payload, call.received_us) == (b"", 0)


def test_an_outcome_holds_all_that_happened() -> None:
    outcome = Outcome(
        call=Call(id="c"),
        event=Stop(),
        decision=Decision(),
        not_run=(NotRun(OPEN, "not trusted"),),
        losses=(Loss("cursor", "ask", "why"),),
    )
    assert (outcome.responses, outcome.effects, outcome.sent) == ((), (), {})
    assert (outcome.not_run[0].why, outcome.losses[0].what) == ("not trusted", "ask")


def outcome_of(verdict: Verdict, *responses: Response) -> Outcome:
    return Outcome(call=Call(id="c"), event=Stop(), decision=Decision(verdict=verdict), responses=responses)


@pytest.mark.parametrize(
    "response, words",
    [
        (Response(author="a"), "no opinion"),
        (Response(author="a", verdict=Verdict(permission=Permission.ALLOW)), "allow"),
        (Response(author="a", verdict=Verdict(permission=Permission.DENY, user_message="u")), "deny, u"),
        (Response(author="a", verdict=Verdict(permission=Permission.ASK, agent_message="m")), "ask, m"),
        (Response(author="a", verdict=Verdict(user_message="u", agent_message="m")), "no opinion, u"),
        (Response(author="a", failure=Failure(kind=FailureKind.TIMED_OUT)), "failed, timed out"),
    ],
)
def test_a_response_describes_itself(response: Response, words: str) -> None:
    assert response.summary == words


def test_a_response_is_known_by_its_author_and_a_run_by_its_command() -> None:
    assert Response(author="rule").name == "rule"
    assert Run(author="1", hook=OPEN).name == "guard.sh"


@pytest.mark.parametrize(
    "permission, denied, asks",
    [
        (Permission.NONE, False, False),
        (Permission.ALLOW, False, False),
        (Permission.ASK, False, True),
        (Permission.DENY, True, False),
    ],
)
def test_an_outcome_is_denied_or_asks_by_its_decision(permission: Permission, denied: bool, asks: bool) -> None:
    outcome = outcome_of(Verdict(permission=permission))
    assert (outcome.is_denied, outcome.is_asked) == (denied, asks)


def test_an_outcome_has_the_messages_and_values_of_its_decision() -> None:
    verdict = Verdict(
        user_message="u",
        agent_message="a",
        edited_input={"a": 1},
        replaced_output={"b": 2},
        context="c",
        follow_up="f",
        env={"E": "1"},
    )
    outcome = outcome_of(verdict)
    assert (outcome.user_message, outcome.agent_message) == ("u", "a")
    assert (outcome.edited_input, outcome.replaced_output) == ({"a": 1}, {"b": 2})
    assert (outcome.context, outcome.follow_up, outcome.env) == ("c", "f", {"E": "1"})


def test_a_denial_without_an_agent_message_uses_the_user_message() -> None:
    assert outcome_of(Verdict(permission=Permission.DENY, user_message="u")).agent_message == "u"


def test_an_outcome_explains_itself_line_by_line() -> None:
    outcome = Outcome(
        call=Call(id="c"),
        event=Stop(),
        decision=Decision(verdict=Verdict(permission=Permission.DENY)),
        responses=(
            Run(author="1", layer="project", hook=OPEN, failure=Failure(kind=FailureKind.CRASHED)),
            Response(author="no_push", verdict=Verdict(permission=Permission.DENY, user_message="ask first")),
        ),
        not_run=(NotRun(CLOSED, "not trusted"),),
        losses=(Loss("cursor", "ask", "stop cannot ask"),),
        alarms=("a hook changed while it ran",),
    )
    assert outcome.explain().splitlines() == [
        "stop: deny",
        "  project guard.sh: failed, crashed",
        "  function no_push: deny, ask first",
        "  project guard.sh: not run, not trusted",
        "  lost: ask, stop cannot ask",
        "  alarm: a hook changed while it ran",
    ]


def test_an_effect_has_every_field_with_a_zero_value() -> None:
    effect: Any = Effect(kind="delete")
    texts = ("verb", "path", "host", "target", "package", "source", "why")
    assert [getattr(effect, field) for field in texts] == [""] * 7
    assert (effect.writes, effect.recursive, effect.column_from, effect.column_to) == (False, False, 0, 0)
    assert effect.certainty is Certainty.KNOWN
    assert [certainty.value for certainty in Certainty] == ["known", "guessed", "opaque"]


@pytest.mark.parametrize("error, code", [(TrotlineError, 1), (UsageError, 64), (TryAgain, 75), (UnreadablePayload, 1)])
def test_an_error_has_a_sentence_a_hint_and_an_exit_code(error: type[TrotlineError], code: int) -> None:
    raised = error("it is wrong", hint="put it right")
    assert (str(raised), raised.message, raised.hint) == ("it is wrong", "it is wrong", "put it right")
    assert raised.exit_code == code
    assert error("it is wrong").hint == ""
    assert isinstance(raised, TrotlineError)
