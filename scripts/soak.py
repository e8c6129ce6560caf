"""Soak test of the engine: many threads fire events with four hooks. Every Outcome must be right, and no process or
file may be left open."""

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from trotline.config.paths import Roots
from trotline.domain.events import BeforeShell
from trotline.domain.outcomes import Outcome, Run
from trotline.domain.verdicts import Permission
from trotline.engine.dispatch import Dispatcher
from trotline.system.processes import find_processes

HOOKS = (
    """cat >/dev/null; echo '{"permission": "allow"}'""",
    """if grep -q 'odd'; then echo '{"permission": "deny", "user_message": "odd"}'; else echo '{}'; fi""",
    """cat >/dev/null; exit 1""",
    """cat >/dev/null; echo noise; echo '{"permission": "allow"}'""",
)


def build_dispatcher(world: Path) -> Dispatcher:
    roots = Roots(home=world / "home", system=world / "system", projects=(world / "project",))
    roots.user_file.parent.mkdir(parents=True)
    entries = [{"command": command} for command in HOOKS]
    roots.user_file.write_text(json.dumps({"version": 1, "hooks": {"beforeShellExecution": entries}}))
    return Dispatcher(roots, {"PATH": "/usr/bin:/bin"}, lambda: time.time_ns() // 1000)


def is_expected_outcome(outcome: Outcome, *, odd: bool) -> bool:
    runs = [run for run in outcome.responses if isinstance(run, Run)]
    wanted = Permission.DENY if odd else Permission.ALLOW
    codes = [run.exit_code for run in runs] == [0, 0, 1, 0]
    return codes and outcome.decision.permission is wanted and (outcome.decision.verdict.user_message == "odd") is odd


def soak(engine: Dispatcher, threads: int, events: int) -> tuple[int, list[str]]:
    """Return the number of wrong Outcomes, and the run ids of all runs."""
    wrong = 0
    run_ids: list[str] = []

    def fire(number: int) -> None:
        nonlocal wrong
        for turn in range(events):
            odd = (number + turn) % 2 == 1
            event = BeforeShell(command="odd one" if odd else "even one", conversation_id=str(number))
            outcome = engine.dispatch(event)
            wrong += not is_expected_outcome(outcome, odd=odd)
            run_ids.extend(run.id for run in outcome.responses if isinstance(run, Run))

    workers = [threading.Thread(target=fire, args=(number,)) for number in range(threads)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    return wrong, run_ids


def count_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def main() -> int:
    threads, events = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (16, 1000)
    with tempfile.TemporaryDirectory() as scratch:
        engine = build_dispatcher(Path(scratch))
        before, start = count_descriptors(), time.monotonic()
        wrong, run_ids = soak(engine, threads, events)
        remaining = len(find_processes(*run_ids[-64:]))
        seconds = time.monotonic() - start
    open_now = count_descriptors() - before
    print(f"{threads} threads x {events} events x {len(HOOKS)} hooks in {seconds:.0f} s: {wrong} wrong outcomes,")
    print(f"{open_now} descriptors and {remaining} processes left")
    return 1 if wrong or open_now or remaining or len(set(run_ids)) != threads * events * len(HOOKS) else 0


if __name__ == "__main__":
    sys.exit(main())
