"""Send a canary, a shell command that must be refused, through an installed line."""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from trotline.agents.agent import Agent
from trotline.agents.translation import write_event
from trotline.audit.record.record import PROOF_CONVERSATION
from trotline.config.install.hook_entries import HookFileTarget
from trotline.config.paths import Roots
from trotline.doctor.hook_lines import compare_lines, find_fatal_problems, find_our_lines, may_run
from trotline.doctor.sample_calls import run_line
from trotline.domain.events import BeforeShell, Event, PreToolUse
from trotline.hook.answer import CANARY_REASON, CANARY_WORD

MAX_SECONDS = 0.2
"""A line that takes longer makes the agent feel slow."""

GATES = ("beforeShellExecution", "preToolUse")


class CanaryResult(NamedTuple):
    """The reaction of an installed line to the canary."""

    agent: str
    title: str
    file: str
    current: bool
    fatal: str  # why the agent loads nothing of the file
    executed: bool
    refused: bool
    seconds: float
    output: str

    @property
    def holds(self) -> bool:
        """Return whether the line ran, refused, and is in a file that the agent loads."""
        return self.executed and self.refused and not self.fatal


def send_canary(targets: Sequence[HookFileTarget], roots: Roots) -> CanaryResult | None:
    """Send the canary to the line at the gate of this agent; None if no line of ours is in its files of this layer."""
    lines = {line.event: line for line in find_our_lines(targets)}
    if not lines:
        return None
    agent = targets[0].agent
    gate = find_gate(agent, lines)
    target = lines[gate].target if gate is not None else targets[0]
    fatal = next((f"{problem.code} {problem.message}" for problem in find_fatal_problems(target, roots)), "")
    facts = (agent.name, agent.title, str(target.file), compare_lines(targets, roots).current, fatal)
    if gate is None or not may_run(lines[gate], roots):
        why = "no gate of ours is in the file" if gate is None else "the project's line is not ours to the letter"
        return CanaryResult(*facts, executed=False, refused=False, seconds=0, output=why)
    output = run_line(lines[gate].command, write_event(agent, _build_canary(agent.events[gate])))
    is_refused = CANARY_REASON in output.text and (output.exit_code == 2 or _is_object(output.stdout))
    is_executed = output.exit_code is not None
    return CanaryResult(*facts, executed=is_executed, refused=is_refused, seconds=output.seconds, output=output.text)


def find_gate(agent: Agent, lines: Collection[str]) -> str | None:
    """Return the agent's event at which a shell command can be refused, if a line of ours is there."""
    return next((event for ours in GATES for event in lines if agent.events.get(event) == ours), None)


def _build_canary(event: str) -> Event:
    command = f"echo {CANARY_WORD}"
    if event == "preToolUse":
        return PreToolUse(tool_name="Shell", tool_input={"command": command}, conversation_id=PROOF_CONVERSATION)
    return BeforeShell(command=command, conversation_id=PROOF_CONVERSATION)


def _is_object(output: bytes) -> bool:
    try:
        return isinstance(json.loads(output), dict)
    except ValueError:
        return False
