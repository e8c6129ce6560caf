"""The hash chain: every entry of the audit log depends on all entries before it, so that no change goes unnoticed.

An entry is linked by a salted digest of its body instead of the body itself: a forgotten entry leaves its link behind,
and a guessed body cannot be tested against it. The chain alone cannot show that its end was cut off or that all of it
was rewritten; that requires a head that is known from elsewhere.
"""

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

GENESIS = "0" * 64
TOMBSTONE = "forgotten"
ENTRY_KINDS = {"record", "detail", TOMBSTONE}

ENTRY_ID = re.compile(r"[!-~]{1,128}")
ENTRY_SALT = re.compile(r"[0-9a-f]{32}")
ENTRY_DIGEST = re.compile(r"[0-9a-f]{64}")
"""Patterns without spaces: the digested parts are joined by spaces, so a space could make two entries look the same."""

MISSHAPEN = "it has not the form of an entry"
EDITED = "its body was edited"


class ChainEntry(NamedTuple):
    """A link of the chain: a record, a detail or a tombstone. A forgotten entry has neither salt nor body."""

    seq: int
    kind: str
    id: str
    salt: str | None
    body: str | None
    salted: str
    digest: str


class ChainHead(NamedTuple):
    """The number and digest of the last entry of a chain."""

    seq: int
    digest: str


class ChainBreak(NamedTuple):
    """A place where the chain is broken, and a description of the fault."""

    seq: int
    id: str
    what: str


EMPTY_HEAD = ChainHead(0, GENESIS)


def compute_salted_digest(salt: str, body: str) -> str:
    """Return the digest of a body with its salt."""
    return _sha256(f"{salt} {body}")


def compute_link_digest(previous: str, seq: int, kind: str, id_: str, salted: str) -> str:
    """Return the digest that links an entry to the previous one.

    `find_breaks` rejects parts that contain spaces, so no two entries have the same text.
    """
    return _sha256(f"{previous} {seq} {kind} {id_} {salted}")


def _sha256(text: str) -> str:
    """Hash the bytes as they are in the file, even if they are not valid UTF-8; see `read_snapshot`."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def build_entry(head: ChainHead, kind: str, id_: str, salt: str, body: str) -> ChainEntry:
    """Build the entry that follows a head."""
    seq = head.seq + 1
    salted = compute_salted_digest(salt, body)
    return ChainEntry(seq, kind, id_, salt, body, salted, compute_link_digest(head.digest, seq, kind, id_, salted))


def find_breaks(entries: Iterable[ChainEntry], *noted: Mapping[int, str]) -> Iterator[ChainBreak]:
    """Yield every place where the chain is broken or contradicts a known head.

    Entries come in order of their numbers. Each mapping in `noted` has digests by entry number.
    """
    before: ChainHead = EMPTY_HEAD
    empty: list[tuple[int, str]] = []
    for entry in entries:
        id_ = str(entry.id)
        if entry.seq < 1:
            yield ChainBreak(entry.seq, id_, "no entry has such a number")
            continue
        gap = entry.seq != before.seq + 1
        if gap:
            yield ChainBreak(before.seq + 1, "", _describe_missing(before.seq + 1, entry.seq - 1))
        heads = [known.get(entry.seq, entry.digest) for known in noted]
        wrong = list(_wrong_in(entry, None if gap else str(before.digest), heads))
        yield from (ChainBreak(entry.seq, id_, what) for what in wrong)
        if entry.body is None:
            empty.append((entry.seq, id_))
        elif entry.kind == TOMBSTONE and not {MISSHAPEN, EDITED} & set(wrong):
            for first, last in list_forgotten(entry.body):  # ranges may be huge, so never iterate over them
                del empty[bisect_left(empty, (first,)) : bisect_left(empty, (last + 1,))]
        before = ChainHead(entry.seq, entry.digest)
    for seq, id_ in empty:
        yield ChainBreak(seq, id_, "its body is gone, and no entry says that it was forgotten")
    furthest = max((seq for known in noted for seq in known), default=0)
    if furthest > before.seq:
        yield ChainBreak(before.seq + 1, "", f"the end is cut: {_describe_missing(before.seq + 1, furthest)}")


def _wrong_in(entry: ChainEntry, previous: str | None, heads: Iterable[str]) -> Iterator[str]:
    if not _is_shaped(entry):
        yield MISSHAPEN
        return
    if entry.body is not None and compute_salted_digest(str(entry.salt), entry.body) != entry.salted:
        yield EDITED
    link = entry.seq, entry.kind, entry.id, entry.salted
    if previous is not None and compute_link_digest(previous, *link) != entry.digest:
        yield "it does not follow from what is before it: edited, or not in its place"
    if any(head != entry.digest for head in heads):
        yield "a head that was noted here is another: the chain was written anew"


def _is_shaped(entry: ChainEntry) -> bool:
    """Check the types and forms of an entry, because SQLite columns accept values of any type."""
    stored = (
        entry.salt is None if entry.body is None else _has_form(ENTRY_SALT, entry.salt) and isinstance(entry.body, str)
    )
    return (
        stored
        and entry.kind in ENTRY_KINDS
        and _has_form(ENTRY_ID, entry.id)
        and _has_form(ENTRY_DIGEST, entry.salted)
        and _has_form(ENTRY_DIGEST, entry.digest)
    )


def _has_form(form: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None


def _describe_missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"


def list_forgotten(body: str) -> list[tuple[int, int]]:
    """Return the first and last number of each run of entries in a tombstone; nothing if it cannot be read."""
    try:
        spans = json.loads(body)["entries"]
        numbers = [number for first, last in spans for number in (first, last)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    exact = isinstance(spans, list) and all(type(number) is int for number in numbers)
    return list(zip(numbers[::2], numbers[1::2], strict=True)) if exact else []


def group_runs(numbers: Iterable[int]) -> list[list[int]]:
    """Group ascending numbers into runs of consecutive ones, each given by its first and last number."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans
