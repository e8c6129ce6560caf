"""The mcp adapter against the real library: a server over its in-memory transport, and one over stdio."""

import asyncio
import copy
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.shared.memory import create_client_server_memory_streams
from mcp.types import CallToolResult, InputRequiredResult, TextContent

from kit import Workspace, read_data, reply_with
from trotline import AfterMCP, AsyncSession, Engine, Event, Outcome, Permission, PostToolUse, Verdict
from trotline.adapters.mcp import guard_client
from trotline.adapters.tool_call import TextFormat, ToolCall

SERVER = read_data("scripts/ticket_server.py.txt")


class Tickets:
    """A server that records the calls that reach it."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, Any]] = []
        self.server = MCPServer("tickets")
        self.server.tool()(self.close)
        self.server.tool()(self.lose)
        self.server.tool()(self.wait)
        self.server.tool()(self.everything)

    def close(self, number: int) -> str:
        self.reached.append(("close", number))
        return f"closed {number}"

    def lose(self) -> CallToolResult:
        self.reached.append(("lose", None))
        return CallToolResult(is_error=True, content=[TextContent(text="the drawer is empty")])

    async def wait(self) -> str:
        await asyncio.sleep(30)
        return "late"

    def everything(self, name: str = "all", deep: bool = False) -> str:
        self.reached.append(("everything", (name, deep)))
        return "secret"


@asynccontextmanager
async def connect(tickets: Tickets) -> AsyncIterator[ClientSession]:
    """The library's own client session, over its own in-memory transport."""
    async with Client(tickets.server) as client:
        yield client.session


def converse(
    engine: Engine,
    body: Callable[[ClientSession], Awaitable[Any]],
    tickets: Tickets | None = None,
    **options: Any,
) -> Any:
    """Run `body` with a guarded client session in a conversation."""

    async def main() -> Any:
        async with engine.session() as session, connect(tickets or Tickets()) as client:
            return await body(guard_client(client, session, server="tickets", **options))

    return asyncio.run(main())


def build_call(tool: str, arguments: dict[str, Any] | None = None) -> Callable[[ClientSession], Awaitable[Any]]:
    return lambda client: client.call_tool(tool, arguments)


def get_texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def listen(engine: Engine, *names: str) -> list[Any]:
    seen: list[Any] = []
    for name in names:
        engine.hook(name)(seen.append)
    return seen


EVENTS = ("preToolUse", "beforeMCPExecution", "afterMCPExecution", "postToolUse", "postToolUseFailure")


def test_call_raises_four_consistent_events(engine: Engine) -> None:
    seen = listen(engine, *EVENTS)
    result = converse(engine, build_call("close", {"number": 7}), url="http://127.0.0.1/mcp")
    assert get_texts(result) == ["closed 7"]
    pre, before, after, post = seen
    assert [event.wire_name for event in seen] == list(EVENTS[:4])
    assert {event.tool_name for event in (pre, post)} == {"MCP:tickets:close"}
    assert {event.tool_name for event in (before, after)} == {"close"}
    assert [event.tool_input for event in seen] == [{"number": 7}] * 4
    assert {event.mcp_server_name for event in (before, after)} == {"tickets"}
    assert {event.mcp_server_url for event in (before, after)} == {"http://127.0.0.1/mcp"}
    assert pre.tool_use_id == post.tool_use_id != ""
    assert json.loads(after.result_json) == json.loads(post.tool_output)
    assert json.loads(post.tool_output)["content"] == [{"type": "text", "text": "closed 7"}]
    assert post.duration > 0


def test_colon_in_a_server_name_is_replaced(engine: Engine) -> None:
    seen = listen(engine, "preToolUse", "beforeMCPExecution")

    async def body(client: ClientSession) -> None:
        async with engine.session() as session:
            await guard_client(client, session, server="stdio: python x.py").call_tool("close", {"number": 1})

    async def main() -> None:
        async with connect(Tickets()) as client:
            await body(client)

    asyncio.run(main())
    assert [event.tool_name for event in seen] == ["MCP:stdio_ python x.py:close", "close"]
    assert seen[1].mcp_server_name == "stdio: python x.py"


@pytest.mark.parametrize("event", ["preToolUse", "beforeMCPExecution"])
def test_denied_call_is_an_error_result_and_does_not_reach_the_server(engine: Engine, event: str) -> None:
    tickets = Tickets()
    seen = listen(engine, "postToolUseFailure", "afterMCPExecution", "postToolUse")

    @engine.hook(event, matcher="close")
    def refuse(event: Event) -> Verdict:
        return Verdict(permission=Permission.DENY, user_message="to you", agent_message="to it")

    result = converse(engine, build_call("close", {"number": 7}), tickets)
    assert isinstance(result, CallToolResult)
    assert (result.is_error, get_texts(result), tickets.reached) == (True, ["to it"], [])
    assert [(event.error_message, event.failure_type, event.duration) for event in seen] == [
        ("to it", "permission_denied", 0)
    ]


def test_denial_without_a_reason_has_a_default_text(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.DENY))
    assert get_texts(converse(engine, build_call("close", {"number": 7}))) == [
        "A hook refused this and gave no reason."
    ]


def test_context_of_a_failure_hook_follows_the_denial(engine: Engine) -> None:
    engine.hook("preToolUse")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))
    engine.hook("postToolUseFailure")(lambda _: Verdict(context="ask for a ticket first"))
    assert get_texts(converse(engine, build_call("close", {"number": 7}))) == ["no", "ask for a ticket first"]


async def answer_later(answer: Any) -> Any:
    await asyncio.sleep(0)
    return answer


def raise_error(outcome: Outcome) -> bool:
    raise RuntimeError("no terminal")


@pytest.mark.parametrize(
    "ask,allowed",
    [
        (lambda _: True, True),
        (lambda _: False, False),
        (lambda _: answer_later(True), True),
        (lambda _: answer_later(False), False),
        (lambda _: "yes", False),
        (raise_error, False),
        (None, False),
    ],
)
@pytest.mark.parametrize("event", ["preToolUse", "beforeMCPExecution"])
def test_call_is_made_only_if_the_user_agrees(engine: Engine, event: str, ask: Any, allowed: bool) -> None:
    tickets = Tickets()
    engine.hook(event)(lambda _: Verdict(permission=Permission.ASK, user_message="close it?"))
    result = converse(engine, build_call("close", {"number": 7}), tickets, ask=ask)
    assert tickets.reached == ([("close", 7)] if allowed else [])
    assert result.is_error is not allowed


def test_ask_callback_receives_the_outcome(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.ASK, user_message="close it?"))
    outcomes: list[Outcome] = []
    converse(engine, build_call("close", {"number": 7}), ask=outcomes.append)
    assert [(outcome.user_message, outcome.event.wire_name) for outcome in outcomes] == [
        ("close it?", "beforeMCPExecution")
    ]


def test_server_and_events_receive_rewritten_input(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("preToolUse", reply_with(permission="allow", updated_input={"number": 8}))
    tickets = Tickets()
    seen = listen(engine, "beforeMCPExecution", "afterMCPExecution", "postToolUse")
    assert get_texts(converse(engine, build_call("close", {"number": 7}), tickets)) == ["closed 8"]
    assert tickets.reached == [("close", 8)]
    assert [event.tool_input for event in seen] == [{"number": 8}] * 3


def test_input_emptied_by_a_hook_stays_empty(engine: Engine) -> None:
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={}))
    tickets = Tickets()
    converse(engine, build_call("everything", {"name": "one", "deep": True}), tickets)
    assert tickets.reached == [("everything", ("all", False))]


def test_call_without_arguments_is_made_without_arguments(engine: Engine) -> None:
    tickets = Tickets()
    assert get_texts(converse(engine, build_call("everything"), tickets)) == ["secret"]
    assert tickets.reached == [("everything", ("all", False))]


@pytest.mark.parametrize(
    "put,texts,structured",
    [
        ({"content": [{"type": "text", "text": "[gone]"}]}, ["[gone]"], None),
        ({"content": [], "structuredContent": {"n": 1}, "isError": True}, [], {"n": 1}),
        ({"rows": 3}, ['{"rows": 3}'], {"rows": 3}),
        ({"content": "not a list"}, ['{"content": "not a list"}'], {"content": "not a list"}),
    ],
)
def test_replaced_output_replaces_the_whole_result(
    engine: Engine, workspace: Workspace, put: dict[str, Any], texts: list[str], structured: Any
) -> None:
    workspace.configure_event("postToolUse", reply_with(updated_mcp_tool_output=put))
    result = converse(engine, build_call("everything"))
    assert (get_texts(result), result.structured_content) == (texts, structured)
    assert "secret" not in result.model_dump_json()


def test_replacement_that_is_not_json_does_not_restore_the_original(engine: Engine) -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output=circle))
    result = converse(engine, build_call("everything"))
    assert result.is_error
    assert "secret" not in result.model_dump_json()


def test_context_is_appended_to_the_result(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("postToolUse", reply_with(additional_context="it was the last one"))
    engine.hook("preToolUse")(lambda _: Verdict(context="mind the gap"))
    result = converse(engine, build_call("close", {"number": 7}))
    assert get_texts(result) == ["closed 7", "mind the gap\n\nit was the last one"]
    assert result.structured_content == {"result": "closed 7"}


def test_error_result_is_reported_as_a_failure_and_returned(engine: Engine) -> None:
    seen = listen(engine, *EVENTS[2:])
    engine.hook("postToolUseFailure")(lambda _: Verdict(context="look in the other drawer"))
    result = converse(engine, build_call("lose"))
    assert (result.is_error, get_texts(result)) == (True, ["the drawer is empty", "look in the other drawer"])
    assert [event.wire_name for event in seen] == ["afterMCPExecution", "postToolUseFailure"]
    assert (seen[1].error_message, seen[1].failure_type) == ("the drawer is empty", "error")


def test_server_error_is_reported_and_raised(engine: Engine) -> None:
    seen = listen(engine, *EVENTS[2:])
    tickets = Tickets()

    @tickets.server.tool()
    def fall() -> str:
        raise MCPError(code=-32603, message="the server fell over")

    async def body(client: ClientSession) -> None:
        with pytest.raises(MCPError, match="the server fell over"):
            await client.call_tool("fall")

    converse(engine, body, tickets)
    assert [(event.wire_name, event.error_message, event.failure_type) for event in seen] == [
        ("postToolUseFailure", "the server fell over", "error")
    ]


def test_timeout_is_reported(engine: Engine) -> None:
    seen = listen(engine, *EVENTS[2:])

    async def body(client: ClientSession) -> None:
        with pytest.raises(MCPError, match="Timed out"):
            await client.call_tool("wait", read_timeout_seconds=0.1)

    converse(engine, body)
    assert [(event.wire_name, event.failure_type) for event in seen] == [("postToolUseFailure", "timeout")]


def test_question_of_the_server_is_returned_unchanged(engine: Engine) -> None:
    question = InputRequiredResult(input_requests={}, request_state="opaque")
    engine.hook("postToolUse")(lambda _: Verdict(context="and?"))

    class Asking:
        async def call_tool(self, name: str, arguments: Any, **options: Any) -> InputRequiredResult:
            return question

    async def body(_: Any) -> Any:
        async with engine.session() as session:
            client = guard_client(Asking(), session, server="tickets")
            return await client.call_tool("close", {}, allow_input_required=True)

    assert converse(engine, body) is question


def test_unknown_result_is_returned_unchanged(engine: Engine) -> None:
    class Odd:
        async def call_tool(self, name: str, arguments: Any) -> bytes:
            return b"what is this"

    async def body(_: Any) -> Any:
        async with engine.session() as session:
            return await guard_client(Odd(), session, server="tickets").call_tool("close", {})

    assert converse(engine, body) == b"what is this"


def test_hanging_hook_that_fails_closed_denies_after_its_timeout(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("beforeMCPExecution", {"command": "sleep 60", "timeout": 0.3, "failClosed": True})
    tickets = Tickets()
    result = converse(engine, build_call("close", {"number": 7}), tickets)
    assert result.is_error
    assert "timed out" in get_texts(result)[0]
    assert tickets.reached == []


def test_twenty_concurrent_calls_get_their_own_answers(engine: Engine, workspace: Workspace) -> None:
    (workspace.path / "odd").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = json.loads(json.load(sys.stdin)['tool_input'])['number'] % 2\n"
        "print(json.dumps({'permission': 'deny' if odd else 'allow', 'agent_message': 'odd'}))\n"
    )
    (workspace.path / "odd").chmod(0o755)
    workspace.configure_event("beforeMCPExecution", {"command": str(workspace.path / "odd")})
    tickets = Tickets()

    async def body(client: ClientSession) -> list[CallToolResult]:
        return await asyncio.gather(*(client.call_tool("close", {"number": number}) for number in range(20)))

    results = converse(engine, body, tickets)
    assert [get_texts(result) for result in results] == [
        ["odd"] if number % 2 else [f"closed {number}"] for number in range(20)
    ]
    assert sorted(tickets.reached) == [("close", number) for number in range(0, 20, 2)]


def test_other_attributes_come_from_the_client(engine: Engine) -> None:
    async def body(client: ClientSession) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"close", "lose"}
        assert client.server_info is not None
        assert client.server_info.name == "tickets"
        with pytest.raises(AttributeError):
            _ = client.nothing  # type: ignore[attr-defined]
        twin = copy.copy(client)
        assert twin.server_info is client.server_info

    converse(engine, body)


def test_attributes_are_set_on_the_client(engine: Engine) -> None:
    class Mine:
        limit = 1

    mine = Mine()

    async def main() -> None:
        async with engine.session() as session:
            guard_client(mine, session, server="tickets").limit = 2

    asyncio.run(main())
    assert mine.limit == 2


def test_guarded_client_is_a_context_manager(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))
    tickets = Tickets()

    async def main() -> CallToolResult:
        async with (
            engine.session() as session,
            guard_client(Client(tickets.server), session, server="tickets") as client,
        ):
            return await client.call_tool("close", {"number": 7})

    assert get_texts(asyncio.run(main())) == ["no"]


def test_low_level_session_over_memory_streams_is_guarded(engine: Engine) -> None:
    tickets = Tickets()
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={"number": 2}))

    async def main() -> CallToolResult:
        async with create_client_server_memory_streams() as (ours, theirs):
            low = tickets.server._lowlevel_server
            serving = asyncio.create_task(low.run(*theirs, low.create_initialization_options()))
            async with engine.session() as session, ClientSession(*ours) as client:
                await client.initialize()
                result = await guard_client(client, session, server="tickets").call_tool("close", {"number": 1})
            serving.cancel()
            return result

    assert get_texts(asyncio.run(main())) == ["closed 2"]


def test_sync_session_is_accepted(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))

    async def main() -> CallToolResult:
        with engine.session() as session:
            async with connect(Tickets()) as client:
                return await guard_client(client, session, server="tickets").call_tool("close", {"number": 7})

    assert get_texts(asyncio.run(main())) == ["no"]


def test_internal_error_denies_the_call_without_raising(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = Tickets()
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    result = converse(engine, build_call("close", {"number": 7}), tickets)
    assert (result.is_error, tickets.reached) == (True, [])


def test_input_that_is_not_json_is_denied_without_raising(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("preToolUse", reply_with(permission="allow"))
    tickets = Tickets()
    result = converse(engine, build_call("close", {"number": object()}), tickets)
    assert "Trotline could not judge it" in get_texts(result)[0]
    assert tickets.reached == []


@pytest.mark.parametrize("broken", [AfterMCP, PostToolUse])
def test_result_is_returned_even_if_reporting_it_fails(
    engine: Engine, broken: type[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    fire = AsyncSession.fire

    async def break_on_one(session: AsyncSession, event: Event) -> Outcome:
        if isinstance(event, broken):
            raise OSError("no thread left")
        return await fire(session, event)

    monkeypatch.setattr(AsyncSession, "fire", break_on_one)
    assert get_texts(converse(engine, build_call("close", {"number": 7}))) == ["closed 7"]


async def execute_without_library(engine: Engine, run: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
    """Execute a tool call with the base of all adapters, for a library whose results are text."""
    async with engine.session() as session:
        return await ToolCall(session, "search", {"q": "x"}).execute(run, TextFormat())


async def search(given: dict[str, Any]) -> dict[str, Any]:
    return {"found": given["q"], "at": Path("/w")}


def test_call_without_a_library_raises_only_generic_events(engine: Engine) -> None:
    seen = listen(engine, *EVENTS)
    assert asyncio.run(execute_without_library(engine, search)) == {"found": "x", "at": Path("/w")}
    assert [event.wire_name for event in seen] == ["preToolUse", "postToolUse"]
    assert seen[1].tool_output == '{"found": "x", "at": "/w"}'


def test_call_without_a_library_gets_denial_replacement_and_context_as_text(engine: Engine) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(context="look"))
    assert asyncio.run(execute_without_library(engine, search)) == '{"found": "x", "at": "/w"}\n\nlook'
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}))
    assert asyncio.run(execute_without_library(engine, search)) == '{"gone": true}\n\nlook'
    engine.hook("preToolUse")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))
    assert asyncio.run(execute_without_library(engine, search)) == "no"


def test_cancelled_call_ends_at_once(engine: Engine) -> None:
    seen = listen(engine, *EVENTS)

    async def forever(_: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(execute_without_library(engine, forever), 0.5))
    assert [event.wire_name for event in seen] == ["preToolUse"]


def call_stdio_server(workspace: Workspace, engine: Engine, number: int) -> CallToolResult:
    """Call the server in a separate process."""
    (workspace.path / "server.py").write_text(SERVER)
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(workspace.path / "server.py"), str(workspace.path / "reached")]
    )

    async def main() -> CallToolResult:
        async with (
            engine.session() as session,
            stdio_client(parameters) as (read, write),
            ClientSession(read, write) as client,
        ):
            await client.initialize()
            return await guard_client(client, session, server="tickets").call_tool("close", {"number": number})

    return asyncio.run(main())


def test_stdio_server_receives_rewritten_input(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("preToolUse", reply_with(updated_input={"number": 9}))
    assert get_texts(call_stdio_server(workspace, engine, 1)) == ["closed 9"]
    assert (workspace.path / "reached").read_text() == "closing 9\n"


def test_stdio_server_does_not_receive_a_denied_call(engine: Engine, workspace: Workspace) -> None:
    workspace.configure_event("beforeMCPExecution", reply_with(permission="deny", agent_message="not from here"))
    result = call_stdio_server(workspace, engine, 1)
    assert (result.is_error, get_texts(result)) == (True, ["not from here"])
    assert not (workspace.path / "reached").exists()


def run_python(*lines: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-W", "error", "-c", "\n".join(lines)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("adapter,package", [("mcp", "mcp"), ("openai_agents", "agents")])
def test_adapter_without_its_library_names_the_package_to_install(adapter: str, package: str) -> None:
    done = run_python("import sys", f"sys.modules['{package}'] = None", f"import trotline.adapters.{adapter}")
    assert done.returncode == 1
    assert "ImportError: trotline.adapters." in done.stderr
    assert "pip install" in done.stderr


def test_trotline_imports_no_library_of_an_adapter() -> None:
    done = run_python("import sys, trotline, trotline.adapters", "trotline.Engine", "print(*sys.modules)")
    assert not get_package_names(done.stdout.split()) & {"mcp", "mcp_types", "agents", "openai", "pydantic"}


def get_package_names(modules: Iterable[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}
