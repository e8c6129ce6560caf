"""The chain: every entry of the trail names all that came before it, so that nothing in between can change unseen.

An entry is linked by a salted digest of its body and not by the body: what is forgotten leaves its link behind, and
nobody who guesses a body can try the guess. The chain alone cannot see that its end was cut, or that all of it was
written anew: for that a head must be known elsewhere.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

GENESIS = "0" * 64
FORGOTTEN = "forgotten"


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
    return hashlib.sha256(f"{salt} {body}".encode()).hexdigest()


def link_digest(previous: str, seq: int, kind: str, id_: str, salted: str) -> str:
    """Everything but the identifier has a fixed form, so no two entries read the same."""
    return hashlib.sha256(f"{previous} {seq} {kind} {id_} {salted}".encode()).hexdigest()


def entry_after(head: Head, kind: str, id_: str, salt: str, body: str) -> Entry:
    seq = head.seq + 1
    salted = salted_digest(salt, body)
    return Entry(seq, kind, id_, salt, body, salted, link_digest(head.digest, seq, kind, id_, salted))


def breaks_in(entries: Iterable[Entry], heads: Mapping[int, str]) -> Iterator[Break]:
    """Every place where entries, in the order of their sequence, are not what was written; `heads` were noted."""
    before: Head = BEGINNING
    known = dict(heads)
    empty: list[tuple[int, str]] = []
    for entry in entries:
        gap = entry.seq != before.seq + 1
        if gap:
            yield Break(before.seq + 1, "", _missing(before.seq + 1, entry.seq - 1))
        yield from _breaks_of(entry, None if gap else before.digest, known.pop(entry.seq, entry.digest))
        if entry.body is None:
            empty.append((entry.seq, entry.id))
        elif entry.kind == FORGOTTEN:
            for first, last in _forgotten_by(entry.body):  # it may say any numbers: only what is there is walked
                del empty[bisect_left(empty, (first,)) : bisect_left(empty, (last + 1,))]
        before = Head(entry.seq, entry.digest)
    for seq, id_ in empty:
        yield Break(seq, id_, "its body is gone, and no entry says that it was forgotten")
    beyond = [seq for seq in sorted(known) if seq > before.seq]
    if beyond:
        yield Break(before.seq + 1, "", f"the end is cut: {_missing(before.seq + 1, beyond[-1])}")


def _breaks_of(entry: Entry, previous: str | None, known: str) -> Iterator[Break]:
    if entry.body is not None and salted_digest(entry.salt or "", entry.body) != entry.salted:
        yield Break(entry.seq, entry.id, "its body was edited")
    link = entry.seq, entry.kind, entry.id, entry.salted
    if previous is not None and link_digest(previous, *link) != entry.digest:
        yield Break(entry.seq, entry.id, "it does not follow from what is before it: edited, or not in its place")
    if known != entry.digest:
        yield Break(entry.seq, entry.id, "a head that was noted here is another: the chain was written anew")


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"


def _forgotten_by(body: str) -> list[tuple[int, int]]:
    """From where to where an entry of forgetting names others; one that cannot be read names nothing."""
    try:
        return [(int(first), int(last)) for first, last in json.loads(body)["entries"]]
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return []


def spans_of(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in rising order as first and last of every run of neighbours."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans
