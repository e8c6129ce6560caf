"""The engine in an agent of one's own: three lines, typed, and nothing raised into the loop."""

import asyncio
import contextlib
import importlib
import inspect
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import trotline
from trotline import AsyncSession, Edit, Engine, Event, Options, Permission, Session, TabEdit, TrotlineError, Verdict
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.domain.events import (
    EVENTS,
    AfterAgentResponse,
    AfterAgentThought,
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    AfterTabFileEdit,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    BeforeSubmitPrompt,
    BeforeTabFileRead,
    PostToolUse,
    PostToolUseFailure,
    PreCompact,
    PreToolUse,
    Stop,
    WorkspaceOpen,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("home", "system", "project"):
        (tmp_path / name).mkdir()
    return tmp_path


def _configure(workspace: Path, hooks: dict[str, list[dict[str, Any]]]) -> None:
    file = workspace / "home" / ".cursor" / "hooks.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"version": 1, "hooks": hooks}))


def _load(workspace: Path, **more: Any) -> Engine:
    return Engine.load(project=workspace / "project", home=workspace / "home", system=workspace / "system", **more)


def _says(**reply: Any) -> dict[str, str]:
    return {"command": f"cat >/dev/null; echo '{json.dumps(reply)}'"}


def test_a_command_is_refused_in_three_lines(workspace: Path) -> None:
    _configure(workspace, {"beforeShellExecution": [_says(permission="deny", agent_message="ask a person")]})
    engine = _load(workspace)
    with engine.session(model="mine") as session:
        outcome = session.fire(BeforeShell(command="rm -rf build", cwd="."))
    assert (outcome.is_denied, outcome.is_asked, outcome.agent_message) == (True, False, "ask a person")


def test_a_session_begins_and_ends_with_its_events(workspace: Path) -> None:
    note = {"command": "cat >> $HOME_OF_TEST/seen; echo >> $HOME_OF_TEST/seen; echo '{}'"}
    _configure(
        workspace, {"sessionStart": [_says(env={"HOME_OF_TEST": str(workspace)})], "sessionEnd": [note], "stop": [note]}
    )

    def break_in_the_middle() -> None:
        with _load(workspace).session(conversation_id="c1") as session:
            session.fire(Stop(status="completed"))
            raise RuntimeError("the agent broke")

    with pytest.raises(RuntimeError):
        break_in_the_middle()
    stop, end = (json.loads(line) for line in (workspace / "seen").read_text().splitlines())
    assert (stop["hook_event_name"], stop["conversation_id"]) == ("stop", "c1")
    assert (end["reason"], end["error_message"]) == ("error", "the agent broke")


def test_a_session_that_a_hook_refused_says_so(workspace: Path) -> None:
    _configure(workspace, {"sessionStart": [_says(**{"continue": False, "user_message": "not today"})]})
    with _load(workspace).session() as session:
        assert session.is_refused
        assert session.start is not None
        assert session.start.user_message == "not today"


def test_a_session_fires_every_event(workspace: Path) -> None:
    raised: list[str] = []
    engine = _load(workspace)
    for name in EVENTS:
        engine.hook(name)(lambda event: raised.append(event.wire_name))
    with engine.session() as session:
        session.fire(WorkspaceOpen())
        session.fire(BeforeSubmitPrompt(prompt="hello"))
        session.fire(PreToolUse(tool_name="Shell", tool_input={"command": "ls"}))
        session.fire(BeforeShell(command="ls"))
        session.fire(AfterShell(command="ls", output="a\n"))
        session.fire(PostToolUse(tool_name="Shell", tool_input={"command": "ls"}, tool_output='{"output": "a"}'))
        session.fire(PostToolUseFailure(tool_name="Shell", tool_input={}, error_message="no", failure_type="timeout"))
        session.fire(BeforeMCP(tool_name="close", tool_input={"id": 1}, mcp_server_name="tickets"))
        session.fire(AfterMCP(tool_name="close", tool_input={"id": 1}, result_json="{}"))
        session.fire(BeforeReadFile(file_path="/w/a", content="text"))
        session.fire(AfterFileEdit(file_path="/w/a", edits=(Edit("a", "b"),)))
        session.fire(PreCompact(context_usage_percent=90, trigger="auto"))
        session.fire(AfterAgentThought(text="hm"))
        session.fire(AfterAgentResponse(text="done"))
        session.fire(BeforeTabFileRead(file_path="/w/a"))
        session.fire(AfterTabFileEdit(file_path="/w/a", edits=(TabEdit("a", "b"),)))
        with session.subagent("explore", "look around"):
            pass
        session.fire(Stop(status="completed"))
    assert set(raised) == set(EVENTS)
    own = {"begin", "end"}
    methods = {name for name, _ in inspect.getmembers(Session, inspect.isfunction) if not name.startswith("_")}
    assert methods - own == {name for name in vars(AsyncSession) if not name.startswith("_")} - {
        "is_refused",
        "start",
        "conversation_id",
    }


def test_functions_of_the_agent_speak_beside_configured_hooks(workspace: Path) -> None:
    _configure(workspace, {"beforeShellExecution": [_says(permission="allow")]})
    engine = _load(workspace)

    @engine.hook("beforeShellExecution", matcher="curl|wget")
    def no_network(event: Event) -> Verdict:
        return Verdict(permission=Permission.DENY, user_message="no network")

    with engine.session() as session:
        assert session.fire(BeforeShell(command="ls")).decision.permission is Permission.ALLOW
        refused = session.fire(BeforeShell(command="curl x"))
    assert (refused.is_denied, refused.user_message) == (True, "no network")
    assert "no_network: deny, no network" in refused.explain()


@pytest.mark.parametrize("fail_closed,denied", [(False, False), (True, True)])
def test_a_function_that_raises_has_failed_and_its_fail_mode_decides(
    workspace: Path, fail_closed: bool, denied: bool
) -> None:
    engine = _load(workspace)

    @engine.hook("beforeShellExecution", fail_closed=fail_closed)
    def broken(event: Event) -> Verdict:
        raise ValueError("oops")

    with engine.session() as session:
        outcome = session.fire(BeforeShell(command="ls"))
    assert outcome.is_denied is denied
    assert "failed, crashed" in outcome.explain()


def test_a_function_that_gives_something_else_has_failed(workspace: Path) -> None:
    engine = _load(workspace)
    engine.hook("beforeShellExecution")(lambda _: "deny")
    with engine.session() as session:
        assert session.fire(BeforeShell(command="ls")).is_denied  # unreadable answers refuse on a gate


def test_a_mistake_of_the_caller_is_raised_at_once(workspace: Path) -> None:
    engine = _load(workspace)
    with pytest.raises(TrotlineError, match="there is no event"):
        engine.hook("beforeShell")
    with pytest.raises(TrotlineError, match="regular expression"):
        engine.hook("stop", matcher="(")


def test_a_failure_of_ours_refuses_what_can_be_refused_and_raises_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _load(workspace)
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    with engine.session() as session:
        outcome = session.fire(BeforeShell(command="ls"))
        harmless = session.fire(AfterShell(command="ls", output=""))
    assert outcome.is_denied
    assert "trotline itself failed" in outcome.alarms[0]
    assert not harmless.is_denied


def test_a_sub_agent_knows_its_parent_and_can_be_refused(workspace: Path) -> None:
    _configure(
        workspace, {"subagentStart": [{**_says(permission="deny", user_message="no shells"), "matcher": "shell"}]}
    )
    seen: list[Any] = []
    engine = _load(workspace)
    engine.hook("subagentStart")(seen.append)
    engine.hook("subagentStop")(seen.append)
    with engine.session(conversation_id="parent") as session:
        with session.subagent("explore", "look") as child:
            assert not child.is_refused
        with session.subagent("shell") as child:
            assert child.is_refused
    assert [event.wire_name for event in seen] == ["subagentStart", "subagentStop", "subagentStart"]
    assert {event.parent_conversation_id for event in seen} == {"parent"}


def test_a_sub_agent_is_awaited_like_everything_else(workspace: Path) -> None:
    _configure(workspace, {"subagentStop": [_says(followup_message="look again")]})
    seen: list[Any] = []
    engine = _load(workspace)
    engine.hook("subagentStop")(seen.append)

    async def converse() -> str:
        async with engine.session() as session, session.subagent("explore", "look", call_id="t1") as child:
            child.session.summary, child.session.modified_files = "found it", ("a.py",)
            assert not child.is_refused
        return child.finish.follow_up if child.finish else ""

    assert asyncio.run(converse()) == "look again"
    assert (seen[0].summary, seen[0].modified_files, seen[0].status) == ("found it", ("a.py",), "completed")


def _children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found |= set((task / "children").read_text().split())
    return found


def test_a_hundred_conversations_at_once_in_one_loop_get_their_own_answers_and_leave_nothing(workspace: Path) -> None:
    mine = {"command": 'cat >/dev/null; echo "{\\"permission\\": \\"$ANSWER\\"}"'}
    _configure(workspace, {"sessionStart": [{"command": str(workspace / "start")}], "beforeShellExecution": [mine]})
    (workspace / "start").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = int(json.load(sys.stdin)['conversation_id']) % 2\n"
        "print(json.dumps({'env': {'ANSWER': 'deny' if odd else 'allow'}}))\n"
    )
    (workspace / "start").chmod(0o755)
    engine = _load(workspace)

    async def converse(number: int) -> tuple[int, bool, tuple[str, ...]]:
        async with engine.session(conversation_id=str(number)) as session:
            outcome = await session.fire(BeforeShell(command="make"))
            return number, outcome.is_denied, outcome.alarms

    async def every() -> list[tuple[int, bool, tuple[str, ...]]]:
        return await asyncio.gather(*(converse(number) for number in range(100)))

    asyncio.run(converse(1000))  # what is opened once and for all is open now
    before, children, threads = set(Path("/proc/self/fd").iterdir()), _children(), set(threading.enumerate())
    answers = asyncio.run(every())
    assert answers == [(number, bool(number % 2), ()) for number in range(100)]
    assert set(Path("/proc/self/fd").iterdir()) <= before  # what other tests of this process had may go meanwhile
    assert set(threading.enumerate()) <= threads
    assert _children() <= children


def test_options_choose_an_edition(workspace: Path) -> None:
    engine = _load(workspace, options=Options(edition_name="2025-11"))
    assert engine.edition.name == "2025-11"


def test_the_public_names_are_few_beside_the_events_sorted_and_importable() -> None:
    assert sorted(trotline.__all__) == trotline.__all__
    events = {cls.__name__ for cls in EVENTS.values()}
    assert events <= set(trotline.__all__)
    assert len(set(trotline.__all__) - events) <= 23
    assert set(trotline.__all__) == set(trotline.PUBLIC)
    for name, module in trotline.PUBLIC.items():
        assert getattr(trotline, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = trotline.nothing


def test_guards_judge_beside_hooks_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    engine = Engine.load(tmp_path / "project", home=tmp_path, system=tmp_path, guarded=True)
    with engine.session() as session:
        outcome = session.fire(BeforeShell(command="cd / && r''m -rf *", cwd=str(tmp_path / "project")))
        assert outcome.is_denied
        assert "nobody gets it back" in outcome.agent_message
        assert not session.fire(BeforeShell(command="ls", cwd=str(tmp_path / "project"))).is_denied
    unguarded = Engine.load(tmp_path / "project", home=tmp_path, system=tmp_path)
    with unguarded.session() as session:
        assert not session.fire(BeforeShell(command="cd / && rm -rf *", cwd=str(tmp_path / "project"))).is_denied


@pytest.mark.parametrize(
    "trail", ["yes", object(), Path("/tmp/trail"), None, 1, SqliteStore], ids=lambda one: type(one).__name__
)
def test_a_trail_that_is_no_store_is_a_mistake_at_once(tmp_path: Path, trail: Any) -> None:
    with pytest.raises(TrotlineError, match="`audit_log` is no Store"):
        Engine.load(tmp_path, home=tmp_path, system=tmp_path, audit_log=trail)
