"""What of a record is asked for: the columns, the facts and the words under which a store finds it.

All of it is made from the bodies, so that it can be made again, and compared.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.audit.actions import steps_of, verdict_of
from trotline.audit.edits import writes_in
from trotline.audit.own import is_our_own
from trotline.audit.shapes import dict_of, list_of, text_of

MOST_WORDS = 65_536
"""Characters of all the words of a record that are looked through."""

PATHS = ("file_path", "path", "notebook_path")
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
        command=text_of(_given(record, "command")),
        own=int(is_our_own(record)),
    )


def facts_of(record: dict[str, Any]) -> set[tuple[str, str]]:
    """Of what there may be several: who decided, what it would do, to which paths, and what became of it."""
    found = {("guard", text_of(name)) for name in list_of(record.get("deciders"))}
    for effect in list_of(_detail(record).get("effects")):
        if isinstance(effect, list) and len(effect) == 3:
            found |= {("effect", text_of(effect[0])), ("path", text_of(effect[2]))}
    found |= {("path", text_of(_given(record, name))) for name in PATHS}
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
    """What the call was about: its command, its file, its prompt."""
    found = next((given for name in SUBJECTS if (given := _given(record, name))), "")
    return text_of(found)


SUBJECTS = ("command", *PATHS, "prompt", "url", "query", "text", "status", "reason")


def _given(record: dict[str, Any], name: str) -> str:
    detail = _detail(record)
    payload = dict_of(detail.get("payload"))
    places = (dict_of(detail.get("about")), payload, dict_of(payload.get("tool_input")))
    return next((str(place[name]) for place in places if place.get(name)), "")


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
