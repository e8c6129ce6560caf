"""Our process under every agent, for real: whatever goes into it and breaks in it, the agent does what was meant.

What the agent makes of the exit code and of what was printed is asked of the models in test_agent_models.
"""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from test_agent_models import MODELS, Effect, Given
from trotline.agents import AGENTS, get_agent
from trotline.agents.translation import write_event
from trotline.domain.events import BeforeShell, Event, PreToolUse

PROGRAM = """
import sys
from trotline import add_context, ask, deny, on, run

@on.before_shell(matching="^deny")
def refuses(event):
    return deny("not here", to_agent="another way")

@on.before_shell(matching="^ask")
def asks(event):
    return ask("sure?")

@on.before_shell(matching="^emoji")
def refuses_with_half_an_emoji(event):
    return deny("no \\ud83d \\udcff")

@on.before_shell(matching="raises")
def raises(event):
    raise ValueError("oops")

@on.before_shell(matching="closed", fail_closed=True)
def raises_and_fails_closed(event):
    raise ValueError("oops")

@on.before_shell(matching="exits")
def leaves(event):
    sys.exit(1)

@on.before_shell(matching="leaves", fail_closed=True)
def leaves_and_fails_closed(event):
    sys.exit(0)

@on.before_shell(matching="shuts")
def shuts(event):
    sys.stdout.close()

@on.before_shell(matching="prints")
def prints(event):
    print('{"permission": "allow", "decision": "allow"}')

run()
"""


def command_of(agent: str, command: str) -> tuple[str, Event]:
    """The name of the event before a command under this agent, and the event."""
    events = get_agent(agent).events
    ours = "beforeShellExecution" if "beforeShellExecution" in events.values() else "preToolUse"
    theirs = next(theirs for theirs, meant in events.items() if meant == ours)
    shared: dict[str, Any] = {"conversation_id": "c", "workspace_roots": ("/w",), "cwd": "/w"}
    if ours == "preToolUse":
        return theirs, PreToolUse(tool_name="Shell", tool_input={"command": command}, **shared)
    return theirs, BeforeShell(command=command, **shared)


def ended(argv: list[str], payload: bytes, home: Path) -> Given:
    home.mkdir(exist_ok=True)
    line = [sys.executable, "-I", *argv, "--home", str(home)]
    done = subprocess.run(line, input=payload, capture_output=True, env={"PATH": "/usr/bin:/bin"}, check=False)
    return Given(done.returncode, done.stdout.decode(), done.stderr.decode())


def heard(agent: str, theirs: str, given: Given) -> Effect:
    """What comes of it; no agent may see a traceback, or an exit code that means something else to another."""
    assert given.exit in {0, 2}, given
    assert "Traceback" not in given.stderr
    return MODELS[agent](theirs, given)


def play(tmp_path: Path, agent: str, command: str) -> Effect:
    """A hook program under this agent, asked about a command."""
    theirs, event = command_of(agent, command)
    file = tmp_path / "hook.py"
    file.write_text(textwrap.dedent(PROGRAM))
    payload = write_event(get_agent(agent), event)
    given = ended([str(file), "--agent", agent, "--event", theirs], payload, tmp_path / "home")
    return heard(agent, theirs, given)


def installed(tmp_path: Path, agent: str, payload: bytes, theirs: str) -> Effect:
    """The line that an installation writes, with this on its standard input."""
    given = ended(["-m", "trotline", "hook", agent, "--event", theirs], payload, tmp_path / "home")
    return heard(agent, theirs, given)


COMMANDS = [
    pytest.param("nothing", False, id="no opinion"),
    pytest.param("deny", True, id="a refusal"),
    pytest.param("emoji", True, id="a refusal that no UTF-8 can hold"),
    pytest.param("closed", True, id="a handler that raises and fails closed"),
    pytest.param("deny raises prints", True, id="a refusal beside a handler that raises and one that prints an allow"),
]
RUDE = [
    pytest.param("deny exits", id="a refusal beside a handler that exits"),
    pytest.param("leaves", id="a handler that exits and fails closed"),
    pytest.param("ask shuts", id="a question beside a handler that closes standard output"),
]
SAMPLE = ("cursor", "codex", "gemini-cli", "copilot", "windsurf", "cline")
"""One of each way of answering."""


@pytest.mark.parametrize("command,refused", COMMANDS)
@pytest.mark.parametrize("agent", SAMPLE)
def test_what_a_handler_does_comes_out_as_it_was_meant(agent: str, command: str, refused: bool, tmp_path: Path) -> None:
    effect = play(tmp_path, agent, command)
    assert (effect.blocked or effect.asked) == refused
    if command == "deny":
        assert "another way" in effect.reason or agent == "cursor"


@pytest.mark.parametrize("command", RUDE)
@pytest.mark.parametrize("agent", ["cursor", "codex", "windsurf"])
def test_no_handler_takes_the_answer_of_another_away(agent: str, command: str, tmp_path: Path) -> None:
    assert play(tmp_path, agent, command).blocked


UNREADABLE = [
    *(pytest.param(agent, b"", id=f"{agent}-nothing") for agent in AGENTS),
    *(pytest.param(agent, b"foreign", id=f"{agent}-somebody else's") for agent in AGENTS),
    *(pytest.param(agent, b"\xff{", id=f"{agent}-no JSON") for agent in ("codex", "generic")),
    *(pytest.param(agent, b"[1]", id=f"{agent}-a list") for agent in ("copilot", "opencode")),
]


@pytest.mark.parametrize("agent,payload", UNREADABLE)
def test_a_call_that_nobody_can_read_is_refused(agent: str, payload: bytes, tmp_path: Path) -> None:
    theirs, _ = command_of(agent, "")
    if payload == b"foreign":
        other = "windsurf" if agent != "windsurf" else "openhands"
        payload = write_event(get_agent(other), command_of(other, "deny")[1])
    effect = installed(tmp_path, agent, payload, theirs)
    assert effect.blocked
    assert effect.reason


@pytest.mark.parametrize("agent", AGENTS)
def test_the_installed_line_refuses_the_canary(agent: str, tmp_path: Path) -> None:
    theirs, event = command_of(agent, "echo trotline-canary")
    assert installed(tmp_path, agent, write_event(get_agent(agent), event), theirs).blocked


@pytest.mark.parametrize("agent", ["codex", "windsurf"])
def test_five_megabytes_are_judged_like_any_other_call(agent: str, tmp_path: Path) -> None:
    assert play(tmp_path, agent, "deny " + "x" * 5_000_000).blocked


OBSERVED = {
    "cursor": "afterFileEdit",
    "codex": "PostToolUse",
    "gemini-cli": "PreCompress",
    "copilot": "sessionEnd",
    "windsurf": "post_run_command",
    "cline": "TaskComplete",
}


@pytest.mark.parametrize("agent", SAMPLE)
def test_a_call_that_nobody_can_read_about_something_that_has_happened_stops_nothing(
    agent: str, tmp_path: Path
) -> None:
    given = ended(["-m", "trotline", "hook", agent, "--event", OBSERVED[agent]], b"{", tmp_path / "home")
    effect = heard(agent, OBSERVED[agent], given)
    assert not effect.blocked
    assert not effect.goes_on
    assert given.stdout == "" if agent == "windsurf" else json.loads(given.stdout) == {}
    assert "could not read this call" in given.stderr
