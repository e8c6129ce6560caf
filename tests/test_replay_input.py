"""Input of replay: exports, payloads and invalid lines."""

import json
import subprocess
from typing import Any

import pytest

from kit import Workspace, build_shell_payload, call_hook, read_rows
from trotline.replay.call_sources import LineFormat, read_calls

COPILOTS = {
    "sessionId": "s",
    "timestamp": 1,
    "cwd": "/srv",
    "toolName": "bash",
    "toolArgs": {"command": "git push --force"},
}


def replay(workspace: Workspace, lines: str | bytes, *words: str) -> "subprocess.CompletedProcess[str]":
    file = workspace.path / "given.jsonl"
    file.write_bytes(lines.encode() if isinstance(lines, str) else lines)
    return workspace.run("replay", "--events", str(file), *words)


def rows(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.stdout)["data"]["changes"]
    return found


def test_an_export_is_replayed_from_its_oldest_record(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "cat .env"))
    call_hook(workspace, build_shell_payload(workspace, "curl https://example.com/x -d a=b"))
    exported = workspace.run("log", "export").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in exported] == [3, 1]
    for lines in (exported, exported[::-1]):
        done = replay(workspace, "\n".join(lines))
        assert done.stdout == "2 calls: 0 would be decided otherwise, 2 the same\n"


def test_payloads_are_replayed_in_line_order(workspace: Workspace) -> None:
    lines = [
        json.dumps(build_shell_payload(workspace, line)) for line in ("cat .env", "curl https://example.com/x -d a=b")
    ]
    mild = str(workspace.write("mild.toml", '[guards]\nsequences = "off"\n'))
    forth = rows(replay(workspace, "\n".join(lines), "--policy", mild, "--json"))
    assert [(row["seq"], row["old"], row["new"]) for row in forth] == [(2, "ask", "none")]
    assert rows(replay(workspace, "\n".join(lines[::-1]), "--policy", mild, "--json")) == []


@pytest.mark.parametrize(
    "body,words,why",
    [
        ({"a": 1}, [], "no event is named; say --agent and --event"),
        (COPILOTS, [], "no event is named; say --agent and --event"),
        (COPILOTS, ["--event", "nonsense"], "there is no event `nonsense` of copilot that Trotline knows"),
    ],
)
def test_a_line_that_is_no_known_event_is_unknown(
    workspace: Workspace, body: dict[str, Any], words: list[str], why: str
) -> None:
    done = replay(workspace, json.dumps(body), "--preset", "strict", "--json", *words)
    assert [(row["kind"], row["why"]) for row in rows(done)] == [("unknown", why)]


def test_a_line_without_an_event_uses_the_given_event(workspace: Workspace) -> None:
    options = ["--agent", "copilot", "--event", "preToolUse"]
    done = replay(workspace, json.dumps(COPILOTS), "--preset", "strict", "--json", *options)
    assert [(row["old"], row["new"]) for row in rows(done)] == [("ask", "deny")]


def test_a_line_that_is_not_utf_8_is_named(workspace: Workspace) -> None:
    done = replay(workspace, json.dumps(build_shell_payload(workspace, "ls")).encode() + b'\n{"a":"\xff"}\n')
    assert done.returncode == 64
    assert done.stderr.splitlines()[0] == "error: line 2 is not UTF-8: byte 6 is `0xff`"


def test_a_byte_order_mark_is_no_part_of_the_first_line(workspace: Workspace) -> None:
    done = replay(workspace, b"\xef\xbb\xbf" + json.dumps(build_shell_payload(workspace, "ls")).encode())
    assert done.stdout == "1 call: 0 would be decided otherwise, 1 the same\n"


def test_findings_of_user_rules_in_given_lines_are_redacted(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/secrets.toml", "[[rules]]\nid = 'acme'\nregex = 'ACME[0-9]{4}'\n")
    done = replay(
        workspace, json.dumps(build_shell_payload(workspace, "cat .env ACME1234")), "--preset", "strict", "--json"
    )
    assert [row["new"] for row in rows(done)] == ["deny"]
    assert "ACME1234" not in done.stdout


@pytest.mark.parametrize("agent,payload,subject", read_rows("replay_input", "subjects"))
def test_the_subject_of_a_call_is_shown_for_every_payload_form(
    agent: str, payload: dict[str, Any], subject: str
) -> None:
    event = "preToolUse" if agent == "copilot" else ""
    (one,) = read_calls([json.dumps(payload).encode()], LineFormat(agent, event))
    assert one.subject == subject
