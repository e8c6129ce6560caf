"""How a call ends that no service answered: judged here, within what is left of its time.

The deadline is kept here and not by the client, because only here are the words known in which a host hears that it
has passed. When the answer is out, a service is started for calls to come; nobody waits for that.
"""

import contextlib
import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from trotline.hosts.host import Answer
from trotline.machine import clock
from trotline.outcomes import MOST_PAYLOAD, Call, Failure, FailureKind, Outcome
from trotline.program import answered, call_of, failed, remember, went_apart, words_of
from trotline.service.reply import reply_of

_signal: Any = import_module("_signal")  # `signal` makes enumerations of it first, and the host waits

LAUNCHES = frozenset({"absent", "cold", "lost"})
"""Findings of a client after which a service is started."""

LOUD = {
    "busy": "the service was busy",
    "slow": "the service took too long",
    "foreign": "something of another user is where our service belongs",
    "odd": "what listens where our service belongs does not speak its language",
    "large": "the payload is larger than a service takes",
}
"""Findings that a person should hear of, although the answer is the same."""

LATE = "Trotline had no answer before its deadline"
AGAIN = 1.0  # seconds; a handler may have taken the first word of the deadline for its own failure


class Late(Exception):  # noqa: N818 - and no OSError, which many would take for their own
    """The deadline of the call has passed."""


class Known(NamedTuple):
    """What the client knows about the call, and what it found where a service should be."""

    id: str
    received_us: int
    left_ms: int
    finding: str
    words: list[str]
    payload: bytes | None  # None: it is still on standard input
    begun: float  # on the monotonic clock


def conclude(known: Known) -> NoReturn:
    out = os.dup(1)
    os.dup2(2, 1)  # whatever is printed while we judge must not be taken for the answer
    sent, outcome = _in_time(known)
    reply = reply_of(_with_finding(sent, known.finding))
    _write(out, reply.stdout)
    _write(2, reply.stderr)
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2, out):
        os.dup2(quiet, descriptor)  # the host need not wait for the rest
    with contextlib.suppress(Exception):  # it costs the next call a little time, and this one nothing
        _see_to_the_service(known)
    with contextlib.suppress(OSError):  # no process to be had: the record is there, without its words
        if hasattr(os, "fork") and went_apart():
            remember(outcome, words_of(known.words).home)
    os._exit(reply.exit_code)


def _in_time(known: Known) -> tuple[Answer, Outcome]:
    """The answer, or at the deadline the one that a failure of ours amounts to."""

    def late(*_: object) -> None:
        raise Late(LATE)

    left = known.left_ms / 1000 - (time.monotonic() - known.begun)
    if left <= 0:
        return _too_late(known)
    try:
        _signal.signal(_signal.SIGALRM, late)
        _signal.setitimer(_signal.ITIMER_REAL, left, AGAIN)
        sent, outcome = answered(_call(known), [], guarded=True)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    except Late:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        return _too_late(known)
    return sent, outcome


def _too_late(known: Known) -> tuple[Answer, Outcome]:
    """What has not been read by now is not waited for."""
    call = _call(known._replace(payload=known.payload or b""))
    return failed(call, Failure(kind=FailureKind.TIMED_OUT, detail=LATE), int(known.begun * 1_000_000_000))


def _call(known: Known) -> Call:
    """The same Call that a service makes of the client's header."""
    call = call_of(known.words, _payload() if known.payload is None else known.payload)
    directory, identity = _where()
    call = msgspec.structs.replace(call, cwd=directory, cwd_identity=identity)
    return msgspec.structs.replace(call, id=known.id, received_us=known.received_us) if known.id else call


def _payload() -> bytes:
    pieces = []
    left = MOST_PAYLOAD
    while left and (piece := _piece(min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _piece(size: int) -> bytes:
    while True:
        try:
            return os.read(0, size)
        except BlockingIOError:  # a host may have left its end so
            import select  # noqa: PLC0415 - seldom

            select.select([0], [], [])


def _where() -> tuple[str, tuple[int, int]]:
    try:
        status = Path().stat()
        return str(Path.cwd()), (status.st_dev, status.st_ino)
    except OSError:
        return "", (0, 0)  # somebody has taken the directory away


def _with_finding(sent: Answer, finding: str) -> Answer:
    if finding not in LOUD:
        return sent
    said = f"trotline: {LOUD[finding]}; this call was answered without it"
    return sent._replace(stderr=f"{sent.stderr}\n{said}".lstrip())


def _write(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError:
            return  # the host does not listen any more


def _see_to_the_service(known: Known) -> None:
    if known.finding not in LAUNCHES and known.finding not in LOUD:
        return
    from trotline.service.directory import WENT_COLD, RunDirectory, roots_of  # noqa: PLC0415 - the answer is out
    from trotline.service.launch import launch  # noqa: PLC0415 - the same

    roots = roots_of(words_of(known.words).home)
    if known.finding in LAUNCHES:
        launch(roots, clock())
    elif known.finding != "foreign":
        RunDirectory(roots.state / "run").log(known.finding, WENT_COLD)
