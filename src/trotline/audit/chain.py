"""The chain: every entry of the trail names all that came before it, so that nothing in between can change unseen.

An entry is linked by a salted digest of its body and not by the body: what is forgotten leaves its link behind, and
nobody who guesses a body can try the guess. The chain alone cannot see that its end was cut, or that all of it was
written anew: for that a head must be known elsewhere.
"""

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

GENESIS = "0" * 64
FORGOTTEN = "forgotten"
ENTRY_KINDS = {"record", "detail", FORGOTTEN}

ID = re.compile(r"[!-~]{1,128}")
SALT = re.compile(r"[0-9a-f]{32}")
DIGEST = re.compile(r"[0-9a-f]{64}")
"""What is digested is joined by spaces: with a space in one of them, two entries could read the same."""

MISSHAPEN = "it has not the form of an entry"
EDITED = "its body was edited"


class Entry(NamedTuple):
    """One link: a record, a detail, or a note of what was forgotten. Without salt and body it is forgotten itself."""

    seq: int
    kind: str
    id: str
    salt: str | None
    body: str | None
    salted: str
    digest: str


class Head(NamedTuple):
    """How far a chain went, and what it came to there."""

    seq: int
    digest: str


class Break(NamedTuple):
    """Where the chain does not hold, and how."""

    seq: int
    id: str
    what: str


BEGINNING = Head(0, GENESIS)


def salted_digest(salt: str, body: str) -> str:
    return _sha256(f"{salt} {body}")


def link_digest(previous: str, seq: int, kind: str, id_: str, salted: str) -> str:
    """Each part has a form without spaces, which `breaks_in` demands, so no two entries read the same."""
    return _sha256(f"{previous} {seq} {kind} {id_} {salted}")


def _sha256(text: str) -> str:
    """Of what it was in the file, even where that is no text: see `standing_still`."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def entry_after(head: Head, kind: str, id_: str, salt: str, body: str) -> Entry:
    seq = head.seq + 1
    salted = salted_digest(salt, body)
    return Entry(seq, kind, id_, salt, body, salted, link_digest(head.digest, seq, kind, id_, salted))


def breaks_in(entries: Iterable[Entry], *noted: Mapping[int, str]) -> Iterator[Break]:
    """Every place where entries, in the order of their sequence, are not what was written; heads were noted."""
    before: Head = BEGINNING
    empty: list[tuple[int, str]] = []
    for entry in entries:
        id_ = str(entry.id)
        if entry.seq < 1:
            yield Break(entry.seq, id_, "no entry has such a number")
            continue
        gap = entry.seq != before.seq + 1
        if gap:
            yield Break(before.seq + 1, "", _missing(before.seq + 1, entry.seq - 1))
        heads = [known.get(entry.seq, entry.digest) for known in noted]
        wrong = list(_wrong_in(entry, None if gap else str(before.digest), heads))
        yield from (Break(entry.seq, id_, what) for what in wrong)
        if entry.body is None:
            empty.append((entry.seq, id_))
        elif entry.kind == FORGOTTEN and not {MISSHAPEN, EDITED} & set(wrong):
            for first, last in forgotten_by(entry.body):  # it may say any numbers: only what is there is walked
                del empty[bisect_left(empty, (first,)) : bisect_left(empty, (last + 1,))]
        before = Head(entry.seq, entry.digest)
    for seq, id_ in empty:
        yield Break(seq, id_, "its body is gone, and no entry says that it was forgotten")
    furthest = max((seq for known in noted for seq in known), default=0)
    if furthest > before.seq:
        yield Break(before.seq + 1, "", f"the end is cut: {_missing(before.seq + 1, furthest)}")


def _wrong_in(entry: Entry, previous: str | None, heads: Iterable[str]) -> Iterator[str]:
    if not _is_shaped(entry):
        yield MISSHAPEN
        return
    if entry.body is not None and salted_digest(str(entry.salt), entry.body) != entry.salted:
        yield EDITED
    link = entry.seq, entry.kind, entry.id, entry.salted
    if previous is not None and link_digest(previous, *link) != entry.digest:
        yield "it does not follow from what is before it: edited, or not in its place"
    if any(head != entry.digest for head in heads):
        yield "a head that was noted here is another: the chain was written anew"


def _is_shaped(entry: Entry) -> bool:
    """A database keeps in any column whatever one puts there: a number, bytes, nothing."""
    kept = entry.salt is None if entry.body is None else _has_form(SALT, entry.salt) and isinstance(entry.body, str)
    return (
        kept
        and entry.kind in ENTRY_KINDS
        and _has_form(ID, entry.id)
        and _has_form(DIGEST, entry.salted)
        and _has_form(DIGEST, entry.digest)
    )


def _has_form(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"


def forgotten_by(body: str) -> list[tuple[int, int]]:
    """From where to where an entry of forgetting names others; one that cannot be read names nothing."""
    try:
        spans = json.loads(body)["entries"]
        numbers = [number for first, last in spans for number in (first, last)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    exact = isinstance(spans, list) and all(type(number) is int for number in numbers)
    return list(zip(numbers[::2], numbers[1::2], strict=True)) if exact else []


def spans_of(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in rising order as first and last of every run of neighbours."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans
