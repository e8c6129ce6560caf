"""The dispatcher of the engine side: reload, sessions, rewrites, follow-ups and failures."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import soak
from kit import reply_with
from trotline.config.paths import Roots
from trotline.conversation.sessions import MAX_SESSION_BYTES, Sessions, SessionState, Variable
from trotline.domain.events import BeforeShell, PostToolUse, PreToolUse, SessionStart, Stop, SubagentStop
from trotline.domain.outcomes import Run
from trotline.domain.verdicts import Permission
from trotline.engine.dispatch import Dispatcher, Options

WriteHooks = Callable[..., None]


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    for name in ("home", "system", "project"):
        (tmp_path / name).mkdir()
    return Roots(home=tmp_path / "home", system=tmp_path / "system", projects=(tmp_path / "project",))


@pytest.fixture
def user_file(roots: Roots) -> WriteHooks:
    def write(hooks: dict[str, Any]) -> None:
        roots.user_file.parent.mkdir(parents=True, exist_ok=True)
        roots.user_file.write_text(json.dumps({"version": 1, "hooks": hooks}))

    return write


def build_dispatcher(roots: Roots, options: Options | None = None) -> Dispatcher:
    return Dispatcher(roots, {"PATH": "/usr/bin:/bin"}, lambda: 1_700_000_000_000_000, options)


DENY = reply_with(permission="deny", user_message="no")


def test_changed_file_applies_at_the_next_event(roots: Roots, user_file: WriteHooks) -> None:
    engine = build_dispatcher(roots)
    event = BeforeShell(command="ls")
    assert engine.dispatch(event).decision.permission is Permission.NONE
    user_file({"beforeShellExecution": [DENY]})
    assert engine.dispatch(event).decision.permission is Permission.DENY
    roots.user_file.unlink()
    assert engine.dispatch(event).decision.permission is Permission.NONE


def test_broken_file_raises_an_alarm_and_the_last_valid_one_applies(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"beforeShellExecution": [DENY]})
    engine = build_dispatcher(roots)
    roots.user_file.write_text('{"version": 1, "hooks": {')
    for _ in range(2):
        outcome = engine.dispatch(BeforeShell(command="ls"))
        assert outcome.decision.permission is Permission.DENY
        assert len(outcome.alarms) == 1
        assert "the last good one is in force" in outcome.alarms[0]
    user_file({"beforeShellExecution": [reply_with(permission="allow")]})
    outcome = engine.dispatch(BeforeShell(command="ls"))
    assert (outcome.decision.permission, outcome.alarms) == (Permission.ALLOW, ())


def test_file_broken_at_the_start_runs_nothing(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"beforeShellExecution": [DENY], "noSuchEvent": []})
    outcome = build_dispatcher(roots).dispatch(BeforeShell(command="ls"))
    assert outcome.responses == ()
    assert [entry.hook.event for entry in outcome.not_run] == ["beforeShellExecution"]
    assert "loads nothing from this file" in outcome.not_run[0].why


def test_rewritten_input_is_evaluated_again_by_other_hooks(roots: Roots, user_file: WriteHooks) -> None:
    author = reply_with(updated_input={"command": "rm -rf build"})
    guard = {
        "command": "if grep -q 'rm -rf'; then echo '"
        + json.dumps({"permission": "deny", "user_message": "not that"})
        + "'; else echo '{}'; fi"
    }
    user_file({"preToolUse": [author, guard]})
    event = PreToolUse(tool_name="Shell", tool_input={"command": "make clean"})
    outcome = build_dispatcher(roots).dispatch(event)
    assert outcome.decision.permission is Permission.DENY
    assert outcome.decision.verdict.user_message == "not that"
    assert len(outcome.responses) == 3

    as_cursor = build_dispatcher(roots, Options(edition_name="2026-09")).dispatch(event)
    assert as_cursor.decision.permission is Permission.NONE
    assert as_cursor.decision.verdict.edited_input == {"command": "rm -rf build"}


def test_permitted_rewrite_is_applied(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"preToolUse": [reply_with(updated_input={"command": "npm ci"}), reply_with(permission="allow")]})
    outcome = build_dispatcher(roots).dispatch(PreToolUse(tool_name="Shell", tool_input={"command": "npm install"}))
    assert outcome.decision.permission is Permission.ALLOW
    assert outcome.decision.verdict.edited_input == {"command": "npm ci"}


def test_second_evaluation_cannot_rewrite(roots: Roots, user_file: WriteHooks) -> None:
    first = reply_with(updated_input={"command": "one"})
    second = reply_with(updated_input={"command": "two"})
    user_file({"preToolUse": [first, second]})
    outcome = build_dispatcher(roots).dispatch(PreToolUse(tool_name="Shell", tool_input={}))
    assert outcome.decision.verdict.edited_input == {"command": "two"}
    assert [loss.field for loss in outcome.decision.overruled] == ["edited_input"]


def test_session_variables_reach_only_hooks_of_the_conversation(roots: Roots, user_file: WriteHooks) -> None:
    tell_ticket = {"command": """cat >/dev/null; printf '{"additional_context": "%s"}' "$TICKET" """}
    user_file({"sessionStart": [reply_with(env={"TICKET": "A-1"})], "postToolUse": [tell_ticket]})
    build_dispatcher(roots).dispatch(SessionStart(conversation_id="one"))
    contexts = [
        build_dispatcher(roots).dispatch(PostToolUse(conversation_id=name, tool_name="Shell")).decision.verdict.context
        for name in ("one", "two")
    ]
    assert contexts == ["A-1", ""]


def test_lower_layer_cannot_set_the_path_of_a_higher_layer(roots: Roots, user_file: WriteHooks) -> None:
    roots.enterprise_file.parent.mkdir(parents=True)
    show = """cat >/dev/null; printf '{"additional_context": "%s %s"}' "$PATH" "$NOTE" """
    roots.enterprise_file.write_text(json.dumps({"version": 1, "hooks": {"postToolUse": [{"command": show}]}}))
    user_file({"sessionStart": [reply_with(env={"PATH": "/evil", "https_proxy": "evil", "NOTE": "fine"})]})
    engine = build_dispatcher(roots)
    engine.dispatch(SessionStart(conversation_id="one"))
    outcome = engine.dispatch(PostToolUse(conversation_id="one", tool_name="Shell"))
    assert outcome.decision.verdict.context == "/usr/bin:/bin fine"
    assert sorted(loss.what for loss in outcome.losses) == ["env.PATH", "env.https_proxy"]


def test_follow_ups_end_at_the_loop_limit(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"stop": [{**reply_with(followup_message="go on"), "loop_limit": 2}]})
    engine = build_dispatcher(roots)
    outcomes = [engine.dispatch(Stop(conversation_id="c", status="completed")) for _ in range(4)]
    assert [outcome.decision.verdict.follow_up for outcome in outcomes] == ["go on", "go on", "", ""]
    assert [outcome.event.loop_count for outcome in outcomes if isinstance(outcome.event, Stop)] == [0, 1, 2, 2]
    assert "loop_limit of 2 is reached" in outcomes[-1].responses[0].warnings[0]


def test_null_loop_limit_never_ends(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"stop": [{**reply_with(followup_message="go on"), "loop_limit": None}]})
    engine = build_dispatcher(roots)
    for _ in range(7):
        assert engine.dispatch(Stop(conversation_id="c", status="error")).decision.verdict.follow_up == "go on"


@pytest.mark.parametrize("status,follow_up", [("completed", "more"), ("error", ""), ("aborted", "")])
def test_only_a_completed_subagent_gets_a_follow_up(
    roots: Roots, user_file: WriteHooks, status: str, follow_up: str
) -> None:
    user_file({"subagentStop": [reply_with(followup_message="more")]})
    event = SubagentStop(conversation_id="c", subagent_type="explore", subagent_id="s1", status=status)
    assert build_dispatcher(roots).dispatch(event).decision.verdict.follow_up == follow_up


def test_each_subagent_has_its_own_count(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"subagentStop": [{**reply_with(followup_message="more"), "loop_limit": 1}]})
    engine = build_dispatcher(roots)

    def follow_up(sub_agent: str) -> str:
        event = SubagentStop(conversation_id="c", subagent_type="explore", subagent_id=sub_agent, status="completed")
        return engine.dispatch(event).decision.verdict.follow_up

    assert [follow_up("a"), follow_up("a"), follow_up("b")] == ["more", "", "more"]


def test_damaged_session_raises_an_alarm_and_stops_follow_ups(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"stop": [reply_with(followup_message="go on")]})
    engine = build_dispatcher(roots)
    engine.dispatch(Stop(conversation_id="c", status="completed"))
    (file,) = (roots.state / "sessions").glob("*.json")
    for damage in (b"{", b'{"schema": "trotline.session/2"}', b"[]"):
        file.write_bytes(damage)
        outcome = engine.dispatch(Stop(conversation_id="c", status="completed"))
        assert outcome.decision.verdict.follow_up == ""
        assert outcome.alarms
        assert file.read_bytes() == damage


def test_prompt_hook_without_a_model_fails_by_its_fail_mode(roots: Roots, user_file: WriteHooks) -> None:
    prompt = {"type": "prompt", "prompt": "is this safe?"}
    user_file({"beforeShellExecution": [prompt]})
    assert build_dispatcher(roots).dispatch(BeforeShell(command="ls")).decision.permission is Permission.NONE
    user_file({"beforeShellExecution": [{**prompt, "failClosed": True}]})
    outcome = build_dispatcher(roots).dispatch(BeforeShell(command="ls"))
    assert outcome.decision.permission is Permission.DENY
    assert "no model is configured" in outcome.decision.verdict.user_message


def test_all_hooks_run_after_a_denial(roots: Roots, user_file: WriteHooks) -> None:
    user_file({"beforeShellExecution": [DENY, reply_with(), DENY]})
    outcome = build_dispatcher(roots).dispatch(BeforeShell(command="ls"))
    assert [run.exit_code for run in outcome.responses if isinstance(run, Run)] == [0, 0, 0]


def test_concurrent_writers_of_a_session_lose_nothing(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "sessions")

    def write(number: int) -> None:
        for turn in range(10):

            def change(session: SessionState, name: str = f"V{number}_{turn}") -> None:
                session.set_variable(name, Variable("x", 1))

            assert sessions.update("c", change, 1) == ""

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sessions.read("c").session.env) == 80


def test_oversized_session_change_is_dropped(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "sessions")

    def small(session: SessionState) -> None:
        session.set_variable("A", Variable("1", 1))

    def huge(session: SessionState) -> None:
        session.set_variable("B", Variable("x" * MAX_SESSION_BYTES, 1))

    assert sessions.update("c", small, 1) == ""
    assert "was not kept" in sessions.update("c", huge, 2)
    assert set(sessions.read("c").session.env) == {"A"}


def test_session_files_are_private(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a" / "sessions")
    sessions.update("../../escape", lambda session: session.env.update({}), 1)
    assert (sessions.directory.stat().st_mode & 0o777) == 0o700
    assert {path.suffix for path in sessions.directory.iterdir()} == {".json", ".lock"}
    assert all((path.stat().st_mode & 0o077) == 0 for path in sessions.directory.iterdir())


def test_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a directory away")
    directory = tmp_path / "sessions"
    directory.mkdir()
    os.chown(directory, 12345, 12345)
    alarm = Sessions(directory).update("c", lambda session: None, 1)
    assert "belongs to another user" in alarm


def test_many_threads_can_fire_events_at_one_engine(tmp_path: Path) -> None:
    """A short run of scripts/soak.py."""
    engine = soak.build_dispatcher(tmp_path)
    before = soak.count_descriptors()
    wrong, cookies = soak.soak(engine, threads=8, events=6)
    assert wrong == 0
    assert len(set(cookies)) == 8 * 6 * 4
    assert soak.count_descriptors() == before
