"""The levels of a guard (off, monitor, warn, enforce) in replies, messages and records."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from kit import Workspace, build_shell_payload
from trotline.audit.store.spool import Spool

LINE = "cat ~/.npmrc"
REASON = "holds secrets"


def run_hook(
    workspace: Workspace, level: str, command: str = LINE, agent: str = "cursor"
) -> "subprocess.CompletedProcess[str]":
    workspace.write("home/.config/trotline/trotline.toml", f'[guards]\ncredentials = "{level}"\nhistory = "{level}"\n')
    body: dict[str, Any] = {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}
    if agent != "cursor":
        body = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    body["workspace_roots"] = [str(workspace.project)]
    line = [sys.executable, "-m", "trotline", "hook", agent, "--home", str(workspace.home)]
    return subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)


def read_last_record(workspace: Workspace) -> dict[str, Any]:
    """Wait for the detail of all calls, and return the last record."""
    spool = Spool(workspace.roots().state / "spool")
    while any("detail" not in record for record in spool.read().records):
        os.sched_yield()
    return spool.read().records[-1]


def list_guard_responses(record: dict[str, Any]) -> list[tuple[str, str, bool]]:
    responses = [response for response in record["responses"] if response["author"] != "canary"]
    return [(response["author"], response["permission"], response["has_notes"]) for response in responses]


def test_enforcing_guard_decides(workspace: Workspace) -> None:
    done = run_hook(workspace, "enforce")
    reply = json.loads(done.stdout)
    assert reply["permission"] == "deny"
    assert REASON in reply["user_message"]


def test_disabled_guard_does_not_respond(workspace: Workspace) -> None:
    done = run_hook(workspace, "off")
    assert (json.loads(done.stdout), done.stderr) == ({"permission": "allow"}, "")
    assert list_guard_responses(read_last_record(workspace)) == []


def test_monitoring_guard_is_only_recorded(workspace: Workspace) -> None:
    done = run_hook(workspace, "monitor")
    assert (json.loads(done.stdout), done.stderr, done.returncode) == ({"permission": "allow"}, "", 0)
    record = read_last_record(workspace)
    assert (record["decided"], record["losses"]) == ("none", [])
    assert list_guard_responses(record) == [("credentials", "none", True)]
    shown = workspace.run("log", "show", "1").stdout
    assert "only noted, would deny" in shown
    assert REASON in shown


def test_warning_guard_permits_with_a_message(workspace: Workspace) -> None:
    done = run_hook(workspace, "warn")
    reply = json.loads(done.stdout)
    assert reply["permission"] == "allow"
    assert REASON in reply["user_message"]
    assert f"trotline: credentials: {workspace.home}/.npmrc {REASON}" in done.stderr
    assert [name for name, _ in read_last_record(workspace)["losses"]] == ["user_message"], (
        "Cursor shows no message with an allow"
    )
    assert "cursor cannot hear user_message" in done.stderr


def test_agent_with_user_messages_shows_a_warning_without_a_loss(workspace: Workspace) -> None:
    done = run_hook(workspace, "warn", agent="claude-code")
    reply = json.loads(done.stdout)
    assert REASON in reply["systemMessage"]
    assert "hookSpecificOutput" not in reply, "no permission decision, so that the agent may still ask"
    assert read_last_record(workspace)["losses"] == []


def test_denial_of_another_guard_omits_warnings(workspace: Workspace) -> None:
    reply = json.loads(run_hook(workspace, "warn", f"{LINE}; rm -rf ~").stdout)
    assert reply["permission"] == "deny"
    assert REASON not in reply["user_message"]


@pytest.mark.parametrize("level", ["off", "monitor", "warn"])
def test_mandatory_rules_apply_at_every_level(workspace: Workspace, level: str) -> None:
    workspace.write("home/.config/trotline/trotline.toml", f'[guards]\ndeletion = "{level}"\n')
    body = build_shell_payload(workspace, "rm -rf ~")
    line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    done = subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["permission"] == "deny"
