"""Trails that older versions made: what records are found and counted by becomes what today's makes of them."""

import sqlite3
from pathlib import Path

import pytest

from store_behaviour import HOUR, detail, ids, keep, record
from trails import MADE, age
from trotline.audit.query import Query
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.store import Forgetting

OTHERWISE = """
    UPDATE records SET verdict = 'ask', command = 'another', own = 1, at_us = at_us + 5;
    DELETE FROM facts;
    INSERT INTO facts VALUES ('path', '/somewhere', 1);
    UPDATE figures SET amount = 77;
    UPDATE words SET text = 'of old';
    UPDATE spans SET first_us = 1, last_us = 2
"""
"""What another version could have made of the same entries."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A trail with all that is odd: texts that no database likes, a record without words, words without a record."""
    file = tmp_path / "state" / "trail.db"
    with SqliteStore(file) as store:
        edited = {**detail(2), "lines": [["/srv/\ud83d.py", 2, 1]], "measures": {"status": "x"}}
        odd = {**detail(3, command="echo \0 \ud83d 🎣"), "hooks": {"h1": "a\0b"}}
        voices = [{"author": "h1", "micros": 5, "failure": "timed out"}]
        keep(store, record(1, asked="deny", deciders=["deletion"]), detail(1, command="rm -rf src"))
        keep(store, record(2, event="afterFileEdit"), edited, record(3, voices=voices), odd)
        keep(store, record(4, conversation="trotline-prove"), detail(5), record(6, conversation="gone"))
        keep(store, *(record(number, event="stop", host="codex") for number in range(10, 130)))
        store.forget(Forgetting(conversation="gone"), now_us=HOUR)
    return file


@pytest.mark.parametrize("step", [step for step in MADE if step <= 8])  # the eighth makes them anew
def test_a_trail_of_every_older_version_is_found_by_what_is_in_it(file: Path, step: int) -> None:
    with SqliteStore(file) as store:
        assert list(store.misindexed()) == []
        before = [list(store.search(Query(by=by))) for by in ("verdict", "conversation", "figure", "spread")]
    db = sqlite3.connect(file)
    db.executescript(OTHERWISE)
    db.close()
    age(file, step)
    with SqliteStore(file) as store:
        assert list(store.misindexed()) == []
        assert [list(store.search(Query(by=by))) for by in ("verdict", "conversation", "figure", "spread")] == before
        assert ids(store, text="src", verdict="deny") == ["id-1"]
        assert ids(store, effect="write", path="srv/*") == ["id-2"]


def test_a_step_that_fails_leaves_the_trail_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age(file, 6)
    db = sqlite3.connect(file)
    before = list(db.execute("SELECT * FROM records"))
    db.close()

    def broken(_record: object) -> str:
        raise ValueError

    monkeypatch.setattr("trotline.audit.migrations.LENT", {"columns_of": broken})
    with pytest.raises(Exception, match="trail"):
        SqliteStore(file)
    db = sqlite3.connect(file)
    assert list(db.execute("SELECT * FROM records")) == before
    assert db.execute("SELECT max(number) FROM versions").fetchone() == (5,)
    db.close()
