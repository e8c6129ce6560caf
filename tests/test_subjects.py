"""What a call is about is shown and found, whatever names its host has for that."""

from pathlib import Path
from typing import Any

import pytest

from planted import made
from trails import called
from trotline.audit.columns import subject_of
from trotline.audit.query import Query
from trotline.audit.trail import opened
from worlds import World, new_world

SECRET = made("ghp_{crc*36}")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def windsurf(event: str, **info: Any) -> dict[str, Any]:
    return {"agent_action_name": event, "trajectory_id": "t", "execution_id": "e", "tool_info": info}


def cline(*commands: str) -> dict[str, Any]:
    call = {"id": "1", "name": "run_commands", "input": {"commands": [*commands]}}
    return {"clineVersion": "3", "hookName": "tool_call", "taskId": "t", "workspaceRoots": ["/w"], "tool_call": call}


def claude(tool: str, **given: str) -> dict[str, Any]:
    about = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", "transcript_path": "/t"}
    return {**about, "tool_name": tool, "tool_input": given}


def kept(world: World, host: str, payload: dict[str, Any]) -> dict[str, Any]:
    called(world, payload, 1, host)
    with opened(world.roots().state) as store:
        (found,) = store.search(Query())
    return found


@pytest.mark.parametrize(
    "host,payload,subject",
    [
        ("windsurf", windsurf("pre_run_command", command_line="echo hi", cwd="/"), "echo hi"),
        ("windsurf", windsurf("post_write_code", file_path="/w/a.py", edits=[]), "/w/a.py"),
        ("windsurf", windsurf("pre_user_prompt", user_prompt="build it"), "build it"),
        ("cline", cline("echo hi"), "echo hi"),
        ("cline", cline("echo hi", "pwd"), "echo hi; pwd"),
        ("claude-code", claude("Bash", command="echo hi"), "echo hi"),
    ],
)
def test_a_record_tells_what_it_is_about(world: World, host: str, payload: dict[str, Any], subject: str) -> None:
    assert subject_of(kept(world, host, payload)) == subject


def test_a_call_is_found_by_its_command_on_every_host(world: World) -> None:
    called(world, windsurf("pre_run_command", command_line="echo hi", cwd="/"), 1, "windsurf")
    called(world, cline("echo hi", "pwd"), 2, "cline")
    copilot = {"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": {"command": "echo hi"}}
    called(world, copilot, 3, "copilot", "preToolUse")
    called(world, claude("Bash", command="echo hi"), 4, "claude-code")
    with opened(world.roots().state) as store:
        assert len(list(store.search(Query(command="echo *")))) == 4


def test_a_secret_in_it_is_not_kept(world: World) -> None:
    found = kept(world, "windsurf", windsurf("pre_run_command", command_line=f"echo {SECRET}", cwd="/"))
    assert subject_of(found).startswith("echo [redacted")
    assert SECRET not in str(found)


def test_what_stands_in_the_payload_under_our_name_is_kept_once(world: World) -> None:
    assert kept(world, "claude-code", claude("Bash", command="echo hi"))["detail"]["about"] == {}
