"""The trail kept for a time, up to a size, and with its heads noted where the agent cannot write."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from store_behaviour import HOUR, detail, ids, keep, record
from trotline.audit import trail
from trotline.audit.chain import breaks_in
from trotline.audit.query import Query
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.store import Forgetting
from trotline.audit.upkeep import SLACK_US, size_of
from trotline.errors import TrotlineError
from trotline.machine import clock
from worlds import World, new_world, trotline_process

SCRIPT = Path(__file__).parent.parent / "scripts" / "verify_trail.py"
DAY = 24 * HOUR
LATER = 10**15
"""Long after all records that are made here."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "state" / "trail.db") as opened:
        yield opened


@pytest.fixture
def syslog() -> Iterator[socket.socket]:
    """What the machine's log is to programs: a socket that takes datagrams. Names of sockets are short."""
    with (
        tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as directory,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening,
    ):
        listening.bind(str(Path(directory) / "log"))
        listening.settimeout(20)
        yield listening


def log(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    return trotline_process("log", *words, *world.options, cwd=world.project)


def say(world: World, **said: str) -> None:
    config = world.roots().config
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.json").write_text(json.dumps(said))


def fill(world: World, first: int, last: int) -> None:
    spool = trail.spool_of(world.roots().state)
    for number in range(first, last + 1):
        assert spool.append(record(number)) == ""


def verified_elsewhere(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, str(SCRIPT), str(world.roots().state / "trail.db"), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def cut(world: World, after: int, tables: tuple[str, ...] = ("facts", "figures", "words")) -> None:
    db = sqlite3.connect(world.roots().state / "trail.db")
    for table in ("entries", "records", *tables):
        db.execute(f"DELETE FROM {table} WHERE {'rowid' if table == 'words' else 'seq'} > ?", (after,))
    db.execute("DELETE FROM checkpoints")
    db.commit()
    db.close()


# By size


def heavy(store: SqliteStore, count: int) -> None:
    for first in range(0, count, 100):
        keep(
            store,
            *(
                body
                for number in range(first, first + 100)
                for body in (record(number), detail(number, command=f"echo {os.urandom(1500).hex()}"))
            ),
        )


def test_the_oldest_are_forgotten_until_the_rest_has_that_size(store: SqliteStore) -> None:
    heavy(store, 600)
    before = store.size()
    goal = before // 2
    forgotten = store.forget(Forgetting(keep_bytes=goal), now_us=LATER)
    assert 0 < forgotten < 600
    assert goal * 0.5 < store.size() <= goal
    assert (store.file.stat().st_size) <= goal * 1.1
    left = [int(name.removeprefix("id-")) for name in ids(store)]
    assert left == list(range(599, forgotten - 1, -1))
    assert list(breaks_in(store.entries(), store.checkpoints())) == []
    assert list(store.misindexed()) == []


def test_what_fits_is_not_forgotten(store: SqliteStore) -> None:
    heavy(store, 100)
    head = store.head()
    assert store.forget(Forgetting(keep_bytes=store.size()), now_us=LATER) == 0
    assert store.head() == head


@pytest.mark.parametrize("text,size", [("500MB", 500_000_000), ("2GB", 2_000_000_000), ("5", 0), ("MB", 0), ("0MB", 0)])
def test_sizes(text: str, size: int) -> None:
    assert size_of(text) == size


def test_a_person_says_how_much_is_kept(world: World) -> None:
    fill(world, 1, 3)
    assert log(world, "forget", "--keep", "500MB").stdout == "0 records forgotten\n"
    assert log(world, "forget", "--keep", "much").returncode == 64
    assert log(world, "forget", "--keep", "1MB", "--before", "9d").returncode == 64


# By themselves


def test_by_default_nothing_is_forgotten_and_nothing_noted(world: World) -> None:
    fill(world, 1, 3)
    assert trail.drained_if_free(world.roots(), 10**18) is not None
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert len(ids(store)) == 3
        assert store.head().seq == 3


def test_what_is_older_than_the_settings_say_is_forgotten_when_records_come(world: World) -> None:
    say(world, keep_for="2d")
    fill(world, 1, 5)  # one for each of the first hours
    now = 3 * HOUR + 2 * DAY
    trail.drained_if_free(world.roots(), now)
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert len(ids(store)) == 5  # it is not done for every hour
    fill(world, 6, 6)
    trail.drained_if_free(world.roots(), now + SLACK_US)
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert ids(store) == []
        assert list(breaks_in(store.entries(), store.checkpoints())) == []
        assert json.loads(next(entry.body for entry in store.entries() if entry.body) or "{}")["why"] == "age"


def test_a_trail_that_grows_beyond_its_size_is_cut_back_when_records_come(world: World) -> None:
    say(world, keep_size="1MB")
    spool = trail.spool_of(world.roots().state)
    for number in range(500):
        spool.append(record(number))
        spool.append(detail(number, command=f"echo {os.urandom(1500).hex()}"))
    trail.drained_if_free(world.roots(), 10**15)
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert store.size() <= 1_000_000
        assert 0 < len(ids(store)) < 500
        assert next(iter(ids(store))) == "id-499"


def test_a_size_that_cannot_be_kept_is_said_and_takes_nothing(world: World) -> None:
    say(world, keep_size="1MB")
    spool = trail.spool_of(world.roots().state)
    for number in range(3):
        spool.append(record(number))
    now = clock()
    spool.append(record(3, at_us=now))
    spool.append(detail(3, command=f"echo {os.urandom(1_000_000).hex()}"))
    for _ in range(2):
        done = log(world)
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) == 4
        assert "are not forgotten by size: records of the newest day and the links" in done.stderr
        assert "`keep_size` cannot be kept" in done.stderr
    done = log(world, "forget", "--keep", "1MB")
    assert done.stdout.startswith("0 records forgotten\nthe trail has ")


def test_a_record_without_a_time_does_not_keep_the_others_from_being_forgotten(world: World) -> None:
    say(world, keep_for="2d")
    fill(world, 0, 3)
    trail.drained_if_free(world.roots(), LATER)
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert ids(store) == []


def test_a_head_is_noted_although_nothing_can_be_forgotten(world: World, tmp_path: Path) -> None:
    say(world, keep_size="1MB", anchor_file=str(tmp_path / "heads"))
    spool = trail.spool_of(world.roots().state)
    spool.append(record(1, at_us=LATER))
    spool.append(detail(1, command=f"echo {os.urandom(1_000_000).hex()}"))
    with pytest.raises(TrotlineError, match="cannot be kept"):
        trail.drained_if_free(world.roots(), LATER)
    assert (tmp_path / "heads").read_text().startswith("trotline-anchor 2 ")


# Heads noted elsewhere


def test_the_drain_notes_heads_and_verify_finds_a_cut_end(world: World, tmp_path: Path) -> None:
    heads = tmp_path / "elsewhere" / "heads"
    heads.parent.mkdir()
    say(world, anchor_file=str(heads))
    for first in (1, 4, 7):
        fill(world, first, first + 2)
        trail.drained_if_free(world.roots(), 5)
    assert [int(line.split()[1]) for line in heads.read_text().splitlines()] == [3, 6, 9]
    assert "9 entries: it holds; anchored up to entry 9" in log(world, "verify").stdout
    assert verified_elsewhere(world, str(heads)).stdout == "holds\n"
    cut(world, 7)
    done = log(world, "verify")
    assert done.returncode == 1
    assert "the trail: the end is cut: entries 8 to 9 are missing" in done.stdout
    told = verified_elsewhere(world, str(heads))
    assert (told.returncode, told.stdout) == (1, "8: the end is cut, a head was noted at 9\n")
    assert verified_elsewhere(world).stdout == "holds, unanchored: a cut end would not be seen\n"


@pytest.mark.parametrize("thorough", [True, False])
def test_a_cut_end_that_was_written_over_is_found_as_well(world: World, tmp_path: Path, thorough: bool) -> None:
    heads = tmp_path / "heads"
    say(world, anchor_file=str(heads))
    fill(world, 1, 5)
    assert log(world).returncode == 0
    cut(world, 3, ("facts", "figures", "words") if thorough else ())
    fill(world, 6, 9)
    assert log(world, "--count").stdout == "7\n"
    done = log(world, "verify")
    assert "entry 5 id-7: a head that was noted here is another: the chain was written anew" in done.stdout
    assert verified_elsewhere(world, str(heads)).returncode == 1


def test_heads_are_told_to_the_machines_log_and_that_log_is_an_anchor(
    world: World, tmp_path: Path, syslog: socket.socket
) -> None:
    say(world, anchor_syslog=str(syslog.getsockname()))
    fill(world, 1, 4)
    trail.drained_if_free(world.roots(), 5)
    told = syslog.recv(4096).decode()
    head = json.loads(log(world, "verify", "--json").stdout)["data"]["head"]
    assert f"trotline-anchor 4 {head} " in told
    assert told.startswith("<86>trotline[")
    assert told.endswith(f" uid={os.getuid()}")
    assert "compare with that log" in log(world, "verify").stdout
    collected = tmp_path / "auth.log"
    collected.write_text(f"Nov 16 06:00:01 box sshd[3]: hello 12\nNov 16 06:00:02 box {told[4:]}\n")
    before = collected.read_bytes()
    assert "it holds; anchored up to entry 4" in log(world, "verify", "--anchor", str(collected)).stdout
    assert collected.read_bytes() == before  # a log of the machine is not ours to write
    assert verified_elsewhere(world, str(collected)).stdout == "holds\n"
    cut(world, 2)
    assert log(world, "verify", "--anchor", str(collected)).returncode == 1
    assert verified_elsewhere(world, str(collected)).returncode == 1


def test_a_person_may_note_the_head_at_once(world: World, tmp_path: Path, syslog: socket.socket) -> None:
    heads = tmp_path / "heads"
    words = ["anchor", "--file", str(heads), "--syslog", str(syslog.getsockname())]
    assert log(world, *words).stdout == "the trail is empty: it has no head yet\n"
    fill(world, 1, 2)
    for _ in range(2):
        assert f"the head, entry 2, is noted in {heads}" in log(world, *words).stdout
        assert b"trotline-anchor 2 " in syslog.recv(4096)
    assert len(heads.read_text().splitlines()) == 1
    assert json.loads(log(world, *words, "--json").stdout)["data"]["seq"] == 2


def test_to_note_it_one_must_say_where(world: World) -> None:
    done = log(world, "anchor")
    assert done.returncode == 64
    assert "nobody says where" in done.stderr


@pytest.mark.parametrize(
    "said,why",
    [
        ({"anchor_file": "/nowhere/heads"}, "cannot be written"),
        ({"anchor_syslog": "/nowhere/log"}, "could not be told"),
    ],
    ids=["file", "syslog"],
)
def test_a_place_that_cannot_be_written_is_said_and_the_trail_is_whole(
    world: World, said: dict[str, Any], why: str
) -> None:
    say(world, **said)
    fill(world, 1, 2)
    done = log(world)
    assert done.returncode == 0
    assert why in done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert log(world, "anchor").returncode == 1
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert len(list(store.search(Query()))) == 2


def test_a_pipe_is_no_anchor_and_nobody_waits_for_its_other_end(world: World, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "heads")
    say(world, anchor_file=str(tmp_path / "heads"))
    fill(world, 1, 2)
    done = log(world)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert "is no file" in done.stderr


def test_the_settings_of_the_machine_are_not_a_persons_to_change(world: World, tmp_path: Path) -> None:
    heads = tmp_path / "heads"
    say(world, anchor_file="off", keep_for="1h")
    managed = world.roots().managed_config
    managed.mkdir(parents=True)
    (managed / "settings.json").write_text(json.dumps({"anchor_file": str(heads), "keep_for": "off"}))
    fill(world, 1, 2)
    trail.drained_if_free(world.roots(), 10**15)
    assert len(heads.read_text().splitlines()) == 1
    with SqliteStore(world.roots().state / "trail.db") as store:
        assert len(ids(store)) == 2
