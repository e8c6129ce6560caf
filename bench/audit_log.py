"""What the trail costs: to append beside others, to take in, to keep, and to ask.

    python bench/audit_log.py [RECORDS [DIRECTORY]]      200,000 records; a million take ten minutes and three gigabytes

A directory that is named is kept, and a trail that is there already is asked and not filled again.
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
from trotline.audit.query.statistics import compute_statistics as statistics_of
from trotline.audit.query.statistics import filter_alarms
from trotline.audit.store import audit_log
from trotline.audit.store.drain import drain
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import DATABASE_NAME, SqliteStore
from trotline.audit.store.store import StoredLine

AGENTS = ("cursor", "cursor", "cursor", "claude-code", "codex")
EVENTS = ("preToolUse", "beforeShellExecution", "afterShellExecution", "postToolUse", "afterFileEdit", "stop")
WORDS = "build deploy tests cart price total invoice parser branch merge release cache queue worker schema".split()
SECOND = 1_000_000
BEGUN = 1_790_000_000 * SECOND
BATCH = 500
FEWEST, MOST, ENOUGH_MS = 3, 1_000, 1_000
"""Rounds: as many as a second of ours takes. Of a question that is answered in microseconds a few say nothing."""
THROUGH_THE_SPOOL = 50_000

PROCESSES, EACH = 64, 100


def pair(number: int, chance: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A record and its detail, of the size and shape that calls leave."""
    id_ = f"01a1e2f0-{number:012x}-7df0-bca5"
    event, denied = EVENTS[number % len(EVENTS)], number % 97 == 0
    said = " ".join(chance.choices(WORDS, k=30)) + (" needle" if number % 50_000 == 7 else "")
    path = f"/srv/shop/src/{chance.choice(WORDS)}/{chance.choice(WORDS)}_{chance.randrange(500)}.py"
    command = f"npm run {chance.choice(WORDS)} -- --shard={chance.randrange(90)}"
    hook = {"author": f"hook-{number % 3}", "layer": "user", "verdict": "none", "failure": None}
    guard = {"author": "deletion", "layer": "guard", "verdict": "deny", "failure": None, "micros": 310}
    responses = [{**hook, "micros": int(chance.lognormvariate(9, 0.7))}, *([guard] if denied else [])]
    record = {
        "schema": "trotline.record/2",
        "id": id_,
        "at_us": BEGUN + number * SECOND,
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
        "output": said,
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
        "measures": measures(event, chance),
        "action": f"{number // 2:032x}",
    }
    return record, detail


def measures(event: str, chance: random.Random) -> dict[str, int | str]:
    if event in ("afterShellExecution", "postToolUse"):
        return {"duration_ms": int(chance.lognormvariate(5, 2)) + 1, "output_bytes": chance.randrange(1, 9000)}
    return {"status": "completed"} if event == "stop" else {}


def lines(first: int, last: int) -> Iterator[StoredLine]:
    chance = random.Random(first)  # noqa: S311 - words, not secrets
    for number in range(first, last):
        yield from map(StoredLine, pair(number, chance))


def fill(store: SqliteStore, state: Path, count: int) -> None:
    """The first by the way that every record goes, the rest as the drain appends."""
    spool = audit_log.get_spool(state)
    first = min(count, THROUGH_THE_SPOOL)
    for line in lines(0, first):
        spool.append(line.body)
    begun = time.process_time()
    drain(spool, store)
    print(f"drained {first} records: {first / (time.process_time() - begun):.0f} in a second of one core")
    begun = time.process_time()
    for at in range(first, count, BATCH):
        store.append(lines(at, min(at + BATCH, count)))
    if count > first:
        rate = (count - first) / (time.process_time() - begun)
        print(f"appended {count - first} more in batches of {BATCH}: {rate:.0f} in a second of one core")


BARE = (
    "SELECT records.seq, r.body, d.body FROM records JOIN entries r ON r.seq = records.seq"
    " LEFT JOIN entries d ON d.id = records.id AND d.kind = 'detail'"
    " WHERE own = 0 AND {where} ORDER BY records.seq DESC LIMIT 20"
)
DURING = "records.seq IN (SELECT seq FROM records WHERE at_us >= {})"
FACT = "records.seq IN (SELECT seq FROM facts WHERE kind = '{}' AND {})"
FACT_OF_IT = "EXISTS (SELECT 1 FROM facts WHERE facts.seq = records.seq AND kind = '{}' AND {})"
ANY_PATH, ONE_PATH = (f"(name GLOB '{path}' OR name GLOB '*/{path}')" for path in ("src/**", "cart/price_7.py"))
EXECUTE = "name = 'execute'"
FOUND_IN_IT = "EXISTS (SELECT 1 FROM words WHERE words MATCH '\"{}\"' AND rowid = records.seq)"
FOUND = "records.seq IN (SELECT rowid FROM words WHERE words MATCH '{}' {})"
BY_HOST = "SELECT agent, count(*) FROM records WHERE own = 0 GROUP BY 1 ORDER BY 2 DESC"
BY_HOUR = (
    "SELECT strftime('%Y-%m-%dT%H:00Z', at_us / 1000000, 'unixepoch'), count(*)"
    " FROM records WHERE own = 0 GROUP BY 1 ORDER BY 1 DESC"
)
BY_TALK = (
    "SELECT conversation, agent, count(*), min(at_us), max(at_us), sum(verdict = 'deny'),"
    " sum(event = 'beforeShellExecution'), sum(event = 'afterFileEdit'), max(CASE WHEN event = 'stop' THEN seq END)"
    " FROM records WHERE own = 0 GROUP BY 1, 2 ORDER BY max(seq) DESC LIMIT 20"
)
OF_CURSOR = "AND seq IN (SELECT seq FROM records WHERE agent = 'cursor')"
VERDICTS = "SELECT verdict, count(*) FROM records WHERE own = 0 {} GROUP BY 1 ORDER BY 2 DESC"
SUMS = (
    "SELECT kind, name, count(*), sum(amount) FROM figures"
    " WHERE kind NOT IN ('took', 'lasted', 'server_lasted', 'said', 'command', 'edit') {} GROUP BY 1, 2"
)
SHARES = (
    "WITH ranked AS (SELECT kind, name, amount, row_number() OVER (PARTITION BY kind, name ORDER BY amount) AS at,"
    " count(*) OVER (PARTITION BY kind, name) AS calls FROM figures"
    " WHERE kind IN ('took', 'lasted', 'server_lasted', 'said') {})"
    " SELECT kind, name, calls, min(CASE WHEN at * 100 >= calls * 50 THEN amount END),"
    " min(CASE WHEN at * 100 >= calls * 95 THEN amount END), min(CASE WHEN at * 100 >= calls * 99 THEN amount END)"
    " FROM ranked GROUP BY 1, 2"
)
BY_GUARD = (
    "SELECT name, count(*) FROM facts JOIN records ON records.seq = facts.seq"
    " WHERE kind = 'guard' AND own = 0 GROUP BY 1 ORDER BY 2 DESC"
)


def questions(count: int) -> dict[str, tuple[Query, tuple[str, ...]]]:
    """Every question of `trotline log`, and what one would write by hand for it, knowing what is in the trail."""
    late, just_now = (BEGUN + (count - seconds) * SECOND for seconds in (7200, 5))
    talk = f"0b6f7c1e-{count // 400:08x}"
    ask = Query(limit=20)

    def asked(where: str, **given: Any) -> tuple[Query, tuple[str, ...]]:
        return replace(ask, **given), (BARE.format(where=where),)

    def together(by: By, statement: str, limit: int = 0) -> tuple[Query, tuple[str, ...]]:
        return Query(by=by, limit=limit), (statement,)

    return {
        "newest": asked("1"),
        "--since 2h": asked(f"at_us >= {late}", since_us=late),
        "--since 5s": asked(DURING.format(just_now), since_us=just_now),
        "--since, none": asked(DURING.format(just_now + 3600 * SECOND), since_us=just_now + 3600 * SECOND),
        "--event stop": asked("event = 'stop'", event="stop"),
        "--event, none": asked("event = 'workspaceOpen'", event="workspaceOpen"),
        "--agent codex": asked("agent = 'codex'", agent="codex"),
        "--verdict denied": asked("verdict = 'deny'", verdict="deny"),
        "--conversation": asked(f"conversation = '{talk}'", conversation=talk),
        "--command 'npm *'": asked("command GLOB 'npm *'", command="npm *"),
        "--command, none": asked("command GLOB 'rm *'", command="rm *"),
        "--path 'src/**'": asked(FACT_OF_IT.format("path", ANY_PATH), path="src/**"),
        "--path, one file": asked(FACT.format("path", ONE_PATH), path="cart/price_7.py"),
        "--effect delete": asked(FACT_OF_IT.format("effect", "name = 'delete'"), effect="delete"),
        "--effect, none": asked(FACT.format("effect", "name = 'send'"), effect="send"),
        "--text needle": asked(FOUND.format('"needle"', ""), text="needle"),
        "--text, common": asked(FOUND.format('"cart" "price"', f"AND rowid > {2 * count - 5000}"), text="cart price"),
        "--text, long ago": asked(
            FOUND.format('"cart"', "") + f" AND at_us < {BEGUN + 5000 * SECOND}",
            text="cart",
            until_us=BEGUN + 5000 * SECOND,
        ),
        "--since 5s --effect": asked(
            f"{DURING.format(just_now)} AND {FACT_OF_IT.format('effect', EXECUTE)}", since_us=just_now, effect="execute"
        ),
        "--since 5s --path": asked(
            f"{DURING.format(just_now)} AND {FACT_OF_IT.format('path', ANY_PATH)}", since_us=just_now, path="src/**"
        ),
        "denied --effect": asked(
            f"verdict = 'deny' AND {FACT_OF_IT.format('effect', EXECUTE)}", verdict="deny", effect="execute"
        ),
        "--conversation --text": asked(
            f"conversation = '{talk}' AND {FOUND_IN_IT.format('cart')}", conversation=talk, text="cart"
        ),
        "--count": together("all", "SELECT 'all', count(*) FROM records WHERE own = 0"),
        "--by agent": together("agent", BY_HOST),
        "--by guard": together("guard", BY_GUARD),
        "--by hour": together("hour", BY_HOUR),
        "show": asked(f"records.seq = {count + 1}", after_seq=count, until_seq=count + 2),
        "conversations": together("conversation", BY_TALK, limit=20),
        "stats": (Query(), (VERDICTS.format(""), SUMS.format(""), SHARES.format(""))),
        "stats --agent": (
            Query(agent="cursor"),
            (VERDICTS.format("AND agent = 'cursor'"), SUMS.format(OF_CURSOR), SHARES.format(OF_CURSOR)),
        ),
    }


def ask(store: SqliteStore, count: int) -> None:
    db = sqlite3.connect(store.file)
    print(f"{'question':<22} {'bare, ms':>9} {'ours, ms':>9} {'ratio':>7}  answers")
    for name, (query, statements) in questions(count).items():
        ours: list[float] = []
        bare: list[float] = []
        while len(ours) < FEWEST or (len(ours) < MOST and sum(ours) < ENOUGH_MS):
            took, by_hand = spent(by_sql, db, statements)
            bare.append(took)
            took, found = spent(by_statistics if name.startswith("stats") else by_query, store, query)
            ours.append(took)
        if by_hand != found:
            print(f"{name}: the answers differ")
        floor, here = statistics.median(bare), statistics.median(ours)
        print(f"{name:<22} {floor:>9.3f} {here:>9.3f} {here / floor:>7.2f}  {len(found)}")
    db.close()


def by_sql(db: sqlite3.Connection, statements: tuple[str, ...]) -> list[Any]:
    """What the first rows begin with. Bodies are read as JSON: nobody can do with less."""
    first, *_ = [db.execute(statement).fetchall() for statement in statements]
    for row in first:
        for text in row:
            if isinstance(text, str) and text.startswith("{"):
                json.loads(text)
    return [row[0] for row in first]


def by_query(store: SqliteStore, query: Query) -> list[Any]:
    return [one["what"] for one in store.aggregate(query)] if query.by else [one.seq for one in store.search(query)]


def by_statistics(store: SqliteStore, query: Query) -> list[Any]:
    """All that `trotline log stats` tells."""
    found = statistics_of(store, query, {})
    filter_alarms(store, query, store.alarms())
    return list(found["verdicts"])


def spent(call: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """Milliseconds of one core: what a busy machine makes of it says nothing about us."""
    begun = time.process_time()
    found = call(*given)
    return (time.process_time() - begun) * 1000, found


def timed(call: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = call(*given)
    return (time.perf_counter() - begun) * 1000, found


# Many processes append at once


def to_the_spool(directory: Path) -> Callable[[dict[str, Any]], object]:
    return Spool(directory).append


def to_the_database(directory: Path) -> Callable[[dict[str, Any]], object]:
    db = sqlite3.connect(directory / "direct.db", timeout=120, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")

    def append(record: dict[str, Any]) -> None:
        db.execute("INSERT INTO records VALUES (?, ?)", (record["id"], json.dumps(record)))

    return append


WAYS = {"the spool": to_the_spool, "direct SQLite": to_the_database}


def appending(way: str, directory: str, number: int, out: "multiprocessing.Queue[list[float]]") -> None:
    append = WAYS[way](Path(directory))
    chance = random.Random(number)  # noqa: S311 - words
    times = []
    for turn in range(EACH):
        record = pair(number * EACH + turn, chance)[0]
        times.append(timed(append, record)[0])
    out.put(times)


def append_beside_others(scratch: Path) -> None:
    worst: dict[str, float] = {}
    for way in WAYS:
        directory = scratch / way.replace(" ", "-")
        directory.mkdir(mode=0o700)
        if way == "direct SQLite":
            with sqlite3.connect(directory / "direct.db") as db:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("CREATE TABLE records (id TEXT PRIMARY KEY, body TEXT)")
            db.close()
        out: multiprocessing.Queue[list[float]] = multiprocessing.Queue()
        given = [(way, str(directory), number, out) for number in range(PROCESSES)]
        working = [multiprocessing.Process(target=appending, args=one) for one in given]
        for one in working:
            one.start()
        times = sorted(took for _ in working for took in out.get())
        for one in working:
            one.join()
        worst[way] = times[-1]
        shares = [times[int(len(times) * share)] for share in (0.5, 0.99)]
        told = f"p50 {shares[0]:.3f} ms, p99 {shares[1]:.2f} ms, worst {times[-1]:.1f} ms"
        print(f"{PROCESSES} processes x {EACH}, {way}: {told}")
    print(f"worst against direct SQLite: {worst['the spool'] / worst['direct SQLite']:.3f}")


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as scratch:
        append_beside_others(Path(scratch))
        state = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch, "state")
        with SqliteStore(state / DATABASE_NAME) as store:
            if not store.head().seq:
                fill(store, state, count)
            size = store.size()
            print(f"{count} records, {size // SECOND} MB: {size / count:.0f} bytes for each with its words")
            ask(store, count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
