"""The trail in SQLite: what any Store does, whose file it is, and what a broken one says."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from store_behaviour import *  # noqa: F403 - the behaviour of every Store is run here
from store_behaviour import detail, ids, keep, record
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.store import Forgetting
from trotline.errors import TrotlineError, TryAgain


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trail.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    with SqliteStore(file) as opened:
        yield opened


def test_its_files_are_ours_alone(store: SqliteStore, file: Path) -> None:
    keep(store, record(1))
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {one.name: stat.S_IMODE(one.stat().st_mode) for one in file.parent.iterdir()} == {
        "trail.db": 0o600,
        "trail.db-wal": 0o600,
        "trail.db-shm": 0o600,
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
    with pytest.raises(TrotlineError, match="something that is no file"):
        SqliteStore(file)
    assert not (tmp_path / "target").exists()


def test_a_file_of_a_newer_trotline_is_not_touched(file: Path) -> None:
    SqliteStore(file).close()
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO versions VALUES (999)")
    db.close()
    before = file.read_bytes()
    with pytest.raises(TrotlineError, match="newer Trotline") as caught:
        SqliteStore(file)
    assert "move the file away" in caught.value.hint
    assert file.read_bytes() == before


def test_a_file_that_is_no_database_is_said_to_be_none_and_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"precious notes, not a database at all" * 100)
    with pytest.raises(TrotlineError, match="not a database"):
        SqliteStore(file)
    assert file.read_bytes().startswith(b"precious")


def test_what_was_kept_is_there_when_it_is_opened_again(file: Path) -> None:
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


def test_a_file_that_somebody_else_writes_to_is_worth_another_try(
    store: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store._db.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TryAgain):
        keep(store, record(1))
    other.execute("ROLLBACK")
    other.close()
    assert keep(store, record(1)) == 1


def test_what_is_forgotten_is_in_no_byte_of_the_files(store: SqliteStore, file: Path) -> None:
    keep(store, record(1, conversation="unmistakable-talk"), detail(1, command="echo unmistakable-word"), record(2))
    assert store.forget(Forgetting(conversation="unmistakable-talk"), now_us=5) == 1
    left = b"".join(one.read_bytes() for one in file.parent.iterdir())
    assert b"unmistakable" not in left
    assert b"id-2" in left


def test_torn_lines_are_kept_for_a_person_to_look_at(store: SqliteStore) -> None:
    keep(store, record(1, schema="trotline.record/7"))
    assert [(one.why, b"id-1" in one.line) for one in store.unread()] == [
        ("its schema is 'trotline.record/7': of a newer Trotline?", True)
    ]
