"""Bad hooks and the expected handling of each: a table, run through `trotline fire --json` only.

    python tests/faults.py          print a line per row; exit 1 if one is not as expected
    python tests/faults.py --json   print JSON

This file does not import the package. The expectations come from the published contract (`refuses` below) and from the
documented failures of `fire`. Rows with the same settings and event share one call of `fire`; their hooks run
concurrently. The clock is used only to abort a call that hangs.
"""

import argparse
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

PATIENT, HASTY = 40.0, 0.6  # seconds: the time limit of a hook that is to end by itself, and of one that is not
GIVE_UP = 60.0
MAX_MEGABYTES = 150
AT_ONCE = 3

EDITIONS = ("2025-11", "2026-02", "2026-09")
GATES = ("beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
PAYLOADS: dict[str, dict[str, str]] = {
    "beforeShellExecution": {"command": "ls"},
    "beforeMCPExecution": {"tool_name": "search"},
    "beforeReadFile": {"file_path": "/a.txt"},
    "beforeSubmitPrompt": {"prompt": "hello"},
    "sessionStart": {},
    "afterFileEdit": {"file_path": "/a.txt"},
    "stop": {"status": "completed"},
}
REFUSABLE = {*GATES, "beforeSubmitPrompt", "sessionStart"}

CRASHED, TIMED_OUT, KILLED = "crashed", "timed out", "killed"
NOT_FOUND, NOT_EXECUTABLE = "not found", "not executable"
NO_OUTPUT, TOO_MUCH = "no output", "too much output"
UNREADABLE, MISFIT = "unreadable output", "output of the wrong shape"


class Kind(NamedTuple):
    """A kind of misbehaviour of a hook, and the expected result."""

    name: str
    script: str | None  # None: there is no such file
    failure: str = ""
    permission_if_ok: str = "none"  # unless it fails
    seconds: float = PATIENT
    exit: int | None = None
    warning: str = ""
    command: str = "./{file}"
    mode: int = 0o755
    big: bool = False  # its payload has 5 MB
    loud: bool = False  # it prints megabytes, and is played alone, so that it is its memory that is measured
    leaves: bool = False  # it leaves a process behind, which is let live
    gone: bool = False  # its working directory vanishes before it starts

    @property
    def file(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def hasty(self) -> bool:
        return self.seconds == HASTY


def sh(name: str, script: str, **rest: Any) -> Kind:
    return Kind(name, f"#!/bin/sh\n{script}\n", **rest)


def python(name: str, script: str, **rest: Any) -> Kind:
    return Kind(name, f"#!{sys.executable} -IS\nimport os, signal, sys, time\n{script}\n", **rest)


def hangs(kind: Kind) -> Kind:
    return kind._replace(failure=TIMED_OUT, seconds=HASTY)


def prints(name: str, text: str | bytes, **rest: Any) -> Kind:
    """Build a hook that prints exactly these bytes and succeeds."""
    data = text if isinstance(text, bytes) else text.encode()
    octal = "".join(f"\\{byte:03o}" for byte in data)
    return sh(name, f"cat > /dev/null\nprintf '{octal}'", **rest)


ALLOW = '{"permission": "allow"}'
DENY = '{"permission": "deny"}'
PRINT_ALLOW = f"echo '{ALLOW}'"
PRINT_DENY = f"echo '{DENY}'"
RECORD_PID = 'echo $$ >> "$0.$1.pids"\n'

KINDS: tuple[Kind, ...] = (
    # what it does with its input
    sh("never reads its input", PRINT_ALLOW, permission_if_ok="allow", exit=0),
    sh("never reads an input of 5 MB", PRINT_ALLOW, permission_if_ok="allow", exit=0, big=True),
    sh("reads ten bytes of 5 MB", f"head -c 10 > /dev/null\n{PRINT_ALLOW}", permission_if_ok="allow", big=True),
    sh("closes its input", f"exec 0<&-\n{PRINT_ALLOW}", permission_if_ok="allow"),
    sh("closes an input of 5 MB", f"exec 0<&-\n{PRINT_ALLOW}", permission_if_ok="allow", big=True),
    sh("writes to its input", f"(echo '{DENY}' >&0) 2> /dev/null\n{PRINT_ALLOW}", permission_if_ok="allow"),
    sh(
        "overwrites an input of 5 MB",
        f"(echo '{DENY}' >&0) 2> /dev/null\n(echo '{DENY}' > /proc/self/fd/0) 2> /dev/null\n{PRINT_ALLOW}",
        permission_if_ok="allow",
        big=True,
    ),
    sh(
        "reads 5 MB that others overwrite",
        f"[ $(wc -c) -gt 5000000 ] && {PRINT_ALLOW}",
        permission_if_ok="allow",
        big=True,
    ),
    # what it does with its output
    sh("prints nothing", "cat > /dev/null", failure=NO_OUTPUT, exit=0),
    prints("prints only blanks", " \t\r\n\n ", failure=NO_OUTPUT, exit=0),
    sh("closes its output", f"exec 1>&-\n({PRINT_ALLOW}) 2> /dev/null\nexit 0", failure=NO_OUTPUT, exit=0),
    hangs(sh("closes both outputs and hangs", f"{RECORD_PID}exec 1>&- 2>&-\nexec sleep 60")),
    hangs(sh("answers and then hangs", f"{RECORD_PID}{PRINT_DENY}\nexec sleep 60")),
    python(
        "answers byte by byte",
        f"for byte in b'{ALLOW}':\n    os.write(1, bytes([byte]))\n    time.sleep(0.001)",
        permission_if_ok="allow",
    ),
    sh("floods stdout", "exec yes", failure=TOO_MUCH, loud=True),
    hangs(sh("floods stderr", f"{RECORD_PID}exec yes >&2")),
    sh(
        "floods stderr and then answers",
        f"head -c 20000000 /dev/zero | tr '\\0' x >&2\n{PRINT_ALLOW}",
        permission_if_ok="allow",
        exit=0,
        warning="standard error",
    ),
    sh("prints 50 MB and then an answer", f"yes | head -c 50000000\n{PRINT_ALLOW}", failure=TOO_MUCH, loud=True),
    python(
        "prints 5 MB of good JSON",
        f"print('{ALLOW[:-1]}, \"x\": \"' + 'x' * 5_000_000 + '\"}}')",
        failure=TOO_MUCH,
        loud=True,
    ),
    python(
        "prints 3 MB of good JSON",
        f"print('{ALLOW[:-1]}, \"x\": \"' + 'x' * 3_000_000 + '\"}}')",
        permission_if_ok="allow",
        loud=True,
    ),
    prints("prints a byte order mark", f"\ufeff{ALLOW}\n", permission_if_ok="allow", exit=0),
    prints(
        "prints log lines first", f"loading\n[1] ready\n{ALLOW}\n", permission_if_ok="allow", warning="besides the JSON"
    ),
    prints("asks after a log line", 'loading\n{"permission": "ask"}\n', permission_if_ok="ask"),
    prints("prints noise afterwards", f"{DENY}\nbye\n", permission_if_ok="deny", warning="besides the JSON"),
    prints("prints two documents", f"{DENY}\n{ALLOW}\n", permission_if_ok="allow", warning="besides the JSON"),
    prints("prints text", "all is well\n", failure=UNREADABLE, exit=0),
    prints("prints JSON that breaks off", '{"permission": "allow"', failure=UNREADABLE, exit=0),
    prints("prints bytes that are no UTF-8", b"\xff\xfe\xfd\n", failure=UNREADABLE),
    prints(
        "prints a text that is no UTF-8", b'{"permission": "deny", "user_message": "\xff"}', permission_if_ok="deny"
    ),
    prints("prints zeros", b"\0\0\0\0", failure=UNREADABLE),
    prints("prints a zero inside its answer", b'{"permission": "allow", "user_message": "\0"}', failure=UNREADABLE),
    prints("prints a list", f"[{ALLOW}]\n", failure=MISFIT),
    prints("prints a word in quotes", '"allow"\n', failure=MISFIT),
    prints("prints a number for a permission", '{"permission": 1}', failure=MISFIT),
    prints("prints an unknown permission", '{"permission": "perhaps"}', failure=MISFIT),
    prints("prints a list for a message", '{"permission": "allow", "user_message": []}', failure=MISFIT),
    python("nests too deeply", "print('{\"a\":' * 100_000 + '1' + '}' * 100_000)", failure=UNREADABLE),
    # how it ends
    sh("exits 1 after a deny", f"{PRINT_DENY}\nexit 1", failure=CRASHED, exit=1),
    sh("exits 2 after an allow", f"{PRINT_ALLOW}\nexit 2", permission_if_ok="deny", exit=2),
    sh("exits 2 without a word", "exit 2", permission_if_ok="deny", exit=2),
    sh("exits 3", "exit 3", failure=CRASHED, exit=3),
    sh("exits 126", "exit 126", failure=NOT_EXECUTABLE, exit=126),
    sh("exits 127", "exit 127", failure=NOT_FOUND, exit=127),
    sh("exits 255", "exit 255", failure=CRASHED, exit=255),
    sh("dies by SIGKILL", f"{PRINT_DENY}\nkill -KILL $$", failure=KILLED, exit=-9),
    sh("dies by SIGSEGV", "ulimit -c 0\nkill -SEGV $$", failure=KILLED, exit=-11),
    sh("dies by SIGTERM", "kill -TERM $$", failure=KILLED, exit=-15),
    sh("says that its child was killed", f"sh -c 'kill -KILL $$'\n{PRINT_DENY}\nexit 137", failure=KILLED, exit=137),
    sh("kills its own group", "sleep 60 &\nkill -KILL 0", failure=KILLED, exit=-9),
    # whether it starts
    Kind("is missing", None, failure=NOT_FOUND),
    Kind("is a program that is missing", None, command="trotline-no-such-program", failure=NOT_FOUND, exit=127),
    sh("is not executable", PRINT_ALLOW, mode=0o644, failure=NOT_EXECUTABLE),
    sh("is a directory", "", command="./", failure=NOT_EXECUTABLE),
    Kind("has no first line", f"{PRINT_ALLOW}\n", permission_if_ok="allow", exit=0),
    Kind("is empty", "", failure=NO_OUTPUT, exit=0),
    Kind("names no interpreter that exists", f"#!/no/such/interpreter\n{PRINT_ALLOW}\n", failure=NOT_FOUND),
    sh("loses its directory before it starts", PRINT_ALLOW, gone=True, failure=NOT_FOUND),
    sh(
        "removes its directory",
        f"mkdir gone.$1 && cd gone.$1 && rmdir ../gone.$1\n{PRINT_ALLOW}",
        permission_if_ok="allow",
        exit=0,
    ),
    sh(
        "replaces its own file",
        f'cp -p "$0" "$0.$1"; echo "#" >> "$0.$1"; mv "$0.$1" "$0"\n{PRINT_ALLOW}',
        permission_if_ok="allow",
    ),
    python("takes much memory", f"held = bytearray(70_000_000)\nprint('{ALLOW}')", permission_if_ok="allow", exit=0),
    # processes it starts, and how long it lives
    sh(
        "leaves a child that holds its pipes",
        f"sleep 60 &\n{PRINT_ALLOW}",
        permission_if_ok="allow",
        exit=0,
        leaves=True,
        warning="background",
    ),
    sh(
        "leaves a child that keeps writing",
        f"(trap '' PIPE; while :; do echo noise; sleep 0.01; done) 2> /dev/null &\nsleep 0.05\n{PRINT_ALLOW}",
        permission_if_ok="allow",
        exit=0,
        leaves=True,
        warning="background",
    ),
    hangs(sh("hangs", f"{RECORD_PID}exec sleep 60")),
    hangs(sh("hangs in a child", f"{RECORD_PID}sleep 60\n:")),
    hangs(sh("hangs in a pipeline", f"{RECORD_PID}sleep 60 | cat")),
    hangs(sh("never stops working", f"{RECORD_PID}while :; do :; done")),
    hangs(sh("stops itself", f"{RECORD_PID}kill -STOP $$\n{PRINT_ALLOW}")),
    hangs(sh("ignores SIGTERM", f"{RECORD_PID}trap '' TERM INT HUP QUIT\nwhile :; do sleep 1; done")),
    hangs(sh("clears its environment", f"{RECORD_PID}exec env -i sleep 60")),
    hangs(sh("forks many children", f"{RECORD_PID}i=0\nwhile [ $i -lt 50 ]; do sleep 60 & i=$((i+1)); done\nwait")),
    hangs(sh("double forks", f"{RECORD_PID}( ( sleep 60 & ) & )\nexec sleep 60")),
    hangs(sh("puts its children into other groups", f"{RECORD_PID}set -m\nsleep 60 &\nsleep 60 &\nwait")),
    hangs(python("joins the group of its parent", "os.setpgid(0, os.getpgid(os.getppid()))\ntime.sleep(60)")),
    hangs(python("starts a session", "if os.fork() == 0:\n    os.setsid()\ntime.sleep(60)")),
    hangs(
        python(
            "starts sessions and forks for a second",
            "end = time.monotonic() + 1\n"
            "while time.monotonic() < end:\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        os.fork()\n"
            "        time.sleep(60)\n"
            "        os._exit(0)\n"
            "    time.sleep(0.01)\n"
            "time.sleep(60)",
        )
    ),
)

EVERYWHERE = frozenset(
    {
        "never reads its input",
        "prints nothing",
        "closes its output",
        "floods stdout",
        "prints noise afterwards",
        "prints text",
        "prints a list",
        "prints a number for a permission",
        "exits 1 after a deny",
        "exits 2 after an allow",
        "exits 127",
        "dies by SIGKILL",
        "is missing",
        "leaves a child that holds its pipes",
        "answers and then hangs",
        "starts a session",
    }
)
"""Kinds that are played on every event of the table; the rest only before a shell command."""


class Row(NamedTuple):
    """A kind of bad hook at an event of an edition."""

    kind: Kind
    edition: str
    event: str
    closed: bool

    @property
    def id(self) -> str:
        return f"{self.edition} {self.event} {'closed' if self.closed else 'open'}: {self.kind.name}"

    @property
    def in_claude_file(self) -> bool:
        """The oldest Cursor file has no time limits, and no file of Cursor's runs in a directory that can vanish."""
        return self.kind.gone or (self.kind.hasty and self.edition == EDITIONS[0])

    @property
    def word(self) -> str:
        return "closed" if self.closed else "open"

    @property
    def failure(self) -> str:
        """The expected failure of the run. Empty output is a failure only of a fail-closed hook."""
        if self.kind.failure == NO_OUTPUT and not (knows_fail_closed(self) and self.event in REFUSABLE):
            return ""
        return self.kind.failure

    @property
    def permission(self) -> str:
        if self.event not in REFUSABLE:
            return "none"
        if self.failure:
            return "deny" if refuses(self) else "none"
        return self.kind.permission_if_ok


def knows_fail_closed(row: Row) -> bool:
    """`failClosed` came after the first two editions, which do not look at it."""
    return row.closed and row.edition == "2026-09"


def refuses(row: Row) -> bool:
    """Return whether a failure denies a refusable event (cursor-protocol.md 3.1, C2).

    2025-11 knows of no failing closed. 2026-02 always fails closed on MCP calls and reads. 2026-09 fails closed where
    the entry says so, and output that cannot be read blocks at every gate.
    """
    if row.edition == "2025-11":
        return False
    if row.edition == "2026-02":
        return row.event in {"beforeMCPExecution", "beforeReadFile"}
    return row.closed or (row.failure in {UNREADABLE, MISFIT, TOO_MUCH} and row.event in GATES)


def _rows() -> Iterator[Row]:
    for kind in KINDS:
        for edition in EDITIONS:
            for event in PAYLOADS:
                yield from (Row(kind, edition, event, closed) for closed in (False, True))


def _is_played(row: Row) -> bool:
    if row.kind.gone and row.edition == "2025-11":
        return False  # hooks ran beside their file then
    if row.in_claude_file:
        return row.event == "beforeSubmitPrompt" and (not row.closed or row.edition == "2026-09")
    if row.event == "sessionStart" and row.edition == "2025-11":
        return False  # came later
    # whether printing nothing fails where everything always fails closed, nobody has written down
    if row.kind.failure == NO_OUTPUT and row.edition == "2026-02" and row.event in GATES[1:]:
        return False
    return row.event == "beforeShellExecution" or row.kind.name in EVERYWHERE


ROWS: dict[str, Row] = {row.id: row for row in _rows() if _is_played(row)}


class Fired(NamedTuple):
    """The result of a call of `fire`."""

    exit: int
    answer: dict[str, Any]
    seconds: float
    megabytes: float
    stderr: str

    @property
    def runs(self) -> dict[str, dict[str, Any]]:
        return {run["line"]: run for run in (self.answer.get("data") or {}).get("runs", [])}


class Seen(NamedTuple):
    """A row, and what is not as it should be."""

    row: Row
    problems: list[str]
    got: dict[str, Any]
    seconds: float
    megabytes: float

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.row.id,
            "kind": self.row.kind.name,
            "wanted": {"permission": self.row.permission, "failure": self.row.failure or None},
            "got": self.got,
            "seconds": round(self.seconds, 2),
            "megabytes": round(self.megabytes, 1),
            "problems": self.problems,
        }


def play_all(rows: Iterable[Row], scratch: Path) -> list[Seen]:
    """Run every row, in as few calls of `fire` as possible."""

    def together(row: Row) -> tuple[Any, ...]:
        alone = row.id if row.kind.loud and row.event == "beforeShellExecution" else ""
        decision = "go on" if row.permission in {"none", "allow"} else row.permission
        return (row.edition, row.event, row.in_claude_file, row.kind.gone, row.kind.big, alone, decision)

    batches = [list(batch) for _, batch in groupby(sorted(rows, key=together), together)]
    workspaces = [scratch / str(number) for number in range(len(batches))]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [results for batch in pool.map(play, batches, workspaces) for results in batch]


def play(batch: list[Row], workspace: Path) -> list[Seen]:
    """Run one call of `fire` for rows with the same expected decision."""
    lines = write_workspace(batch, workspace)
    fired = fire(batch[0], workspace)
    cookies = {str(run.get("run")): line for line, run in fired.runs.items()}
    living = find_processes(cookies)
    results = []
    for row in batch:
        line = lines[row.id]
        run = fired.runs.get(line, {})
        problems = [*find_problems_of_call(fired), *find_problems_of_run(row, run, fired)]
        left = [pid for pid, cookie in living.items() if cookies[cookie] == line]
        if row.kind.leaves and not left:
            problems.append("its background process was not let live")
        if not row.kind.leaves:
            pids = workspace / "home/.cursor" / f"{row.kind.file}.{row.word}.pids"
            known = [int(pid) for pid in pids.read_text().split()] if pids.exists() else []
            problems += [f"process {pid} is still there" for pid in (*left, *known) if is_alive(pid)]
        got = {key: run.get(key) for key in ("permission", "failure", "exit", "warnings", "micros")}
        results.append(Seen(row, problems, got, fired.seconds, fired.megabytes))
    for pid in living:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return results


EXITS = {"none": 0, "allow": 0, "ask": 10, "deny": 20}


def find_problems_of_call(fired: Fired) -> Iterator[str]:
    code = max((EXITS[run["permission"]] for run in fired.runs.values()), default=0)
    if fired.exit != code:
        yield f"fire ended with {fired.exit}, wanted {code}: {fired.stderr[-300:]}"
    if fired.seconds >= GIVE_UP:
        yield f"fire was given up after {GIVE_UP:g} seconds"
    if fired.megabytes > MAX_MEGABYTES:
        yield f"fire took {fired.megabytes:.0f} MB"


def find_problems_of_run(row: Row, run: dict[str, Any], fired: Fired) -> Iterator[str]:
    if not run:
        yield "there is no run of it"
        return
    failure = (run["failure"] or {}).get("kind", "")
    if failure != row.failure:
        yield f"its failure is `{failure}`, wanted `{row.failure}`"
    if run["permission"] != row.permission:
        yield f"it counts as `{run['permission']}`, wanted `{row.permission}`"
    decision = fired.answer["data"]["decision"]
    if row.permission in {"deny", "ask"} and not (
        decision["permission"] == row.permission and run["id"] in decision["deciders"]
    ):
        yield f"it is not among those who decided `{decision['permission']}`"
    if row.kind.exit is not None and run["exit"] != row.kind.exit:
        yield f"its exit is {run['exit']}, wanted {row.kind.exit}"
    if row.kind.warning and not any(row.kind.warning in warning for warning in run["warnings"]):
        yield f"no warning speaks of `{row.kind.warning}`: {run['warnings']}"


def write_workspace(batch: list[Row], workspace: Path) -> dict[str, str]:
    """Write the files of these rows; return the command line of each by ID."""
    cursor_directory = workspace / "home" / ".cursor"
    for directory in (cursor_directory, workspace / "home" / ".claude", workspace / "system", workspace / "project"):
        directory.mkdir(parents=True)
    for kind in {row.kind for row in batch}:
        if kind.script is not None:
            path = cursor_directory / kind.file
            path.write_text(kind.script, "utf-8")
            path.chmod(kind.mode)
    lines = {}
    entries = []
    for row in batch:
        base = "./{file}" if not row.in_claude_file else f"{cursor_directory}/{{file}}"
        command = row.kind.command.replace("./{file}", base).format(file=row.kind.file)
        lines[row.id] = f"{command} {row.word}"
        entries.append({"command": lines[row.id], "timeout": row.kind.seconds, "failClosed": row.closed})
    event = batch[0].event
    if batch[0].in_claude_file:
        hooks = [{"type": "command", **entry, **_claude_fail_closed(entry)} for entry in entries]
        body: dict[str, Any] = {"hooks": {"UserPromptSubmit": [{"hooks": hooks}]}}
        (workspace / "home" / ".claude" / "settings.json").write_text(json.dumps(body))
    else:
        (cursor_directory / "hooks.json").write_text(json.dumps({"version": 1, "hooks": {event: entries}}))
    payload = {"hook_event_name": event, **PAYLOADS[event]}
    if batch[0].kind.big:
        payload["command"] = "x" * 5_000_000
    (workspace / "payload.json").write_text(json.dumps(payload))
    return lines


def _claude_fail_closed(entry: dict[str, Any]) -> dict[str, str]:
    return {"onFailure": "block"} if entry["failClosed"] else {}


WATCHER = """
import os, subprocess, sys, threading, time
started = time.monotonic()
process = subprocess.Popen(sys.argv[3:])
guard = threading.Timer(float(sys.argv[2]), process.kill)
guard.start()
_, status, usage = os.wait4(process.pid, 0)
guard.cancel()
with open(sys.argv[1], "w") as file:
    print(os.waitstatus_to_exitcode(status), time.monotonic() - started, usage.ru_maxrss / 1024, file=file)
"""
"""Starts `fire` from a small process, because the kernel's maximum memory of a process includes that of its parent."""


def fire(row: Row, workspace: Path) -> Fired:
    """Call `trotline fire` with a time limit."""
    payload = workspace / "payload.json"
    handed = workspace / "payload.fifo" if row.kind.gone else payload
    if row.kind.gone:
        os.mkfifo(handed)
    roots = [f"--{name}={workspace / name}" for name in ("home", "system", "project")]
    command = [sys.executable, "-m", "trotline", "fire", "--json", f"--edition={row.edition}", *roots]
    watcher = [sys.executable, "-IS", "-c", WATCHER, str(workspace / "usage"), str(GIVE_UP)]
    with (workspace / "stdout").open("wb") as stdout, (workspace / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            [*watcher, *command, f"--payload={handed}"],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=workspace,
        )
        if row.kind.gone:
            remove_project_directory(workspace, handed, payload.read_bytes())
        process.wait()
    code, seconds, megabytes = (workspace / "usage").read_text().split()
    try:
        answer = json.loads((workspace / "stdout").read_bytes())
    except ValueError:
        answer = {}
    errors = (workspace / "stderr").read_text("utf-8", "replace")
    return Fired(int(code), answer, float(seconds), float(megabytes), errors)


def remove_project_directory(workspace: Path, fifo: Path, payload: bytes) -> None:
    """Remove the project when `fire` opens the pipe: after it read its options, and before it reads hooks."""
    with fifo.open("wb") as writer:
        (workspace / "project").rmdir()
        writer.write(payload)


def find_processes(cookies: Iterable[str]) -> dict[int, str]:
    """Return the processes of these runs, each with its run ID."""
    wanted = {f"TROTLINE_RUN={cookie}".encode(): cookie for cookie in cookies}
    processes = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            carried = wanted.keys() & set((entry / "environ").read_bytes().split(b"\0"))
            processes.update({int(entry.name): wanted[cookie] for cookie in carried})
    return processes


def is_alive(pid: int) -> bool:
    """Return whether a process is still alive after 5 seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([descriptor], [], [], 5)[0]
    finally:
        os.close(descriptor)


def main() -> int:
    parser = argparse.ArgumentParser(description="Play every bad hook, and say which is not dealt with as wanted.")
    parser.add_argument("--json", action="store_true", help="a list of all rows")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        results = play_all(ROWS.values(), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if arguments.json:
        print(json.dumps([result.as_json() for result in results], indent=1))
    else:
        for result in results:
            text = "ok" if not result.problems else "; ".join(result.problems)
            print(f"{result.row.id:<80} {result.seconds:5.1f} s {result.megabytes:5.0f} MB  {text}")
        print(
            f"{len(KINDS)} kinds, {len(results)} rows, {sum(bool(result.problems) for result in results)} not as wanted"
        )
    return 1 if any(result.problems for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
