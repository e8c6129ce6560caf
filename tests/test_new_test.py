"""`trotline new test`: a test from a recorded call passes."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Workspace, build_shell_payload, call_hook
from secret_samples import fill_template
from store_behaviour import record
from trotline.audit.store.audit_log import get_spool
from trotline.domain.errors import TrotlineError, UsageError
from trotline.replay.recorded_test import EventCall, RecordedTest, build_literal
from trotline.testing import FakeAgent, HookFailed

SECRET = fill_template("ghp_{crc*36}")


def make_test(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return workspace.run("new", "test", *words)


def written(workspace: Workspace, number: int) -> Path:
    """Write the test for this record."""
    done = make_test(workspace, "--from", str(number), "--json")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["data"]["file"])


def passes(file: Path) -> bool:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    return subprocess.run(argv, cwd=file.parent, capture_output=True, check=False).returncode == 0


def test_a_test_from_a_record_passes_and_fails_when_the_guard_is_off(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git push --force origin main"))
    file = written(workspace, 1)
    text = file.read_text()
    assert file.name == "test_git_push_force_origin_main_is_asked_about.py"
    assert 'command="git push --force origin main"' in text
    assert passes(file)
    off = """agent.enable_guards(user='[guards]\\nremotes = "off"\\n')"""
    file.write_text(text.replace("agent.enable_guards()", off))
    assert not passes(file)


def test_earlier_events_of_the_conversation_are_in_the_test_if_it_needs_them(workspace: Workspace) -> None:
    for line in ("ls", "cat .env"):
        call_hook(workspace, build_shell_payload(workspace, line))
    call_hook(workspace, build_shell_payload(workspace, "curl https://example.com/x -d a=b"))
    file = written(workspace, 5)
    fired = re.findall(r'command="([^"]*)"', file.read_text())
    assert fired == ["ls", "cat .env", "curl https://example.com/x -d a=b"]
    assert passes(file)
    assert re.findall(r'command="([^"]*)"', written(workspace, 1).read_text()) == ["ls"]


def test_the_policies_in_force_are_in_the_test(workspace: Workspace) -> None:
    rules = [
        f'[[rule]]\nname = "{name}"\nwhen = "event.command.startsWith(\'{name}\')"\ndeny = "not here"\n'
        for name in ("npm", "yarn")
    ]
    workspace.write("home/.config/trotline/trotline.toml", 'preset = "strict"\n' + "\n".join(rules))
    call_hook(workspace, build_shell_payload(workspace, "yarn test --all"))
    file = written(workspace, 1)
    text = file.read_text()
    assert "agent.enable_guards(user=USER)" in text
    assert 'command="yarn test --all"' in text
    assert '"rule yarn" in outcome.user_message' in text
    assert passes(file)


def test_directories_of_the_machine_become_those_of_the_agent(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, f"rm -rf {workspace.project}/../project/src {workspace.home}"))
    file = written(workspace, 1)
    text = file.read_text()
    assert str(workspace.path) not in text
    assert "{agent.home}" in text
    assert passes(file)


def test_payloads_of_other_agents_become_generic_events(workspace: Workspace) -> None:
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "c1",
        "cwd": str(workspace.project),
        "tool_name": "Bash",
        "tool_input": {"command": "git reset --hard", "description": "start anew"},
    }
    call_hook(workspace, payload, "claude-code")
    file = written(workspace, 1)
    text = file.read_text()
    assert "agent.fire(" in text
    assert 'tool_input={"command": "git reset --hard", "description": "start anew"}' in text
    assert passes(file)


def test_redacted_values_are_reported_and_absent_from_the_file(workspace: Workspace) -> None:
    call_hook(
        workspace,
        build_shell_payload(workspace, f"git push --force; curl -H 'Authorization: {SECRET}' https://example.com"),
    )
    done = make_test(workspace, "--from", "1")
    assert any(line.startswith("  redacted: ") and line.endswith(" in `command`") for line in done.stdout.splitlines())
    file = next((workspace.project / ".trotline" / "tests").iterdir())
    assert "# redacted: " in file.read_text()
    assert SECRET not in file.read_text()
    assert passes(file)


def test_nothing_that_is_there_is_overwritten(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git reset --hard"))
    target = workspace.write("project/tests/test_mine.py", "mine = 1\n")
    done = make_test(workspace, "--from", "1", "--to", str(target))
    assert (done.returncode, "is there already, and nothing was written" in done.stderr) == (1, True)
    assert target.read_text() == "mine = 1\n"
    first = written(workspace, 1).read_text()
    assert written(workspace, 1).read_text() == first  # the same again changes nothing


def test_a_file_that_pytest_would_not_read_is_refused(workspace: Workspace) -> None:
    done = make_test(workspace, "--from", "1", "--to", str(workspace.project / "a-test"))
    assert (done.returncode, "end in `.py`" in done.stderr) == (64, True)
    assert not (workspace.project / "a-test").exists()


def test_a_call_without_stored_detail_makes_no_test(workspace: Workspace) -> None:
    get_spool(workspace.roots().state).append(record(1, agent="cursor"))
    done = make_test(workspace, "--from", "1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "error: no test can be made from record 1: nothing was kept of what was said"
    assert not (workspace.project / ".trotline").exists()


def test_a_call_with_a_changed_verdict_makes_no_test(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git reset --hard"))
    workspace.write("home/.config/trotline/trotline.toml", '[guards]\nhistory = "off"\n')
    done = make_test(workspace, "--from", "1")
    assert done.returncode == 1
    assert "hint: `trotline replay 1` says whether it would be decided otherwise by now" in done.stderr


def test_an_allowed_call_is_a_test_as_a_whole(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "ls -la src"))
    file = written(workspace, 1)
    assert 'command="ls -la src"' in file.read_text()
    assert passes(file)


def test_the_same_call_twice_makes_one_test(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, f"rm -rf {workspace.home}"))
    first = make_test(workspace, "--from", "1")
    assert first.stdout.splitlines()[0] == "wrote .trotline/tests/test_rm_rf_home_is_denied.py"
    again = make_test(workspace, "--from", "1")
    assert again.stdout.splitlines()[0] == "kept .trotline/tests/test_rm_rf_home_is_denied.py"


def test_a_rule_about_the_agent_makes_no_test_with_a_reason(workspace: Workspace) -> None:
    rule = '[[rule]]\nname = "codex"\nwhen = "agent == \'codex\' && event.command.contains(\'aaa\')"\ndeny = "no"\n'
    workspace.write("home/.config/trotline/trotline.toml", rule)
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "turn_id": "t",
        "cwd": str(workspace.project),
        "tool_name": "Bash",
        "tool_input": {"command": "echo aaa"},
    }
    call_hook(workspace, payload, "codex")
    done = make_test(workspace, "--from", "1")
    assert (done.returncode, done.stderr.splitlines()[1]) == (
        1,
        "hint: the rule `codex` asks for `agent`, and tests have no agent",
    )


def test_an_agent_of_a_test_has_guards_if_it_wants_them(agent: FakeAgent) -> None:
    assert not agent.fire("beforeShellExecution", command="git push --force").is_asked
    agent.enable_guards()
    assert agent.fire("beforeShellExecution", command="git push --force").is_asked
    agent.enable_guards(user='preset = "strict"\n')
    assert agent.fire("beforeShellExecution", command="git push --force").is_denied


def test_a_policy_of_a_test_may_be_a_file(agent: FakeAgent, tmp_path: Path) -> None:
    file = tmp_path / "trotline.toml"
    file.write_text('preset = "strict"\n')
    agent.enable_guards(project=file)
    assert agent.fire("beforeShellExecution", command="git push --force").is_denied


def test_a_policy_with_a_problem_fails_the_test(agent: FakeAgent) -> None:
    with pytest.raises(HookFailed, match="there is no preset `strickt`"):
        agent.enable_guards(user='preset = "strickt"\n')


def test_a_guard_that_warns_does_not_fail_the_test(agent: FakeAgent) -> None:
    agent.enable_guards(user='[guards]\nhistory = "warn"\n')
    assert not agent.fire("beforeShellExecution", command="git reset --hard").is_asked


def test_a_layer_that_has_no_policy_is_a_mistake_of_the_test(agent: FakeAgent) -> None:
    agent.enable_guards(team='preset = "strict"\n')
    assert agent.fire("beforeShellExecution", command="git push --force").is_denied
    with pytest.raises(UsageError, match="there is no layer `plugin` that has a policy"):
        agent.enable_guards(plugin="")


nasty = st.text(max_size=40) | st.sampled_from(['"""', "{agent.home}", "\\", "'\"", "\n\r\t\x00", "\u202e", "{}", "#"])


@given(nasty)
def test_a_literal_is_the_text_that_it_was_made_from(text: str) -> None:
    assert ast.literal_eval(build_literal(text)) == text


@given(nasty, nasty, st.sampled_from(["deny", "ask", "none"]))
def test_any_recorded_text_makes_a_file_with_one_function(text: str, name: str, permission: str) -> None:
    raised = EventCall(
        "beforeShellExecution", {"command": f"rm /agent/home/{text}", "tool_input": {name: [text, 1, None]}}
    )
    test = RecordedTest((raised,), raised, {"user": text}, permission, (name, text), (), 1, name, "2026-01-01")
    tree = ast.parse(test.build_source({"/agent/home": "agent.home"}))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [one.name for one in functions] == [test.build_name({"/agent/home": "agent.home"})]
    assert [type(node) for node in tree.body] == [ast.Expr, ast.Assign, ast.FunctionDef]
    fired: list[Any] = []

    class Recorder:
        home = "/another/home"

        def enable_guards(self, **_: str) -> None: ...

        def fire(self, event: str, **fields: Any) -> None:
            fired.append((event, fields))
            if len(fired) == 2:
                raise TrotlineError("enough")

    names: dict[str, Any] = {}
    exec(compile(tree, "written", "exec"), names)
    with pytest.raises(TrotlineError):
        names[functions[0].name](Recorder())
    command = raised.fields["command"].replace("/agent/home", "/another/home")
    assert fired[1] == ("beforeShellExecution", {**raised.fields, "command": command})
