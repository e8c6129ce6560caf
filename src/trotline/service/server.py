"""The warm service: read a call, answer it, wait for the next. One call at a time, in one thread.

One at a time, because an evaluation expects to be alone with its globals, its signals and its working directory. There
is no queue: a client that waits too long answers its call cold. An evaluation that hangs is ended by the kernel's
timer, together with the service; clients go cold until one of them has started a new service. The service keeps nothing
that must survive it: records are in the spool, and details with the detail writer, before the reply is sent.
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
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

import trotline.evaluation.machine_panel  # noqa: F401 - loaded before the first call needs it
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import AgentReply
from trotline.config.paths import Roots
from trotline.delivery.delivery_process import DeliveryStarter
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES
from trotline.guards import load_guards
from trotline.hook.process import handle_call, parse_arguments
from trotline.machine import read_clock
from trotline.service.detail_writer import DetailWriter
from trotline.service.directory import ENVIRONMENT, RunDirectory, get_service_roots, open_log
from trotline.service.maintenance import Maintenance
from trotline.service.watch import CodeWatch
from trotline.service.wire import BUSY, COLD, PREFIX, TAKEN, CallHeader, encode_answer, encode_greeting, read_sizes

DEFAULT_IDLE_SECONDS = 15 * 60.0
"""A service that gets no call for this time ends."""

SECONDS_BETWEEN_CHECKS = 20.0
"""The interval in which an idle service checks that its socket can still be reached."""

LIKELY_CALL_SECONDS = 60.0
"""The time after a call in which another one is likely. The code is checked meanwhile, so that no call waits for it."""

SECONDS_BETWEEN_CODE_CHECKS = 0.4
"""The interval of these checks. It is shorter than the age at which a call repeats the check."""

MAX_CALL_SECONDS = 3.0
"""A call that takes longer hangs. Its client went cold two seconds ago."""

MAX_CONNECTIONS = 64
MAX_PENDING_BYTES = 2 * MAX_PAYLOAD_BYTES
"""Limits beyond which clients go cold."""

DETAIL_WRITER_SECONDS = 0.002
"""The time that the service waits for a call before it sends more to the detail writer."""

GC_THRESHOLD = 50_000
"""Allocations after which Python collects garbage during a call. Normally the service collects it between calls."""

BACKLOG = 128
CHUNK = 1 << 18
SEND_SECONDS = 1.0


class ServiceEnded(Exception):  # noqa: N818 - the normal end of a service
    """The reason why the service ends."""


class Connection:
    """A connection and what was received on it so far."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.data = bytearray()
        self.payload_bytes = 0  # as the call announces
        self.is_registered = False  # in the selector
        self.is_outdated: bool | None = None  # whether code or configuration changed, if that was just checked


class Service:
    """The loop between a listening socket and `handle_call`."""

    def __init__(self, roots: Roots, watch: CodeWatch, uid: int) -> None:
        self.directory = RunDirectory(roots.state / "run")
        self.counts = dict.fromkeys(("answered", "cold", "busy", "refused"), 0)
        self._roots = roots
        self._watch = watch
        self._uid = uid
        self._digest = watch.digest.encode()
        self._code = str(Path(__file__).resolve().parent)
        self._code_identity = _identify(self._code)
        self._homes: dict[str, bool] = {}
        self._selector = selectors.DefaultSelector()
        self._connections: set[Connection] = set()
        self._started = time.monotonic()
        self.detail_writer = DetailWriter(self.directory)
        self.maintenance = Maintenance(roots)
        self._delivery = DeliveryStarter(roots)

    def serve(self, listener: socket.socket, idle: float) -> str:
        """Serve until the service is idle or out of date. Return why it ended."""
        self.detail_writer.begin()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        inode = _get_inode(self.directory.socket)
        last_call = time.monotonic()
        try:
            while True:
                ready = self._wait(last_call, idle)
                if ready:
                    last_call = time.monotonic()
                elif _get_inode(self.directory.socket) != inode:
                    return "nobody can reach it"
                elif idle and time.monotonic() - last_call >= idle and not self._connections:
                    return "nobody called"
                for key, _ in ready:
                    self.accept(listener) if key.data is None else self._receive(key.data)
        except ServiceEnded as ended:
            return str(ended)
        finally:
            if _get_inode(self.directory.socket) == inode:
                self.directory.socket.unlink(missing_ok=True)
            listener.close()
            for connection in list(self._connections):
                self._close(connection)
            self._selector.close()
            self.detail_writer.end()

    def _wait(self, last_call: float, idle: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for connections with data and return them. If none come, do other work and return an empty list."""
        while self.detail_writer.is_behind:
            ready = self._selector.select(DETAIL_WRITER_SECONDS)
            if ready:
                return ready
            self.detail_writer.catch_up()
        is_likely = time.monotonic() - last_call < LIKELY_CALL_SECONDS
        pause = SECONDS_BETWEEN_CODE_CHECKS if is_likely else SECONDS_BETWEEN_CHECKS
        ready = self._selector.select(min(pause, idle or pause))
        if ready:
            return ready
        self.detail_writer.catch_up()
        if is_likely:
            self._watch.check_code()
            gc.collect()
        elif not self._connections:
            self.maintenance.start()
        if self._delivery.is_wanted and not self._connections and not self.maintenance.is_running:
            self._delivery.start(read_clock())
        return []

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection of this user. Most calls have arrived by now, so they are read without the selector."""
        try:
            accepted, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # the client is gone already
        except OSError as error:
            raise ServiceEnded(f"no more connections: {error.strerror}") from None
        if get_peer_uid(accepted) != self._uid:
            self.counts["refused"] += 1
            self.directory.log("refused", f"a caller of user {get_peer_uid(accepted)}")
            accepted.close()
            return
        connection = Connection(accepted)
        if len(self._connections) >= MAX_CONNECTIONS:
            self._decline(connection, BUSY)
        else:
            self._connections.add(connection)
            connection.is_outdated = self._watch.has_changed()  # while the client still writes
            self._receive(connection)

    def _await_data(self, connection: Connection) -> None:
        connection.is_outdated = None
        if not connection.is_registered:
            connection.is_registered = True
            self._selector.register(connection.connection, selectors.EVENT_READ, connection)

    def _receive(self, connection: Connection) -> None:
        """Receive the data that has arrived, and answer when the call is complete."""
        try:
            chunk = connection.connection.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            self._await_data(connection)
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._close(connection)
            return
        connection.data += chunk
        if len(connection.data) < PREFIX.size:
            self._await_data(connection)
            return
        sizes = read_sizes(connection.data)
        if sizes is None:
            self._decline(connection, COLD)
            return
        connection.payload_bytes = sizes.payload
        if sum(other.payload_bytes for other in self._connections) > MAX_PENDING_BYTES:
            self._decline(connection, BUSY)
        elif len(connection.data) < sizes.total:
            self._await_data(connection)
        else:
            view = memoryview(connection.data)
            payload_start = PREFIX.size + sizes.header
            self._handle(connection, bytes(view[PREFIX.size : payload_start]), bytes(view[payload_start : sizes.total]))

    def _handle(self, connection: Connection, head: bytes, payload: bytes) -> None:
        """Answer a complete call, or decline it."""
        if _has_hung_up(connection.connection):
            self._close(connection)
            return
        try:
            header = msgspec.json.decode(head, type=CallHeader)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._decline(connection, COLD)
            return
        outdated = connection.is_outdated
        if header.ask:
            self._reply(connection, self._describe_status)
        elif self._watch.has_changed() if outdated is None else outdated:
            self._decline(connection, COLD)
            raise ServiceEnded("code or configuration has changed")
        elif not (self.detail_writer.has_capacity() or self.detail_writer.wait_for_capacity()):
            self._decline(connection, BUSY)
        elif self._can_serve(header):
            self.counts["answered"] += 1
            self._reply(connection, lambda: self._answer(header, payload))
        else:
            self._decline(connection, COLD)

    def _can_serve(self, header: CallHeader) -> bool:
        """Return whether code, home and working directory of client and service are equal. Else answers may differ."""
        if (header.code, header.code_identity) != (self._code, self._code_identity):
            return False
        home = parse_arguments(header.argv).home
        if home not in self._homes:
            self._homes[home] = get_service_roots(home).home == self._roots.home
        return self._homes[home] and _identify(header.cwd) == header.cwd_identity

    def _answer(self, header: CallHeader, payload: bytes) -> AgentReply:
        reply, outcome = handle_call(header.build_call(payload), [], guarded=True)
        self.detail_writer.send(outcome, parse_arguments(header.argv).home)
        return reply

    def _reply(self, connection: Connection, build: Callable[[], AgentReply]) -> None:
        """Build a reply within the time limit, and send it."""
        signal.setitimer(signal.ITIMER_REAL, MAX_CALL_SECONDS)
        reply = build()
        signal.setitimer(signal.ITIMER_REAL, 0)
        data = encode_greeting(TAKEN, self._digest) + encode_answer(reply)
        with contextlib.suppress(OSError):  # the client is gone and has answered its call on the cold path
            sent = connection.connection.send(data, socket.MSG_DONTWAIT)
            if sent < len(data):
                connection.connection.settimeout(SEND_SECONDS)
                connection.connection.sendall(data[sent:])
        self._close(connection)

    def _describe_status(self) -> AgentReply:
        return AgentReply(json.dumps({**self.counts, "up_seconds": int(time.monotonic() - self._started)}))

    def _decline(self, connection: Connection, word: bytes) -> None:
        self.counts["busy" if word == BUSY else "cold"] += 1
        with contextlib.suppress(OSError):
            connection.connection.send(encode_greeting(word, self._digest), socket.MSG_DONTWAIT)
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection.is_registered:
            self._selector.unregister(connection.connection)
        connection.connection.close()


def get_peer_uid(connection: socket.socket) -> int:
    """Return the user ID of the peer, as the kernel reports it; -1 if it is unknown."""
    try:
        if sys.platform == "darwin":
            credentials = connection.getsockopt(0, 1, 8)  # LOCAL_PEERCRED: a version, the user, and more
        else:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # process, user, group
    except OSError:
        return -1
    return int.from_bytes(credentials[4:8], sys.byteorder)


def _has_hung_up(connection: socket.socket) -> bool:
    """Return whether the client gave up: it answers its call cold, and no call may be evaluated twice."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def listen(path: Path) -> socket.socket:
    """Return a listening socket at this path. An old one is replaced."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(BACKLOG)
    return listener


def _identify(directory: str) -> tuple[int, int] | None:
    try:
        status = os.stat(directory)  # noqa: PTH116 - for every call
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _get_inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _raise_file_size_limit() -> bool:
    """Raise the soft limit of file sizes to the hard limit. Return whether a limit is left."""
    hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard_limit, hard_limit))
    return hard_limit != resource.RLIM_INFINITY


def run_service(roots: Roots, watch: CodeWatch, idle: float = DEFAULT_IDLE_SECONDS) -> str:
    """Set up this process, serve the home, and return why serving ended.

    The caller holds the lock and created the watch before this code was loaded.
    """
    directory = RunDirectory(roots.state / "run")
    os.umask(0o077)
    os.chdir("/")
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    directory.rotate_log()
    if _raise_file_size_limit():  # a write beyond a limit would end the process; another launch may have none
        directory.log("not started", "whoever started it limits the size of files")
        return "limited"
    log = open_log(directory.log_file)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.register(signal.SIGALRM, file=log, all_threads=False, chain=True)  # log where it hung, then end
    for name in AGENTS:
        get_agent(name)
    load_guards()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    service = Service(roots, watch, os.getuid())
    directory.log("started", f"digest {watch.digest}")  # before a client can reach it
    try:
        why = service.serve(listen(directory.socket), idle)
    finally:
        faulthandler.unregister(signal.SIGALRM)
        os.close(log)
    directory.log("ended", f"{why}; {service.counts['answered']} calls answered")
    return why
