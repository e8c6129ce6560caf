"""The trail in one SQLite file of its owner's, which many processes may read while one writes."""

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Self

from trotline.audit import spans
from trotline.audit.actions import RAN, STEPS, TURNS, Step, step_of
from trotline.audit.alarms import Alarm, alarms_in
from trotline.audit.asking import asked
from trotline.audit.bodies import KINDS, as_text, joined, why_unread
from trotline.audit.chain import BEGINNING, FORGOTTEN, Entry, Head, entry_after, spans_of
from trotline.audit.columns import Columns, columns_of, facts_of, words_of
from trotline.audit.complaints import Complaints
from trotline.audit.counting import counts
from trotline.audit.figures import figures_of
from trotline.audit.migrations import migrate
from trotline.audit.query import Query
from trotline.audit.store import Forgetting, Line, Unread
from trotline.audit.summing import spreads, sums
from trotline.audit.talks import talks
from trotline.config.places import private_directory
from trotline.ids import uuid7

NAME = "trail.db"
FORGETTING = "trotline.forgetting/1"

SECONDS_TO_WAIT = 10.0
"""For another process that writes."""

EVERY = 1_000
"""Entries between two checkpoints that stay; the newest is always there."""

MOST_ROUNDS = 4
LINK_BYTES = 300
"""About what an entry takes when it is forgotten: its name, its digests, its place in an index."""

WEIGHTS = (
    "SELECT records.id, length(record.body) + coalesce(length(detail.body), 0) FROM records"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail' ORDER BY records.seq"
)

LAST_CHARACTER = chr(0x10FFFF)
RECENT_FOR_ALARMS = 10_000
TOGETHER = {"conversation": talks, "figure": sums, "spread": spreads}
COLUMNS = ", ".join(("seq", *Columns._fields))


class SqliteStore:
    """A Store; it is also asked for its chain, by those who verify it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._complaints = Complaints(file)
        with self._complaints:
            _private_file(file)
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
        with self._writing():
            head = self.head()
            begun = head.seq
            touched: dict[str, None] = {}
            for line in lines:
                why = "" if isinstance(line, Unread) else why_unread(line.body)
                if isinstance(line, Unread):
                    self._keep_unread(line)
                elif why:
                    self._keep_unread(Unread(line.place, why, as_text(line.body).encode()))
                elif not self._has(line.body["id"], KINDS[line.body["schema"]]):
                    head = self._add(head, KINDS[line.body["schema"]], line.body["id"], as_text(line.body))
                    touched[line.body["id"]] = None
            for id_ in touched:
                self._index(id_)
            spans.widen(self._db, begun)
            self._checkpoint(head)
            return head.seq - begun

    def search(self, query: Query) -> Iterator[dict[str, Any]]:
        with self._complaints:
            yield from TOGETHER.get(query.by, counts)(self._db, query) if query.by else self._records(query)

    def _records(self, query: Query) -> Iterator[dict[str, Any]]:
        statements, values = asked(query)
        newest = self._db.execute(statements.newest, values).fetchall() if statements.newest else []
        enough = newest and len(newest) == query.limit
        for row in newest if enough else self._db.execute(statements.whole, values):
            yield joined(*row)

    def fetch(self, id_: str) -> dict[str, Any] | None:
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
        count = self._forgotten(what, now_us)
        for _ in range(MOST_ROUNDS):  # what a record takes is only known when it is gone
            if not what.keep_bytes or self.size() <= what.keep_bytes or not (more := self._forgotten(what, now_us)):
                break
            count += more
        return count

    def _forgotten(self, what: Forgetting, now_us: int) -> int:
        with self._writing():
            ids = self._due(what)
            gone = sorted(seq for id_ in ids for seq in self._take_out(id_))
            if not gone:
                return 0
            spans.renew(self._db)
            id_ = uuid7(now_us, os.urandom(10))
            body = {"schema": FORGETTING, "id": id_, "at_us": now_us, "why": what.why, "entries": spans_of(gone)}
            self._checkpoint(self._add(self.head(), FORGOTTEN, id_, as_text(body)))
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        with self._complaints:
            self._db.execute("VACUUM")  # what was forgotten is in no page of the file, nor in its journal
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(ids)

    def _due(self, what: Forgetting) -> list[str]:
        if what.conversation:
            found = self._db.execute("SELECT id FROM records WHERE conversation = ?", (what.conversation,))
        elif what.keep_bytes:
            return self._oldest(what.keep_bytes)
        else:
            found = self._db.execute("SELECT id FROM records WHERE at_us < ?", (what.before_us,))
        return [row[0] for row in found]

    def _oldest(self, keep: int) -> list[str]:
        """So many that the rest should fit, as far as bodies say what a record takes; their links stay in any case."""
        size = self.size()
        bodies, entries = self._db.execute("SELECT total(length(body)), count(*) FROM entries").fetchone()
        spare = max(1.0, size - entries * LINK_BYTES)
        left = bodies * min(1.0, (size - keep) / spare)
        found = []
        for id_, weight in self._db.execute(WEIGHTS):
            if left <= 0:
                break
            left -= weight
            found.append(id_)
        return found

    def size(self) -> int:
        """Bytes of the file, without pages that are free."""
        with self._complaints:
            pages, free, each = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * each)

    def oldest_us(self) -> int:
        """The time of the record that is next to be forgotten by age; 0 if there is none."""
        with self._complaints:
            return int(self._db.execute("SELECT min(at_us) FROM records").fetchone()[0] or 0)

    def head(self) -> Head:
        with self._complaints:
            row = self._db.execute("SELECT seq, digest FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(*row) if row else BEGINNING

    def entries(self) -> Iterator[Entry]:
        """The whole chain, in its order."""
        with self._complaints:
            columns = ", ".join(Entry._fields)
            for row in self._db.execute(f"SELECT {columns} FROM entries ORDER BY seq"):  # noqa: S608 - names of ours
                yield Entry(*row)

    def damage(self) -> str:
        """What the database itself finds wrong with its pages."""
        with self._complaints:
            found = str(self._db.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else " ".join(found.split())

    def checkpoints(self) -> dict[int, str]:
        with self._complaints:
            return dict(self._db.execute("SELECT seq, digest FROM checkpoints"))

    def unread(self) -> list[Unread]:
        with self._complaints:
            return [Unread(*row) for row in self._db.execute("SELECT place, why, line FROM unread ORDER BY place")]

    def steps(self, newest: int) -> Iterator[Step]:
        """What the records say of actions, oldest first: all, or those of so many entries."""
        after = max(0, self.head().seq - newest) if newest else 0
        kinds, turns = (", ".join("?" * len(words)) for words in (STEPS, TURNS))
        statement = (
            "SELECT records.seq, id, host, conversation, event, coalesce(kind, ''), coalesce(name, ''), verdict"  # noqa: S608 - marks
            f" FROM records LEFT JOIN facts ON facts.seq = records.seq AND kind IN ({kinds})"
            f" WHERE records.seq > ? AND own = 0 AND (kind IS NOT NULL OR event IN ({turns})) ORDER BY records.seq"
        )
        with self._complaints:
            for seq, id_, host, talk, event, kind, name, verdict in self._db.execute(
                statement, (*STEPS, after, *TURNS)
            ):
                yield Step(seq, id_, (host, talk), event, kind, name, verdict == "ask")

    def alarms(self, newest: int = RECENT_FOR_ALARMS) -> list[Alarm]:
        """What does not fit together in so many entries, or, with 0, in all."""
        return alarms_in(self.steps(newest))

    def observed(self, record: dict[str, Any]) -> list[int]:
        """Which records say that this action was done, if it is one that was to be done."""
        step = step_of(record)
        if step is None or not step[1] or step[0] == RAN:
            return []
        with self._complaints:
            found = "SELECT seq FROM facts WHERE kind = ? AND name = ? AND seq > ? ORDER BY seq"
            return [row[0] for row in self._db.execute(found, (RAN, step[1], record["seq"]))]

    def misindexed(self) -> Iterator[tuple[int, str]]:
        """Records that would not be found by what is in them, and what is found without being a record."""
        with self._complaints:
            listed = {row[0]: row[1:] for row in self._db.execute(f"SELECT {COLUMNS} FROM records")}  # noqa: S608 - ours
        for record in self._all():
            if listed.pop(record["seq"], None) != tuple(columns_of(record)) or not self._has_facts(record):
                yield record["seq"], str(record["id"])
        yield from ((seq, row[0]) for seq, row in listed.items())
        yield from spans.astray(self._db)

    def _all(self) -> Iterator[dict[str, Any]]:
        statement = (
            "SELECT record.seq, record.body, detail.body FROM entries AS record LEFT JOIN entries AS detail"
            " ON detail.id = record.id AND detail.kind = 'detail'"
            " WHERE record.kind = 'record' AND record.body IS NOT NULL ORDER BY record.seq"
        )
        with self._complaints:
            yield from (joined(*row) for row in self._db.execute(statement))

    def _has_facts(self, record: dict[str, Any]) -> bool:
        found = set(self._db.execute("SELECT kind, name FROM facts WHERE seq = ?", (record["seq"],)))
        figures = set(self._db.execute("SELECT * FROM figures WHERE seq = ?", (record["seq"],)))
        words = self._db.execute("SELECT text FROM words WHERE rowid = ?", (record["seq"],)).fetchone()
        counted = figures == set(_rows_of(record["seq"], record))
        return counted and found == facts_of(record) and words == (words_of(record),)

    def _has(self, id_: str, kind: str) -> bool:
        """Whether it is here, or was, or belongs to what is forgotten."""
        found = "SELECT 1 FROM entries WHERE id = ? AND (kind = ? OR (kind = 'record' AND body IS NULL))"
        return self._db.execute(found, (id_, kind)).fetchone() is not None

    def _add(self, head: Head, kind: str, id_: str, body: str) -> Head:
        entry = entry_after(head, kind, id_, os.urandom(16).hex(), body)
        self._db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
        if entry.seq % EVERY == 0:
            self._db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (entry.seq, entry.digest))
        return Head(entry.seq, entry.digest)

    def _checkpoint(self, head: Head) -> None:
        if head.seq:
            self._db.execute("DELETE FROM checkpoints WHERE seq < ? AND seq % ? != 0", (head.seq, EVERY))
            self._db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", head)

    def _keep_unread(self, one: Unread) -> None:
        self._db.execute("INSERT OR IGNORE INTO unread VALUES (?, ?, ?)", one)

    def _index(self, id_: str) -> None:
        """Under what it is found; a detail that comes later makes that anew.

        What somebody who cut the end left in these tables is in nobody's way: verify tells of the cut.
        """
        record = self.fetch(id_)
        if record is None:
            return  # a detail that was quicker than its record
        seq = record["seq"]
        marks = ", ".join("?" * (len(Columns._fields) + 1))
        if self._db.execute("SELECT 1 FROM records WHERE seq = ?", (seq,)).fetchone():
            self._unlist(seq)
        self._db.execute(f"INSERT INTO records ({COLUMNS}) VALUES ({marks})", (seq, *columns_of(record)))  # noqa: S608 - names of ours
        self._db.executemany(
            "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", [(*fact, seq) for fact in facts_of(record)]
        )
        self._db.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?)", _rows_of(seq, record))
        self._db.execute("INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)", (seq, words_of(record)))

    def _unlist(self, seq: int) -> None:
        for statement in (
            "DELETE FROM records WHERE seq = ?",
            "DELETE FROM facts WHERE seq = ?",
            "DELETE FROM figures WHERE seq = ?",
            "DELETE FROM words WHERE rowid = ?",
        ):
            self._db.execute(statement, (seq,))

    def _take_out(self, id_: str) -> list[int]:
        numbers = [row[0] for row in self._db.execute("SELECT seq FROM entries WHERE id = ?", (id_,))]
        for seq in numbers:
            self._db.execute("UPDATE entries SET salt = NULL, body = NULL WHERE seq = ?", (seq,))
            self._unlist(seq)
        return numbers

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._complaints:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _rows_of(seq: int, record: dict[str, Any]) -> list[tuple[str, str, int, int, int]]:
    return [(figure.kind, figure.name, seq, turn, figure.amount) for turn, figure in enumerate(figures_of(record))]


def _private_file(file: Path) -> None:
    """A file of ours that nobody else may read, before the database opens it.

    One that is there is not opened here: to close it would let go of the locks that this process has on it.
    """
    private_directory(file.parent)
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "something that is no file is in its place") from None
        if status.st_uid != os.getuid():
            raise PermissionError(errno.EACCES, f"it belongs to another user (uid {status.st_uid})") from None
        if status.st_mode & 0o077:
            file.chmod(0o600)
        for beside in (file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm")):
            _open_as(beside, status)


def _open_as(beside: Path, status: os.stat_result) -> None:
    """A journal that was made while the file was read-only still is when the file no longer is."""
    with contextlib.suppress(FileNotFoundError):
        found = beside.lstat()
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == status.st_uid
        if ours and status.st_mode & 0o200 and not found.st_mode & 0o200:
            beside.chmod(0o600)
