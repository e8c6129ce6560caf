"""Measure the audit log: parallel appends, draining, size, and queries.

    python bench/audit_log.py [RECORDS [DIRECTORY]]      200,000 records; a million take ten minutes and 3 GB

A named directory is not removed; an audit log in it is queried and not filled again.
"""

import json
import multiprocessing
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from trotline.audit.query.query import By, Query
from trotline.audit.query.statistics import compute_statistics, filter_alarms
from trotline.audit.store import audit_log
from trotline.audit.store.drain import drain
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import DATABASE_NAME, SqliteStore
from trotline.audit.store.store import StoredLine

AGENTS = ("cursor", "cursor", "cursor", "claude-code", "codex")
EVENTS = ("preToolUse", "beforeShellExecution", "afterShellExecution", "postToolUse", "afterFileEdit", "stop")
WORDS = "build deploy tests cart price total invoice parser branch merge release cache queue worker schema".split()
SECOND = 1_000_000
START = 1_790_000_000 * SECOND
BATCH = 500
MIN_ROUNDS, MAX_ROUNDS, ENOUGH_MS = 3, 1_000, 1_000
"""Rounds of a query: as many as fit into a second, because a few rounds of microseconds are noise."""
SPOOLED_RECORDS = 50_000

PROCESSES, RECORDS_EACH = 64, 100


def build_record(number: int, chance: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record and its detail, of the size and form that calls leave."""
    id_ = f"01a1e2f0-{number:012x}-7df0-bca5"
    event, denied = EVENTS[number % len(EVENTS)], number % 97 == 0
    output = " ".join(chance.choices(WORDS, k=30)) + (" needle" if number % 50_000 == 7 else "")
    path = f"/srv/shop/src/{chance.choice(WORDS)}/{chance.choice(WORDS)}_{chance.randrange(500)}.py"
    command = f"npm run {chance.choice(WORDS)} -- --shard={chance.randrange(90)}"
    hook = {"author": f"hook-{number % 3}", "layer": "user", "permission": "none", "failure": None}
    guard = {"author": "deletion", "layer": "guard", "permission": "deny", "failure": None, "micros": 310}
    responses = [{**hook, "micros": int(chance.lognormvariate(9, 0.7))}, *([guard] if denied else [])]
    record = {
        "schema": "trotline.record/2",
        "id": id_,
        "at_us": START + number * SECOND,
        "side": "hook",
        "agent": chance.choice(AGENTS),
        "event": event,
        "conversation": f"0b6f7c1e-{number // 200:08x}",
        "generation": f"7a1c9f7c-{number // 20:08x}",
        "tool": "Shell",
        "payload_bytes": 900,
        "decided": "deny" if denied else "none",
        "sent": "deny" if denied else "none",
        "edited": False,
        "deciders": ["deletion"] if denied else [],
        "responses": responses,
        "findings": [],
        "losses": [],
        "monitored": False,
        "withheld": [],
        "alarms": 0,
        "sent_exit": 0,
        "sent_bytes": 40,
        "micros": int(chance.lognormvariate(7, 0.5)),
    }
    payload = {
        "command": command,
        "cwd": "/srv/shop",
        "file_path": path,
        "output": output,
        "workspace_roots": ["/srv/shop"],
    }
    effects = [["delete" if denied else "execute", "npm", path]]
    detail = {
        "schema": "trotline.detail/2",
        "id": id_,
        "level": "standard",
        "payload": payload,
        "reasons": [],
        "effects": effects,
        "reply": "{}",
        "lines": [[path, chance.randrange(1, 40), chance.randrange(20)]] if event == "afterFileEdit" else [],
        "measures": build_measures(event, chance),
        "action": f"{number // 2:032x}",
    }
    return record, detail


def build_measures(event: str, chance: random.Random) -> dict[str, int | str]:
    if event in ("afterShellExecution", "postToolUse"):
        return {"duration_ms": int(chance.lognormvariate(5, 2)) + 1, "output_bytes": chance.randrange(1, 9000)}
    return {"status": "completed"} if event == "stop" else {}


def build_lines(first: int, last: int) -> Iterator[StoredLine]:
    chance = random.Random(first)  # noqa: S311 - sample texts, not secrets
    for number in range(first, last):
        yield from map(StoredLine, build_record(number, chance))


def fill(store: SqliteStore, state: Path, count: int) -> None:
    """Append the first records through the spool, as calls do, and the rest as the drain does."""
    spool = audit_log.get_spool(state)
    first = min(count, SPOOLED_RECORDS)
    for line in build_lines(0, first):
        spool.append(line.body)
    start = time.process_time()
    drain(spool, store)
    print(f"drained {first} records: {first / (time.process_time() - start):.0f} per second of one core")
    start = time.process_time()
    for at in range(first, count, BATCH):
        store.append(build_lines(at, min(at + BATCH, count)))
    if count > first:
        rate = (count - first) / (time.process_time() - start)
        print(f"appended {count - first} more in batches of {BATCH}: {rate:.0f} per second of one core")


BARE_QUERY = (
    "SELECT records.seq, r.body, d.body FROM records JOIN entries r ON r.seq = records.seq"
    " LEFT JOIN entries d ON d.id = records.id AND d.kind = 'detail'"
    " WHERE is_self_test = 0 AND {where} ORDER BY records.seq DESC LIMIT 20"
)
DURING = "records.seq IN (SELECT seq FROM records WHERE at_us >= {})"
FACT = "records.seq IN (SELECT seq FROM facts WHERE kind = '{}' AND {})"
FACT_OF_RECORD = "EXISTS (SELECT 1 FROM facts WHERE facts.seq = records.seq AND kind = '{}' AND {})"
ANY_PATH, ONE_PATH = (f"(name GLOB '{path}' OR name GLOB '*/{path}')" for path in ("src/**", "cart/price_7.py"))
EXECUTE = "name = 'execute'"
FOUND_IN_RECORD = "EXISTS (SELECT 1 FROM words WHERE words MATCH '\"{}\"' AND rowid = records.seq)"
FOUND = "records.seq IN (SELECT rowid FROM words WHERE words MATCH '{}' {})"
BY_AGENT = "SELECT agent, count(*) FROM records WHERE is_self_test = 0 GROUP BY 1 ORDER BY 2 DESC"
BY_HOUR = (
    "SELECT strftime('%Y-%m-%dT%H:00Z', at_us / 1000000, 'unixepoch'), count(*)"
    " FROM records WHERE is_self_test = 0 GROUP BY 1 ORDER BY 1 DESC"
)
BY_CONVERSATION = (
    "SELECT conversation, agent, count(*), min(at_us), max(at_us), sum(verdict = 'deny'),"
    " sum(event = 'beforeShellExecution'), sum(event = 'afterFileEdit'), max(CASE WHEN event = 'stop' THEN seq END)"
    " FROM records WHERE is_self_test = 0 GROUP BY 1, 2 ORDER BY max(seq) DESC LIMIT 20"
)
OF_CURSOR = "AND seq IN (SELECT seq FROM records WHERE agent = 'cursor')"
VERDICTS = "SELECT verdict, count(*) FROM records WHERE is_self_test = 0 {} GROUP BY 1 ORDER BY 2 DESC"
SUMS = (
    "SELECT kind, name, count(*), sum(amount) FROM metrics"
    " WHERE kind NOT IN ('took', 'lasted', 'server_lasted', 'said', 'command', 'edit') {} GROUP BY 1, 2"
)
SHARES = (
    "WITH ranked AS (SELECT kind, name, amount, row_number() OVER (PARTITION BY kind, name ORDER BY amount) AS at,"
    " count(*) OVER (PARTITION BY kind, name) AS calls FROM metrics"
    " WHERE kind IN ('took', 'lasted', 'server_lasted', 'said') {})"
    " SELECT kind, name, calls, min(CASE WHEN at * 100 >= calls * 50 THEN amount END),"
    " min(CASE WHEN at * 100 >= calls * 95 THEN amount END), min(CASE WHEN at * 100 >= calls * 99 THEN amount END)"
    " FROM ranked GROUP BY 1, 2"
)
BY_GUARD = (
    "SELECT name, count(*) FROM facts JOIN records ON records.seq = facts.seq"
    " WHERE kind = 'guard' AND is_self_test = 0 GROUP BY 1 ORDER BY 2 DESC"
)


def build_queries(count: int) -> dict[str, tuple[Query, tuple[str, ...]]]:
    """Return every query of `trotline log`, and the SQL that a person who knows the data would write."""
    late, just_now = (START + (count - seconds) * SECOND for seconds in (7200, 5))
    conversation = f"0b6f7c1e-{count // 400:08x}"
    newest = Query(limit=20)

    def select(where: str, **conditions: Any) -> tuple[Query, tuple[str, ...]]:
        return replace(newest, **conditions), (BARE_QUERY.format(where=where),)

    def group(by: By, statement: str, limit: int = 0) -> tuple[Query, tuple[str, ...]]:
        return Query(by=by, limit=limit), (statement,)

    return {
        "newest": select("1"),
        "--since 2h": select(f"at_us >= {late}", since_us=late),
        "--since 5s": select(DURING.format(just_now), since_us=just_now),
        "--since, none": select(DURING.format(just_now + 3600 * SECOND), since_us=just_now + 3600 * SECOND),
        "--event stop": select("event = 'stop'", event="stop"),
        "--event, none": select("event = 'workspaceOpen'", event="workspaceOpen"),
        "--agent codex": select("agent = 'codex'", agent="codex"),
        "--verdict denied": select("verdict = 'deny'", verdict="deny"),
        "--conversation": select(f"conversation = '{conversation}'", conversation=conversation),
        "--command 'npm *'": select("command GLOB 'npm *'", command="npm *"),
        "--command, none": select("command GLOB 'rm *'", command="rm *"),
        "--path 'src/**'": select(FACT_OF_RECORD.format("path", ANY_PATH), path="src/**"),
        "--path, one file": select(FACT.format("path", ONE_PATH), path="cart/price_7.py"),
        "--effect delete": select(FACT_OF_RECORD.format("effect", "name = 'delete'"), effect="delete"),
        "--effect, none": select(FACT.format("effect", "name = 'send'"), effect="send"),
        "--text needle": select(FOUND.format('"needle"', ""), text="needle"),
        "--text, common": select(FOUND.format('"cart" "price"', f"AND rowid > {2 * count - 5000}"), text="cart price"),
        "--text, long ago": select(
            FOUND.format('"cart"', "") + f" AND at_us < {START + 5000 * SECOND}",
            text="cart",
            until_us=START + 5000 * SECOND,
        ),
        "--since 5s --effect": select(
            f"{DURING.format(just_now)} AND {FACT_OF_RECORD.format('effect', EXECUTE)}",
            since_us=just_now,
            effect="execute",
        ),
        "--since 5s --path": select(
            f"{DURING.format(just_now)} AND {FACT_OF_RECORD.format('path', ANY_PATH)}", since_us=just_now, path="src/**"
        ),
        "denied --effect": select(
            f"verdict = 'deny' AND {FACT_OF_RECORD.format('effect', EXECUTE)}", verdict="deny", effect="execute"
        ),
        "--conversation --text": select(
            f"conversation = '{conversation}' AND {FOUND_IN_RECORD.format('cart')}",
            conversation=conversation,
            text="cart",
        ),
        "--count": group("all", "SELECT 'all', count(*) FROM records WHERE is_self_test = 0"),
        "--by agent": group("agent", BY_AGENT),
        "--by guard": group("guard", BY_GUARD),
        "--by hour": group("hour", BY_HOUR),
        "show": select(f"records.seq = {count + 1}", after_seq=count, until_seq=count + 2),
        "conversations": group("conversation", BY_CONVERSATION, limit=20),
        "stats": (Query(), (VERDICTS.format(""), SUMS.format(""), SHARES.format(""))),
        "stats --agent": (
            Query(agent="cursor"),
            (VERDICTS.format("AND agent = 'cursor'"), SUMS.format(OF_CURSOR), SHARES.format(OF_CURSOR)),
        ),
    }


def measure_queries(store: SqliteStore, count: int) -> None:
    db = sqlite3.connect(store.file)
    print(f"{'question':<22} {'bare, ms':>9} {'ours, ms':>9} {'ratio':>7}  answers")
    for name, (query, statements) in build_queries(count).items():
        ours: list[float] = []
        bare: list[float] = []
        while len(ours) < MIN_ROUNDS or (len(ours) < MAX_ROUNDS and sum(ours) < ENOUGH_MS):
            milliseconds, expected = time_cpu(run_sql, db, statements)
            bare.append(milliseconds)
            run = run_statistics if name.startswith("stats") else run_query
            milliseconds, rows = time_cpu(run, store, query)
            ours.append(milliseconds)
        if expected != rows:
            print(f"{name}: the answers differ")
        bare_ms, our_ms = statistics.median(bare), statistics.median(ours)
        print(f"{name:<22} {bare_ms:>9.3f} {our_ms:>9.3f} {our_ms / bare_ms:>7.2f}  {len(rows)}")
    db.close()


def run_sql(db: sqlite3.Connection, statements: tuple[str, ...]) -> list[Any]:
    """Return the first column of the first statement. Bodies are parsed as JSON, because every reader has to."""
    first, *_ = [db.execute(statement).fetchall() for statement in statements]
    for row in first:
        for text in row:
            if isinstance(text, str) and text.startswith("{"):
                json.loads(text)
    return [row[0] for row in first]


def run_query(store: SqliteStore, query: Query) -> list[Any]:
    return [row["name"] for row in store.aggregate(query)] if query.by else [row.seq for row in store.search(query)]


def run_statistics(store: SqliteStore, query: Query) -> list[Any]:
    """Compute everything that `trotline log stats` shows."""
    statistics_data = compute_statistics(store, query, {})
    filter_alarms(store, query, store.alarms())
    return list(statistics_data["verdicts"])


def time_cpu(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the milliseconds of CPU time, which do not depend on the load of the machine, and the result."""
    start = time.process_time()
    result = call(*arguments)
    return (time.process_time() - start) * 1000, result


# Parallel appends


def open_spool(directory: Path) -> Callable[[dict[str, Any]], object]:
    return Spool(directory).append


def open_database(directory: Path) -> Callable[[dict[str, Any]], object]:
    db = sqlite3.connect(directory / "direct.db", timeout=120, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")

    def append(record: dict[str, Any]) -> None:
        db.execute("INSERT INTO records VALUES (?, ?)", (record["id"], json.dumps(record)))

    return append


TARGETS = {"the spool": open_spool, "direct SQLite": open_database}


def append_records(target: str, directory: str, number: int, out: "multiprocessing.Queue[list[float]]") -> None:
    append = TARGETS[target](Path(directory))
    chance = random.Random(number)  # noqa: S311 - sample texts
    times = []
    for turn in range(RECORDS_EACH):
        record = build_record(number * RECORDS_EACH + turn, chance)[0]
        start = time.perf_counter()
        append(record)
        times.append((time.perf_counter() - start) * 1000)
    out.put(times)


def measure_parallel_appends(scratch: Path) -> None:
    worst: dict[str, float] = {}
    for target in TARGETS:
        directory = scratch / target.replace(" ", "-")
        directory.mkdir(mode=0o700)
        if target == "direct SQLite":
            with sqlite3.connect(directory / "direct.db") as db:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("CREATE TABLE records (id TEXT PRIMARY KEY, body TEXT)")
            db.close()
        out: multiprocessing.Queue[list[float]] = multiprocessing.Queue()
        writers = [
            multiprocessing.Process(target=append_records, args=(target, str(directory), number, out))
            for number in range(PROCESSES)
        ]
        for writer in writers:
            writer.start()
        times = sorted(milliseconds for _ in writers for milliseconds in out.get())
        for writer in writers:
            writer.join()
        worst[target] = times[-1]
        shares = [times[int(len(times) * share)] for share in (0.5, 0.99)]
        percentiles = f"p50 {shares[0]:.3f} ms, p99 {shares[1]:.2f} ms, worst {times[-1]:.1f} ms"
        print(f"{PROCESSES} processes x {RECORDS_EACH}, {target}: {percentiles}")
    print(f"worst against direct SQLite: {worst['the spool'] / worst['direct SQLite']:.3f}")


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as scratch:
        measure_parallel_appends(Path(scratch))
        state = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch, "state")
        with SqliteStore(state / DATABASE_NAME) as store:
            if not store.head().seq:
                fill(store, state, count)
            size = store.size()
            print(f"{count} records, {size // SECOND} MB: {size / count:.0f} bytes for each with its detail")
            measure_queries(store, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
