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

from trotline import AfterMCP, AsyncSession, Engine, Event, Outcome, Permission, PostToolUse, Verdict
from trotline.adapters.mcp import guard_client
from trotline.adapters.tool_call import TextFormat, ToolCall

SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("tickets")


@server.tool()
def close(number: int) -> str:
    print("closing", number, file=open(sys.argv[1], "a"))
    return f"closed {number}"


server.run("stdio")
"""


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


class Tickets:
    """A server, and what really reached it."""

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
async def _client(tickets: Tickets) -> AsyncIterator[ClientSession]:
    """The library's own client session, over its own in-memory transport."""
    async with Client(tickets.server) as client:
        yield client.session


def _converse(
    engine: Engine,
    body: Callable[[ClientSession], Awaitable[Any]],
    tickets: Tickets | None = None,
    **more: Any,
) -> Any:
    """A conversation in which a guarded client session is at hand."""

    async def main() -> Any:
        async with engine.session() as session, _client(tickets or Tickets()) as client:
            return await body(guard_client(client, session, server="tickets", **more))

    return asyncio.run(main())


def _call(tool: str, arguments: dict[str, Any] | None = None) -> Callable[[ClientSession], Awaitable[Any]]:
    return lambda client: client.call_tool(tool, arguments)


def _texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def _listen(engine: Engine, *names: str) -> list[Any]:
    seen: list[Any] = []
    for name in names:
        engine.hook(name)(seen.append)
    return seen


EVENTS = ("preToolUse", "beforeMCPExecution", "afterMCPExecution", "postToolUse", "postToolUseFailure")


def test_a_call_is_told_as_four_events_that_agree(engine: Engine) -> None:
    seen = _listen(engine, *EVENTS)
    result = _converse(engine, _call("close", {"number": 7}), url="http://127.0.0.1/mcp")
    assert _texts(result) == ["closed 7"]
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


def test_a_colon_in_a_servers_name_does_not_make_it_another_server(engine: Engine) -> None:
    seen = _listen(engine, "preToolUse", "beforeMCPExecution")

    async def body(client: ClientSession) -> None:
        async with engine.session() as session:
            await guard_client(client, session, server="stdio: python x.py").call_tool("close", {"number": 1})

    async def main() -> None:
        async with _client(Tickets()) as client:
            await body(client)

    asyncio.run(main())
    assert [event.tool_name for event in seen] == ["MCP:stdio_ python x.py:close", "close"]
    assert seen[1].mcp_server_name == "stdio: python x.py"


@pytest.mark.parametrize("event", ["preToolUse", "beforeMCPExecution"])
def test_a_refused_call_never_reaches_the_server_and_is_an_error_result(engine: Engine, event: str) -> None:
    tickets = Tickets()
    seen = _listen(engine, "postToolUseFailure", "afterMCPExecution", "postToolUse")

    @engine.hook(event, matcher="close")
    def refuse(event: Event) -> Verdict:
        return Verdict(permission=Permission.DENY, user_message="to you", agent_message="to it")

    result = _converse(engine, _call("close", {"number": 7}), tickets)
    assert isinstance(result, CallToolResult)
    assert (result.is_error, _texts(result), tickets.reached) == (True, ["to it"], [])
    assert [(one.error_message, one.failure_type, one.duration) for one in seen] == [("to it", "permission_denied", 0)]


def test_a_refusal_without_a_reason_still_says_that_it_is_one(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.DENY))
    assert _texts(_converse(engine, _call("close", {"number": 7}))) == ["A hook refused this and gave no reason."]


def test_what_a_hook_of_a_refusal_adds_is_read_with_it(engine: Engine) -> None:
    engine.hook("preToolUse")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))
    engine.hook("postToolUseFailure")(lambda _: Verdict(context="ask for a ticket first"))
    assert _texts(_converse(engine, _call("close", {"number": 7}))) == ["no", "ask for a ticket first"]


async def _later(answer: Any) -> Any:
    await asyncio.sleep(0)
    return answer


def _broken(outcome: Outcome) -> bool:
    raise RuntimeError("nobody there")


@pytest.mark.parametrize(
    "ask,allowed",
    [
        (lambda _: True, True),
        (lambda _: False, False),
        (lambda _: _later(True), True),
        (lambda _: _later(False), False),
        (lambda _: "yes", False),
        (_broken, False),
        (None, False),
    ],
)
@pytest.mark.parametrize("event", ["preToolUse", "beforeMCPExecution"])
def test_a_person_is_asked_and_only_a_yes_lets_the_call_go(engine: Engine, event: str, ask: Any, allowed: bool) -> None:
    tickets = Tickets()
    engine.hook(event)(lambda _: Verdict(permission=Permission.ASK, user_message="close it?"))
    result = _converse(engine, _call("close", {"number": 7}), tickets, ask=ask)
    assert tickets.reached == ([("close", 7)] if allowed else [])
    assert result.is_error is not allowed


def test_the_person_who_is_asked_sees_the_outcome(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.ASK, user_message="close it?"))
    asked: list[Outcome] = []
    _converse(engine, _call("close", {"number": 7}), ask=asked.append)
    assert [(outcome.user_message, outcome.event.wire_name) for outcome in asked] == [
        ("close it?", "beforeMCPExecution")
    ]


def test_rewritten_input_is_what_the_server_gets_and_what_is_told(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", _says(permission="allow", updated_input={"number": 8}))
    tickets = Tickets()
    seen = _listen(engine, "beforeMCPExecution", "afterMCPExecution", "postToolUse")
    assert _texts(_converse(engine, _call("close", {"number": 7}), tickets)) == ["closed 8"]
    assert tickets.reached == [("close", 8)]
    assert [event.tool_input for event in seen] == [{"number": 8}] * 3


def test_input_that_a_hook_emptied_stays_empty(engine: Engine) -> None:
    engine.hook("preToolUse")(lambda _: Verdict(edited_input={}))
    tickets = Tickets()
    _converse(engine, _call("everything", {"name": "one", "deep": True}), tickets)
    assert tickets.reached == [("everything", ("all", False))]


def test_a_call_without_arguments_is_made_without_arguments(engine: Engine) -> None:
    tickets = Tickets()
    assert _texts(_converse(engine, _call("everything"), tickets)) == ["secret"]
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
def test_a_replaced_output_is_all_that_the_caller_gets(
    engine: Engine, tmp_path: Path, put: dict[str, Any], texts: list[str], structured: Any
) -> None:
    _configure(tmp_path, "postToolUse", _says(updated_mcp_tool_output=put))
    result = _converse(engine, _call("everything"))
    assert (_texts(result), result.structured_content) == (texts, structured)
    assert "secret" not in result.model_dump_json()


def test_a_replacement_that_cannot_be_spelled_does_not_bring_the_original_back(engine: Engine) -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output=circle))
    result = _converse(engine, _call("everything"))
    assert result.is_error
    assert "secret" not in result.model_dump_json()


def test_context_stands_beside_the_result(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "postToolUse", _says(additional_context="it was the last one"))
    engine.hook("preToolUse")(lambda _: Verdict(context="mind the gap"))
    result = _converse(engine, _call("close", {"number": 7}))
    assert _texts(result) == ["closed 7", "mind the gap\n\nit was the last one"]
    assert result.structured_content == {"result": "closed 7"}


def test_a_result_that_is_an_error_is_told_as_a_failure_and_handed_on(engine: Engine) -> None:
    seen = _listen(engine, *EVENTS[2:])
    engine.hook("postToolUseFailure")(lambda _: Verdict(context="look in the other drawer"))
    result = _converse(engine, _call("lose"))
    assert (result.is_error, _texts(result)) == (True, ["the drawer is empty", "look in the other drawer"])
    assert [event.wire_name for event in seen] == ["afterMCPExecution", "postToolUseFailure"]
    assert (seen[1].error_message, seen[1].failure_type) == ("the drawer is empty", "error")


def test_an_error_of_the_server_is_told_and_raised(engine: Engine) -> None:
    seen = _listen(engine, *EVENTS[2:])
    tickets = Tickets()

    @tickets.server.tool()
    def fall() -> str:
        raise MCPError(code=-32603, message="the server fell over")

    async def body(client: ClientSession) -> None:
        with pytest.raises(MCPError, match="the server fell over"):
            await client.call_tool("fall")

    _converse(engine, body, tickets)
    assert [(event.wire_name, event.error_message, event.failure_type) for event in seen] == [
        ("postToolUseFailure", "the server fell over", "error")
    ]


def test_a_call_that_took_too_long_is_told_as_that(engine: Engine) -> None:
    seen = _listen(engine, *EVENTS[2:])

    async def body(client: ClientSession) -> None:
        with pytest.raises(MCPError, match="Timed out"):
            await client.call_tool("wait", read_timeout_seconds=0.1)

    _converse(engine, body)
    assert [(event.wire_name, event.failure_type) for event in seen] == [("postToolUseFailure", "timeout")]


def test_a_question_of_the_server_is_handed_on_as_it_is(engine: Engine) -> None:
    question = InputRequiredResult(input_requests={}, request_state="opaque")
    engine.hook("postToolUse")(lambda _: Verdict(context="and?"))

    class Asking:
        async def call_tool(self, name: str, arguments: Any, **more: Any) -> InputRequiredResult:
            return question

    async def body(_: Any) -> Any:
        async with engine.session() as session:
            client = guard_client(Asking(), session, server="tickets")
            return await client.call_tool("close", {}, allow_input_required=True)

    assert _converse(engine, body) is question


def test_a_result_that_cannot_be_told_is_handed_on_as_it_is(engine: Engine) -> None:
    class Odd:
        async def call_tool(self, name: str, arguments: Any) -> bytes:
            return b"what is this"

    async def body(_: Any) -> Any:
        async with engine.session() as session:
            return await guard_client(Odd(), session, server="tickets").call_tool("close", {})

    assert _converse(engine, body) == b"what is this"


def test_a_hook_that_hangs_and_fails_closed_refuses_in_its_time(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "beforeMCPExecution", {"command": "sleep 60", "timeout": 0.3, "failClosed": True})
    tickets = Tickets()
    result = _converse(engine, _call("close", {"number": 7}), tickets)
    assert result.is_error
    assert "timed out" in _texts(result)[0]
    assert tickets.reached == []


def test_twenty_calls_at_once_get_their_own_answers(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = json.loads(json.load(sys.stdin)['tool_input'])['number'] % 2\n"
        "print(json.dumps({'permission': 'deny' if odd else 'allow', 'agent_message': 'odd'}))\n"
    )
    (tmp_path / "odd").chmod(0o755)
    _configure(tmp_path, "beforeMCPExecution", {"command": str(tmp_path / "odd")})
    tickets = Tickets()

    async def body(client: ClientSession) -> list[CallToolResult]:
        return await asyncio.gather(*(client.call_tool("close", {"number": number}) for number in range(20)))

    results = _converse(engine, body, tickets)
    assert [_texts(result) for result in results] == [
        ["odd"] if number % 2 else [f"closed {number}"] for number in range(20)
    ]
    assert sorted(tickets.reached) == [("close", number) for number in range(0, 20, 2)]


def test_everything_but_the_call_is_the_clients_own(engine: Engine) -> None:
    async def body(client: ClientSession) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"close", "lose"}
        assert client.server_info is not None
        assert client.server_info.name == "tickets"
        with pytest.raises(AttributeError):
            _ = client.nothing  # type: ignore[attr-defined]
        twin = copy.copy(client)
        assert twin.server_info is client.server_info

    _converse(engine, body)


def test_attributes_are_set_on_the_client_itself(engine: Engine) -> None:
    class Mine:
        limit = 1

    mine = Mine()

    async def main() -> None:
        async with engine.session() as session:
            guard_client(mine, session, server="tickets").limit = 2

    asyncio.run(main())
    assert mine.limit == 2


def test_a_guarded_client_is_opened_and_closed_like_the_one_in_it(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))
    tickets = Tickets()

    async def main() -> CallToolResult:
        async with (
            engine.session() as session,
            guard_client(Client(tickets.server), session, server="tickets") as client,
        ):
            return await client.call_tool("close", {"number": 7})

    assert _texts(asyncio.run(main())) == ["no"]


def test_the_low_level_session_over_the_librarys_streams(engine: Engine) -> None:
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

    assert _texts(asyncio.run(main())) == ["closed 2"]


def test_a_sync_session_will_do(engine: Engine) -> None:
    engine.hook("beforeMCPExecution")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))

    async def main() -> CallToolResult:
        with engine.session() as session:
            async with _client(Tickets()) as client:
                return await guard_client(client, session, server="tickets").call_tool("close", {"number": 7})

    assert _texts(asyncio.run(main())) == ["no"]


def test_when_trotline_itself_breaks_calls_are_refused_and_nothing_is_raised(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets = Tickets()
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    result = _converse(engine, _call("close", {"number": 7}), tickets)
    assert (result.is_error, tickets.reached) == (True, [])


def test_input_that_no_hook_could_read_is_refused_and_nothing_is_raised(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", _says(permission="allow"))
    tickets = Tickets()
    result = _converse(engine, _call("close", {"number": object()}), tickets)
    assert "Trotline could not judge it" in _texts(result)[0]
    assert tickets.reached == []


@pytest.mark.parametrize("broken", [AfterMCP, PostToolUse])
def test_what_is_done_is_handed_on_even_if_telling_it_breaks(
    engine: Engine, broken: type[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    fire = AsyncSession.fire

    async def break_on_one(session: AsyncSession, event: Event) -> Outcome:
        if isinstance(event, broken):
            raise OSError("no thread left")
        return await fire(session, event)

    monkeypatch.setattr(AsyncSession, "fire", break_on_one)
    assert _texts(_converse(engine, _call("close", {"number": 7}))) == ["closed 7"]


async def _plain(engine: Engine, run: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
    """What every adapter is made of, for a library whose results are text."""
    async with engine.session() as session:
        return await ToolCall(session, "search", {"q": "x"}).execute(run, TextFormat())


async def _found(given: dict[str, Any]) -> dict[str, Any]:
    return {"found": given["q"], "at": Path("/w")}


def test_a_call_without_a_library_is_told_by_the_generic_events_alone(engine: Engine) -> None:
    seen = _listen(engine, *EVENTS)
    assert asyncio.run(_plain(engine, _found)) == {"found": "x", "at": Path("/w")}
    assert [event.wire_name for event in seen] == ["preToolUse", "postToolUse"]
    assert seen[1].tool_output == '{"found": "x", "at": "/w"}'


def test_a_call_without_a_library_is_refused_replaced_and_added_to_in_text(engine: Engine) -> None:
    engine.hook("postToolUse")(lambda _: Verdict(context="look"))
    assert asyncio.run(_plain(engine, _found)) == '{"found": "x", "at": "/w"}\n\nlook'
    engine.hook("postToolUse")(lambda _: Verdict(replaced_output={"gone": True}))
    assert asyncio.run(_plain(engine, _found)) == '{"gone": true}\n\nlook'
    engine.hook("preToolUse")(lambda _: Verdict(permission=Permission.DENY, agent_message="no"))
    assert asyncio.run(_plain(engine, _found)) == "no"


def test_a_call_that_is_cancelled_is_cancelled_at_once(engine: Engine) -> None:
    seen = _listen(engine, *EVENTS)

    async def forever(_: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(_plain(engine, forever), 0.5))
    assert [event.wire_name for event in seen] == ["preToolUse"]


def _served(tmp_path: Path, engine: Engine, number: int) -> CallToolResult:
    """A call of the server in a process of its own."""
    (tmp_path / "server.py").write_text(SERVER)
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(tmp_path / "server.py"), str(tmp_path / "reached")]
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


def test_a_server_in_a_process_of_its_own_gets_what_was_rewritten(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "preToolUse", _says(updated_input={"number": 9}))
    assert _texts(_served(tmp_path, engine, 1)) == ["closed 9"]
    assert (tmp_path / "reached").read_text() == "closing 9\n"


def test_a_server_in_a_process_of_its_own_hears_nothing_of_a_refused_call(engine: Engine, tmp_path: Path) -> None:
    _configure(tmp_path, "beforeMCPExecution", _says(permission="deny", agent_message="not from here"))
    result = _served(tmp_path, engine, 1)
    assert (result.is_error, _texts(result)) == (True, ["not from here"])
    assert not (tmp_path / "reached").exists()


def _python(*lines: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-W", "error", "-c", "\n".join(lines)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("adapter,package", [("mcp", "mcp"), ("openai_agents", "agents")])
def test_an_adapter_without_its_library_says_what_to_install(adapter: str, package: str) -> None:
    done = _python("import sys", f"sys.modules['{package}'] = None", f"import trotline.adapters.{adapter}")
    assert done.returncode == 1
    assert "ImportError: trotline.adapters." in done.stderr
    assert "pip install" in done.stderr


def test_trotline_wakes_no_library_that_it_has_an_adapter_for() -> None:
    done = _python("import sys, trotline, trotline.adapters", "trotline.Engine", "print(*sys.modules)")
    assert not _roots(done.stdout.split()) & {"mcp", "mcp_types", "agents", "openai", "pydantic"}


def _roots(modules: Iterable[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}
