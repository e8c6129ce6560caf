"""What of a record is asked for: the columns, the facts and the words under which a store finds it.

All of it is made from the bodies, so that it can be made again, and compared.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.audit.actions import steps_of, verdict_of
from trotline.audit.edits import writes_in
from trotline.audit.kept_effects import effects_in
from trotline.audit.mcp_calls import ASKED, called_tool, is_of_a_server
from trotline.audit.own import is_our_own
from trotline.audit.shapes import dict_of, list_of, text_of
from trotline.audit.subjects import ANY, BETWEEN, PATHS, SUBJECTS, WRITES
from trotline.config.levels import MINIMAL

MOST_WORDS = 65_536
"""Characters of all the words of a record that are looked through."""

GREATEST = 1 << 62


class Columns(NamedTuple):
    id: str
    at_us: int
    host: str
    event: str
    conversation: str
    verdict: str
    command: str
    own: int


def columns_of(record: dict[str, Any]) -> Columns:
    at = record.get("at_us")
    return Columns(
        id=text_of(record.get("id")),
        at_us=at if isinstance(at, int) and 0 <= at < GREATEST else 0,
        host=text_of(record.get("host")),
        event=text_of(record.get("event")),
        conversation=text_of(record.get("conversation")),
        verdict=text_of(verdict_of(record)),
        command=text_of(_command(record)),
        own=int(is_our_own(record)),
    )


def facts_of(record: dict[str, Any]) -> set[tuple[str, str]]:
    """Of what there may be several: who decided, what it would do, to which paths, and what became of it."""
    found = {("guard", text_of(name)) for name in list_of(record.get("deciders"))}
    for effect in effects_in(record):
        found |= {("effect", text_of(effect["kind"])), ("path", text_of(effect.get("path")))}
    found |= {("path", text_of(_given(record, name))) for name in PATHS}
    found |= {("path", text_of(path)) for path in _paths(record)}
    found |= writes_in(record)
    found |= {(kind, text_of(name)) for kind, name in steps_of(record)}
    return {(kind, name) for kind, name in found if name}


def words_of(record: dict[str, Any]) -> str:
    """What a person may remember of it: names, and all that was said."""
    detail = _detail(record)
    told = [record.get(name) for name in ("event", "host", "tool", "deciders", "losses")]
    told += [
        detail.get(name) for name in ("payload", "reasons", "warnings", "effects", "reply", "hooks", "attachments")
    ]
    told += [detail.get(name) for name in ("diffs", "measures")]
    words, left = [], MOST_WORDS
    for text in _texts(told):
        words.append(text[:left])
        left -= len(text) + 1
        if left <= 0:
            break
    return text_of("\n".join(words), MOST_WORDS)


def subject_of(record: dict[str, Any]) -> str:
    """What the call was about: its command, its file, its prompt; its tool, and what was said last."""
    for about in (_called, _written):
        if found := about(record):
            return text_of(found)
    names = SUBJECTS.get(str(record.get("event")), ANY)
    return text_of(next((given for name in names if (given := _given(record, name))), ""))


def _command(record: dict[str, Any]) -> str:
    """A patch is none, and nor is the line that starts a server."""
    return "" if record.get("tool") == WRITES or is_of_a_server(record) else _given(record, "command")


def _called(record: dict[str, Any]) -> str:
    """The tool of a server, and the server as far as it is known."""
    server, tool = called_tool(record)
    if server or not tool:
        return f"{server}:{tool}" if tool else ""
    begun = _given(record, "command") or _given(record, "url") if record.get("event") == ASKED else ""
    return f"{tool} ({begun})" if begun else tool


def _written(record: dict[str, Any]) -> str:
    if record.get("tool") != WRITES:
        return ""
    return next((given for name in PATHS if (given := _given(record, name))), "") or BETWEEN.join(_paths(record))


def _paths(record: dict[str, Any]) -> list[str]:
    """The files of a patch and of edits; where no words are kept, nobody can read their names."""
    detail = _detail(record)
    if detail.get("level") == MINIMAL:
        return []
    named = list_of(dict_of(detail.get("about")).get("paths"))
    edited = [row[0] for row in list_of(detail.get("lines")) if isinstance(row, list) and row]
    return list(dict.fromkeys(path for path in (*named, *edited) if isinstance(path, str)))


def _given(record: dict[str, Any], name: str) -> str:
    detail = _detail(record)
    payload = dict_of(detail.get("payload"))
    places = (dict_of(detail.get("about")), payload, dict_of(payload.get("tool_input")))
    found = next((place[name] for place in places if place.get(name)), "")
    return BETWEEN.join(map(str, found)) if isinstance(found, list) else str(found)


def _detail(record: dict[str, Any]) -> dict[str, Any]:
    return dict_of(record.get("detail"))


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
