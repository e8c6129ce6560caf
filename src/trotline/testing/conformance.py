"""Puts any engine into the situations of the corpus, through a door of two lines: one with the situation goes in, one
with what was seen comes out.

An engine says what it can; what it does not say is not counted for or against it. Of what it says, everything that the
situation wants must be as wanted.
"""

import json
import select
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from trotline.errors import TrotlineError
from trotline.hosts.cursor import read_event
from trotline.testing.situations import Case, given_to_hooks, set_up

SECONDS = 30.0
MOST_LINE = 4_000_000


class Agreement(NamedTuple):
    """One situation, and what the engine made of it."""

    case: Case
    told: dict[str, Any]
    differs: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def word(self) -> str:
        if self.trouble:
            return "failed"
        if self.differs:
            return "differs"
        if not set(self.told) & set(self.case.want):
            return "not told"
        return "agrees"


class Door:
    """An engine behind a command, started when it is needed and again when it broke."""

    def __init__(self, command: Sequence[str], seconds: float = SECONDS) -> None:
        self.command = command
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the engine has seen; raises when it does not answer with an object on one line."""
        process = self._process or self._start()
        try:
            if process.stdin is None:
                raise BrokenPipeError
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            return _object(self._line(process).strip())
        except (OSError, ValueError) as error:
            self.close()
            raise TrotlineError(str(error) or "it hung up") from None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - the words the person typed
        except OSError as error:
            hint = "write the command behind `--`, such as `trotline conform -- ./adapter`"
            raise TrotlineError(f"`{self.command[0]}` could not be started: {error.strerror}", hint=hint) from None
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """A line, in time; bytes are read as they come, because the engine may leave one unfinished."""
        if process.stdout is None:
            raise BrokenPipeError
        deadline, line = time.monotonic() + self.seconds, bytearray()
        while not line.endswith(b"\n") and len(line) < MOST_LINE:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise TimeoutError(f"it did not answer in {self.seconds:g} s")
            chunk = process.stdout.read1(65536) if hasattr(process.stdout, "read1") else b""
            if not chunk:
                raise BrokenPipeError("it ended without an answer")
            line += chunk
        return bytes(line)


def conform(door: Door, cases: Iterable[Case]) -> Iterator[Agreement]:
    """Every situation, one after the other, each in a directory of its own."""
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="trotline-conform-") as directory:
            yield _agreement(door, case, Path(directory).resolve())


def _agreement(door: Door, case: Case, world: Path) -> Agreement:
    try:
        told = door.ask(set_up(case, world))
    except TrotlineError as error:
        if error.hint:
            raise  # it never started
        return Agreement(case, {}, trouble=error.message)
    differences = _differences(case.want, _relative(told, world))
    return Agreement(case, told, (*differences, *_misfits(case, world)))


def _misfits(case: Case, world: Path) -> Iterator[str]:
    """Payloads that hooks were given and that are not what the schemas say."""
    raised = {
        str(body["hook_event_name"]) for body in [*case.body.get("earlier", []), case.body.get("event", {})] if body
    }
    for hook, payload in given_to_hooks(world):
        try:
            event = read_event(payload)
        except TrotlineError as error:
            yield f"the payload of {hook}: {error.message}"
            continue
        wrong = sorted(set(event.raw) & set(type(event).__struct_fields__))
        if event.wire_name not in raised:
            yield f"the payload of {hook}: {event.wire_name} instead of {', '.join(sorted(raised))}"
        elif wrong:
            yield f"the payload of {hook}: `{wrong[0]}` has the wrong type"


def _differences(want: dict[str, Any], told: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{key}: {_short(told[key])} instead of {_short(value)}"
        for key, value in want.items()
        if key in told and told[key] != value
    )


def _relative(told: dict[str, Any], world: Path) -> dict[str, Any]:
    """Paths may be given from the top of the world or whole."""
    whole = f"{world}/"
    return {
        key: [one.removeprefix(whole) if isinstance(one, str) else one for one in value]
        if isinstance(value, list)
        else value
        for key, value in told.items()
    }


def _object(line: bytes) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except ValueError:
        raise ValueError(f"its answer is not JSON: {_short(line.decode('utf-8', 'replace'))}") from None
    if not isinstance(body, dict):
        raise ValueError("its answer is not an object")  # noqa: TRY004 - of the engine's making, not of a caller's
    return body


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "..."
