"""Diffs of file edits, built from the event only and never from the disk."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from trotline.agents.derived_events import make_absolute
from trotline.agents.patches import parse_patch
from trotline.domain.events import AfterFileEdit, AfterTabFileEdit, Event, PostToolUse, PreToolUse

MAX_CHANGES = 200
CONTEXT_LINES = 3
HUNK_HEADER = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")
MAX_COMPARED_LINES, MAX_COMPARED_LINES_TOTAL = 200, 1_000
"""Maximum lines to compare in one edit and in all edits of an event.

Beyond that, a diff removes all old lines and adds all new ones: comparing takes quadratic time, and the author of an
edit must not be able to slow us down.
"""

MAX_DIFF = 65_536
CONTENT_FIELDS = ("content", "contents", "new_string", "file_text", "new_source")
WRITE_TOOL = "Write"


class TextChange(NamedTuple):
    """A text in a file and its replacement. `old` is empty if the event does not contain the previous text."""

    path: str
    old: str
    new: str


class EditDiff(NamedTuple):
    """A diff of one change with its numbers of added and removed lines."""

    path: str
    added: int
    removed: int
    text: str


def list_changes(event: Event) -> list[TextChange]:
    """Return the text changes of an event, at most MAX_CHANGES."""
    return list(islice(_read_changes(event), MAX_CHANGES))


def _read_changes(event: Event) -> Iterator[TextChange]:
    if isinstance(event, AfterFileEdit | AfterTabFileEdit):
        for edit in event.edits:
            yield TextChange(event.file_path, edit.old_string, edit.new_string)
    elif isinstance(event, PreToolUse | PostToolUse) and event.tool_name == WRITE_TOOL:
        tool_input = event.tool_input if isinstance(event.tool_input, dict) else {}
        yield from _list_patch_changes(_as_text(tool_input.get("patch")), event.cwd)
        yield from _read_reported_changes(event, tool_input) or _read_requested_changes(tool_input)


def _list_patch_changes(patch: str, cwd: str) -> Iterator[TextChange]:
    for path, edits in parse_patch(patch):
        for edit in edits:
            yield TextChange(make_absolute(cwd, path), edit.old_string, edit.new_string)


def _read_reported_changes(event: Event, tool_input: dict[str, Any]) -> list[TextChange]:
    """Return the changes that Claude Code reports after an edit, including whole files and every replaced match."""
    tool_response = event.raw.get("tool_response") if isinstance(event, PostToolUse) else None
    response: dict[str, Any] = tool_response if isinstance(tool_response, dict) else {}
    path, parts = _get_path(tool_input), response.get("structuredPatch")
    if isinstance(parts, list) and parts:
        hunks = [part for part in parts if isinstance(part, dict)]
        return [TextChange(path, _join_side(hunk, "-"), _join_side(hunk, "+")) for hunk in hunks]
    old, new = response.get("originalFile"), tool_input.get("content")
    return [TextChange(path, old, new)] if isinstance(old, str) and isinstance(new, str) else []


def _join_side(part: dict[str, Any], sign: str) -> str:
    """Return the lines of a patch hunk before (`-`) or after (`+`) the change."""
    lines = part.get("lines")
    texts = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
    return "\n".join(line[1:] for line in texts if line[:1] in {" ", sign})


def _get_path(tool_input: dict[str, Any]) -> str:
    return _as_text(tool_input.get("file_path") or tool_input.get("path") or tool_input.get("notebook_path"))


def _read_requested_changes(tool_input: dict[str, Any]) -> Iterator[TextChange]:
    path, edits = _get_path(tool_input), tool_input.get("edits")
    for edit in [tool_input, *(edits if isinstance(edits, list) else ())]:
        if not isinstance(edit, dict):
            continue
        new = next((edit[name] for name in CONTENT_FIELDS if edit.get(name)), None)
        old = _as_text(edit.get("old_string"))
        if new is not None or old:
            yield TextChange(path, old, _as_text(new))


def build_diffs(changes: Iterable[TextChange]) -> list[EditDiff]:
    """Return a diff for each change. Past the limit of compared lines, changes are diffed as a whole."""
    lines_left = MAX_COMPARED_LINES_TOTAL
    diffs = []
    for change in changes:
        old, new = change.old.splitlines(), change.new.splitlines()
        begin, end = _count_common_lines(old, new)
        middle = old[begin : len(old) - end], new[begin : len(new) - end]
        size = max(map(len, middle))
        compared = size <= min(MAX_COMPARED_LINES, lines_left)
        lines_left -= size if compared else 0
        lines = _build_hunks(*middle, begin) if compared else _build_whole_hunk(*middle, begin)
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        diffs.append(EditDiff(change.path, added, removed, _cut_diff("\n".join(lines))))
    return diffs


def _count_common_lines(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the numbers of equal lines at the start and the end, minus the context lines."""
    shorter = min(len(old), len(new))
    begin = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - begin) if old[-1 - at] != new[-1 - at]), shorter - begin)
    return max(0, begin - CONTEXT_LINES), max(0, end - CONTEXT_LINES)


def _build_hunks(old: list[str], new: list[str], begin: int) -> list[str]:
    from difflib import unified_diff  # noqa: PLC0415 - most events change no file

    lines = islice(unified_diff(old, new, lineterm="", n=CONTEXT_LINES), 2, None)  # skip the two file name lines
    return [
        HUNK_HEADER.sub(lambda found: _build_hunk_header(found, begin), line) if line.startswith("@@") else line
        for line in lines
    ]


def _build_hunk_header(found: re.Match[str], begin: int) -> str:
    old, new = int(found[1]) + begin, int(found[3]) + begin
    return f"@@ -{old}{found[2]} +{new}{found[4]} @@"


def _build_whole_hunk(old: list[str], new: list[str], begin: int) -> list[str]:
    """Return one hunk that removes all old lines and adds all new ones."""
    head = f"@@ -{begin + 1},{len(old)} +{begin + 1},{len(new)} @@"
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _cut_diff(text: str) -> str:
    if len(text) <= MAX_DIFF:
        return text
    shown = text[:MAX_DIFF].rpartition("\n")[0]
    return f"{shown}\n[{text.count(chr(10)) - shown.count(chr(10))} more lines]"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""
