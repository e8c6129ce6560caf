"""The detail writer: a process beside the service that writes the redacted details of calls after their replies.

It has the detail before the reply is sent. So no detail is lost if the service is killed: the writer writes what it
was sent and ends when the service is gone. If the writer dies, the service still has what was not written and sends it
to a new one. Only if both are killed at once are details lost, and then the records show that they are missing.
"""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, NoReturn

from trotline.domain.errors import describe_error
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES, Outcome
from trotline.hook.process import write_detail, write_missing_detail
from trotline.service.directory import RunDirectory, enable_watchdog

MAX_WAITING_CALLS = 1024
MAX_WAITING_BYTES = 4 * MAX_PAYLOAD_BYTES
"""Limits for waiting details. Beyond them clients go cold and write their own details."""

MAX_SILENT_CALLS = 32
"""Above this number of unacknowledged details a call reads acknowledgements; otherwise that happens between calls."""

SEND_SECONDS = 0.05
"""The maximum time that a call waits for the writer to take its detail."""

MAX_SECONDS_PER_CALL = 60.0
"""A writer that takes longer for one call hangs, and is killed."""

NICENESS = 10

MAX_CRASHES = 5
"""After this many crashes with one detail, that detail is dropped, so that it does not block others."""

QUIET_SECONDS = 0.05
"""The time between receiving a detail and writing it: calls come in groups, and writing would slow down later calls."""

SECONDS_BETWEEN_RECEIVES = 0.005
"""The pause of the receiving thread, so that it does not wake up for every call of a group."""

MAX_TRIES, SECONDS_BETWEEN_TRIES = 5, 1.0

SECONDS_TO_END = 2.0
"""The time that an ending service waits for the writer."""

PREFIX = struct.Struct("!Q")
CHUNK = 1 << 18


class DetailWriter:
    """Sends details from the service to the writer, and keeps each until it was acknowledged."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._waiting: deque[bytes] = deque()  # not acknowledged, oldest first
        self._bytes = 0  # of all of these
        self._outgoing = bytearray()  # what the writer has not received of these
        self._crashes = 0  # with the oldest of these
        self._last_acknowledged = 0.0  # time of the last acknowledgement
        self._link: socket.socket | None = None
        self._pid: int | None = None

    def begin(self) -> None:
        """Start a writer, which gets all details that are not written. If none can be started, write some here."""
        try:
            self._link, self._pid = _fork_writer(self._directory)
        except OSError as error:
            self._directory.log("no detail writer", error.strerror or "")
            self._write_here()
            return
        self._outgoing = bytearray().join(self._waiting)
        self._last_acknowledged = time.monotonic()

    def send(self, outcome: Outcome, home: str) -> None:
        """Send the detail of a call, and wait a moment until the writer has it."""
        try:
            detail = pickle.dumps((outcome, home), pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001 - nested too deeply, for example
            write_detail(outcome, home)
            return
        if not self._waiting:
            self._last_acknowledged = time.monotonic()
        was_behind = self.is_behind
        packed = PREFIX.pack(len(detail)) + detail
        self._waiting.append(packed)
        self._bytes += len(packed)
        self._outgoing += packed
        self.catch_up(reads=len(self._waiting) > MAX_SILENT_CALLS)
        if self._outgoing and not was_behind:  # else an earlier call has already waited without success
            self._wait_while(lambda: self.is_behind)

    def catch_up(self, *, reads: bool = True) -> None:
        """Send what can be sent and read acknowledgements, without waiting. Restart a dead writer."""
        if not self._exchange(reads=reads) and self._waiting:
            self.begin()
            self._exchange(reads=reads)

    def _exchange(self, *, reads: bool) -> bool:
        """Send waiting data and read acknowledgements. Return whether the writer lives.

        A stopped writer cannot be detected directly: it only stops to acknowledge.
        """
        if self._link is None:
            return False
        try:
            if self._outgoing:
                del self._outgoing[: self._link.send(self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            return self._clean_up()
        return self._read_acknowledgements(self._link) if reads else True

    def _read_acknowledgements(self, link: socket.socket) -> bool:
        """Read a byte for each written detail; the end of the stream means that the writer died."""
        try:
            acknowledged = link.recv(CHUNK)
        except BlockingIOError:
            has_time = time.monotonic() - self._last_acknowledged < MAX_SECONDS_PER_CALL + 1
            return has_time or not self._waiting or self._clean_up()
        except OSError:
            acknowledged = b""
        return self._acknowledge(acknowledged) or self._clean_up()

    def _acknowledge(self, acknowledged: bytes) -> bool:
        for _ in acknowledged:
            self._remove_oldest()
            self._last_acknowledged, self._crashes = time.monotonic(), 0
        return bool(acknowledged)

    @property
    def is_behind(self) -> bool:
        """Return whether the writer has not yet received everything."""
        return bool(self._outgoing)

    def has_capacity(self) -> bool:
        """Return whether the writer keeps up with calls."""
        return len(self._waiting) <= MAX_WAITING_CALLS and self._bytes <= MAX_WAITING_BYTES

    def wait_for_capacity(self) -> bool:
        """Give the writer a moment. Return whether it keeps up with calls again."""
        self._wait_while(lambda: not self.has_capacity())
        return self.has_capacity()

    def end(self) -> None:
        """Wait a short time until everything is written. After that, the writer goes on without the service."""
        self._wait_while(lambda: bool(self._waiting), SECONDS_TO_END)
        if self._link is not None:
            self._link.close()
            self._link = None
            if not self._waiting:
                self._kill_writer()

    def _wait_while(self, condition: Callable[[], bool], seconds: float = SEND_SECONDS) -> None:
        """Exchange with the writer while a condition holds, for at most this many seconds."""
        until = time.monotonic() + seconds
        while condition() and (remaining := until - time.monotonic()) > 0:
            if self._link is not None:
                select.select([self._link], [self._link] if self._outgoing else [], [], min(remaining, SEND_SECONDS))
            self.catch_up()

    def _write_here(self) -> None:
        """Write a few details in this process; the next call writes the next few."""
        self._outgoing.clear()
        for _ in range(min(MAX_SILENT_CALLS, len(self._waiting))):
            write_detail(*_unpack(self._waiting[0]))
            self._remove_oldest()

    def _remove_oldest(self) -> bytes:
        packed = self._waiting.popleft()
        self._bytes -= len(packed)
        return packed

    def _kill_writer(self) -> None:
        if self._pid is not None:
            _kill_and_reap(self._pid)
            self._pid = None

    def _clean_up(self) -> Literal[False]:
        """Clean up after a dead writer. Its last acknowledgements count; the next detail may have crashed it."""
        if self._link is not None:
            with contextlib.suppress(OSError):
                while self._acknowledge(self._link.recv(CHUNK)):
                    pass
            self._link.close()
            self._link = None
        self._kill_writer()
        self._directory.log("detail writer died", f"the details of {len(self._waiting)} calls are not written yet")
        self._crashes += bool(self._waiting)
        if self._crashes >= MAX_CRASHES:
            outcome, home = _unpack(self._remove_oldest())
            write_missing_detail(outcome, home, "the detail writer crashed on it")
            self._crashes = 0
        self._outgoing.clear()
        return False


def _fork_writer(directory: RunDirectory) -> tuple[socket.socket, int]:
    """Return our end of the link to a new writer, and its process."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            raise
        if not pid:
            _run_writer(theirs, directory)
    ours.setblocking(False)
    return ours, pid


def _kill_and_reap(pid: int) -> None:
    """Kill a writer, even a stopped one, which would not notice that the link was closed."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _unpack(packed: bytes) -> tuple[Outcome, str]:
    detail: tuple[Outcome, str] = pickle.loads(memoryview(packed)[PREFIX.size :])  # noqa: S301 - packed by us
    return detail


# The side of the writer


def _run_writer(link: socket.socket, directory: RunDirectory) -> NoReturn:
    """Write details until the service is gone, then exit."""
    code = 1
    try:
        _detach(link)
        enable_watchdog(directory)
        for packed in _receive_details(link):
            signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS_PER_CALL)
            _write_with_retries(packed, directory)
            signal.setitimer(signal.ITIMER_REAL, 0)
            with contextlib.suppress(OSError):  # the service is gone
                link.send(b".")
        code = 0
    except BaseException as error:  # noqa: BLE001 - this process must never continue as a service
        directory.log("detail writer broke", describe_error(error))
    os._exit(code)


def _detach(link: socket.socket) -> None:
    """Leave the session of the service, and close its lock and its socket, which must end with it."""
    os.setsid()
    os.nice(NICENESS)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are wanted
        if int(name) > 2 and int(name) != link.fileno():
            with contextlib.suppress(OSError):  # the directory itself, closed by now
                os.close(int(name))


def _write_with_retries(packed: bytes, directory: RunDirectory) -> None:
    """Write a detail. Retry, because a full disk may soon have space again."""
    outcome, home = _unpack(packed)
    for attempt in range(MAX_TRIES):
        if attempt:
            time.sleep(SECONDS_BETWEEN_TRIES)
        why = write_detail(outcome, home)
        if not why:
            return
    directory.log("not written", f"the detail of a call: {why}")


class _Inbox:
    """Received details. A thread receives while others are written: the link holds little, and the service must not
    wait."""

    def __init__(self, link: socket.socket) -> None:
        self.details: deque[bytes] = deque()
        self.is_open = True
        self.received = threading.Event()
        self._link = link
        self._data = bytearray()

    def receive_all(self) -> None:
        """Receive until the service is gone. It pauses after each group instead of waking up for every call."""
        while chunk := self._receive():
            self._data += chunk
            self._split_details()
            if not self._data:
                self.received.set()
                time.sleep(SECONDS_BETWEEN_RECEIVES)
        self.is_open = False
        self.received.set()

    def _receive(self) -> bytes:
        try:
            return self._link.recv(CHUNK)
        except OSError:
            return b""

    def _split_details(self) -> None:
        while len(self._data) >= PREFIX.size:
            end = PREFIX.size + PREFIX.unpack_from(self._data)[0]
            if len(self._data) < end:
                return
            self.details.append(bytes(self._data[:end]))
            del self._data[:end]


def _receive_details(link: socket.socket) -> Iterator[bytes]:
    """Yield details until the service is gone."""
    inbox = _Inbox(link)
    threading.Thread(target=inbox.receive_all, daemon=True).start()
    while inbox.is_open or inbox.details:
        inbox.received.wait()
        inbox.received.clear()
        if inbox.is_open:
            time.sleep(QUIET_SECONDS)
        while inbox.details:
            yield inbox.details.popleft()
