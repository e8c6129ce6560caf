"""What each agent makes of an answer: one small model each, held against every measured cell and every recording.

The other tests of agents ask these models whether a refusal of ours refuses. They are written from hosts.md 1, 3 and 4,
and from nothing in `src`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

KIT = Path(__file__).parents[2] / "shared" / "clients" / "agents"
AGENT_OF = {"copilot-cli": "copilot"}
"""Agents of the kit that we call by another name."""


class Given(NamedTuple):
    """What a hook's process left behind."""

    exit: int = 0
    stdout: str = ""
    stderr: str = ""

    @property
    def body(self) -> dict[str, Any] | None:
        """The answer, if all of standard output is one JSON object; no agent here forgives a line before it."""
        try:
            body = json.loads(self.stdout)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None


class Effect(NamedTuple):
    """What comes of it. An answer that asks is a refusal where nobody is there to be asked."""

    blocked: bool = False
    asked: bool = False
    allowed: bool = False
    goes_on: str = ""
    edited: Any = None
    context: str = ""
    reason: str = ""

    @property
    def result(self) -> str:
        """As the recordings call it."""
        return "blocked" if self.blocked or self.asked else "ran" if self.edited is None else "rewritten"


KINDS = {
    "before a tool": "PreToolUse BeforeTool preToolUse tool_call tool.execute.before pre_run_command pre_read_code "
    "pre_write_code pre_mcp_tool_use",
    "prompt": "UserPromptSubmit BeforeAgent userPromptSubmitted user_prompt_submit chat.message pre_user_prompt",
    "after a tool": "PostToolUse AfterTool postToolUse tool_result tool.execute.after",
    "start": "SessionStart sessionStart TaskStart TaskResume agent_start agent_resume session.created",
    "stop": "Stop SubagentStop AfterAgent agentStop subagentStop",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
TOOL, PROMPT, AFTER, START, STOP = KINDS


class Rules(NamedTuple):
    """How those differ that took Claude Code for a model."""

    silent_2_blocks: bool = True
    decision_blocks_tools: bool = True
    asks: bool = True
    edits: bool = True
    halts_before_tools: bool = False
    context: tuple[str, ...] = (START, PROMPT, TOOL, AFTER)
    plain_context: tuple[str, ...] = (START, PROMPT)
    ends_the_turn: tuple[int, ...] = ()


CLAUDE = Rules()
QWEN = Rules(silent_2_blocks=False, edits=False, halts_before_tools=True, context=(START, PROMPT, AFTER))
DROID = Rules(
    decision_blocks_tools=False,
    asks=False,
    halts_before_tools=True,
    context=(START, PROMPT, AFTER),
    plain_context=(START,),
    ends_the_turn=(3,),
)


def claudes(rules: Rules) -> Callable[[str, Given], Effect]:
    def heard(theirs: str, given: Given) -> Effect:
        kind, body = KIND_OF.get(theirs, ""), given.body or {}
        own = body.get("hookSpecificOutput", {})
        own = own if own.get("hookEventName") == theirs else {}
        by_code = (
            given.exit == 2 and (rules.silent_2_blocks or bool(given.stderr))
        ) or given.exit in rules.ends_the_turn
        word = own.get("permissionDecision") if kind == TOOL else None
        decided = body.get("decision") == "block" and (kind != TOOL or rules.decision_blocks_tools)
        halted = body.get("continue") is False and (kind == PROMPT or (kind == TOOL and rules.halts_before_tools))
        context = own.get("additionalContext", "") if kind in rules.context else ""
        if given.body is None and given.exit == 0 and kind in rules.plain_context:
            context = given.stdout
        if kind == STOP:
            says = body.get("reason", "") if decided else given.stderr if given.exit == 2 else ""
            return Effect(goes_on=says)
        blocked = kind in {TOOL, PROMPT} and (by_code or word == "deny" or decided or halted)
        reason = own.get("permissionDecisionReason") or body.get("reason") or given.stderr
        asked = word == "ask" and rules.asks and not blocked
        edited = own.get("updatedInput") if rules.edits and kind == TOOL and not blocked else None
        return Effect(blocked, asked, word == "allow", "", edited, context, reason if blocked or asked else "")

    return heard


CODEX_KEYS = {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
CODEX_OWN = {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}


def codex(theirs: str, given: Given) -> Effect:
    """Strict: whatever it does not know, or half of what it needs, and the whole answer is as if not given."""
    kind, body = KIND_OF.get(theirs, ""), given.body
    if given.exit == 2 and given.stderr.strip():
        return Effect(goes_on=given.stderr) if kind == STOP else Effect(kind in {TOOL, PROMPT}, reason=given.stderr)
    if given.exit != 0:
        return Effect()
    if body is None:
        return Effect(context=given.stdout if kind in {START, PROMPT} else "")
    own = body.get("hookSpecificOutput", {})
    if not body.keys() <= CODEX_KEYS or not own.keys() <= CODEX_OWN:
        return Effect()
    if kind == TOOL:
        return _codex_before_a_tool(body, own)
    reason, decided = str(body.get("reason", "")), body.get("decision") == "block"
    if decided and not reason.strip():
        return Effect()
    context = own.get("additionalContext", "") if kind in {START, PROMPT, AFTER} else ""
    if kind == STOP:
        return Effect(goes_on=reason if decided else "")
    return Effect(decided and kind == PROMPT, context=context, reason=reason)


def _codex_before_a_tool(body: dict[str, Any], own: dict[str, Any]) -> Effect:
    word, edited = own.get("permissionDecision"), own.get("updatedInput")
    reason = str(own.get("permissionDecisionReason") or body.get("reason") or "")
    unsupported = {"continue", "stopReason", "suppressOutput"} & body.keys()
    if unsupported or word == "ask" or (word == "allow") != (edited is not None):
        return Effect()
    refused = word == "deny" or body.get("decision") == "block"
    if refused and not reason.strip():
        return Effect()
    return Effect(refused, False, word == "allow", "", edited, own.get("additionalContext", ""), reason)


def gemini(theirs: str, given: Given) -> Effect:
    """Standard output is looked at first, whatever the exit code is."""
    kind, body = KIND_OF.get(theirs, ""), given.body
    if body is None:
        by_code = not given.stdout.strip() and given.exit >= 2 and bool(given.stderr)
        return Effect(goes_on=given.stderr if by_code else "") if kind == STOP else _gemini(kind, by_code, given.stderr)
    own, reason = body.get("hookSpecificOutput", {}), str(body.get("reason", ""))
    refused = body.get("decision") in {"deny", "block"}
    if kind == STOP:
        return Effect(goes_on=reason if refused else "")
    effect = _gemini(kind, refused or body.get("continue") is False, reason)
    context = own.get("additionalContext", "") if kind in {START, PROMPT, AFTER} else ""
    edited = own.get("tool_input") if kind == TOOL and not effect.blocked else None
    return effect._replace(allowed=body.get("decision") == "allow", context=context, edited=edited)


def _gemini(kind: str, refused: bool, reason: str) -> Effect:
    blocked = refused and kind in {TOOL, PROMPT}
    return Effect(blocked, reason=reason if blocked else "")


def copilot(theirs: str, given: Given) -> Effect:
    """In Claude Code's spelling of the event its nested answer before a tool; in its own everything at the top."""
    kind, body = KIND_OF.get(theirs, ""), given.body or {}
    if kind == STOP:
        return Effect(goes_on=str(body.get("reason", "")) if body.get("decision") == "block" else "")
    if kind == PROMPT and body.get("decision") == "block":
        return Effect(blocked=True, reason=str(body.get("reason", "")))
    nested = theirs[0].isupper()
    own = body.get("hookSpecificOutput", {}) if nested else body
    context = own.get("additionalContext", "") if kind == TOOL or not nested else ""
    if kind != TOOL:
        return Effect(context=context if kind in {START, PROMPT, AFTER} else "")
    word, edited = own.get("permissionDecision"), own.get("updatedInput" if nested else "modifiedArgs")
    blocked = given.exit != 0 or word == "deny"
    reason = own.get("permissionDecisionReason", "")
    return Effect(blocked, word == "ask", word == "allow", "", None if blocked else edited, context, reason)


def openhands(theirs: str, given: Given) -> Effect:
    kind, body = KIND_OF.get(theirs, ""), given.body or {}
    refused = given.exit == 2 or body.get("decision") == "deny" or body.get("continue") is False
    reason = str(body.get("reason", "")) or given.stderr
    if kind == STOP:
        return Effect(goes_on=reason if refused else "")
    blocked = refused and kind in {TOOL, PROMPT}
    context = body.get("additionalContext", "") if kind in {START, PROMPT} else ""
    return Effect(blocked, allowed=body.get("decision") == "allow", context=context, reason=reason if blocked else "")


def cline(theirs: str, given: Given) -> Effect:
    """No exit code means anything, and what `TaskStart` and `TaskComplete` are told is not heard."""
    kind, body = KIND_OF.get(theirs, ""), given.body or {}
    blocked = body.get("cancel") is True and kind in {TOOL, PROMPT}
    context = body.get("contextModification", "") if kind in {TOOL, AFTER, PROMPT} else ""
    edited = body.get("overrideInput") if kind == TOOL and not blocked else None
    return Effect(blocked, edited=edited, context=context, reason=str(body.get("errorMessage", "")) if blocked else "")


def opencode(theirs: str, given: Given) -> Effect:
    """As a plugin in it does with the answer: a refusal is thrown, arguments are changed in place."""
    kind, body = KIND_OF.get(theirs, ""), given.body or {}
    blocked = kind in {TOOL, PROMPT} and (body.get("deny") is True or given.exit == 2)
    edited = body.get("args") if kind == TOOL and not blocked else None
    return Effect(blocked, edited=edited, reason=str(body.get("reason") or given.stderr) if blocked else "")


def windsurf(theirs: str, given: Given) -> Effect:
    blocked = given.exit == 2 and theirs.startswith("pre_")
    return Effect(blocked, reason=given.stderr if blocked else "")


def anybody(_theirs: str, given: Given) -> Effect:
    return Effect(given.exit == 2, reason=given.stderr if given.exit == 2 else "")


def cursor(theirs: str, given: Given) -> Effect:
    """By its documents; what its versions do with `ask` is no business of a model."""
    body = given.body or {}
    refused = given.exit == 2 or body.get("permission") == "deny" or body.get("continue") is False
    reason = str(body.get("user_message") or body.get("agent_message") or given.stderr)
    return Effect(
        refused,
        body.get("permission") == "ask",
        body.get("permission") == "allow" or body.get("continue") is True,
        body.get("followup_message", ""),
        None if refused else body.get("updated_input"),
        body.get("additional_context", ""),
        reason if refused else "",
    )


MODELS: dict[str, Callable[[str, Given], Effect]] = {
    "cursor": cursor,
    "claude-code": claudes(CLAUDE),
    "codex": codex,
    "gemini-cli": gemini,
    "qwen-code": claudes(QWEN),
    "copilot": copilot,
    "windsurf": windsurf,
    "factory-droid": claudes(DROID),
    "cline": cline,
    "opencode": opencode,
    "openhands": openhands,
    "generic": anybody,
}


def together(agent: str, theirs: str, answers: list[Given]) -> bool:
    """Whether several hooks in this order refuse; on two agents one hook's allow undoes what another refused."""
    effects = [(MODELS[agent](theirs, given), given) for given in answers]
    refused = any(effect.blocked or effect.asked for effect, _ in effects)
    decided = [effect for effect, given in effects if given.body and (effect.allowed or effect.blocked or effect.asked)]
    if agent == "qwen-code" and decided:
        return not decided[-1].allowed
    if agent == "factory-droid" and decided and not any(given.exit == 2 for given in answers):
        return not decided[0].allowed
    return refused


# -- every cell of the failure matrix

BEFORE_A_TOOL = {"gemini-cli": "BeforeTool", "copilot": "preToolUse"}
CURSORS = {"permission": "deny", "user_message": "u", "agent_message": "a"}


def native(agent: str, word: str = "deny", **reason: str) -> dict[str, Any]:
    """The word in the agent's own way of answering before a tool."""
    if agent in {"gemini-cli", "openhands"}:
        return {"decision": word, **reason}
    if agent == "cline":
        return {"cancel": True} if word == "deny" else {"review": True}
    words = {"permissionDecision": word, **({"permissionDecisionReason": reason["reason"]} if reason else {})}
    return words if agent == "copilot" else {"hookSpecificOutput": {"hookEventName": "PreToolUse", **words}}


def polyglot(agent: str) -> dict[str, Any]:
    own = native("copilot" if agent == "copilot" else "claude-code", reason="r")
    return {**CURSORS, "decision": "deny" if agent == "gemini-cli" else "block", "reason": "r", **own}


ANSWERS: dict[str, Callable[[str], tuple[int, Any, str]]] = {
    "native deny": lambda agent: (0, native(agent, reason="r"), ""),
    "native deny without reason": lambda agent: (0, native(agent), ""),
    "decision block": lambda _: (0, {"decision": "block", "reason": "r"}, ""),
    "a deny for Cursor": lambda _: (0, CURSORS, ""),
    "exit 2 with words": lambda _: (2, "", "r"),
    "exit 2 without a word": lambda _: (2, "", ""),
    "exit 2 with words, a deny for Cursor": lambda _: (2, CURSORS, "r"),
    "exit 2, a deny for Cursor": lambda _: (2, CURSORS, ""),
    "polyglot": lambda agent: (0, polyglot(agent), ""),
    "polyglot, exit 2 with words": lambda agent: (2, polyglot(agent), "r"),
    "exit 1 with words": lambda _: (1, "", "r"),
    "exit 1, native deny": lambda agent: (1, native(agent, reason="r"), ""),
    "exit 3 with words": lambda _: (3, "", "r"),
    "no JSON": lambda _: (0, "hello", ""),
    "a line, then native deny": lambda agent: (0, "a line\n" + json.dumps(native(agent, reason="r")), ""),
    "no such command": lambda _: (127, "", "sh: not found"),
    "ask": lambda agent: (0, native(agent, "ask", reason="r"), ""),
}

MATRIX = """
                                     claude-code codex gemini-cli qwen-code copilot factory-droid openhands cline
native deny                          B           B     B          B         B       B             B         B
native deny without reason           B           R     B          B         B       B             B         -
decision block                       B           B     B          B         R       R             R         -
a deny for Cursor                    R           R     R          R         R       R             R         R
exit 2 with words                    B           B     B          B         B       B             B         R
exit 2 without a word                B           R     R          R         B       B             B         R
exit 2 with words, a deny for Cursor B           B     R          B         B       B             B         -
exit 2, a deny for Cursor            B           R     R          R         B       B             B         -
polyglot                             B           R     B          B         B       B             R         -
polyglot, exit 2 with words          B           B     B          B         B       B             B         -
exit 1 with words                    R           R     R          R         B       R             R         R
exit 1, native deny                  B           R     B          B         B       B             B         B
exit 3 with words                    R           R     B          R         B       B             R         -
no JSON                              R           R     R          R         R       R             R         R
a line, then native deny             R           R     R          R         R       R             R         R
no such command                      R           R     B          R         B       R             R         R
ask                                  B           R     R          B         B       R             R         R
"""
"""hosts.md 4 without the rows in which nothing is answered: B is a command that did not run, R one that ran."""


def cells() -> Iterator[tuple[str, str, str]]:
    head, *rows = MATRIX.strip("\n").splitlines()
    for row in rows:
        name, cells_of_row = row[: head.index("claude-code")].strip(), row[head.index("claude-code") :].split()
        yield from ((agent, name, cell) for agent, cell in zip(head.split(), cells_of_row, strict=True) if cell != "-")


@pytest.mark.parametrize("agent,answer,cell", list(cells()))
def test_the_model_of_an_agent_does_what_the_agent_was_seen_to_do(agent: str, answer: str, cell: str) -> None:
    code, stdout, stderr = ANSWERS[answer](agent)
    given = Given(code, stdout if isinstance(stdout, str) else json.dumps(stdout), stderr)
    assert MODELS[agent](BEFORE_A_TOOL.get(agent, "PreToolUse"), given).result == {"B": "blocked", "R": "ran"}[cell]


# -- every recording

TWO = "two_hooks_"
SET_ELSEWHERE = ("onfailure_", "untrusted", "hooksjson_", "modify_replace", "ask_perm", "post_", "after_")
"""Scenarios decided by the agent's configuration, or by a word after the tool that we never say."""
FOR_THE_KIT = {"append", "system", "status"}
"""Answers that only the kit's own plugin understands."""


def recorded_answers() -> list[Any]:
    """Agent, scenario, its answers by event, and what came of it."""
    if not KIT.exists():
        return [pytest.param("", "", {}, {}, marks=pytest.mark.skip(reason="the recordings are not here"))]
    found = []
    for folder in sorted(KIT.iterdir()):
        scenarios = json.loads((folder / "scenarios.json").read_text("utf-8"))
        outcomes = json.loads((folder / "outcomes.json").read_text("utf-8"))
        for name, outcome in outcomes.items():
            answers = scenarios[name]["answers"]
            if answers and not name.startswith(SET_ELSEWHERE) and outcome["result"]:
                agent = AGENT_OF.get(folder.name, folder.name)
                found.append(pytest.param(agent, name, answers, outcome, id=f"{agent}-{name}"))
    return found


SEVERAL = [case for case in recorded_answers() if TWO in str(case.id) or not KIT.exists()]
ALONE = [case for case in recorded_answers() if case not in SEVERAL or not KIT.exists()]


def given_of(answer: dict[str, Any]) -> Given:
    stdout = answer.get("stdout", "")
    return Given(
        answer.get("exit", 0), stdout if isinstance(stdout, str) else json.dumps(stdout), answer.get("stderr", "")
    )


@pytest.mark.parametrize("agent,name,answers,outcome", SEVERAL)
def test_the_model_foresees_what_two_hooks_did_together(agent: str, name: str, answers: Any, outcome: Any) -> None:
    theirs, second = answers
    assert second == f"{theirs}2", name
    refused = together(agent, theirs, [given_of(answer) for answer in answers.values()])
    assert ("blocked" if refused else "ran") == outcome["result"]


@pytest.mark.parametrize("agent,name,answers,outcome", ALONE)
def test_the_model_foresees_what_was_recorded(agent: str, name: str, answers: Any, outcome: Any) -> None:
    result = "ran"
    for theirs, said in answers.items():
        answer = said[0] if isinstance(said, list) else said
        if theirs not in outcome["fired"] or "sleep" in answer or FOR_THE_KIT & set(answer.get("stdout") or ()):
            continue  # nobody asked, or nobody waited
        effect = MODELS[agent](theirs, given_of(answer))
        result = effect.result if effect.result != "ran" else result
        texts = [text for text in (effect.context, effect.goes_on) if text]
        assert [text for text in texts if text not in outcome["model_saw"]] == []
        if "CTX" in json.dumps(answer) and not effect.context:
            assert not [mark for mark in outcome["model_saw"] if mark in json.dumps(answer)], name
    if "timeout" not in name:
        assert result == outcome["result"]
