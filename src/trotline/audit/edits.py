"""Edits as records tell of them: which files, how many lines, by whom; each once, however often hosts tell."""

from typing import Any, NamedTuple

from trotline.audit.actions import verdict_of
from trotline.audit.shapes import dict_of, list_of, text_of
from trotline.config.levels import MINIMAL
from trotline.hosts import HOSTS, host_named

BY = {"afterFileEdit": "agent", "afterTabFileEdit": "tab"}
WRITES = "Write"
ASKED, DONE = "preToolUse", "postToolUse"
UNKEPT = "(not kept)"
"""The file of an edit of which no words are kept."""


class Edited(NamedTuple):
    path: str
    added: int
    removed: int


def edited_in(record: dict[str, Any]) -> list[Edited]:
    """Files with what they gained and lost, if this record is the one to say so."""
    if not _tells_of_an_edit(record):
        return []
    return _lines_in(record) or [Edited(_path_in(record), 0, 0)]


def creates(record: dict[str, Any]) -> bool:
    """Whether it tells of a file that was not there: Cursor says nothing of what is in it, then."""
    return record.get("event") in BY and dict_of(record.get("detail")).get("lines") == []


def planned_in(record: dict[str, Any]) -> list[Edited]:
    """What is to be written, where only this event says how much: whether it is a new file, the one after it tells."""
    is_write = record.get("event") == ASKED and record.get("tool") == WRITES and verdict_of(record) != "deny"
    return _lines_in(record) if is_write and raises_both(record) else []


def _lines_in(record: dict[str, Any]) -> list[Edited]:
    detail = dict_of(record.get("detail"))
    named = detail.get("level") != MINIMAL  # at that level paths are digests, which nobody can read
    found: dict[str, list[int]] = {}
    for line in list_of(detail.get("lines")):
        if isinstance(line, list) and len(line) == 3 and all(isinstance(count, int) for count in line[1:]):
            sums = found.setdefault(text_of(line[0]) if named else UNKEPT, [0, 0])
            sums[0] += line[1]
            sums[1] += line[2]
    return [Edited(path, *sums) for path, sums in found.items()]


def _path_in(record: dict[str, Any]) -> str:
    path = dict_of(dict_of(record.get("detail")).get("payload")).get("file_path")
    return text_of(path) if path and isinstance(path, str) else UNKEPT


def writes_in(record: dict[str, Any]) -> set[tuple[str, str]]:
    """The facts of an event that says nothing but that a file was edited: nobody judges it, so it has no effects."""
    if str(record.get("event")) not in BY:
        return set()
    paths = {("path", edited.path) for edited in edited_in(record) if edited.path != UNKEPT}
    return {("effect", "write"), *paths}


def raises_both(record: dict[str, Any]) -> bool:
    """Whether its host tells of commands, edits and servers once more beside the event of every tool."""
    name = str(record.get("host"))
    return name not in HOSTS or host_named(name).both


def _tells_of_an_edit(record: dict[str, Any]) -> bool:
    if str(record.get("event")) in BY:
        return True
    is_write = record.get("event") == DONE and record.get("tool") == WRITES
    failed = dict_of(dict_of(record.get("detail")).get("measures")).get("failed")
    return is_write and not failed and not raises_both(record)
