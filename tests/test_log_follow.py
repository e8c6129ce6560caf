"""`trotline log --follow`: every matching record and every new alarm is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from store_behaviour import detail, keep, record
from trotline.audit.query.query import Query
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.cli.log import MAX_DETAIL_WAIT_US, Follower

NOW = 1_800_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with SqliteStore(tmp_path / "audit_log.db") as store:
        yield store


def build_follower(store: SqliteStore, *, as_json: bool = False, **conditions: Any) -> Follower:
    one = Follower(store, Query(**conditions), NOW, as_json=as_json)
    one.begin(store, 20, 5)
    return one


def read_lines(one: Follower, store: SqliteStore, capsys: pytest.CaptureFixture[str], at_us: int = NOW) -> list[str]:
    one.look(store, at_us)
    return [line.rpartition(": ")[2] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("conditions", [{}, {"command": "npm *"}, {"text": "npm"}])
def test_a_call_with_late_detail_is_not_skipped(
    store: SqliteStore, capsys: pytest.CaptureFixture[str], conditions: dict[str, Any]
) -> None:
    one = build_follower(store, **conditions)
    keep(store, record(1, at_us=NOW), record(2, at_us=NOW), detail(2, command="npm quick"))
    assert read_lines(one, store, capsys) == []
    keep(store, detail(1, command="npm late"))
    assert read_lines(one, store, capsys) == ["npm late", "npm quick"]
    keep(store, record(3, at_us=NOW), detail(3, command="npm last"))
    assert read_lines(one, store, capsys) == ["npm last"]
    assert read_lines(one, store, capsys) == []


def test_waiting_for_detail_is_bounded(store: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    one = build_follower(store)
    keep(store, record(1, at_us=NOW), record(2, at_us=NOW), detail(2, command="make"))
    assert read_lines(one, store, capsys, NOW + MAX_DETAIL_WAIT_US - 1) == []
    assert read_lines(one, store, capsys, NOW + MAX_DETAIL_WAIT_US) == ["[its detail is not written yet]", "make"]


def test_a_call_without_detail_at_the_start_is_not_skipped(
    store: SqliteStore, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(store, record(1, at_us=NOW), detail(1, command="npm one"), record(2, at_us=NOW))
    one = build_follower(store, command="npm *")
    assert capsys.readouterr().out.endswith("npm one\n")
    keep(store, detail(2, command="npm two"))
    assert read_lines(one, store, capsys) == ["npm two"]


def test_a_replaced_audit_log_is_followed_from_its_start(
    store: SqliteStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(store, record(1), detail(1, command="make one"), record(2), detail(2, command="make two"))
    one = build_follower(store)
    capsys.readouterr()
    with SqliteStore(tmp_path / "another.db") as another:
        keep(another, record(1), detail(1, command="make anew"))
        one.look(another, NOW)
        captured = capsys.readouterr()
        assert captured.out.endswith("make anew\n")
        assert captured.err == "another audit log is in its place: from its beginning\n"
        keep(another, record(2), detail(2, command="make more"))
        assert read_lines(one, another, capsys) == ["make more"]


def test_a_new_alarm_is_shown_once(store: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    one = build_follower(store)
    keep(store, record(1, decided="deny"), {**detail(1, command="rm x"), "action": "a"})
    one.look(store, NOW)
    assert capsys.readouterr().err == ""
    keep(store, record(2, event="afterShellExecution"))
    one.look(store, NOW)
    assert capsys.readouterr().err == ""
    keep(store, {**detail(2, command="rm x"), "action": "a"})
    one.look(store, NOW)
    assert capsys.readouterr().err == "alarm: what 1 says was refused was done all the same, says 3\n"
    keep(store, record(3), detail(3))
    one.look(store, NOW)
    assert capsys.readouterr().err == ""


def test_an_existing_alarm_is_shown_only_at_the_start(store: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    keep(store, record(1, decided="deny"), {**detail(1), "action": "a"})
    keep(store, record(2, event="afterShellExecution"), {**detail(2), "action": "a"})
    one = build_follower(store)
    assert capsys.readouterr().err.count("alarm: ") == 1
    keep(store, record(3), detail(3))
    one.look(store, NOW)
    assert capsys.readouterr().err == ""


def test_programs_get_a_line_of_json_for_each_call(store: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    keep(store, record(1), detail(1, command="echo 'a\n  b'"))
    build_follower(store, as_json=True)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["detail"]["payload"]["command"] == "echo 'a\n  b'"
    assert line.startswith('{"schema": "trotline.record/2", ')
