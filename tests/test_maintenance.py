"""Retention by age and size, and anchors outside the agent's reach."""

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

from kit import Workspace, format_toml
from store_behaviour import HOUR, detail, ids, keep, record
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import RETENTION_SLACK_US, parse_size
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.audit.verify.chain import find_breaks
from trotline.domain.errors import TrotlineError
from trotline.machine import read_clock

SCRIPT = Path(__file__).parent.parent / "scripts" / "independent_verifier.py"
DAY = 24 * HOUR
LATER = 10**15
"""A time long after all records of these tests."""


@pytest.fixture
def syslog() -> Iterator[socket.socket]:
    """A datagram socket in place of the system log; socket names are short."""
    with (
        tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as directory,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening,
    ):
        listening.bind(str(Path(directory) / "log"))
        listening.settimeout(20)
        yield listening


def log(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return workspace.run("log", *words)


def configure(workspace: Workspace, **settings: str) -> None:
    config = workspace.roots().config
    config.mkdir(parents=True, exist_ok=True)
    (config / "trotline.toml").write_text(format_toml(settings))


def fill(workspace: Workspace, first: int, last: int) -> None:
    spool = audit_log.get_spool(workspace.roots().state)
    for number in range(first, last + 1):
        assert spool.append(record(number)) == ""


def verified_elsewhere(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, str(SCRIPT), str(workspace.roots().state / "audit_log.db"), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def cut(workspace: Workspace, after: int, tables: tuple[str, ...] = ("facts", "metrics", "words")) -> None:
    db = sqlite3.connect(workspace.roots().state / "audit_log.db")
    for table in ("entries", "records", *tables):
        db.execute(f"DELETE FROM {table} WHERE {'rowid' if table == 'words' else 'seq'} > ?", (after,))
    db.execute("DELETE FROM checkpoints")
    db.commit()
    db.close()


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
    forgotten = store.forget(ForgetRequest(keep_bytes=goal), now_us=LATER)
    assert 0 < forgotten < 600
    assert goal * 0.5 < store.size() <= goal
    assert (store.file.stat().st_size) <= goal * 1.1
    left = [int(name.removeprefix("id-")) for name in ids(store)]
    assert left == list(range(599, forgotten - 1, -1))
    assert list(find_breaks(store.entries(), store.checkpoints())) == []
    assert list(store.find_index_faults()) == []


def test_records_within_the_limit_stay(store: SqliteStore) -> None:
    heavy(store, 100)
    head = store.head()
    assert store.forget(ForgetRequest(keep_bytes=store.size()), now_us=LATER) == 0
    assert store.head() == head


@pytest.mark.parametrize("text,size", [("500MB", 500_000_000), ("2GB", 2_000_000_000), ("5", 0), ("MB", 0), ("0MB", 0)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_retention_settings_are_applied(workspace: Workspace) -> None:
    fill(workspace, 1, 3)
    assert log(workspace, "prune", "--keep", "500MB").stdout == "0 records forgotten\n"
    assert log(workspace, "prune", "--keep", "much").returncode == 64
    assert log(workspace, "prune", "--keep", "1MB", "--before", "9d").returncode == 64


def test_by_default_nothing_is_forgotten_and_nothing_noted(workspace: Workspace) -> None:
    fill(workspace, 1, 3)
    assert audit_log.drain_if_unlocked(workspace.roots(), 10**18) is not None
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert len(ids(store)) == 3
        assert store.head().seq == 3


def test_old_records_are_pruned_on_drain(workspace: Workspace) -> None:
    configure(workspace, keep_for="2d")
    fill(workspace, 1, 5)  # one for each of the first hours
    now = 3 * HOUR + 2 * DAY
    audit_log.drain_if_unlocked(workspace.roots(), now)
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert len(ids(store)) == 5  # it is not done for every hour
    fill(workspace, 6, 6)
    audit_log.drain_if_unlocked(workspace.roots(), now + RETENTION_SLACK_US)
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert ids(store) == []
        assert list(find_breaks(store.entries(), store.checkpoints())) == []
        assert json.loads(next(entry.body for entry in store.entries() if entry.body) or "{}")["why"] == "age"


def test_an_audit_log_over_its_size_limit_is_pruned_on_drain(workspace: Workspace) -> None:
    configure(workspace, keep_size="1MB")
    spool = audit_log.get_spool(workspace.roots().state)
    for number in range(500):
        spool.append(record(number))
        spool.append(detail(number, command=f"echo {os.urandom(1500).hex()}"))
    audit_log.drain_if_unlocked(workspace.roots(), 10**15)
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert store.size() <= 1_000_000
        assert 0 < len(ids(store)) < 500
        assert next(iter(ids(store))) == "id-499"


def test_an_unreachable_size_limit_is_reported_and_deletes_nothing(workspace: Workspace) -> None:
    configure(workspace, keep_size="1MB")
    spool = audit_log.get_spool(workspace.roots().state)
    for number in range(3):
        spool.append(record(number))
    now = read_clock()
    spool.append(record(3, at_us=now))
    spool.append(detail(3, command=f"echo {os.urandom(1_000_000).hex()}"))
    for _ in range(2):
        done = log(workspace)
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) == 4
        assert "are not forgotten by size: records of the newest day and the links" in done.stderr
        assert "`keep_size` cannot be kept" in done.stderr
    done = log(workspace, "prune", "--keep", "1MB")
    assert done.stdout.startswith("0 records forgotten\nthe audit log has ")


def test_a_record_without_a_time_does_not_keep_the_others_from_being_forgotten(workspace: Workspace) -> None:
    configure(workspace, keep_for="2d")
    fill(workspace, 0, 3)
    audit_log.drain_if_unlocked(workspace.roots(), LATER)
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert ids(store) == []


def test_a_head_is_noted_although_nothing_can_be_forgotten(workspace: Workspace, tmp_path: Path) -> None:
    configure(workspace, keep_size="1MB", anchor_file=str(tmp_path / "heads"))
    spool = audit_log.get_spool(workspace.roots().state)
    spool.append(record(1, at_us=LATER))
    spool.append(detail(1, command=f"echo {os.urandom(1_000_000).hex()}"))
    with pytest.raises(TrotlineError, match="cannot be kept"):
        audit_log.drain_if_unlocked(workspace.roots(), LATER)
    assert (tmp_path / "heads").read_text().startswith("trotline-anchor 2 ")


def test_the_drain_notes_heads_and_verify_finds_a_cut_end(workspace: Workspace, tmp_path: Path) -> None:
    heads = tmp_path / "elsewhere" / "heads"
    heads.parent.mkdir()
    configure(workspace, anchor_file=str(heads))
    for first in (1, 4, 7):
        fill(workspace, first, first + 2)
        audit_log.drain_if_unlocked(workspace.roots(), 5)
    assert [int(line.split()[1]) for line in heads.read_text().splitlines()] == [3, 6, 9]
    assert "9 entries: it holds; anchored up to entry 9" in log(workspace, "verify").stdout
    assert verified_elsewhere(workspace, str(heads)).stdout == "holds\n"
    cut(workspace, 7)
    done = log(workspace, "verify")
    assert done.returncode == 1
    assert "the audit log: the end is cut: entries 8 to 9 are missing" in done.stdout
    output = verified_elsewhere(workspace, str(heads))
    assert (output.returncode, output.stdout) == (1, "8: the end is cut, a head was noted at 9\n")
    assert verified_elsewhere(workspace).stdout == "holds, unanchored: a cut end would not be seen\n"


@pytest.mark.parametrize("thorough", [True, False])
def test_a_cut_end_that_was_written_over_is_found_as_well(workspace: Workspace, tmp_path: Path, thorough: bool) -> None:
    heads = tmp_path / "heads"
    configure(workspace, anchor_file=str(heads))
    fill(workspace, 1, 5)
    assert log(workspace).returncode == 0
    cut(workspace, 3, ("facts", "metrics", "words") if thorough else ())
    fill(workspace, 6, 9)
    assert log(workspace, "--count").stdout == "7\n"
    done = log(workspace, "verify")
    assert "entry 5 id-7: a head that was noted here is another: the chain was written anew" in done.stdout
    assert verified_elsewhere(workspace, str(heads)).returncode == 1


def test_heads_are_written_to_the_system_log_as_an_anchor(
    workspace: Workspace, tmp_path: Path, syslog: socket.socket
) -> None:
    configure(workspace, anchor_syslog=str(syslog.getsockname()))
    fill(workspace, 1, 4)
    audit_log.drain_if_unlocked(workspace.roots(), 5)
    output = syslog.recv(4096).decode()
    head = json.loads(log(workspace, "verify", "--json").stdout)["data"]["head"]
    assert f"trotline-anchor 4 {head} " in output
    assert output.startswith("<86>trotline[")
    assert output.endswith(f" uid={os.getuid()}")
    assert "compare with that log" in log(workspace, "verify").stdout
    collected = tmp_path / "auth.log"
    collected.write_text(f"Nov 16 06:00:01 box sshd[3]: hello 12\nNov 16 06:00:02 box {output[4:]}\n")
    before = collected.read_bytes()
    assert "it holds; anchored up to entry 4" in log(workspace, "verify", "--anchor", str(collected)).stdout
    assert collected.read_bytes() == before  # the system log is not a file that we write
    assert verified_elsewhere(workspace, str(collected)).stdout == "holds\n"
    cut(workspace, 2)
    assert log(workspace, "verify", "--anchor", str(collected)).returncode == 1
    assert verified_elsewhere(workspace, str(collected)).returncode == 1


def test_the_anchor_command_writes_the_head(workspace: Workspace, tmp_path: Path, syslog: socket.socket) -> None:
    heads = tmp_path / "heads"
    words = ["anchor", "--file", str(heads), "--syslog", str(syslog.getsockname())]
    assert log(workspace, *words).stdout == "the audit log is empty: it has no head yet\n"
    fill(workspace, 1, 2)
    for _ in range(2):
        assert f"the head, entry 2, is noted in {heads}" in log(workspace, *words).stdout
        assert b"trotline-anchor 2 " in syslog.recv(4096)
    assert len(heads.read_text().splitlines()) == 1
    assert json.loads(log(workspace, *words, "--json").stdout)["data"]["seq"] == 2


def test_the_anchor_command_requires_a_target(workspace: Workspace) -> None:
    done = log(workspace, "anchor")
    assert done.returncode == 64
    assert "nobody says where" in done.stderr


@pytest.mark.parametrize(
    "settings,why",
    [
        ({"anchor_file": "/nowhere/heads"}, "cannot be written"),
        ({"anchor_syslog": "/nowhere/log"}, "could not be told"),
    ],
    ids=["file", "syslog"],
)
def test_an_unwritable_anchor_is_reported_and_the_log_stays_intact(
    workspace: Workspace, settings: dict[str, Any], why: str
) -> None:
    configure(workspace, **settings)
    fill(workspace, 1, 2)
    done = log(workspace)
    assert done.returncode == 0
    assert why in done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert log(workspace, "anchor").returncode == 1
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert len(list(store.search(Query()))) == 2


def test_a_pipe_as_anchor_is_refused_without_blocking(workspace: Workspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "heads")
    configure(workspace, anchor_file=str(tmp_path / "heads"))
    fill(workspace, 1, 2)
    done = log(workspace)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert "not a regular file" in done.stderr


def test_users_cannot_change_machine_settings(workspace: Workspace, tmp_path: Path) -> None:
    heads = tmp_path / "heads"
    configure(workspace, anchor_file="off", keep_for="1h")
    managed = workspace.roots().managed_config
    managed.mkdir(parents=True)
    (managed / "trotline.toml").write_text(format_toml({"anchor_file": str(heads), "keep_for": "off"}))
    fill(workspace, 1, 2)
    audit_log.drain_if_unlocked(workspace.roots(), 10**15)
    assert len(heads.read_text().splitlines()) == 1
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        assert len(ids(store)) == 2
