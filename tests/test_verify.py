"""Verification of tables, indexes and triggers next to the chain, in one read transaction."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest

from kit import Workspace, read_rows, run_trotline
from store_behaviour import HOUR, detail, keep, record
from trotline.audit.store import audit_log
from trotline.audit.store.sqlite_store import CHECKPOINT_INTERVAL, SqliteStore
from trotline.audit.store.store import ForgetRequest, StoredLine
from trotline.audit.verify.verification import VerificationResult, verify_audit_log


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "state" / "audit_log.db"
    with SqliteStore(file) as store:
        keep(store, *(body for number in range(1, 7) for body in (record(number), detail(number, command="make"))))
    return file


def look(file: Path) -> VerificationResult:
    with SqliteStore(file) as store:
        return verify_audit_log(store, {})


def edit(file: Path, *statements: str) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def found(file: Path) -> list[tuple[int, str]]:
    return [(one.seq, one.what) for one in look(file).breaks]


def test_verification_does_not_change_the_file(file: Path) -> None:
    before = file.read_bytes()
    assert (look(file).breaks, look(file).unchecked) == ([], [])
    assert file.read_bytes() == before


@pytest.mark.parametrize("body", ["'nope'", "'[1]'", "'{}'", "'{\"id\": 5}'", "x'00ff'", "CAST(x'ff' AS TEXT)"])
def test_an_unreadable_entry_is_reported_once_and_the_others_are_verified(file: Path, body: str) -> None:
    edit(file, f"UPDATE entries SET body = {body} WHERE seq = 3", "DELETE FROM facts WHERE seq = 5")
    assert [seq for seq, _ in found(file)] == [3, 5]


SCHEMA = {
    "a partial index": (
        "DROP INDEX records_verdict",
        "CREATE INDEX records_verdict ON records (verdict, seq) WHERE verdict != 'deny'",
    ),
    "no index": ("DROP INDEX records_verdict",),
    "a trigger": ("CREATE TRIGGER records_verdict_t AFTER INSERT ON records BEGIN DELETE FROM records; END",),
    "a view": ("CREATE VIEW refusals AS SELECT 1",),
    "a table of theirs": ("CREATE TABLE words_more (x)",),
    "no table": ("DROP TABLE metrics",),
}


@pytest.mark.parametrize("change", SCHEMA)
def test_tables_indexes_and_triggers_that_are_not_ours_are_found(file: Path, change: str) -> None:
    edit(file, *SCHEMA[change])
    assert {seq for seq, _ in found(file)} == {0}


def test_a_row_that_is_gone_behind_an_index_is_found(file: Path) -> None:
    """Delete a row without its index entry."""
    db = sqlite3.connect(file)
    index = db.execute("SELECT * FROM sqlite_master WHERE name = 'facts_seq'").fetchone()
    db.close()
    edit(file, "PRAGMA writable_schema = ON", "DELETE FROM sqlite_master WHERE name = 'facts_seq'")
    edit(file, "DELETE FROM facts WHERE seq = 3")
    values = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in index)
    edit(file, "PRAGMA writable_schema = ON", f"INSERT INTO sqlite_master VALUES ({values})")
    assert [(seq, "the file is damaged: " in what) for seq, what in found(file)] == [(0, True)]


def test_a_dangling_word_index_is_found(file: Path) -> None:
    edit(
        file,
        "CREATE TEMP TABLE kept AS SELECT * FROM words_content",
        "UPDATE words_content SET c0 = ''",
        "INSERT INTO words (words) VALUES ('rebuild')",
        "UPDATE words_content SET c0 = (SELECT c0 FROM kept WHERE kept.id = words_content.id)",
    )
    assert found(file) == [(0, "the index of words is not that of its words")]


def test_an_unverifiable_part_is_reported_and_is_no_break(file: Path) -> None:
    with SqliteStore(file) as store:
        store._db.execute("PRAGMA query_only = ON")
        seen = verify_audit_log(store, {})
    assert seen.breaks == []
    assert [why.partition(":")[0] for why in seen.unchecked] == ["the index of words could not be checked"]


@pytest.mark.parametrize("row,seq", read_rows("verify", "orphan_rows"))
def test_orphaned_rows_are_found(file: Path, row: str, seq: int) -> None:
    edit(file, f"INSERT INTO {row}")
    assert [at for at, _ in found(file)] == [seq]


def test_forgotten_records_are_counted(file: Path) -> None:
    with SqliteStore(file) as store:
        for hours in (2, 4):
            store.forget(ForgetRequest(before_us=hours * HOUR), now_us=9 * HOUR)
    assert look(file).forgotten == (6, 2)


def test_an_id_with_a_space_is_set_aside(file: Path) -> None:
    with SqliteStore(file) as store:
        assert store.append([StoredLine(record(9, id="a b"), "somewhere")]) == 0
        assert [one.why for one in store.unread()] == ["its id is missing or malformed"]


@pytest.mark.parametrize("more", [1, 3, 12])
def test_a_truncated_log_stays_detectable_after_new_records(file: Path, more: int) -> None:
    edit(file, "DELETE FROM entries WHERE seq > 2", *(f"DELETE FROM {name}" for name in ("facts", "metrics", "words")))
    with SqliteStore(file) as store:
        for number in range(20, 20 + more):
            keep(store, record(number))
    lines = [(seq, what) for seq, what in found(file) if "cut" in what or "written anew" in what]
    assert lines == (
        [(12, "a head that was noted here is another: the chain was written anew")]
        if more > 9
        else [(3 + more, f"the end is cut: entries {3 + more} to 12 are missing")]
    )


def test_a_remaining_checkpoint_is_not_replaced_by_a_rebuilt_chain(tmp_path: Path) -> None:
    file = tmp_path / "state" / "audit_log.db"
    with SqliteStore(file) as store:
        keep(store, *(record(number) for number in range(CHECKPOINT_INTERVAL)))
        keep(store, record(CHECKPOINT_INTERVAL))
    edit(
        file,
        *(f"DELETE FROM {name} WHERE seq > 990" for name in ("entries", "records", "facts", "metrics")),
        "DELETE FROM words WHERE rowid > 990",
        f"DELETE FROM checkpoints WHERE seq > {CHECKPOINT_INTERVAL}",
    )
    with SqliteStore(file) as store:
        keep(store, *(record(number) for number in range(2 * CHECKPOINT_INTERVAL, 2 * CHECKPOINT_INTERVAL + 30)))
    assert (CHECKPOINT_INTERVAL, "a head that was noted here is another: the chain was written anew") in found(file)


def test_verification_succeeds_during_writes(file: Path) -> None:
    """Verification reads one snapshot."""
    ended = threading.Event()

    def write() -> None:
        with SqliteStore(file) as store:
            number = 100
            while not ended.is_set():
                number += 1
                keep(store, record(number), detail(number, command="make"))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [look(file) for _ in range(10)]
    finally:
        ended.set()
        writer.join()
    assert [one.breaks for one in seen] == [[]] * 10
    assert seen[-1].head.seq > 12


def test_verifying_a_broken_log_adds_nothing(workspace: Workspace) -> None:
    state = workspace.roots().state
    with SqliteStore(state / "audit_log.db") as store:
        keep(store, record(1), record(2))
    spool = audit_log.get_spool(state)
    assert spool.append(record(3)) == ""
    done = workspace.run("log", "verify")
    assert "3 entries: it holds" in done.stdout
    assert spool.append(record(4)) == ""
    edit(
        state / "audit_log.db",
        "DELETE FROM entries WHERE seq = 3",
        "CREATE TRIGGER t AFTER INSERT ON facts BEGIN SELECT 1; END",
    )
    done = workspace.run("log", "verify")
    assert done.returncode == 1
    assert "the audit log: the end is cut: entry 3 is missing" in done.stdout
    assert "the audit log: the trigger `t` is none of ours" in done.stdout
    assert spool.waits


def test_the_cause_is_reported_first_and_consequences_are_counted(workspace: Workspace) -> None:
    state = workspace.roots().state
    with SqliteStore(state / "audit_log.db") as store:
        keep(store, *(record(number) for number in range(1, 41)))
    edit(state / "audit_log.db", "DELETE FROM entries WHERE seq > 9 AND seq != 20")
    words = ("log", "verify", *workspace.options)
    lines = run_trotline(*words, cwd=workspace.project).stdout.splitlines()
    assert lines == [
        "the audit log: entries 10 to 19 are missing",
        "the audit log: the end is cut: entries 21 to 40 are missing",
        "tables: 28 rows do not fit: entries 11 to 19, 22 to 40",
        "20 entries: it does not hold; unanchored",
    ]
    breaks = json.loads(run_trotline(*words, "--json", cwd=workspace.project).stdout)["data"]["breaks"]
    assert len(breaks) == 30


def test_many_edits_are_summarized(workspace: Workspace) -> None:
    state = workspace.roots().state
    with SqliteStore(state / "audit_log.db") as store:
        keep(store, *(record(number) for number in range(1, 41)))
    edit(state / "audit_log.db", "UPDATE entries SET body = body || ' ' WHERE seq < 31")
    lines = workspace.run("log", "verify").stdout
    assert lines.count("its body was edited\n") == 20
    assert "the audit log: and 10 more such places; --json names every one\n" in lines
