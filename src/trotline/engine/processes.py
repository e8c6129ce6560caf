"""Many processes at once, one poll loop, a deadline and a cap for each. A process that misbehaves is a value.

Nothing here knows what a hook is or what its output means. The order of the results is the order of the jobs.
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

from trotline.engine import survivors
from trotline.engine.feed import Feed
from trotline.engine.launch import COOKIE

MOST_STDOUT = 4_000_000
MOST_STDERR = 256_000
CHUNK = 262_144
REAP_SECONDS = 2.0
LONGEST_WAIT = 60.0
WITHOUT_PIDFD = 0.01
"""How long to wait between looks at children where the kernel cannot tell us that one has ended."""

NO_MORE = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}
"""Errors that pass when other processes end."""


class Job(msgspec.Struct, frozen=True):
    """What to start, where, with what, and for how long at most; by its cookie it is found again, and all it began."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    seconds: float
    cookie: str
    fallback: tuple[str, ...] = ()  # when the kernel cannot start argv itself: a script without a first line


class Stopped(StrEnum):
    """Why a process was ended by us, or never began."""

    NO = ""
    TIME = "timed out"
    OUTPUT = "too much output"
    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    NOT_STARTED = "could not be started"


class Ended(msgspec.Struct, kw_only=True):
    """How a process ended and what it left; a negative exit code is a signal."""

    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    micros: int = 0
    stopped: Stopped = Stopped.NO
    detail: str = ""
    left_behind: bool = False  # a child of it is still there, and was let live
    cut: bool = False  # stderr was longer than what is kept


def run_all(jobs: Sequence[Job], payload: bytes) -> list[Ended]:
    """Start every job at once and wait for all of them."""
    with Feed(payload) as feed:
        loop = _Loop(feed)
        waiting = deque(enumerate(jobs))
        try:
            while waiting or loop.running:
                loop.start_what_can_be(waiting)
                loop.turn()
        except BaseException:  # interrupted, perhaps in the middle of starting one: the cookies know them all
            loop.kill_everyone()
            survivors.kill_all(*(f"{COOKIE}={job.cookie}" for job in jobs))
            raise
    survivors.kill_all(*loop.killed, newer_than=min(loop.killed.values(), default=0))
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
    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.poll = select.poll()
        self.running: dict[int, _Child] = {}
        self.by_descriptor: dict[int, _Child] = {}
        self.ended: dict[int, Ended] = {}
        self.killed: dict[str, int] = {}  # cookie -> the pid it began with

    def start_what_can_be(self, waiting: deque[tuple[int, Job]]) -> None:
        while waiting:
            index, job = waiting[0]
            try:
                self._start(index, job)
            except OSError as error:
                if error.errno in NO_MORE and self.running:
                    return
                self.ended[index] = _never_began(error, job)
            except ValueError as error:  # a command that no process can be given, such as one with a NUL in it
                self.ended[index] = Ended(stopped=Stopped.NOT_STARTED, detail=str(error))
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
        """Wait until something happens, and deal with it."""
        for descriptor, _ in self.poll.poll(self._patience()):
            child = self.by_descriptor.get(descriptor)
            if child is None:
                continue
            if descriptor == child.pidfd:
                self._end(child, Stopped.NO)
            elif not self._read(child, descriptor):
                self._end(child, Stopped.OUTPUT)
        now = time.monotonic()
        for child in list(self.running.values()):
            if child.pidfd < 0 and child.process.poll() is not None:
                self._end(child, Stopped.NO)
            elif now >= child.deadline:
                self._end(child, Stopped.TIME)

    def _patience(self) -> int:
        soonest = min((child.deadline for child in self.running.values()), default=0.0)
        patience = min(LONGEST_WAIT, max(0.0, soonest - time.monotonic()))
        if any(child.pidfd < 0 for child in self.running.values()):
            patience = min(patience, WITHOUT_PIDFD)
        return int(patience * 1000) + 1 if self.running else 0

    def _read(self, child: _Child, descriptor: int) -> bool:
        """One read; False when the process has said more than anybody will listen to."""
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
            return child.sizes[descriptor] <= MOST_STDOUT
        if child.sizes[descriptor] <= MOST_STDERR + len(data):
            child.stderr.append(data)
        return True

    def _forget(self, descriptor: int) -> None:
        if self.by_descriptor.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def _end(self, child: _Child, stopped: Stopped) -> None:
        """The process is over, or is to be: take what is in its pipes, kill its group before it is reaped."""
        if stopped is Stopped.NO and not self._drain(child):
            stopped = Stopped.OUTPUT
        if stopped is not Stopped.NO:
            _kill_group(child.process.pid)
        micros = int((time.monotonic() - child.started) * 1_000_000)
        exit_code = _reaped(child.process)
        if stopped is not Stopped.NO:
            self.killed[f"{COOKIE}={child.job.cookie}"] = child.process.pid
        for descriptor in (child.out, child.err, child.pidfd):
            self._forget(descriptor)
            if descriptor >= 0:
                os.close(descriptor)
        del self.running[child.index]
        self.ended[child.index] = Ended(
            exit_code=exit_code,
            stdout=b"".join(child.stdout) if stopped is Stopped.NO else b"",
            stderr=b"".join(child.stderr)[:MOST_STDERR],
            micros=micros,
            stopped=stopped,
            left_behind=stopped is Stopped.NO and _group_lives(child.process.pid),
            cut=child.sizes[child.err] > MOST_STDERR,
        )

    def _drain(self, child: _Child) -> bool:
        """What a dead process wrote is in its pipes; a child of it may write on, so only what is there now is read."""
        for descriptor in (child.out, child.err):
            waiting = _unread(descriptor)
            until = child.sizes[descriptor] + waiting
            while descriptor in self.by_descriptor and child.sizes[descriptor] < until:
                if not self._read(child, descriptor):
                    return False
        return True

    def kill_everyone(self) -> None:
        for child in list(self.running.values()):
            self._end(child, Stopped.TIME)


def _spawn(job: Job, stdin: int, out: int, err: int) -> subprocess.Popen[bytes]:
    try:
        return _popen(job.argv, job, stdin, out, err)
    except OSError as error:
        if error.errno == errno.ENOEXEC and job.fallback:
            return _popen(job.fallback, job, stdin, out, err)
        raise


def _popen(argv: Sequence[str], job: Job, stdin: int, out: int, err: int) -> subprocess.Popen[bytes]:
    """No preexec_fn and no new session: both would cost the vfork path, which is what makes this quick."""
    env = {**job.env, COOKIE: job.cookie}
    return subprocess.Popen(  # noqa: S603 - the configured command is what is to be run
        argv, stdin=stdin, stdout=out, stderr=err, cwd=job.cwd, env=env, process_group=0
    )


def _pidfd(pid: int) -> int:
    """-1 where the kernel, or whoever fences us in, has none; then we look instead of being told."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _reaped(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code; None when nobody can tell: the process does not end even when killed, such as one that waits for
    a dead disk, or this program ignores SIGCHLD, and the kernel throws exit codes away."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        return None
    try:
        return process.wait(REAP_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _unread(descriptor: int) -> int:
    """How many bytes wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _kill_group(pid: int) -> None:
    """The group, and the process itself, which may have left it."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _group_lives(pid: int) -> bool:
    """Whether anyone of a reaped leader's group is still there."""
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _never_began(error: OSError, job: Job) -> Ended:
    kinds = {errno.ENOENT: Stopped.NOT_FOUND, errno.EACCES: Stopped.NOT_EXECUTABLE, errno.ENOTDIR: Stopped.NOT_FOUND}
    what = error.filename or job.argv[0]
    reason = (error.strerror or str(error)).lower()
    return Ended(stopped=kinds.get(error.errno or 0, Stopped.NOT_STARTED), detail=f"{what}: {reason}")
