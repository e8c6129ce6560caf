"""The index of records: the columns, facts and search text by which the store finds them.

All of it is derived from the bodies, so that it can be rebuilt and compared.

Spans narrow a time range down to a range of entries. Records arrive nearly in the order of their times, but not quite:
a spool may have waited, a clock may have been set back. Without spans, a query such as "the last two hours" would scan
the log back to its first record. For every hundred entries, a span holds the earliest time in or after them and the
latest time in or before them: later records come after the span, earlier records come before it.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.audit.record.actions import list_steps
from trotline.audit.record.record_reader import (
    BEFORE_MCP,
    as_dict,
    as_list,
    clean_text,
    get_mcp_call,
    get_verdict,
    is_mcp_event,
    is_self_test,
    list_effects,
    list_write_facts,
)
from trotline.audit.record.subjects import (
    DEFAULT_SUBJECT_FIELDS,
    PATH_FIELDS,
    SUBJECT_FIELDS,
    SUBJECT_SEPARATOR,
    WRITE_TOOL,
)
from trotline.config.detail_levels import MINIMAL

MAX_SEARCH_TEXT = 65_536
"""Maximum number of characters indexed for full-text search per record."""

MAX_INTEGER = 1 << 62


class RecordColumns(NamedTuple):
    """The indexed columns of a record."""

    id: str
    at_us: int
    agent: str
    event: str
    conversation: str
    verdict: str
    command: str
    own: int


def build_columns(record: dict[str, Any]) -> RecordColumns:
    """Build the indexed columns of a record."""
    at = record.get("at_us")
    return RecordColumns(
        id=clean_text(record.get("id")),
        at_us=at if isinstance(at, int) and 0 <= at < MAX_INTEGER else 0,
        agent=clean_text(record.get("agent")),
        event=clean_text(record.get("event")),
        conversation=clean_text(record.get("conversation")),
        verdict=clean_text(get_verdict(record)),
        command=clean_text(_command(record)),
        own=int(is_self_test(record)),
    )


def build_facts(record: dict[str, Any]) -> set[tuple[str, str]]:
    """Build the (kind, name) pairs of a record: guards that decided, effects, paths, writes and action steps.

    A record may have several of each, so they are not columns.
    """
    found = {("guard", clean_text(name)) for name in as_list(record.get("deciders"))}
    for effect in list_effects(record):
        found |= {("effect", clean_text(effect["kind"])), ("path", clean_text(effect.get("path")))}
    found |= {("path", clean_text(_get_field(record, name))) for name in PATH_FIELDS}
    found |= {("path", clean_text(path)) for path in _paths(record)}
    found |= list_write_facts(record)
    found |= {(kind, clean_text(name)) for kind, name in list_steps(record)}
    return {(kind, name) for kind, name in found if name}


def build_search_text(record: dict[str, Any]) -> str:
    """Build the text for full-text search from the names in a record and the texts of its detail."""
    detail = _detail(record)
    told = [record.get(name) for name in ("event", "agent", "tool", "deciders", "losses")]
    told += [
        detail.get(name) for name in ("payload", "reasons", "warnings", "effects", "reply", "hooks", "attachments")
    ]
    told += [detail.get(name) for name in ("diffs", "measures")]
    words, left = [], MAX_SEARCH_TEXT
    for text in _texts(told):
        words.append(text[:left])
        left -= len(text) + 1
        if left <= 0:
            break
    return clean_text("\n".join(words), MAX_SEARCH_TEXT)


def get_subject(record: dict[str, Any]) -> str:
    """Return what a call was about, for example its MCP tool, command, file, prompt or last message."""
    for about in (_get_mcp_subject, _get_written_paths):
        if found := about(record):
            return clean_text(found)
    names = SUBJECT_FIELDS.get(str(record.get("event")), DEFAULT_SUBJECT_FIELDS)
    return clean_text(next((given for name in names if (given := _get_field(record, name))), ""))


def _command(record: dict[str, Any]) -> str:
    """Return the shell command; a patch and the command that starts an MCP server do not count as one."""
    return "" if record.get("tool") == WRITE_TOOL or is_mcp_event(record) else _get_field(record, "command")


def _get_mcp_subject(record: dict[str, Any]) -> str:
    """Return the MCP tool with its server, as far as the server is known."""
    server, tool = get_mcp_call(record)
    if server or not tool:
        return f"{server}:{tool}" if tool else ""
    begun = _get_field(record, "command") or _get_field(record, "url") if record.get("event") == BEFORE_MCP else ""
    return f"{tool} ({begun})" if begun else tool


def _get_written_paths(record: dict[str, Any]) -> str:
    if record.get("tool") != WRITE_TOOL:
        return ""
    return next((given for name in PATH_FIELDS if (given := _get_field(record, name))), "") or SUBJECT_SEPARATOR.join(
        _paths(record)
    )


def _paths(record: dict[str, Any]) -> list[str]:
    """Return the files of a patch and of edits; their names are not readable at the minimal detail level."""
    detail = _detail(record)
    if detail.get("level") == MINIMAL:
        return []
    named = as_list(as_dict(detail.get("about")).get("paths"))
    edited = [row[0] for row in as_list(detail.get("lines")) if isinstance(row, list) and row]
    return list(dict.fromkeys(path for path in (*named, *edited) if isinstance(path, str)))


def _get_field(record: dict[str, Any], name: str) -> str:
    detail = _detail(record)
    payload = as_dict(detail.get("payload"))
    places = (as_dict(detail.get("about")), payload, as_dict(payload.get("tool_input")))
    found = next((place[name] for place in places if place.get(name)), "")
    return SUBJECT_SEPARATOR.join(map(str, found)) if isinstance(found, list) else str(found)


def _detail(record: dict[str, Any]) -> dict[str, Any]:
    return as_dict(record.get("detail"))


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += reversed(one.values())
        elif isinstance(one, list):
            waiting += reversed(one)


SINCE_CONDITION = "{seq} >= 100 * (SELECT number FROM spans WHERE last_us >= ? ORDER BY last_us, number LIMIT 1)"
UNTIL_CONDITION = (
    "{seq} < 100 * (1 + (SELECT number FROM spans WHERE first_us < ? ORDER BY first_us DESC, number DESC LIMIT 1))"
)
"""SQL conditions on the column `seq` that limit a query to the spans of a time range.

Without a matching span the subquery is NULL, and no row matches.
"""

_OF_RECORDS = (
    "SELECT number, min(earliest) OVER (ORDER BY number DESC), max(latest) OVER (ORDER BY number)"
    " FROM (SELECT seq / 100 AS number, min(at_us) AS earliest, max(at_us) AS latest"
    " FROM records WHERE seq > ? GROUP BY 1) ORDER BY number"
)

_WIDEN = (
    "INSERT INTO spans VALUES (?1, ?2, max(?3, coalesce((SELECT max(last_us) FROM spans), ?3)))"
    " ON CONFLICT (number) DO UPDATE SET first_us = min(first_us, excluded.first_us), last_us = excluded.last_us"
)


def extend_spans(db: sqlite3.Connection, after: int) -> None:
    """Update the spans with the records after an entry."""
    found = db.execute(_OF_RECORDS, (after,)).fetchall()
    db.executemany(_WIDEN, found)
    if found:
        number, earliest, _ = found[0]
        db.execute("UPDATE spans SET first_us = ? WHERE first_us > ? AND number < ?", (earliest, earliest, number))


def rebuild_spans(db: sqlite3.Connection) -> None:
    """Rebuild all spans from the remaining records, so that the times of forgotten records are gone too."""
    db.execute("DELETE FROM spans")
    extend_spans(db, -1)


def find_wrong_spans(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield the number and id of an entry in each span that would lead a query with a time to the wrong place."""
    kept, right = set(db.execute("SELECT number, first_us, last_us FROM spans")), set(db.execute(_OF_RECORDS, (-1,)))
    for number in sorted({span[0] for span in kept ^ right}):
        found = "SELECT seq, id FROM records WHERE seq >= ? AND seq < ? LIMIT 1"
        yield db.execute(found, (100 * number, 100 * number + 100)).fetchone() or (100 * number, "")
