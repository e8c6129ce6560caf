"""Log a line for every action of the agent, without its texts: the event, the program, the duration.

The handlers run after the reply, so that the agent does not wait for them.
"""

import json
from pathlib import Path

from trotline import on, run
from trotline.domain.events import AfterFileEdit, AfterShell, Event, Stop

LOG = "hook_calls.jsonl"


def write(event: Event, **facts: object) -> None:
    root = Path(event.workspace_roots[0] if event.workspace_roots else ".")
    line = json.dumps({"event": event.wire_name, "conversation": event.conversation_id, **facts})
    with (root / LOG).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


@on.after_shell(background=True)
def log_command(event: AfterShell) -> None:
    write(event, program=event.command.split(maxsplit=1)[0], ms=event.duration, bytes=len(event.output))


@on.after_file_edit(background=True)
def log_edit(event: AfterFileEdit) -> None:
    write(event, kind=Path(event.file_path).suffix, edits=len(event.edits))


@on.stop(background=True)
def log_stop(event: Stop) -> None:
    write(event, status=event.status, loops=event.loop_count)


if __name__ == "__main__":
    run()
