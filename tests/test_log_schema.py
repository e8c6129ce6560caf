"""Audit logs of older versions: their indexes are rebuilt, or they are refused with a clear message."""

import sqlite3
import subprocess
from pathlib import Path

import pytest

from store_behaviour import HOUR, detail, ids, keep, record
from trotline.audit.query.query import Query
from trotline.audit.store.log_schema import VERSION
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.audit.verify.verification import find_schema_changes
from trotline.domain.errors import TrotlineError

OTHERWISE = """
    UPDATE records SET verdict = 'ask', command = 'another', is_self_test = 1, at_us = at_us + 5;
    DELETE FROM facts;
    INSERT INTO facts VALUES ('path', '/somewhere', 1);
    UPDATE metrics SET amount = 77;
    UPDATE words SET text = 'of old';
    UPDATE spans SET first_us = 1, last_us = 2
"""
"""Index rows that another version could have built from the same entries."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An audit log with odd texts, a record without detail, and detail without a record."""
    file = tmp_path / "state" / "audit_log.db"
    with SqliteStore(file) as store:
        edited = {**detail(2), "lines": [["/srv/\ud83d.py", 2, 1]], "measures": {"status": "x"}}
        odd = {**detail(3, command="echo \0 \ud83d 🎣"), "hooks": {"h1": "a\0b"}}
        responses = [{"author": "h1", "micros": 5, "failure": "timed out"}]
        keep(store, record(1, decided="deny", deciders=["deletion"]), detail(1, command="rm -rf src"))
        keep(store, record(2, event="afterFileEdit"), edited, record(3, responses=responses), odd)
        keep(store, record(4, conversation="trotline-prove"), detail(5), record(6, conversation="gone"))
        keep(store, *(record(number, event="stop", agent="codex") for number in range(10, 130)))
        store.forget(ForgetRequest(conversation="gone"), now_us=HOUR)
    return file


def count_all(store: SqliteStore) -> list[list[object]]:
    return [list(store.aggregate(Query(by=by))) for by in ("verdict", "conversation", "metric", "percentile")]


def test_an_older_audit_log_gets_its_indexes_rebuilt_from_the_entries(file: Path) -> None:
    with SqliteStore(file) as store:
        assert list(store.find_index_faults()) == []
        before = count_all(store)
    db = sqlite3.connect(file)
    db.executescript(f"{OTHERWISE}; PRAGMA user_version = {VERSION - 1}")
    db.close()
    with SqliteStore(file) as store:
        assert list(store.find_index_faults()) == []
        assert count_all(store) == before
        assert ids(store, text="src", verdict="deny") == ["id-1"]
        assert ids(store, effect="write", path="srv/*") == ["id-2"]
        assert list(find_schema_changes(store._db)) == []


def test_a_rebuild_that_fails_changes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlite3.connect(file)
    db.execute(f"PRAGMA user_version = {VERSION - 1}")
    before = list(db.execute("SELECT * FROM records"))
    db.close()

    def broken(_record: object) -> str:
        raise ValueError

    monkeypatch.setattr("trotline.audit.store.log_schema.INDEX_FUNCTIONS", {"build_columns": broken})
    with pytest.raises(TrotlineError):
        SqliteStore(file)
    db = sqlite3.connect(file)
    assert list(db.execute("SELECT * FROM records")) == before
    assert db.execute("PRAGMA user_version").fetchone() == (VERSION - 1,)
    db.close()


def test_an_audit_log_of_a_development_version_is_refused_with_the_command_that_replaces_it(tmp_path: Path) -> None:
    file = tmp_path / "state" / "audit_log.db"
    SqliteStore(file).close()
    db = sqlite3.connect(file)
    db.executescript("CREATE TABLE versions (number INTEGER PRIMARY KEY); PRAGMA user_version = 0")
    db.close()
    before = file.read_bytes()
    with pytest.raises(TrotlineError, match="development version") as caught:
        SqliteStore(file)
    assert file.read_bytes() == before
    subprocess.run(["sh", "-c", caught.value.hint.split("`")[3]], check=True)
    with SqliteStore(file) as store:
        assert ids(store) == []


def test_an_audit_log_under_its_former_name_is_refused_until_it_is_moved_away(tmp_path: Path) -> None:
    former = tmp_path / "state" / "trail.db"
    former.parent.mkdir(mode=0o700)
    former.write_bytes(b"")
    with pytest.raises(TrotlineError, match="development version") as caught:
        SqliteStore(former.with_name("audit_log.db"))
    assert f"mv {former} {former}.old" in caught.value.hint
    former.rename(f"{former}.old")
    with SqliteStore(former.with_name("audit_log.db")) as store:
        assert store.head().seq == 0


def test_an_audit_log_with_records_of_a_development_version_is_refused_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "state" / "audit_log.db"
    with SqliteStore(file) as store:
        keep(store, record(1))
    db = sqlite3.connect(file)
    db.executescript(f"UPDATE entries SET body = replace(body, '/2', '/1'); PRAGMA user_version = {VERSION - 1}")
    db.close()
    before = file.read_bytes()
    with pytest.raises(TrotlineError, match="development version") as caught:
        SqliteStore(file)
    assert file.read_bytes() == before
    assert "mv" in caught.value.hint


def test_spool_lines_of_a_development_version_are_stored_and_reported(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "state" / "audit_log.db") as store:
        assert keep(store, record(1, schema="trotline.record/1"), {**detail(1), "schema": "trotline.detail/1"}) == 0
        assert [("development version" in line.why, b"id-1" in line.line) for line in store.unread()] == [
            (True, True)
        ] * 2
