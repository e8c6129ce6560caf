"""Writes a line for everything the agent does, without what it said: the event, the tool, how long it took.

The work is done after the answer is out, so that nobody waits for it.
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
def command(event: AfterShell) -> None:
    write(event, program=event.command.split(maxsplit=1)[0], ms=event.duration, bytes=len(event.output))


@on.after_file_edit(background=True)
def edit(event: AfterFileEdit) -> None:
    write(event, kind=Path(event.file_path).suffix, edits=len(event.edits))


@on.stop(background=True)
def stop(event: Stop) -> None:
    write(event, status=event.status, loops=event.loop_count)


if __name__ == "__main__":
    run()
