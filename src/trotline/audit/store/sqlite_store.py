"""The audit log in one SQLite file, which many processes may read while one writes.

The file and its journals are private to their owner. Database errors are turned into messages that say what
to do about them.
"""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from trotline.audit.query.alarms import Alarm, add_observed, find_alarms, query_steps, query_steps_around
from trotline.audit.query.query import Query
from trotline.audit.query.sql_queries import (
    build_record_query,
    query_conversations,
    query_counts,
    query_percentiles,
    query_sums,
)
from trotline.audit.record.actions import ActionStep
from trotline.audit.record.record import Record
from trotline.audit.record.record_reader import (
    BODY_KINDS,
    decode_record,
    encode_body,
    explain_unreadable,
    is_same_body,
)
from trotline.audit.store import retention
from trotline.audit.store.log_schema import check_version, prepare_schema
from trotline.audit.store.record_index import (
    RecordColumns,
    build_columns,
    build_facts,
    build_search_text,
    extend_spans,
    rebuild_spans,
)
from trotline.audit.store.store import ForgetRequest, StoredLine, UnreadLine
from trotline.audit.verify.chain import TOMBSTONE, ChainEntry, ChainHead, build_entry, group_runs
from trotline.audit.verify.verification import (
    RECORD_COLUMNS,
    build_metric_rows,
    find_misindexed,
    read_checkpoints,
    read_entries,
    read_head,
)
from trotline.domain.errors import TrotlineError, TryAgain, describe_os_error
from trotline.domain.ids import uuid7
from trotline.system.files import (
    OTHERS_MODE,
    OWNER_ONLY,
    check_owner,
    check_regular,
    create_file,
    ensure_private_directory,
)

DATABASE_NAME = "audit_log.db"
TOMBSTONE_SCHEMA = "trotline.forgetting/1"

DATABASE_TIMEOUT = 10.0
"""Seconds to wait for another process that writes."""

CHECKPOINT_INTERVAL = 1_000
"""Number of entries between two permanent checkpoints; in addition there is always one for the newest entry."""

DELETE_SUPERSEDED_CHECKPOINTS = (
    "DELETE FROM checkpoints WHERE seq < ? AND seq % ? != 0"
    " AND digest = (SELECT digest FROM entries WHERE entries.seq = checkpoints.seq)"
)
"""Deletes the temporary checkpoints before an entry that agree with the chain."""

MAX_FORGET_ROUNDS = 5
MAX_UNREAD_LINE = 64_000_000
"""Maximum number of bytes kept of an unread line; SQLite limits the length of a value."""

CONFLICTING_BODY = "another body under an id that is there"
OLDEST_TIME = (
    "SELECT min(at_us) FROM (SELECT min(at_us) AS at_us FROM records WHERE at_us > 0"
    " UNION ALL SELECT min(at_us) FROM unread WHERE at_us > 0)"
)

LAST_CHARACTER = chr(0x10FFFF)
RECENT_FOR_ALARMS = 10_000
AGGREGATES = {"conversation": query_conversations, "metric": query_sums, "percentile": query_percentiles}


class SqliteStore:
    """A store in an SQLite file, which also gives access to the chain for verification."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._errors = DatabaseErrors(file)
        with self._errors:
            ensure_private_file(file)
            self._db = sqlite3.connect(  # threads that share it must take turns
                file, timeout=DATABASE_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")  # the spool file is deleted after the commit
                self._db.execute("PRAGMA secure_delete = ON")
                prepare_schema(self._db, file)
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database connection."""
        self._db.close()

    def append(self, lines: Iterable[StoredLine | UnreadLine]) -> int:
        """Store the lines that are new, all or none of them, and return how many were new.

        Raises TrotlineError if the database does not keep the entries.
        """
        batch = list(lines)
        with self._writing():
            start = self.head()
            try:
                added = self._insert_all(batch)
            except Exception as error:
                if not is_line_error(error):
                    raise
                added = sum(map(self._insert_alone, batch))
            head = self.head()
            stored = self._db.execute("SELECT count(*) FROM entries WHERE seq > ?", (start.seq,)).fetchone()[0]
            if not head.seq - start.seq == stored == added:  # a foreign trigger may drop them
                hint = "`trotline log verify` looks at it; records wait in the spool until it can be used"
                raise TrotlineError(f"the audit log `{self.file}` does not keep what it is given", hint=hint)
            extend_spans(self._db, start.seq)
            self._checkpoint(head)
            return added

    def _insert_alone(self, line: StoredLine | UnreadLine) -> int:
        """Insert one line of a batch that failed; a line that causes the failure is kept as unread, with the reason."""
        try:
            return self._insert_all([line])
        except Exception as error:
            if isinstance(line, UnreadLine) or not is_line_error(error):
                raise
            self._keep_unread(line, f"it cannot be kept: {type(error).__name__}")
            return 0

    def _insert_all(self, lines: Iterable[StoredLine | UnreadLine]) -> int:
        """Insert all lines or none, and return how many are new."""
        self._db.execute("SAVEPOINT lines")
        try:
            head = start = self.head()
            touched: dict[str, None] = {}
            for line in lines:
                text, why = ("", line.why) if isinstance(line, UnreadLine) else self._encode_body(line.body)
                if why:
                    self._keep_unread(line, why)
                elif isinstance(line, StoredLine) and text:
                    head = self._append_chain_entry(head, BODY_KINDS[line.body["schema"]], line.body["id"], text)
                    touched[line.body["id"]] = None
            for id_ in touched:
                self._index(id_)
        except BaseException:
            self._db.execute("ROLLBACK TO lines")
            raise
        self._db.execute("RELEASE lines")
        return head.seq - start.seq

    def _encode_body(self, body: dict[str, Any]) -> tuple[str, str]:
        """Return the body as text for the chain, or the reason why it cannot be an entry.

        Both are empty for a body that is already stored or was forgotten.
        """
        why = explain_unreadable(body)
        if why:
            return "", why
        kind, text = BODY_KINDS[body["schema"]], encode_body(body)
        statement = "SELECT kind, body FROM entries WHERE id = ? AND kind IN (?, 'record')"
        found = dict(self._db.execute(statement, (body["id"], kind)))
        if found.get("record", "") is None or found.get(kind, "") is None:
            return "", ""
        if kind not in found:
            return text, ""
        return "", "" if is_same_body(found[kind], text) else CONFLICTING_BODY

    def search(self, query: Query) -> Iterator[Record]:
        """Yield the matching records, newest first."""
        with self._errors:
            statements, values = build_record_query(query)
            newest = self._db.execute(statements.newest, values).fetchall() if statements.newest else []
            enough = newest and len(newest) == query.limit
            for row in newest if enough else self._db.execute(statements.whole, values):
                yield decode_record(*row)

    def aggregate(self, query: Query) -> Iterator[dict[str, Any]]:
        """Yield the groups of matching records that `query.by` names."""
        with self._errors:
            yield from AGGREGATES.get(query.by, query_counts)(self._db, query)

    def fetch(self, id_: str) -> Record | None:
        """Return the record with an id, including its detail, or None."""
        with self._errors:
            bodies = {
                kind: (seq, body)
                for seq, kind, body in self._db.execute("SELECT seq, kind, body FROM entries WHERE id = ?", (id_,))
            }
        seq, body = bodies.get("record", (0, None))
        return None if body is None else decode_record(seq, body, bodies.get("detail", (0, None))[1])

    def list_with_prefix(self, column: Literal["id", "conversation"], prefix: str, limit: int) -> list[str]:
        """Return at most `limit` ids of records or conversations that begin with a prefix."""
        statement = f"SELECT DISTINCT {column} FROM records WHERE {column} >= ? AND {column} < ? ORDER BY 1 LIMIT ?"  # noqa: S608 - a fixed column name
        with self._errors:
            return [row[0] for row in self._db.execute(statement, (prefix, prefix + LAST_CHARACTER, limit))]

    def forget(self, request: ForgetRequest, *, now_us: int) -> int:
        """Forget what the request selects and return how many records were forgotten.

        By size it is all or nothing: if the size cannot be reached, no record is forgotten;
        `estimate_minimum_size` estimates the smallest size. Raises TryAgain if another process still reads the old
        pages, which then remain in the file.
        """
        count = 0
        # The space that a record takes is only known once it is gone, so forgetting by size takes several rounds.
        for _ in range(MAX_FORGET_ROUNDS if request.keep_bytes else 1):
            found = self._forget(request, now_us)
            count += len(found.records)
            if not any(found):
                break
        with self._errors:
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise TryAgain(
                "it is forgotten, but another process still reads the audit log as it was: until that ends, words are"
                f" in pages of `{self.file}`",
                hint=f"`fuser -v {self.file}` names it; the same again, when it has ended, takes them out",
            )
        return count

    def _forget(self, request: ForgetRequest, now_us: int) -> retention.DueEntries:
        with self._writing():
            found = retention.find_due(self._db, request, self.size(), now_us)
            if not any(found):
                return found
            gone = retention.erase_entries(self._db, found)
            for seq in gone:
                self._remove_index(seq)
            rebuild_spans(self._db)
            id_ = uuid7(now_us, os.urandom(10))
            body = {
                "schema": TOMBSTONE_SCHEMA,
                "id": id_,
                "at_us": now_us,
                "why": request.why,
                "entries": group_runs(gone),
            }
            body |= {"lines": len(found.lines)} if found.lines else {}
            self._checkpoint(self._append_chain_entry(self.head(), TOMBSTONE, id_, encode_body(body)))
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        with self._errors:
            self._db.execute("VACUUM")  # removes what was forgotten from all pages of the file
        return found

    def estimate_minimum_size(self, now_us: int) -> int:
        """Estimate the size in bytes after forgetting everything that may be forgotten by size."""
        with self._errors:
            return retention.estimate_minimum_size(self._db, self.size(), now_us)

    def size(self) -> int:
        """Return the size of the file in bytes, without free pages."""
        with self._errors:
            pages, free, each = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * each)

    def oldest_us(self) -> int:
        """Return the time of the oldest record or unread line, or 0 if there is none.

        Entries without a time are ignored here; they are forgotten along with the others.
        """
        with self._errors:
            return int(self._db.execute(OLDEST_TIME).fetchone()[0] or 0)

    def head(self) -> ChainHead:
        """Return the head of the chain."""
        with self._errors:
            return read_head(self._db)

    def entries(self) -> Iterator[ChainEntry]:
        """Yield all entries of the chain in order."""
        with self._errors:
            yield from read_entries(self._db)

    def checkpoints(self) -> dict[int, str]:
        """Return the digests of the checkpoints by entry number."""
        with self._errors:
            return read_checkpoints(self._db)

    @contextlib.contextmanager
    def open_connection(self) -> Iterator[sqlite3.Connection]:
        """Provide the database connection for verification."""
        with self._errors:
            yield self._db

    def unread(self) -> list[UnreadLine]:
        """Return the lines that could not be read, ordered by place."""
        with self._errors:
            return [UnreadLine(*row) for row in self._db.execute("SELECT place, why, line FROM unread ORDER BY place")]

    def steps(self, newest: int) -> Iterator[ActionStep]:
        """Yield the action steps of the newest entries, oldest first, or of all entries if `newest` is 0."""
        after = max(0, self.head().seq - newest) if newest else 0
        with self._errors:
            yield from query_steps(self._db, "records.seq > ?", after)

    def alarms(self, newest: int = RECENT_FOR_ALARMS) -> list[Alarm]:
        """Return alarms about contradictory action steps in the newest entries, or in all if `newest` is 0."""
        return find_alarms(self.steps(newest))

    def related_alarms(self, record: Record) -> list[Alarm]:
        """Return the alarms that a record raised or that are about it."""
        with self._errors:
            steps = query_steps_around(self._db, record)
        return [alarm for alarm in find_alarms(steps) if record.seq in (alarm.seq, alarm.decision_seq)]

    def with_observed(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records; those that announce an action list under `observed` the records that report it as done."""
        with self._errors:
            yield from add_observed(self._db, records)

    def find_index_faults(self) -> Iterator[tuple[int, str]]:
        """Yield the number and id of each record whose index does not match its body."""
        with self._errors:
            yield from find_misindexed(self._db)

    def _append_chain_entry(self, head: ChainHead, kind: str, id_: str, body: str) -> ChainHead:
        entry = build_entry(head, kind, id_, os.urandom(16).hex(), body)
        self._db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entry)
        if entry.seq % CHECKPOINT_INTERVAL == 0:
            self._db.execute("INSERT OR IGNORE INTO checkpoints VALUES (?, ?)", (entry.seq, entry.digest))
        return ChainHead(entry.seq, entry.digest)

    def _checkpoint(self, head: ChainHead) -> None:
        """Set a checkpoint at the head; it replaces the temporary ones before it.

        A checkpoint that contradicts the entries stays for good: it is the only evidence that the end of the log was
        cut off, and further writes must not hide that.
        """
        if head.seq:
            self._db.execute(DELETE_SUPERSEDED_CHECKPOINTS, (head.seq, CHECKPOINT_INTERVAL))
            self._db.execute("INSERT OR IGNORE INTO checkpoints VALUES (?, ?)", head)

    def _keep_unread(self, line: StoredLine | UnreadLine, why: str) -> None:
        raw = line.line or encode_body(line.body).encode() if isinstance(line, StoredLine) else line.line
        self._db.execute(
            "INSERT OR IGNORE INTO unread (place, why, line, at_us) VALUES (?, ?, ?, ?)",
            (line.place, why, raw[:MAX_UNREAD_LINE], line.came_us),
        )

    def _index(self, id_: str) -> None:
        """Index a record; it is indexed again when its detail comes later.

        Rows left over after the end of the log was cut off must not cause conflicts, hence OR REPLACE; verification
        reports the cut.
        """
        record = self.fetch(id_)
        if record is None:
            return  # a detail that came before its record
        seq = record.seq
        marks = ", ".join("?" * (len(RecordColumns._fields) + 1))
        if self._db.execute("SELECT 1 FROM records WHERE seq = ?", (seq,)).fetchone():
            self._remove_index(seq)
        insert = f"INSERT OR REPLACE INTO records ({RECORD_COLUMNS}) VALUES ({marks})"  # noqa: S608 - fixed column names
        self._db.execute(insert, (seq, *build_columns(record)))
        self._db.executemany(
            "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", [(*fact, seq) for fact in build_facts(record)]
        )
        self._db.executemany("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?)", build_metric_rows(seq, record))
        self._db.execute("INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)", (seq, build_search_text(record)))

    def _remove_index(self, seq: int) -> None:
        for statement in (
            "DELETE FROM records WHERE seq = ?",
            "DELETE FROM facts WHERE seq = ?",
            "DELETE FROM metrics WHERE seq = ?",
            "DELETE FROM words WHERE rowid = ?",
        ):
            self._db.execute(statement, (seq,))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._errors:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                check_version(self._db, self.file)  # another process may have migrated it since then
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def ensure_private_file(file: Path) -> None:
    """Make sure that the file exists and is private to this user before SQLite opens it.

    An existing file is not opened here: closing it would release the locks that this process holds on it.
    """
    ensure_private_directory(file.parent)
    try:
        create_file(file).close()
    except FileExistsError:
        status = file.lstat()
        check_regular(status, file)
        check_owner(status, file)
        if status.st_mode & OTHERS_MODE:
            file.chmod(OWNER_ONLY)
        for journal in (file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm")):
            _make_journal_writable(journal, status)


def _make_journal_writable(journal: Path, database_status: os.stat_result) -> None:
    """Make a journal writable that was created while the database was read-only, if the database is writable now."""
    with contextlib.suppress(FileNotFoundError):
        found = journal.lstat()
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == database_status.st_uid
        if ours and database_status.st_mode & 0o200 and not found.st_mode & 0o200:
            journal.chmod(OWNER_ONLY)


class DatabaseErrors:
    """A reusable context manager that turns SQLite and OS errors into TrotlineError."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, sqlite3.Error):
            raise self._translate(error) from None
        if isinstance(error, OSError):
            why = describe_os_error(error)
            message = f"the audit log `{self.file}` cannot be used: {why}"
            raise TrotlineError(message, hint="look at its owner") from None

    def _translate(self, error: sqlite3.Error) -> TrotlineError:
        what = getattr(error, "sqlite_errorname", "")
        if what.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return TryAgain(f"another process is writing to `{self.file}`", hint="try again in a moment")
        step = "look at its owner, its mode, the space on the disk"
        if what.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            step = (
                f"`trotline service stop`, then `{_get_move_command(self.file)}` sets it aside, and a new one is begun"
            )
        hint = f"{step}; records wait in the spool until it can be used"
        return TrotlineError(f"the audit log `{self.file}` cannot be used: {error}", hint=hint)


def _get_move_command(file: Path) -> str:
    """Return the command that moves all three files: the newest entries may only be in the journal."""
    return f'for end in "" -wal -shm; do mv "{file}$end" "{file}.broken$end"; done'


def is_line_error(error: Exception) -> bool:
    """Check whether an error is caused by the line itself, not by the file, the disk or another process."""
    if isinstance(error, sqlite3.Error):
        return isinstance(error, (sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError))
    return not isinstance(error, (TrotlineError, OSError, MemoryError))
