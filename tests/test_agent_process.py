"""Real hook processes under every agent: replies of handlers, failing handlers and unreadable payloads.

The models in test_agent_models interpret exit code and output as the agent does.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import read_data
from test_agent_models import MODELS, Effect, HookResult
from trotline.agents import AGENTS, get_agent
from trotline.agents.translation import write_event
from trotline.domain.events import BeforeShell, Event, PreToolUse

PROGRAM = read_data("scripts/agent_process_hook.py.txt")


def build_command_event(agent: str, command: str) -> tuple[str, Event]:
    """Return the agent's name of the event before a command, and the event."""
    events = get_agent(agent).events
    ours = "beforeShellExecution" if "beforeShellExecution" in events.values() else "preToolUse"
    theirs = next(theirs for theirs, name in events.items() if name == ours)
    shared: dict[str, Any] = {"conversation_id": "c", "workspace_roots": ("/w",), "cwd": "/w"}
    if ours == "preToolUse":
        return theirs, PreToolUse(tool_name="Shell", tool_input={"command": command}, **shared)
    return theirs, BeforeShell(command=command, **shared)


def run_hook(argv: list[str], payload: bytes, home: Path) -> HookResult:
    home.mkdir(exist_ok=True)
    line = [sys.executable, "-I", *argv, "--home", str(home)]
    process = subprocess.run(line, input=payload, capture_output=True, env={"PATH": "/usr/bin:/bin"}, check=False)
    return HookResult(process.returncode, process.stdout.decode(), process.stderr.decode())


def get_effect(agent: str, theirs: str, result: HookResult) -> Effect:
    """Return the effect; no agent may see a traceback, or an exit code that means something else to another."""
    assert result.exit in {0, 2}, result
    assert "Traceback" not in result.stderr
    return MODELS[agent](theirs, result)


def run_program(tmp_path: Path, agent: str, command: str) -> Effect:
    """Run a hook program before a command of this agent."""
    theirs, event = build_command_event(agent, command)
    file = tmp_path / "hook.py"
    file.write_text(PROGRAM)
    payload = write_event(get_agent(agent), event)
    result = run_hook([str(file), "--agent", agent, "--event", theirs], payload, tmp_path / "home")
    return get_effect(agent, theirs, result)


def run_installed_line(tmp_path: Path, agent: str, payload: bytes, theirs: str) -> Effect:
    """Run the hook line that `install` writes with this payload."""
    result = run_hook(["-m", "trotline", "hook", agent, "--event", theirs], payload, tmp_path / "home")
    return get_effect(agent, theirs, result)


COMMANDS = [
    pytest.param("nothing", False, id="no opinion"),
    pytest.param("deny", True, id="a refusal"),
    pytest.param("emoji", True, id="a refusal that no UTF-8 can hold"),
    pytest.param("closed", True, id="a handler that raises and fails closed"),
    pytest.param("deny raises prints", True, id="a refusal beside a handler that raises and one that prints an allow"),
]
INTERFERING_COMMANDS = [
    pytest.param("deny exits", id="a refusal beside a handler that exits"),
    pytest.param("leaves", id="a handler that exits and fails closed"),
    pytest.param("ask shuts", id="a question beside a handler that closes standard output"),
]
SAMPLE_AGENTS = ("cursor", "codex", "gemini-cli", "copilot", "windsurf", "cline")
"""One agent for each form of reply."""


@pytest.mark.parametrize("command,refused", COMMANDS)
@pytest.mark.parametrize("agent", SAMPLE_AGENTS)
def test_response_of_a_handler_reaches_the_agent(agent: str, command: str, refused: bool, tmp_path: Path) -> None:
    effect = run_program(tmp_path, agent, command)
    assert (effect.blocked or effect.asks) == refused
    if command == "deny":
        assert "another way" in effect.reason or agent == "cursor"


@pytest.mark.parametrize("command", INTERFERING_COMMANDS)
@pytest.mark.parametrize("agent", ["cursor", "codex", "windsurf"])
def test_handler_cannot_suppress_the_denial_of_another(agent: str, command: str, tmp_path: Path) -> None:
    assert run_program(tmp_path, agent, command).blocked


UNREADABLE = [
    *(pytest.param(agent, b"", id=f"{agent}-nothing") for agent in AGENTS),
    *(pytest.param(agent, b"foreign", id=f"{agent}-somebody else's") for agent in AGENTS),
    *(pytest.param(agent, b"\xff{", id=f"{agent}-no JSON") for agent in ("codex", "generic")),
    *(pytest.param(agent, b"[1]", id=f"{agent}-a list") for agent in ("copilot", "opencode")),
]


@pytest.mark.parametrize("agent,payload", UNREADABLE)
def test_unreadable_call_is_refused(agent: str, payload: bytes, tmp_path: Path) -> None:
    theirs, _ = build_command_event(agent, "")
    if payload == b"foreign":
        other = "windsurf" if agent != "windsurf" else "openhands"
        payload = write_event(get_agent(other), build_command_event(other, "deny")[1])
    effect = run_installed_line(tmp_path, agent, payload, theirs)
    assert effect.blocked
    assert effect.reason


@pytest.mark.parametrize("agent", AGENTS)
def test_installed_line_refuses_the_canary(agent: str, tmp_path: Path) -> None:
    theirs, event = build_command_event(agent, "echo trotline-canary")
    assert run_installed_line(tmp_path, agent, write_event(get_agent(agent), event), theirs).blocked


@pytest.mark.parametrize("agent", ["codex", "windsurf"])
def test_payload_of_five_megabytes_is_evaluated(agent: str, tmp_path: Path) -> None:
    assert run_program(tmp_path, agent, "deny " + "x" * 5_000_000).blocked


OBSERVED = {
    "cursor": "afterFileEdit",
    "codex": "PostToolUse",
    "gemini-cli": "PreCompress",
    "copilot": "sessionEnd",
    "windsurf": "post_run_command",
    "cline": "TaskComplete",
}


@pytest.mark.parametrize("agent", SAMPLE_AGENTS)
def test_unreadable_call_of_an_observing_event_blocks_nothing(agent: str, tmp_path: Path) -> None:
    result = run_hook(["-m", "trotline", "hook", agent, "--event", OBSERVED[agent]], b"{", tmp_path / "home")
    effect = get_effect(agent, OBSERVED[agent], result)
    assert not effect.blocked
    assert not effect.goes_on
    assert result.stdout == "" if agent == "windsurf" else json.loads(result.stdout) == {}
    assert "could not read this call" in result.stderr
