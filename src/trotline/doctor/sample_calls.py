"""Call installed lines as agents do: through a shell, with a payload and a time limit. A sample of every event shows
whether the answer is the one that is expected."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.agents.agent import Agent, AgentReply, fit_verdict
from trotline.agents.cursor import payloads
from trotline.agents.translation import write_event
from trotline.domain.events import EVENTS
from trotline.domain.outcomes import Call
from trotline.domain.verdicts import Verdict
from trotline.hook.answer import answer
from trotline.hook.process import build_context, parse_arguments
from trotline.machine import copy_environment
from trotline.system.processes import StopReason, run_program
from trotline.testing.sample_payloads import build_payload

TIMEOUT = 10.0
PARALLEL_CALLS = 4
SELF_TEST_ID = "trotline-doctor"
"""The id of a call that no agent made; it leaves no record."""


class LineOutput(NamedTuple):
    """The output of a line. Without an exit code it timed out or could not be started; `text` says which."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def text(self) -> str:
        """All output as text."""
        return (self.stdout + self.stderr).decode("utf-8", "replace").strip()


def run_line(command: str, payload: bytes) -> LineOutput:
    """Run a line as an agent does."""
    argv = ("/bin/sh", "-c", command)
    result = run_program(argv, env=copy_environment(), timeout=TIMEOUT, stdin=payload, cwd=str(Path.cwd()))
    seconds = result.micros / 1_000_000
    if result.stopped is StopReason.TIME:
        return LineOutput(None, b"", f"no answer in {TIMEOUT:g} seconds".encode(), seconds)
    if result.stopped is not StopReason.NONE:
        return LineOutput(None, b"", (result.detail or result.stopped).encode(), seconds)
    return LineOutput(result.exit_code, result.stdout, result.stderr, seconds)


class SampleCall(NamedTuple):
    """One call of a line. `wrong` describes an unexpected answer; `objected` means that a policy denied the sample."""

    event: str
    output: LineOutput
    wrong: str = ""
    objected: bool = False


def build_sample(agent: Agent, event: str, conversation: str) -> bytes:
    """Return a payload that this agent might send at this event."""
    ours = payloads.read_event(json.dumps(build_payload(agent.events[event])))
    body = json.loads(write_event(agent, msgspec.structs.replace(ours, conversation_id=conversation)))
    key = agent.event_key.partition("|")[0]
    return json.dumps({**body, key: event} if key in body else body).encode()


def send_samples(agent: Agent, lines: Sequence[tuple[str, str]], conversation: str, home: Path) -> list[SampleCall]:
    """Call every line once. The first call is made alone: it may start a service that answers the others."""
    known = [(event, command) for event, command in lines if event in agent.events]

    def send(line: tuple[str, str]) -> SampleCall:
        event, command = line
        sample = build_sample(agent, event, conversation)
        output = run_line(command, sample)
        wrong = _describe_difference(output, _build_empty_reply(agent, event))
        objected = bool(wrong) and not _describe_difference(output, _build_expected_reply(agent, event, sample, home))
        return SampleCall(event, output, "" if objected else wrong, objected)

    with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
        return [*map(send, known[:1]), *pool.map(send, known[1:])]


def _build_empty_reply(agent: Agent, event: str) -> AgentReply:
    """Return the reply without any opinion."""
    ours = agent.events[event]
    verdict, _ = fit_verdict(agent, EVENTS[ours].contract, Verdict())
    return agent.reply_form(agent, event, ours, verdict)


def _build_expected_reply(agent: Agent, event: str, payload: bytes, home: Path) -> AgentReply:
    """Return the reply by everything that is configured here, evaluated in this process."""
    argv = ("--agent", agent.name, "--event", event, "--home", str(home))
    call = Call(id=SELF_TEST_ID, argv=argv, payload=payload)
    return answer(call, build_context(agent, parse_arguments(argv), (), guarded=True))[0]


def _describe_difference(output: LineOutput, expected: AgentReply) -> str:
    """Return how the output differs from the reply, or nothing."""
    if output.exit_code is None:
        return output.text
    if output.exit_code != expected.exit_code:
        lines = output.text.splitlines()
        return f"exit {output.exit_code}{': ' + lines[-1] if lines else ''}"
    try:
        is_same = json.loads(output.stdout or b"null") == json.loads(expected.stdout or "null")
    except ValueError:
        is_same = False
    return "" if is_same else f"answered `{output.stdout.decode('utf-8', 'replace').strip()[:200]}`"
