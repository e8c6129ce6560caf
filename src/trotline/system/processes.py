"""Run programs: many at once in one poll loop, each with a deadline and an output limit.

This module knows nothing about hooks or the meaning of their output. Failures are returned as results. Results are in
the order of the jobs. The children of a killed process are killed too.
"""

import contextlib
import errno
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
from collections import deque
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from trotline.domain.errors import describe_os_error

RUN_VARIABLE = "TROTLINE_RUN"
"""A variable of every process that Trotline starts. Processes that outlive a killed run are found by its value."""

MAX_STDOUT_BYTES = 4_000_000
MAX_STDERR_BYTES = 256_000
CHUNK = 262_144
REAP_SECONDS = 2.0
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS_WITHOUT_PIDFD = 0.01
"""Seconds between checks of children where the kernel has no pidfd to report their end."""

MAX_PIPE_BYTES = 65_536
SEALS = 0x0001 | 0x0002 | 0x0004 | 0x0008  # no more seals, no shrinking, no growing, no writing
ADD_SEALS = getattr(fcntl, "F_ADD_SEALS", 1033)

TEMPORARY_ERRORS = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}
"""Errors that may go away when other processes end."""


class Job(msgspec.Struct, frozen=True):
    """A process to start. The run ID in its environment identifies it and all processes that it starts."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    timeout: float
    run_id: str
    fallback: tuple[str, ...] = ()  # used if the kernel cannot run argv, such as a script without a `#!` line


class StopReason(StrEnum):
    """The reason why a process was killed or could not be started."""

    NONE = ""
    TIME = "timed out"
    OUTPUT = "too much output"
    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    NOT_STARTED = "could not be started"


class ProcessResult(msgspec.Struct, kw_only=True):
    """The result of a process. A negative exit code is a signal."""

    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    micros: int = 0
    stopped: StopReason = StopReason.NONE
    detail: str = ""
    left_behind: bool = False  # a child of it still runs and was not killed
    cut: bool = False  # stderr was longer than the limit


def run_program(
    argv: Sequence[str], *, env: Mapping[str, str], timeout: float, stdin: bytes = b"", cwd: str = "/"
) -> ProcessResult:
    """Run one program and wait for it. If this process belongs to a run, the program belongs to it too."""
    run_id = env.get(RUN_VARIABLE) or os.urandom(16).hex()
    return run_all((Job(tuple(argv), cwd, dict(env), timeout, run_id),), stdin)[0]


def run_all(jobs: Sequence[Job], payload: bytes) -> list[ProcessResult]:
    """Start every job at once and wait for all of them."""
    with SharedInput(payload) as shared_input:
        loop = _ProcessLoop(shared_input)
        waiting = deque(enumerate(jobs))
        try:
            while waiting or loop.running:
                loop.start_next(waiting)
                loop.handle_events()
        except BaseException:  # a process may just have been starting; it is found by its run ID
            loop.kill_all()
            kill_survivors(*(job.run_id for job in jobs))
            raise
    kill_survivors(*loop.killed, newer_than=min(loop.killed.values(), default=0))
    return [loop.ended[index] for index in range(len(jobs))]


class _Child(msgspec.Struct, kw_only=True):
    index: int
    job: Job
    process: subprocess.Popen[bytes]
    pidfd: int
    started: float
    deadline: float
    out: int
    err: int
    stdout: list[bytes]
    stderr: list[bytes]
    sizes: dict[int, int]


class _ProcessLoop:
    def __init__(self, shared_input: "SharedInput") -> None:
        self.shared_input = shared_input
        self.poll = select.poll()
        self.running: dict[int, _Child] = {}
        self.by_descriptor: dict[int, _Child] = {}
        self.ended: dict[int, ProcessResult] = {}
        self.killed: dict[str, int] = {}  # run ID -> pid of the first process

    def start_next(self, waiting: deque[tuple[int, Job]]) -> None:
        while waiting:
            index, job = waiting[0]
            try:
                self._start(index, job)
            except OSError as error:
                if error.errno in TEMPORARY_ERRORS and self.running:
                    return
                self.ended[index] = _build_start_error(error, job)
            except ValueError as error:  # an invalid command, such as one with a NUL byte
                self.ended[index] = ProcessResult(stopped=StopReason.NOT_STARTED, detail=str(error))
            waiting.popleft()

    def _start(self, index: int, job: Job) -> None:
        descriptors: list[int] = []
        try:
            descriptors.append(self.shared_input.open())
            descriptors.extend(os.pipe())
            descriptors.extend(os.pipe())
            stdin, out, out_writer, err, err_writer = descriptors
            started = time.monotonic()
            process = _start_with_fallback(job, stdin, out_writer, err_writer)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        for descriptor in (stdin, out_writer, err_writer):
            os.close(descriptor)
        child = _Child(
            index=index,
            job=job,
            process=process,
            pidfd=_open_pidfd(process.pid),
            started=started,
            deadline=started + job.timeout,
            out=out,
            err=err,
            stdout=[],
            stderr=[],
            sizes={out: 0, err: 0},
        )
        self.running[index] = child
        for descriptor in (out, err, child.pidfd):
            if descriptor >= 0:
                os.set_blocking(descriptor, False)
                self.poll.register(descriptor, select.POLLIN)
                self.by_descriptor[descriptor] = child

    def handle_events(self) -> None:
        """Wait for the next output, exit or deadline, and handle it."""
        for descriptor, _ in self.poll.poll(self._compute_wait_ms()):
            child = self.by_descriptor.get(descriptor)
            if child is None:
                continue
            if descriptor == child.pidfd:
                self._end(child, StopReason.NONE)
            elif not self._read(child, descriptor):
                self._end(child, StopReason.OUTPUT)
        now = time.monotonic()
        for child in list(self.running.values()):
            if child.pidfd < 0 and child.process.poll() is not None:
                self._end(child, StopReason.NONE)
            elif now >= child.deadline:
                self._end(child, StopReason.TIME)

    def _compute_wait_ms(self) -> int:
        soonest = min((child.deadline for child in self.running.values()), default=0.0)
        wait = min(MAX_WAIT_SECONDS, max(0.0, soonest - time.monotonic()))
        if any(child.pidfd < 0 for child in self.running.values()):
            wait = min(wait, POLL_SECONDS_WITHOUT_PIDFD)
        return int(wait * 1000) + 1 if self.running else 0

    def _read(self, child: _Child, descriptor: int) -> bool:
        """Read once. Return False if the process wrote more than the limit."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return True
        if not data:
            self._unregister(descriptor)
            return True
        child.sizes[descriptor] += len(data)
        if descriptor == child.out:
            child.stdout.append(data)
            return child.sizes[descriptor] <= MAX_STDOUT_BYTES
        if child.sizes[descriptor] <= MAX_STDERR_BYTES + len(data):
            child.stderr.append(data)
        return True

    def _unregister(self, descriptor: int) -> None:
        if self.by_descriptor.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def _end(self, child: _Child, stopped: StopReason) -> None:
        """Store the result of a process. Its pipes are drained first, and its group is killed before it is reaped."""
        if stopped is StopReason.NONE and not self._drain(child):
            stopped = StopReason.OUTPUT
        if stopped is not StopReason.NONE:
            _kill_group(child.process.pid)
        micros = int((time.monotonic() - child.started) * 1_000_000)
        exit_code = _reap(child.process)
        if stopped is not StopReason.NONE:
            self.killed[child.job.run_id] = child.process.pid
        for descriptor in (child.out, child.err, child.pidfd):
            self._unregister(descriptor)
            if descriptor >= 0:
                os.close(descriptor)
        del self.running[child.index]
        self.ended[child.index] = ProcessResult(
            exit_code=exit_code,
            stdout=b"".join(child.stdout) if stopped is StopReason.NONE else b"",
            stderr=b"".join(child.stderr)[:MAX_STDERR_BYTES],
            micros=micros,
            stopped=stopped,
            left_behind=stopped is StopReason.NONE and _is_group_alive(child.process.pid),
            cut=child.sizes[child.err] > MAX_STDERR_BYTES,
        )

    def _drain(self, child: _Child) -> bool:
        """Read what an ended process left in its pipes. Its children may still write, so no more than that is read."""
        for descriptor in (child.out, child.err):
            waiting = _count_unread_bytes(descriptor)
            until = child.sizes[descriptor] + waiting
            while descriptor in self.by_descriptor and child.sizes[descriptor] < until:
                if not self._read(child, descriptor):
                    return False
        return True

    def kill_all(self) -> None:
        for child in list(self.running.values()):
            self._end(child, StopReason.TIME)


def _start_with_fallback(job: Job, stdin: int, out: int, err: int) -> subprocess.Popen[bytes]:
    try:
        return _start_process(job.argv, job, stdin, out, err)
    except OSError as error:
        if error.errno == errno.ENOEXEC and job.fallback:
            return _start_process(job.fallback, job, stdin, out, err)
        raise


def _start_process(argv: Sequence[str], job: Job, stdin: int, out: int, err: int) -> subprocess.Popen[bytes]:
    """Start a process without preexec_fn or a new session: either would disable vfork, which is much faster."""
    env = {**job.env, RUN_VARIABLE: job.run_id}
    return subprocess.Popen(  # noqa: S603 - it runs the configured command
        argv, stdin=stdin, stdout=out, stderr=err, cwd=job.cwd, env=env, process_group=0
    )


def _open_pidfd(pid: int) -> int:
    """Return a pidfd, or -1 where the kernel or a sandbox has none; then the process is polled."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _reap(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code; None if it is unknown.

    A process that waits for a dead disk does not end even when killed. If this program ignores SIGCHLD, the kernel
    discards exit codes.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        return None
    try:
        return process.wait(REAP_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _count_unread_bytes(descriptor: int) -> int:
    """Return the number of unread bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _kill_group(pid: int) -> None:
    """Kill the group, and the process itself, which may have left it."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _is_group_alive(pid: int) -> bool:
    """Return whether the group of a reaped leader still has a process."""
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _build_start_error(error: OSError, job: Job) -> ProcessResult:
    kinds = {
        errno.ENOENT: StopReason.NOT_FOUND,
        errno.EACCES: StopReason.NOT_EXECUTABLE,
        errno.ENOTDIR: StopReason.NOT_FOUND,
    }
    detail = f"{error.filename or job.argv[0]}: {describe_os_error(error)}"
    return ProcessResult(stopped=kinds.get(error.errno or 0, StopReason.NOT_STARTED), detail=detail)


class SharedInput:
    """The standard input of several processes: the same bytes for all, which none can change for another.

    `open` returns a descriptor for each process, which the caller closes. A small payload is written to a pipe before
    the process starts, so that a process that does not read cannot block us. A larger one is in a sealed memory file
    that is opened read-only: without the seal, a hook of a project could rewrite the input of an enterprise hook. Where
    there are no memory files, unlinked temporary files are used.
    """

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            os.close(self._file)

    def open(self) -> int:
        """Return a descriptor from which the whole payload can be read once."""
        if len(self._payload) <= MAX_PIPE_BYTES:
            reader = self._fill_pipe()
            if reader is not None:
                return reader
        if not hasattr(os, "memfd_create"):
            return self._open_temporary_file()
        if self._file < 0:
            self._file = os.memfd_create("trotline-event", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            _write_all(self._file, self._payload)
            fcntl.fcntl(self._file, ADD_SEALS, SEALS)
        return os.open(f"/proc/self/fd/{self._file}", os.O_RDONLY | os.O_CLOEXEC)

    def _open_temporary_file(self) -> int:
        """Open a temporary file that is unlinked before the process starts."""
        writer, path = tempfile.mkstemp(prefix="trotline-")
        try:
            _write_all(writer, self._payload)
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            os.close(writer)
            Path(path).unlink()

    def _fill_pipe(self) -> int | None:
        """Return a pipe that holds the payload; None if it is too small, as for a user with very many pipes."""
        reader, writer = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        try:
            os.set_blocking(writer, False)
            if os.write(writer, self._payload) == len(self._payload):
                return reader
        except BlockingIOError:
            pass
        finally:
            os.close(writer)
        os.close(reader)
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


# Processes that outlive a killed run. A child that called setsid has left the process group, and one that keeps forking
# is hard to catch, so the search is repeated for a limited time until no process appears or vanishes. A process that
# cleared its environment escapes.

KILL_TIMEOUT, SEARCH_TIMEOUT = 2.0, 0.5
"""Time limits of the search after a process was killed, and before."""

QUIET_SCANS, SCAN_INTERVAL = 3, 0.002
"""The search ends after this many scans in a row that changed nothing."""


def find_processes(*run_ids: str) -> list[int]:
    """Return the processes of these runs; empty where /proc cannot be read."""
    return _find_marked_processes(_build_marks(run_ids))[0]


def kill_survivors(*run_ids: str, newer_than: int = 0) -> int:
    """Kill all processes of these runs. Return how many were killed.

    A process that is newer than the first one of the run and vanishes during a scan may have forked and exited, or be
    unrelated. Until one was killed, such processes extend the search only for a moment.
    """
    marks = _build_marks(run_ids)
    killed: set[int] = set()
    started = time.monotonic()
    quiet = 0
    while marks and quiet < QUIET_SCANS and time.monotonic() - started < (KILL_TIMEOUT if killed else SEARCH_TIMEOUT):
        found, vanished = _find_marked_processes(marks)
        killed.update(pid for pid in found if _kill(pid))
        is_moving = any(pid > newer_than for pid in vanished)
        quiet = 0 if found or is_moving else quiet + 1
        time.sleep(SCAN_INTERVAL)
    return len(killed)


def _build_marks(run_ids: Sequence[str]) -> set[bytes]:
    return {f"{RUN_VARIABLE}={run_id}".encode() for run_id in run_ids}


def _find_marked_processes(marks: set[bytes]) -> tuple[list[int], list[int]]:
    """Return the processes with a mark in their environment, newest first, and those that vanished during the scan."""
    found: list[int] = []
    vanished: list[int] = []
    for pid in sorted(_list_processes(), reverse=True):
        try:
            if not marks.isdisjoint(_read_environment(pid)):
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            vanished.append(pid)
        except OSError:
            continue
    return found, vanished


def _list_processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]  # noqa: PTH208 - faster
    except OSError:
        return []


def _read_environment(pid: int) -> list[bytes]:
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - faster
        return file.read().split(b"\0")


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
