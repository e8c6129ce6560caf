"""Lines that somebody gives to be judged: exports of a trail, payloads, and what is neither."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trails import call, shell
from trotline.replay.sources import Told, given
from worlds import World, new_world, trotline_process

COPILOTS = {
    "sessionId": "s",
    "timestamp": 1,
    "cwd": "/srv",
    "toolName": "bash",
    "toolArgs": {"command": "git push --force"},
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def replay(world: World, lines: str | bytes, *words: str) -> "subprocess.CompletedProcess[str]":
    file = world.path / "given.jsonl"
    file.write_bytes(lines.encode() if isinstance(lines, str) else lines)
    return trotline_process("replay", "--events", str(file), *words, *world.options, cwd=world.project)


def rows(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.stdout)["data"]["rows"]
    return found


def test_an_export_is_judged_from_its_oldest_record_whichever_stands_first(world: World) -> None:
    call(world, shell(world, "cat .env"))
    call(world, shell(world, "curl https://example.com/x -d a=b"))
    exported = trotline_process("log", "export", *world.options, cwd=world.project).stdout.splitlines()
    assert [json.loads(line)["seq"] for line in exported] == [3, 1]
    for lines in (exported, exported[::-1]):
        done = replay(world, "\n".join(lines))
        assert done.stdout == "2 calls: 0 would be decided otherwise, 2 the same\n"


def test_payloads_are_judged_in_the_order_of_their_lines(world: World) -> None:
    lines = [json.dumps(shell(world, line)) for line in ("cat .env", "curl https://example.com/x -d a=b")]
    mild = str(world.write("mild.toml", '[guards]\nsequences = "off"\n'))
    forth = rows(replay(world, "\n".join(lines), "--policy", mild, "--json"))
    assert [(row["seq"], row["was"], row["would"]) for row in forth] == [(2, "ask", "silent")]
    assert rows(replay(world, "\n".join(lines[::-1]), "--policy", mild, "--json")) == []


@pytest.mark.parametrize(
    "body,words,why",
    [
        ({"a": 1}, [], "no event is named; say --host and --event"),
        (COPILOTS, [], "no event is named; say --host and --event"),
        (COPILOTS, ["--event", "nonsense"], "there is no event `nonsense` of copilot that Trotline knows"),
    ],
)
def test_a_line_that_is_no_event_of_anybody_cannot_be_said(
    world: World, body: dict[str, Any], words: list[str], why: str
) -> None:
    done = replay(world, json.dumps(body), "--preset", "strict", "--json", *words)
    assert [(row["kind"], row["why"]) for row in rows(done)] == [("unsaid", why)]


def test_a_line_that_names_no_event_is_judged_as_the_one_that_is_told(world: World) -> None:
    told = ["--host", "copilot", "--event", "preToolUse"]
    done = replay(world, json.dumps(COPILOTS), "--preset", "strict", "--json", *told)
    assert [(row["was"], row["would"]) for row in rows(done)] == [("ask", "deny")]


@pytest.mark.parametrize("command", ["replay", "diff"])
def test_a_line_that_is_not_utf_8_is_named(world: World, command: str) -> None:
    good = json.dumps(shell(world, "ls")).encode()
    file = world.path / "given.jsonl"
    file.write_bytes(good + b'\n{"a":"\xff"}\n')
    sides = [str(world.project), str(world.project)] if command == "diff" else []
    done = trotline_process(command, *sides, "--events", str(file), *world.options, cwd=world.project)
    assert done.returncode == 64
    assert done.stderr.splitlines()[0] == "error: line 2 is not UTF-8: byte 6 is `0xff`"


def test_a_byte_order_mark_is_no_part_of_the_first_line(world: World) -> None:
    done = replay(world, b"\xef\xbb\xbf" + json.dumps(shell(world, "ls")).encode())
    assert done.stdout == "1 call: 0 would be decided otherwise, 1 the same\n"


def test_what_rules_of_this_home_find_in_given_lines_is_not_shown(world: World) -> None:
    world.write("home/.config/trotline/secrets.toml", "[[rules]]\nid = 'acme'\nregex = 'ACME[0-9]{4}'\n")
    done = replay(world, json.dumps(shell(world, "cat .env ACME1234")), "--preset", "strict", "--json")
    assert [row["would"] for row in rows(done)] == ["deny"]
    assert "ACME1234" not in done.stdout


@pytest.mark.parametrize(
    "host,payload,subject",
    [
        ("windsurf", {"agent_action_name": "pre_run_command", "tool_info": {"command_line": "make all"}}, "make all"),
        (
            "cline",
            {"hookName": "tool_call", "tool_call": {"name": "run_commands", "input": {"commands": ["make all"]}}},
            "make all",
        ),
        ("copilot", {"toolName": "bash", "toolArgs": {"command": "make all"}, "cwd": "/w"}, "make all"),
        ("copilot", {"toolName": "view", "toolArgs": {"path": "/w/a"}, "cwd": "/w"}, "/w/a"),
    ],
)
def test_what_a_given_call_is_about_is_said_in_whatever_words_it_came(
    host: str, payload: dict[str, Any], subject: str
) -> None:
    event = "preToolUse" if host == "copilot" else ""
    (one,) = given([json.dumps(payload).encode()], Told(host, event))
    assert one.subject == subject
