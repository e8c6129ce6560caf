"""The engine embedded in an agent: sessions, handler functions, subagents, failures and concurrency."""

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
from kit import Workspace, load_engine, reply_with
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


def test_command_is_denied_in_three_lines(workspace: Workspace) -> None:
    workspace.configure_hooks({"beforeShellExecution": [reply_with(permission="deny", agent_message="ask a person")]})
    engine = load_engine(workspace)
    with engine.session(model="mine") as session:
        outcome = session.fire(BeforeShell(command="rm -rf build", cwd="."))
    assert (outcome.is_denied, outcome.is_asked, outcome.agent_message) == (True, False, "ask a person")


def test_session_raises_start_and_end_events(workspace: Workspace) -> None:
    note = {"command": "cat >> $HOME_OF_TEST/seen; echo >> $HOME_OF_TEST/seen; echo '{}'"}
    workspace.configure_hooks(
        {"sessionStart": [reply_with(env={"HOME_OF_TEST": str(workspace.path)})], "sessionEnd": [note], "stop": [note]}
    )

    def break_in_the_middle() -> None:
        with load_engine(workspace).session(conversation_id="c1") as session:
            session.fire(Stop(status="completed"))
            raise RuntimeError("the agent broke")

    with pytest.raises(RuntimeError):
        break_in_the_middle()
    stop, end = (json.loads(line) for line in (workspace.path / "seen").read_text().splitlines())
    assert (stop["hook_event_name"], stop["conversation_id"]) == ("stop", "c1")
    assert (end["reason"], end["error_message"]) == ("error", "the agent broke")


def test_session_denied_by_a_hook_is_refused(workspace: Workspace) -> None:
    workspace.configure_hooks({"sessionStart": [reply_with(**{"continue": False, "user_message": "not today"})]})
    with load_engine(workspace).session() as session:
        assert session.is_refused
        assert session.start is not None
        assert session.start.user_message == "not today"


def test_session_fires_every_event(workspace: Workspace) -> None:
    raised: list[str] = []
    engine = load_engine(workspace)
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
    methods = {name for name, _ in inspect.getmembers(Session, inspect.isfunction) if not name.startswith("_")}
    async_methods = {name for name in vars(AsyncSession) if not name.startswith("_")}
    assert methods - {"begin", "end"} == async_methods - {"is_refused", "start", "conversation_id"}


def test_handler_functions_respond_with_configured_hooks(workspace: Workspace) -> None:
    workspace.configure_hooks({"beforeShellExecution": [reply_with(permission="allow")]})
    engine = load_engine(workspace)

    @engine.hook("beforeShellExecution", matcher="curl|wget")
    def no_network(event: Event) -> Verdict:
        return Verdict(permission=Permission.DENY, user_message="no network")

    with engine.session() as session:
        assert session.fire(BeforeShell(command="ls")).decision.permission is Permission.ALLOW
        refused = session.fire(BeforeShell(command="curl x"))
    assert (refused.is_denied, refused.user_message) == (True, "no network")
    assert "no_network: deny, no network" in refused.explain()


@pytest.mark.parametrize("fail_closed,denied", [(False, False), (True, True)])
def test_raising_function_fails_by_its_fail_mode(workspace: Workspace, fail_closed: bool, denied: bool) -> None:
    engine = load_engine(workspace)

    @engine.hook("beforeShellExecution", fail_closed=fail_closed)
    def broken(event: Event) -> Verdict:
        raise ValueError("oops")

    with engine.session() as session:
        outcome = session.fire(BeforeShell(command="ls"))
    assert outcome.is_denied is denied
    assert "failed, crashed" in outcome.explain()


def test_function_with_an_invalid_result_fails(workspace: Workspace) -> None:
    engine = load_engine(workspace)
    engine.hook("beforeShellExecution")(lambda _: "deny")
    with engine.session() as session:
        assert session.fire(BeforeShell(command="ls")).is_denied  # unreadable answers refuse on a gate


def test_usage_error_is_raised_at_once(workspace: Workspace) -> None:
    engine = load_engine(workspace)
    with pytest.raises(TrotlineError, match="there is no event"):
        engine.hook("beforeShell")
    with pytest.raises(TrotlineError, match="regular expression"):
        engine.hook("stop", matcher="(")


def test_internal_error_denies_gates_without_raising(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = load_engine(workspace)
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    with engine.session() as session:
        outcome = session.fire(BeforeShell(command="ls"))
        harmless = session.fire(AfterShell(command="ls", output=""))
    assert outcome.is_denied
    assert "trotline itself failed" in outcome.alarms[0]
    assert not harmless.is_denied


def test_subagent_has_its_parent_and_can_be_refused(workspace: Workspace) -> None:
    workspace.configure_hooks(
        {"subagentStart": [{**reply_with(permission="deny", user_message="no shells"), "matcher": "shell"}]}
    )
    events: list[Any] = []
    engine = load_engine(workspace)
    engine.hook("subagentStart")(events.append)
    engine.hook("subagentStop")(events.append)
    with engine.session(conversation_id="parent") as session:
        with session.subagent("explore", "look") as child:
            assert not child.is_refused
        with session.subagent("shell") as child:
            assert child.is_refused
    assert [event.wire_name for event in events] == ["subagentStart", "subagentStop", "subagentStart"]
    assert {event.parent_conversation_id for event in events} == {"parent"}


def test_subagent_works_in_an_async_session(workspace: Workspace) -> None:
    workspace.configure_hooks({"subagentStop": [reply_with(followup_message="look again")]})
    events: list[Any] = []
    engine = load_engine(workspace)
    engine.hook("subagentStop")(events.append)

    async def converse() -> str:
        async with engine.session() as session, session.subagent("explore", "look", call_id="t1") as child:
            child.session.summary, child.session.modified_files = "found it", ("a.py",)
            assert not child.is_refused
        return child.finish.follow_up if child.finish else ""

    assert asyncio.run(converse()) == "look again"
    assert (events[0].summary, events[0].modified_files, events[0].status) == ("found it", ("a.py",), "completed")


def list_children() -> set[str]:
    children: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            children |= set((task / "children").read_text().split())
    return children


def test_hundred_concurrent_conversations_get_their_answers_and_leak_nothing(workspace: Workspace) -> None:
    shell_hook = {"command": 'cat >/dev/null; echo "{\\"permission\\": \\"$ANSWER\\"}"'}
    workspace.configure_hooks(
        {"sessionStart": [{"command": str(workspace.path / "start")}], "beforeShellExecution": [shell_hook]}
    )
    (workspace.path / "start").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = int(json.load(sys.stdin)['conversation_id']) % 2\n"
        "print(json.dumps({'env': {'ANSWER': 'deny' if odd else 'allow'}}))\n"
    )
    (workspace.path / "start").chmod(0o755)
    engine = load_engine(workspace)

    async def converse(number: int) -> tuple[int, bool, tuple[str, ...]]:
        async with engine.session(conversation_id=str(number)) as session:
            outcome = await session.fire(BeforeShell(command="make"))
            return number, outcome.is_denied, outcome.alarms

    async def converse_all() -> list[tuple[int, bool, tuple[str, ...]]]:
        return await asyncio.gather(*(converse(number) for number in range(100)))

    asyncio.run(converse(1000))  # opens what stays open
    before, children, threads = set(Path("/proc/self/fd").iterdir()), list_children(), set(threading.enumerate())
    answers = asyncio.run(converse_all())
    assert answers == [(number, bool(number % 2), ()) for number in range(100)]
    assert set(Path("/proc/self/fd").iterdir()) <= before  # descriptors of other tests may close meanwhile
    assert set(threading.enumerate()) <= threads
    assert list_children() <= children


def test_options_select_an_edition(workspace: Workspace) -> None:
    engine = load_engine(workspace, options=Options(edition_name="2025-11"))
    assert engine.edition.name == "2025-11"


def test_public_names_are_few_sorted_and_importable() -> None:
    assert sorted(trotline.__all__) == trotline.__all__
    events = {cls.__name__ for cls in EVENTS.values()}
    assert events <= set(trotline.__all__)
    assert len(set(trotline.__all__) - events) <= 23
    assert set(trotline.__all__) == set(trotline.PUBLIC)
    for name, module in trotline.PUBLIC.items():
        assert getattr(trotline, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = trotline.nothing


def test_guarded_engine_evaluates_guards(tmp_path: Path) -> None:
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


def test_guarded_engine_applies_policy_rules_to_every_event_that_can_be_refused(workspace: Workspace) -> None:
    rule = '[[rule]]\nname = "no sessions"\nwhen = \'event.name == "sessionStart"\'\ndeny = "not today"\n'
    file = workspace.home / ".config" / "trotline" / "trotline.toml"
    file.parent.mkdir(parents=True)
    file.write_text(rule)
    engine = load_engine(workspace, guarded=True)
    with engine.session() as session:
        assert session.is_refused
        assert session.start is not None
        assert "not today" in session.start.explain()


@pytest.mark.parametrize(
    "audit_log", ["yes", object(), Path("/tmp/audit_log"), None, 1, SqliteStore], ids=lambda value: type(value).__name__
)
def test_invalid_audit_log_is_an_error_at_once(tmp_path: Path, audit_log: Any) -> None:
    with pytest.raises(TrotlineError, match="`audit_log` is no Store"):
        Engine.load(tmp_path, home=tmp_path, system=tmp_path, audit_log=audit_log)
