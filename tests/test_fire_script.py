"""trotline fire --script: a conversation from a file, played against the configured hooks."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace, run_trotline
from trotline.domain.errors import TrotlineError
from trotline.testing.conversation_script import read_script

GUARD = """#!/usr/bin/env python3
import json, sys
event = json.load(sys.stdin)
command = event.get("command", "")
if "--force" in command:
    print(json.dumps({"permission": "deny", "user_message": "no force", "agent_message": "push plainly"}))
elif "curl" in command:
    print(json.dumps({"permission": "ask", "user_message": "network?"}))
elif event["hook_event_name"] == "stop":
    print(json.dumps({"followup_message": "run the tests"}))
else:
    print("{}")
"""

TALK = """
[[steps]]
event = "sessionStart"
say = "A conversation begins."

[[steps]]
event = "beforeShellExecution"
command = "git push --force"
expect = "deny"
[[steps.then]]
event = "afterShellExecution"
command = "git push --force"
[[steps.on_deny]]
event = "beforeShellExecution"
command = "git push"
[[steps.on_deny.then]]
event = "afterShellExecution"
command = "git push"
output = "done"

[[steps]]
event = "stop"
on_follow_up = "again"
expect = "follow-up"
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    guard = made.script("home/bin/guard", GUARD)
    events = ("beforeShellExecution", "afterShellExecution", "stop")
    hooks = {name: [{"command": str(guard), **({"loop_limit": 2} if name == "stop" else {})}] for name in events}

    made.write("user", json.dumps({"version": 1, "hooks": hooks}))
    return made


def _simulate(workspace: Workspace, text: str, *options: str, name: str = "talk.toml") -> tuple[int, str, str]:
    script = workspace.write(name, text)
    path = {"PATH": os.environ["PATH"]}
    done = run_trotline(
        "fire", "--script", str(script), *options, *workspace.options, cwd=workspace.path, environment=path
    )
    return done.returncode, done.stdout, done.stderr


def _events(workspace: Workspace, text: str, **options: Any) -> list[dict[str, Any]]:
    _, out, err = _simulate(workspace, text, "--json", **options)
    assert out, err
    answer = json.loads(out)
    assert answer["schema"] == "trotline.fire.script/1"
    found: list[dict[str, Any]] = answer["data"]["events"]
    return found


def test_the_story_goes_where_the_outcomes_lead(workspace: Workspace) -> None:
    code, story, _ = _simulate(workspace, TALK)
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


def test_the_same_in_json_and_from_json_lines(workspace: Workspace) -> None:
    steps = [
        {"event": "beforeShellExecution", "command": "git push --force", "on_deny": [{"event": "stop"}]},
        {"event": "beforeShellExecution", "command": "ls"},
    ]
    events = _events(workspace, "\n".join(map(json.dumps, steps)), name="talk.jsonl")
    assert [(one["event"], one["permission"], one["depth"]) for one in events] == [
        ("beforeShellExecution", "deny", 0),
        ("stop", "none", 1),
        ("beforeShellExecution", "none", 0),
    ]
    assert events[0]["texts"] == {"to the person": "no force", "to the agent": "push plainly"}


ASKED = """
[[steps]]
event = "beforeShellExecution"
command = "curl x"
{answer}
[[steps.then]]
event = "afterShellExecution"
command = "curl x"
"""


@pytest.mark.parametrize("answer,played", [("", 1), ('on_ask = "no"', 1), ('on_ask = "yes"', 2)])
def test_a_person_who_is_asked_says_what_the_script_says(workspace: Workspace, answer: str, played: int) -> None:
    assert len(_events(workspace, ASKED.format(answer=answer))) == played


def test_a_follow_up_may_have_steps_of_its_own(workspace: Workspace) -> None:
    text = '[[steps]]\nevent = "stop"\n[[steps.on_follow_up]]\nevent = "beforeShellExecution"\ncommand = "make test"\n'
    assert [one["event"] for one in _events(workspace, text)] == ["stop", "beforeShellExecution"]


def test_two_simulations_do_not_share_a_conversation(workspace: Workspace) -> None:
    text = '[[steps]]\nevent = "stop"\nexpect = "follow-up"\n'
    assert [_simulate(workspace, text)[0] for _ in range(4)] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "expected,words", [("allow", "allow was expected, and it was deny"), ("follow-up", "nobody had one")]
)
def test_an_expectation_that_is_not_met_fails(workspace: Workspace, expected: str, words: str) -> None:
    text = f'[[steps]]\nevent = "beforeShellExecution"\ncommand = "git push --force"\nexpect = "{expected}"\n'
    code, story, _ = _simulate(workspace, text)
    assert code == 1
    assert words in story
    assert "1 expectation not met" in story


def test_hooks_that_do_not_run_are_counted(workspace: Workspace) -> None:
    workspace.write("project", json.dumps({"version": 1, "hooks": {"stop": [{"command": "x"}]}}))
    _, story, _ = _simulate(workspace, '[[steps]]\nevent = "stop"\n')
    assert "project x: not run, the workspace is not trusted" in story
    assert "1 hook not run" in story


BAD = {
    "no TOML": ("steps = [", "talk.toml", "is not TOML"),
    "no steps": ("x = 1", "talk.toml", "has no [[steps]]"),
    "no event": ('[[steps]]\nevent = "beforeShell"', "talk.toml", "step 1: `beforeShell` is no event"),
    "a field that does not exist": (
        '[[steps]]\nevent = "stop"\ncomand = "x"',
        "talk.toml",
        "stop has no field `comand`",
    ),
    "an impossible expectation": ('[[steps]]\nevent = "stop"\nexpect = "no"', "talk.toml", "expected to be `no`"),
    "a branch that is no list": ('[[steps]]\nevent = "stop"\nthen = "go"', "talk.toml", "then: this must be a list"),
    "a bad step in a branch": ('[[steps]]\nevent = "stop"\nthen = [5]', "talk.toml", "step 1, then 1: something else"),
    "no JSON": ('{"event": "stop"}\n{', "talk.jsonl", "talk.jsonl:2 is not JSON"),
}


@pytest.mark.parametrize("text,name,words", BAD.values(), ids=BAD)
def test_what_is_wrong_with_a_script_is_said_with_its_place(
    workspace: Workspace, text: str, name: str, words: str
) -> None:
    code, out, err = _simulate(workspace, text, name=name)
    assert (code, out) == (64, "")
    assert words in err
    with pytest.raises(TrotlineError):
        read_script(workspace.path / name)
