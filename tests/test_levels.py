"""The levels of a guard as a host, a person and the trail see them: off, monitor, warn, enforce."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trotline.audit.spool import Spool
from worlds import World, new_world, trotline_process

LINE = "cat ~/.npmrc"
REASON = "holds secrets"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def asked(world: World, level: str, command: str = LINE, host: str = "cursor") -> "subprocess.CompletedProcess[str]":
    world.write("home/.config/trotline/policy.toml", f'[guards]\ncredentials = "{level}"\nhistory = "{level}"\n')
    body: dict[str, Any] = {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}
    if host != "cursor":
        body = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    body["workspace_roots"] = [str(world.project)]
    line = [sys.executable, "-m", "trotline", "hook", host, "--home", str(world.home)]
    return subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)


def last(world: World) -> dict[str, Any]:
    """The record of the last call, once its words are written as well."""
    spool = Spool(world.roots().state / "spool")
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()
    return spool.read().records[-1]


def guards_in(record: dict[str, Any]) -> list[tuple[str, str, bool]]:
    voices = [one for one in record["voices"] if one["author"] != "canary"]
    return [(one["author"], one["said"], one["noted"]) for one in voices]


def test_a_guard_that_enforces_decides(world: World) -> None:
    done = asked(world, "enforce")
    said = json.loads(done.stdout)
    assert said["permission"] == "deny"
    assert REASON in said["user_message"]


def test_a_guard_that_is_off_says_nothing_to_anybody(world: World) -> None:
    done = asked(world, "off")
    assert (json.loads(done.stdout), done.stderr) == ({"permission": "allow"}, "")
    assert guards_in(last(world)) == []


def test_a_guard_that_monitors_is_on_record_and_nowhere_else(world: World) -> None:
    done = asked(world, "monitor")
    assert (json.loads(done.stdout), done.stderr, done.returncode) == ({"permission": "allow"}, "", 0)
    record = last(world)
    assert (record["asked"], record["losses"]) == ("silent", [])
    assert guards_in(record) == [("credentials", "silent", True)]
    shown = trotline_process("trace", *world.options, cwd=world.project).stdout
    assert "only noted, would deny" in shown
    assert REASON in shown


def test_a_guard_that_warns_lets_it_go_on_and_says_so_in_every_way_there_is(world: World) -> None:
    done = asked(world, "warn")
    said = json.loads(done.stdout)
    assert said["permission"] == "allow"
    assert REASON in said["user_message"]
    assert f"trotline: credentials: {world.home}/.npmrc {REASON}" in done.stderr
    assert [what for what, _ in last(world)["losses"]] == ["user_message"], "Cursor shows no message beside an allow"
    assert "cursor cannot hear user_message" in done.stderr


def test_a_host_that_tells_people_things_hears_a_warning_without_a_loss(world: World) -> None:
    done = asked(world, "warn", host="claude-code")
    said = json.loads(done.stdout)
    assert REASON in said["systemMessage"]
    assert "hookSpecificOutput" not in said, "what goes on is not allowed by us: the person may still be asked"
    assert last(world)["losses"] == []


def test_a_refusal_of_another_guard_is_told_without_the_warnings(world: World) -> None:
    said = json.loads(asked(world, "warn", f"{LINE}; rm -rf ~").stdout)
    assert said["permission"] == "deny"
    assert REASON not in said["user_message"]


@pytest.mark.parametrize("level", ["off", "monitor", "warn"])
def test_the_floor_is_below_all_levels(world: World, level: str) -> None:
    world.write("home/.config/trotline/policy.toml", f'[guards]\ndeletion = "{level}"\n')
    body = {"hook_event_name": "beforeShellExecution", "command": "rm -rf ~", "workspace_roots": [str(world.project)]}
    line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(world.home)]
    done = subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["permission"] == "deny"
