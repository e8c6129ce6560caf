"""The SDK: one hook function under every agent, and errors in it never reach the agent raw."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import trotline
from kit import run_trotline
from trotline.agents import AGENTS, get_agent
from trotline.agents.generated_tables import VARIABLES
from trotline.audit.store.spool import Spool
from trotline.config.paths import STATE
from trotline.domain.events import EVENTS, BeforeShell
from trotline.domain.outcomes import Call
from trotline.domain.verdicts import Permission
from trotline.hook import sdk
from trotline.hook.process import handle_call

GUARD = """
from trotline import add_context, allow, ask, deny, edit, follow_up, on, replace_output, run, set_env

@on.before_shell(matching=r"\\bterraform\\b.*\\bdestroy\\b")
def no_destroy(event):
    return deny("terraform destroy needs a person", to_agent="propose a plan instead")
"""


class Ended(NamedTuple):
    stdout: str
    stderr: str
    code: int

    @property
    def body(self) -> Any:
        return json.loads(self.stdout)


def play(tmp_path: Path, program: str, payload: object, *words: str, **environ: str) -> Ended:
    """Run a hook program as an agent would: isolated, with its payload on standard input."""
    file = tmp_path / "hook.py"
    file.write_text(textwrap.dedent(program) + "\nrun()\n")
    (tmp_path / "home").mkdir(exist_ok=True)
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    argv = [sys.executable, "-I", str(file), *words, "--home", str(tmp_path / "home")]
    done = subprocess.run(argv, input=data, capture_output=True, env={"PATH": "/usr/bin:/bin", **environ}, check=False)
    return Ended(done.stdout.decode(), done.stderr.decode(), done.returncode)


def cursor(**fields: Any) -> dict[str, Any]:
    return {"hook_event_name": "beforeShellExecution", "cursor_version": "3.21.16", "conversation_id": "c", **fields}


def claude(command: str) -> dict[str, Any]:
    tool = {"tool_name": "Bash", "tool_input": {"command": command}}
    return {"hook_event_name": "PreToolUse", "session_id": "s", "prompt_id": "p", "cwd": "/w", **tool}


def test_one_file_refuses_under_cursor_and_under_claude_code(tmp_path: Path) -> None:
    under_cursor = play(tmp_path, GUARD, cursor(command="terraform destroy"))
    assert under_cursor.body == {
        "permission": "deny",
        "user_message": "terraform destroy needs a person",
        "agent_message": "propose a plan instead",
    }
    under_claude = play(tmp_path, GUARD, claude("terraform destroy"))
    assert under_claude.body["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "propose a plan instead",
    }
    assert (under_cursor.code, under_claude.code) == (0, 0)


def test_no_opinion_is_allow_for_cursor_and_an_empty_object_elsewhere(tmp_path: Path) -> None:
    assert play(tmp_path, GUARD, cursor(command="ls")).body == {"permission": "allow"}
    assert play(tmp_path, GUARD, claude("ls")).body == {}


def test_output_of_a_handler_does_not_reach_the_agent(tmp_path: Path) -> None:
    program = (
        GUARD
        + '\nimport os\n@on.before_shell\ndef loud(event):\n    print("hello")\n    os.system("echo from a child")\n'
    )
    ended = play(tmp_path, program, cursor(command="ls"))
    assert ended.body == {"permission": "allow"}
    assert "hello" in ended.stderr
    assert "from a child" in ended.stderr


@pytest.mark.parametrize("closed,word", [(False, "allow"), (True, "deny")])
def test_a_handler_that_raises_has_failed_and_its_fail_mode_decides(tmp_path: Path, closed: bool, word: str) -> None:
    program = GUARD + f"\n@on.before_shell(fail_closed={closed})\ndef broken(event):\n    raise ValueError('oops')\n"
    ended = play(tmp_path, program, cursor(command="ls"))
    assert ended.body["permission"] == word
    assert "raised ValueError('oops')" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_async_handler_is_awaited(tmp_path: Path) -> None:
    program = GUARD + "\n@on.before_shell\nasync def later(event):\n    return deny('no')\n"
    assert play(tmp_path, program, cursor(command="ls")).body["permission"] == "deny"


def test_several_handlers_are_merged_by_the_same_rules_as_hooks(tmp_path: Path) -> None:
    program = (
        GUARD + "\n@on.before_shell\ndef a(event):\n    return allow()\n@on.tool\ndef b(event):\n    return deny('b')\n"
    )
    ended = play(tmp_path, program, claude("ls"))
    assert ended.body["hookSpecificOutput"]["permissionDecision"] == "deny"


BAD = {"nothing": b"", "no JSON": b"{", "a list": b"[]", "bytes": b"\xff\xfe", "no event": b"{}"}


def test_a_background_process_leaves_our_process_group() -> None:
    """The caller reads the state as soon as the process ends."""
    script = """
        import os, time
        from trotline.hook.process import fork_detached
        if fork_detached():
            time.sleep(2)
    """
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], start_new_session=True) as process:
            process.wait()
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


@pytest.mark.parametrize("given", ["", "null", "[]"])
def test_a_payload_that_names_its_event_is_refused_by_that_name(tmp_path: Path, given: str) -> None:
    command = f', "command": {given}' if given else ""
    payload = f'{{"hook_event_name": "beforeShellExecution"{command}}}'.encode()
    ended = play(tmp_path, GUARD, payload, "--agent", "cursor")
    assert (ended.code, ended.body["permission"]) == (0, "deny")
    assert "could not read this call" in ended.stderr


@pytest.mark.parametrize("name", ["bogus", "PreToolUse", ""])
def test_an_unknown_event_is_reported(tmp_path: Path, name: str) -> None:
    ended = play(tmp_path, GUARD, {"hook_event_name": name, "tool_input": {"command": "rm -rf ~"}}, "--agent", "cursor")
    assert (ended.code, ended.body) == (0, {})
    assert f"cursor has no event that Trotline knows as '{name or 'unknown'}': nothing was judged" in ended.stderr


def test_a_payload_over_the_limit_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trotline.hook.answer.MAX_PAYLOAD_BYTES", 1_000_000)
    argv = ("--agent", "cursor", "--event", "beforeReadFile", "--home", str(tmp_path))
    sent, _ = handle_call(Call(id="c", argv=argv, payload=b'{"content": "' + b"x" * 1_000_000), [], guarded=False)
    assert json.loads(sent.stdout)["permission"] == "deny"
    assert "it is longer than 1 MB" in sent.stderr


@pytest.mark.parametrize("payload", BAD.values(), ids=BAD)
def test_unreadable_input_is_refused_if_the_event_can_be_refused(tmp_path: Path, payload: bytes) -> None:
    words = ("--agent", "cursor", "--event", "beforeShellExecution")
    ended = play(tmp_path, GUARD, payload, *words)
    assert ended.code == 0
    assert ended.body["permission"] == "deny"
    assert "could not read this call" in ended.stderr
    observer = play(tmp_path, GUARD, payload, "--agent", "cursor", "--event", "afterFileEdit")
    assert (observer.body, observer.code) == ({}, 0)
    assert "could not read this call" in observer.stderr


def test_a_loss_is_shown_and_never_weaker(tmp_path: Path) -> None:
    program = GUARD + "\n@on.before_shell\ndef a(event):\n    return ask('sure?')\n"
    ended = play(tmp_path, program, cursor(command="ls"))
    assert ended.body["permission"] == "deny"
    assert "cursor cannot hear ask" in ended.stderr
    assert "sent as deny" in ended.stderr


def test_a_user_can_enable_ask_for_an_agent(tmp_path: Path) -> None:
    program = GUARD + "\n@on.before_shell\ndef a(event):\n    return ask('sure?')\n"
    settings = tmp_path / "home" / ".config" / "trotline" / "trotline.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('ask_fallback = "ask"')
    ended = play(tmp_path, program, cursor(command="ls"))
    assert ended.body == {"permission": "ask", "user_message": "sure?"}
    assert "cannot hear" not in ended.stderr


def test_follow_ups_are_limited_if_the_agent_has_no_limit(tmp_path: Path) -> None:
    program = GUARD + "\n@on.stop\ndef again(event):\n    return follow_up('run the tests')\n"
    payload = {"hook_event_name": "Stop", "session_id": "s", "turn_id": "t", "cwd": "/w"}
    answers = [play(tmp_path, program, payload, "--agent", "codex").body for _ in range(7)]
    assert answers == [{"decision": "block", "reason": "run the tests"}] * 5 + [{}, {}]


def test_work_in_the_background_begins_when_the_answer_is_out(tmp_path: Path) -> None:
    program = GUARD + (
        f"\nimport time\n@on.before_shell(background=True)\ndef slowly(event):\n"
        f"    time.sleep(0.3)\n    open({str(tmp_path / 'done')!r}, 'w').write(event.command)\n"
    )
    started_at = time.monotonic()
    assert play(tmp_path, program, cursor(command="ls")).body == {"permission": "allow"}
    waited = 0.0
    while not (tmp_path / "done").exists() and waited < 10:
        waited = time.monotonic() - started_at
        time.sleep(0.02)
    assert (tmp_path / "done").read_text() == "ls"


def test_variables_that_another_hook_set_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "trotline.py").write_text("raise SystemExit('taken over')")
    stray = {
        "HOME": str(tmp_path / "evil"),
        "XDG_STATE_HOME": str(tmp_path / "evil"),
        "PYTHONPATH": str(tmp_path / "evil"),
    }
    ended = play(tmp_path, GUARD, cursor(command="terraform destroy"), **stray)
    assert ended.body["permission"] == "deny"
    assert sorted(path.name for path in (tmp_path / "evil").iterdir()) == ["trotline.py"]


def test_there_is_a_decorator_for_every_event() -> None:
    names = {
        name
        for when in vars(sdk.EventDecorators).values()
        if isinstance(when, sdk.EventDecorator)
        for name in when.events
    }
    assert names == set(EVENTS)


def test_handlers_are_plain_functions() -> None:
    before = list(sdk.HANDLERS)

    @trotline.on.before_shell
    def handler(event: BeforeShell) -> trotline.Verdict:
        return trotline.deny(event.command)

    assert handler(BeforeShell(command="x")).user_message == "x"
    sdk.HANDLERS[:] = before


CONSTRUCTED = [
    (trotline.allow("fine"), {"permission": Permission.ALLOW, "user_message": "fine"}),
    (trotline.ask("why?"), {"permission": Permission.ASK, "user_message": "why?"}),
    (trotline.deny("no"), {"permission": Permission.DENY, "user_message": "no", "agent_message": "no"}),
    (trotline.edit({"a": 1}), {"edited_input": {"a": 1}}),
    (trotline.add_context("know"), {"context": "know"}),
    (trotline.follow_up("go on"), {"follow_up": "go on"}),
    (trotline.set_env(A="b"), {"env": {"A": "b"}}),
    (trotline.replace_output({"x": 1}), {"replaced_output": {"x": 1}}),
]


@pytest.mark.parametrize("verdict,fields", CONSTRUCTED)
def test_each_constructor_sets_one_field(verdict: trotline.Verdict, fields: dict[str, Any]) -> None:
    assert verdict == trotline.Verdict(**fields)


def test_a_hook_program_wakes_no_client_of_the_network_and_no_event_loop(tmp_path: Path) -> None:
    program = GUARD + "\nimport atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    ended = play(tmp_path, program, cursor(command="ls"), "--agent", "cursor")
    loaded = set(ended.stderr.split())
    assert not {"asyncio", "httpx2", "click", "sqlite3", "ssl", "regress", "multiprocessing"} & loaded


def test_the_installed_line_answers_for_the_canary(tmp_path: Path) -> None:
    argv = [sys.executable, "-I", "-m", "trotline", "hook", "cursor", "--home", str(tmp_path)]
    payload = json.dumps(cursor(command="echo trotline-canary")).encode()
    done = subprocess.run(argv, input=payload, capture_output=True, check=False)
    assert json.loads(done.stdout)["permission"] == "deny"
    assert done.returncode == 0


def test_every_answered_call_leaves_a_record_without_messages(tmp_path: Path) -> None:
    play(tmp_path, GUARD, cursor(command="terraform destroy --token=s3cret"), "--agent", "cursor")
    play(tmp_path, GUARD, b"{", "--agent", "cursor", "--event", "beforeShellExecution")
    spool = Spool(tmp_path / "home" / ".local/state/trotline/v1/spool")
    first, second = spool.read().records
    assert (first["agent"], first["event"], first["decided"]) == ("cursor", "beforeShellExecution", "deny")
    assert [response["author"] for response in first["responses"]] == ["canary", "no_destroy"]
    assert (second["decided"], second["responses"][0]["failure"]) == ("deny", "unreadable call")
    assert "s3cret" not in spool.file.read_text()
    assert spool.file.stat().st_mode & 0o777 == 0o600


def test_an_unwritable_record_is_reported_and_changes_no_answer(tmp_path: Path) -> None:
    state = tmp_path / "home" / ".local/state/trotline"
    state.mkdir(parents=True)
    (state / "v1").write_text("in the way")
    ended = play(tmp_path, GUARD, cursor(command="terraform destroy"), "--agent", "cursor")
    assert ended.body["permission"] == "deny"
    assert "could not be written" in ended.stderr


def test_torn_lines_of_the_spool_are_counted_and_weld_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    assert spool.append({"id": "1"}) == ""
    with spool.file.open("ab") as file:
        file.write(b'\n00000000 {"id": "torn"')
    assert spool.append({"id": "2"}) == ""
    assert spool.append({"id": "2"}) == ""
    assert spool.read() == ([{"id": "1"}, {"id": "2"}], 1)


def test_the_variables_of_a_call_identify_the_agent() -> None:
    assert set(VARIABLES) == {name for agent in AGENTS for name in get_agent(agent).variables}


def test_log_shows_the_last_calls(tmp_path: Path) -> None:
    play(tmp_path, GUARD, cursor(command="terraform destroy"), "--agent", "cursor")
    play(tmp_path, GUARD, claude("ls"), "--agent", "claude-code")
    roots = ["--home", str(tmp_path / "home"), "--system", str(tmp_path), "--project", str(tmp_path)]
    spool = Spool(tmp_path / "home" / STATE["linux"] / "spool")
    while not all("detail" in record for record in spool.read().records):
        time.sleep(0.05)  # the detail follows the record
    newest, oldest = run_trotline("log", *roots, cwd=tmp_path).stdout.splitlines()
    assert "cursor beforeShellExecution denied: terraform destroy (no_destroy)" in oldest
    assert "claude-code preToolUse none: ls" in newest
    full = run_trotline("log", "show", "1", *roots, cwd=tmp_path).stdout
    assert '"command": "terraform destroy"' in full
    answer = json.loads(run_trotline("log", "--json", "--agent", "cursor", *roots, cwd=tmp_path).stdout)
    assert [record["event"] for record in answer["data"]["records"]] == ["beforeShellExecution"]
    empty = run_trotline("log", *roots, "--event", "stop", cwd=tmp_path).stdout
    assert empty == "no matching records\n"
