"""Run many processes at once in one poll loop, each with a deadline and an output limit.

This module knows nothing about hooks or the meaning of their output. A process that fails is a value. Results are in
the order of the jobs.
"""

import contextlib
import errno
import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections import deque
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trotline.domain.errors import describe_os_error
from trotline.engine import survivors
from trotline.engine.hook_command import RUN_VARIABLE
from trotline.engine.hook_input import HookInput

MAX_STDOUT_BYTES = 4_000_000
MAX_STDERR_BYTES = 256_000
CHUNK = 262_144
REAP_SECONDS = 2.0
MAX_WAIT_SECONDS = 60.0
WITHOUT_PIDFD = 0.01
"""Seconds between checks of children where the kernel has no pidfd to report their end."""

NO_MORE = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}
"""Errors that may go away when other processes end."""


class Job(msgspec.Struct, frozen=True):
    """A process to start. The cookie in its environment identifies it and all processes that it starts."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    seconds: float
    cookie: str
    fallback: tuple[str, ...] = ()  # used if the kernel cannot run argv, such as a script without a `#!` line


class StopReason(StrEnum):
    """The reason why a process was killed or could not be started."""

    NO = ""
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
    stopped: StopReason = StopReason.NO
    detail: str = ""
    left_behind: bool = False  # a child of it still runs and was not killed
    cut: bool = False  # stderr was longer than the limit


def run_all(jobs: Sequence[Job], payload: bytes) -> list[ProcessResult]:
    """Start every job at once and wait for all of them."""
    with HookInput(payload) as feed:
        loop = _Loop(feed)
        waiting = deque(enumerate(jobs))
        try:
            while waiting or loop.running:
                loop.start_what_can_be(waiting)
                loop.turn()
        except BaseException:  # perhaps while a process was starting: the cookies find all of them
            loop.kill_everyone()
            survivors.kill_survivors(*(f"{RUN_VARIABLE}={job.cookie}" for job in jobs))
            raise
    survivors.kill_survivors(*loop.killed, newer_than=min(loop.killed.values(), default=0))
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


class _Loop:
    def __init__(self, feed: HookInput) -> None:
        self.feed = feed
        self.poll = select.poll()
        self.running: dict[int, _Child] = {}
        self.by_descriptor: dict[int, _Child] = {}
        self.ended: dict[int, ProcessResult] = {}
        self.killed: dict[str, int] = {}  # cookie -> pid of the first process

    def start_what_can_be(self, waiting: deque[tuple[int, Job]]) -> None:
        while waiting:
            index, job = waiting[0]
            try:
                self._start(index, job)
            except OSError as error:
                if error.errno in NO_MORE and self.running:
                    return
                self.ended[index] = _never_began(error, job)
            except ValueError as error:  # an invalid command, such as one with a NUL byte
                self.ended[index] = ProcessResult(stopped=StopReason.NOT_STARTED, detail=str(error))
            waiting.popleft()

    def _start(self, index: int, job: Job) -> None:
        descriptors: list[int] = []
        try:
            descriptors.append(self.feed.open())
            descriptors.extend(os.pipe())
            descriptors.extend(os.pipe())
            stdin, out, out_writer, err, err_writer = descriptors
            started = time.monotonic()
            process = _spawn(job, stdin, out_writer, err_writer)
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
            pidfd=_pidfd(process.pid),
            started=started,
            deadline=started + job.seconds,
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

    def turn(self) -> None:
        """Wait for the next output, exit or deadline, and handle it."""
        for descriptor, _ in self.poll.poll(self._patience()):
            child = self.by_descriptor.get(descriptor)
            if child is None:
                continue
            if descriptor == child.pidfd:
                self._end(child, StopReason.NO)
            elif not self._read(child, descriptor):
                self._end(child, StopReason.OUTPUT)
        now = time.monotonic()
        for child in list(self.running.values()):
            if child.pidfd < 0 and child.process.poll() is not None:
                self._end(child, StopReason.NO)
            elif now >= child.deadline:
                self._end(child, StopReason.TIME)

    def _patience(self) -> int:
        soonest = min((child.deadline for child in self.running.values()), default=0.0)
        patience = min(MAX_WAIT_SECONDS, max(0.0, soonest - time.monotonic()))
        if any(child.pidfd < 0 for child in self.running.values()):
            patience = min(patience, WITHOUT_PIDFD)
        return int(patience * 1000) + 1 if self.running else 0

    def _read(self, child: _Child, descriptor: int) -> bool:
        """Read once. Return False if the process wrote more than the limit."""
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return True
        if not data:
            self._forget(descriptor)
            return True
        child.sizes[descriptor] += len(data)
        if descriptor == child.out:
            child.stdout.append(data)
            return child.sizes[descriptor] <= MAX_STDOUT_BYTES
        if child.sizes[descriptor] <= MAX_STDERR_BYTES + len(data):
            child.stderr.append(data)
        return True

    def _forget(self, descriptor: int) -> None:
        if self.by_descriptor.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def _end(self, child: _Child, stopped: StopReason) -> None:
        """Store the result of a process. Its pipes are drained first, and its group is killed before it is reaped."""
        if stopped is StopReason.NO and not self._drain(child):
            stopped = StopReason.OUTPUT
        if stopped is not StopReason.NO:
            _kill_group(child.process.pid)
        micros = int((time.monotonic() - child.started) * 1_000_000)
        exit_code = _reap(child.process)
        if stopped is not StopReason.NO:
            self.killed[f"{RUN_VARIABLE}={child.job.cookie}"] = child.process.pid
        for descriptor in (child.out, child.err, child.pidfd):
            self._forget(descriptor)
            if descriptor >= 0:
                os.close(descriptor)
        del self.running[child.index]
        self.ended[child.index] = ProcessResult(
            exit_code=exit_code,
            stdout=b"".join(child.stdout) if stopped is StopReason.NO else b"",
            stderr=b"".join(child.stderr)[:MAX_STDERR_BYTES],
            micros=micros,
            stopped=stopped,
            left_behind=stopped is StopReason.NO and _group_lives(child.process.pid),
            cut=child.sizes[child.err] > MAX_STDERR_BYTES,
        )

    def _drain(self, child: _Child) -> bool:
        """Read what an ended process left in its pipes. Its children may still write, so no more than that is read."""
        for descriptor in (child.out, child.err):
            waiting = _unread(descriptor)
            until = child.sizes[descriptor] + waiting
            while descriptor in self.by_descriptor and child.sizes[descriptor] < until:
                if not self._read(child, descriptor):
                    return False
        return True

    def kill_everyone(self) -> None:
        for child in list(self.running.values()):
            self._end(child, StopReason.TIME)


def _spawn(job: Job, stdin: int, out: int, err: int) -> subprocess.Popen[bytes]:
    try:
        return _popen(job.argv, job, stdin, out, err)
    except OSError as error:
        if error.errno == errno.ENOEXEC and job.fallback:
            return _popen(job.fallback, job, stdin, out, err)
        raise


def _popen(argv: Sequence[str], job: Job, stdin: int, out: int, err: int) -> subprocess.Popen[bytes]:
    """Start a process without preexec_fn or a new session: either would disable vfork, which is much faster."""
    env = {**job.env, RUN_VARIABLE: job.cookie}
    return subprocess.Popen(  # noqa: S603 - it runs the configured command
        argv, stdin=stdin, stdout=out, stderr=err, cwd=job.cwd, env=env, process_group=0
    )


def _pidfd(pid: int) -> int:
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


def _unread(descriptor: int) -> int:
    """Return the number of unread bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _kill_group(pid: int) -> None:
    """Kill the group, and the process itself, which may have left it."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _group_lives(pid: int) -> bool:
    """Return whether the group of a reaped leader still has a process."""
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _never_began(error: OSError, job: Job) -> ProcessResult:
    kinds = {
        errno.ENOENT: StopReason.NOT_FOUND,
        errno.EACCES: StopReason.NOT_EXECUTABLE,
        errno.ENOTDIR: StopReason.NOT_FOUND,
    }
    what = error.filename or job.argv[0]
    reason = describe_os_error(error)
    return ProcessResult(stopped=kinds.get(error.errno or 0, StopReason.NOT_STARTED), detail=f"{what}: {reason}")
