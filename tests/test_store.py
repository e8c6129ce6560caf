"""The SQLite store: behaviour of a Store, file ownership, and broken files."""

import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import age_audit_log
from store_behaviour import *  # noqa: F403 - the behaviour of every Store is run here
from store_behaviour import detail, ids, keep, record
from trotline.audit.record.record import Record
from trotline.audit.store import sqlite_store
from trotline.audit.store.record_index import build_facts
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest, StoredLine, UnreadLine
from trotline.audit.verify.chain import find_breaks
from trotline.domain.errors import TrotlineError, TryAgain


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit_log.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with SqliteStore(file) as opened:
        yield opened


def test_its_files_are_ours_alone(store: SqliteStore, file: Path) -> None:
    keep(store, record(1))
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {one.name: stat.S_IMODE(one.stat().st_mode) for one in file.parent.iterdir()} == {
        "audit_log.db": 0o600,
        "audit_log.db-wal": 0o600,
        "audit_log.db-shm": 0o600,
    }


def test_a_file_that_others_may_read_is_closed(file: Path) -> None:
    SqliteStore(file).close()
    file.chmod(0o644)
    SqliteStore(file).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file away")
def test_a_file_of_another_user_is_not_used(file: Path) -> None:
    SqliteStore(file).close()
    os.chown(file, 65_534, 65_534)
    with pytest.raises(TrotlineError, match="belongs to another user"):
        SqliteStore(file)


def test_a_link_in_the_place_of_the_file_is_not_followed(file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    file.symlink_to(tmp_path / "target")
    with pytest.raises(TrotlineError, match="not a regular file"):
        SqliteStore(file)
    assert not (tmp_path / "target").exists()


def test_a_file_of_a_newer_trotline_is_not_touched(file: Path) -> None:
    SqliteStore(file).close()
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    before = file.read_bytes()
    with pytest.raises(TrotlineError, match="newer Trotline") as caught:
        SqliteStore(file)
    assert "move the file away" in caught.value.hint
    assert file.read_bytes() == before


def test_a_file_that_is_no_database_is_reported_and_unchanged(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"precious notes, not a database at all" * 100)
    with pytest.raises(TrotlineError, match="not a database"):
        SqliteStore(file)
    assert file.read_bytes().startswith(b"precious")


def test_records_persist_after_reopening(file: Path) -> None:
    with SqliteStore(file) as first:
        keep(first, record(1))
    with SqliteStore(file) as second:
        assert ids(second) == ["id-1"]
        assert keep(second, record(1), record(2)) == 1


def test_a_batch_that_fails_leaves_nothing(store: SqliteStore) -> None:
    with pytest.raises(TypeError):
        keep(store, record(1), record(2, thing=object()))
    assert ids(store) == []
    assert keep(store, record(1)) == 1


def test_a_locked_database_is_retried(store: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store._db.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TryAgain):
        keep(store, record(1))
    other.execute("ROLLBACK")
    other.close()
    assert keep(store, record(1)) == 1


def test_forgotten_text_is_in_no_byte_of_the_files(store: SqliteStore, file: Path) -> None:
    keep(store, record(1, conversation="unmistakable-talk"), detail(1, command="echo unmistakable-word"), record(2))
    assert store.forget(ForgetRequest(conversation="unmistakable-talk"), now_us=5) == 1
    left = b"".join(one.read_bytes() for one in file.parent.iterdir())
    assert b"unmistakable" not in left
    assert b"id-2" in left


def test_torn_lines_are_stored_for_inspection(store: SqliteStore) -> None:
    keep(store, record(1, schema="trotline.record/7"))
    assert [(one.why, b"id-1" in one.line) for one in store.unread()] == [
        ("its schema is 'trotline.record/7': of a newer Trotline?", True)
    ]


def test_a_second_body_under_the_same_id_is_stored_as_a_line(store: SqliteStore) -> None:
    keep(store, record(1), detail(1, command="echo hello"))
    store.append([StoredLine(detail(1, command="rm -rf /"), "9", 5, b"as it stood")])
    assert store.unread() == [UnreadLine("9", "another body under an id that is there", b"as it stood")]


def test_a_repeated_record_that_differs_only_in_duration_is_a_duplicate(store: SqliteStore) -> None:
    response = {"author": "canary", "micros": 5}
    keep(store, record(1, responses=[response]))
    assert keep(store, record(1, micros=7, responses=[{**response, "micros": 6}])) == 0
    assert store.unread() == []
    keep(store, record(1, decided="deny", responses=[response]))
    assert len(store.unread()) == 1


def test_one_line_that_cannot_be_stored_blocks_no_other(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(body: Record) -> set[tuple[str, str]]:
        return {("guard", 1 << 80)} if body.id == "id-2" else build_facts(body)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite_store, "build_facts", odd)
    assert keep(store, record(1), record(2), detail(3), record(3)) == 3
    assert ids(store) == ["id-3", "id-1"]
    assert [(one.place, one.why) for one in store.unread()] == [("1", "it cannot be kept: OverflowError")]
    assert list(find_breaks(store.entries(), store.checkpoints())) == []
    assert keep(store, record(4)) == 1


def test_foreign_rows_do_not_block_a_record(store: SqliteStore) -> None:
    keep(store, record(1))
    store._db.execute(
        "INSERT INTO records SELECT 999, 'id-2', at_us, agent, event, conversation, verdict, command,"
        " is_self_test FROM records"
    )
    assert keep(store, record(2)) == 1
    assert ids(store) == ["id-2", "id-1"]
    assert list(store.find_index_faults()) == []


@pytest.mark.parametrize(
    "trigger",
    [
        "BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        "BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'no'); END",
        "AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE seq = new.seq; END",
    ],
    ids=["ignores", "refuses", "takes away"],
)
def test_a_store_that_drops_records_gets_none(store: SqliteStore, trigger: str) -> None:
    store._db.execute(f"CREATE TRIGGER planted {trigger}")
    with pytest.raises(TrotlineError):
        keep(store, record(1), record(2))
    store._db.execute("DROP TRIGGER planted")
    assert store.unread() == []
    assert keep(store, record(1), record(2)) == 2


def test_an_audit_log_with_a_newer_schema_is_not_written(store: SqliteStore) -> None:
    keep(store, record(1))
    store._db.execute("PRAGMA user_version = 999")
    with pytest.raises(TrotlineError, match="newer Trotline"):
        keep(store, record(2))
    with pytest.raises(TrotlineError, match="newer Trotline"):
        store.forget(ForgetRequest(before_us=10**15), now_us=5)
    assert ids(store) == ["id-1"]


def test_a_broken_audit_log_is_set_aside_with_its_journal(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(TrotlineError) as caught:
        SqliteStore(file)
    file.with_name("audit_log.db-wal").write_bytes(b"acknowledged")
    assert caught.value.hint.startswith("`trotline service stop`, then `for end in")
    subprocess.run(["sh", "-c", caught.value.hint.split("`")[3]], check=False, capture_output=True)
    assert file.with_name("audit_log.db.broken-wal").read_bytes() == b"acknowledged"
    assert not file.exists()


def test_bodies_that_are_not_strict_json_are_reindexed(file: Path) -> None:
    with SqliteStore(file) as store:
        keep(store, record(1, micros=float("inf"), decided="deny"), record(2, micros=10**400), record(3))
    age_audit_log(file)
    with SqliteStore(file) as store:
        assert len(ids(store)) == 3
        assert keep(store, record(4)) == 1
