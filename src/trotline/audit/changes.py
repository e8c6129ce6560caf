"""What an edit changes in a file, as a diff: from what the event says, and never from the disk."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from trotline.events import AfterFileEdit, AfterTabFileEdit, Event, PostToolUse, PreToolUse
from trotline.hosts.patches import patched
from trotline.hosts.specific import absolute

MOST_CHANGES = 200
CONTEXT = 3
HEAD = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")
MOST_LINES, MOST_LINES_OF_ALL = 200, 1_000
"""Lines that are compared, in one edit and in all of an event. Beyond, one side stands whole for the other: to compare
takes the square, and whoever writes edits must not make us busy."""

LONGEST_DIFF = 65_536
CONTENTS = ("content", "contents", "new_string", "file_text", "new_source")
WRITES = "Write"


class Change(NamedTuple):
    """A text in a file that becomes another one. What was there before a whole file is written nobody says."""

    path: str
    old: str
    new: str


class Diff(NamedTuple):
    path: str
    added: int
    removed: int
    text: str


def changes_of(event: Event) -> list[Change]:
    return list(islice(_changes(event), MOST_CHANGES))


def _changes(event: Event) -> Iterator[Change]:
    if isinstance(event, AfterFileEdit | AfterTabFileEdit):
        for edit in event.edits:
            yield Change(event.file_path, edit.old_string, edit.new_string)
    elif isinstance(event, PreToolUse | PostToolUse) and event.tool_name == WRITES:
        given = event.tool_input if isinstance(event.tool_input, dict) else {}
        yield from _patched(_text(given.get("patch")), event.cwd)
        yield from _told(event, given) or _written(given)


def _patched(patch: str, cwd: str) -> Iterator[Change]:
    for path, edits in patched(patch):
        for edit in edits:
            yield Change(absolute(cwd, path), edit.old_string, edit.new_string)


def _told(event: Event, given: dict[str, Any]) -> list[Change]:
    """What Claude Code says was changed, once it is: of a whole file, and wherever the same text was replaced."""
    answer = event.raw.get("tool_response") if isinstance(event, PostToolUse) else None
    told: dict[str, Any] = answer if isinstance(answer, dict) else {}
    path, parts = _path(given), told.get("structuredPatch")
    if isinstance(parts, list) and parts:
        return [Change(path, _side(part, "-"), _side(part, "+")) for part in parts if isinstance(part, dict)]
    was, is_ = told.get("originalFile"), given.get("content")
    return [Change(path, was, is_)] if isinstance(was, str) and isinstance(is_, str) else []


def _side(part: dict[str, Any], sign: str) -> str:
    """The lines of a part of a patch, as they were before or are now."""
    lines = part.get("lines")
    texts = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    return "\n".join(line[1:] for line in texts if line[:1] in {" ", sign})


def _path(given: dict[str, Any]) -> str:
    return _text(given.get("file_path") or given.get("path") or given.get("notebook_path"))


def _written(given: dict[str, Any]) -> Iterator[Change]:
    path, edits = _path(given), given.get("edits")
    for one in [given, *(edits if isinstance(edits, list) else ())]:
        new = next((one[name] for name in CONTENTS if one.get(name)), None) if isinstance(one, dict) else None
        old = _text(one.get("old_string")) if isinstance(one, dict) else ""
        if new is not None or old:
            yield Change(path, old, _text(new))


def diffs_of(changes: Iterable[Change]) -> list[Diff]:
    """All of them; once enough lines were compared, the rest are told as a whole."""
    left = MOST_LINES_OF_ALL
    found = []
    for change in changes:
        old, new = change.old.splitlines(), change.new.splitlines()
        begin, end = _shared(old, new)
        middle = old[begin : len(old) - end], new[begin : len(new) - end]
        size = max(map(len, middle))
        compared = size <= min(MOST_LINES, left)
        left -= size if compared else 0
        lines = _compared(*middle, begin) if compared else _replaced(*middle, begin)
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        found.append(Diff(change.path, added, removed, _cut("\n".join(lines))))
    return found


def _shared(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at both ends are the same, but for a few that stand as context."""
    least = min(len(old), len(new))
    begin = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - begin) if old[-1 - at] != new[-1 - at]), least - begin)
    return max(0, begin - CONTEXT), max(0, end - CONTEXT)


def _compared(old: list[str], new: list[str], begin: int) -> list[str]:
    from difflib import unified_diff  # noqa: PLC0415 - most events change no file

    lines = islice(unified_diff(old, new, lineterm="", n=CONTEXT), 2, None)  # without the two names
    return [HEAD.sub(lambda found: _head(found, begin), line) if line.startswith("@@") else line for line in lines]


def _head(found: re.Match[str], begin: int) -> str:
    old, new = int(found[1]) + begin, int(found[3]) + begin
    return f"@@ -{old}{found[2]} +{new}{found[4]} @@"


def _replaced(old: list[str], new: list[str], begin: int) -> list[str]:
    """Both whole."""
    head = f"@@ -{begin + 1},{len(old)} +{begin + 1},{len(new)} @@"
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _cut(text: str) -> str:
    if len(text) <= LONGEST_DIFF:
        return text
    kept = text[:LONGEST_DIFF].rpartition("\n")[0]
    return f"{kept}\n[{text.count(chr(10)) - kept.count(chr(10))} more lines]"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
