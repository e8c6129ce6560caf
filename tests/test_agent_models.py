"""Models of agents: the effect of a reply on each agent, compared with every measurement and recording.

Other tests of agents use these models to check that a denial denies. They are written from hosts.md 1, 3 and 4, and
independent of `src`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

RECORDINGS_DIRECTORY = Path(__file__).parents[2] / "shared" / "clients" / "agents"
AGENT_BY_FOLDER = {"copilot-cli": "copilot"}
"""Agents that have another name in the recordings."""


class HookResult(NamedTuple):
    """The result of a hook process."""

    exit: int = 0
    stdout: str = ""
    stderr: str = ""

    @property
    def body(self) -> dict[str, Any] | None:
        """The reply, if the whole output is one JSON object; no agent accepts a line before it."""
        try:
            body = json.loads(self.stdout)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None


class Effect(NamedTuple):
    """The effect of a reply. A question is a denial in an unattended agent."""

    blocked: bool = False
    asks: bool = False
    allowed: bool = False
    goes_on: str = ""
    edited: Any = None
    context: str = ""
    reason: str = ""

    @property
    def result(self) -> str:
        """The name of the effect in the recordings."""
        return "blocked" if self.blocked or self.asks else "ran" if self.edited is None else "rewritten"


KINDS = {
    "before a tool": "PreToolUse BeforeTool preToolUse tool_call tool.execute.before pre_run_command pre_read_code "
    "pre_write_code pre_mcp_tool_use",
    "prompt": "UserPromptSubmit BeforeAgent userPromptSubmitted user_prompt_submit chat.message pre_user_prompt",
    "after a tool": "PostToolUse AfterTool postToolUse tool_result tool.execute.after",
    "start": "SessionStart sessionStart TaskStart TaskResume agent_start agent_resume session.created",
    "stop": "Stop SubagentStop AfterAgent agentStop subagentStop",
}
KIND_BY_EVENT = {name: kind for kind, names in KINDS.items() for name in names.split()}
TOOL, PROMPT, AFTER, START, STOP = KINDS


class Rules(NamedTuple):
    """Differences between the agents that follow Claude Code."""

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


def build_claude_model(rules: Rules) -> Callable[[str, HookResult], Effect]:
    def model(event: str, result: HookResult) -> Effect:
        kind, body = KIND_BY_EVENT.get(event, ""), result.body or {}
        nested = body.get("hookSpecificOutput", {})
        nested = nested if nested.get("hookEventName") == event else {}
        by_code = (
            result.exit == 2 and (rules.silent_2_blocks or bool(result.stderr))
        ) or result.exit in rules.ends_the_turn
        permission = nested.get("permissionDecision") if kind == TOOL else None
        decided = body.get("decision") == "block" and (kind != TOOL or rules.decision_blocks_tools)
        halted = body.get("continue") is False and (kind == PROMPT or (kind == TOOL and rules.halts_before_tools))
        context = nested.get("additionalContext", "") if kind in rules.context else ""
        if result.body is None and result.exit == 0 and kind in rules.plain_context:
            context = result.stdout
        if kind == STOP:
            text = body.get("reason", "") if decided else result.stderr if result.exit == 2 else ""
            return Effect(goes_on=text)
        blocked = kind in {TOOL, PROMPT} and (by_code or permission == "deny" or decided or halted)
        reason = nested.get("permissionDecisionReason") or body.get("reason") or result.stderr
        asks = permission == "ask" and rules.asks and not blocked
        edited = nested.get("updatedInput") if rules.edits and kind == TOOL and not blocked else None
        return Effect(blocked, asks, permission == "allow", "", edited, context, reason if blocked or asks else "")

    return model


CODEX_KEYS = {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
CODEX_OWN = {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}


def model_codex(event: str, result: HookResult) -> Effect:
    """Codex ignores the whole reply if a key is unknown or missing."""
    kind, body = KIND_BY_EVENT.get(event, ""), result.body
    if result.exit == 2 and result.stderr.strip():
        return Effect(goes_on=result.stderr) if kind == STOP else Effect(kind in {TOOL, PROMPT}, reason=result.stderr)
    if result.exit != 0:
        return Effect()
    if body is None:
        return Effect(context=result.stdout if kind in {START, PROMPT} else "")
    nested = body.get("hookSpecificOutput", {})
    if not body.keys() <= CODEX_KEYS or not nested.keys() <= CODEX_OWN:
        return Effect()
    if kind == TOOL:
        return model_codex_before_a_tool(body, nested)
    reason, decided = str(body.get("reason", "")), body.get("decision") == "block"
    if decided and not reason.strip():
        return Effect()
    context = nested.get("additionalContext", "") if kind in {START, PROMPT, AFTER} else ""
    if kind == STOP:
        return Effect(goes_on=reason if decided else "")
    return Effect(decided and kind == PROMPT, context=context, reason=reason)


def model_codex_before_a_tool(body: dict[str, Any], nested: dict[str, Any]) -> Effect:
    permission, edited = nested.get("permissionDecision"), nested.get("updatedInput")
    reason = str(nested.get("permissionDecisionReason") or body.get("reason") or "")
    unsupported = {"continue", "stopReason", "suppressOutput"} & body.keys()
    if unsupported or permission == "ask" or (permission == "allow") != (edited is not None):
        return Effect()
    refused = permission == "deny" or body.get("decision") == "block"
    if refused and not reason.strip():
        return Effect()
    return Effect(refused, False, permission == "allow", "", edited, nested.get("additionalContext", ""), reason)


def model_gemini(event: str, result: HookResult) -> Effect:
    """Gemini CLI reads standard output first, at any exit code."""
    kind, body = KIND_BY_EVENT.get(event, ""), result.body
    if body is None:
        by_code = not result.stdout.strip() and result.exit >= 2 and bool(result.stderr)
        return (
            Effect(goes_on=result.stderr if by_code else "")
            if kind == STOP
            else build_gemini_effect(kind, by_code, result.stderr)
        )
    nested, reason = body.get("hookSpecificOutput", {}), str(body.get("reason", ""))
    refused = body.get("decision") in {"deny", "block"}
    if kind == STOP:
        return Effect(goes_on=reason if refused else "")
    effect = build_gemini_effect(kind, refused or body.get("continue") is False, reason)
    context = nested.get("additionalContext", "") if kind in {START, PROMPT, AFTER} else ""
    edited = nested.get("tool_input") if kind == TOOL and not effect.blocked else None
    return effect._replace(allowed=body.get("decision") == "allow", context=context, edited=edited)


def build_gemini_effect(kind: str, refused: bool, reason: str) -> Effect:
    blocked = refused and kind in {TOOL, PROMPT}
    return Effect(blocked, reason=reason if blocked else "")


def model_copilot(event: str, result: HookResult) -> Effect:
    """Copilot reads a nested reply before a tool in Claude Code's spelling, and top-level keys in its own."""
    kind, body = KIND_BY_EVENT.get(event, ""), result.body or {}
    if kind == STOP:
        return Effect(goes_on=str(body.get("reason", "")) if body.get("decision") == "block" else "")
    if kind == PROMPT and body.get("decision") == "block":
        return Effect(blocked=True, reason=str(body.get("reason", "")))
    is_nested = event[0].isupper()
    reply = body.get("hookSpecificOutput", {}) if is_nested else body
    context = reply.get("additionalContext", "") if kind == TOOL or not is_nested else ""
    if kind != TOOL:
        return Effect(context=context if kind in {START, PROMPT, AFTER} else "")
    permission, edited = reply.get("permissionDecision"), reply.get("updatedInput" if is_nested else "modifiedArgs")
    blocked = result.exit != 0 or permission == "deny"
    reason = reply.get("permissionDecisionReason", "")
    return Effect(blocked, permission == "ask", permission == "allow", "", None if blocked else edited, context, reason)


def model_openhands(event: str, result: HookResult) -> Effect:
    kind, body = KIND_BY_EVENT.get(event, ""), result.body or {}
    refused = result.exit == 2 or body.get("decision") == "deny" or body.get("continue") is False
    reason = str(body.get("reason", "")) or result.stderr
    if kind == STOP:
        return Effect(goes_on=reason if refused else "")
    blocked = refused and kind in {TOOL, PROMPT}
    context = body.get("additionalContext", "") if kind in {START, PROMPT} else ""
    return Effect(blocked, allowed=body.get("decision") == "allow", context=context, reason=reason if blocked else "")


def model_cline(event: str, result: HookResult) -> Effect:
    """Cline ignores exit codes, and replies to `TaskStart` and `TaskComplete`."""
    kind, body = KIND_BY_EVENT.get(event, ""), result.body or {}
    blocked = body.get("cancel") is True and kind in {TOOL, PROMPT}
    context = body.get("contextModification", "") if kind in {TOOL, AFTER, PROMPT} else ""
    edited = body.get("overrideInput") if kind == TOOL and not blocked else None
    return Effect(blocked, edited=edited, context=context, reason=str(body.get("errorMessage", "")) if blocked else "")


def model_opencode(event: str, result: HookResult) -> Effect:
    """The plugin in OpenCode throws a denial, and changes arguments in place."""
    kind, body = KIND_BY_EVENT.get(event, ""), result.body or {}
    blocked = kind in {TOOL, PROMPT} and (body.get("deny") is True or result.exit == 2)
    edited = body.get("args") if kind == TOOL and not blocked else None
    return Effect(blocked, edited=edited, reason=str(body.get("reason") or result.stderr) if blocked else "")


def model_windsurf(event: str, result: HookResult) -> Effect:
    blocked = result.exit == 2 and event.startswith("pre_")
    return Effect(blocked, reason=result.stderr if blocked else "")


def model_generic(_theirs: str, result: HookResult) -> Effect:
    return Effect(result.exit == 2, reason=result.stderr if result.exit == 2 else "")


def model_cursor(event: str, result: HookResult) -> Effect:
    """Cursor by its documentation; the behaviour of `ask` by version is not modelled."""
    body = result.body or {}
    refused = result.exit == 2 or body.get("permission") == "deny" or body.get("continue") is False
    reason = str(body.get("user_message") or body.get("agent_message") or result.stderr)
    return Effect(
        refused,
        body.get("permission") == "ask",
        body.get("permission") == "allow" or body.get("continue") is True,
        body.get("followup_message", ""),
        None if refused else body.get("updated_input"),
        body.get("additional_context", ""),
        reason if refused else "",
    )


MODELS: dict[str, Callable[[str, HookResult], Effect]] = {
    "cursor": model_cursor,
    "claude-code": build_claude_model(CLAUDE),
    "codex": model_codex,
    "gemini-cli": model_gemini,
    "qwen-code": build_claude_model(QWEN),
    "copilot": model_copilot,
    "windsurf": model_windsurf,
    "factory-droid": build_claude_model(DROID),
    "cline": model_cline,
    "opencode": model_opencode,
    "openhands": model_openhands,
    "generic": model_generic,
}


def is_refused_together(agent: str, event: str, answers: list[HookResult]) -> bool:
    """Return whether hooks in this order deny; on two agents the allow of one hook overrides the denial of another."""
    effects = [(MODELS[agent](event, result), result) for result in answers]
    refused = any(effect.blocked or effect.asks for effect, _ in effects)
    decided = [
        effect for effect, result in effects if result.body and (effect.allowed or effect.blocked or effect.asks)
    ]
    if agent == "qwen-code" and decided:
        return not decided[-1].allowed
    if agent == "factory-droid" and decided and not any(result.exit == 2 for result in answers):
        return not decided[0].allowed
    return refused


# -- every cell of the failure matrix

BEFORE_A_TOOL = {"gemini-cli": "BeforeTool", "copilot": "preToolUse"}
CURSOR_REPLY = {"permission": "deny", "user_message": "u", "agent_message": "a"}


def build_native_reply(agent: str, permission: str = "deny", **reason: str) -> dict[str, Any]:
    """Build the reply of the agent before a tool with this permission."""
    if agent in {"gemini-cli", "openhands"}:
        return {"decision": permission, **reason}
    if agent == "cline":
        return {"cancel": True} if permission == "deny" else {"review": True}
    words = {"permissionDecision": permission, **({"permissionDecisionReason": reason["reason"]} if reason else {})}
    return words if agent == "copilot" else {"hookSpecificOutput": {"hookEventName": "PreToolUse", **words}}


def build_polyglot_reply(agent: str) -> dict[str, Any]:
    nested = build_native_reply("copilot" if agent == "copilot" else "claude-code", reason="r")
    return {**CURSOR_REPLY, "decision": "deny" if agent == "gemini-cli" else "block", "reason": "r", **nested}


REPLIES: dict[str, Callable[[str], tuple[int, Any, str]]] = {
    "native deny": lambda agent: (0, build_native_reply(agent, reason="r"), ""),
    "native deny without reason": lambda agent: (0, build_native_reply(agent), ""),
    "decision block": lambda _: (0, {"decision": "block", "reason": "r"}, ""),
    "a deny for Cursor": lambda _: (0, CURSOR_REPLY, ""),
    "exit 2 with words": lambda _: (2, "", "r"),
    "exit 2 without a word": lambda _: (2, "", ""),
    "exit 2 with words, a deny for Cursor": lambda _: (2, CURSOR_REPLY, "r"),
    "exit 2, a deny for Cursor": lambda _: (2, CURSOR_REPLY, ""),
    "polyglot": lambda agent: (0, build_polyglot_reply(agent), ""),
    "polyglot, exit 2 with words": lambda agent: (2, build_polyglot_reply(agent), "r"),
    "exit 1 with words": lambda _: (1, "", "r"),
    "exit 1, native deny": lambda agent: (1, build_native_reply(agent, reason="r"), ""),
    "exit 3 with words": lambda _: (3, "", "r"),
    "no JSON": lambda _: (0, "hello", ""),
    "a line, then native deny": lambda agent: (0, "a line\n" + json.dumps(build_native_reply(agent, reason="r")), ""),
    "no such command": lambda _: (127, "", "sh: not found"),
    "ask": lambda agent: (0, build_native_reply(agent, "ask", reason="r"), ""),
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
"""hosts.md 4 without the rows without a reply: B is a blocked command, R one that ran."""


def list_cells() -> Iterator[tuple[str, str, str]]:
    head, *rows = MATRIX.strip("\n").splitlines()
    for row in rows:
        name, cells_of_row = row[: head.index("claude-code")].strip(), row[head.index("claude-code") :].split()
        yield from ((agent, name, cell) for agent, cell in zip(head.split(), cells_of_row, strict=True) if cell != "-")


@pytest.mark.parametrize("agent,answer,cell", list(list_cells()))
def test_model_agrees_with_the_measured_matrix(agent: str, answer: str, cell: str) -> None:
    code, stdout, stderr = REPLIES[answer](agent)
    result = HookResult(code, stdout if isinstance(stdout, str) else json.dumps(stdout), stderr)
    assert MODELS[agent](BEFORE_A_TOOL.get(agent, "PreToolUse"), result).result == {"B": "blocked", "R": "ran"}[cell]


# -- every recording

TWO_HOOKS = "two_hooks_"
DECIDED_BY_CONFIGURATION = ("onfailure_", "untrusted", "hooksjson_", "modify_replace", "ask_perm", "post_", "after_")
"""Scenarios decided by the configuration of the agent, or by a reply after the tool that Trotline never sends."""
RECORDING_PLUGIN_KEYS = {"append", "system", "status"}
"""Replies that only the recording plugin understands."""


def read_recorded_replies() -> list[Any]:
    """Return agent, scenario, replies by event and outcome of every recording."""
    if not RECORDINGS_DIRECTORY.exists():
        return [pytest.param("", "", {}, {}, marks=pytest.mark.skip(reason="the recordings are not here"))]
    recordings = []
    for folder in sorted(RECORDINGS_DIRECTORY.iterdir()):
        scenarios = json.loads((folder / "scenarios.json").read_text("utf-8"))
        outcomes = json.loads((folder / "outcomes.json").read_text("utf-8"))
        for name, outcome in outcomes.items():
            answers = scenarios[name]["answers"]
            if answers and not name.startswith(DECIDED_BY_CONFIGURATION) and outcome["result"]:
                agent = AGENT_BY_FOLDER.get(folder.name, folder.name)
                recordings.append(pytest.param(agent, name, answers, outcome, id=f"{agent}-{name}"))
    return recordings


RECORDINGS_OF_TWO_HOOKS = [
    case for case in read_recorded_replies() if TWO_HOOKS in str(case.id) or not RECORDINGS_DIRECTORY.exists()
]
RECORDINGS_OF_ONE_HOOK = [
    case for case in read_recorded_replies() if case not in RECORDINGS_OF_TWO_HOOKS or not RECORDINGS_DIRECTORY.exists()
]


def build_result(answer: dict[str, Any]) -> HookResult:
    stdout = answer.get("stdout", "")
    return HookResult(
        answer.get("exit", 0), stdout if isinstance(stdout, str) else json.dumps(stdout), answer.get("stderr", "")
    )


@pytest.mark.parametrize("agent,name,answers,outcome", RECORDINGS_OF_TWO_HOOKS)
def test_model_agrees_with_recordings_of_two_hooks(agent: str, name: str, answers: Any, outcome: Any) -> None:
    event, second = answers
    assert second == f"{event}2", name
    refused = is_refused_together(agent, event, [build_result(answer) for answer in answers.values()])
    assert ("blocked" if refused else "ran") == outcome["result"]


@pytest.mark.parametrize("agent,name,answers,outcome", RECORDINGS_OF_ONE_HOOK)
def test_model_agrees_with_recordings_of_one_hook(agent: str, name: str, answers: Any, outcome: Any) -> None:
    result = "ran"
    for event, replies_of_event in answers.items():
        answer = replies_of_event[0] if isinstance(replies_of_event, list) else replies_of_event
        if (
            event not in outcome["fired"]
            or "sleep" in answer
            or RECORDING_PLUGIN_KEYS & set(answer.get("stdout") or ())
        ):
            continue  # the hook did not run, or the agent did not wait
        effect = MODELS[agent](event, build_result(answer))
        result = effect.result if effect.result != "ran" else result
        texts = [text for text in (effect.context, effect.goes_on) if text]
        assert [text for text in texts if text not in outcome["model_saw"]] == []
        if "CTX" in json.dumps(answer) and not effect.context:
            assert not [mark for mark in outcome["model_saw"] if mark in json.dumps(answer)], name
    if "timeout" not in name:
        assert result == outcome["result"]
