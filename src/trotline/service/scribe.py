"""The scribe: a process beside the service that writes down what was said in calls, redacted, when nobody waits.

It has the words before the answer goes out. So a service that is killed, stopped or ended takes none of them along: the
scribe writes what it was handed, and ends when there is nobody any more who could hand it something. If it is the
scribe that dies, the service still has what was not written, and hands it to the next one. Only who ends both at once
takes words along, and then their records say that they have not come.
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

from trotline.errors import cause_of
from trotline.outcomes import MOST_PAYLOAD, Outcome
from trotline.program import forgo, remember
from trotline.service.alarm import end_loudly
from trotline.service.directory import RunDirectory

MOST_CALLS = 1024
MOST_BYTES = 4 * MOST_PAYLOAD
"""What may wait to be written down: beyond, callers are told to go cold, and write down their own."""

FEW = 32
"""Calls whose words may wait before a call listens for what is written: between calls there is time for that."""

A_MOMENT = 0.05
"""Seconds that a call waits, if need be, for the scribe to take what it is handed."""

LONGEST = 60.0
"""Seconds for the words of one call. Who takes longer hangs, and is ended."""

KINDNESS = 10
"""Whoever is waited for goes first."""

MOST_DEATHS = 5
"""Scribes that may die with the same words in hand before these are given up: others wait behind them."""

QUIET, SECONDS_BETWEEN_LOOKS = 0.05, 0.005
"""Seconds between the first words and the work, in which it is only looked for more: calls come in twos and threes, and
one that is waited for should have the machine to itself."""

TRIES, SECONDS_BETWEEN_TRIES = 5, 1.0
SECONDS_TO_END = 2.0

PREFIX = struct.Struct("!Q")
PIECE = 1 << 18


class Scribe:
    """The service's side of it: hands over words, and keeps each until it hears that it is written."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._held: deque[bytes] = deque()  # not written, as far as we have heard; the oldest first
        self._bytes = 0  # of all of these
        self._outgoing = bytearray()  # of these, what the other side has not taken yet
        self._deaths = 0  # of which the oldest may be the cause
        self._heard = 0.0
        self._link: socket.socket | None = None
        self._pid = 0

    def begin(self) -> None:
        """A new process, which is given all that is not written; if there is none to be had, it is written here."""
        try:
            self._link, self._pid = _born(self._directory)
        except OSError as error:
            self._directory.log("no scribe", error.strerror or "")
            self._write_here()
            return
        self._outgoing = bytearray().join(self._held)
        self._heard = time.monotonic()

    def hand_over(self, outcome: Outcome, home: str) -> None:
        try:
            words = pickle.dumps((outcome, home), pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001 - what is nested too deep, for one, can be handed to nobody
            remember(outcome, home)
            return
        if not self._held:
            self._heard = time.monotonic()
        lagged = self.lags
        packed = PREFIX.pack(len(words)) + words
        self._held.append(packed)
        self._bytes += len(packed)
        self._outgoing += packed
        self.catch_up(listens=len(self._held) > FEW)
        if not lagged:  # else somebody has waited in vain
            self._wait_while(lambda: self.lags)

    def catch_up(self, *, listens: bool = True) -> None:
        """Give what can be taken, and hear what is written; without waiting for either."""
        if not self._exchange(listens=listens) and self._held:
            self.begin()
            self._exchange(listens=listens)

    def _exchange(self, *, listens: bool) -> bool:
        """Whether it lives. One that somebody stopped does not say so: it only says nothing any more."""
        if self._link is None:
            return False
        try:
            if self._outgoing:
                del self._outgoing[: self._link.send(self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            return self._bury()
        return self._hear(self._link) if listens else True

    def _hear(self, link: socket.socket) -> bool:
        """A byte for each that is written; the end, if it died."""
        try:
            said = link.recv(PIECE)
        except BlockingIOError:
            return time.monotonic() - self._heard < LONGEST + 1 or not self._held or self._bury()
        except OSError:
            said = b""
        return self._note(said) or self._bury()

    def _note(self, said: bytes) -> bool:
        for _ in said:
            self._written()
            self._heard, self._deaths = time.monotonic(), 0
        return bool(said)

    @property
    def lags(self) -> bool:
        """Whether there is something to be given to it that it could not take."""
        return bool(self._outgoing)

    def has_room(self) -> bool:
        """Whether it keeps up with calls; if not, it has a moment to."""
        self._wait_while(lambda: self._is_full)
        return not self._is_full

    def end(self) -> None:
        """When everything is written, or when that takes too long: then it goes on without us, and nobody's service has
        to wait for it."""
        self._wait_while(lambda: bool(self._held), SECONDS_TO_END)
        if self._link is not None:
            self._link.close()
            self._link = None
            if not self._held:
                _put_an_end_to(self._pid)

    @property
    def _is_full(self) -> bool:
        return len(self._held) > MOST_CALLS or self._bytes > MOST_BYTES

    def _wait_while(self, it_is_so: Callable[[], bool], seconds: float = A_MOMENT) -> None:
        """No longer than so many seconds; meanwhile it is given what it can take, and heard."""
        until = time.monotonic() + seconds if it_is_so() else 0.0
        while it_is_so() and (left := until - time.monotonic()) > 0:
            if self._link is not None:
                select.select([self._link], [self._link] if self._outgoing else [], [], min(left, A_MOMENT))
            self.catch_up()

    def _write_here(self) -> None:
        """A few, because somebody waits; the next call writes the next few."""
        self._outgoing.clear()
        for _ in range(min(FEW, len(self._held))):
            remember(*_unpacked(self._held[0]))
            self._written()

    def _written(self) -> bytes:
        """The oldest, which is kept no longer."""
        words = self._held.popleft()
        self._bytes -= len(words)
        return words

    def _bury(self) -> Literal[False]:
        """It is dead, or as good as dead. What it said last still counts; of the rest, the first may be what it died
        of."""
        if self._link is not None:
            with contextlib.suppress(OSError):
                while self._note(self._link.recv(PIECE)):
                    pass
            self._link.close()
            self._link = None
        _put_an_end_to(self._pid)
        self._directory.log("scribe died", f"of {len(self._held)} calls the words are not written yet")
        self._deaths += bool(self._held)
        if self._deaths >= MOST_DEATHS:
            outcome, home = _unpacked(self._written())
            forgo(outcome, home, "whoever tried to write it down died")
            self._deaths = 0
        self._outgoing.clear()
        return False


def _born(directory: RunDirectory) -> tuple[socket.socket, int]:
    """A scribe: our end of the link to it, and its process."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            raise
        if not pid:
            _work(theirs, directory)
    ours.setblocking(False)
    return ours, pid


def _put_an_end_to(pid: int) -> None:
    """Also to one that somebody stopped, which would never see that it is over."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _unpacked(packed: bytes) -> tuple[Outcome, str]:
    words: tuple[Outcome, str] = pickle.loads(memoryview(packed)[PREFIX.size :])  # noqa: S301 - we packed it ourselves
    return words


# The other side


def _work(link: socket.socket, directory: RunDirectory) -> NoReturn:
    """In a process that never goes back to what the service was doing."""
    code = 1
    try:
        _leave_all_but(link)
        end_loudly(directory)
        for packed in _handed_over(link):
            signal.setitimer(signal.ITIMER_REAL, LONGEST)
            _write(packed, directory)
            signal.setitimer(signal.ITIMER_REAL, 0)
            with contextlib.suppress(OSError):  # the service is gone
                link.send(b".")
        code = 0
    except BaseException as error:  # noqa: BLE001 - nobody above us may go on
        directory.log("scribe broke", cause_of(error))
    os._exit(code)


def _leave_all_but(link: socket.socket) -> None:
    """Above all the lock and the socket that listens: they are the service's, and must end with it."""
    os.setsid()  # whoever ends the service and its group leaves us alone
    os.nice(KINDNESS)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are what is wanted
        if int(name) > 2 and int(name) != link.fileno():
            with contextlib.suppress(OSError):  # the directory itself, closed by now
                os.close(int(name))


def _write(packed: bytes, directory: RunDirectory) -> None:
    """A disk that is full may have room in a moment; if not, the record will say that its words have not come."""
    outcome, home = _unpacked(packed)
    for _ in range(TRIES):
        why = remember(outcome, home)
        if not why:
            return
        time.sleep(SECONDS_BETWEEN_TRIES)
    directory.log("not written", f"the words of a call: {why}")


class _Inbox:
    """What the scribe was handed and has not written yet. It is taken while others are written: on the way there is
    room for little, and the service would have to wait."""

    def __init__(self, link: socket.socket) -> None:
        self.whole: deque[bytes] = deque()
        self.is_open = True
        self.came = threading.Event()
        self._link = link
        self._data = bytearray()

    def take_all(self) -> None:
        """Until nobody hands over anything any more. It is not woken by every call: with the next look comes more."""
        while piece := self._piece():
            self._data += piece
            self._cut()
            if not self._data:
                self.came.set()
                time.sleep(SECONDS_BETWEEN_LOOKS)
        self.is_open = False
        self.came.set()

    def _piece(self) -> bytes:
        try:
            return self._link.recv(PIECE)
        except OSError:
            return b""

    def _cut(self) -> None:
        while len(self._data) >= PREFIX.size:
            end = PREFIX.size + PREFIX.unpack_from(self._data)[0]
            if len(self._data) < end:
                return
            self.whole.append(bytes(self._data[:end]))
            del self._data[:end]


def _handed_over(link: socket.socket) -> Iterator[bytes]:
    """Words as they come, until nobody can hand over any more."""
    inbox = _Inbox(link)
    threading.Thread(target=inbox.take_all, daemon=True).start()
    while inbox.is_open or inbox.whole:
        inbox.came.wait()
        inbox.came.clear()
        if inbox.is_open:
            time.sleep(QUIET)
        while inbox.whole:
            yield inbox.whole.popleft()
