"""The chain of the trail: whatever one changes in it is found, and where."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import independent_verifier
from store_behaviour import HOUR, detail, keep, record
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.audit.verify.chain import (
    EMPTY_HEAD,
    ChainBreak,
    ChainEntry,
    ChainHead,
    build_entry,
    find_breaks,
    group_runs,
)
from trotline.audit.verify.verification import verify_audit_log

VERIFIER = Path(__file__).parent.parent / "scripts" / "independent_verifier.py"


def chain(bodies: list[str]) -> list[ChainEntry]:
    entries: list[ChainEntry] = []
    head = EMPTY_HEAD
    for number, body in enumerate(bodies):
        entries.append(build_entry(head, "record", f"id-{number}", f"{number:032}", body))
        head = head._replace(seq=entries[-1].seq, digest=entries[-1].digest)
    return entries


CHAINS = st.lists(st.text(max_size=20), min_size=2, max_size=12).map(chain)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["record", "detail", "forgotten"]),
    "id": st.text(max_size=8),
    "salt": st.text("0123456789abcdef", min_size=32, max_size=32),
    "body": st.text(max_size=20),
    "salted": st.text("0123456789abcdef", min_size=64, max_size=64),
    "digest": st.text("0123456789abcdef", min_size=64, max_size=64),
}


@given(CHAINS)
def test_what_nobody_touched_holds(entries: list[ChainEntry]) -> None:
    assert list(find_breaks(entries, {entry.seq: entry.digest for entry in entries})) == []


@given(CHAINS, st.data())
def test_any_edit_of_any_field_is_found_where_it_is(entries: list[ChainEntry], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(entries) - 1))
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    edited = entries[at]._replace(**{name: data.draw(FIELDS[name])})
    found = list(find_breaks([*entries[:at], edited, *entries[at + 1 :]], {}))
    if edited == entries[at]:
        assert found == []
    else:
        assert found[0].seq == edited.seq


@given(CHAINS, st.data())
def test_any_deletion_before_the_end_is_found_where_it_is(entries: list[ChainEntry], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(entries) - 2))
    last = data.draw(st.integers(first, len(entries) - 2))
    found = list(find_breaks([*entries[:first], *entries[last + 1 :]], {}))
    assert [one.seq for one in found] == [first + 1]
    assert "missing" in found[0].what


@given(CHAINS, st.data())
def test_a_cut_end_is_found_by_a_head_that_is_known(entries: list[ChainEntry], data: st.DataObject) -> None:
    left = data.draw(st.integers(0, len(entries) - 1))
    assert list(find_breaks(entries[:left], {})) == []
    found = list(find_breaks(entries[:left], {entries[-1].seq: entries[-1].digest}))
    assert [one.seq for one in found] == [left + 1]
    assert "the end is cut" in found[0].what


@given(CHAINS, st.data())
def test_entries_that_change_places_are_found(entries: list[ChainEntry], data: st.DataObject) -> None:
    one = data.draw(st.integers(0, len(entries) - 2))
    other = data.draw(st.integers(one + 1, len(entries) - 1))
    swapped = list(entries)
    swapped[one] = entries[other]._replace(seq=entries[one].seq)
    swapped[other] = entries[one]._replace(seq=entries[other].seq)
    assert entries[one].seq in {found.seq for found in find_breaks(swapped, {})}


@given(CHAINS, CHAINS)
def test_a_chain_that_was_written_anew_is_found_by_a_head_that_is_known(
    old: list[ChainEntry], new: list[ChainEntry]
) -> None:
    at = min(len(old), len(new)) - 1
    found = list(find_breaks(new, {old[at].seq: old[at].digest}))
    assert (found == []) == (old[at].digest == new[at].digest)


@given(st.sets(st.integers(0, 60)))
def test_spans_name_the_numbers_and_no_others(numbers: set[int]) -> None:
    spans = group_runs(sorted(numbers))
    assert [number for first, last in spans for number in range(first, last + 1)] == sorted(numbers)
    assert all(one[1] + 1 < other[0] for one, other in pairwise(spans))


def test_a_body_that_is_gone_must_have_been_forgotten() -> None:
    entries = chain(["a", "b", "c"])
    entries[1] = entries[1]._replace(salt=None, body=None)
    said = "its body is gone, and no entry says that it was forgotten"
    assert list(find_breaks(entries, {})) == [ChainBreak(2, "id-1", said)]


def forgetting(spans: object, *gone: int) -> list[ChainEntry]:
    """Five entries, some of them empty, and a note that says what was forgotten."""
    entries = chain(list("abcde"))
    head = EMPTY_HEAD._replace(seq=5, digest=entries[-1].digest)
    note = build_entry(head, "forgotten", "note", "0" * 32, json.dumps({"entries": spans}))
    return [one._replace(salt=None, body=None) if one.seq in gone else one for one in [*entries, note]]


def elsewhere(entries: list[ChainEntry], heads: dict[int, Any] | None = None) -> list[int]:
    """What the verifier that knows nothing of us finds in these."""
    db = sqlite3.connect(":memory:")
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    db.execute("CREATE TABLE entries (seq, kind, id, salt, body, salted, digest)")
    db.execute("CREATE TABLE checkpoints (seq, digest)")
    db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entries)
    db.executemany("INSERT INTO checkpoints VALUES (?, ?)", (heads or {}).items())
    found = [int(problem.partition(":")[0]) for problem in independent_verifier.problems(db, [])]
    db.close()
    return found


@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)), max_size=4), st.sets(st.integers(1, 5)))
def test_what_is_gone_and_named_by_no_note_is_a_break(spans: list[tuple[int, int]], gone: set[int]) -> None:
    entries = forgetting(spans, *gone)
    unnamed = sorted(seq for seq in gone if not any(first <= seq <= last for first, last in spans))
    assert [one.seq for one in find_breaks(entries, {})] == unnamed
    assert elsewhere(entries) == unnamed


def test_a_note_that_names_numbers_without_end_takes_no_longer_than_another() -> None:
    entries = forgetting([[3, 10**18], [-(10**18), 1]], 1, 2, 3, 5)
    assert [one.seq for one in find_breaks(entries, {})] == elsewhere(entries) == [2]


@pytest.mark.parametrize(
    "spans",
    [
        [[1, float("inf")]],
        [[float("nan"), 1]],
        [[1]],
        [[1, 2, 3]],
        [["a", "b"]],
        [["1", "1"]],
        {"11": 1},
        [[1.0, 1]],
        7,
    ],
)
def test_a_note_that_cannot_be_read_names_nothing(spans: object) -> None:
    entries = forgetting(spans, 1)
    assert [one.seq for one in find_breaks(entries, {})] == elsewhere(entries) == [1]


@pytest.mark.parametrize("body", ["garbage", '{"entries": 5}', "[]", "[[1, 2, 3]]", "[" * 100_000])
def test_a_note_that_is_no_note_names_nothing(body: str) -> None:
    entries = forgetting([], 1)[:5]
    entries.append(build_entry(ChainHead(5, entries[-1].digest), "forgotten", "note", "0" * 32, body))
    assert [one.seq for one in find_breaks(entries, {})] == elsewhere(entries) == [1]


def test_a_checkpoint_that_contradicts_is_found_although_an_anchor_at_the_same_entry_does_not() -> None:
    entries = chain(list("abc"))
    found = find_breaks(entries, {2: "f" * 64}, {2: entries[1].digest})
    assert [(one.seq, "written anew" in one.what) for one in found] == [(2, True)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store of ten records with words, of which two are forgotten."""
    file = tmp_path / "state" / "trail.db"
    with SqliteStore(file) as store:
        keep(store, *(body for number in range(1, 11) for body in (record(number), detail(number, command="make"))))
        store.forget(ForgetRequest(before_us=3 * HOUR), now_us=11 * HOUR)
    return file


def breaks(file: Path) -> list[int]:
    with SqliteStore(file) as store:
        return [one.seq for one in verify_audit_log(store, {}).breaks]


def verified_elsewhere(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", VERIFIER, file, *words], capture_output=True, text=True, check=False, cwd=file.parent
    )


PLAUSIBLE = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

EDITS: dict[str, tuple[str, int]] = {
    "a body": ("UPDATE entries SET body = replace(body, 'make', 'take') WHERE seq = 12", 12),
    "a body and its digest": (
        f"UPDATE entries SET body = 'x', salted = '{PLAUSIBLE}' WHERE seq = 9",
        9,
    ),
    "a whole entry": ("DELETE FROM entries WHERE seq = 7", 7),
    "two places": (
        """UPDATE entries SET seq = CASE seq WHEN 6 THEN -8 ELSE -6 END WHERE seq IN (6, 8);
        UPDATE entries SET seq = -seq WHERE seq < 0""",
        6,
    ),
    "words without a note": ("UPDATE entries SET salt = NULL, body = NULL WHERE seq = 10", 10),
    "a body that goes on in its salt": (
        """UPDATE entries SET salt = salt || ' ' || substr(body, 1, 5), body = substr(body, 7) WHERE seq = 8;
        UPDATE entries SET body = substr(body, 2) WHERE seq = 8""",
        8,
    ),
    "a body that is no text": ("UPDATE entries SET body = CAST(x'ff00fe' AS TEXT) WHERE seq = 6", 6),
    "a body that is no body": ("UPDATE entries SET body = '[1]' WHERE seq = 5", 5),
    "an id that is bytes": ("UPDATE entries SET id = CAST(id AS BLOB) WHERE seq = 5", 5),
    "a salt that stayed": ("UPDATE entries SET salt = hex(zeroblob(16)) WHERE seq = 2", 2),
    "a number that is none": ("UPDATE entries SET seq = -3 WHERE seq = 20", 20),
    "the end": ("DELETE FROM entries WHERE seq > 15", 16),
    "the note of what was forgotten": ("DELETE FROM entries WHERE seq = 21", 1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_the_file_are_found_by_us_and_by_somebody_who_knows_nothing_of_us(file: Path, edit: str) -> None:
    assert breaks(file) == []
    assert verified_elsewhere(file).returncode == 0
    statements, where = EDITS[edit]
    db = sqlite3.connect(file)
    db.executescript(statements)
    db.close()
    assert where in breaks(file)
    told = verified_elsewhere(file)
    assert told.returncode == 1
    assert f"{where}:" in told.stdout


def test_a_cut_end_with_its_checkpoints_is_found_only_with_an_anchor(file: Path, tmp_path: Path) -> None:
    with SqliteStore(file) as store:
        head = store.head()
    anchor = tmp_path / "anchor"
    anchor.write_text(f"{head.seq} {head.digest}\n")
    assert verified_elsewhere(file, str(anchor)).returncode == 0
    db = sqlite3.connect(file)
    db.executescript("DELETE FROM entries WHERE seq > 15; DELETE FROM checkpoints")
    db.close()
    assert "16" not in verified_elsewhere(file).stdout
    told = verified_elsewhere(file, str(anchor))
    assert (told.returncode, "16:" in told.stdout) == (1, True)


def rewritten(statement: str, entry: ChainEntry) -> list[ChainEntry]:
    """A chain of one entry that was made with a space where none may be, and what an edit turns it into."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE TABLE entries ({', '.join(ChainEntry._fields)})")
    db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
    db.execute(statement)
    found = [ChainEntry(*row) for row in db.execute("SELECT * FROM entries")]
    db.close()
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET kind = 'record x', id = 'y'",
        "UPDATE entries SET salt = salt || ' a', body = 'b'",
        "UPDATE entries SET id = 'x y'",
    ],
)
def test_two_entries_that_would_be_digested_alike_are_not_both_entries(statement: str) -> None:
    entries = rewritten(
        statement, build_entry(EMPTY_HEAD, "record", "x y" if "id" in statement else "x", "0" * 32, "a b")
    )
    assert [one.seq for one in find_breaks(entries)] == [1]
    assert set(elsewhere(entries)) == {1}


NUMBERS = st.integers(-1, 9)
ODD = st.one_of(
    st.none(),
    st.integers(0, 9),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from(["record", "detail", "forgotten", "0" * 32, "0" * 64, '{"entries": [[1, 9]]}']),
)
CHANGES = st.one_of(
    st.tuples(st.just("set"), NUMBERS, st.sampled_from(ChainEntry._fields[1:]), ODD),
    st.tuples(st.just("drop"), NUMBERS),
    st.tuples(st.just("move"), NUMBERS, NUMBERS),
    st.tuples(st.just("note"), NUMBERS, st.one_of(ODD, st.just("f" * 64))),
)


def changed(entries: list[ChainEntry], changes: list[tuple[Any, ...]]) -> tuple[list[ChainEntry], dict[int, Any]]:
    """The entries after somebody was at them, in the order of their numbers, and checkpoints."""
    kept = {entry.seq: entry for entry in entries}
    heads: dict[int, Any] = {entries[-1].seq: entries[-1].digest}
    for how, at, *rest in changes:
        if how == "note":
            heads[at] = rest[0]
        elif how == "drop":
            kept.pop(at, None)
        elif how == "set" and at in kept:
            kept[at] = kept[at]._replace(**{rest[0]: rest[1]})
        elif how == "move" and at in kept:
            kept[rest[0]] = kept.pop(at)._replace(seq=rest[0])
    return [kept[seq] for seq in sorted(kept)], heads


@given(st.lists(CHANGES, max_size=4), st.sets(st.integers(1, 5), max_size=2))
def test_both_verifiers_find_the_same_places_whatever_somebody_does(
    changes: list[tuple[Any, ...]], gone: set[int]
) -> None:
    entries, heads = changed(forgetting([[1, 2], [4, 4]], *gone), changes)
    ours = {one.seq for one in find_breaks(entries, heads)}
    assert ours == set(elsewhere(entries, heads))
    touched = entries != forgetting([[1, 2], [4, 4]], *gone)
    assert ours or not touched or not entries


def test_the_salt_of_what_is_forgotten_is_gone_so_that_nobody_can_try_a_guess(file: Path) -> None:
    with SqliteStore(file) as store:
        forgotten = [entry for entry in store.entries() if entry.body is None]
    assert [entry.seq for entry in forgotten] == [1, 2, 3, 4]
    assert {entry.salt for entry in forgotten} == {None}


def test_a_column_that_was_edited_is_found_by_comparing_it_with_its_body(file: Path) -> None:
    changes: dict[str, Callable[[sqlite3.Connection], object]] = {
        "a column": lambda db: db.execute("UPDATE records SET verdict = 'allow' WHERE id = 'id-5'"),
        "a fact": lambda db: db.execute("INSERT INTO facts VALUES ('guard', 'nobody', 9)"),
        "a row": lambda db: db.execute("DELETE FROM records WHERE id = 'id-5'"),
    }
    for change in changes.values():
        db = sqlite3.connect(file)
        change(db)
        db.commit()
        db.close()
        with SqliteStore(file) as store:
            assert list(store.find_index_faults()) == [(9, "id-5")]
