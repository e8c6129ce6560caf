"""The hash chain of the audit log: any change is found, and where."""

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
from kit import convert_lists, read_corpus
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


def build_chain(bodies: list[str]) -> list[ChainEntry]:
    entries: list[ChainEntry] = []
    head = EMPTY_HEAD
    for number, body in enumerate(bodies):
        entries.append(build_entry(head, "record", f"id-{number}", f"{number:032}", body))
        head = head._replace(seq=entries[-1].seq, digest=entries[-1].digest)
    return entries


CHAINS = st.lists(st.text(max_size=20), min_size=2, max_size=12).map(build_chain)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["record", "detail", "forgotten"]),
    "id": st.text(max_size=8),
    "salt": st.text("0123456789abcdef", min_size=32, max_size=32),
    "body": st.text(max_size=20),
    "salted": st.text("0123456789abcdef", min_size=64, max_size=64),
    "digest": st.text("0123456789abcdef", min_size=64, max_size=64),
}


@given(CHAINS)
def test_unchanged_chain_is_valid(entries: list[ChainEntry]) -> None:
    assert list(find_breaks(entries, {entry.seq: entry.digest for entry in entries})) == []


@given(CHAINS, st.data())
def test_edit_of_any_field_is_found_at_its_entry(entries: list[ChainEntry], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(entries) - 1))
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    edited = entries[at]._replace(**{name: data.draw(FIELDS[name])})
    breaks = list(find_breaks([*entries[:at], edited, *entries[at + 1 :]], {}))
    assert [chain_break.seq for chain_break in breaks[:1]] == ([] if edited == entries[at] else [edited.seq])


@given(CHAINS, st.data())
def test_deletion_before_the_end_is_found_at_its_entry(entries: list[ChainEntry], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(entries) - 2))
    last = data.draw(st.integers(first, len(entries) - 2))
    breaks = list(find_breaks([*entries[:first], *entries[last + 1 :]], {}))
    assert [chain_break.seq for chain_break in breaks] == [first + 1]
    assert "missing" in breaks[0].what


@given(CHAINS, st.data())
def test_cut_end_is_found_with_a_known_head(entries: list[ChainEntry], data: st.DataObject) -> None:
    left = data.draw(st.integers(0, len(entries) - 1))
    assert list(find_breaks(entries[:left], {})) == []
    breaks = list(find_breaks(entries[:left], {entries[-1].seq: entries[-1].digest}))
    assert [chain_break.seq for chain_break in breaks] == [left + 1]
    assert "the end is cut" in breaks[0].what


@given(CHAINS, st.data())
def test_swapped_entries_are_found(entries: list[ChainEntry], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(entries) - 2))
    second = data.draw(st.integers(first + 1, len(entries) - 1))
    swapped = list(entries)
    swapped[first] = entries[second]._replace(seq=entries[first].seq)
    swapped[second] = entries[first]._replace(seq=entries[second].seq)
    assert entries[first].seq in {chain_break.seq for chain_break in find_breaks(swapped, {})}


@given(CHAINS, CHAINS)
def test_rewritten_chain_is_found_with_a_known_head(old: list[ChainEntry], new: list[ChainEntry]) -> None:
    at = min(len(old), len(new)) - 1
    breaks = list(find_breaks(new, {old[at].seq: old[at].digest}))
    assert (breaks == []) == (old[at].digest == new[at].digest)


@given(st.sets(st.integers(0, 60)))
def test_runs_contain_exactly_the_numbers(numbers: set[int]) -> None:
    spans = group_runs(sorted(numbers))
    assert [number for first, last in spans for number in range(first, last + 1)] == sorted(numbers)
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(spans))


def test_missing_body_without_a_tombstone_is_a_break() -> None:
    entries = build_chain(["a", "b", "c"])
    entries[1] = entries[1]._replace(salt=None, body=None)
    reason = "its body is gone, and no entry says that it was forgotten"
    assert list(find_breaks(entries, {})) == [ChainBreak(2, "id-1", reason)]


def build_forgotten_chain(spans: object, *gone: int) -> list[ChainEntry]:
    """Build five entries, some without a body, and a tombstone with these spans."""
    entries = build_chain(list("abcde"))
    head = EMPTY_HEAD._replace(seq=5, digest=entries[-1].digest)
    note = build_entry(head, "forgotten", "note", "0" * 32, json.dumps({"entries": spans}))
    return [entry._replace(salt=None, body=None) if entry.seq in gone else entry for entry in [*entries, note]]


def list_independent_breaks(entries: list[ChainEntry], heads: dict[int, Any] | None = None) -> list[int]:
    """Return the entries that scripts/independent_verifier.py reports."""
    db = sqlite3.connect(":memory:")
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    db.execute("CREATE TABLE entries (seq, kind, id, salt, body, salted, digest)")
    db.execute("CREATE TABLE checkpoints (seq, digest)")
    db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entries)
    db.executemany("INSERT INTO checkpoints VALUES (?, ?)", (heads or {}).items())
    breaks = [int(problem.partition(":")[0]) for problem in independent_verifier.problems(db, [])]
    db.close()
    return breaks


@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)), max_size=4), st.sets(st.integers(1, 5)))
def test_missing_bodies_not_covered_by_a_tombstone_are_breaks(spans: list[tuple[int, int]], gone: set[int]) -> None:
    entries = build_forgotten_chain(spans, *gone)
    unnamed = sorted(seq for seq in gone if not any(first <= seq <= last for first, last in spans))
    assert [chain_break.seq for chain_break in find_breaks(entries, {})] == unnamed
    assert list_independent_breaks(entries) == unnamed


def test_tombstone_with_a_huge_range_is_read_quickly() -> None:
    entries = build_forgotten_chain([[3, 10**18], [-(10**18), 1]], 1, 2, 3, 5)
    assert [chain_break.seq for chain_break in find_breaks(entries, {})] == list_independent_breaks(entries) == [2]


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
def test_tombstone_with_invalid_ranges_covers_nothing(spans: object) -> None:
    entries = build_forgotten_chain(spans, 1)
    assert [chain_break.seq for chain_break in find_breaks(entries, {})] == list_independent_breaks(entries) == [1]


@pytest.mark.parametrize("body", ["garbage", '{"entries": 5}', "[]", "[[1, 2, 3]]", "[" * 100_000])
def test_invalid_tombstone_covers_nothing(body: str) -> None:
    entries = build_forgotten_chain([], 1)[:5]
    entries.append(build_entry(ChainHead(5, entries[-1].digest), "forgotten", "note", "0" * 32, body))
    assert [chain_break.seq for chain_break in find_breaks(entries, {})] == list_independent_breaks(entries) == [1]


def test_wrong_checkpoint_is_found_despite_a_correct_anchor() -> None:
    entries = build_chain(list("abc"))
    breaks = find_breaks(entries, {2: "f" * 64}, {2: entries[1].digest})
    assert [(chain_break.seq, "written anew" in chain_break.what) for chain_break in breaks] == [(2, True)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store of ten records with detail, of which two are forgotten."""
    file = tmp_path / "state" / "audit_log.db"
    with SqliteStore(file) as store:
        keep(store, *(body for number in range(1, 11) for body in (record(number), detail(number, command="make"))))
        store.forget(ForgetRequest(before_us=3 * HOUR), now_us=11 * HOUR)
    return file


def list_breaks(file: Path) -> list[int]:
    with SqliteStore(file) as store:
        return [chain_break.seq for chain_break in verify_audit_log(store, {}).breaks]


def run_independent_verifier(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", VERIFIER, file, *words], capture_output=True, text=True, check=False, cwd=file.parent
    )


PLAUSIBLE = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

EDITS: dict[str, tuple[str, int]] = convert_lists(read_corpus("chain")["edits"])


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_the_file_are_found_by_both_verifiers(file: Path, edit: str) -> None:
    assert list_breaks(file) == []
    assert run_independent_verifier(file).returncode == 0
    statements, where = EDITS[edit]
    db = sqlite3.connect(file)
    db.executescript(statements)
    db.close()
    assert where in list_breaks(file)
    result = run_independent_verifier(file)
    assert result.returncode == 1
    assert f"{where}:" in result.stdout


def test_cut_end_with_its_checkpoints_is_found_only_with_an_anchor(file: Path, tmp_path: Path) -> None:
    with SqliteStore(file) as store:
        head = store.head()
    anchor = tmp_path / "anchor"
    anchor.write_text(f"{head.seq} {head.digest}\n")
    assert run_independent_verifier(file, str(anchor)).returncode == 0
    db = sqlite3.connect(file)
    db.executescript("DELETE FROM entries WHERE seq > 15; DELETE FROM checkpoints")
    db.close()
    assert "16" not in run_independent_verifier(file).stdout
    result = run_independent_verifier(file, str(anchor))
    assert (result.returncode, "16:" in result.stdout) == (1, True)


def edit_entry(statement: str, entry: ChainEntry) -> list[ChainEntry]:
    """Return a chain of one entry after this edit; the entry has a space where none may be."""
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE TABLE entries ({', '.join(ChainEntry._fields)})")
    db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
    db.execute(statement)
    breaks = [ChainEntry(*row) for row in db.execute("SELECT * FROM entries")]
    db.close()
    return breaks


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET kind = 'record x', id = 'y'",
        "UPDATE entries SET salt = salt || ' a', body = 'b'",
        "UPDATE entries SET id = 'x y'",
    ],
)
def test_entries_with_ambiguous_digests_are_invalid(statement: str) -> None:
    entries = edit_entry(
        statement, build_entry(EMPTY_HEAD, "record", "x y" if "id" in statement else "x", "0" * 32, "a b")
    )
    assert [chain_break.seq for chain_break in find_breaks(entries)] == [1]
    assert set(list_independent_breaks(entries)) == {1}


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


def apply_changes(entries: list[ChainEntry], changes: list[tuple[Any, ...]]) -> tuple[list[ChainEntry], dict[int, Any]]:
    """Return the changed entries in the order of their numbers, and the checkpoints."""
    remaining = {entry.seq: entry for entry in entries}
    heads: dict[int, Any] = {entries[-1].seq: entries[-1].digest}
    for how, at, *rest in changes:
        if how == "note":
            heads[at] = rest[0]
        elif how == "drop":
            remaining.pop(at, None)
        elif how == "set" and at in remaining:
            remaining[at] = remaining[at]._replace(**{rest[0]: rest[1]})
        elif how == "move" and at in remaining:
            remaining[rest[0]] = remaining.pop(at)._replace(seq=rest[0])
    return [remaining[seq] for seq in sorted(remaining)], heads


@given(st.lists(CHANGES, max_size=4), st.sets(st.integers(1, 5), max_size=2))
def test_both_verifiers_find_the_same_breaks_after_any_change(changes: list[tuple[Any, ...]], gone: set[int]) -> None:
    entries, heads = apply_changes(build_forgotten_chain([[1, 2], [4, 4]], *gone), changes)
    ours = {chain_break.seq for chain_break in find_breaks(entries, heads)}
    assert ours == set(list_independent_breaks(entries, heads))
    touched = entries != build_forgotten_chain([[1, 2], [4, 4]], *gone)
    assert ours or not touched or not entries


def test_salt_of_a_forgotten_entry_is_deleted(file: Path) -> None:
    with SqliteStore(file) as store:
        forgotten = [entry for entry in store.entries() if entry.body is None]
    assert [entry.seq for entry in forgotten] == [1, 2, 3, 4]
    assert {entry.salt for entry in forgotten} == {None}


def test_edited_index_column_is_found_by_comparison_with_the_body(file: Path) -> None:
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
