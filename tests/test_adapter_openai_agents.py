"""The adapter for the OpenAI Agents SDK against the real SDK; the model is the SDK's own scripted one."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import agents
import pytest
from agents.mcp import MCPServerStdio
from agents.sandbox import SandboxAgent
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseCustomToolCall, ResponseReasoningItem
from openai.types.responses.response_function_shell_tool_call import Action, ResponseFunctionShellToolCall
from openai.types.responses.response_output_item import LocalShellCall, LocalShellCallAction
from openai.types.responses.response_reasoning_item import Summary

from trotline import AsyncSession, BeforeSubmitPrompt, Engine, Event, Outcome, Permission, TrotlineError, Verdict
from trotline.adapters.openai_agents import find_losses, guard_agent, run

Agent = agents.Agent[Any]
Runner = agents.Runner
EVENTS = (
    "beforeSubmitPrompt",
    "preToolUse",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "subagentStart",
    "subagentStop",
    "postToolUse",
    "postToolUseFailure",
    "afterAgentThought",
    "afterAgentResponse",
    "stop",
)
DONE = [assistant_message("done")]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agents.set_tracing_disabled(True)
    yield
    agents.set_tracing_disabled(False)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    for name in ("home", "system", "project"):
        (tmp_path / name).mkdir()
    return Engine.load(project=tmp_path / "project", home=tmp_path / "home", system=tmp_path / "system")


def _configure(workspace: Path, event: str, *entries: dict[str, Any]) -> None:
    file = workspace / "home" / ".cursor" / "hooks.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"version": 1, "hooks": {event: list(entries)}}))


def _says(**reply: Any) -> dict[str, Any]:
    return {"command": f"cat >/dev/null; echo '{json.dumps(reply)}'"}


def _listen(engine: Engine, *names: str) -> list[Any]:
    seen: list[Any] = []
    for name in names or EVENTS:
        engine.hook(name)(seen.append)
    return seen


def _names(seen: list[Any]) -> list[str]:
    return [event.wire_name for event in seen]


def _refuse(engine: Engine, event: str, matcher: str = "", message: str = "no") -> None:
    verdict = Verdict(permission=Permission.DENY, agent_message=message)
    engine.hook(event, matcher=matcher)(lambda _: verdict)


def _rewrite(engine: Engine, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    def rewrite(event: Any) -> Verdict:
        return Verdict(edited_input=change(event.tool_input))

    engine.hook("preToolUse")(rewrite)


def _model(*turns: Any) -> ScriptedModel:
    return ScriptedModel([*turns, DONE])


def _calls(name: str, *arguments: Any) -> list[Any]:
    return [function_call(name, given, call_id=f"{name}-{number}") for number, given in enumerate(arguments)]


def _run(engine: Engine, agent: Agent, prompt: Any = "go", **more: Any) -> agents.RunResult:
    """One run of the guarded agent, in a conversation of its own."""

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            return await Runner.run(guard_agent(agent, session, **more), prompt)

    return asyncio.run(main())


def _outputs(result: agents.RunResult) -> list[Any]:
    """What the model reads of its tools."""
    raw: list[Any] = [item.raw_item for item in result.new_items if "output_item" in item.type]
    return [item["output"] for item in raw if isinstance(item, dict)]


class Desk:
    """A few function tools, and what really reached them."""

    def __init__(self) -> None:
        self.reached: list[Any] = []
        self.close = agents.function_tool(self._close, name_override="close")
        self.bash = agents.function_tool(self._bash, name_override="bash")

    def _close(self, number: int) -> str:
        self.reached.append(number)
        if number == 13:
            raise ValueError("unlucky")
        return f"closed {number}"

    def _bash(self, line: str, seconds: int = 1) -> str:
        self.reached.append((line, seconds))
        return f"ran {line}"

    def agent(self, *arguments: Any, **more: Any) -> Agent:
        model = _model(_calls("close", *arguments))
        return Agent(name="clerk", model=model, tools=[self.close], **more)


def test_a_run_is_told_from_its_prompt_to_its_end(engine: Engine) -> None:
    seen = _listen(engine)
    result = _run(engine, Desk().agent({"number": 7}))
    assert (_outputs(result), result.final_output) == (["closed 7"], "done")
    assert _names(seen) == ["beforeSubmitPrompt", "preToolUse", "postToolUse", "afterAgentResponse", "stop"]
    prompt, pre, post, response, stop = seen
    assert (prompt.prompt, response.text, stop.status) == ("go", "done", "completed")
    assert {(event.tool_name, event.tool_use_id) for event in (pre, post)} == {("close", "close-0")}
    assert (pre.tool_input, post.tool_output) == ({"number": 7}, "closed 7")
    assert len({event.generation_id for event in seen}) == 1


def test_a_refused_tool_is_not_invoked_and_the_loop_goes_on(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", {**_says(permission="deny", agent_message="ask first"), "matcher": "close"})
    desk, seen = Desk(), _listen(engine, "postToolUseFailure", "postToolUse")
    result = _run(engine, desk.agent({"number": 7}))
    assert (_outputs(result), result.final_output, desk.reached) == (["ask first"], "done", [])
    assert [(event.failure_type, event.error_message) for event in seen] == [("permission_denied", "ask first")]


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked_about_a_tool(engine: Engine, answer: bool) -> None:
    desk = Desk()
    engine.hook("preToolUse")(lambda _: Verdict(permission=Permission.ASK, user_message="close it?"))
    asked: list[str] = []

    async def ask(outcome: Any) -> bool:
        asked.append(outcome.user_message)
        return answer

    _run(engine, desk.agent({"number": 7}), ask=ask)
    assert (asked, desk.reached) == (["close it?"], [7] if answer else [])


def test_rewritten_input_is_what_the_tool_gets(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", _says(updated_input={"number": 8}))
    desk, seen = Desk(), _listen(engine, "postToolUse")
    assert _outputs(_run(engine, desk.agent({"number": 7}))) == ["closed 8"]
    assert (desk.reached, seen[0].tool_input) == ([8], {"number": 8})


def test_a_replaced_output_is_all_that_the_model_reads(engine: Engine) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"text": "[gone]"}))
    assert _outputs(_run(engine, Desk().agent({"number": 7}))) == ['{"text": "[gone]"}']


def test_context_stands_after_the_output(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "postToolUse", _says(additional_context="that was the last one"))
    assert _outputs(_run(engine, Desk().agent({"number": 7}))) == ["closed 7\n\nthat was the last one"]


def test_context_is_one_more_part_of_an_output_in_parts(engine: Engine) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(context="look"))
    image = "data:image/png;base64,AA=="
    show = agents.function_tool(lambda: agents.ToolOutputImage(image_url=image), name_override="show")
    agent = Agent(name="a", model=_model(_calls("show", {})), tools=[show])
    assert _outputs(_run(engine, agent)) == [
        [{"type": "input_image", "image_url": image}, {"type": "input_text", "text": "look"}]
    ]


def test_a_failure_is_told_and_then_treated_as_the_sdk_does_by_default(engine: Engine) -> None:
    seen = _listen(engine, "postToolUse", "postToolUseFailure")
    engine.hook("postToolUseFailure")(lambda _: Verdict(context="try 14"))
    plain = asyncio.run(Runner.run(Desk().agent({"number": 13}), "go"))
    result = _run(engine, Desk().agent({"number": 13}))
    assert _outputs(result) == [f"{_outputs(plain)[0]}\n\ntry 14"]
    assert [(event.error_message, event.failure_type) for event in seen] == [("unlucky", "error")]


def test_a_failure_is_treated_as_its_tool_asks_for(engine: Engine) -> None:
    seen = _listen(engine, "postToolUseFailure")

    def fails() -> str:
        raise ValueError("unlucky")

    told = agents.function_tool(fails, name_override="told", failure_error_function=lambda _, error: f"oh: {error}")
    raised = agents.function_tool(fails, name_override="raised", failure_error_function=None)
    assert _outputs(_run(engine, Agent(name="a", model=_model(_calls("told", {})), tools=[told]))) == ["oh: unlucky"]
    with pytest.raises(agents.UserError, match="unlucky"):
        _run(engine, Agent(name="a", model=_model(_calls("raised", {})), tools=[raised]))
    assert [event.error_message for event in seen] == ["unlucky"] * 2


def test_a_tool_made_by_hand_that_raises_ends_the_run_as_it_would_without_hooks(engine: Engine) -> None:
    seen = _listen(engine, "postToolUseFailure")

    async def fails(context: Any, arguments: str) -> str:
        raise ValueError("unlucky")

    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = agents.FunctionTool(name="mine", description="", params_json_schema=schema, on_invoke_tool=fails)
    with pytest.raises(agents.UserError, match="unlucky"):
        _run(engine, Agent(name="a", model=_model(_calls("mine", {})), tools=[tool]))
    assert [event.error_message for event in seen] == ["unlucky"]


def _slow(**settings: Any) -> Agent:
    async def slow() -> str:
        await asyncio.sleep(30)
        return "late"

    tool = agents.function_tool(slow, timeout=0.05, **settings)
    return Agent(name="a", model=_model(_calls("slow", {})), tools=[tool])


def test_a_tool_that_takes_too_long_is_told_as_that_and_treated_as_it_asks_for(engine: Engine) -> None:
    seen = _listen(engine, "postToolUseFailure")
    assert _outputs(_run(engine, _slow())) == ["Tool 'slow' timed out after 0.05 seconds."]
    assert _outputs(_run(engine, _slow(timeout_error_function=lambda _, error: "too slow"))) == ["too slow"]
    with pytest.raises(agents.ToolTimeoutError):
        _run(engine, _slow(timeout_behavior="raise_exception"))
    assert [event.failure_type for event in seen] == ["timeout"] * 3


def test_hooks_do_not_use_up_the_time_of_a_tool(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", {"command": "cat >/dev/null; sleep 0.4; echo '{}'"})

    async def quick() -> str:
        return "in time"

    tool = agents.function_tool(quick, timeout=0.2)
    assert _outputs(_run(engine, Agent(name="a", model=_model(_calls("quick", {})), tools=[tool]))) == ["in time"]


def test_a_hook_that_hangs_and_fails_closed_refuses_in_its_time(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", {"command": "sleep 60", "timeout": 0.3, "failClosed": True})
    desk = Desk()
    outputs = _outputs(_run(engine, desk.agent({"number": 7})))
    assert "timed out" in outputs[0]
    assert desk.reached == []


def test_twenty_calls_at_once_get_their_own_answers(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = json.load(sys.stdin)['tool_input']['number'] % 2\n"
        "print(json.dumps({'permission': 'deny' if odd else 'allow', 'agent_message': 'odd'}))\n"
    )
    (tmp_path / "odd").chmod(0o755)
    _configure(tmp_path, "preToolUse", {"command": str(tmp_path / "odd")})
    desk = Desk()
    numbers = [number for number in range(21) if number != 13]
    outputs = _outputs(_run(engine, desk.agent(*({"number": number} for number in numbers))))
    assert outputs == ["odd" if number % 2 else f"closed {number}" for number in numbers]
    assert sorted(desk.reached) == [number for number in numbers if not number % 2]


@pytest.mark.parametrize("arguments", ["not json", "[1]", '{"number": "many"}'])
def test_input_that_is_none_is_the_sdks_to_complain_of(engine: Engine, arguments: str) -> None:
    desk, seen = Desk(), _listen(engine, "preToolUse", "postToolUseFailure")
    outputs = _outputs(_run(engine, desk.agent(arguments)))
    assert outputs == ["An error occurred while running the tool. Please try again."]
    assert (_names(seen), desk.reached) == (["preToolUse", "postToolUseFailure"], [])


def test_a_tool_with_an_output_schema_can_be_refused_replaced_and_added_to(engine: Engine) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = agents.function_tool(lambda: '{"n": 1}', name_override="count", output_json_schema=schema)

    def outputs() -> list[Any]:
        return _outputs(_run(engine, Agent(name="a", model=_model(_calls("count", {})), tools=[tool])))

    assert outputs() == ['{"n":1}']
    engine.hook("postToolUse")(lambda _: Verdict(context="once"))
    assert outputs() == ['{"n": 1}\n\nonce']
    _refuse(engine, "preToolUse", message="not today")
    assert outputs() == ["not today"]


def test_a_tools_own_settings_are_kept(engine: Engine) -> None:
    tool = agents.function_tool(
        lambda: "x", name_override="mine", description_override="what it does", is_enabled=False
    )
    tool.custom_data_extractor = lambda _: {"a": 1}

    async def main() -> Any:
        async with engine.session() as session:
            agent = guard_agent(Agent(name="a", tools=[tool], instructions="be kind"), session)
            assert agent.name == "a"
            assert await agent.get_system_prompt(agents.RunContextWrapper(None)) == "be kind"
            return agent.tools[0]

    twin = asyncio.run(main())
    assert isinstance(twin, agents.FunctionTool)
    assert twin is not tool
    kept = ("name", "description", "params_json_schema", "is_enabled", "custom_data_extractor", "strict_json_schema")
    assert [getattr(twin, name) for name in kept] == [getattr(tool, name) for name in kept]


def test_the_agent_that_is_guarded_is_not_changed(engine: Engine) -> None:
    desk = Desk()
    agent = desk.agent({"number": 7}, handoffs=[Agent(name="other")])
    before = (agent.tools[0], agent.hooks, agent.instructions, [*agent.handoffs], [*agent.input_guardrails])
    _refuse(engine, "preToolUse")
    _run(engine, agent)
    after = (agent.tools[0], agent.hooks, agent.instructions, [*agent.handoffs], [*agent.input_guardrails])
    assert after == before
    assert agent.tools[0] is desk.close


def test_when_trotline_itself_breaks_tools_are_refused_and_nothing_is_raised(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk()

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            agent = guard_agent(desk.agent({"number": 7}), session)
            monkeypatch.setattr(AsyncSession, "fire", _breaks)
            return await Runner.run(agent, "go")

    result = asyncio.run(main())
    assert "Trotline could not judge it" in _outputs(result)[0]
    assert (result.final_output, desk.reached) == ("done", [])


_fire = AsyncSession.fire


async def _breaks(session: AsyncSession, event: Event) -> Outcome:
    if isinstance(event, BeforeSubmitPrompt):
        return await _fire(session, event)
    raise OSError("no thread left")


def test_an_output_that_goes_round_in_circles_is_told_as_the_model_reads_it(engine: Engine) -> None:
    circle: list[Any] = []
    circle.append(circle)
    seen = _listen(engine, "postToolUse", "stop")
    tool = agents.function_tool(lambda: circle, name_override="turn")
    agent = Agent(name="a", model=_model(_calls("turn", {})), tools=[tool], tool_use_behavior="stop_on_first_tool")
    assert _run(engine, agent).final_output == seen[0].tool_output == "[[...]]"
    assert _names(seen) == ["postToolUse", "stop"]


def test_a_broken_engine_refuses_the_prompt_in_the_sdks_own_way(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    with pytest.raises(agents.InputGuardrailTripwireTriggered):
        _run(engine, Desk().agent())


# Shells


def test_a_function_tool_that_is_a_shell_is_told_as_one(engine: Engine) -> None:
    desk, seen = Desk(), _listen(engine)
    agent = Agent(name="a", model=_model(_calls("bash", {"line": "ls", "seconds": 2})), tools=[desk.bash])
    assert _outputs(_run(engine, agent, shells={"bash": "line"})) == ["ran ls"]
    assert _names(seen)[1:5] == ["preToolUse", "beforeShellExecution", "afterShellExecution", "postToolUse"]
    assert (seen[1].tool_name, seen[1].tool_input) == ("Shell", {"command": "ls", "seconds": 2})
    assert [event.command for event in seen[2:4]] == ["ls", "ls"]
    assert (seen[3].output, json.loads(seen[4].tool_output)) == ("ran ls", {"output": "ran ls"})


def test_the_command_of_a_function_tool_is_rewritten_where_it_stands(engine: Engine) -> None:
    desk = Desk()
    _rewrite(engine, lambda given: {**given, "command": "ls -l"})
    agent = Agent(name="a", model=_model(_calls("bash", {"line": "ls", "seconds": 2})), tools=[desk.bash])
    _run(engine, agent, shells={"bash": "line"})
    assert desk.reached == [("ls -l", 2)]


def test_a_model_cannot_show_hooks_another_command_than_the_one_that_runs(engine: Engine) -> None:
    desk = Desk()
    _refuse(engine, "beforeShellExecution", "^rm", "not rm")
    for given in ({"line": "rm x", "command": "ls"}, {"command": "ls", "line": "rm x"}):
        agent = Agent(name="a", model=_model(_calls("bash", given)), tools=[desk.bash])
        assert _outputs(_run(engine, agent, shells={"bash": "line"})) == ["not rm"]
    assert desk.reached == []


def test_a_command_in_words_is_told_as_a_line(engine: Engine) -> None:
    seen = _listen(engine, "beforeShellExecution")

    def start(command: list[str]) -> str:
        return "ran"

    agent = Agent(name="a", model=_model(_calls("start", {"command": ["rm", "my file"]})))
    agent.tools = [agents.function_tool(start)]
    assert _outputs(_run(engine, agent, shells={"start": "command"})) == ["ran"]
    assert seen[0].command == "rm 'my file'"


@pytest.mark.parametrize("shells", [{"bash": "command"}, {"zsh": "line"}])
def test_a_shell_that_is_none_is_a_mistake_of_the_caller(engine: Engine, shells: dict[str, str]) -> None:
    with pytest.raises(TrotlineError, match="tool `"):
        _run(engine, Agent(name="a", tools=[Desk().bash]), shells=shells)


def test_a_shell_with_two_commands_in_its_input_is_a_mistake_of_the_caller(engine: Engine) -> None:
    tool = agents.function_tool(lambda line, command: "x", name_override="bash", strict_mode=False)
    with pytest.raises(TrotlineError, match="could be its command"):
        _run(engine, Agent(name="a", tools=[tool]), shells={"bash": "line"})


class Executor:
    """What a ShellTool runs its commands with."""

    def __init__(self, text: bool = False) -> None:
        self.text = text
        self.reached: list[list[str]] = []

    async def __call__(self, request: agents.ShellCommandRequest) -> Any:
        commands = request.data.action.commands
        self.reached.append(commands)
        if self.text:
            return "ran " + " and ".join(commands)
        return agents.ShellResult(output=[agents.ShellCommandOutput(stdout=f"ran {one}") for one in commands])


def _shell(executor: Executor, *commands: str) -> Agent:
    action = Action(commands=[*commands], max_output_length=None, timeout_ms=None)
    call = ResponseFunctionShellToolCall(id="i", call_id="s", action=action, status="completed", type="shell_call")
    return Agent(name="a", model=_model([call]), tools=[agents.ShellTool(executor=executor)])


def _shown(result: agents.RunResult) -> list[str]:
    """What the SDK makes of a shell's results for the model."""
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


def test_every_command_of_a_shell_is_told_with_its_own_output(engine: Engine) -> None:
    executor, seen = Executor(), _listen(engine)
    _run(engine, _shell(executor, "ls", "pwd"))
    assert executor.reached == [["ls", "pwd"]]
    assert [event.command for event in seen if event.wire_name == "beforeShellExecution"] == ["ls", "pwd"]
    told = {event.command: event.output for event in seen if event.wire_name == "afterShellExecution"}
    assert told == {"ls": "ran ls", "pwd": "ran pwd"}
    assert {event.tool_name for event in seen if event.wire_name == "postToolUse"} == {"Shell"}


def test_if_one_command_is_refused_none_is_run(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "beforeShellExecution", {**_says(permission="deny", agent_message="not rm"), "matcher": "^rm"})
    executor, seen = Executor(), _listen(engine, "postToolUseFailure", "postToolUse")
    result = _run(engine, _shell(executor, "cd build", "rm -rf *", "ls"))
    assert (executor.reached, result.final_output) == ([], "done")
    assert "not rm" in _shown(result)[0]
    assert [(event.tool_input["command"], event.failure_type) for event in seen] == [
        ("rm -rf *", "permission_denied"),
        ("cd build", "error"),
    ]


def test_commands_of_a_shell_are_rewritten_one_by_one(engine: Engine) -> None:
    executor = Executor()
    _rewrite(engine, lambda given: {"command": given["command"] + " -l"})
    _run(engine, _shell(executor, "ls", "du"))
    assert executor.reached == [["ls -l", "du -l"]]


@pytest.mark.parametrize("text", [False, True])
def test_the_output_of_a_shell_is_replaced_and_added_to(engine: Engine, text: bool) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}, context="for a reason"))
    shown = _shown(_run(engine, _shell(Executor(text=text), "cat .env")))
    assert "ran cat" not in shown[0]
    assert '{"gone": true}\n\nfor a reason' in shown[0]


def test_the_output_of_one_command_is_replaced_and_the_others_stay(engine: Engine) -> None:
    def hide(event: Any) -> Verdict | None:
        return Verdict(replaced_output={"gone": True}) if "env" in event.tool_input["command"] else None

    engine.hook("postToolUse")(hide)
    shown = _shown(_run(engine, _shell(Executor(), "ls", "cat .env")))
    assert "ran ls" in shown[0]
    assert "ran cat" not in shown[0]


def test_an_executor_with_fewer_results_than_commands_is_told_and_replaced_as_a_whole(engine: Engine) -> None:
    class Joined(Executor):
        async def __call__(self, request: agents.ShellCommandRequest) -> Any:
            return agents.ShellResult(output=[agents.ShellCommandOutput(stdout="one", stderr="two")])

    seen = _listen(engine, "afterShellExecution")
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}))
    shown = _shown(_run(engine, _shell(Joined(), "a", "b")))
    assert [event.output for event in seen] == ["one\ntwo", '{"gone": true}']
    assert "two" not in shown[0]


def _local_shell(reached: list[list[str]], words: list[str]) -> Agent:
    def execute(request: agents.LocalShellCommandRequest) -> str:
        reached.append(request.data.action.command)
        return "ran"

    action = LocalShellCallAction(command=words, env={}, type="exec", working_directory="/w")
    call = LocalShellCall(id="i", call_id="l", action=action, status="completed", type="local_shell_call")
    return Agent(name="a", model=_model([call]), tools=[agents.LocalShellTool(executor=execute)])


def test_the_older_local_shell_is_judged_by_its_line(engine: Engine) -> None:
    reached: list[list[str]] = []
    seen = _listen(engine, "beforeShellExecution", "afterShellExecution")
    words = ["rm", "my file"]
    assert _outputs(_run(engine, _local_shell(reached, words))) == ["ran"]
    assert [(event.command, event.cwd) for event in seen] == [("rm 'my file'", "/w"), ("rm 'my file'", None)]
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"command": "ls 'it"}))
    _run(engine, _local_shell(reached, words))
    assert reached == [words, ["sh", "-c", "ls 'it"]]
    _refuse(engine, "beforeShellExecution", "^ls", "no listing")
    assert _outputs(_run(engine, _local_shell(reached, words))) == ["no listing"]
    assert len(reached) == 2


# Other tools that run here


def _custom(reached: list[str]) -> Agent:
    def invoke(context: Any, text: str) -> str:
        reached.append(text)
        return f"did {text}"

    call = ResponseCustomToolCall(call_id="k", input="raw", name="free", type="custom_tool_call")
    tool = agents.CustomTool(name="free", description="", on_invoke_tool=invoke)
    return Agent(name="a", model=_model([call]), tools=[tool])


def test_a_tool_with_free_text_is_judged_by_that_text(engine: Engine) -> None:
    reached: list[str] = []
    seen = _listen(engine, "preToolUse")
    assert _outputs(_run(engine, _custom(reached))) == ["did raw"]
    assert (seen[0].tool_name, seen[0].tool_input) == ("free", {"input": "raw"})
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"input": "cooked"}))
    assert _outputs(_run(engine, _custom(reached))) == ["did cooked"]
    _refuse(engine, "preToolUse")
    assert _outputs(_run(engine, _custom(reached))) == ["no"]
    assert reached == ["raw", "cooked"]


class Editor:
    """What apply_patch edits files with."""

    def __init__(self, result: Any = None) -> None:
        self.result = result
        self.reached: list[tuple[str, str, str | None, str | None]] = []

    def _note(self, operation: agents.ApplyPatchOperation) -> Any:
        self.reached.append((operation.type, operation.path, operation.diff, operation.move_to))
        return self.result

    create_file = update_file = delete_file = _note


def _patch(editor: Editor, **operation: Any) -> Agent:
    call: Any = {"id": "i", "call_id": "p", "type": "apply_patch_call", "status": "completed", "operation": operation}
    return Agent(name="a", model=_model([call]), tools=[agents.ApplyPatchTool(editor=editor)])


def test_a_patch_is_told_as_a_write_and_an_edit(engine: Engine) -> None:
    editor, seen = Editor("fine"), _listen(engine, "preToolUse", "afterFileEdit", "postToolUse")
    _run(engine, _patch(editor, type="create_file", path="a.py", diff="+x"))
    assert editor.reached == [("create_file", "a.py", "+x", None)]
    assert _names(seen) == ["preToolUse", "afterFileEdit", "postToolUse"]
    assert (seen[0].tool_name, seen[0].tool_input) == ("Write", {"file_path": "a.py", "diff": "+x"})
    assert (seen[1].file_path, seen[2].tool_output) == ("a.py", "fine")


def test_a_patch_is_refused_as_the_sdk_would(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", {**_says(permission="deny", agent_message="keep it"), "matcher": "^Delete$"})
    editor = Editor()
    result = _run(engine, _patch(editor, type="delete_file", path="a.py"))
    item = next(item.raw_item for item in result.new_items if item.type == "tool_call_output_item")
    assert isinstance(item, dict)
    assert (item["status"], item["output"], editor.reached) == ("failed", "keep it", [])


def test_a_patch_is_rewritten_and_what_its_editor_says_is_replaced_and_added_to(engine: Engine) -> None:
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"file_path": "b.py", "diff": "+y"}))
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}, context="mind"))
    editor = Editor(agents.ApplyPatchResult(status="completed", output="secret"))
    result = _run(engine, _patch(editor, type="update_file", path="a.py", diff="+x"))
    assert editor.reached == [("update_file", "b.py", "+y", None)]
    assert _outputs(result) == ['{"gone": true}\n\nmind']


def test_a_patch_that_failed_is_told_as_that(engine: Engine) -> None:
    seen = _listen(engine, "afterFileEdit", "postToolUseFailure")
    _run(engine, _patch(Editor(agents.ApplyPatchResult(status="failed")), type="delete_file", path="a.py"))
    assert [(event.wire_name, event.error_message) for event in seen] == [
        ("postToolUseFailure", "the editor gave no reason")
    ]


def test_a_file_is_moved_only_if_both_of_its_places_may_be_written(engine: Engine) -> None:
    def protect(event: Any) -> Verdict | None:
        hidden = event.tool_input["file_path"] == ".env"
        return Verdict(permission=Permission.DENY, agent_message="hidden") if hidden else None

    engine.hook("preToolUse")(protect)
    editor = Editor("moved")
    move = {"type": "update_file", "path": "a", "diff": "+x"}
    assert _outputs(_run(engine, _patch(editor, **move, move_to=".env"))) == ["hidden"]
    assert _outputs(_run(engine, _patch(editor, **move, move_to="b"))) == ["moved"]
    assert editor.reached == [("update_file", "a", "+x", "b")]


# MCP servers of an agent

SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("anything")


@server.tool()
def close(number: int) -> str:
    print("closing", number, file=open(sys.argv[1], "a"))
    return f"closed {number}"


server.run("stdio")
"""


def test_the_servers_of_an_agent_are_told_refused_and_rewritten(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    seen = _listen(engine, "beforeMCPExecution", "afterMCPExecution", "postToolUse")

    def rewrite(event: Any) -> Verdict | None:
        return Verdict(edited_input={"number": 2}) if event.tool_input == {"number": 1} else None

    def refuse(event: Any) -> Verdict | None:
        three = event.tool_input == {"number": 3}
        return Verdict(permission=Permission.DENY, agent_message="not three") if three else None

    engine.hook("preToolUse")(rewrite)
    engine.hook("beforeMCPExecution")(refuse)
    params: Any = {"command": sys.executable, "args": [str(tmp_path / "server.py"), str(tmp_path / "reached")]}

    async def main() -> agents.RunResult:
        async with engine.session() as session, MCPServerStdio(params, name="tickets") as server:
            model = _model(*([function_call("close", {"number": n}, call_id=f"m{n}")] for n in (1, 3)))
            return await Runner.run(guard_agent(Agent(name="a", model=model, mcp_servers=[server]), session), "go")

    result = asyncio.run(main())
    assert [output[0]["text"] for output in _outputs(result)] == ["closed 2", "not three"]
    assert (tmp_path / "reached").read_text() == "closing 2\n"
    assert _names(seen) == ["beforeMCPExecution", "afterMCPExecution", "postToolUse", "beforeMCPExecution"]
    assert {event.mcp_server_name for event in seen[:2]} == {"tickets"}
    assert seen[2].tool_name == "MCP:tickets:close"


# Prompts, responses, ends


def test_a_refused_prompt_is_the_sdks_own_tripwire_with_the_reason_in_it(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "beforeSubmitPrompt", _says(**{"continue": False, "user_message": "a key is in it"}))
    agent = Desk().agent()
    with pytest.raises(agents.InputGuardrailTripwireTriggered) as refused:
        _run(engine, agent, "sk-123")
    assert refused.value.guardrail_result.output.output_info == "a key is in it"
    assert isinstance(agent.model, ScriptedModel)
    assert agent.model.calls == ()


@pytest.mark.parametrize(
    "given,text",
    [
        ("hello", "hello"),
        ([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}], "one"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"}]}], "a"),
        ([], ""),
    ],
)
def test_the_prompt_is_the_newest_message_of_the_person(engine: Engine, given: Any, text: str) -> None:
    seen = _listen(engine, "beforeSubmitPrompt")
    _run(engine, Agent(name="a", model=_model()), given)
    assert [event.prompt for event in seen] == [text]


def test_what_hooks_add_to_a_session_and_to_a_prompt_is_in_the_instructions(engine: Engine) -> None:
    engine.hook("sessionStart")(lambda _: Verdict(context="the house rules"))
    engine.hook("beforeSubmitPrompt")(lambda _: Verdict(context="it is Friday"))
    model = _model()
    _run(engine, Agent(name="a", model=model, instructions=lambda context, agent: f"you are {agent.name}"))
    assert model.calls[0].system_instructions == "you are a\n\nthe house rules\n\nit is Friday"


def test_an_agent_without_instructions_has_none(engine: Engine) -> None:
    model = _model()
    _run(engine, Agent(name="a", model=model))
    assert model.calls[0].system_instructions is None


def test_thoughts_and_responses_are_told(engine: Engine) -> None:
    seen = _listen(engine, "afterAgentThought", "afterAgentResponse")
    thought = ResponseReasoningItem(id="r", type="reasoning", summary=[Summary(text="hm", type="summary_text")])
    _run(engine, Agent(name="a", model=ScriptedModel([[thought, assistant_message("so")]])))
    assert [(event.wire_name, event.text) for event in seen] == [
        ("afterAgentThought", "hm"),
        ("afterAgentResponse", "so"),
    ]


def test_the_hooks_that_an_agent_had_are_called_too(engine: Engine) -> None:
    called: list[str] = []

    class Mine(agents.AgentHooks[Any]):
        async def on_start(self, context: Any, agent: Any) -> None:
            called.append("start")

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            called.append(f"tool {tool.name}")

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            called.append("said")

        async def on_end(self, context: Any, agent: Any, output: Any) -> None:
            called.append(f"end {output}")

    _run(engine, Desk().agent({"number": 7}, hooks=Mine()))
    assert called == ["start", "said", "tool close", "said", "end done"]


def test_a_streamed_run_is_judged_like_any_other(engine: Engine) -> None:
    desk, seen = Desk(), _listen(engine)
    _refuse(engine, "preToolUse")

    async def main() -> None:
        async with engine.session() as session:
            streamed = Runner.run_streamed(guard_agent(desk.agent({"number": 7}), session), "go")
            async for _ in streamed.stream_events():
                pass

    asyncio.run(main())
    assert desk.reached == []
    assert _names(seen) == ["beforeSubmitPrompt", "preToolUse", "postToolUseFailure", "afterAgentResponse", "stop"]


def _converse(engine: Engine, agent: Agent, **options: Any) -> agents.RunResult:
    async def main() -> agents.RunResult:
        async with engine.session() as session:
            return await run(agent, "go", session, **options)

    return asyncio.run(main())


def _follow_up_once(engine: Engine) -> None:
    def once(event: Any) -> Verdict | None:
        return Verdict(follow_up="once more") if event.loop_count == 0 else None

    engine.hook("stop")(once)


def test_a_follow_up_is_the_next_message(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "stop", {**_says(followup_message="once more"), "loop_limit": 2})
    seen = _listen(engine, "beforeSubmitPrompt", "stop")
    model = ScriptedModel([[assistant_message(word)] for word in ("one", "two", "three")])
    assert _converse(engine, Agent(name="a", model=model)).final_output == "three"
    assert [event.prompt for event in seen if event.wire_name == "beforeSubmitPrompt"] == ["go", *["once more"] * 2]
    assert [event.loop_count for event in seen if event.wire_name == "stop"] == [0, 1, 2]
    roles = [(item["role"], item["content"]) for item in model.calls[1].input if item["role"] == "user"]
    assert roles == [("user", "go"), ("user", "once more")]


def test_a_follow_up_adds_to_the_sdks_own_memory(engine: Engine) -> None:
    _follow_up_once(engine)
    model = ScriptedModel([[assistant_message("one")], [assistant_message("two")]])
    memory = agents.SQLiteSession("s")
    assert _converse(engine, Agent(name="a", model=model), session=memory).final_output == "two"
    said = [item.get("content") for item in asyncio.run(memory.get_items()) if item.get("role") == "user"]
    memory.close()
    assert said == ["go", "once more"]


def test_a_follow_up_continues_what_the_provider_keeps(engine: Engine) -> None:
    _follow_up_once(engine)
    model = ScriptedModel([[assistant_message("one")], [assistant_message("two")]])
    _converse(engine, Agent(name="a", model=model), previous_response_id="resp-1")
    assert [call.previous_response_id for call in model.calls] == ["resp-1", "resp-789"]
    assert len(model.calls[1].input) == 1


def test_a_follow_up_that_is_refused_ends_the_conversation_with_what_it_has(engine: Engine) -> None:
    engine.hook("stop")(lambda _: Verdict(follow_up="once more"))

    def refuse(event: Any) -> Verdict | None:
        return Verdict(permission=Permission.DENY) if event.prompt == "once more" else None

    engine.hook("beforeSubmitPrompt")(refuse)
    assert _converse(engine, Agent(name="a", model=_model())).final_output == "done"


def test_a_run_that_breaks_is_told_as_that(engine: Engine) -> None:
    seen = _listen(engine, "stop")
    with pytest.raises(RuntimeError, match="model down"):
        _converse(engine, Agent(name="a", model=ScriptedModel([RuntimeError("model down")])))
    assert [event.status for event in seen] == ["error"]


def test_a_run_whose_prompt_is_refused_never_began(engine: Engine) -> None:
    seen = _listen(engine, "stop")
    _refuse(engine, "beforeSubmitPrompt")
    with pytest.raises(agents.InputGuardrailTripwireTriggered):
        _converse(engine, Desk().agent())
    assert seen == []


def test_guarding_twice_judges_once(engine: Engine) -> None:
    seen = _listen(engine, "preToolUse")

    async def main() -> None:
        async with engine.session() as session:
            await run(guard_agent(Desk().agent({"number": 7}), session), "go", session)

    asyncio.run(main())
    assert len(seen) == 1


def test_an_agent_of_one_conversation_cannot_be_put_into_another(engine: Engine) -> None:
    with engine.session() as one, engine.session() as other:
        agent = guard_agent(Agent(name="a"), one)
        with pytest.raises(TrotlineError, match="another conversation"):
            guard_agent(agent, other)


def test_an_agent_that_was_changed_after_it_was_guarded_is_not_taken_for_guarded(engine: Engine) -> None:
    with engine.session() as session:
        changed = guard_agent(Agent(name="a"), session).clone(tools=[Desk().close])
        with pytest.raises(TrotlineError, match="changed after it was guarded"):
            guard_agent(changed, session)


def test_a_tripwire_of_somebody_elses_ends_a_follow_up_as_it_ends_a_run(engine: Engine) -> None:
    _follow_up_once(engine)

    async def no_more(context: Any, agent: Any, given: Any) -> agents.GuardrailFunctionOutput:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered="once more" in str(given))

    theirs = agents.InputGuardrail[Any](no_more, name="theirs")
    with pytest.raises(agents.InputGuardrailTripwireTriggered):
        _converse(engine, Agent(name="a", model=_model(DONE), input_guardrails=[theirs]))


# Sub-agents


def _team(filtered: bool = False, *, first: Any = None) -> tuple[Agent, Agent, ScriptedModel]:
    model = first or _model(_calls("transfer_to_billing", {}))
    billing = Agent(name="billing", model=ScriptedModel([[assistant_message("paid")]]))
    way = agents.handoff(billing, input_filter=lambda data: data.clone(new_items=())) if filtered else billing
    return Agent(name="triage", model=model, handoffs=[way]), billing, model


def test_a_handoff_is_a_sub_agent_that_starts_and_stops(engine: Engine) -> None:
    seen = _listen(engine, "subagentStart", "subagentStop", "stop")
    result = _run(engine, _team()[0], "pay it")
    assert (result.final_output, result.last_agent.name) == ("paid", "billing")
    start, stop, end = seen
    assert _names(seen) == ["subagentStart", "subagentStop", "stop"]
    assert (start.subagent_type, start.task, stop.summary, stop.status) == ("billing", "pay it", "paid", "completed")
    assert start.subagent_id == stop.subagent_id
    assert end.status == "completed"


@pytest.mark.parametrize("filtered", [False, True])
def test_a_refused_handoff_leads_back_and_the_model_reads_why(engine: Engine, filtered: bool, tmp_path: Path) -> None:
    refusal = {**_says(permission="deny", user_message="no money today"), "matcher": "billing"}
    _configure(tmp_path, "subagentStart", refusal)
    seen = _listen(engine, "subagentStop")
    agent, billing, model = _team(filtered)
    result = _run(engine, agent)
    assert (result.final_output, result.last_agent.name, seen) == ("done", "triage", [])
    assert "no money today" in json.dumps(model.calls[1].input)
    assert isinstance(billing.model, ScriptedModel)
    assert billing.model.calls == ()


def test_a_handoff_that_is_let_go_is_filtered_as_before(engine: Engine) -> None:
    agent, billing, _ = _team(filtered=True)
    assert _run(engine, agent).final_output == "paid"
    assert isinstance(billing.model, ScriptedModel)
    assert len(billing.model.calls[0].input) == 1


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked_about_a_handoff(engine: Engine, answer: bool) -> None:
    engine.hook("subagentStart")(lambda _: Verdict(permission=Permission.ASK))
    assert _run(engine, _team()[0], ask=lambda _: answer).final_output == ("paid" if answer else "done")


def test_the_tools_of_an_agent_that_was_handed_over_to_are_judged_too(engine: Engine) -> None:
    desk, seen = Desk(), _listen(engine, "preToolUse", "beforeSubmitPrompt")
    _refuse(engine, "preToolUse")
    clerk = desk.agent({"number": 7})
    triage = Agent(name="triage", model=_model(_calls("transfer_to_clerk", {})), handoffs=[clerk])
    assert _run(engine, triage).final_output == "done"
    assert (desk.reached, _names(seen)) == ([], ["beforeSubmitPrompt", "preToolUse"])


def test_an_agent_that_is_guarded_already_may_be_handed_over_to(engine: Engine) -> None:
    desk, seen = Desk(), _listen(engine, "preToolUse")

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            clerk = guard_agent(desk.agent({"number": 7}), session)
            triage = Agent(name="triage", model=_model(_calls("transfer_to_clerk", {})), handoffs=[clerk])
            return await Runner.run(guard_agent(triage, session), "go")

    assert asyncio.run(main()).final_output == "done"
    assert (desk.reached, len(seen)) == ([7], 1)


def test_agents_that_hand_over_in_a_circle_are_each_told_once(engine: Engine) -> None:
    seen = _listen(engine, "subagentStart", "subagentStop")
    one = Agent(name="one", model=_model(_calls("transfer_to_two", {})))
    two = Agent(name="two", model=ScriptedModel([_calls("transfer_to_one", {})]), handoffs=[one])
    one.handoffs = [two]
    assert _run(engine, one).last_agent.name == "one"
    assert [(event.wire_name, event.subagent_type) for event in seen] == [
        ("subagentStart", "two"),
        ("subagentStart", "one"),
        ("subagentStop", "two"),
        ("subagentStop", "one"),
    ]


def test_an_agent_that_only_the_handoff_knows_is_under_hooks_when_it_is_reached(engine: Engine) -> None:
    desk = Desk()
    _refuse(engine, "preToolUse")

    async def choose(context: Any, arguments: str) -> Agent:
        return desk.agent({"number": 7})

    way = agents.Handoff[Any, Any](
        tool_name="choose", tool_description="", input_json_schema={}, on_invoke_handoff=choose, agent_name="clerk"
    )
    triage = Agent(name="triage", model=_model(_calls("choose", {})), handoffs=[way])
    assert _run(engine, triage).final_output == "done"
    assert desk.reached == []


def test_a_run_resumed_from_text_meets_only_agents_under_hooks(engine: Engine) -> None:
    desk = Desk()
    desk.close.needs_approval = True
    model = _model(_calls("close", {"number": 7}))
    clerk = Agent(name="clerk", model=model, tools=[desk.close])
    way = agents.handoff(clerk, tool_name_override="over")
    triage = Agent(name="triage", model=_model(_calls("over", {})), handoffs=[way])
    _refuse(engine, "preToolUse", message="still no")

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            agent = guard_agent(triage, session)
            paused = await Runner.run(agent, "go")
            assert [item.tool_name for item in paused.interruptions] == ["close"]
            state = await agents.RunState.from_json(agent, json.loads(json.dumps(paused.to_state().to_json())))
            state.approve(state.get_interruptions()[0])
            return await Runner.run(agent, state)

    result = asyncio.run(main())
    assert (_outputs(result)[-1], desk.reached) == ("still no", [])


def test_an_approval_policy_of_a_tool_sees_only_input_as_the_tool_would(engine: Engine) -> None:
    policy_saw: list[Any] = []

    async def policy(context: Any, given: dict[str, Any], call_id: str) -> bool:
        policy_saw.append(given)
        return False

    def interrupted(agent: Agent) -> bool:
        return bool(asyncio.run(Runner.run(agent, "go")).interruptions)

    def agent(arguments: dict[str, Any]) -> Agent:
        desk = Desk()
        desk.bash.needs_approval = policy
        return Agent(name="a", model=_model(_calls("bash", arguments)), tools=[desk.bash])

    for given in ({"line": "ls", "seconds": 2}, {"line": "ls"}):
        policy_saw.clear()
        plain, without = interrupted(agent(given)), [*policy_saw]
        policy_saw.clear()
        assert bool(_run(engine, agent(given)).interruptions) is plain
        assert policy_saw == without


def _outer(inner: Agent) -> Agent:
    model = _model(_calls("research", {"input": "find it"}))
    return Agent(name="outer", model=model, tools=[inner.as_tool("research", "looks things up")])


def test_an_agent_used_as_a_tool_is_a_sub_agent(engine: Engine) -> None:
    seen = _listen(engine)
    inner = Agent(name="inner", model=ScriptedModel([[assistant_message("found")]]))
    assert _outputs(_run(engine, _outer(inner))) == ["found"]
    assert _names(seen)[1:5] == ["preToolUse", "subagentStart", "subagentStop", "postToolUse"]
    assert (seen[2].subagent_type, seen[2].task, seen[2].tool_call_id) == ("inner", "find it", "research-0")
    assert (seen[3].summary, seen[3].status) == ("found", "completed")


def test_an_agent_used_as_a_tool_can_be_refused(engine: Engine) -> None:
    _refuse(engine, "subagentStart", "inner", "not alone")
    inner = Agent(name="inner", model=ScriptedModel([]))
    assert _outputs(_run(engine, _outer(inner))) == ["not alone"]


def test_an_agent_used_as_a_tool_that_breaks_stops_with_an_error(engine: Engine) -> None:
    seen = _listen(engine, "subagentStop", "postToolUseFailure")
    _run(engine, _outer(Agent(name="inner", model=ScriptedModel([RuntimeError("model down")]))))
    assert [event.wire_name for event in seen] == ["subagentStop", "postToolUseFailure"]
    assert (seen[0].status, seen[0].summary, seen[1].error_message) == ("error", "model down", "model down")


def test_what_a_guarded_agent_does_as_a_tool_is_told_without_a_prompt_and_an_end_of_its_own(engine: Engine) -> None:
    desk, seen = Desk(), _listen(engine)

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            inner = guard_agent(desk.agent({"number": 7}), session)
            return await Runner.run(guard_agent(_outer(inner), session), "go")

    asyncio.run(main())
    assert desk.reached == [7]
    assert _names(seen) == [
        "beforeSubmitPrompt",
        "preToolUse",
        "subagentStart",
        "preToolUse",
        "postToolUse",
        "afterAgentResponse",
        "subagentStop",
        "postToolUse",
        "afterAgentResponse",
        "stop",
    ]


# What cannot be heard


def test_what_no_hook_will_hear_of_is_named() -> None:
    hosted = agents.ShellTool(environment={"type": "container_auto"})
    far = Agent(name="far", tools=[agents.WebSearchTool(), hosted, agents.ComputerTool(computer=lambda **_: None)])
    inner = Agent(name="inner")
    near = Agent(name="near", tools=[Desk().close, inner.as_tool("ask", "")], handoffs=[agents.handoff(far)])
    far.handoffs = [near]
    assert [(loss.what, loss.why) for loss in find_losses(near)] == [
        ("near: inside of ask", "that agent was not guarded before it was made a tool"),
        ("far: web_search", "it runs at the provider"),
        ("far: shell", "it runs at the provider"),
        ("far: computer_use_preview", "what it does with the computer is no call that could be refused"),
    ]


def test_a_sandbox_and_a_stored_prompt_are_named_too() -> None:
    agent = SandboxAgent(name="boxed", prompt={"id": "p"})
    assert [loss.what for loss in find_losses(agent)] == [
        "boxed: the tools of its sandbox",
        "boxed: the tools of its stored prompt",
    ]


def test_an_agent_whose_every_tool_is_heard_has_no_losses(engine: Engine) -> None:
    with engine.session() as session:
        inner = guard_agent(Agent(name="inner"), session)
        tools: list[agents.Tool] = [
            Desk().close,
            inner.as_tool("ask", ""),
            agents.ShellTool(executor=Executor()),
            agents.LocalShellTool(executor=lambda _: ""),
            agents.CustomTool(name="free", description="", on_invoke_tool=lambda _, text: text),
            agents.ApplyPatchTool(editor=Editor()),
        ]
        agent = Agent(name="a", tools=tools)
        assert find_losses(agent) == ()
        twins = guard_agent(agent, session).tools
    assert all(twin is not tool for twin, tool in zip(twins, tools, strict=True))


def test_a_tool_that_cannot_be_reached_is_left_as_it_is(engine: Engine) -> None:
    search = agents.WebSearchTool()
    with engine.session() as session:
        assert guard_agent(Agent(name="a", tools=[search]), session).tools == [search]


def test_a_sync_session_will_do(engine: Engine) -> None:
    desk = Desk()
    _refuse(engine, "preToolUse")

    async def main() -> agents.RunResult:
        with engine.session() as session:
            return await Runner.run(guard_agent(desk.agent({"number": 7}), session), "go")

    assert _outputs(asyncio.run(main())) == ["no"]
