"""Replies to every agent at every event have the effect of the verdict, or report a Loss; they are never weaker.

The expected tables are written from hosts.md 3, not from `src`; the models in test_agent_models say what an agent does
with a reply. Removing any row of an agent's data must fail one of these tests, and a test checks that.
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
from test_agent_models import MODELS, Effect, Given, native, together
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

# -- what agents hear, read from hosts.md 3 and for Cursor from cursor-protocol.md 1.3


def table(text: str) -> dict[str, frozenset[str]]:
    """`event: word word` in lines."""
    return {event: frozenset(words.split()) for event, words in (line.split(": ") for line in text.split("\n") if line)}


LIKE_CLAUDE = """sessionStart: context
beforeSubmitPrompt: deny context
postToolUse: context
stop: follow_up
subagentStop: follow_up
"""

HEARD: dict[str, dict[str, frozenset[str]]] = {
    "cursor": table(
        """sessionStart: deny allow env context
beforeSubmitPrompt: deny allow context
preToolUse: deny allow edited_input context
postToolUse: context replaced_output
postToolUseFailure: context
beforeShellExecution: deny allow
beforeMCPExecution: deny allow
beforeReadFile: deny allow
beforeTabFileRead: deny allow
subagentStart: deny allow
subagentStop: follow_up
stop: follow_up
workspaceOpen: plugin_paths"""
    ),
    "claude-code": table(LIKE_CLAUDE + "preToolUse: deny ask allow edited_input context"),
    "codex": table(LIKE_CLAUDE + "preToolUse: deny edited_input context"),
    "gemini-cli": table(LIKE_CLAUDE + "preToolUse: deny allow edited_input"),
    "qwen-code": table(LIKE_CLAUDE + "preToolUse: deny ask"),
    "copilot": table(LIKE_CLAUDE + "preToolUse: deny ask allow edited_input context"),
    "factory-droid": table(LIKE_CLAUDE + "preToolUse: deny edited_input"),
    "openhands": table(
        "sessionStart: context\nbeforeSubmitPrompt: deny context\npreToolUse: deny allow\nstop: follow_up"
    ),
    "cline": table(
        "preToolUse: deny edited_input context\npostToolUse: context\nbeforeSubmitPrompt: deny context",
    ),
    "opencode": table("preToolUse: deny edited_input\nbeforeSubmitPrompt: deny"),
    "windsurf": dict.fromkeys(
        ("beforeShellExecution", "beforeReadFile", "beforeMCPExecution", "preToolUse", "beforeSubmitPrompt"),
        frozenset({"deny"}),
    ),
    "generic": {name: frozenset({"deny"}) for name, cls in EVENTS.items() if cls.contract.refusable},
}
ONE_TEXT = {"copilot", "openhands", "opencode"}
"""Where a refusal has one text, which is the model's."""
ONE_TEXT_FOR_BOTH = {"cline", "windsurf", "generic"}

PRE = {"hookSpecificOutput.hookEventName", "hookSpecificOutput.permissionDecision"}
PRE |= {"hookSpecificOutput.permissionDecisionReason", "hookSpecificOutput.updatedInput"}
CONTEXT = {"hookSpecificOutput.hookEventName", "hookSpecificOutput.additionalContext"}
BLOCK = {"decision", "reason"}

CLAUDE_KEYS: dict[str, set[str]] = {
    "preToolUse": PRE | CONTEXT | {"systemMessage"},
    "beforeSubmitPrompt": BLOCK | CONTEXT | {"systemMessage"},
    "sessionStart": CONTEXT | {"systemMessage"},
    "postToolUse": CONTEXT | {"systemMessage"},
    "stop": BLOCK | {"systemMessage"},
    "subagentStop": BLOCK | {"systemMessage"},
    "*": {"systemMessage"},
}
COPILOT_KEYS: dict[str, set[str]] = {
    "preToolUse": {"permissionDecision", "permissionDecisionReason", "modifiedArgs", "additionalContext"},
    "beforeSubmitPrompt": BLOCK | {"additionalContext"},
    "sessionStart": {"additionalContext"},
    "postToolUse": {"additionalContext"},
    "stop": BLOCK,
    "subagentStop": BLOCK,
    "*": set(),
}
KEYS: dict[str, dict[str, set[str]]] = {
    **dict.fromkeys(("claude-code", "codex", "qwen-code", "factory-droid"), CLAUDE_KEYS),
    "gemini-cli": {
        "preToolUse": BLOCK | {"systemMessage", "hookSpecificOutput.hookEventName", "hookSpecificOutput.tool_input"},
        **dict.fromkeys(("beforeSubmitPrompt", "sessionStart", "postToolUse"), BLOCK | CONTEXT | {"systemMessage"}),
        "*": BLOCK | {"systemMessage"},
    },
    "copilot": COPILOT_KEYS,
    "openhands": {"*": BLOCK | {"additionalContext"}},
    "cline": {"*": {"cancel", "errorMessage", "contextModification", "overrideInput"}},
    "opencode": {"*": {"deny", "reason", "args", "context"}},
    "windsurf": {"*": set()},
    "generic": {"*": set()},
}
"""The keys that hosts.md 1 and 3 name for an answer at this event."""

VERDICTS: dict[str, Verdict] = {
    "silence": Verdict(),
    "allow": Verdict(permission=ALLOW),
    "allow with a word": Verdict(permission=ALLOW, user_message="fine"),
    "ask": Verdict(permission=ASK, user_message="sure?"),
    "ask in two texts": Verdict(permission=ASK, user_message="sure?", agent_message="wait"),
    "deny": Verdict(permission=DENY, user_message="no", agent_message="no"),
    "deny without a word": Verdict(permission=DENY),
    "deny with blanks": Verdict(permission=DENY, user_message="\n", agent_message=" "),
    "deny to the person": Verdict(permission=DENY, user_message="no"),
    "deny to the model": Verdict(permission=DENY, agent_message="no"),
    "deny in two texts": Verdict(permission=DENY, user_message="ask Jo", agent_message="not this way"),
    "deny with half an emoji": Verdict(permission=DENY, user_message="\ud83d", agent_message="\udcff é\u2028"),
    "edit": Verdict(edited_input={"command": "ls"}),
    "edit to nothing": Verdict(edited_input={}),
    "edit and allow": Verdict(edited_input={"command": "ls"}, permission=ALLOW),
    "edit and ask": Verdict(edited_input={"command": "ls"}, permission=ASK, user_message="sure?"),
    "edit and deny": Verdict(edited_input={"command": "ls"}, permission=DENY, user_message="no"),
    "context": Verdict(context="know"),
    "context and allow": Verdict(context="know", permission=ALLOW),
    "context and ask": Verdict(context="know", permission=ASK, user_message="sure?"),
    "context and deny": Verdict(context="know", permission=DENY, user_message="no"),
    "context and edit": Verdict(context="know", edited_input={"command": "ls"}),
    "follow-up": Verdict(follow_up="go on"),
    "follow-up and deny": Verdict(follow_up="go on", permission=DENY, user_message="no"),
    "follow-up and ask": Verdict(follow_up="go on", permission=ASK, user_message="sure?"),
    "variables": Verdict(env={"A": "b"}),
    "another output": Verdict(replaced_output={"x": 1}),
    "no output": Verdict(replaced_output={}),
    "plugins": Verdict(plugin_paths=("/p",)),
    "a word": Verdict(user_message="by the way"),
    "everything, refused": Verdict(
        permission=DENY,
        user_message="no",
        agent_message="never",
        edited_input={"a": 1},
        context="know",
        follow_up="go on",
        env={"A": "b"},
        replaced_output={"x": 1},
        plugin_paths=("/p",),
    ),
    "everything, allowed": Verdict(
        permission=ALLOW,
        edited_input={"a": 1},
        context="know",
        follow_up="go on",
        env={"A": "b"},
        replaced_output={"x": 1},
        plugin_paths=("/p",),
    ),
}
OTHERS = (
    Capability.EDIT,
    Capability.CONTEXT,
    Capability.FOLLOW_UP,
    Capability.ENV,
    Capability.REPLACE,
    Capability.PLUGINS,
)


class Said(NamedTuple):
    """What went out at an event, what came of it, and what was lost."""

    agent: Agent
    theirs: str
    contract: Contract
    answer: AgentReply
    effect: Effect
    losses: tuple[Loss, ...]


def say(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> Said:
    contract = EVENTS[ours].contract
    said, losses = fit_verdict(agent, contract, verdict)
    sent = agent.reply_form(agent, theirs, ours, said)
    effect = MODELS[agent.name](theirs, Given(sent.exit_code, sent.stdout, sent.stderr))
    return Said(agent, theirs, contract, sent, effect, (*losses, *sent.losses))


def hears(said: Said) -> frozenset[str]:
    """What this agent hears at this event, by the table; under Claude Code's spelling Copilot takes less context."""
    heard = HEARD[said.agent.name].get(said.contract.name, frozenset())
    foreign = said.agent.name == "copilot" and said.theirs[0].isupper() and said.contract.name != "preToolUse"
    return heard - {"context"} if foreign else heard


def lost_of(said: Said, verdict: Verdict) -> list[str]:
    """What must be lost of a verdict here, by the tables."""
    heard, wanted, name = hears(said), verdict.permission, said.contract.name
    lost: list[str] = []
    refused = wanted >= ASK and "deny" in heard and not (wanted is ASK and "ask" in heard)
    goes_on = "follow_up" in heard and wanted >= ASK
    implied = said.agent.name == "codex" and name == "preToolUse" and verdict.edited_input is not None
    if wanted and wanted.word not in heard and not goes_on:
        lost += [wanted.word] if wanted >= ASK or (said.contract.refusable and not implied) else []
    if refused and (said.agent.name, name) == ("cursor", "sessionStart"):
        lost.append("deny")  # said, and the editor does not act on it
    for power in OTHERS:
        value = getattr(verdict, power.value)
        empty = value in (None, "", ()) or (power is Capability.ENV and not value)
        empty = empty or (power is Capability.FOLLOW_UP and not _next_words(verdict))
        if not empty and power.value not in heard and not (power is Capability.EDIT and refused):
            lost.append(power.value)
    spoken = (
        refused
        or goes_on
        or (wanted is ASK and "ask" in heard)
        or ("follow_up" in heard and bool(_next_words(verdict)))
    )
    return [*lost, *_texts_lost(said, verdict, spoken=spoken)]


def _texts_lost(said: Said, verdict: Verdict, *, spoken: bool) -> list[str]:
    user, agent, name = verdict.user_message, verdict.agent_message, said.agent.name
    if (name, said.contract.name) == ("cursor", "beforeTabFileRead"):
        return ["user_message"] if spoken and (user or agent) else []
    if name == "cursor" and said.contract.name in {"stop", "subagentStop"}:
        return ["user_message"] if spoken and user not in {"", said.effect.goes_on} else []
    if not user or name not in ONE_TEXT | ONE_TEXT_FOR_BOTH:
        return []
    if spoken:
        return ["user_message"] if name in ONE_TEXT and agent.strip() and user != agent else []
    return ["user_message"] if verdict.permission < ASK else []


# -- the laws


def broken(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> list[str]:
    """Every law that the answer of this agent at this event breaks; one line each."""
    said = say(agent, theirs, ours, verdict)
    return [*_weaker(said, verdict), *_unsaid(said, verdict), *_misspoken(said, verdict)]


def _next_words(verdict: Verdict) -> str:
    """Blanks are no message."""
    return verdict.follow_up if verdict.follow_up.strip() else ""


def _weaker(said: Said, verdict: Verdict) -> Iterator[str]:
    heard, effect, wanted = hears(said), said.effect, verdict.permission
    stops = effect.blocked or bool(effect.goes_on)
    if wanted is DENY and heard & {"deny", "follow_up"} and not stops:
        yield "a refusal refused nothing"
    if wanted is ASK and heard & {"deny", "ask", "follow_up"} and not (stops or effect.asked):
        yield "a question neither asked nor refused"
    if wanted is ASK and effect.asked != ("ask" in heard):
        yield "it asked where nobody is asked, or did not where somebody is"
    if wanted < ASK and (effect.blocked or effect.asked):
        yield "something was refused that nobody refused"
    if wanted < ASK and effect.goes_on != (_next_words(verdict) if "follow_up" in heard else ""):
        yield "it goes on with something else, or does not"
    outspoken = said.agent.name == "cursor" or (said.agent.name == "codex" and verdict.edited_input is not None)
    if effect.allowed and wanted is not ALLOW and not outspoken:
        yield "an allow that nobody said"
    if wanted is ALLOW and "allow" in heard and not effect.allowed:
        yield "an allow that was heard and not said"
    if stops and not (effect.reason.strip() or effect.goes_on.strip()) and said.agent.name != "cursor":
        yield "a refusal without a reason"


def _unsaid(said: Said, verdict: Verdict) -> Iterator[str]:
    heard, effect = hears(said), said.effect
    if sorted(loss.what for loss in said.losses) != sorted(lost_of(said, verdict)):
        yield f"lost {[loss.what for loss in said.losses]}, expected {lost_of(said, verdict)}"
    for loss in said.losses:
        if loss.agent != said.agent.name or " " not in loss.why or loss.why.endswith("."):
            yield f"no sentence: {loss}"
    if "context" in heard and effect.context != verdict.context and not effect.blocked:
        yield "context was not delivered"
    wanted = verdict.edited_input if "edited_input" in heard and not effect.blocked else None
    if wanted is not None and effect.edited != wanted:
        yield "the changed input was not taken"
    if effect.blocked and effect.edited is not None:
        yield "a refused action with another input"
    if said.agent.name == "cursor":
        yield from _unsaid_to_cursor(said, verdict)
    stops = effect.blocked or effect.asked or bool(effect.goes_on and not _next_words(verdict))
    everything = json.dumps([said.answer.stdout, said.answer.stderr])
    lost = {loss.what for loss in said.losses}
    for what in ("user_message", "agent_message"):
        text = json.dumps(json.dumps(getattr(verdict, what))[1:-1])[1:-1] if said.answer.stdout else ""
        text = text or json.dumps(getattr(verdict, what))[1:-1]
        unsaid = getattr(verdict, what).strip() and text not in everything
        if verdict.permission >= ASK and stops and unsaid and not {what, "user_message"} & lost:
            yield f"{what} was not said"


def _unsaid_to_cursor(said: Said, verdict: Verdict) -> Iterator[str]:
    body = json.loads(said.answer.stdout)
    keys = {"env": "env", "replaced_output": "updated_mcp_tool_output", "plugin_paths": "pluginPaths"}
    for field, key in keys.items():
        value = json.loads(json.dumps(getattr(verdict, field)))
        if field in hears(said) and value not in (None, [], {}) and body.get(key) != value:
            yield f"{field} was not said"


def _misspoken(said: Said, verdict: Verdict) -> Iterator[str]:
    name, sent = said.agent.name, said.answer
    if sent.exit_code not in {0, 2} or (sent.exit_code == 2) != (
        name in {"windsurf", "generic"} and said.effect.blocked and verdict.permission >= ASK
    ):
        yield f"exit code {sent.exit_code}"
    if not (sent.stdout + sent.stderr).encode("utf-8", "replace").isascii() and sent.stdout:
        yield "an answer that some reader cannot decode"
    if name in {"windsurf", "generic"}:
        if sent.stdout != ("" if sent.exit_code or name == "windsurf" else "{}"):
            yield "output beside the exit code"
        return
    body = json.loads(sent.stdout)
    if name == "cursor":
        yield from (error.message for error in VALIDATORS[said.contract.name].iter_errors(_whole(body)))
        return
    unknown = set(paths(body)) - keys_of(said)
    if unknown:
        yield f"keys that nobody there knows: {sorted(unknown)}"
    own = body.get("hookSpecificOutput", {})
    if own and own["hookEventName"] != said.theirs:
        yield "an answer to another event"
    if name == "qwen-code" and own.get("permissionDecision") == "allow":
        yield "an allow, which cancels another hook's refusal"
    if name == "codex" and (own.get("permissionDecision") == "allow") != ("updatedInput" in own):
        yield "an allow without a changed input, or the other way round"


def keys_of(said: Said) -> set[str]:
    tables = CLAUDE_KEYS if said.agent.name == "copilot" and said.theirs[0].isupper() else KEYS[said.agent.name]
    return tables.get(said.contract.name, tables["*"])


def paths(body: dict[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        if key == "hookSpecificOutput":
            yield from (f"{key}.{inner}" for inner in value)
        else:
            yield key


def _whole(value: Any) -> Any:
    """Without half emojis: the validator is written in Rust, where they are no text."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


VALIDATORS = {name: jsonschema_rs.Draft202012Validator(build_reply_schema(name)) for name in EVENTS}

NEWEST = {"cursor": "3.21.16"}
"""The versions for which the table above is written; other agents have no quirks by version."""


def now(name: str) -> Agent:
    return get_agent(name).at(NEWEST.get(name, ""))


PAIRS = [(name, theirs) for name in AGENTS for theirs in get_agent(name).events]


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_every_verdict_has_its_effect_or_is_a_loss_and_is_never_weaker(name: str, theirs: str) -> None:
    agent = now(name)
    found = {word: broken(agent, theirs, agent.events[theirs], verdict) for word, verdict in VERDICTS.items()}
    assert {word: lines for word, lines in found.items() if lines} == {}


@pytest.mark.parametrize("name,theirs", PAIRS)
@settings(max_examples=6)
@given(verdict=our.verdicts)
def test_so_has_every_verdict_that_can_be_drawn(name: str, theirs: str, verdict: Verdict) -> None:
    assert broken(now(name), theirs, now(name).events[theirs], verdict) == []


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_an_event_that_only_observes_loses_a_refusal_once(name: str, theirs: str) -> None:
    agent = now(name)
    ours = agent.events[theirs]
    if HEARD[name].get(ours, frozenset()) & {"deny", "follow_up"}:
        return
    for verdict in (VERDICTS["deny"], VERDICTS["deny in two texts"], VERDICTS["ask"], VERDICTS["edit and deny"]):
        losses = [loss for loss in say(agent, theirs, ours, verdict).losses if loss.what != "edited_input"]
        assert [loss.what for loss in losses] == [verdict.permission.word]


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_silence_is_the_answer_that_no_agent_takes_for_anything(name: str, theirs: str) -> None:
    said = say(now(name), theirs, now(name).events[theirs], Verdict())
    answers: list[dict[str, Any]] = [{"permission": "allow"}, {"continue": True}, {}]
    assert (said.answer.exit_code, said.answer.stderr, said.losses) == (0, "", ())
    assert said.answer.stdout == "" if name == "windsurf" else json.loads(said.answer.stdout) in answers


@pytest.mark.parametrize("name,theirs", PAIRS)
def test_silence_is_settled_at_once_as_it_is_the_long_way(name: str, theirs: str) -> None:
    agent = now(name)
    contract = EVENTS[agent.events[theirs]].contract
    assert fit_verdict(agent, contract, NO_OPINION) == fit_verdict(agent, contract, Verdict()) == (Verdict(), ())
    assert merge([]) == Decision()


def test_the_tables_here_have_every_agent() -> None:
    assert set(HEARD) == set(MODELS) == set(AGENTS)
    assert set(KEYS) | {"cursor"} == set(AGENTS)


SPECIAL = {
    "ask on a prompt": ("beforeSubmitPrompt", {"continue": False, "user_message": "sure?"}),
    "ask on a read": ("beforeReadFile", {"permission": "deny", "user_message": "sure?"}),
    "ask on a read for Tab": ("beforeTabFileRead", {"permission": "deny"}),
    "ask before any tool": ("preToolUse", {"permission": "deny", "user_message": "sure?", "agent_message": "sure?"}),
    "ask on a sub-agent": ("subagentStart", {"permission": "deny", "user_message": "sure?"}),
}


@pytest.mark.parametrize("ours,body", SPECIAL.values(), ids=SPECIAL)
def test_what_cursor_cannot_ask_about_it_is_told_to_refuse(ours: str, body: dict[str, Any]) -> None:
    said = say(now("cursor"), ours, ours, Verdict(permission=ASK, user_message="sure?"))
    assert json.loads(said.answer.stdout) == body
    assert "sent as deny" in said.losses[0].why


def test_both_texts_of_a_refusal_are_in_the_one_key_that_cursor_has_for_a_read() -> None:
    verdict = Verdict(permission=DENY, user_message="ask Jo", agent_message="not this way")
    said = say(now("cursor"), "beforeReadFile", "beforeReadFile", verdict)
    assert json.loads(said.answer.stdout)["user_message"] == "ask Jo\n\nnot this way"


# -- another hook's refusal stands

SOFT = ("silence", "allow", "context", "allow with a word", "follow-up", "edit and allow")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"cursor", "windsurf", "generic", "opencode"}])
@pytest.mark.parametrize("word", SOFT)
def test_no_answer_of_ours_undoes_what_another_hook_refused(name: str, word: str) -> None:
    agent = now(name)
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == "preToolUse")
    sent = say(agent, theirs, "preToolUse", VERDICTS[word]).answer
    ours = Given(sent.exit_code, sent.stdout, sent.stderr)
    refusals = [Given(0, json.dumps(native(name, reason="r")))]
    refusals += [Given(2, "", "r")] if name != "cline" else []
    for refusal in refusals:
        assert together(name, theirs, [ours, refusal])
        assert together(name, theirs, [refusal, ours])


# -- versions

ASKED = ["2.4.20", "2.4", "2.0.64", "1.7.1"]
REFUSED = ["2.4.21", "2.4.22", "2.5", "3.2.16", "3.9.16", "3.21.16", "4.0.0", "10.1", "3"]
DATED = ["2026.07.23-e383d2b", "2026.01.28", "2025.09.18-7ae6800", "2027.01.01"]
UNKNOWN = ["", "dev", "unknown", "nightly-3.2", "?"]


@pytest.mark.parametrize("ours", ["beforeShellExecution", "beforeMCPExecution"])
@pytest.mark.parametrize("version", [*ASKED, *REFUSED, *DATED, *UNKNOWN])
def test_cursor_is_asked_only_in_versions_that_ask(version: str, ours: str) -> None:
    said = say(get_agent("cursor").at(version), ours, ours, Verdict(permission=ASK, user_message="sure?"))
    assert said.effect.asked == (version in ASKED)
    assert said.effect.blocked == (version not in ASKED)
    assert [loss.what for loss in said.losses] == ([] if version in ASKED else ["ask"])


def test_a_person_who_knows_better_may_believe_in_asking() -> None:
    for version in (*REFUSED, *DATED, *UNKNOWN):
        agent = get_agent("cursor").at(version, believing=frozenset({Capability.ASK}))
        said = say(agent, "beforeShellExecution", "beforeShellExecution", VERDICTS["ask"])
        assert said.effect.asked
        assert not say(agent, "preToolUse", "preToolUse", VERDICTS["ask"]).effect.asked


PROMPTED = ["3.9.16", "3.20.17", "3.21.16", "4.0.0", "2026.07.23-e383d2b", "2027.01.01"]
UNPROMPTED = ["3.9.15", "2.4.21", "1.7", "2026.06.30-abc", *UNKNOWN]


@pytest.mark.parametrize("version", [*PROMPTED, *UNPROMPTED])
def test_context_on_a_prompt_is_delivered_where_it_was_seen_to_arrive(version: str) -> None:
    agent = get_agent("cursor").at(version)
    said = say(agent, "beforeSubmitPrompt", "beforeSubmitPrompt", Verdict(context="know"))
    assert said.effect.context == ("know" if version in PROMPTED else "")
    assert [loss.what for loss in said.losses] == ([] if version in PROMPTED else ["context"])


@pytest.mark.parametrize("version", [*ASKED, *REFUSED, *DATED, *UNKNOWN])
def test_in_no_version_is_a_refusal_weaker_or_an_edit_lost_in_silence(version: str) -> None:
    agent = get_agent("cursor").at(version)
    for ours in EVENTS:
        for word in ("deny", "deny without a word", "edit", "edit and deny", "follow-up", "follow-up and deny"):
            assert broken(agent, ours, ours, VERDICTS[word]) == [], (ours, word)


def test_dated_builds_are_on_a_scale_of_their_own() -> None:
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

ROWS = [
    pytest.param(name, event, power, id=f"{name}-{event}-{power}")
    for name in AGENTS
    for event, powers in now(name).capabilities.items()
    for power in sorted(powers)
    if event in get_agent(name).events.values()
]


def is_broken(agent: Agent, event: str = "") -> bool:
    """Whether a law is, at this event or at any."""
    raised = [(theirs, ours) for theirs, ours in agent.events.items() if event in {"", ours}]
    return any(broken(agent, theirs, ours, verdict) for theirs, ours in raised for verdict in VERDICTS.values())


@pytest.mark.parametrize("name,event,power", ROWS)
def test_a_power_that_is_taken_away_is_missed(name: str, event: str, power: Capability) -> None:
    agent = now(name)
    less = {**agent.capabilities, event: agent.capabilities[event] - {power}}
    assert is_broken(msgspec.structs.replace(agent, capabilities=less), event)


EVENTS_OF = [(name, event) for name in AGENTS for event in dict.fromkeys(get_agent(name).events.values())]


def not_heard(name: str, event: str) -> Iterator[Capability]:
    """What this agent does not have there; an allow means nothing after the fact, and what Cursor cannot ask about the
    writer of its replies refuses, whatever is said here."""
    for power in Capability:
        idle = power is Capability.ALLOW and not EVENTS[event].contract.refusable
        if (
            power not in now(name).capabilities.get(event, frozenset())
            and not idle
            and (name, power) != ("cursor", Capability.ASK)
        ):
            yield power


@pytest.mark.parametrize("name,event", EVENTS_OF)
def test_a_power_that_an_agent_does_not_have_is_found_out(name: str, event: str) -> None:
    agent = now(name)
    for power in not_heard(name, event):
        more = {**agent.capabilities, event: agent.capabilities.get(event, frozenset()) | {power}}
        assert is_broken(msgspec.structs.replace(agent, capabilities=more), event), power


@pytest.mark.parametrize(
    "row", get_agent("cursor").version_quirks, ids=lambda quirk: f"{quirk.event}-{quirk.capability}-{quirk.since}"
)
def test_a_quirk_that_is_taken_away_is_missed(row: VersionQuirk) -> None:
    agent = get_agent("cursor")
    without = msgspec.structs.replace(
        agent, version_quirks=tuple(quirk for quirk in agent.version_quirks if quirk != row)
    )
    verdict = (
        Verdict(permission=ASK, user_message="sure?") if row.capability is Capability.ASK else Verdict(context="know")
    )
    said = [say(one.at(row.since), row.event, row.event, verdict).answer.stdout for one in (agent, without)]
    assert said[0] != said[1]


FLAGS: dict[str, tuple[str, dict[str, Any]]] = {
    "an edit of Codex goes beside an allow": ("codex", {"edit_implies_allow": False}),
    "Claude Code takes an edit without an allow that nobody said": ("claude-code", {"edit_implies_allow": True}),
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


@pytest.mark.parametrize("name,change", FLAGS.values(), ids=FLAGS)
def test_a_fact_about_how_an_agent_is_answered_that_is_changed_is_missed(name: str, change: dict[str, Any]) -> None:
    assert not is_broken(now(name))
    assert is_broken(msgspec.structs.replace(now(name), **change))


WHY = {
    ("cursor", "ask"): "not reliable",
    ("codex", "ask"): "runs what it is told to ask about",
    ("codex", "allow"): "only together with a changed input",
    ("gemini-cli", "ask"): "would go on",
    ("qwen-code", "allow"): "cancel another hook's refusal",
    ("qwen-code", "edited_input"): "does not apply",
    ("qwen-code", "context"): "after a tool only",
    ("windsurf", "ask"): "knows no ask",
    ("factory-droid", "ask"): "runs what it is told to ask about",
    ("factory-droid", "allow"): "beat a later refusal",
    ("factory-droid", "context"): "after a tool only",
    ("cline", "ask"): "does nothing without a person",
    ("opencode", "ask"): "never calls it",
    ("openhands", "ask"): "would go on",
}
SAYING = {"ask": "ask", "allow": "allow", "edited_input": "edit", "context": "context"}


@pytest.mark.parametrize("name,what", WHY)
def test_a_loss_says_what_the_agent_would_have_done(name: str, what: str) -> None:
    agent = now(name)
    event = "beforeShellExecution" if name in {"cursor", "windsurf"} else "preToolUse"
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == event)
    losses = [loss.why for loss in say(agent, theirs, event, VERDICTS[SAYING[what]]).losses if loss.what == what]
    assert WHY[name, what] in losses[0]
    assert {(name, power.value) for name in AGENTS for power in get_agent(name).unsupported_reasons} == set(WHY)


# -- the vocabulary of tools, from hosts.md 5 and the agents' own lists

TOOLS = """
claude-code   Bash              Shell  command
claude-code   Write             Write  file_path content
claude-code   Edit              Write  file_path old_string new_string
claude-code   MultiEdit         Write  file_path edits
claude-code   NotebookEdit      Write  file_path=notebook_path content=new_source
claude-code   Read              Read   file_path
claude-code   LS                LS     file_path=path
claude-code   Agent             Task   prompt subagent_type
codex         Bash              Shell  command
codex         apply_patch       Write  patch=command
gemini-cli    run_shell_command Shell  command
gemini-cli    write_file        Write  file_path content
gemini-cli    replace           Write  file_path old_string new_string
gemini-cli    read_file         Read   file_path
gemini-cli    read_many_files   Read   file_path=include
gemini-cli    grep_search       Grep   pattern
gemini-cli    search_file_content Grep pattern
gemini-cli    list_directory    LS     file_path=dir_path
qwen-code     run_shell_command Shell  command
qwen-code     write_file        Write  file_path content
qwen-code     edit              Write  file_path old_string new_string
qwen-code     replace           Write  file_path old_string new_string
qwen-code     read_file         Read   file_path
qwen-code     grep_search       Grep   pattern
qwen-code     list_directory    LS     file_path=path
qwen-code     agent             Task   prompt
qwen-code     task              Task   prompt
copilot       bash              Shell  command
copilot       powershell        Shell  command
copilot       create            Write  file_path=path content=file_text
copilot       edit              Write  file_path=path old_string=old_str new_string=new_str
copilot       view              Read   file_path=path
copilot       grep              Grep   pattern
copilot       task              Task   prompt
copilot       Bash              Shell  command
copilot       Write             Write  file_path=path content=file_text
copilot       Edit              Write  file_path=path old_string=old_str new_string=new_str
copilot       Edit              Write  file_path old_string new_string
copilot       Read              Read   file_path=path
factory-droid Execute           Shell  command
factory-droid Create            Write  file_path content
factory-droid Edit              Write  file_path old_string=old_str new_string=new_str
factory-droid ApplyPatch        Write  input
factory-droid Read              Read   file_path
opencode      bash              Shell  command
opencode      write             Write  file_path=filePath content
opencode      edit              Write  file_path=filePath old_string=oldString new_string=newString
opencode      apply_patch       Write  patch=patchText
opencode      read              Read   file_path=filePath
opencode      grep              Grep   pattern
opencode      list              LS     file_path=path
opencode      task              Task   prompt
opencode      plan_exit         plan_exit reason
opencode      plan_enter        plan_enter reason
openhands     terminal          Shell  command
cline         editor            Write  file_path=path content=new_text
cline         editor            Write  file_path=path old_string=old_text new_string=new_text
cline         execute_command   Shell  command
cline         write_to_file     Write  file_path=path content
cline         replace_in_file   Write  file_path=path diff
cline         read_file         Read   file_path=path
cline         search_files      Grep   pattern=regex file_path=path
cline         list_files        LS     file_path=path
"""


class Named(NamedTuple):
    """A tool of an agent with its input, and both in our words."""

    agent: str
    theirs: str
    given: dict[str, Any]
    ours: str
    meant: dict[str, Any]


def vocabulary() -> Iterator[Named]:
    yield Named("cline", "run_commands", {"commands": ["a"]}, "Shell", {"command": "a"})
    yield Named("cline", "run_commands", {"commands": ["a", "b"]}, "Shell", {"command": ["a", "b"]})
    yield Named("cline", "read_files", {"files": [{"path": "/a"}]}, "Read", {"file_path": "/a"})
    yield Named("openhands", "file_editor", {"command": "view", "path": "/a"}, "Read", {"file_path": "/a"})
    made = {"command": "create", "path": "/a", "file_text": "x"}
    yield Named("openhands", "file_editor", made, "Write", {"file_path": "/a", "content": "x"})
    changed = {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"}
    yield Named("openhands", "file_editor", changed, "Write", {"file_path": "/a", "old_string": "x", "new_string": "y"})
    undone = {"command": "undo_edit", "path": "/a"}
    yield Named("openhands", "file_editor", undone, "Write", {"command": "undo_edit", "file_path": "/a"})
    yield Named("openhands", "echo", {"data": {"a": 1}, "kind": "MCPToolAction"}, "MCP:echo", {"a": 1})
    for line in TOOLS.strip().splitlines():
        agent, theirs, ours, *fields = line.split()
        pairs = [(field.partition("=")[0], field.partition("=")[2] or field) for field in fields]
        yield Named(agent, theirs, {their: their for _, their in pairs}, ours, dict(pairs))
    for agent, theirs in {
        **dict.fromkeys(("claude-code", "codex", "qwen-code"), "mcp__srv__echo"),
        "gemini-cli": "mcp_srv_echo",
        "copilot": "srv-echo",
        "factory-droid": "srv___echo",
        "opencode": "srv_echo",
    }.items():
        yield Named(agent, theirs, {"a": 1}, "MCP:srv:echo", {"a": 1})


NAMED = list(vocabulary())


@pytest.mark.parametrize("row", NAMED, ids=lambda row: f"{row.agent}-{row.theirs}")
def test_a_tool_has_our_name_and_our_fields_and_back(row: Named) -> None:
    agent = get_agent(row.agent)
    assert translate_tool(agent, row.theirs, row.given) == (row.ours, row.meant)
    name, given_back = restore_tool(agent, row.ours, row.meant)
    assert translate_tool(agent, name, given_back) == (row.ours, row.meant)
    first = next(
        one for one in NAMED if (one.agent, one.ours, one.meant.keys()) == (row.agent, row.ours, row.meant.keys())
    )
    assert (name, given_back) == (row.theirs, row.given) or first != row


def test_a_changed_input_is_for_the_tool_that_was_called() -> None:
    edited = {"file_path": "/a", "content": "x"}
    notebook = restore_tool(get_agent("claude-code"), "Write", edited, own="NotebookEdit")
    assert notebook == ("NotebookEdit", {"notebook_path": "/a", "new_source": "x"})
    older = restore_tool(get_agent("cline"), "Shell", {"command": "ls"}, own="execute_command")
    assert older == ("execute_command", {"command": "ls"})
    assert restore_tool(get_agent("codex"), "Shell", {"command": "ls"}, own="unknown") == ("Bash", {"command": "ls"})


def is_misread(agent: Agent) -> bool:
    rows = [row for row in NAMED if row.agent == agent.name]
    return any(translate_tool(agent, row.theirs, row.given) != (row.ours, row.meant) for row in rows)


TRANSLATED = [
    pytest.param(name, tool, id=f"{name}-{tool.theirs}-{number}")
    for name in AGENTS
    for number, tool in enumerate(get_agent(name).tools)
    if name != "copilot" or tool not in get_agent("claude-code").tools  # those are tested there
]


@pytest.mark.parametrize("name,row", TRANSLATED)
def test_a_tool_that_is_taken_away_is_missed(name: str, row: Tool) -> None:
    agent = get_agent(name)
    same = not [key for key, theirs in row.fields.items() if key != theirs] and row.theirs == row.ours
    without = msgspec.structs.replace(agent, tools=tuple(tool for tool in agent.tools if tool is not row))
    assert is_misread(without) != (same and name != "opencode")


# -- whole calls


class Judge:
    """A handler that says the same each time and remembers what it was told."""

    def __init__(self, verdict: Verdict | None = None) -> None:
        self.verdict = verdict
        self.heard: list[Event] = []

    def __call__(self, event: Event) -> Verdict | None:
        self.heard.append(event)
        return self.verdict


def seat(agent: str, tmp_path: Path, event: str = "", **judges: Judge) -> AnswerContext:
    functions = [EventHandler(name=name, event=name, call=judge) for name, judge in judges.items()]
    return AnswerContext(get_agent(agent), functions, Sessions(tmp_path), event)


NUMBERS = itertools.count()


def called(payload: bytes) -> Call:
    return Call(id=str(next(NUMBERS)), payload=payload)  # the same call twice would count once


SHELLED = [name for name in AGENTS if {"preToolUse", "beforeShellExecution"} & set(get_agent(name).events.values())]


@pytest.mark.parametrize("name", SHELLED)
def test_a_handler_of_commands_and_one_of_tools_both_see_a_command_on_every_agent(name: str, tmp_path: Path) -> None:
    agent = get_agent(name)
    both, seen = (Judge(), Judge()), []
    for wire_name in ("preToolUse", "beforeShellExecution"):
        theirs = next((theirs for theirs, ours in agent.events.items() if ours == wire_name), "")
        if not theirs or (name == "windsurf" and wire_name == "preToolUse"):
            continue  # its event before a tool is that of a written file
        fields: dict[str, Any] = {"command": "rm x", "cwd": "/w"}
        if wire_name == "preToolUse":
            fields = {"tool_name": "Shell", "tool_input": {"command": "rm x"}, "cwd": "/w"}
        payload = write_event(agent, EVENTS[wire_name](conversation_id="c", workspace_roots=("/w",), **fields))
        answer(called(payload), seat(name, tmp_path, theirs, beforeShellExecution=both[0], preToolUse=both[1]))
        seen.append(wire_name)
    assert [getattr(event, "command", None) for event in both[0].heard] == ["rm x"]
    assert [getattr(event, "tool_input", None) for event in both[1].heard] == [{"command": "rm x"}]
    assert seen


def test_a_sub_agent_is_refused_where_the_agent_can_be_refused(tmp_path: Path) -> None:
    """Claude Code's own event for it only observes; the tool that starts it does not."""
    judge = Judge(Verdict(permission=DENY, user_message="not that one"))
    tool = {"tool_name": "Agent", "tool_input": {"subagent_type": "shell", "prompt": "x"}}
    body = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", **tool}
    sent, _ = answer(called(json.dumps(body).encode()), seat("claude-code", tmp_path, subagentStart=judge))
    assert MODELS["claude-code"]("PreToolUse", Given(sent.exit_code, sent.stdout)).blocked
    assert [event.subagent_type for event in judge.heard if isinstance(event, SubagentStart)] == ["shell"]


STOPPING = [name for name in AGENTS if "follow_up" in HEARD[name].get("stop", frozenset())]
REFUSALS = {"deny": Verdict(permission=DENY, user_message="tests fail"), "follow-up": Verdict(follow_up="tests fail")}


@pytest.mark.parametrize("verdict", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("name", STOPPING)
def test_a_refused_end_goes_on_with_the_reason_up_to_a_limit_of_ours(
    name: str, verdict: Verdict, tmp_path: Path
) -> None:
    agent = get_agent(name)
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == "stop")
    payload = write_event(agent, Stop(conversation_id="c", workspace_roots=("/w",)))
    ends = []
    for _ in range(7):
        sent, _ = answer(called(payload), seat(name, tmp_path, theirs, stop=Judge(verdict)))
        ends.append(MODELS[name](theirs, Given(sent.exit_code, sent.stdout, sent.stderr)).goes_on)
    assert ends == ["tests fail"] * 5 + [""] * 2


def test_a_question_at_the_end_is_limited_too(tmp_path: Path) -> None:
    payload = write_event(get_agent("codex"), Stop(conversation_id="c"))
    judge = Judge(Verdict(permission=ASK, user_message="tests?"))
    ends = [answer(called(payload), seat("codex", tmp_path, stop=judge))[0].stdout for _ in range(7)]
    assert [MODELS["codex"]("Stop", Given(stdout=end)).goes_on for end in ends] == ["tests?"] * 5 + [""] * 2


def test_what_is_lost_in_the_wording_is_shown_too(tmp_path: Path) -> None:
    body = {"hook_event_name": "SessionStart", "session_id": "s", "timestamp": "t", "cwd": "/w"}
    judge = Judge(Verdict(context="know"))
    sent, outcome = answer(
        called(json.dumps(body).encode()), seat("copilot", tmp_path, "SessionStart", sessionStart=judge)
    )
    assert [loss.what for loss in sent.losses] == ["context"]
    assert outcome.losses == sent.losses


def test_an_answer_names_the_event_that_the_payload_named(tmp_path: Path) -> None:
    body = {"hook_event_name": "PreToolUse", "session_id": "s", "timestamp": "t", "cwd": "/w"}
    tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    judge = Judge(Verdict(permission=DENY, user_message="no"))
    sent, _ = answer(called(json.dumps({**body, **tool}).encode()), seat("copilot", tmp_path, preToolUse=judge))
    assert MODELS["copilot"]("PreToolUse", Given(sent.exit_code, sent.stdout)).blocked


EDITED = {
    "claude-code": ("PreToolUse", "Bash", {"command": "ls"}),
    "codex": ("PreToolUse", "Bash", {"command": "ls"}),
    "gemini-cli": ("BeforeTool", "run_shell_command", {"command": "ls"}),
    "copilot": ("preToolUse", "bash", {"command": "ls"}),
    "factory-droid": ("PreToolUse", "Execute", {"command": "ls"}),
    "cline": ("tool_call", "run_commands", {"commands": ["ls"]}),
    "opencode": ("tool.execute.before", "bash", {"command": "ls"}),
}


@pytest.mark.parametrize("name", EDITED)
def test_a_changed_input_goes_back_under_the_agents_own_names(name: str, tmp_path: Path) -> None:
    theirs, tool, wanted = EDITED[name]
    agent = get_agent(name)
    payload = write_event(agent, EVENTS["preToolUse"](tool_name="Shell", tool_input={"command": "rm x"}))  # type: ignore[call-arg]
    assert tool in payload.decode()
    assert read_event(agent, payload, theirs).wire_name == "preToolUse"
    judge = Judge(Verdict(edited_input={"command": "ls"}))
    sent, _ = answer(called(payload), seat(name, tmp_path, theirs, preToolUse=judge))
    assert MODELS[name](theirs, Given(sent.exit_code, sent.stdout)).edited == wanted
