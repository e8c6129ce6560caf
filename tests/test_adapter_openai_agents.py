"""The adapter for the OpenAI Agents SDK against the real SDK; the model is the SDK's own scripted one."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
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

from kit import Workspace, read_rows, reply_with
from test_adapter_mcp import SERVER
from trotline import AsyncSession, BeforeSubmitPrompt, Engine, Event, Outcome, Permission, TrotlineError, Verdict
from trotline.adapters.openai_agents import find_losses, guard_agent, run

Agent = agents.Agent[Any]
Runner = agents.Runner
EVENTS = tuple(read_rows("adapter_openai_agents", "events"))
DONE = [assistant_message("done")]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agents.set_tracing_disabled(True)
    yield
    agents.set_tracing_disabled(False)


def listen(engine: Engine, *names: str) -> list[Any]:
    seen: list[Any] = []
    for name in names or EVENTS:
        engine.hook(name)(seen.append)
    return seen


def get_names(seen: list[Any]) -> list[str]:
    return [event.wire_name for event in seen]


def deny(engine: Engine, event: str, matcher: str = "", message: str = "no") -> None:
    verdict = Verdict(permission=Permission.DENY, agent_message=message)
    engine.hook(event, matcher=matcher)(lambda _: verdict)


def rewrite_input(engine: Engine, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    def rewrite(event: Any) -> Verdict:
        return Verdict(edited_input=change(event.tool_input))

    engine.hook("preToolUse")(rewrite)


def build_model(*turns: Any) -> ScriptedModel:
    return ScriptedModel([*turns, DONE])


def build_calls(name: str, *arguments: Any) -> list[Any]:
    return [function_call(name, given, call_id=f"{name}-{number}") for number, given in enumerate(arguments)]


def run_agent(engine: Engine, agent: Agent, prompt: Any = "go", **options: Any) -> agents.RunResult:
    """Run the guarded agent in a new conversation."""

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            return await Runner.run(guard_agent(agent, session, **options), prompt)

    return asyncio.run(main())


def get_outputs(result: agents.RunResult) -> list[Any]:
    """Return the tool outputs that the model reads."""
    raw: list[Any] = [item.raw_item for item in result.new_items if "output_item" in item.type]
    return [item["output"] for item in raw if isinstance(item, dict)]


class Desk:
    """Function tools that record their calls."""

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

    def agent(self, *arguments: Any, **options: Any) -> Agent:
        model = build_model(build_calls("close", *arguments))
        return Agent(name="clerk", model=model, tools=[self.close], **options)


def test_run_raises_events_from_prompt_to_stop(engine: Engine) -> None:
    seen = listen(engine)
    result = run_agent(engine, Desk().agent({"number": 7}))
    assert (get_outputs(result), result.final_output) == (["closed 7"], "done")
    assert get_names(seen) == ["beforeSubmitPrompt", "preToolUse", "postToolUse", "afterAgentResponse", "stop"]
    prompt, pre, post, response, stop = seen
    assert (prompt.prompt, response.text, stop.status) == ("go", "done", "completed")
    assert {(event.tool_name, event.tool_use_id) for event in (pre, post)} == {("close", "close-0")}
    assert (pre.tool_input, post.tool_output) == ({"number": 7}, "closed 7")
    assert len({event.generation_id for event in seen}) == 1


def test_denied_tool_is_not_invoked_and_the_run_continues(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event(
        "preToolUse", {**reply_with(permission="deny", agent_message="ask first"), "matcher": "close"}
    )
    desk, seen = Desk(), listen(engine, "postToolUseFailure", "postToolUse")
    result = run_agent(engine, desk.agent({"number": 7}))
    assert (get_outputs(result), result.final_output, desk.reached) == (["ask first"], "done", [])
    assert [(event.failure_type, event.error_message) for event in seen] == [("permission_denied", "ask first")]


@pytest.mark.parametrize("answer", [True, False])
def test_tool_asks_the_user(engine: Engine, answer: bool) -> None:
    desk = Desk()
    engine.hook("preToolUse")(lambda _: Verdict(permission=Permission.ASK, user_message="close it?"))
    messages: list[str] = []

    async def ask(outcome: Any) -> bool:
        messages.append(outcome.user_message)
        return answer

    run_agent(engine, desk.agent({"number": 7}), ask=ask)
    assert (messages, desk.reached) == (["close it?"], [7] if answer else [])


def test_tool_receives_rewritten_input(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("preToolUse", reply_with(updated_input={"number": 8}))
    desk, seen = Desk(), listen(engine, "postToolUse")
    assert get_outputs(run_agent(engine, desk.agent({"number": 7}))) == ["closed 8"]
    assert (desk.reached, seen[0].tool_input) == ([8], {"number": 8})


def test_replaced_output_replaces_the_whole_output(engine: Engine) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"text": "[gone]"}))
    assert get_outputs(run_agent(engine, Desk().agent({"number": 7}))) == ['{"text": "[gone]"}']


def test_context_is_appended_to_the_output(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("postToolUse", reply_with(additional_context="that was the last one"))
    assert get_outputs(run_agent(engine, Desk().agent({"number": 7}))) == ["closed 7\n\nthat was the last one"]


def test_context_is_a_further_part_of_an_output_in_parts(engine: Engine) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(context="look"))
    image = "data:image/png;base64,AA=="
    show = agents.function_tool(lambda: agents.ToolOutputImage(image_url=image), name_override="show")
    agent = Agent(name="a", model=build_model(build_calls("show", {})), tools=[show])
    assert get_outputs(run_agent(engine, agent)) == [
        [{"type": "input_image", "image_url": image}, {"type": "input_text", "text": "look"}]
    ]


def test_failure_is_reported_and_handled_by_the_sdk(engine: Engine) -> None:
    seen = listen(engine, "postToolUse", "postToolUseFailure")
    engine.hook("postToolUseFailure")(lambda _: Verdict(context="try 14"))
    plain = asyncio.run(Runner.run(Desk().agent({"number": 13}), "go"))
    result = run_agent(engine, Desk().agent({"number": 13}))
    assert get_outputs(result) == [f"{get_outputs(plain)[0]}\n\ntry 14"]
    assert [(event.error_message, event.failure_type) for event in seen] == [("unlucky", "error")]


def test_failure_is_handled_by_the_error_function_of_the_tool(engine: Engine) -> None:
    seen = listen(engine, "postToolUseFailure")

    def fails() -> str:
        raise ValueError("unlucky")

    outputs_by_command = agents.function_tool(
        fails, name_override="told", failure_error_function=lambda _, error: f"oh: {error}"
    )
    raised = agents.function_tool(fails, name_override="raised", failure_error_function=None)
    assert get_outputs(
        run_agent(engine, Agent(name="a", model=build_model(build_calls("told", {})), tools=[outputs_by_command]))
    ) == ["oh: unlucky"]
    with pytest.raises(agents.UserError, match="unlucky"):
        run_agent(engine, Agent(name="a", model=build_model(build_calls("raised", {})), tools=[raised]))
    assert [event.error_message for event in seen] == ["unlucky"] * 2


def test_custom_function_tool_that_raises_ends_the_run(engine: Engine) -> None:
    seen = listen(engine, "postToolUseFailure")

    async def fails(context: Any, arguments: str) -> str:
        raise ValueError("unlucky")

    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tool = agents.FunctionTool(name="mine", description="", params_json_schema=schema, on_invoke_tool=fails)
    with pytest.raises(agents.UserError, match="unlucky"):
        run_agent(engine, Agent(name="a", model=build_model(build_calls("mine", {})), tools=[tool]))
    assert [event.error_message for event in seen] == ["unlucky"]


def build_slow_agent(**settings: Any) -> Agent:
    async def slow() -> str:
        await asyncio.sleep(30)
        return "late"

    tool = agents.function_tool(slow, timeout=0.05, **settings)
    return Agent(name="a", model=build_model(build_calls("slow", {})), tools=[tool])


def test_timeout_is_reported_and_handled_as_the_tool_configures(engine: Engine) -> None:
    seen = listen(engine, "postToolUseFailure")
    assert get_outputs(run_agent(engine, build_slow_agent())) == ["Tool 'slow' timed out after 0.05 seconds."]
    assert get_outputs(run_agent(engine, build_slow_agent(timeout_error_function=lambda _, error: "too slow"))) == [
        "too slow"
    ]
    with pytest.raises(agents.ToolTimeoutError):
        run_agent(engine, build_slow_agent(timeout_behavior="raise_exception"))
    assert [event.failure_type for event in seen] == ["timeout"] * 3


def test_hooks_do_not_count_towards_the_timeout_of_a_tool(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("preToolUse", {"command": "cat >/dev/null; sleep 0.4; echo '{}'"})

    async def quick() -> str:
        return "in time"

    tool = agents.function_tool(quick, timeout=0.2)
    assert get_outputs(
        run_agent(engine, Agent(name="a", model=build_model(build_calls("quick", {})), tools=[tool]))
    ) == ["in time"]


def test_hanging_hook_that_fails_closed_denies_after_its_timeout(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("preToolUse", {"command": "sleep 60", "timeout": 0.3, "failClosed": True})
    desk = Desk()
    outputs = get_outputs(run_agent(engine, desk.agent({"number": 7})))
    assert "timed out" in outputs[0]
    assert desk.reached == []


def test_twenty_concurrent_calls_get_their_own_answers(engine: Engine, workspace: Workspace) -> None:
    (workspace.path / "odd").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = json.load(sys.stdin)['tool_input']['number'] % 2\n"
        "print(json.dumps({'permission': 'deny' if odd else 'allow', 'agent_message': 'odd'}))\n"
    )
    (workspace.path / "odd").chmod(0o755)
    workspace.configure_event("preToolUse", {"command": str(workspace.path / "odd")})
    desk = Desk()
    numbers = [number for number in range(21) if number != 13]
    outputs = get_outputs(run_agent(engine, desk.agent(*({"number": number} for number in numbers))))
    assert outputs == ["odd" if number % 2 else f"closed {number}" for number in numbers]
    assert sorted(desk.reached) == [number for number in numbers if not number % 2]


@pytest.mark.parametrize("arguments", ["not json", "[1]", '{"number": "many"}'])
def test_sdk_reports_invalid_input(engine: Engine, arguments: str) -> None:
    desk, seen = Desk(), listen(engine, "preToolUse", "postToolUseFailure")
    outputs = get_outputs(run_agent(engine, desk.agent(arguments)))
    assert outputs == ["An error occurred while running the tool. Please try again."]
    assert (get_names(seen), desk.reached) == (["preToolUse", "postToolUseFailure"], [])


def test_tool_with_an_output_schema_gets_denial_replacement_and_context(engine: Engine) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = agents.function_tool(lambda: '{"n": 1}', name_override="count", output_json_schema=schema)

    def outputs() -> list[Any]:
        return get_outputs(
            run_agent(engine, Agent(name="a", model=build_model(build_calls("count", {})), tools=[tool]))
        )

    assert outputs() == ['{"n":1}']
    engine.hook("postToolUse")(lambda _: Verdict(context="once"))
    assert outputs() == ['{"n": 1}\n\nonce']
    deny(engine, "preToolUse", message="not today")
    assert outputs() == ["not today"]


def test_settings_of_a_tool_are_preserved(engine: Engine) -> None:
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
    attributes = (
        "name",
        "description",
        "params_json_schema",
        "is_enabled",
        "custom_data_extractor",
        "strict_json_schema",
    )
    assert [getattr(twin, name) for name in attributes] == [getattr(tool, name) for name in attributes]


def test_guarded_agent_is_not_modified(engine: Engine) -> None:
    desk = Desk()
    agent = desk.agent({"number": 7}, handoffs=[Agent(name="other")])
    before = (agent.tools[0], agent.hooks, agent.instructions, [*agent.handoffs], [*agent.input_guardrails])
    deny(engine, "preToolUse")
    run_agent(engine, agent)
    after = (agent.tools[0], agent.hooks, agent.instructions, [*agent.handoffs], [*agent.input_guardrails])
    assert after == before
    assert agent.tools[0] is desk.close


def test_internal_error_denies_tools_without_raising(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            agent = guard_agent(desk.agent({"number": 7}), session)
            monkeypatch.setattr(AsyncSession, "fire", fail_after_the_prompt)
            return await Runner.run(agent, "go")

    result = asyncio.run(main())
    assert "Trotline could not judge it" in get_outputs(result)[0]
    assert (result.final_output, desk.reached) == ("done", [])


_fire = AsyncSession.fire


async def fail_after_the_prompt(session: AsyncSession, event: Event) -> Outcome:
    if isinstance(event, BeforeSubmitPrompt):
        return await _fire(session, event)
    raise OSError("no thread left")


def test_recursive_output_is_reported_as_the_model_reads_it(engine: Engine) -> None:
    circle: list[Any] = []
    circle.append(circle)
    seen = listen(engine, "postToolUse", "stop")
    tool = agents.function_tool(lambda: circle, name_override="turn")
    agent = Agent(
        name="a", model=build_model(build_calls("turn", {})), tools=[tool], tool_use_behavior="stop_on_first_tool"
    )
    assert run_agent(engine, agent).final_output == seen[0].tool_output == "[[...]]"
    assert get_names(seen) == ["postToolUse", "stop"]


def test_internal_error_of_the_engine_triggers_the_tripwire_of_the_prompt(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    with pytest.raises(agents.InputGuardrailTripwireTriggered):
        run_agent(engine, Desk().agent())


# Shells


def test_function_tool_that_is_a_shell_raises_shell_events(engine: Engine) -> None:
    desk, seen = Desk(), listen(engine)
    agent = Agent(name="a", model=build_model(build_calls("bash", {"line": "ls", "seconds": 2})), tools=[desk.bash])
    assert get_outputs(run_agent(engine, agent, shells={"bash": "line"})) == ["ran ls"]
    assert get_names(seen)[1:5] == ["preToolUse", "beforeShellExecution", "afterShellExecution", "postToolUse"]
    assert (seen[1].tool_name, seen[1].tool_input) == ("Shell", {"command": "ls", "seconds": 2})
    assert [event.command for event in seen[2:4]] == ["ls", "ls"]
    assert (seen[3].output, json.loads(seen[4].tool_output)) == ("ran ls", {"output": "ran ls"})


def test_command_of_a_function_tool_is_rewritten_in_its_argument(engine: Engine) -> None:
    desk = Desk()
    rewrite_input(engine, lambda given: {**given, "command": "ls -l"})
    agent = Agent(name="a", model=build_model(build_calls("bash", {"line": "ls", "seconds": 2})), tools=[desk.bash])
    run_agent(engine, agent, shells={"bash": "line"})
    assert desk.reached == [("ls -l", 2)]


def test_hooks_see_the_command_that_runs_despite_a_second_argument(engine: Engine) -> None:
    desk = Desk()
    deny(engine, "beforeShellExecution", "^rm", "not rm")
    for given in ({"line": "rm x", "command": "ls"}, {"command": "ls", "line": "rm x"}):
        agent = Agent(name="a", model=build_model(build_calls("bash", given)), tools=[desk.bash])
        assert get_outputs(run_agent(engine, agent, shells={"bash": "line"})) == ["not rm"]
    assert desk.reached == []


def test_command_as_a_list_is_reported_as_a_line(engine: Engine) -> None:
    seen = listen(engine, "beforeShellExecution")

    def start(command: list[str]) -> str:
        return "ran"

    agent = Agent(name="a", model=build_model(build_calls("start", {"command": ["rm", "my file"]})))
    agent.tools = [agents.function_tool(start)]
    assert get_outputs(run_agent(engine, agent, shells={"start": "command"})) == ["ran"]
    assert seen[0].command == "rm 'my file'"


@pytest.mark.parametrize("shells", [{"bash": "command"}, {"zsh": "line"}])
def test_unknown_shell_is_an_error(engine: Engine, shells: dict[str, str]) -> None:
    with pytest.raises(TrotlineError, match="tool `"):
        run_agent(engine, Agent(name="a", tools=[Desk().bash]), shells=shells)


def test_shell_with_an_ambiguous_command_is_an_error(engine: Engine) -> None:
    tool = agents.function_tool(lambda line, command: "x", name_override="bash", strict_mode=False)
    with pytest.raises(TrotlineError, match="could be its command"):
        run_agent(engine, Agent(name="a", tools=[tool]), shells={"bash": "line"})


class Executor:
    """An executor of a ShellTool that records its commands."""

    def __init__(self, text: bool = False) -> None:
        self.text = text
        self.reached: list[list[str]] = []

    async def __call__(self, request: agents.ShellCommandRequest) -> Any:
        commands = request.data.action.commands
        self.reached.append(commands)
        if self.text:
            return "ran " + " and ".join(commands)
        return agents.ShellResult(output=[agents.ShellCommandOutput(stdout=f"ran {command}") for command in commands])


def build_shell_agent(executor: Executor, *commands: str) -> Agent:
    action = Action(commands=[*commands], max_output_length=None, timeout_ms=None)
    call = ResponseFunctionShellToolCall(id="i", call_id="s", action=action, status="completed", type="shell_call")
    return Agent(name="a", model=build_model([call]), tools=[agents.ShellTool(executor=executor)])


def list_shell_outputs(result: agents.RunResult) -> list[str]:
    """Return the outputs that the SDK builds for the model from the results of a shell."""
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


def test_every_command_of_a_shell_is_reported_with_its_output(engine: Engine) -> None:
    executor, seen = Executor(), listen(engine)
    run_agent(engine, build_shell_agent(executor, "ls", "pwd"))
    assert executor.reached == [["ls", "pwd"]]
    assert [event.command for event in seen if event.wire_name == "beforeShellExecution"] == ["ls", "pwd"]
    outputs_by_command = {event.command: event.output for event in seen if event.wire_name == "afterShellExecution"}
    assert outputs_by_command == {"ls": "ran ls", "pwd": "ran pwd"}
    assert {event.tool_name for event in seen if event.wire_name == "postToolUse"} == {"Shell"}


def test_denied_command_prevents_all_commands_of_the_call(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event(
        "beforeShellExecution", {**reply_with(permission="deny", agent_message="not rm"), "matcher": "^rm"}
    )
    executor, seen = Executor(), listen(engine, "postToolUseFailure", "postToolUse")
    result = run_agent(engine, build_shell_agent(executor, "cd build", "rm -rf *", "ls"))
    assert (executor.reached, result.final_output) == ([], "done")
    assert "not rm" in list_shell_outputs(result)[0]
    assert [(event.tool_input["command"], event.failure_type) for event in seen] == [
        ("rm -rf *", "permission_denied"),
        ("cd build", "error"),
    ]


def test_commands_of_a_shell_are_rewritten_separately(engine: Engine) -> None:
    executor = Executor()
    rewrite_input(engine, lambda given: {"command": given["command"] + " -l"})
    run_agent(engine, build_shell_agent(executor, "ls", "du"))
    assert executor.reached == [["ls -l", "du -l"]]


@pytest.mark.parametrize("text", [False, True])
def test_output_of_a_shell_is_replaced_and_extended(engine: Engine, text: bool) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}, context="for a reason"))
    shown = list_shell_outputs(run_agent(engine, build_shell_agent(Executor(text=text), "cat .env")))
    assert "ran cat" not in shown[0]
    assert '{"gone": true}\n\nfor a reason' in shown[0]


def test_output_of_a_single_command_is_replaced(engine: Engine) -> None:
    def hide(event: Any) -> Verdict | None:
        return Verdict(replaced_output={"gone": True}) if "env" in event.tool_input["command"] else None

    engine.hook("postToolUse")(hide)
    shown = list_shell_outputs(run_agent(engine, build_shell_agent(Executor(), "ls", "cat .env")))
    assert "ran ls" in shown[0]
    assert "ran cat" not in shown[0]


def test_joined_output_of_commands_is_reported_and_replaced_as_a_whole(engine: Engine) -> None:
    class Joined(Executor):
        async def __call__(self, request: agents.ShellCommandRequest) -> Any:
            return agents.ShellResult(output=[agents.ShellCommandOutput(stdout="one", stderr="two")])

    seen = listen(engine, "afterShellExecution")
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}))
    shown = list_shell_outputs(run_agent(engine, build_shell_agent(Joined(), "a", "b")))
    assert [event.output for event in seen] == ["one\ntwo", '{"gone": true}']
    assert "two" not in shown[0]


def build_local_shell_agent(reached: list[list[str]], words: list[str]) -> Agent:
    def execute(request: agents.LocalShellCommandRequest) -> str:
        reached.append(request.data.action.command)
        return "ran"

    action = LocalShellCallAction(command=words, env={}, type="exec", working_directory="/w")
    call = LocalShellCall(id="i", call_id="l", action=action, status="completed", type="local_shell_call")
    return Agent(name="a", model=build_model([call]), tools=[agents.LocalShellTool(executor=execute)])


def test_local_shell_is_evaluated_by_its_line(engine: Engine) -> None:
    reached: list[list[str]] = []
    seen = listen(engine, "beforeShellExecution", "afterShellExecution")
    words = ["rm", "my file"]
    assert get_outputs(run_agent(engine, build_local_shell_agent(reached, words))) == ["ran"]
    assert [(event.command, event.cwd) for event in seen] == [("rm 'my file'", "/w"), ("rm 'my file'", None)]
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"command": "ls 'it"}))
    run_agent(engine, build_local_shell_agent(reached, words))
    assert reached == [words, ["sh", "-c", "ls 'it"]]
    deny(engine, "beforeShellExecution", "^ls", "no listing")
    assert get_outputs(run_agent(engine, build_local_shell_agent(reached, words))) == ["no listing"]
    assert len(reached) == 2


# Other tools that run here


def build_custom_agent(reached: list[str]) -> Agent:
    def invoke(context: Any, text: str) -> str:
        reached.append(text)
        return f"did {text}"

    call = ResponseCustomToolCall(call_id="k", input="raw", name="free", type="custom_tool_call")
    tool = agents.CustomTool(name="free", description="", on_invoke_tool=invoke)
    return Agent(name="a", model=build_model([call]), tools=[tool])


def test_tool_with_free_text_is_evaluated_by_that_text(engine: Engine) -> None:
    reached: list[str] = []
    seen = listen(engine, "preToolUse")
    assert get_outputs(run_agent(engine, build_custom_agent(reached))) == ["did raw"]
    assert (seen[0].tool_name, seen[0].tool_input) == ("free", {"input": "raw"})
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"input": "cooked"}))
    assert get_outputs(run_agent(engine, build_custom_agent(reached))) == ["did cooked"]
    deny(engine, "preToolUse")
    assert get_outputs(run_agent(engine, build_custom_agent(reached))) == ["no"]
    assert reached == ["raw", "cooked"]


class Editor:
    """An editor of apply_patch that records its operations."""

    def __init__(self, result: Any = None) -> None:
        self.result = result
        self.reached: list[tuple[str, str, str | None, str | None]] = []

    def _note(self, operation: agents.ApplyPatchOperation) -> Any:
        self.reached.append((operation.type, operation.path, operation.diff, operation.move_to))
        return self.result

    create_file = update_file = delete_file = _note


def build_patch_agent(editor: Editor, **operation: Any) -> Agent:
    call: Any = {"id": "i", "call_id": "p", "type": "apply_patch_call", "status": "completed", "operation": operation}
    return Agent(name="a", model=build_model([call]), tools=[agents.ApplyPatchTool(editor=editor)])


def test_patch_raises_write_and_edit_events(engine: Engine) -> None:
    editor, seen = Editor("fine"), listen(engine, "preToolUse", "afterFileEdit", "postToolUse")
    run_agent(engine, build_patch_agent(editor, type="create_file", path="a.py", diff="+x"))
    assert editor.reached == [("create_file", "a.py", "+x", None)]
    assert get_names(seen) == ["preToolUse", "afterFileEdit", "postToolUse"]
    assert (seen[0].tool_name, seen[0].tool_input) == ("Write", {"file_path": "a.py", "diff": "+x"})
    assert (seen[1].file_path, seen[2].tool_output) == ("a.py", "fine")


def test_denied_patch_fails_like_a_failed_patch(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event(
        "preToolUse", {**reply_with(permission="deny", agent_message="keep it"), "matcher": "^Delete$"}
    )
    editor = Editor()
    result = run_agent(engine, build_patch_agent(editor, type="delete_file", path="a.py"))
    item = next(item.raw_item for item in result.new_items if item.type == "tool_call_output_item")
    assert isinstance(item, dict)
    assert (item["status"], item["output"], editor.reached) == ("failed", "keep it", [])


def test_patch_is_rewritten_and_its_output_replaced_and_extended(engine: Engine) -> None:
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"file_path": "b.py", "diff": "+y"}))
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}, context="mind"))
    editor = Editor(agents.ApplyPatchResult(status="completed", output="secret"))
    result = run_agent(engine, build_patch_agent(editor, type="update_file", path="a.py", diff="+x"))
    assert editor.reached == [("update_file", "b.py", "+y", None)]
    assert get_outputs(result) == ['{"gone": true}\n\nmind']


def test_failed_patch_is_reported_as_a_failure(engine: Engine) -> None:
    seen = listen(engine, "afterFileEdit", "postToolUseFailure")
    run_agent(
        engine, build_patch_agent(Editor(agents.ApplyPatchResult(status="failed")), type="delete_file", path="a.py")
    )
    assert [(event.wire_name, event.error_message) for event in seen] == [
        ("postToolUseFailure", "the editor gave no reason")
    ]


def test_file_is_moved_only_if_both_paths_may_be_written(engine: Engine) -> None:
    def protect(event: Any) -> Verdict | None:
        hidden = event.tool_input["file_path"] == ".env"
        return Verdict(permission=Permission.DENY, agent_message="hidden") if hidden else None

    engine.hook("preToolUse")(protect)
    editor = Editor("moved")
    move = {"type": "update_file", "path": "a", "diff": "+x"}
    assert get_outputs(run_agent(engine, build_patch_agent(editor, **move, move_to=".env"))) == ["hidden"]
    assert get_outputs(run_agent(engine, build_patch_agent(editor, **move, move_to="b"))) == ["moved"]
    assert editor.reached == [("update_file", "a", "+x", "b")]


# MCP servers of an agent


def test_calls_of_mcp_servers_are_reported_denied_and_rewritten(engine: Engine, workspace: Workspace) -> None:
    (workspace.path / "server.py").write_text(SERVER.replace("tickets", "anything"))
    seen = listen(engine, "beforeMCPExecution", "afterMCPExecution", "postToolUse")

    def rewrite(event: Any) -> Verdict | None:
        return Verdict(edited_input={"number": 2}) if event.tool_input == {"number": 1} else None

    def refuse(event: Any) -> Verdict | None:
        three = event.tool_input == {"number": 3}
        return Verdict(permission=Permission.DENY, agent_message="not three") if three else None

    engine.hook("preToolUse")(rewrite)
    engine.hook("beforeMCPExecution")(refuse)
    params: Any = {
        "command": sys.executable,
        "args": [str(workspace.path / "server.py"), str(workspace.path / "reached")],
    }

    async def main() -> agents.RunResult:
        async with engine.session() as session, MCPServerStdio(params, name="tickets") as server:
            model = build_model(*([function_call("close", {"number": n}, call_id=f"m{n}")] for n in (1, 3)))
            return await Runner.run(guard_agent(Agent(name="a", model=model, mcp_servers=[server]), session), "go")

    result = asyncio.run(main())
    assert [output[0]["text"] for output in get_outputs(result)] == ["closed 2", "not three"]
    assert (workspace.path / "reached").read_text() == "closing 2\n"
    assert get_names(seen) == ["beforeMCPExecution", "afterMCPExecution", "postToolUse", "beforeMCPExecution"]
    assert {event.mcp_server_name for event in seen[:2]} == {"tickets"}
    assert seen[2].tool_name == "MCP:tickets:close"


# Prompts, responses, stops


def test_denied_prompt_triggers_the_tripwire_with_the_reason(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("beforeSubmitPrompt", reply_with(**{"continue": False, "user_message": "a key is in it"}))
    agent = Desk().agent()
    with pytest.raises(agents.InputGuardrailTripwireTriggered) as refused:
        run_agent(engine, agent, "sk-123")
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
def test_prompt_is_the_newest_message_of_the_user(engine: Engine, given: Any, text: str) -> None:
    seen = listen(engine, "beforeSubmitPrompt")
    run_agent(engine, Agent(name="a", model=build_model()), given)
    assert [event.prompt for event in seen] == [text]


def test_context_of_session_and_prompt_is_in_the_instructions(engine: Engine) -> None:
    engine.hook("sessionStart")(lambda _: Verdict(context="the house rules"))
    engine.hook("beforeSubmitPrompt")(lambda _: Verdict(context="it is Friday"))
    model = build_model()
    run_agent(engine, Agent(name="a", model=model, instructions=lambda context, agent: f"you are {agent.name}"))
    assert model.calls[0].system_instructions == "you are a\n\nthe house rules\n\nit is Friday"


def test_agent_without_instructions_has_none(engine: Engine) -> None:
    model = build_model()
    run_agent(engine, Agent(name="a", model=model))
    assert model.calls[0].system_instructions is None


def test_thoughts_and_responses_are_reported(engine: Engine) -> None:
    seen = listen(engine, "afterAgentThought", "afterAgentResponse")
    thought = ResponseReasoningItem(id="r", type="reasoning", summary=[Summary(text="hm", type="summary_text")])
    run_agent(engine, Agent(name="a", model=ScriptedModel([[thought, assistant_message("so")]])))
    assert [(event.wire_name, event.text) for event in seen] == [
        ("afterAgentThought", "hm"),
        ("afterAgentResponse", "so"),
    ]


def test_existing_hooks_of_an_agent_are_called(engine: Engine) -> None:
    called: list[str] = []

    class Mine(agents.AgentHooks[Any]):
        async def on_start(self, context: Any, agent: Any) -> None:
            called.append("start")

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            called.append(f"tool {tool.name}")

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            called.append("response")

        async def on_end(self, context: Any, agent: Any, output: Any) -> None:
            called.append(f"end {output}")

    run_agent(engine, Desk().agent({"number": 7}, hooks=Mine()))
    assert called == ["start", "response", "tool close", "response", "end done"]


def test_streamed_run_is_evaluated(engine: Engine) -> None:
    desk, seen = Desk(), listen(engine)
    deny(engine, "preToolUse")

    async def main() -> None:
        async with engine.session() as session:
            streamed = Runner.run_streamed(guard_agent(desk.agent({"number": 7}), session), "go")
            async for _ in streamed.stream_events():
                pass

    asyncio.run(main())
    assert desk.reached == []
    assert get_names(seen) == ["beforeSubmitPrompt", "preToolUse", "postToolUseFailure", "afterAgentResponse", "stop"]


def converse(engine: Engine, agent: Agent, **options: Any) -> agents.RunResult:
    async def main() -> agents.RunResult:
        async with engine.session() as session:
            return await run(agent, "go", session, **options)

    return asyncio.run(main())


def follow_up_once(engine: Engine) -> None:
    def once(event: Any) -> Verdict | None:
        return Verdict(follow_up="once more") if event.loop_count == 0 else None

    engine.hook("stop")(once)


def test_follow_up_is_the_next_message(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("stop", {**reply_with(followup_message="once more"), "loop_limit": 2})
    seen = listen(engine, "beforeSubmitPrompt", "stop")
    model = ScriptedModel([[assistant_message(word)] for word in ("one", "two", "three")])
    assert converse(engine, Agent(name="a", model=model)).final_output == "three"
    assert [event.prompt for event in seen if event.wire_name == "beforeSubmitPrompt"] == ["go", *["once more"] * 2]
    assert [event.loop_count for event in seen if event.wire_name == "stop"] == [0, 1, 2]
    roles = [(item["role"], item["content"]) for item in model.calls[1].input if item["role"] == "user"]
    assert roles == [("user", "go"), ("user", "once more")]


def test_follow_up_is_stored_in_the_session_of_the_sdk(engine: Engine) -> None:
    follow_up_once(engine)
    model = ScriptedModel([[assistant_message("one")], [assistant_message("two")]])
    memory = agents.SQLiteSession("s")
    assert converse(engine, Agent(name="a", model=model), session=memory).final_output == "two"
    messages = [item.get("content") for item in asyncio.run(memory.get_items()) if item.get("role") == "user"]
    memory.close()
    assert messages == ["go", "once more"]


def test_follow_up_continues_the_response_stored_at_the_provider(engine: Engine) -> None:
    follow_up_once(engine)
    model = ScriptedModel([[assistant_message("one")], [assistant_message("two")]])
    converse(engine, Agent(name="a", model=model), previous_response_id="resp-1")
    assert [call.previous_response_id for call in model.calls] == ["resp-1", "resp-789"]
    assert len(model.calls[1].input) == 1


def test_denied_follow_up_ends_the_conversation_with_its_last_output(engine: Engine) -> None:
    engine.hook("stop")(lambda _: Verdict(follow_up="once more"))

    def refuse(event: Any) -> Verdict | None:
        return Verdict(permission=Permission.DENY) if event.prompt == "once more" else None

    engine.hook("beforeSubmitPrompt")(refuse)
    assert converse(engine, Agent(name="a", model=build_model())).final_output == "done"


def test_failed_run_is_reported_as_an_error(engine: Engine) -> None:
    seen = listen(engine, "stop")
    with pytest.raises(RuntimeError, match="model down"):
        converse(engine, Agent(name="a", model=ScriptedModel([RuntimeError("model down")])))
    assert [event.status for event in seen] == ["error"]


def test_run_with_a_denied_prompt_raises_no_stop(engine: Engine) -> None:
    seen = listen(engine, "stop")
    deny(engine, "beforeSubmitPrompt")
    with pytest.raises(agents.InputGuardrailTripwireTriggered):
        converse(engine, Desk().agent())
    assert seen == []


def test_agent_that_is_guarded_twice_is_evaluated_once(engine: Engine) -> None:
    seen = listen(engine, "preToolUse")

    async def main() -> None:
        async with engine.session() as session:
            await run(guard_agent(Desk().agent({"number": 7}), session), "go", session)

    asyncio.run(main())
    assert len(seen) == 1


def test_guarded_agent_cannot_be_used_in_another_conversation(engine: Engine) -> None:
    with engine.session() as command, engine.session() as other:
        agent = guard_agent(Agent(name="a"), command)
        with pytest.raises(TrotlineError, match="another conversation"):
            guard_agent(agent, other)


def test_agent_changed_after_guarding_is_an_error(engine: Engine) -> None:
    with engine.session() as session:
        changed = guard_agent(Agent(name="a"), session).clone(tools=[Desk().close])
        with pytest.raises(TrotlineError, match="changed after it was guarded"):
            guard_agent(changed, session)


def test_foreign_tripwire_ends_a_follow_up(engine: Engine) -> None:
    follow_up_once(engine)

    async def no_more(context: Any, agent: Any, given: Any) -> agents.GuardrailFunctionOutput:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered="once more" in str(given))

    theirs = agents.InputGuardrail[Any](no_more, name="theirs")
    with pytest.raises(agents.InputGuardrailTripwireTriggered):
        converse(engine, Agent(name="a", model=build_model(DONE), input_guardrails=[theirs]))


# Sub-agents


def build_team(filtered: bool = False, *, first: Any = None) -> tuple[Agent, Agent, ScriptedModel]:
    model = first or build_model(build_calls("transfer_to_billing", {}))
    billing = Agent(name="billing", model=ScriptedModel([[assistant_message("paid")]]))
    way = agents.handoff(billing, input_filter=lambda data: data.clone(new_items=())) if filtered else billing
    return Agent(name="triage", model=model, handoffs=[way]), billing, model


def test_handoff_raises_subagent_events(engine: Engine) -> None:
    seen = listen(engine, "subagentStart", "subagentStop", "stop")
    result = run_agent(engine, build_team()[0], "pay it")
    assert (result.final_output, result.last_agent.name) == ("paid", "billing")
    start, stop, end = seen
    assert get_names(seen) == ["subagentStart", "subagentStop", "stop"]
    assert (start.subagent_type, start.task, stop.summary, stop.status) == ("billing", "pay it", "paid", "completed")
    assert start.subagent_id == stop.subagent_id
    assert end.status == "completed"


@pytest.mark.parametrize("filtered", [False, True])
def test_denied_handoff_returns_to_the_agent_with_the_reason(
    engine: Engine, filtered: bool, workspace: Workspace
) -> None:
    refusal = {**reply_with(permission="deny", user_message="no money today"), "matcher": "billing"}
    workspace.configure_event("subagentStart", refusal)
    seen = listen(engine, "subagentStop")
    agent, billing, model = build_team(filtered)
    result = run_agent(engine, agent)
    assert (result.final_output, result.last_agent.name, seen) == ("done", "triage", [])
    assert "no money today" in json.dumps(model.calls[1].input)
    assert isinstance(billing.model, ScriptedModel)
    assert billing.model.calls == ()


def test_permitted_handoff_is_filtered(engine: Engine) -> None:
    agent, billing, _ = build_team(filtered=True)
    assert run_agent(engine, agent).final_output == "paid"
    assert isinstance(billing.model, ScriptedModel)
    assert len(billing.model.calls[0].input) == 1


@pytest.mark.parametrize("answer", [True, False])
def test_handoff_asks_the_user(engine: Engine, answer: bool) -> None:
    engine.hook("subagentStart")(lambda _: Verdict(permission=Permission.ASK))
    assert run_agent(engine, build_team()[0], ask=lambda _: answer).final_output == ("paid" if answer else "done")


def test_tools_of_a_handoff_agent_are_evaluated(engine: Engine) -> None:
    desk, seen = Desk(), listen(engine, "preToolUse", "beforeSubmitPrompt")
    deny(engine, "preToolUse")
    clerk = desk.agent({"number": 7})
    triage = Agent(name="triage", model=build_model(build_calls("transfer_to_clerk", {})), handoffs=[clerk])
    assert run_agent(engine, triage).final_output == "done"
    assert (desk.reached, get_names(seen)) == ([], ["beforeSubmitPrompt", "preToolUse"])


def test_handoff_to_a_guarded_agent_is_evaluated_once(engine: Engine) -> None:
    desk, seen = Desk(), listen(engine, "preToolUse")

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            clerk = guard_agent(desk.agent({"number": 7}), session)
            triage = Agent(name="triage", model=build_model(build_calls("transfer_to_clerk", {})), handoffs=[clerk])
            return await Runner.run(guard_agent(triage, session), "go")

    assert asyncio.run(main()).final_output == "done"
    assert (desk.reached, len(seen)) == ([7], 1)


def test_circular_handoffs_report_each_agent_once(engine: Engine) -> None:
    seen = listen(engine, "subagentStart", "subagentStop")
    command = Agent(name="one", model=build_model(build_calls("transfer_to_two", {})))
    two = Agent(name="two", model=ScriptedModel([build_calls("transfer_to_one", {})]), handoffs=[command])
    command.handoffs = [two]
    assert run_agent(engine, command).last_agent.name == "one"
    assert [(event.wire_name, event.subagent_type) for event in seen] == [
        ("subagentStart", "two"),
        ("subagentStart", "one"),
        ("subagentStop", "two"),
        ("subagentStop", "one"),
    ]


def test_agent_chosen_by_a_handoff_is_guarded(engine: Engine) -> None:
    desk = Desk()
    deny(engine, "preToolUse")

    async def choose(context: Any, arguments: str) -> Agent:
        return desk.agent({"number": 7})

    way = agents.Handoff[Any, Any](
        tool_name="choose", tool_description="", input_json_schema={}, on_invoke_handoff=choose, agent_name="clerk"
    )
    triage = Agent(name="triage", model=build_model(build_calls("choose", {})), handoffs=[way])
    assert run_agent(engine, triage).final_output == "done"
    assert desk.reached == []


def test_run_resumed_from_json_uses_guarded_agents(engine: Engine) -> None:
    desk = Desk()
    desk.close.needs_approval = True
    model = build_model(build_calls("close", {"number": 7}))
    clerk = Agent(name="clerk", model=model, tools=[desk.close])
    way = agents.handoff(clerk, tool_name_override="over")
    triage = Agent(name="triage", model=build_model(build_calls("over", {})), handoffs=[way])
    deny(engine, "preToolUse", message="still no")

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            agent = guard_agent(triage, session)
            paused = await Runner.run(agent, "go")
            assert [item.tool_name for item in paused.interruptions] == ["close"]
            state = await agents.RunState.from_json(agent, json.loads(json.dumps(paused.to_state().to_json())))
            state.approve(state.get_interruptions()[0])
            return await Runner.run(agent, state)

    result = asyncio.run(main())
    assert (get_outputs(result)[-1], desk.reached) == ("still no", [])


def test_approval_policy_sees_the_input_of_the_tool(engine: Engine) -> None:
    policy_saw: list[Any] = []

    async def policy(context: Any, given: dict[str, Any], call_id: str) -> bool:
        policy_saw.append(given)
        return False

    def interrupted(agent: Agent) -> bool:
        return bool(asyncio.run(Runner.run(agent, "go")).interruptions)

    def agent(arguments: dict[str, Any]) -> Agent:
        desk = Desk()
        desk.bash.needs_approval = policy
        return Agent(name="a", model=build_model(build_calls("bash", arguments)), tools=[desk.bash])

    for given in ({"line": "ls", "seconds": 2}, {"line": "ls"}):
        policy_saw.clear()
        plain, without = interrupted(agent(given)), [*policy_saw]
        policy_saw.clear()
        assert bool(run_agent(engine, agent(given)).interruptions) is plain
        assert policy_saw == without


def build_outer_agent(inner: Agent) -> Agent:
    model = build_model(build_calls("research", {"input": "find it"}))
    return Agent(name="outer", model=model, tools=[inner.as_tool("research", "looks things up")])


def test_agent_used_as_a_tool_raises_subagent_events(engine: Engine) -> None:
    seen = listen(engine)
    inner = Agent(name="inner", model=ScriptedModel([[assistant_message("found")]]))
    assert get_outputs(run_agent(engine, build_outer_agent(inner))) == ["found"]
    assert get_names(seen)[1:5] == ["preToolUse", "subagentStart", "subagentStop", "postToolUse"]
    assert (seen[2].subagent_type, seen[2].task, seen[2].tool_call_id) == ("inner", "find it", "research-0")
    assert (seen[3].summary, seen[3].status) == ("found", "completed")


def test_agent_used_as_a_tool_can_be_denied(engine: Engine) -> None:
    deny(engine, "subagentStart", "inner", "not alone")
    inner = Agent(name="inner", model=ScriptedModel([]))
    assert get_outputs(run_agent(engine, build_outer_agent(inner))) == ["not alone"]


def test_failing_agent_used_as_a_tool_stops_with_an_error(engine: Engine) -> None:
    seen = listen(engine, "subagentStop", "postToolUseFailure")
    run_agent(engine, build_outer_agent(Agent(name="inner", model=ScriptedModel([RuntimeError("model down")]))))
    assert [event.wire_name for event in seen] == ["subagentStop", "postToolUseFailure"]
    assert (seen[0].status, seen[0].summary, seen[1].error_message) == ("error", "model down", "model down")


def test_guarded_agent_used_as_a_tool_raises_no_prompt_and_stop(engine: Engine) -> None:
    desk, seen = Desk(), listen(engine)

    async def main() -> agents.RunResult:
        async with engine.session() as session:
            inner = guard_agent(desk.agent({"number": 7}), session)
            return await Runner.run(guard_agent(build_outer_agent(inner), session), "go")

    asyncio.run(main())
    assert desk.reached == [7]
    assert get_names(seen) == [
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


# Tools without events


def test_tools_without_events_are_listed_as_losses() -> None:
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


def test_sandbox_and_stored_prompt_are_listed_as_losses() -> None:
    agent = SandboxAgent(name="boxed", prompt={"id": "p"})
    assert [loss.what for loss in find_losses(agent)] == [
        "boxed: the tools of its sandbox",
        "boxed: the tools of its stored prompt",
    ]


def test_agent_with_guarded_tools_has_no_losses(engine: Engine) -> None:
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


def test_hosted_tool_stays_unchanged(engine: Engine) -> None:
    search = agents.WebSearchTool()
    with engine.session() as session:
        assert guard_agent(Agent(name="a", tools=[search]), session).tools == [search]


def test_sync_session_is_accepted(engine: Engine) -> None:
    desk = Desk()
    deny(engine, "preToolUse")

    async def main() -> agents.RunResult:
        with engine.session() as session:
            return await Runner.run(guard_agent(desk.agent({"number": 7}), session), "go")

    assert get_outputs(asyncio.run(main())) == ["no"]
