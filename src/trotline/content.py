"""What stands in the texts of an event, as effects that guards judge and as findings that are kept.

A found value is in neither. It is kept here only as long as an answer is made, to take it out of what others say.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from trotline.effects import Certainty, Effect
from trotline.errors import TrotlineError
from trotline.findings import Finding
from trotline.pattern import pattern
from trotline.texts import ARGUMENTS, COMMAND, NAME, OUTPUT, PROMPT, READ, RESPONSE, WRITE, Text

if TYPE_CHECKING:
    from trotline.scanners.finding import Span
    from trotline.scanners.scan import Scanner

KIND = "content"
SECRETS, PERSONAL, INJECTION, INVISIBLE = "secrets", "pii", "injection", "invisible"

SCANNERS: dict[str, tuple[str, ...]] = {
    ARGUMENTS: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    COMMAND: (SECRETS, INVISIBLE),
    NAME: (INVISIBLE,),
    OUTPUT: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    PROMPT: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    READ: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    RESPONSE: (SECRETS, PERSONAL, INVISIBLE),
    WRITE: (SECRETS, PERSONAL, INVISIBLE),
}
"""Which scanners look at what kind of text."""

MOST_OF_A_KIND = 100
"""Findings of one kind in one text; after that it is enough to know that there are many; others may still come."""


class Pieces(NamedTuple):
    """A file of the disk. `cut` says, once they were read, that there was more than anybody waits for."""

    pieces: Iterable[bytes]
    cut: Callable[[], bool] = bool


class Scanning(NamedTuple):
    """What the machine gives: the key of this installation, its scanners, its disk. Each is asked for when needed."""

    key: Callable[[], bytes]
    scanners: Callable[[], "dict[str, Scanner]"]
    file: Callable[[str], Pieces | None]
    own_rules: bool = False  # whether people have rules beside ours, of which nothing is known here


class Content(NamedTuple):
    effects: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()
    values: tuple[str, ...] = ()

    def without(self, text: str) -> str:
        """A text of somebody else without what was found."""
        for value in self.values:
            text = text.replace(value, "*" * len(value))
        return text


NOTHING = Content()


def content_of(texts: Sequence[Text], files: Sequence[str], scanning: Scanning) -> Content:
    """What stands in these texts, and in these files, which somebody wants to read."""
    found = [one for text in texts if _worth(text, scanning) for one in _in_text(text, scanning)]
    found += [one for path in files for one in _in_file(path, scanning)]
    if not found:
        return NOTHING
    key = scanning.key() if any(one.span for one in found) else b""
    values = {one.span.value for one in found if one.span and one.span.scanner in TAKEN_OUT}
    return Content(
        tuple(_effects(found)),
        tuple(one.span.finding(key, one.path or one.source) for one in found if one.span),
        tuple(sorted({part for value in values for part in _parts(value)}, key=len, reverse=True)),
    )


def in_command(command: str, scanning: Scanning) -> Content:
    return content_of([Text(COMMAND, command)], (), scanning)


TAKEN_OUT = frozenset({SECRETS, PERSONAL})


def _parts(value: bytes) -> Iterator[str]:
    """The value, and what is left of it in a path or a line: `a//b` is `a/b` to whoever reads a path."""
    text = value.decode("utf-8", "replace")
    yield text
    yield from LONG.findall(text)


class Found(NamedTuple):
    """A span of a text, or no span: then the rest of the text was not looked at."""

    source: str
    path: str
    span: "Span | None"


def _in_text(text: Text, scanning: Scanning) -> Iterator[Found]:
    known = {span.value for span in _spans(text.before, text.source, text.path, scanning)} if text.before else ()
    spans = (span for span in _spans(text.text, text.source, text.path, scanning) if span.value not in known)
    yield from (Found(text.source, text.path, span) for span in _first_of_each_kind(spans))


def _in_file(path: str, scanning: Scanning) -> Iterator[Found]:
    given = scanning.file(path)
    if given is None:
        return
    spans = _spans(given.pieces, READ, path, scanning)
    yield from (Found(READ, path, span) for span in _first_of_each_kind(spans))
    if given.cut():
        yield Found(READ, path, None)


def _first_of_each_kind(spans: "Iterable[Span]") -> "Iterator[Span]":
    """All are looked at: whoever could end the look with a thousand harmless ones would hide what comes after them."""
    seen: Counter[tuple[object, ...]] = Counter()
    for span in spans:
        what = _what(span)
        seen[what] += 1
        if seen[what] <= MOST_OF_A_KIND:
            yield span


def _what(span: "Span") -> tuple[object, ...]:
    return span.scanner, span.kind, span.certainty


def _spans(text: str | Iterable[bytes], source: str, path: str, scanning: Scanning) -> "Iterator[Span]":
    from trotline.scanners.scan import spans_of  # noqa: PLC0415 - most commands hold nothing to look at closely

    every = scanning.scanners()
    scanners = [every[name] for name in SCANNERS[source] if name in every]
    return spans_of(text, scanners, path=path if path.isascii() else _spelled(path))


def _spelled(path: str) -> str:
    """A path in which half a surrogate pair is no reason to fail: rules look at names as bytes."""
    return path.encode("utf-8", "replace").decode()


def _effects(found: Sequence[Found]) -> Iterator[Effect]:
    """One for each kind in each text, however often it stands there."""
    groups: dict[tuple[object, ...], list[Found]] = {}
    for one in found:
        what = _what(one.span) if one.span else ()
        groups.setdefault((one.source, one.path, *what), []).append(one)
    for first, *more in groups.values():
        yield _effect(first, len(more))


def _effect(found: Found, more: int) -> Effect:
    span = found.span
    if span is None:
        why = "only the beginning was looked at"
        return Effect(kind=KIND, verb="rest", source=found.source, path=found.path, certainty=Certainty.OPAQUE, why=why)
    in_line = found.source == COMMAND and span.place.line == span.place.line_to == 1
    return Effect(
        kind=KIND,
        verb=span.scanner,
        source=found.source,
        path=found.path,
        target=span.kind,
        certainty=span.certainty,
        column_from=span.place.column_from - 1 if in_line else 0,
        column_to=span.place.column_to - 1 if in_line else 0,
        why=f"line {span.place.line}" + (f", and {_some(more)} more" if more else ""),
    )


def _some(more: int) -> str:
    return str(more) if more < MOST_OF_A_KIND - 1 else "many"


# What a command must have before scanners are read for it: a cold call would wait twice as long

LONG = pattern(r"[0-9A-Za-z_+=~\-]{16,}")
TELLING = ("pass", "pwd", "secret", "token", "key", "auth", "credential", "bearer", "basic")
TELLING_PLACES = ("hooks.", ":5432:", ":5433:", ":6432:", "\x1b", "identified", "redis-cli")
TOGETHER = (
    ("://", "@"),
    ("curl", "-u"),
    ("curl", "--user"),
    ("mysql", " -p"),
    ("mariadb", " -p"),
    ("login", " -p"),
)


def _worth(text: Text, scanning: Scanning) -> bool:
    """Whether a text can hold anything; the same for a service and for a process that begins with this call."""
    if text.source == NAME:
        return not text.text.isascii()
    return text.source != COMMAND or scanning.own_rules or tells(text.text)


def tells(command: str) -> bool:
    """A secret is long and no word, or stands behind a word that tells, or is part of an address."""
    if not command.isascii() or any(one in command and other in command for one, other in TOGETHER):
        return True
    lowered = command.lower()
    return any(word in lowered for word in (*TELLING, *TELLING_PLACES)) or any(map(_no_word, LONG.findall(command)))


def _no_word(run: str) -> bool:
    """Figures between letters, or letters of both cases."""
    letters = run.upper() != run.lower()
    return letters and (any(char.isdigit() for char in run) or (run != run.lower() and run != run.upper()))


FIELDS = ("path", "host", "target", "package", "source", "why")
"""The texts of an effect: what guards quote."""

MOST_DIGITS = 6
"""In a text without more, no number is a card, an account or a telephone."""


def taken_out(effect: Effect, content: Content) -> Effect:
    """The effect of somebody else without found values, which may be part of a path."""
    return _changed(effect, content.without)


def discreet(effect: Effect, content: Content, scanning: Scanning) -> Effect:
    """The effect as a person and a model may hear of it. What a line says in pieces, or in an encoding, is whole only
    here, and names of files are looked at by nobody before."""

    def clean(text: str) -> str:
        return _redacted(without, scanning) if _may_hold(without := content.without(text), scanning) else without

    return _changed(effect, clean)


def quoted(text: str, scanning: Scanning) -> str:
    """A finished sentence that quotes an action, the same way."""
    return _redacted(text, scanning) if _may_hold(text, scanning) else text


def _changed(effect: Effect, change: Callable[[str], str]) -> Effect:
    texts = {name: getattr(effect, name) for name in FIELDS}
    clean = {name: change(text) for name, text in texts.items()}
    return effect if clean == texts else msgspec.structs.replace(effect, **clean)


def _may_hold(text: str, scanning: Scanning) -> bool:
    """Most of what is quoted is a plain path, and a cold call would wait for scanners as long as for all the rest."""
    many = sum(map(str.isdigit, text)) > MOST_DIGITS
    return bool(text) and (scanning.own_rules or many or "@" in text or tells(text))


def _redacted(text: str, scanning: Scanning) -> str:
    from trotline.scanners.redaction import redacted  # noqa: PLC0415 - few actions quote anything

    every = scanning.scanners()
    try:
        key = scanning.key()
    except TrotlineError:
        key = os.urandom(16)  # what is sent needs no digits that can be compared
    scanners = [every[name] for name in sorted(TAKEN_OUT) if name in every]
    whole = redacted(text, key, scanners)[0]
    return "/".join(redacted(name, key, scanners)[0] for name in whole.split("/"))  # a mail address may name a file
