"""trotline fire --script: a conversation from a file, fired at the configured hooks."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, convert_lists, make_workspace, read_corpus, read_data, run_trotline
from trotline.domain.errors import TrotlineError
from trotline.testing.conversation_script import read_script

GUARD = read_data("scripts/fire_script_guard.py.txt")

SCRIPT = read_data("scripts/fire_script.toml")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    created = make_workspace(tmp_path)
    guard = created.script("home/bin/guard", GUARD)
    events = ("beforeShellExecution", "afterShellExecution", "stop")
    hooks = {name: [{"command": str(guard), **({"loop_limit": 2} if name == "stop" else {})}] for name in events}

    created.write("user", json.dumps({"version": 1, "hooks": hooks}))
    return created


def run_script(workspace: Workspace, text: str, *options: str, name: str = "talk.toml") -> tuple[int, str, str]:
    script = workspace.write(name, text)
    path = {"PATH": os.environ["PATH"]}
    done = run_trotline(
        "fire", "--script", str(script), *options, *workspace.options, cwd=workspace.path, environment=path
    )
    return done.returncode, done.stdout, done.stderr


def list_events(workspace: Workspace, text: str, **options: Any) -> list[dict[str, Any]]:
    _, out, err = run_script(workspace, text, "--json", **options)
    assert out, err
    answer = json.loads(out)
    assert answer["schema"] == "trotline.fire.script/1"
    events: list[dict[str, Any]] = answer["data"]["events"]
    return events


def test_script_branches_on_outcomes(workspace: Workspace) -> None:
    code, story, _ = run_script(workspace, SCRIPT)
    assert code == 0
    assert [line for line in story.splitlines() if not line.startswith("  ") or "Execution" in line] == [
        "# A conversation begins.",
        "sessionStart: none",
        "beforeShellExecution  git push --force: deny",
        "  beforeShellExecution  git push: none",
        "    afterShellExecution  git push: none",
        "stop  Stop: none",
        "stop  Stop: none",
        "stop  Stop: none",
        "",
        "7 events; 6 answers; 1 refused; 0 failures",
    ]
    assert "  to the person: no force" in story
    assert "  to the agent: push plainly" in story
    assert story.count("follow-up: run the tests") == 2


def test_script_from_json_lines_prints_json(workspace: Workspace) -> None:
    steps = [
        {"event": "beforeShellExecution", "command": "git push --force", "on_deny": [{"event": "stop"}]},
        {"event": "beforeShellExecution", "command": "ls"},
    ]
    events = list_events(workspace, "\n".join(map(json.dumps, steps)), name="talk.jsonl")
    assert [(event["event"], event["permission"], event["depth"]) for event in events] == [
        ("beforeShellExecution", "deny", 0),
        ("stop", "none", 1),
        ("beforeShellExecution", "none", 0),
    ]
    assert events[0]["texts"] == {"to the person": "no force", "to the agent": "push plainly"}


ASKING_SCRIPT = """
[[steps]]
event = "beforeShellExecution"
command = "curl x"
{answer}
[[steps.then]]
event = "afterShellExecution"
command = "curl x"
"""


@pytest.mark.parametrize("answer,count", [("", 1), ('on_ask = "no"', 1), ('on_ask = "yes"', 2)])
def test_script_answers_questions(workspace: Workspace, answer: str, count: int) -> None:
    assert len(list_events(workspace, ASKING_SCRIPT.format(answer=answer))) == count


def test_follow_up_can_have_steps(workspace: Workspace) -> None:
    text = '[[steps]]\nevent = "stop"\n[[steps.on_follow_up]]\nevent = "beforeShellExecution"\ncommand = "make test"\n'
    assert [event["event"] for event in list_events(workspace, text)] == ["stop", "beforeShellExecution"]


def test_runs_of_a_script_do_not_share_a_conversation(workspace: Workspace) -> None:
    text = '[[steps]]\nevent = "stop"\nexpect = "follow-up"\n'
    assert [run_script(workspace, text)[0] for _ in range(4)] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "expected,words", [("allow", "allow was expected, and it was deny"), ("follow-up", "nobody had one")]
)
def test_unmet_expectation_fails(workspace: Workspace, expected: str, words: str) -> None:
    text = f'[[steps]]\nevent = "beforeShellExecution"\ncommand = "git push --force"\nexpect = "{expected}"\n'
    code, story, _ = run_script(workspace, text)
    assert code == 1
    assert words in story
    assert "1 expectation not met" in story


def test_hooks_that_do_not_run_are_counted(workspace: Workspace) -> None:
    workspace.write("project", json.dumps({"version": 1, "hooks": {"stop": [{"command": "x"}]}}))
    _, story, _ = run_script(workspace, '[[steps]]\nevent = "stop"\n')
    assert "project x: not run, the workspace is not trusted" in story
    assert "1 hook not run" in story


BAD_SCRIPTS = convert_lists(read_corpus("fire_script")["bad_scripts"])


@pytest.mark.parametrize("text,name,words", BAD_SCRIPTS.values(), ids=BAD_SCRIPTS)
def test_invalid_script_is_an_error_with_its_place(workspace: Workspace, text: str, name: str, words: str) -> None:
    code, out, err = run_script(workspace, text, name=name)
    assert (code, out) == (64, "")
    assert words in err
    with pytest.raises(TrotlineError):
        read_script(workspace.path / name)
