"""The warm service: it reads a call, answers it, and waits for the next. One call at a time, in one thread.

A judgement in a process of its own is alone with its globals, its signals and its working directory, and one at a time
keeps that true here. There is no queue to manage: whoever is not taken soon goes cold by itself. A judgement that hangs
is ended by the kernel's timer, together with the service; its client goes cold, and so does everybody else's until
somebody has started a new one. Nothing here is worth saving: what must last is in the spool, or with the scribe, before
the answer is sent.
"""

import contextlib
import faulthandler
import gc
import json
import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

import trotline.guarding  # noqa: F401 - what a cold call reads when it needs it is read before the first call
from trotline.config.places import Roots
from trotline.guards import guards
from trotline.hosts import HOSTS, host_named
from trotline.machine import clock
from trotline.outcomes import MOST_PAYLOAD
from trotline.outward import Sender
from trotline.program import answered, words_of
from trotline.service.directory import ENVIRONMENT, RunDirectory, open_log, roots_of
from trotline.service.peer import has_hung_up, peer_uid
from trotline.service.reply import Reply, reply_of
from trotline.service.scribe import Scribe
from trotline.service.tending import Tender
from trotline.service.watch import Watch
from trotline.service.wire import (
    BUSY,
    COLD,
    PREFIX,
    TAKEN,
    Header,
    announced,
    packed_answer,
    packed_greeting,
)

IDLE = 15 * 60.0
"""Seconds without a call after which the service ends."""

SECONDS_BETWEEN_LOOKS = 20.0
"""How often it is looked, while nobody calls, whether anybody could: a home may be removed, and a socket too."""

CALLS_ARE_LIKELY = 60.0
SECONDS_BETWEEN_LOOKS_AHEAD = 0.4
"""For so long after a call our code is looked at so often, which is a little more than the next call would want."""

LONGEST = 3.0
"""Seconds after which a call hangs. Its client has been gone for two of them, and so is everybody who came after it."""

MOST_CALLERS = 64
MOST_PENDING = 2 * MOST_PAYLOAD
"""Connections, and bytes of announced payloads: beyond, a caller is told to go cold."""

SECONDS_FOR_THE_SCRIBE = 0.002
"""How long it is waited for, while nobody calls, before it is given more of what it cannot take at once."""

MOST_GARBAGE = 50_000
"""New objects that are let lie before somebody waits for them to be looked through: between calls there is time."""

WAITING = 128  # connections that the kernel keeps for us before it refuses them
PIECE = 1 << 18
SECONDS_TO_SEND = 1.0


class Ended(Exception):  # noqa: N818 - it is how a service ends, not an error
    """Why the service is over."""


class Caller:
    """One connection, and what has come over it so far."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.data = bytearray()
        self.payload = 0  # bytes that it has announced
        self.waits = False  # in the selector
        self.is_outdated: bool | None = None  # whether what we know has changed, if that was just looked at


class Service:
    """Everything between a listening socket and `answered`."""

    def __init__(self, roots: Roots, watch: Watch, uid: int) -> None:
        self.directory = RunDirectory(roots.state / "run")
        self.counts = dict.fromkeys(("answered", "cold", "busy", "strangers"), 0)
        self._roots = roots
        self._watch = watch
        self._uid = uid
        self._digest = watch.digest.encode()
        self._code = str(Path(__file__).resolve().parent)
        self._code_identity = _identity(self._code)
        self._homes: dict[str, bool] = {}
        self._selector = selectors.DefaultSelector()
        self._callers: set[Caller] = set()
        self._begun = time.monotonic()
        self._scribe = Scribe(self.directory)
        self.tender = Tender(roots)
        self._sender = Sender(roots)

    def serve(self, listener: socket.socket, idle: float) -> str:
        """Until nobody calls any more, or what we know is no longer true; the sentence says which."""
        self._scribe.begin()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        ours = _inode(self.directory.socket)
        called = time.monotonic()
        try:
            while True:
                ready = self._wait(called, idle)
                if ready:
                    called = time.monotonic()
                elif _inode(self.directory.socket) != ours:
                    return "nobody can reach it"
                elif idle and time.monotonic() - called >= idle and not self._callers:
                    return "nobody called"
                for key, _ in ready:
                    self._accept(listener) if key.data is None else self._feed(key.data)
        except Ended as ended:
            return str(ended)
        finally:
            if _inode(self.directory.socket) == ours:
                self.directory.socket.unlink(missing_ok=True)
            listener.close()
            for caller in list(self._callers):
                self._leave(caller)
            self._selector.close()
            self._scribe.end()

    def _wait(self, called: float, idle: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Who has something to say; nobody, after a while, and then there is time to look at our code."""
        while self._scribe.lags:
            ready = self._selector.select(SECONDS_FOR_THE_SCRIBE)
            if ready:
                return ready
            self._scribe.catch_up()
        likely = time.monotonic() - called < CALLS_ARE_LIKELY
        pause = SECONDS_BETWEEN_LOOKS_AHEAD if likely else SECONDS_BETWEEN_LOOKS
        ready = self._selector.select(min(pause, idle or pause))
        if not ready:
            self._scribe.catch_up()
        if likely and not ready:
            self._watch.look()
            gc.collect()
        elif not ready and not self._callers:
            self.tender.set_off()
        if self._sender.is_wanted and not ready and not self._callers and not self.tender.is_at_it:
            self._sender.set_off(clock())
        return ready

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # it has hung up already
        except OSError as error:
            raise Ended(f"no more connections: {error.strerror}") from None
        if peer_uid(connection) != self._uid:
            self.counts["strangers"] += 1
            self.directory.log("refused", f"a caller of user {peer_uid(connection)}")
            connection.close()
            return
        caller = Caller(connection)
        if len(self._callers) >= MOST_CALLERS:
            self._send_away(caller, BUSY)
        else:
            self._callers.add(caller)
            caller.is_outdated = self._watch.changed()  # while it still writes
            self._feed(caller)  # most calls have come by now, and need no place in the selector

    def _wait_for(self, caller: Caller) -> None:
        caller.is_outdated = None
        if not caller.waits:
            caller.waits = True
            self._selector.register(caller.connection, selectors.EVENT_READ, caller)

    def _feed(self, caller: Caller) -> None:
        """Take what has come; answer when it is all there."""
        try:
            piece = caller.connection.recv(PIECE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            self._wait_for(caller)
            return
        except OSError:
            piece = b""
        if not piece:
            self._leave(caller)
            return
        caller.data += piece
        if len(caller.data) < PREFIX.size:
            self._wait_for(caller)
            return
        sizes = announced(caller.data)
        if sizes is None:
            self._send_away(caller, COLD)
            return
        caller.payload = sizes.payload
        if sum(other.payload for other in self._callers) > MOST_PENDING:
            self._send_away(caller, BUSY)
        elif len(caller.data) >= sizes.all:
            view = memoryview(caller.data)
            head, rest = PREFIX.size, PREFIX.size + sizes.header
            self._hear(caller, bytes(view[head:rest]), bytes(view[rest : sizes.all]))
        else:
            self._wait_for(caller)

    def _hear(self, caller: Caller, head: bytes, payload: bytes) -> None:
        if has_hung_up(caller.connection):
            self._leave(caller)
            return
        try:
            header = msgspec.json.decode(head, type=Header)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._send_away(caller, COLD)
            return
        if header.ask:
            self._take(caller, self._status)
        elif self._watch.changed() if caller.is_outdated is None else caller.is_outdated:
            self._send_away(caller, COLD)
            raise Ended("code or configuration has changed")
        elif not self._scribe.has_room():
            self._send_away(caller, BUSY)
        elif self._is_ours(header):
            self.counts["answered"] += 1
            self._answer(caller, header, payload)
        else:
            self._send_away(caller, COLD)

    def _is_ours(self, header: Header) -> bool:
        """The same code, the same home, the same directory as the client sees: else a cold answer may be another."""
        if (header.code, header.code_identity) != (self._code, self._code_identity):
            return False
        return _identity(header.cwd) == header.cwd_identity and self._is_our_home(words_of(header.argv).home)

    def _is_our_home(self, home: str) -> bool:
        if home not in self._homes:
            self._homes[home] = roots_of(home).home == self._roots.home
        return self._homes[home]

    def _answer(self, caller: Caller, header: Header, payload: bytes) -> None:
        def judge() -> Reply:
            sent, outcome = answered(header.call(payload), [], guarded=True)
            self._scribe.hand_over(outcome, words_of(header.argv).home)
            return reply_of(sent)

        self._take(caller, judge)

    def _take(self, caller: Caller, judge: Callable[[], Reply]) -> None:
        """Judge within the time that the kernel gives us, and say so."""
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        reply = judge()
        signal.setitimer(signal.ITIMER_REAL, 0)
        data = packed_greeting(TAKEN, self._digest) + packed_answer(reply)
        with contextlib.suppress(OSError):  # the caller is gone, and has its answer from elsewhere
            sent = caller.connection.send(data, socket.MSG_DONTWAIT)
            if sent < len(data):
                caller.connection.settimeout(SECONDS_TO_SEND)
                caller.connection.sendall(data[sent:])
        self._leave(caller)

    def _status(self) -> Reply:
        facts = {**self.counts, "up_seconds": int(time.monotonic() - self._begun)}
        return Reply(0, json.dumps(facts).encode(), b"")

    def _send_away(self, caller: Caller, word: bytes) -> None:
        self.counts["busy" if word == BUSY else "cold"] += 1
        with contextlib.suppress(OSError):
            caller.connection.send(packed_greeting(word, self._digest), socket.MSG_DONTWAIT)
        self._leave(caller)

    def _leave(self, caller: Caller) -> None:
        self._callers.discard(caller)
        if caller.waits:
            self._selector.unregister(caller.connection)
        caller.connection.close()


def listening(path: Path) -> socket.socket:
    """A socket of that name; what somebody left there is taken away."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(WAITING)
    return listener


def _identity(directory: str) -> tuple[int, int] | None:
    try:
        status = os.stat(directory)  # noqa: PTH116 - for every call
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _is_limited() -> bool:
    """Whether somebody allowed us less than our files need: records that a new process could write would be lost."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return most != resource.RLIM_INFINITY


def run(roots: Roots, watch: Watch, idle: float = IDLE) -> str:
    """Serve this home until it is over. The caller holds the lock; the watch was made before our code was read."""
    directory = RunDirectory(roots.state / "run")
    os.umask(0o077)
    os.chdir("/")
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    directory.trim_log()
    if _is_limited():
        directory.log("not started", "whoever started it limits the size of files")
        return "limited"
    log = open_log(directory.log_file)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.register(signal.SIGALRM, file=log, all_threads=False, chain=True)  # where it hung, then the end
    for name in HOSTS:
        host_named(name)
    guards()
    gc.collect()
    gc.freeze()
    gc.set_threshold(MOST_GARBAGE)
    service = Service(roots, watch, os.getuid())
    directory.log("started", f"digest {watch.digest}")  # before anybody can reach it: who does finds the line
    try:
        why = service.serve(listening(directory.socket), idle)
    finally:
        faulthandler.unregister(signal.SIGALRM)
        os.close(log)
    directory.log("ended", f"{why}; {service.counts['answered']} calls answered")
    return why
