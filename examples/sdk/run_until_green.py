"""Keep the agent going until the tests pass: `.tests-failed` has the names of failed tests.

The loop limit ends it: Cursor's own, or Trotline's under agents that have none.
"""

from pathlib import Path

from trotline import Verdict, follow_up, on, run
from trotline.domain.events import Stop


@on.stop
def report_failures(event: Stop) -> Verdict | None:
    report = Path(event.workspace_roots[0] if event.workspace_roots else ".") / ".tests-failed"
    failing = report.read_text("utf-8").split() if report.exists() else []
    if event.status != "completed" or not failing:
        return None
    return follow_up(f"These tests fail: {', '.join(failing)}. Fix them, then stop.")


if __name__ == "__main__":
    run()
