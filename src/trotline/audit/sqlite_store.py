"""The trail in one SQLite file of its owner's, which many processes may read while one writes."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Self

from trotline.audit import forgetting, observation, spans
from trotline.audit.actions import Step
from trotline.audit.alarms import Alarm, alarms_in
from trotline.audit.asking import asked
from trotline.audit.bodies import KINDS, as_text, joined, say_the_same, why_unread
from trotline.audit.chain import FORGOTTEN, Entry, Head, entry_after, spans_of
from trotline.audit.columns import Columns, columns_of, facts_of, words_of
from trotline.audit.complaints import Complaints, is_of_a_line
from trotline.audit.counting import counts
from trotline.audit.inspection import COLUMNS, checkpoints_in, entries_in, figure_rows, head_in, misindexed_in
from trotline.audit.migrations import migrate, refuse_newer
from trotline.audit.owned_file import private_file
from trotline.audit.query import Query
from trotline.audit.shaping import read, shaped
from trotline.audit.store import Forgetting, Line, Unread
from trotline.audit.summing import spreads, sums
from trotline.audit.talks import talks
from trotline.errors import TrotlineError, TryAgain
from trotline.ids import uuid7

NAME = "trail.db"
FORGETTING = "trotline.forgetting/1"

SECONDS_TO_WAIT = 10.0
"""For another process that writes."""

EVERY = 1_000
"""Entries between two checkpoints that stay; the newest is always there."""

SUPERSEDED = (
    "DELETE FROM checkpoints WHERE seq < ? AND seq % ? != 0"
    " AND digest = (SELECT digest FROM entries WHERE entries.seq = checkpoints.seq)"
)

MOST_ROUNDS = 5
LONGEST_UNREAD = 64_000_000
"""Bytes of a line that cannot be read; no database takes one of any length."""

ANOTHER = "another body under an id that is there"
OLDEST = (
    "SELECT min(at_us) FROM (SELECT min(at_us) AS at_us FROM records WHERE at_us > 0"
    " UNION ALL SELECT min(at_us) FROM unread WHERE at_us > 0)"
)

LAST_CHARACTER = chr(0x10FFFF)
RECENT_FOR_ALARMS = 10_000
TOGETHER = {"conversation": talks, "figure": sums, "spread": spreads}


class SqliteStore:
    """A Store; it is also asked for its chain, by those who verify it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._complaints = Complaints(file)
        with self._complaints:
            private_file(file)
            self._db = sqlite3.connect(  # whoever shares it between threads lets one of them in at a time
                file, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")  # the spool is deleted on the word of a commit
                self._db.execute("PRAGMA secure_delete = ON")
                migrate(self._db, file)
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def append(self, lines: Iterable[Line | Unread]) -> int:
        given = list(lines)
        with self._writing():
            begun = self.head()
            try:
                added = self._taken(given)
            except Exception as error:
                if not is_of_a_line(error):
                    raise
                added = sum(map(self._taken_alone, given))
            head = self.head()
            kept = self._db.execute("SELECT count(*) FROM entries WHERE seq > ?", (begun.seq,)).fetchone()[0]
            if not head.seq - begun.seq == kept == added:  # a trigger that somebody put there may drop them
                hint = "`trotline log verify` looks at it; records wait in the spool until it can be used"
                raise TrotlineError(f"the trail `{self.file}` does not keep what it is given", hint=hint)
            spans.widen(self._db, begun.seq)
            self._checkpoint(head)
            return added

    def _taken_alone(self, line: Line | Unread) -> int:
        """For when one of many stops all: that one is kept as a line, with why."""
        try:
            return self._taken([line])
        except Exception as error:
            if isinstance(line, Unread) or not is_of_a_line(error):
                raise
            self._keep_unread(line, f"it cannot be kept: {type(error).__name__}")
            return 0

    def _taken(self, lines: Iterable[Line | Unread]) -> int:
        """How many are new; all or none of them."""
        self._db.execute("SAVEPOINT lines")
        try:
            head = begun = self.head()
            touched: dict[str, None] = {}
            for line in lines:
                text, why = ("", line.why) if isinstance(line, Unread) else self._weighed(line.body)
                if why:
                    self._keep_unread(line, why)
                elif isinstance(line, Line) and text:
                    head = self._add(head, KINDS[line.body["schema"]], line.body["id"], text)
                    touched[line.body["id"]] = None
            for id_ in touched:
                self._index(id_)
        except BaseException:
            self._db.execute("ROLLBACK TO lines")
            raise
        self._db.execute("RELEASE lines")
        return head.seq - begun.seq

    def _weighed(self, body: dict[str, Any]) -> tuple[str, str]:
        """A body as it is chained, or why it is no entry; neither for one that is here, or was, or is forgotten."""
        why = why_unread(body)
        if why:
            return "", why
        kind, text = KINDS[body["schema"]], as_text(body)
        there = "SELECT kind, body FROM entries WHERE id = ? AND kind IN (?, 'record')"
        found = dict(self._db.execute(there, (body["id"], kind)))
        if found.get("record", "") is None or found.get(kind, "") is None:
            return "", ""
        if kind not in found:
            return text, ""
        return "", "" if say_the_same(found[kind], text) else ANOTHER

    def search(self, query: Query) -> Iterator[dict[str, Any]]:
        with self._complaints:
            yield from TOGETHER.get(query.by, counts)(self._db, query) if query.by else self._records(query)

    def _records(self, query: Query) -> Iterator[dict[str, Any]]:
        statements, values = asked(query)
        newest = self._db.execute(statements.newest, values).fetchall() if statements.newest else []
        enough = newest and len(newest) == query.limit
        for row in newest if enough else self._db.execute(statements.whole, values):
            yield read(*row)

    def fetch(self, id_: str) -> dict[str, Any] | None:
        found = self._written(id_)
        return None if found is None else shaped(found)

    def _written(self, id_: str) -> dict[str, Any] | None:
        """As it came, in whatever shape: it is found by that."""
        with self._complaints:
            bodies = {
                kind: (seq, body)
                for seq, kind, body in self._db.execute("SELECT seq, kind, body FROM entries WHERE id = ?", (id_,))
            }
        seq, body = bodies.get("record", (0, None))
        return None if body is None else joined(seq, body, bodies.get("detail", (0, None))[1])

    def beginning(self, column: Literal["id", "conversation"], with_: str, most: int) -> list[str]:
        """Ids of records, or of conversations, that begin so; no more than so many."""
        statement = f"SELECT DISTINCT {column} FROM records WHERE {column} >= ? AND {column} < ? ORDER BY 1 LIMIT ?"  # noqa: S608 - a name of ours
        with self._complaints:
            return [row[0] for row in self._db.execute(statement, (with_, with_ + LAST_CHARACTER, most))]

    def forget(self, what: Forgetting, *, now_us: int) -> int:
        """By size it is all or nothing: a size that cannot be reached takes no record; `least` tells of it."""
        count = 0
        for _ in range(MOST_ROUNDS if what.keep_bytes else 1):  # what a record takes is only known when it is gone
            found = self._forgotten(what, now_us)
            count += len(found.records)
            if not any(found):
                break
        with self._complaints:
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise TryAgain(
                "it is forgotten, but another process still reads the trail as it was: until that ends, words are in"
                f" pages of `{self.file}`",
                hint=f"`fuser -v {self.file}` names it; the same again, when it has ended, takes them out",
            )
        return count

    def _forgotten(self, what: Forgetting, now_us: int) -> forgetting.Due:
        with self._writing():
            found = forgetting.due(self._db, what, self.size(), now_us)
            if not any(found):
                return found
            gone = forgetting.empty(self._db, found)
            for seq in gone:
                self._unlist(seq)
            spans.renew(self._db)
            id_ = uuid7(now_us, os.urandom(10))
            body = {"schema": FORGETTING, "id": id_, "at_us": now_us, "why": what.why, "entries": spans_of(gone)}
            body |= {"lines": len(found.lines)} if found.lines else {}
            self._checkpoint(self._add(self.head(), FORGOTTEN, id_, as_text(body)))
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        with self._complaints:
            self._db.execute("VACUUM")  # what was forgotten is in no page of the file
        return found

    def least(self, now_us: int) -> int:
        """About how many bytes are left when everything is forgotten that may be by size."""
        with self._complaints:
            return forgetting.least(self._db, self.size(), now_us)

    def size(self) -> int:
        """Bytes of the file, without pages that are free."""
        with self._complaints:
            pages, free, each = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * each)

    def oldest_us(self) -> int:
        """The time of what is next to be forgotten by age; 0 if there is nothing. What has no time goes along."""
        with self._complaints:
            return int(self._db.execute(OLDEST).fetchone()[0] or 0)

    def head(self) -> Head:
        with self._complaints:
            return head_in(self._db)

    def entries(self) -> Iterator[Entry]:
        with self._complaints:
            yield from entries_in(self._db)

    def checkpoints(self) -> dict[int, str]:
        with self._complaints:
            return checkpoints_in(self._db)

    @contextlib.contextmanager
    def looked_over(self) -> Iterator[sqlite3.Connection]:
        """For those who verify it."""
        with self._complaints:
            yield self._db

    def unread(self) -> list[Unread]:
        with self._complaints:
            return [Unread(*row) for row in self._db.execute("SELECT place, why, line FROM unread ORDER BY place")]

    def steps(self, newest: int) -> Iterator[Step]:
        """What the records say of actions, oldest first: all, or those of so many entries."""
        after = max(0, self.head().seq - newest) if newest else 0
        with self._complaints:
            yield from observation.steps_where(self._db, "records.seq > ?", after)

    def alarms(self, newest: int = RECENT_FOR_ALARMS) -> list[Alarm]:
        """What does not fit together in so many entries, or, with 0, in all."""
        return alarms_in(self.steps(newest))

    def alarms_about(self, record: dict[str, Any]) -> list[Alarm]:
        """Those that a record shows, or that are about it."""
        with self._complaints:
            steps = observation.steps_around(self._db, record)
        return [alarm for alarm in alarms_in(steps) if record["seq"] in (alarm.seq, alarm.about_seq)]

    def with_observed(self, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The same records, and under `observed` which others say that it was done, where one announced something."""
        with self._complaints:
            yield from observation.with_observed(self._db, records)

    def misindexed(self) -> Iterator[tuple[int, str]]:
        with self._complaints:
            yield from misindexed_in(self._db)

    def _add(self, head: Head, kind: str, id_: str, body: str) -> Head:
        entry = entry_after(head, kind, id_, os.urandom(16).hex(), body)
        self._db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
        if entry.seq % EVERY == 0:
            self._db.execute("INSERT OR IGNORE INTO checkpoints VALUES (?, ?)", (entry.seq, entry.digest))
        return Head(entry.seq, entry.digest)

    def _checkpoint(self, head: Head) -> None:
        """The newest takes the place of those before it.

        One that contradicts the entries stays for good: it is all that is left of an end that was cut, and whoever goes
        on writing must not hide that.
        """
        if head.seq:
            self._db.execute(SUPERSEDED, (head.seq, EVERY))
            self._db.execute("INSERT OR IGNORE INTO checkpoints VALUES (?, ?)", head)

    def _keep_unread(self, line: Line | Unread, why: str) -> None:
        raw = line.line or as_text(line.body).encode() if isinstance(line, Line) else line.line
        self._db.execute(
            "INSERT OR IGNORE INTO unread (place, why, line, at_us) VALUES (?, ?, ?, ?)",
            (line.place, why, raw[:LONGEST_UNREAD], line.came_us),
        )

    def _index(self, id_: str) -> None:
        """Under what it is found; a detail that comes later makes that anew.

        What somebody who cut the end left in these tables is in nobody's way: verify tells of the cut.
        """
        record = self._written(id_)
        if record is None:
            return  # a detail that was quicker than its record
        seq = record["seq"]
        marks = ", ".join("?" * (len(Columns._fields) + 1))
        if self._db.execute("SELECT 1 FROM records WHERE seq = ?", (seq,)).fetchone():
            self._unlist(seq)
        self._db.execute(f"INSERT OR REPLACE INTO records ({COLUMNS}) VALUES ({marks})", (seq, *columns_of(record)))  # noqa: S608 - names of ours
        self._db.executemany(
            "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", [(*fact, seq) for fact in facts_of(record)]
        )
        self._db.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?)", figure_rows(seq, record))
        self._db.execute("INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)", (seq, words_of(record)))

    def _unlist(self, seq: int) -> None:
        for statement in (
            "DELETE FROM records WHERE seq = ?",
            "DELETE FROM facts WHERE seq = ?",
            "DELETE FROM figures WHERE seq = ?",
            "DELETE FROM words WHERE rowid = ?",
        ):
            self._db.execute(statement, (seq,))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._complaints:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                refuse_newer(self._db, self.file)  # another process may have migrated it since it was opened
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
