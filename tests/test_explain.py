"""trotline explain and trotline guards: output, exit codes, JSON, events and batches."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kit import build_payload, read_rows
from trotline.agents.recognition import decode_any_event, to_cursor_tool
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import PreToolUse


def run_explain(*words: str, home: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    project = home / "project"
    project.mkdir(exist_ok=True, parents=True)
    return subprocess.run(
        [sys.executable, "-m", "trotline", *words, "--home", home, "--project", project],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_explanation_shows_steps_effects_and_rules(tmp_path: Path) -> None:
    done = run_explain("explain", "cd / && rm -rf *", home=tmp_path)
    assert done.returncode == 20
    assert "runs rm -rf *" in done.stdout
    assert "    cd / && rm -rf *\n                   ^\n" in done.stdout
    assert "deny deletion, everything" in done.stdout
    assert "smallest part that gets the same" in done.stdout


def test_caret_points_into_quotes(tmp_path: Path) -> None:
    done = run_explain("explain", "env A=1 bash -c 'ls && rm -rf ~'", home=tmp_path)
    line, carets = done.stdout.split("    env ")[1].splitlines()[:2]
    assert f"    env {line}"[carets.index("^")] == "~"
    assert "smallest part that gets the same: rm -rf ~" in done.stdout


def test_smallest_part_is_valid_shell(tmp_path: Path) -> None:
    done = run_explain("explain", "--json", "psql -X prod -c 'drop table users'", home=tmp_path)
    smallest = json.loads(done.stdout)["data"]["smallest"]
    assert smallest.count("'") % 2 == 0
    assert "drop table" in smallest


@pytest.mark.parametrize(
    "words, code",
    read_rows("explain", "exit_code_is_the_verdict", as_tuples=True),
)
def test_exit_code_is_the_verdict(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    assert run_explain("explain", *words, home=tmp_path).returncode == code


def test_problem_of_the_policy_is_printed_with_the_explanation(tmp_path: Path) -> None:
    file = tmp_path / ".config/trotline/trotline.toml"
    file.parent.mkdir(parents=True)
    file.write_text("preset = ")
    done = run_explain("explain", "ls", home=tmp_path)
    assert done.returncode == 0
    assert f"{file}:1:" in done.stderr


def test_event_is_explained(tmp_path: Path) -> None:
    event = build_payload("beforeShellExecution", command="cat /etc/shadow", workspace_roots=[str(tmp_path)])
    done = run_explain("explain", "--event", "-", "--json", home=tmp_path, stdin=json.dumps(event))
    data = json.loads(done.stdout)["data"]
    assert data["permission"] == "deny"
    assert [effect["path"] for effect in data["effects"]] == ["/etc/shadow"]


def test_batch_answers_each_line_in_order_despite_invalid_lines(tmp_path: Path) -> None:
    rows = [
        {"command": "ls"},
        {"command": "printenv", "preset": "strict"},
        {"command": "rm -rf x", "cwd": str(tmp_path / "elsewhere"), "workspace": str(tmp_path / "project")},
        {"hook_event_name": "beforeReadFile", "file_path": "/etc/shadow", "workspace_roots": [str(tmp_path)]},
        {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}},
        {"command": "ls", "preset": "lax"},
    ]
    lines = [*map(json.dumps, rows), "no json", "[]", '{"command": 5}']
    done = run_explain("explain", "--batch", home=tmp_path, stdin="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    permissions = ["none", "deny", "ask", "deny", "deny", None, None, None, None]
    assert [answer.get("permission") for answer in answers] == permissions
    assert all(answer["micros"] >= 0 for answer in answers[:5])
    assert all("error" in answer for answer in answers[5:])


@pytest.mark.parametrize(
    "name, tool_input, expected",
    read_rows("explain", "tool_name_of_any_agent_is_understood", as_tuples=True),
)
def test_tool_name_of_any_agent_is_understood(
    name: str, tool_input: dict[str, str], expected: tuple[str, dict[str, str]]
) -> None:
    assert to_cursor_tool(name, tool_input) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"hook_event_name": "PreToolUse", "session_id": "a", "tool_name": "Bash", "tool_input": {"command": "ls"}},
        {"hook_event_name": "preToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
        {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
    ],
)
def test_event_of_any_agent_is_understood(body: dict[str, object]) -> None:
    event = decode_any_event(json.dumps(body))
    assert isinstance(event, PreToolUse)
    assert (event.tool_name, event.tool_input) == ("Shell", {"command": "ls"})


def test_unknown_event_is_an_error() -> None:
    with pytest.raises(UnreadablePayload):
        decode_any_event('{"hook_event_name": "nonsense"}')


def test_unknown_tool_is_reported(tmp_path: Path) -> None:
    done = run_explain("explain", "--tool", "Frobnicate", home=tmp_path)
    assert (done.returncode, "does not know what a tool `Frobnicate` does" in done.stderr) == (0, True)


def test_deletion_size_counts_existing_files(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "archive" / str(number)).mkdir(parents=True)
        (tmp_path / "archive" / str(number) / "file").write_text("12345")
    done = run_explain("explain", f"rm -rf {tmp_path}/archive", home=tmp_path)
    assert "archive: 3 files, 15 bytes" in done.stdout


def test_guards_are_listed_with_level_and_layer(tmp_path: Path) -> None:
    policy = tmp_path / ".config" / "trotline" / "trotline.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('preset = "strict"\n[guards]\ndeletion = "warn"\n')
    done = run_explain("guards", "--json", home=tmp_path)
    data = json.loads(done.stdout)["data"]
    deletion = next(guard for guard in data["guards"] if guard["name"] == "deletion")
    assert (data["preset"], deletion["level"], deletion["layer"]) == ("strict", "warn", "user")
    assert "deletion" in run_explain("guards", home=tmp_path).stdout
    assert "files that nobody gets back" in run_explain("guards", "deletion", home=tmp_path).stdout
    unknown = run_explain("guards", "nonsense", home=tmp_path)
    assert (unknown.returncode, "known:" in unknown.stderr) == (64, True)
