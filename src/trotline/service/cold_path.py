"""The cold path: answer a call that no service answered, within the remaining time of its deadline.

The deadline is checked here and not in the client, because only here is the agent's reply to a missed deadline known.
After the reply, a service is started for later calls.
"""

import contextlib
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from trotline.agents.agent import AgentReply
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES, Call, Failure, FailureKind, Outcome
from trotline.hook.process import (
    DeadlinePassed,
    build_call,
    fork_detached,
    handle_call,
    handle_failure,
    parse_arguments,
    redirect_to_null,
    write_detail,
)
from trotline.machine import read_clock

_signal: Any = import_module("_signal")  # `signal` builds enumerations first, and the agent waits

LAUNCHING_REASONS = frozenset({"absent", "cold", "lost"})
"""Cold reasons after which a service is started."""

REPORTED_REASONS = {
    "busy": "the service was busy",
    "slow": "the service took too long",
    "foreign": "something of another user is where our service belongs",
    "odd": "what listens where our service belongs does not speak its language",
    "large": "the payload is larger than a service takes",
}
"""Cold reasons that are reported to the user, although the answer is the same."""

DEADLINE_MESSAGE = "Trotline had no answer before its deadline"
SECONDS_BETWEEN_ALARMS = 1.0
"""The interval in which the alarm repeats, because a handler may have caught the first exception."""

CHUNK = 1 << 20


class ClientCall(NamedTuple):
    """A call as the client knows it, and the reason why no service answered it."""

    id: str
    received_us: int
    remaining_ms: int
    cold_reason: str
    argv: list[str]
    payload: bytes | None  # None: it is still on standard input
    started: float  # on the monotonic clock


def answer_client(client: ClientCall) -> NoReturn:
    """Write the reply, then start a service if there is none and write the detail."""
    out = os.dup(1)
    os.dup2(2, 1)  # what is printed during the evaluation must not become part of the reply
    reply, outcome = _answer_in_time(client)
    stdout, stderr = _add_cold_reason(reply, client.cold_reason).encode()
    _write(out, stdout)
    _write(2, stderr)
    redirect_to_null(0, 1, 2, out)  # the agent need not wait for the rest
    with contextlib.suppress(Exception):  # without a service only the next call takes longer
        _start_or_log_service(client)
    with contextlib.suppress(OSError):  # without a new process the record has no detail
        if hasattr(os, "fork") and fork_detached():
            write_detail(outcome, parse_arguments(client.argv).home)
    os._exit(reply.exit_code)


def _answer_in_time(client: ClientCall) -> tuple[AgentReply, Outcome]:
    """Answer the call. At the deadline, answer that Trotline failed."""

    def interrupt(*_: object) -> None:
        raise DeadlinePassed(DEADLINE_MESSAGE)

    seconds_left = client.remaining_ms / 1000 - (time.monotonic() - client.started)
    if seconds_left <= 0:
        return _answer_too_late(client)
    try:
        _signal.signal(_signal.SIGALRM, interrupt)
        _signal.setitimer(_signal.ITIMER_REAL, seconds_left, SECONDS_BETWEEN_ALARMS)
        reply, outcome = handle_call(_build_call(client), [], guarded=True)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    except DeadlinePassed:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        return _answer_too_late(client)
    return reply, outcome


def _answer_too_late(client: ClientCall) -> tuple[AgentReply, Outcome]:
    """Answer without waiting for the rest of the payload."""
    call = _build_call(client._replace(payload=client.payload or b""))
    failure = Failure(kind=FailureKind.TIMED_OUT, detail=DEADLINE_MESSAGE)
    return handle_failure(call, failure, int(client.started * 1_000_000_000))


def _build_call(client: ClientCall) -> Call:
    """Build the same Call that a service builds from the client's header."""
    call = build_call(client.argv, _read_payload() if client.payload is None else client.payload)
    directory, identity = _identify_working_directory()
    call = msgspec.structs.replace(call, cwd=directory, cwd_identity=identity)
    return msgspec.structs.replace(call, id=client.id, received_us=client.received_us) if client.id else call


def _read_payload() -> bytes:
    chunks = []
    remaining = MAX_PAYLOAD_BYTES
    while remaining and (chunk := _read_chunk(min(remaining, CHUNK))):
        chunks.append(chunk)
        remaining -= len(chunk)
    return b"".join(chunks)


def _read_chunk(size: int) -> bytes:
    while True:
        try:
            return os.read(0, size)
        except BlockingIOError:  # the agent left its end non-blocking
            import select  # noqa: PLC0415 - seldom

            select.select([0], [], [])


def _identify_working_directory() -> tuple[str, tuple[int, int]]:
    try:
        status = Path().stat()
        return str(Path.cwd()), (status.st_dev, status.st_ino)
    except OSError:
        return "", (0, 0)  # the directory was removed


def _add_cold_reason(reply: AgentReply, cold_reason: str) -> AgentReply:
    if cold_reason not in REPORTED_REASONS:
        return reply
    line = f"trotline: {REPORTED_REASONS[cold_reason]}; this call was answered without it"
    return reply._replace(stderr=f"{reply.stderr}\n{line}".lstrip())


def _write(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError:
            return  # the agent closed its end


def _start_or_log_service(client: ClientCall) -> None:
    """Start a service, or log why the running one did not answer."""
    if client.cold_reason not in LAUNCHING_REASONS and client.cold_reason not in REPORTED_REASONS:
        return
    from trotline.service.directory import (  # noqa: PLC0415 - the reply was sent
        WENT_COLD,
        RunDirectory,
        get_service_roots,
    )
    from trotline.service.start import launch_service  # noqa: PLC0415 - the same

    roots = get_service_roots(parse_arguments(client.argv).home)
    if client.cold_reason in LAUNCHING_REASONS:
        launch_service(roots, read_clock())
    elif client.cold_reason != "foreign":
        RunDirectory(roots.state / "run").log(client.cold_reason, WENT_COLD)
