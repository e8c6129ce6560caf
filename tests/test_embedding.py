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
from trotline.audit.sqlite_store import SqliteStore
from trotline.events import EVENTS


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name in ("home", "system", "project"):
        (tmp_path / name).mkdir()
    return tmp_path


def _configure(world: Path, hooks: dict[str, list[dict[str, Any]]]) -> None:
    file = world / "home" / ".cursor" / "hooks.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"version": 1, "hooks": hooks}))


def _load(world: Path, **more: Any) -> Engine:
    return Engine.load(project=world / "project", home=world / "home", system=world / "system", **more)


def _says(**reply: Any) -> dict[str, str]:
    return {"command": f"cat >/dev/null; echo '{json.dumps(reply)}'"}


def test_a_command_is_refused_in_three_lines(world: Path) -> None:
    _configure(world, {"beforeShellExecution": [_says(permission="deny", agent_message="ask a person")]})
    engine = _load(world)
    with engine.session(model="mine") as session:
        outcome = session.before_shell("rm -rf build", cwd=".")
    assert (outcome.denied, outcome.asks, outcome.agent_message) == (True, False, "ask a person")


def test_a_session_begins_and_ends_with_its_events(world: Path) -> None:
    note = {"command": "cat >> $HOME_OF_TEST/seen; echo >> $HOME_OF_TEST/seen; echo '{}'"}
    _configure(world, {"sessionStart": [_says(env={"HOME_OF_TEST": str(world)})], "sessionEnd": [note], "stop": [note]})

    def break_in_the_middle() -> None:
        with _load(world).session(conversation_id="c1") as session:
            session.stop()
            raise RuntimeError("the agent broke")

    with pytest.raises(RuntimeError):
        break_in_the_middle()
    stop, end = (json.loads(line) for line in (world / "seen").read_text().splitlines())
    assert (stop["hook_event_name"], stop["conversation_id"]) == ("stop", "c1")
    assert (end["reason"], end["error_message"]) == ("error", "the agent broke")


def test_a_session_that_a_hook_refused_says_so(world: Path) -> None:
    _configure(world, {"sessionStart": [_says(**{"continue": False, "user_message": "not today"})]})
    with _load(world).session() as session:
        assert session.refused
        assert session.start is not None
        assert session.start.user_message == "not today"


def test_every_event_has_a_method_and_an_awaitable_twin(world: Path) -> None:
    raised: list[str] = []
    engine = _load(world)
    for name in EVENTS:
        engine.hook(name)(lambda event: raised.append(event.wire_name))
    with engine.session() as session:
        session.workspace_open()
        session.before_submit_prompt("hello")
        session.pre_tool_use("Shell", {"command": "ls"})
        session.before_shell("ls")
        session.after_shell("ls", "a\n")
        session.post_tool_use("Shell", {"command": "ls"}, '{"output": "a"}')
        session.post_tool_use_failure("Shell", {}, "no", failure_type="timeout")
        session.before_mcp("close", {"id": 1}, server="tickets")
        session.after_mcp("close", {"id": 1}, "{}")
        session.before_read_file("/w/a", "text")
        session.after_file_edit("/w/a", [Edit("a", "b")])
        session.pre_compact(context_usage_percent=90)
        session.after_agent_thought("hm")
        session.after_agent_response("done")
        session.before_tab_file_read("/w/a")
        session.after_tab_file_edit("/w/a", [TabEdit("a", "b")])
        with session.subagent("explore", "look around"):
            pass
        session.stop()
    assert set(raised) == set(EVENTS)
    own = {"begin", "end"}
    methods = {name for name, _ in inspect.getmembers(Session, inspect.isfunction) if not name.startswith("_")}
    assert methods - own == {name for name in vars(AsyncSession) if not name.startswith("_")} - {
        "refused",
        "start",
        "conversation_id",
    }


def test_functions_of_the_agent_speak_beside_configured_hooks(world: Path) -> None:
    _configure(world, {"beforeShellExecution": [_says(permission="allow")]})
    engine = _load(world)

    @engine.hook("beforeShellExecution", matcher="curl|wget")
    def no_network(event: Event) -> Verdict:
        return Verdict(permission=Permission.DENY, user_message="no network")

    with engine.session() as session:
        assert session.before_shell("ls").decision.permission is Permission.ALLOW
        refused = session.before_shell("curl x")
    assert (refused.denied, refused.user_message) == (True, "no network")
    assert "no_network: deny, no network" in refused.explain()


@pytest.mark.parametrize("fail_closed,denied", [(False, False), (True, True)])
def test_a_function_that_raises_has_failed_and_its_fail_mode_decides(
    world: Path, fail_closed: bool, denied: bool
) -> None:
    engine = _load(world)

    @engine.hook("beforeShellExecution", fail_closed=fail_closed)
    def broken(event: Event) -> Verdict:
        raise ValueError("oops")

    with engine.session() as session:
        outcome = session.before_shell("ls")
    assert outcome.denied is denied
    assert "failed, crashed" in outcome.explain()


def test_a_function_that_gives_something_else_has_failed(world: Path) -> None:
    engine = _load(world)
    engine.hook("beforeShellExecution")(lambda _: "deny")
    with engine.session() as session:
        assert session.before_shell("ls").denied  # unreadable answers refuse on a gate


def test_a_mistake_of_the_caller_is_raised_at_once(world: Path) -> None:
    engine = _load(world)
    with pytest.raises(TrotlineError, match="there is no event"):
        engine.hook("beforeShell")
    with pytest.raises(TrotlineError, match="regular expression"):
        engine.hook("stop", matcher="(")


def test_a_failure_of_ours_refuses_what_can_be_refused_and_raises_nothing(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _load(world)
    monkeypatch.setattr(engine.current, "refresh", lambda: 1 / 0)
    with engine.session() as session:
        outcome = session.before_shell("ls")
        harmless = session.after_shell("ls", "")
    assert outcome.denied
    assert "trotline itself failed" in outcome.alarms[0]
    assert not harmless.denied


def test_a_sub_agent_knows_its_parent_and_can_be_refused(world: Path) -> None:
    _configure(world, {"subagentStart": [{**_says(permission="deny", user_message="no shells"), "matcher": "shell"}]})
    seen: list[Any] = []
    engine = _load(world)
    engine.hook("subagentStart")(seen.append)
    engine.hook("subagentStop")(seen.append)
    with engine.session(conversation_id="parent") as session:
        with session.subagent("explore", "look") as child:
            assert not child.refused
        with session.subagent("shell") as child:
            assert child.refused
    assert [event.wire_name for event in seen] == ["subagentStart", "subagentStop", "subagentStart"]
    assert {event.parent_conversation_id for event in seen} == {"parent"}


def test_a_sub_agent_is_awaited_like_everything_else(world: Path) -> None:
    _configure(world, {"subagentStop": [_says(followup_message="look again")]})
    seen: list[Any] = []
    engine = _load(world)
    engine.hook("subagentStop")(seen.append)

    async def converse() -> str:
        async with engine.session() as session, session.subagent("explore", "look", call_id="t1") as child:
            child.session.summary, child.session.modified_files = "found it", ("a.py",)
            assert not child.refused
        return child.finish.follow_up if child.finish else ""

    assert asyncio.run(converse()) == "look again"
    assert (seen[0].summary, seen[0].modified_files, seen[0].status) == ("found it", ("a.py",), "completed")


def _children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found |= set((task / "children").read_text().split())
    return found


def test_a_hundred_conversations_at_once_in_one_loop_get_their_own_answers_and_leave_nothing(world: Path) -> None:
    mine = {"command": 'cat >/dev/null; echo "{\\"permission\\": \\"$ANSWER\\"}"'}
    _configure(world, {"sessionStart": [{"command": str(world / "start")}], "beforeShellExecution": [mine]})
    (world / "start").write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "odd = int(json.load(sys.stdin)['conversation_id']) % 2\n"
        "print(json.dumps({'env': {'ANSWER': 'deny' if odd else 'allow'}}))\n"
    )
    (world / "start").chmod(0o755)
    engine = _load(world)

    async def converse(number: int) -> tuple[int, bool, tuple[str, ...]]:
        async with engine.session(conversation_id=str(number)) as session:
            outcome = await session.before_shell("make")
            return number, outcome.denied, outcome.alarms

    async def every() -> list[tuple[int, bool, tuple[str, ...]]]:
        return await asyncio.gather(*(converse(number) for number in range(100)))

    asyncio.run(converse(1000))  # what is opened once and for all is open now
    before, children, threads = set(Path("/proc/self/fd").iterdir()), _children(), set(threading.enumerate())
    answers = asyncio.run(every())
    assert answers == [(number, bool(number % 2), ()) for number in range(100)]
    assert set(Path("/proc/self/fd").iterdir()) <= before  # what other tests of this process had may go meanwhile
    assert set(threading.enumerate()) <= threads
    assert _children() <= children


def test_options_choose_an_edition(world: Path) -> None:
    engine = _load(world, options=Options(edition_name="2025-11"))
    assert engine.edition.name == "2025-11"


def test_the_public_names_are_few_sorted_and_importable() -> None:
    assert sorted(trotline.__all__) == trotline.__all__
    assert len(trotline.__all__) <= 25
    assert set(trotline.__all__) == set(trotline.PUBLIC)
    for name, module in trotline.PUBLIC.items():
        assert getattr(trotline, name) is getattr(importlib.import_module(module), name)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = trotline.nothing


def test_guards_judge_beside_hooks_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    engine = Engine.load(tmp_path / "project", home=tmp_path, system=tmp_path, guarded=True)
    with engine.session() as session:
        outcome = session.before_shell("cd / && r''m -rf *", cwd=str(tmp_path / "project"))
        assert outcome.denied
        assert "nobody gets it back" in outcome.agent_message
        assert not session.before_shell("ls", cwd=str(tmp_path / "project")).denied
    unguarded = Engine.load(tmp_path / "project", home=tmp_path, system=tmp_path)
    with unguarded.session() as session:
        assert not session.before_shell("cd / && rm -rf *", cwd=str(tmp_path / "project")).denied


@pytest.mark.parametrize(
    "trail", ["yes", object(), Path("/tmp/trail"), None, 1, SqliteStore], ids=lambda one: type(one).__name__
)
def test_a_trail_that_is_no_store_is_a_mistake_at_once(tmp_path: Path, trail: Any) -> None:
    with pytest.raises(TrotlineError, match="`trail` is no Store"):
        Engine.load(tmp_path, home=tmp_path, system=tmp_path, trail=trail)
