"""Replies to every agent at every event have the effect of the verdict, or report a Loss; they are never weaker.

The expected tables are written from hosts.md 3, independent of `src`; the models in test_agent_models compute the
effect of a reply. Removing any row of an agent's data must fail one of these tests, and a test checks that.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings

import strategies as our
from kit import build_verdict, read_corpus
from test_agent_models import MODELS, Effect, HookResult, build_native_reply, is_refused_together
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent, AgentReply, Capability, Tool, VersionQuirk, fit_verdict, parse_version
from trotline.agents.translation import read_event, restore_tool, translate_tool, write_event
from trotline.cli.schema import build_reply_schema
from trotline.conversation.functions import EventHandler
from trotline.conversation.sessions import Sessions
from trotline.domain.contracts import Contract
from trotline.domain.events import EVENTS, Event, Stop, SubagentStart
from trotline.domain.outcomes import Call, Loss
from trotline.domain.verdicts import NO_OPINION, Decision, Permission, Verdict, merge
from trotline.hook.answer import AnswerContext, answer

ALLOW, ASK, DENY = Permission.ALLOW, Permission.ASK, Permission.DENY

# -- capabilities of agents, from hosts.md 3 and for Cursor from cursor-protocol.md 1.3

CASES = read_corpus("agent_replies")
CAPABILITIES: dict[str, dict[str, frozenset[str]]] = {
    **{
        agent: {event: frozenset(words.split()) for event, words in events.items()}
        for agent, events in CASES["capabilities"].items()
    },
    "generic": {name: frozenset({"deny"}) for name, cls in EVENTS.items() if cls.contract.refusable},
}
SINGLE_TEXT = {"copilot", "openhands", "opencode"}
"""Agents with one text for a denial, which the model reads."""
SHARED_TEXT = {"cline", "windsurf", "generic"}

REPLY_KEYS: dict[str, dict[str, list[str]]] = CASES["reply_keys"]
"""The reply keys of hosts.md 1 and 3 by event."""


VERDICTS = {name: build_verdict(fields) for name, fields in CASES["verdicts"].items()}
OTHER_CAPABILITIES = (
    Capability.EDIT,
    Capability.CONTEXT,
    Capability.FOLLOW_UP,
    Capability.ENV,
    Capability.REPLACE,
    Capability.PLUGINS,
)


class SentReply(NamedTuple):
    """The reply to an event, its effect, and its losses."""

    agent: Agent
    theirs: str
    contract: Contract
    answer: AgentReply
    effect: Effect
    losses: tuple[Loss, ...]


def send(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> SentReply:
    contract = EVENTS[ours].contract
    fitted, losses = fit_verdict(agent, contract, verdict)
    reply = agent.reply_form(agent, theirs, ours, fitted)
    effect = MODELS[agent.name](theirs, HookResult(reply.exit_code, reply.stdout, reply.stderr))
    return SentReply(agent, theirs, contract, reply, effect, (*losses, *reply.losses))


def get_capabilities(sent: SentReply) -> frozenset[str]:
    """Return the capabilities of an event; Copilot accepts less context in Claude Code's spelling."""
    capabilities = CAPABILITIES[sent.agent.name].get(sent.contract.name, frozenset())
    foreign = sent.agent.name == "copilot" and sent.theirs[0].isupper() and sent.contract.name != "preToolUse"
    return capabilities - {"context"} if foreign else capabilities


def list_expected_losses(sent: SentReply, verdict: Verdict) -> list[str]:
    """Return the losses of a verdict according to the tables."""
    capabilities, wanted, name = get_capabilities(sent), verdict.permission, sent.contract.name
    lost: list[str] = []
    refused = wanted >= ASK and "deny" in capabilities and not (wanted is ASK and "ask" in capabilities)
    goes_on = "follow_up" in capabilities and wanted >= ASK
    implied = sent.agent.name == "codex" and name == "preToolUse" and verdict.edited_input is not None
    if wanted and wanted.word not in capabilities and not goes_on:
        lost += [wanted.word] if wanted >= ASK or (sent.contract.refusable and not implied) else []
    if refused and (sent.agent.name, name) == ("cursor", "sessionStart"):
        lost.append("deny")  # sent, and the editor ignores it
    for power in OTHER_CAPABILITIES:
        value = getattr(verdict, power.value)
        empty = value in (None, "", ()) or (power is Capability.ENV and not value)
        empty = empty or (power is Capability.FOLLOW_UP and not get_follow_up(verdict))
        if not empty and power.value not in capabilities and not (power is Capability.EDIT and refused):
            lost.append(power.value)
    responded = (
        refused
        or goes_on
        or (wanted is ASK and "ask" in capabilities)
        or ("follow_up" in capabilities and bool(get_follow_up(verdict)))
    )
    return [*lost, *list_lost_texts(sent, verdict, responded=responded)]


def list_lost_texts(sent: SentReply, verdict: Verdict, *, responded: bool) -> list[str]:
    user, agent, name = verdict.user_message, verdict.agent_message, sent.agent.name
    if (name, sent.contract.name) == ("cursor", "beforeTabFileRead"):
        return ["user_message"] if responded and (user or agent) else []
    if name == "cursor" and sent.contract.name in {"stop", "subagentStop"}:
        return ["user_message"] if responded and user not in {"", sent.effect.goes_on} else []
    if not user or name not in SINGLE_TEXT | SHARED_TEXT:
        return []
    if responded:
        return ["user_message"] if name in SINGLE_TEXT and agent.strip() and user != agent else []
    return ["user_message"] if verdict.permission < ASK else []


# -- the laws


def list_broken_laws(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> list[str]:
    """Return every law that the reply of this agent at this event breaks."""
    sent = send(agent, theirs, ours, verdict)
    return [*check_strength(sent, verdict), *check_delivery(sent, verdict), *check_form(sent, verdict)]


def get_follow_up(verdict: Verdict) -> str:
    """Return the follow-up, unless it is blank."""
    return verdict.follow_up if verdict.follow_up.strip() else ""


def check_strength(sent: SentReply, verdict: Verdict) -> Iterator[str]:
    capabilities, effect, wanted = get_capabilities(sent), sent.effect, verdict.permission
    stops = effect.blocked or bool(effect.goes_on)
    if wanted is DENY and capabilities & {"deny", "follow_up"} and not stops:
        yield "a denial denied nothing"
    if wanted is ASK and capabilities & {"deny", "ask", "follow_up"} and not (stops or effect.asks):
        yield "a question neither asked nor denied"
    if wanted is ASK and effect.asks != ("ask" in capabilities):
        yield "it asked without the capability, or did not ask with it"
    if wanted < ASK and (effect.blocked or effect.asks):
        yield "a denial without a denying verdict"
    if wanted < ASK and effect.goes_on != (get_follow_up(verdict) if "follow_up" in capabilities else ""):
        yield "a wrong follow-up"
    may_allow = sent.agent.name == "cursor" or (sent.agent.name == "codex" and verdict.edited_input is not None)
    if effect.allowed and wanted is not ALLOW and not may_allow:
        yield "an allow without an allowing verdict"
    if wanted is ALLOW and "allow" in capabilities and not effect.allowed:
        yield "an allow was not sent"
    if stops and not (effect.reason.strip() or effect.goes_on.strip()) and sent.agent.name != "cursor":
        yield "a denial without a reason"


def check_delivery(sent: SentReply, verdict: Verdict) -> Iterator[str]:
    capabilities, effect = get_capabilities(sent), sent.effect
    if sorted(loss.what for loss in sent.losses) != sorted(list_expected_losses(sent, verdict)):
        yield f"lost {[loss.what for loss in sent.losses]}, expected {list_expected_losses(sent, verdict)}"
    for loss in sent.losses:
        if loss.agent != sent.agent.name or " " not in loss.why or loss.why.endswith("."):
            yield f"not a reason: {loss}"
    if "context" in capabilities and effect.context != verdict.context and not effect.blocked:
        yield "context was not delivered"
    wanted = verdict.edited_input if "edited_input" in capabilities and not effect.blocked else None
    if wanted is not None and effect.edited != wanted:
        yield "the edited input was not used"
    if effect.blocked and effect.edited is not None:
        yield "a denied action with edited input"
    if sent.agent.name == "cursor":
        yield from check_delivery_to_cursor(sent, verdict)
    stops = effect.blocked or effect.asks or bool(effect.goes_on and not get_follow_up(verdict))
    whole_output = json.dumps([sent.answer.stdout, sent.answer.stderr])
    lost = {loss.what for loss in sent.losses}
    for what in ("user_message", "agent_message"):
        text = json.dumps(json.dumps(getattr(verdict, what))[1:-1])[1:-1] if sent.answer.stdout else ""
        text = text or json.dumps(getattr(verdict, what))[1:-1]
        is_missing = getattr(verdict, what).strip() and text not in whole_output
        if verdict.permission >= ASK and stops and is_missing and not {what, "user_message"} & lost:
            yield f"{what} was not sent"


def check_delivery_to_cursor(sent: SentReply, verdict: Verdict) -> Iterator[str]:
    body = json.loads(sent.answer.stdout)
    keys = {"env": "env", "replaced_output": "updated_mcp_tool_output", "plugin_paths": "pluginPaths"}
    for field, key in keys.items():
        value = json.loads(json.dumps(getattr(verdict, field)))
        if field in get_capabilities(sent) and value not in (None, [], {}) and body.get(key) != value:
            yield f"{field} was not sent"


def check_form(sent: SentReply, verdict: Verdict) -> Iterator[str]:
    name, reply = sent.agent.name, sent.answer
    if reply.exit_code not in {0, 2} or (reply.exit_code == 2) != (
        name in {"windsurf", "generic"} and sent.effect.blocked and verdict.permission >= ASK
    ):
        yield f"exit code {reply.exit_code}"
    if not (reply.stdout + reply.stderr).encode("utf-8", "replace").isascii() and reply.stdout:
        yield "a reply that is not ASCII"
    if name in {"windsurf", "generic"}:
        if reply.stdout != ("" if reply.exit_code or name == "windsurf" else "{}"):
            yield "output with the exit code"
        return
    body = json.loads(reply.stdout)
    if name == "cursor":
        yield from (error.message for error in VALIDATORS[sent.contract.name].iter_errors(replace_surrogates(body)))
        return
    unknown = set(list_key_paths(body)) - get_allowed_keys(sent)
    if unknown:
        yield f"unknown keys: {sorted(unknown)}"
    nested = body.get("hookSpecificOutput", {})
    if nested and nested["hookEventName"] != sent.theirs:
        yield "a reply to another event"
    if name == "qwen-code" and nested.get("permissionDecision") == "allow":
        yield "an allow, which overrides the denial of another hook"
    if name == "codex" and (nested.get("permissionDecision") == "allow") != ("updatedInput" in nested):
        yield "an allow without a changed input, or a changed input without an allow"


def get_allowed_keys(sent: SentReply) -> set[str]:
    spelling = " in Claude Code's spelling" if sent.agent.name == "copilot" and sent.theirs[0].isupper() else ""
    tables = REPLY_KEYS[sent.agent.name + spelling]
    return set(tables.get(sent.contract.name, tables["*"]))


def list_key_paths(body: dict[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        if key == "hookSpecificOutput":
            yield from (f"{key}.{inner}" for inner in value)
        else:
            yield key


def replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which the validator, written in Rust, does not accept."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


VALIDATORS = {name: jsonschema_rs.Draft202012Validator(build_reply_schema(name)) for name in EVENTS}

NEWEST = {"cursor": "3.21.16"}
"""The versions of the tables; other agents have no quirks by version."""


def get_newest_agent(name: str) -> Agent:
    return get_agent(name).for_version(NEWEST.get(name, ""))


PAIRS = [(name, theirs) for name in AGENTS for theirs in get_agent(name).events]


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_every_verdict_has_its_effect_or_is_a_loss(name: str, theirs: str) -> None:
    agent = get_newest_agent(name)
    found = {word: list_broken_laws(agent, theirs, agent.events[theirs], verdict) for word, verdict in VERDICTS.items()}
    assert {word: lines for word, lines in found.items() if lines} == {}


@pytest.mark.parametrize("name,theirs", PAIRS)
@settings(max_examples=6)
@given(verdict=our.verdicts)
def test_any_verdict_has_its_effect_or_is_a_loss(name: str, theirs: str, verdict: Verdict) -> None:
    assert list_broken_laws(get_newest_agent(name), theirs, get_newest_agent(name).events[theirs], verdict) == []


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_observing_event_loses_a_denial_once(name: str, theirs: str) -> None:
    agent = get_newest_agent(name)
    ours = agent.events[theirs]
    if CAPABILITIES[name].get(ours, frozenset()) & {"deny", "follow_up"}:
        return
    for verdict in (VERDICTS["deny"], VERDICTS["deny in two texts"], VERDICTS["ask"], VERDICTS["edit and deny"]):
        losses = [loss for loss in send(agent, theirs, ours, verdict).losses if loss.what != "edited_input"]
        assert [loss.what for loss in losses] == [verdict.permission.word]


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_no_opinion_is_a_neutral_reply(name: str, theirs: str) -> None:
    sent = send(get_newest_agent(name), theirs, get_newest_agent(name).events[theirs], Verdict())
    answers: list[dict[str, Any]] = [{"permission": "allow"}, {"continue": True}, {}]
    assert (sent.answer.exit_code, sent.answer.stderr, sent.losses) == (0, "", ())
    assert sent.answer.stdout == "" if name == "windsurf" else json.loads(sent.answer.stdout) in answers


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_no_opinion_is_fitted_like_an_empty_verdict(name: str, theirs: str) -> None:
    agent = get_newest_agent(name)
    contract = EVENTS[agent.events[theirs]].contract
    assert fit_verdict(agent, contract, NO_OPINION) == fit_verdict(agent, contract, Verdict()) == (Verdict(), ())
    assert merge([]) == Decision()


def test_tables_have_every_agent() -> None:
    assert set(CAPABILITIES) == set(MODELS) == set(AGENTS)
    assert {name.partition(" ")[0] for name in REPLY_KEYS} | {"cursor"} == set(AGENTS)


CURSOR_ASK_REPLIES = {
    "ask on a prompt": ("beforeSubmitPrompt", {"continue": False, "user_message": "sure?"}),
    "ask on a read": ("beforeReadFile", {"permission": "deny", "user_message": "sure?"}),
    "ask on a read for Tab": ("beforeTabFileRead", {"permission": "deny"}),
    "ask before any tool": ("preToolUse", {"permission": "deny", "user_message": "sure?", "agent_message": "sure?"}),
    "ask on a sub-agent": ("subagentStart", {"permission": "deny", "user_message": "sure?"}),
}


@pytest.mark.parametrize("ours,body", CURSOR_ASK_REPLIES.values(), ids=CURSOR_ASK_REPLIES)
def test_cursor_denies_what_it_cannot_ask_about(ours: str, body: dict[str, Any]) -> None:
    sent = send(get_newest_agent("cursor"), ours, ours, Verdict(permission=ASK, user_message="sure?"))
    assert json.loads(sent.answer.stdout) == body
    assert "sent as deny" in sent.losses[0].why


def test_both_texts_of_a_denied_read_are_in_one_key_for_cursor() -> None:
    verdict = Verdict(permission=DENY, user_message="ask Jo", agent_message="not this way")
    sent = send(get_newest_agent("cursor"), "beforeReadFile", "beforeReadFile", verdict)
    assert json.loads(sent.answer.stdout)["user_message"] == "ask Jo\n\nnot this way"


# -- another hook's refusal stands

PERMISSIVE_VERDICTS = ("silence", "allow", "context", "allow with a word", "follow-up", "edit and allow")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"cursor", "windsurf", "generic", "opencode"}])
@pytest.mark.parametrize("word", PERMISSIVE_VERDICTS)
def test_permissive_reply_does_not_override_the_denial_of_another_hook(name: str, word: str) -> None:
    agent = get_newest_agent(name)
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == "preToolUse")
    sent = send(agent, theirs, "preToolUse", VERDICTS[word]).answer
    ours = HookResult(sent.exit_code, sent.stdout, sent.stderr)
    refusals = [HookResult(0, json.dumps(build_native_reply(name, reason="r")))]
    refusals += [HookResult(2, "", "r")] if name != "cline" else []
    for refusal in refusals:
        assert is_refused_together(name, theirs, [ours, refusal])
        assert is_refused_together(name, theirs, [refusal, ours])


# -- versions

ASKING_VERSIONS = ["2.4.20", "2.4", "2.0.64", "1.7.1"]
DENYING_VERSIONS = ["2.4.21", "2.4.22", "2.5", "3.2.16", "3.9.16", "3.21.16", "4.0.0", "10.1", "3"]
DATED_VERSIONS = ["2026.07.23-e383d2b", "2026.01.28", "2025.09.18-7ae6800", "2027.01.01"]
UNKNOWN_VERSIONS = ["", "dev", "unknown", "nightly-3.2", "?"]


@pytest.mark.parametrize("ours", ["beforeShellExecution", "beforeMCPExecution"])
@pytest.mark.parametrize("version", [*ASKING_VERSIONS, *DENYING_VERSIONS, *DATED_VERSIONS, *UNKNOWN_VERSIONS])
def test_ask_is_sent_only_to_cursor_versions_that_ask(version: str, ours: str) -> None:
    sent = send(get_agent("cursor").for_version(version), ours, ours, Verdict(permission=ASK, user_message="sure?"))
    assert sent.effect.asks == (version in ASKING_VERSIONS)
    assert sent.effect.blocked == (version not in ASKING_VERSIONS)
    assert [loss.what for loss in sent.losses] == ([] if version in ASKING_VERSIONS else ["ask"])


def test_ask_can_be_forced_by_configuration() -> None:
    for version in (*DENYING_VERSIONS, *DATED_VERSIONS, *UNKNOWN_VERSIONS):
        agent = get_agent("cursor").for_version(version, trusted=frozenset({Capability.ASK}))
        sent = send(agent, "beforeShellExecution", "beforeShellExecution", VERDICTS["ask"])
        assert sent.effect.asks
        assert not send(agent, "preToolUse", "preToolUse", VERDICTS["ask"]).effect.asks


CONTEXT_VERSIONS = ["3.9.16", "3.20.17", "3.21.16", "4.0.0", "2026.07.23-e383d2b", "2027.01.01"]
NO_CONTEXT_VERSIONS = ["3.9.15", "2.4.21", "1.7", "2026.06.30-abc", *UNKNOWN_VERSIONS]


@pytest.mark.parametrize("version", [*CONTEXT_VERSIONS, *NO_CONTEXT_VERSIONS])
def test_context_on_a_prompt_is_delivered_in_measured_versions(version: str) -> None:
    agent = get_agent("cursor").for_version(version)
    sent = send(agent, "beforeSubmitPrompt", "beforeSubmitPrompt", Verdict(context="know"))
    assert sent.effect.context == ("know" if version in CONTEXT_VERSIONS else "")
    assert [loss.what for loss in sent.losses] == ([] if version in CONTEXT_VERSIONS else ["context"])


@pytest.mark.parametrize("version", [*ASKING_VERSIONS, *DENYING_VERSIONS, *DATED_VERSIONS, *UNKNOWN_VERSIONS])
def test_every_law_holds_in_every_version_of_cursor(version: str) -> None:
    agent = get_agent("cursor").for_version(version)
    for ours in EVENTS:
        for word in ("deny", "deny without a word", "edit", "edit and deny", "follow-up", "follow-up and deny"):
            assert list_broken_laws(agent, ours, ours, VERDICTS[word]) == [], (ours, word)


def test_dated_builds_have_a_separate_scale() -> None:
    assert parse_version("2026.07.23-e383d2b") == (1, 2026, 7, 23)
    assert parse_version("v3.21.16") == (0, 3, 21, 16)
    assert parse_version("dev") == ()
    since = VersionQuirk("stop", Capability.ASK, False, "", "", since="2.4.21")
    assert [since.applies(version) for version in ("2.4.20", "2.4.21", "3", "2026.01.01", "")] == [0, 1, 1, 0, 1]
    until = VersionQuirk("stop", Capability.ASK, True, "", "", since="2026.01", until="2026.03")
    assert [until.applies(version) for version in ("2026.01.05", "2026.03.01", "2.4", "")] == [1, 0, 0, 0]


def test_every_quirk_has_a_source_and_a_date() -> None:
    for name in AGENTS:
        for quirk in get_agent(name).version_quirks:
            assert quirk.description
            assert quirk.source
            assert quirk.date
            assert quirk.event in EVENTS


# -- one row less

CAPABILITY_ROWS = [
    pytest.param(name, event, power, id=f"{name}-{event}-{power}")
    for name in AGENTS
    for event, powers in get_newest_agent(name).capabilities.items()
    for power in sorted(powers)
    if event in get_agent(name).events.values()
]


def breaks_a_law(agent: Agent, event: str = "") -> bool:
    """Return whether a law is broken at this event, or at any event."""
    raised = [(theirs, ours) for theirs, ours in agent.events.items() if event in {"", ours}]
    return any(
        list_broken_laws(agent, theirs, ours, verdict) for theirs, ours in raised for verdict in VERDICTS.values()
    )


@pytest.mark.parametrize("name,event,power", CAPABILITY_ROWS)
def test_removed_capability_breaks_a_law(name: str, event: str, power: Capability) -> None:
    agent = get_newest_agent(name)
    less = {**agent.capabilities, event: agent.capabilities[event] - {power}}
    assert breaks_a_law(msgspec.structs.replace(agent, capabilities=less), event)


EVENT_PAIRS = [(name, event) for name in AGENTS for event in dict.fromkeys(get_agent(name).events.values())]


def list_missing_capabilities(name: str, event: str) -> Iterator[Capability]:
    """Return the capabilities that an agent lacks at an event, without those that change nothing there."""
    for power in Capability:
        idle = power is Capability.ALLOW and not EVENTS[event].contract.refusable
        if (
            power not in get_newest_agent(name).capabilities.get(event, frozenset())
            and not idle
            and (name, power) != ("cursor", Capability.ASK)
        ):
            yield power


@pytest.mark.parametrize("name,event", EVENT_PAIRS)
def test_wrong_capability_breaks_a_law(name: str, event: str) -> None:
    agent = get_newest_agent(name)
    for power in list_missing_capabilities(name, event):
        more = {**agent.capabilities, event: agent.capabilities.get(event, frozenset()) | {power}}
        assert breaks_a_law(msgspec.structs.replace(agent, capabilities=more), event), power


@pytest.mark.parametrize(
    "row", get_agent("cursor").version_quirks, ids=lambda quirk: f"{quirk.event}-{quirk.capability}-{quirk.since}"
)
def test_removed_quirk_changes_the_reply(row: VersionQuirk) -> None:
    agent = get_agent("cursor")
    without = msgspec.structs.replace(
        agent, version_quirks=tuple(quirk for quirk in agent.version_quirks if quirk != row)
    )
    verdict = (
        Verdict(permission=ASK, user_message="sure?") if row.capability is Capability.ASK else Verdict(context="know")
    )
    sent = [send(one.for_version(row.since), row.event, row.event, verdict).answer.stdout for one in (agent, without)]
    assert sent[0] != sent[1]


CHANGED_FACTS: dict[str, tuple[str, dict[str, Any]]] = {
    "an edit of Codex goes beside an allow": ("codex", {"edit_implies_allow": False}),
    "Claude Code takes an edit without an allow without an allowing verdict": (
        "claude-code",
        {"edit_implies_allow": True},
    ),
    "Droid too": ("factory-droid", {"edit_implies_allow": True}),
    "Copilot has one text": ("copilot", {"person_channel": get_agent("claude-code").person_channel}),
    "OpenHands too": ("openhands", {"person_channel": get_agent("claude-code").person_channel}),
    "OpenCode too": ("opencode", {"person_channel": get_agent("claude-code").person_channel}),
    "Cline has one text for both": ("cline", {"person_channel": get_agent("copilot").person_channel}),
    "Windsurf too": ("windsurf", {"person_channel": get_agent("copilot").person_channel}),
    "Windsurf wants silence for silence": ("windsurf", {"empty_reply": "{}"}),
    "an unknown agent wants an object": ("generic", {"empty_reply": ""}),
    "Cursor's editor is in doubt": ("cursor", {"unreliable_denials": {}}),
    "Gemini's answer is not Claude Code's": ("gemini-cli", {"reply_form": get_agent("claude-code").reply_form}),
    "Qwen's answer is not Gemini's": ("qwen-code", {"reply_form": get_agent("gemini-cli").reply_form}),
    "OpenHands' answer is not Gemini's": ("openhands", {"reply_form": get_agent("claude-code").reply_form}),
}


@pytest.mark.parametrize("name,change", CHANGED_FACTS.values(), ids=CHANGED_FACTS)
def test_changed_fact_about_replies_breaks_a_law(name: str, change: dict[str, Any]) -> None:
    assert not breaks_a_law(get_newest_agent(name))
    assert breaks_a_law(msgspec.structs.replace(get_newest_agent(name), **change))


LOSS_REASONS = {tuple(pair.split()): reason for pair, reason in CASES["loss_reasons"].items()}
VERDICT_BY_LOSS = {"ask": "ask", "allow": "allow", "edited_input": "edit", "context": "context"}


@pytest.mark.parametrize("name,what", LOSS_REASONS)
def test_loss_has_the_reason_of_the_agent(name: str, what: str) -> None:
    agent = get_newest_agent(name)
    event = "beforeShellExecution" if name in {"cursor", "windsurf"} else "preToolUse"
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == event)
    losses = [
        loss.why for loss in send(agent, theirs, event, VERDICTS[VERDICT_BY_LOSS[what]]).losses if loss.what == what
    ]
    assert LOSS_REASONS[name, what] in losses[0]
    assert {(name, power.value) for name in AGENTS for power in get_agent(name).unsupported_reasons} == set(
        LOSS_REASONS
    )


# -- the vocabulary of tools, from hosts.md 5 and the agents' own lists


class NamedTool(NamedTuple):
    """A tool of an agent with its input, and their translation."""

    agent: str
    theirs: str
    given: dict[str, Any]
    ours: str
    meant: dict[str, Any]


def list_named_tools() -> Iterator[NamedTool]:
    yield NamedTool("cline", "run_commands", {"commands": ["a"]}, "Shell", {"command": "a"})
    yield NamedTool("cline", "run_commands", {"commands": ["a", "b"]}, "Shell", {"command": ["a", "b"]})
    yield NamedTool("cline", "read_files", {"files": [{"path": "/a"}]}, "Read", {"file_path": "/a"})
    yield NamedTool("openhands", "file_editor", {"command": "view", "path": "/a"}, "Read", {"file_path": "/a"})
    made = {"command": "create", "path": "/a", "file_text": "x"}
    yield NamedTool("openhands", "file_editor", made, "Write", {"file_path": "/a", "content": "x"})
    changed = {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"}
    yield NamedTool(
        "openhands", "file_editor", changed, "Write", {"file_path": "/a", "old_string": "x", "new_string": "y"}
    )
    undone = {"command": "undo_edit", "path": "/a"}
    yield NamedTool("openhands", "file_editor", undone, "Write", {"command": "undo_edit", "file_path": "/a"})
    yield NamedTool("openhands", "echo", {"data": {"a": 1}, "kind": "MCPToolAction"}, "MCP:echo", {"a": 1})
    for line in CASES["tools"]:
        agent, theirs, ours, *fields = line.split()
        pairs = [(field.partition("=")[0], field.partition("=")[2] or field) for field in fields]
        yield NamedTool(agent, theirs, {their: their for _, their in pairs}, ours, dict(pairs))
    for agent, theirs in {
        **dict.fromkeys(("claude-code", "codex", "qwen-code"), "mcp__srv__echo"),
        "gemini-cli": "mcp_srv_echo",
        "copilot": "srv-echo",
        "factory-droid": "srv___echo",
        "opencode": "srv_echo",
    }.items():
        yield NamedTool(agent, theirs, {"a": 1}, "MCP:srv:echo", {"a": 1})


NAMED_TOOLS = list(list_named_tools())


@pytest.mark.parametrize("row", NAMED_TOOLS, ids=lambda row: f"{row.agent}-{row.theirs}")
def test_tool_is_translated_and_restored(row: NamedTool) -> None:
    agent = get_agent(row.agent)
    assert translate_tool(agent, row.theirs, row.given) == (row.ours, row.meant)
    name, given_back = restore_tool(agent, row.ours, row.meant)
    assert translate_tool(agent, name, given_back) == (row.ours, row.meant)
    first = next(
        one for one in NAMED_TOOLS if (one.agent, one.ours, one.meant.keys()) == (row.agent, row.ours, row.meant.keys())
    )
    assert (name, given_back) == (row.theirs, row.given) or first != row


def test_edited_input_is_restored_for_the_called_tool() -> None:
    edited = {"file_path": "/a", "content": "x"}
    notebook = restore_tool(get_agent("claude-code"), "Write", edited, preferred="NotebookEdit")
    assert notebook == ("NotebookEdit", {"notebook_path": "/a", "new_source": "x"})
    older = restore_tool(get_agent("cline"), "Shell", {"command": "ls"}, preferred="execute_command")
    assert older == ("execute_command", {"command": "ls"})
    assert restore_tool(get_agent("codex"), "Shell", {"command": "ls"}, preferred="unknown") == (
        "Bash",
        {"command": "ls"},
    )


def is_mistranslated(agent: Agent) -> bool:
    rows = [row for row in NAMED_TOOLS if row.agent == agent.name]
    return any(translate_tool(agent, row.theirs, row.given) != (row.ours, row.meant) for row in rows)


TOOL_ROWS = [
    pytest.param(name, tool, id=f"{name}-{tool.theirs}-{number}")
    for name in AGENTS
    for number, tool in enumerate(get_agent(name).tools)
    if name != "copilot" or tool not in get_agent("claude-code").tools  # those are tested there
]


@pytest.mark.parametrize("name,row", TOOL_ROWS)
def test_removed_tool_breaks_the_translation(name: str, row: Tool) -> None:
    agent = get_agent(name)
    same = not [key for key, theirs in row.fields.items() if key != theirs] and row.theirs == row.ours
    without = msgspec.structs.replace(agent, tools=tuple(tool for tool in agent.tools if tool is not row))
    assert is_mistranslated(without) != (same and name != "opencode")


# -- whole calls


class RecordingHandler:
    """A handler that always gives the same verdict and records its events."""

    def __init__(self, verdict: Verdict | None = None) -> None:
        self.verdict = verdict
        self.events: list[Event] = []

    def __call__(self, event: Event) -> Verdict | None:
        self.events.append(event)
        return self.verdict


def build_context(agent: str, tmp_path: Path, event: str = "", **handlers: RecordingHandler) -> AnswerContext:
    functions = [EventHandler(name=name, event=name, call=handler) for name, handler in handlers.items()]
    return AnswerContext(get_agent(agent), functions, Sessions(tmp_path), event)


NUMBERS = itertools.count()


def build_call(payload: bytes) -> Call:
    return Call(id=str(next(NUMBERS)), payload=payload)  # the same call twice would count once


SHELL_AGENTS = [
    name for name in AGENTS if {"preToolUse", "beforeShellExecution"} & set(get_agent(name).events.values())
]


@pytest.mark.parametrize("name", SHELL_AGENTS)
def test_handlers_of_commands_and_tools_both_see_a_command(name: str, tmp_path: Path) -> None:
    agent = get_agent(name)
    handlers, seen = (RecordingHandler(), RecordingHandler()), []
    for wire_name in ("preToolUse", "beforeShellExecution"):
        theirs = next((theirs for theirs, ours in agent.events.items() if ours == wire_name), "")
        if not theirs or (name == "windsurf" and wire_name == "preToolUse"):
            continue  # its event before a tool is that of a written file
        fields: dict[str, Any] = {"command": "rm x", "cwd": "/w"}
        if wire_name == "preToolUse":
            fields = {"tool_name": "Shell", "tool_input": {"command": "rm x"}, "cwd": "/w"}
        payload = write_event(agent, EVENTS[wire_name](conversation_id="c", workspace_roots=("/w",), **fields))
        answer(
            build_call(payload),
            build_context(name, tmp_path, theirs, beforeShellExecution=handlers[0], preToolUse=handlers[1]),
        )
        seen.append(wire_name)
    assert [getattr(event, "command", None) for event in handlers[0].events] == ["rm x"]
    assert [getattr(event, "tool_input", None) for event in handlers[1].events] == [{"command": "rm x"}]
    assert seen


def test_subagent_is_denied_at_the_tool_that_starts_it(tmp_path: Path) -> None:
    """Claude Code's event for a subagent only observes; the tool that starts it can be denied."""
    handler = RecordingHandler(Verdict(permission=DENY, user_message="not that one"))
    tool = {"tool_name": "Agent", "tool_input": {"subagent_type": "shell", "prompt": "x"}}
    body = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", **tool}
    sent, _ = answer(
        build_call(json.dumps(body).encode()), build_context("claude-code", tmp_path, subagentStart=handler)
    )
    assert MODELS["claude-code"]("PreToolUse", HookResult(sent.exit_code, sent.stdout)).blocked
    assert [event.subagent_type for event in handler.events if isinstance(event, SubagentStart)] == ["shell"]


FOLLOW_UP_AGENTS = [name for name in AGENTS if "follow_up" in CAPABILITIES.get(name, {}).get("stop", frozenset())]
STOP_VERDICTS = {
    "deny": Verdict(permission=DENY, user_message="tests fail"),
    "follow-up": Verdict(follow_up="tests fail"),
}


@pytest.mark.parametrize("verdict", STOP_VERDICTS.values(), ids=STOP_VERDICTS)
@pytest.mark.parametrize("name", FOLLOW_UP_AGENTS)
def test_denied_stop_continues_with_the_reason_up_to_a_limit(name: str, verdict: Verdict, tmp_path: Path) -> None:
    agent = get_agent(name)
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == "stop")
    payload = write_event(agent, Stop(conversation_id="c", workspace_roots=("/w",)))
    ends = []
    for _ in range(7):
        sent, _ = answer(build_call(payload), build_context(name, tmp_path, theirs, stop=RecordingHandler(verdict)))
        ends.append(MODELS[name](theirs, HookResult(sent.exit_code, sent.stdout, sent.stderr)).goes_on)
    assert ends == ["tests fail"] * 5 + [""] * 2


def test_question_at_a_stop_is_limited(tmp_path: Path) -> None:
    payload = write_event(get_agent("codex"), Stop(conversation_id="c"))
    handler = RecordingHandler(Verdict(permission=ASK, user_message="tests?"))
    ends = [answer(build_call(payload), build_context("codex", tmp_path, stop=handler))[0].stdout for _ in range(7)]
    assert [MODELS["codex"]("Stop", HookResult(stdout=end)).goes_on for end in ends] == ["tests?"] * 5 + [""] * 2


def test_loss_in_the_reply_form_is_reported(tmp_path: Path) -> None:
    body = {"hook_event_name": "SessionStart", "session_id": "s", "timestamp": "t", "cwd": "/w"}
    handler = RecordingHandler(Verdict(context="know"))
    sent, outcome = answer(
        build_call(json.dumps(body).encode()), build_context("copilot", tmp_path, "SessionStart", sessionStart=handler)
    )
    assert [loss.what for loss in sent.losses] == ["context"]
    assert outcome.losses == sent.losses


def test_reply_names_the_event_of_the_payload(tmp_path: Path) -> None:
    body = {"hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "t", "cwd": "/w"}
    tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    handler = RecordingHandler(Verdict(permission=DENY, user_message="no"))
    sent, _ = answer(
        build_call(json.dumps({**body, **tool}).encode()), build_context("copilot", tmp_path, preToolUse=handler)
    )
    assert MODELS["copilot"]("PreToolUse", HookResult(sent.exit_code, sent.stdout)).blocked


EDITED_INPUTS = {
    "claude-code": ("PreToolUse", "Bash", {"command": "ls"}),
    "codex": ("PreToolUse", "Bash", {"command": "ls"}),
    "gemini-cli": ("BeforeTool", "run_shell_command", {"command": "ls"}),
    "copilot": ("preToolUse", "bash", {"command": "ls"}),
    "factory-droid": ("PreToolUse", "Execute", {"command": "ls"}),
    "cline": ("tool_call", "run_commands", {"commands": ["ls"]}),
    "opencode": ("tool.execute.before", "bash", {"command": "ls"}),
}


@pytest.mark.parametrize("name", EDITED_INPUTS)
def test_edited_input_has_the_names_of_the_agent(name: str, tmp_path: Path) -> None:
    theirs, tool, wanted = EDITED_INPUTS[name]
    agent = get_agent(name)
    payload = write_event(agent, EVENTS["preToolUse"](tool_name="Shell", tool_input={"command": "rm x"}))  # type: ignore[call-arg]
    assert tool in payload.decode()
    assert read_event(agent, payload, theirs).wire_name == "preToolUse"
    handler = RecordingHandler(Verdict(edited_input={"command": "ls"}))
    sent, _ = answer(build_call(payload), build_context(name, tmp_path, theirs, preToolUse=handler))
    assert MODELS[name](theirs, HookResult(sent.exit_code, sent.stdout)).edited == wanted
