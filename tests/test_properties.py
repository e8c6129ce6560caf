"""Laws of merging responses and of round trips, for all events and editions."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies as our
from kit import read_corpus
from trotline.agents.cursor.cursor_editions import EDITION_NAMES, get_edition
from trotline.agents.cursor.payloads import read_event, write_event
from trotline.agents.cursor.replies import HookOutput, read_reply, write_reply
from trotline.cli.schema import build_reply_schema
from trotline.domain.contracts import Ask, Contract
from trotline.domain.editions import Edition
from trotline.domain.events import EVENTS, OtherEvent
from trotline.domain.verdicts import (
    NO_OPINION,
    SEPARATOR,
    SINGLE_FIELDS,
    Decision,
    MergeRule,
    Permission,
    RankedVerdict,
    Verdict,
    merge,
)

STRICTEST, HIGHEST_LAYER = MergeRule.STRICTEST, MergeRule.HIGHEST_LAYER
rules = st.sampled_from(MergeRule)

laws = settings(max_examples=100)
for_each_event = settings(max_examples=40)


@laws
@given(our.ranked_verdicts, st.randoms(use_true_random=False))
def test_the_order_of_hooks_cannot_change_the_permission(responses: list[RankedVerdict], random: Any) -> None:
    shuffled = random.sample(responses, len(responses))
    assert merge(shuffled).permission == merge(responses).permission


@laws
@given(our.ranked_verdicts)
def test_the_strictest_response_decides(responses: list[RankedVerdict]) -> None:
    assert merge(responses).permission == max((one.verdict.permission for one in responses), default=Permission.NONE)


@laws
@given(our.ranked_verdicts, our.ranked_verdicts)
def test_merging_in_two_steps_decides_the_same_as_merging_at_once(
    first: list[RankedVerdict], second: list[RankedVerdict]
) -> None:
    in_two_steps = [RankedVerdict("first", 1, merge(first).verdict), RankedVerdict("second", 1, merge(second).verdict)]
    assert merge(in_two_steps).permission == merge([*first, *second]).permission


@laws
@given(our.ranked_verdicts, our.verdicts, st.integers(0, 5))
def test_one_deny_is_enough(responses: list[RankedVerdict], denial: Verdict, at: int) -> None:
    denies = Verdict(permission=Permission.DENY, user_message=denial.user_message)
    decision = merge([*responses[:at], RankedVerdict("guard", 1, denies), *responses[at:]])
    assert decision.permission is Permission.DENY
    assert "guard" in decision.deciders


@pytest.mark.parametrize("rule", MergeRule)
@pytest.mark.parametrize("refusable", [True, False])
def test_no_hooks_means_silence_not_permission(rule: MergeRule, *, refusable: bool) -> None:
    assert merge([], rule=rule, refusable=refusable) == Decision()
    assert merge([], rule=rule, refusable=refusable).permission is Permission.NONE


@laws
@given(our.ranked_verdicts, rules, st.booleans(), st.integers(0, 5), st.integers(1, 4))
def test_a_response_without_opinion_changes_nothing(
    responses: list[RankedVerdict], rule: MergeRule, refusable: bool, at: int, rank: int
) -> None:
    with_silence = [*responses[:at], RankedVerdict("quiet", rank, NO_OPINION), *responses[at:]]
    assert merge(with_silence, rule=rule, refusable=refusable) == merge(responses, rule=rule, refusable=refusable)


@laws
@given(our.ranked_verdicts)
def test_the_deciders_are_all_responses_with_the_decision(responses: list[RankedVerdict]) -> None:
    decision = merge(responses)
    authors = tuple(one.author for one in responses if one.verdict.permission is decision.permission)
    assert decision.deciders == (authors if decision.permission is not Permission.NONE else ())


@laws
@given(our.verdicts, rules)
def test_a_single_response_that_refuses_is_repeated_word_for_word(denial: Verdict, rule: MergeRule) -> None:
    refusal = Verdict(
        permission=Permission.DENY,
        user_message=denial.user_message,
        agent_message=denial.agent_message,
        edited_input=denial.edited_input,
        context=denial.context,
        follow_up=denial.follow_up,
        env=denial.env,
        replaced_output=denial.replaced_output,
        plugin_paths=denial.plugin_paths,
    )
    assert merge([RankedVerdict("one", 3, refusal)], rule=rule) == Decision(verdict=refusal, deciders=("one",))


@laws
@given(our.ranked_verdicts)
def test_messages_come_from_the_deciding_hooks_in_configured_order(responses: list[RankedVerdict]) -> None:
    verdict = merge(responses).verdict
    received = [one.verdict for one in responses if one.verdict.permission in {Permission.ASK, Permission.DENY}]
    assert verdict.user_message == "\n\n---\n\n".join(one.user_message for one in received if one.user_message)
    assert verdict.agent_message == "\n\n---\n\n".join(one.agent_message for one in received if one.agent_message)


@laws
@given(our.ranked_verdicts, rules)
def test_on_an_observing_event_every_message_counts(responses: list[RankedVerdict], rule: MergeRule) -> None:
    verdict = merge(responses, rule=rule, refusable=False).verdict
    values = [one.verdict.user_message for one in responses]
    assert verdict.user_message == SEPARATOR.join(message for message in values if message)


@laws
@given(our.ranked_verdicts)
def test_of_every_other_field_the_last_answer_wins(responses: list[RankedVerdict]) -> None:
    verdict = merge(responses).verdict
    for field in ("edited_input", "context", "follow_up", "replaced_output", "plugin_paths"):
        values = [value for one in responses if (value := getattr(one.verdict, field))]
        assert getattr(verdict, field) == (values[-1] if values else getattr(NO_OPINION, field))


@laws
@given(our.ranked_verdicts)
def test_env_merges_by_key_and_the_later_hook_wins(responses: list[RankedVerdict]) -> None:
    wanted: dict[str, str] = {}
    for one in responses:
        wanted.update(one.verdict.env)
    assert merge(responses).verdict.env == wanted


@laws
@given(our.ranked_verdicts, rules)
def test_every_value_that_lost_is_recorded_with_its_author(responses: list[RankedVerdict], rule: MergeRule) -> None:
    decision = merge(responses, rule=rule)
    recorded = {(one.field, one.loser) for one in decision.overruled}
    for response in responses:
        for field in SINGLE_FIELDS:
            value = getattr(response.verdict, field)
            if value and value != getattr(decision.verdict, field):
                assert (field, response.author) in recorded


@laws
@given(our.ranked_verdicts, rules)
def test_every_variable_that_two_hooks_set_differently_is_recorded(
    responses: list[RankedVerdict], rule: MergeRule
) -> None:
    decision = merge(responses, rule=rule)
    recorded = {one.field for one in decision.overruled if one.field.startswith("env.")}
    values = [(key, value) for response in responses for key, value in response.verdict.env.items()]
    assert recorded == {f"env.{key}" for key, value in values if value != decision.verdict.env[key]}


@laws
@given(our.ranked_verdicts, rules)
def test_only_requested_differences_are_recorded_as_losses(responses: list[RankedVerdict], rule: MergeRule) -> None:
    values = {response.author: response.verdict for response in responses}
    for one in merge(responses, rule=rule).overruled:
        stored, lost = values[one.winner], values[one.loser]
        key = one.field.removeprefix("env.")
        if key == one.field:
            assert getattr(stored, key) != getattr(lost, key)
        else:
            assert stored.env[key] != lost.env[key]


@laws
@given(our.ranked_verdicts)
def test_by_the_old_rule_the_highest_layer_with_an_opinion_decides(responses: list[RankedVerdict]) -> None:
    opinions = [one for one in responses if one.verdict.permission is not Permission.NONE]
    decision = merge(responses, rule=HIGHEST_LAYER)
    if not opinions:
        assert decision.permission is Permission.NONE
    else:
        top = [one for one in opinions if one.rank == min(response.rank for response in opinions)]
        assert decision.permission == max(one.verdict.permission for one in top)
        assert set(decision.deciders) <= {one.author for one in top}


@laws
@given(our.ranked_verdicts, st.randoms(use_true_random=False))
def test_by_the_old_rule_too_the_order_within_the_list_cannot_change_the_permission(
    responses: list[RankedVerdict], random: Any
) -> None:
    shuffled = random.sample(responses, len(responses))
    assert merge(shuffled, rule=HIGHEST_LAYER).permission == merge(responses, rule=HIGHEST_LAYER).permission


@laws
@given(our.ranked_verdicts)
def test_by_the_old_rule_only_the_deciding_layer_is_quoted(responses: list[RankedVerdict]) -> None:
    decision = merge(responses, rule=HIGHEST_LAYER)
    ranks = {one.rank for one in responses if one.author in decision.deciders}
    received = [one.verdict for one in responses if one.rank in ranks and one.verdict.permission >= Permission.ASK]
    assert decision.verdict.user_message == SEPARATOR.join(one.user_message for one in received if one.user_message)


@laws
@given(our.ranked_verdicts)
def test_by_the_old_rule_the_highest_layers_value_wins_every_field(responses: list[RankedVerdict]) -> None:
    verdict = merge(responses, rule=HIGHEST_LAYER).verdict
    for field in SINGLE_FIELDS:
        values = [value for one in responses if (value := getattr(one.verdict, field))]
        assert getattr(verdict, field) == (values[0] if values else getattr(NO_OPINION, field))
    for key, value in verdict.env.items():
        assert value == next(one.verdict.env[key] for one in responses if key in one.verdict.env)


@laws
@given(our.verdicts_of_one_layer)
def test_within_one_layer_both_rules_decide_alike(responses: list[RankedVerdict]) -> None:
    old, new = merge(responses, rule=HIGHEST_LAYER), merge(responses, rule=STRICTEST)
    assert (old.permission, old.deciders) == (new.permission, new.deciders)
    assert old.verdict.user_message == new.verdict.user_message


@pytest.mark.parametrize("name", EVENTS)
@for_each_event
@given(data=st.data())
def test_reading_what_was_written_gives_the_same_event(name: str, data: st.DataObject) -> None:
    event = data.draw(our.events_named(name))
    assert read_event(write_event(event)) == event


@for_each_event
@given(our.other_events)
def test_events_survive_a_round_trip_even_if_unknown(event: OtherEvent) -> None:
    again = read_event(write_event(event))
    assert again == event
    assert type(again) is OtherEvent


@pytest.mark.parametrize("name", EVENTS)
@for_each_event
@given(data=st.data())
def test_a_written_event_is_plain_json_without_a_final_newline(name: str, data: st.DataObject) -> None:
    written = write_event(data.draw(our.events_named(name)))
    assert written.startswith(b"{")
    assert written.endswith(b"}")
    body = json.loads(written.decode("utf-8"), parse_constant=pytest.fail)
    assert body["hook_event_name"] == name


@pytest.mark.parametrize("name", EVENTS)
def test_the_strategies_draw_every_field_that_an_event_has(name: str) -> None:
    drawn = {*our.COMMON, *our.FIELDS[name], "raw"}
    assert drawn == set(EVENTS[name].__struct_fields__)


WORDS = read_corpus("properties")["words"]
ROUND_TRIPS = [
    (name, date)
    for date in EDITION_NAMES
    for name in EVENTS
    if "reason" not in get_edition(date).reply_keys.get(name, ())
]
REASON_ONLY = [("preToolUse", "2026-02"), ("subagentStart", "2026-02")]


def _hearable(contract: Contract, verdict: Verdict, keys: tuple[str, ...]) -> tuple[Verdict, set[str]]:
    """Return the part of a verdict that survives a round trip, and the names of the lost fields."""
    fields = {field: getattr(verdict, field) for field in WORDS}
    lost = {field for field, value in fields.items() if value and WORDS[field] not in keys}
    carried: dict[str, Any] = {field: value for field, value in fields.items() if value and field not in lost}
    permission = verdict.permission
    if not {"permission", "continue"} & set(keys):
        lost |= {"refusal"} if permission >= Permission.ASK else set()
        permission = Permission.NONE
    elif permission is Permission.ASK and contract.ask is not Ask.ASKED:
        lost |= {"ask"}
        permission = Permission.DENY
    return Verdict(permission=permission, **carried), lost


def round_trip(contract: Contract, verdict: Verdict, contracted: Edition) -> tuple[Verdict, set[str]]:
    reply = write_reply(contract, verdict, contracted)
    received = read_reply(contract, HookOutput(reply.exit_code, json.dumps(reply.body).encode()), contracted)
    assert received.failure is None
    assert received.warnings == ()
    return received.verdict, {loss.what for loss in reply.losses}


@pytest.mark.parametrize("name, date", ROUND_TRIPS)
@settings(max_examples=25)
@given(verdict=our.verdicts)
def test_a_verdict_survives_a_round_trip_except_for_recorded_losses(name: str, date: str, verdict: Verdict) -> None:
    contract, contracted = EVENTS[name].contract, get_edition(date)
    wanted, lost = _hearable(contract, verdict, contracted.reply_keys.get(name, ()))
    received, losses = round_trip(contract, verdict, contracted)
    assert received == wanted
    assert losses == (lost if "refusal" not in lost else lost - {"refusal"} | {"deny"})


@pytest.mark.parametrize("name, date", REASON_ONLY)
@pytest.mark.parametrize("field", ["user_message", "agent_message"])
@settings(max_examples=25)
@given(permission=st.sampled_from([Permission.ALLOW, Permission.DENY]), text=our.texts)
def test_in_the_early_2026_format_either_message_is_the_reason(
    name: str, date: str, field: str, permission: Permission, text: str
) -> None:
    contract, contracted = EVENTS[name].contract, get_edition(date)
    body: dict[str, Any] = {field: text}
    verdict = Verdict(permission=permission, **body)
    received, losses = round_trip(contract, verdict, contracted)
    assert received == Verdict(permission=permission, user_message=text, agent_message=text)
    assert losses == set()


@pytest.mark.parametrize("name", EVENTS)
@settings(max_examples=40)
@given(verdict=our.verdicts)
def test_every_written_reply_is_valid_by_the_newest_schema(name: str, verdict: Verdict) -> None:
    reply = write_reply(EVENTS[name].contract, verdict, get_edition())
    validator = jsonschema_rs.Draft202012Validator(build_reply_schema(name))
    assert validator.is_valid(_without_surrogates(reply.body)), reply.body


def _without_surrogates(value: Any) -> Any:
    """The validator rejects lone surrogates."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@settings(max_examples=60)
@given(verdict=our.verdicts, date=st.sampled_from(EDITION_NAMES), name=st.sampled_from(sorted(EVENTS)))
def test_a_loss_names_the_agent_the_event_and_what_was_lost(verdict: Verdict, date: str, name: str) -> None:
    for loss in write_reply(EVENTS[name].contract, verdict, get_edition(date)).losses:
        assert loss.agent == "cursor"
        assert loss.what
        assert name in loss.why


@settings(max_examples=60)
@given(verdict=our.verdicts, date=st.sampled_from(EDITION_NAMES), name=st.sampled_from(sorted(EVENTS)))
def test_a_written_reply_never_permits_what_the_verdict_refused(verdict: Verdict, date: str, name: str) -> None:
    reply = write_reply(EVENTS[name].contract, verdict, get_edition(date))
    if verdict.permission is Permission.DENY:
        assert "allow" not in reply.body.values()
        assert reply.body.get("continue") is not True
