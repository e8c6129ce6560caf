"""trotline explain and trotline guards, as a person and a script see them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from trotline.agents.recognition import decode_any_event, to_cursor_tool
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import PreToolUse


def trotline(*words: str, home: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    project = home / "project"
    project.mkdir(exist_ok=True, parents=True)
    return subprocess.run(
        [sys.executable, "-m", "trotline", *words, "--home", home, "--project", project],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_line_is_explained_with_its_steps_its_effects_and_who_says_what(tmp_path: Path) -> None:
    done = trotline("explain", "cd / && rm -rf *", home=tmp_path)
    assert done.returncode == 20
    assert "runs rm -rf *" in done.stdout
    assert "    cd / && rm -rf *\n                   ^\n" in done.stdout
    assert "deny deletion, everything" in done.stdout
    assert "smallest part that gets the same" in done.stdout


def test_a_caret_stands_under_the_word_inside_of_quotes(tmp_path: Path) -> None:
    done = trotline("explain", "env A=1 bash -c 'ls && rm -rf ~'", home=tmp_path)
    line, carets = done.stdout.split("    env ")[1].splitlines()[:2]
    assert f"    env {line}"[carets.index("^")] == "~"
    assert "smallest part that gets the same: rm -rf ~" in done.stdout


def test_the_smallest_part_is_one_that_a_shell_would_read(tmp_path: Path) -> None:
    done = trotline("explain", "--json", "psql -X prod -c 'drop table users'", home=tmp_path)
    smallest = json.loads(done.stdout)["data"]["smallest"]
    assert smallest.count("'") % 2 == 0
    assert "drop table" in smallest


@pytest.mark.parametrize(
    "words, code",
    [
        (("ls -la",), 0),
        (("rm -rf ~/archive",), 10),
        (("rm -rf /",), 20),
        (("--preset", "strict", "printenv"), 20),
        (("--file", "src/id_rsa.pub"), 0),
        (("--file", ".ssh/id_rsa"), 20),
        (("--tool", "Write", "--file", ".cursor/hooks.json"), 20),
        (("--tool", "Edit", "--file", ".cursor/hooks.json"), 20),
        (("--mcp", "files:read_file", "--input", '{"path": "~/.aws/credentials"}'), 20),
        (("--mcp", "files:read_file", "--input", '{"path": "README.md"}'), 0),
        (("--mcp", "x:y", "--input", "["), 64),
        (("--mcp", "db:query", '{"sql": "drop table x"}'), 64),
        (("--tool", "Write", "a"), 64),
        ((), 64),
    ],
)
def test_the_exit_code_is_the_verdict(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    assert trotline("explain", *words, home=tmp_path).returncode == code


def test_what_is_wrong_with_a_policy_is_said_beside_the_answer(tmp_path: Path) -> None:
    file = tmp_path / ".config/trotline/trotline.toml"
    file.parent.mkdir(parents=True)
    file.write_text("preset = ")
    done = trotline("explain", "ls", home=tmp_path)
    assert done.returncode == 0
    assert f"{file}:1:" in done.stderr


def test_a_whole_event_is_explained(tmp_path: Path) -> None:
    event = {
        "hook_event_name": "beforeShellExecution",
        "command": "cat /etc/shadow",
        "workspace_roots": [str(tmp_path)],
    }
    done = trotline("explain", "--event", "-", "--json", home=tmp_path, stdin=json.dumps(event))
    data = json.loads(done.stdout)["data"]
    assert data["permission"] == "deny"
    assert [effect["path"] for effect in data["effects"]] == ["/etc/shadow"]


def test_a_batch_answers_line_by_line_in_order_and_survives_bad_lines(tmp_path: Path) -> None:
    rows = [
        {"command": "ls"},
        {"command": "printenv", "preset": "strict"},
        {"command": "rm -rf x", "cwd": str(tmp_path / "elsewhere"), "workspace": str(tmp_path / "project")},
        {"hook_event_name": "beforeReadFile", "file_path": "/etc/shadow", "workspace_roots": [str(tmp_path)]},
        {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}},
        {"command": "ls", "preset": "lax"},
    ]
    lines = [*map(json.dumps, rows), "no json", "[]", '{"command": 5}']
    done = trotline("explain", "--batch", home=tmp_path, stdin="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("permission") for answer in answers] == [
        "none",
        "deny",
        "ask",
        "deny",
        "deny",
        None,
        None,
        None,
        None,
    ]
    assert all(answer["micros"] >= 0 for answer in answers[:5])
    assert all("error" in answer for answer in answers[5:])


@pytest.mark.parametrize(
    "name, given, ours",
    [
        ("Bash", {"command": "ls"}, ("Shell", {"command": "ls"})),
        ("run_shell_command", {"command": "ls"}, ("Shell", {"command": "ls"})),
        ("NotebookEdit", {"notebook_path": "a"}, ("Write", {"file_path": "a"})),
        ("edit", {"filePath": "a"}, ("Write", {"file_path": "a"})),
        ("edit", {"path": "a", "old_str": "b"}, ("Write", {"file_path": "a", "old_string": "b"})),
        ("mcp__db__query", {"sql": "x"}, ("MCP:db:query", {"sql": "x"})),
        ("Read", {"path": "a"}, ("Read", {"path": "a"})),
        ("frobnicate", {"x": 1}, ("frobnicate", {"x": 1})),
    ],
)
def test_a_tool_is_understood_by_the_name_that_any_agent_gives_it(
    name: str, given: dict[str, str], ours: tuple[str, dict[str, str]]
) -> None:
    assert to_cursor_tool(name, given) == ours


@pytest.mark.parametrize(
    "body",
    [
        {"hook_event_name": "PreToolUse", "session_id": "a", "tool_name": "Bash", "tool_input": {"command": "ls"}},
        {"hook_event_name": "preToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
        {"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
    ],
)
def test_an_event_is_understood_in_the_words_of_any_agent(body: dict[str, object]) -> None:
    event = decode_any_event(json.dumps(body))
    assert isinstance(event, PreToolUse)
    assert (event.tool_name, event.tool_input) == ("Shell", {"command": "ls"})


def test_an_event_that_no_agent_raises_is_an_error_and_not_harmless() -> None:
    with pytest.raises(UnreadablePayload):
        decode_any_event('{"hook_event_name": "nonsense"}')


def test_of_a_tool_that_nobody_has_explain_says_that_it_knows_nothing(tmp_path: Path) -> None:
    done = trotline("explain", "--tool", "Frobnicate", home=tmp_path)
    assert (done.returncode, "does not know what a tool `Frobnicate` does" in done.stderr) == (0, True)


def test_the_blast_radius_counts_what_is_there(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "archive" / str(number)).mkdir(parents=True)
        (tmp_path / "archive" / str(number) / "file").write_text("12345")
    done = trotline("explain", f"rm -rf {tmp_path}/archive", home=tmp_path)
    assert "archive: 3 files, 15 bytes" in done.stdout


def test_guards_are_listed_with_their_level_and_its_layer(tmp_path: Path) -> None:
    policy = tmp_path / ".config" / "trotline" / "trotline.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('preset = "strict"\n[guards]\ndeletion = "warn"\n')
    done = trotline("guards", "--json", home=tmp_path)
    data = json.loads(done.stdout)["data"]
    deletion = next(guard for guard in data["guards"] if guard["name"] == "deletion")
    assert (data["preset"], deletion["level"], deletion["layer"]) == ("strict", "warn", "user")
    assert "deletion" in trotline("guards", home=tmp_path).stdout
    assert "files that nobody gets back" in trotline("guards", "deletion", home=tmp_path).stdout
    unknown = trotline("guards", "nonsense", home=tmp_path)
    assert (unknown.returncode, "known:" in unknown.stderr) == (64, True)
