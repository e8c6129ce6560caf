"""The levels of a guard as an agent, a person and the trail see them: off, monitor, warn, enforce."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from kit import Workspace
from trotline.audit.store.spool import Spool

LINE = "cat ~/.npmrc"
REASON = "holds secrets"


def asked(
    workspace: Workspace, level: str, command: str = LINE, agent: str = "cursor"
) -> "subprocess.CompletedProcess[str]":
    workspace.write("home/.config/trotline/trotline.toml", f'[guards]\ncredentials = "{level}"\nhistory = "{level}"\n')
    body: dict[str, Any] = {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}
    if agent != "cursor":
        body = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    body["workspace_roots"] = [str(workspace.project)]
    line = [sys.executable, "-m", "trotline", "hook", agent, "--home", str(workspace.home)]
    return subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)


def last(workspace: Workspace) -> dict[str, Any]:
    """The record of the last call, once its words are written as well."""
    spool = Spool(workspace.roots().state / "spool")
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()
    return spool.read().records[-1]


def guards_in(record: dict[str, Any]) -> list[tuple[str, str, bool]]:
    responses = [one for one in record["responses"] if one["author"] != "canary"]
    return [(one["author"], one["verdict"], one["has_notes"]) for one in responses]


def test_a_guard_that_enforces_decides(workspace: Workspace) -> None:
    done = asked(workspace, "enforce")
    said = json.loads(done.stdout)
    assert said["permission"] == "deny"
    assert REASON in said["user_message"]


def test_a_guard_that_is_off_says_nothing_to_anybody(workspace: Workspace) -> None:
    done = asked(workspace, "off")
    assert (json.loads(done.stdout), done.stderr) == ({"permission": "allow"}, "")
    assert guards_in(last(workspace)) == []


def test_a_guard_that_monitors_is_on_record_and_nowhere_else(workspace: Workspace) -> None:
    done = asked(workspace, "monitor")
    assert (json.loads(done.stdout), done.stderr, done.returncode) == ({"permission": "allow"}, "", 0)
    record = last(workspace)
    assert (record["decided"], record["losses"]) == ("none", [])
    assert guards_in(record) == [("credentials", "none", True)]
    shown = workspace.run("log", "show", "1").stdout
    assert "only noted, would deny" in shown
    assert REASON in shown


def test_a_guard_that_warns_lets_it_go_on_and_says_so_in_every_way_there_is(workspace: Workspace) -> None:
    done = asked(workspace, "warn")
    said = json.loads(done.stdout)
    assert said["permission"] == "allow"
    assert REASON in said["user_message"]
    assert f"trotline: credentials: {workspace.home}/.npmrc {REASON}" in done.stderr
    assert [what for what, _ in last(workspace)["losses"]] == ["user_message"], (
        "Cursor shows no message beside an allow"
    )
    assert "cursor cannot hear user_message" in done.stderr


def test_an_agent_that_tells_people_things_hears_a_warning_without_a_loss(workspace: Workspace) -> None:
    done = asked(workspace, "warn", agent="claude-code")
    said = json.loads(done.stdout)
    assert REASON in said["systemMessage"]
    assert "hookSpecificOutput" not in said, "what goes on is not allowed by us: the person may still be asked"
    assert last(workspace)["losses"] == []


def test_a_refusal_of_another_guard_is_told_without_the_warnings(workspace: Workspace) -> None:
    said = json.loads(asked(workspace, "warn", f"{LINE}; rm -rf ~").stdout)
    assert said["permission"] == "deny"
    assert REASON not in said["user_message"]


@pytest.mark.parametrize("level", ["off", "monitor", "warn"])
def test_the_floor_is_below_all_levels(workspace: Workspace, level: str) -> None:
    workspace.write("home/.config/trotline/trotline.toml", f'[guards]\ndeletion = "{level}"\n')
    body = {
        "hook_event_name": "beforeShellExecution",
        "command": "rm -rf ~",
        "workspace_roots": [str(workspace.project)],
    }
    line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    done = subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["permission"] == "deny"
