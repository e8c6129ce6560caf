"""Count failures in a row per conversation, and ask the agent to try another way after the second one."""

import json
from pathlib import Path

from trotline import Verdict, follow_up, on, run
from trotline.domain.events import Stop

PATIENCE = 2


@on.stop
def track(event: Stop) -> Verdict | None:
    file = Path(event.workspace_roots[0] if event.workspace_roots else ".") / ".cursor" / "stops.json"
    counts: dict[str, int] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    failures = counts.get(event.conversation_id, 0) + 1 if event.status == "error" else 0
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({**counts, event.conversation_id: failures}), "utf-8")
    if failures == PATIENCE:
        return follow_up("That failed twice in a row. Say in one sentence what goes wrong, then try another way.")
    return None


if __name__ == "__main__":
    run()
