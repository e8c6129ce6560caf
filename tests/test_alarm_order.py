"""Order and number of the alarms that `trotline log` prints next to other output."""

from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace
from store_behaviour import detail, keep, record
from trotline.audit.query.alarms import DONE_DESPITE_DENIAL, NEVER_DONE, Alarm, select_alarms
from trotline.audit.query.query import Query
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.cli.log import Follower

NOW = 10**15


def build_alarm(seq: int, kind: str) -> Alarm:
    return Alarm(kind, "cursor", seq, f"id-{seq}")


def test_certain_alarms_are_selected_before_uncertain_ones() -> None:
    found = [
        build_alarm(1, DONE_DESPITE_DENIAL),
        *(build_alarm(seq, NEVER_DONE) for seq in range(2, 9)),
        build_alarm(9, DONE_DESPITE_DENIAL),
    ]
    assert [alarm.seq for alarm in select_alarms(found, 4)] == [1, 9, 7, 8]
    assert [alarm.seq for alarm in select_alarms(found, 1)] == [9]
    assert select_alarms(found, 2) == [found[0], found[-1]]
    assert set(select_alarms(found, 99)) == set(found)


def build_denied_execution(number: int, **more: Any) -> list[dict[str, Any]]:
    action = {"action": f"a{number}"}
    return [
        record(number, decided="deny", sent="deny", **more),
        {**detail(number, command="rm x"), **action},
        record(number + 1, event="afterShellExecution", **more),
        {**detail(number + 1, command="rm x"), **action},
    ]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    created = make_workspace(tmp_path)
    with SqliteStore(created.roots().state / "audit_log.db") as store:
        for number in range(1, 13, 2):
            keep(store, *build_denied_execution(number, conversation="0197aaaa-1"))
        keep(store, *build_denied_execution(21, conversation="0197bbbb-1", agent="claude-code"))
    return created


def list_alarms(workspace: Workspace, *words: str) -> list[str]:
    done = workspace.run("log", *words)
    assert done.returncode == 0
    return done.stderr.splitlines()


def test_number_of_further_alarms_is_printed(workspace: Workspace) -> None:
    lines = list_alarms(workspace)
    assert len(lines) == 6
    assert lines[-1] == "and 2 more: trotline log alarms"


@pytest.mark.parametrize("words", [["--agent", "claude-code"], ["--conversation", "0197bbbb"]])
def test_filters_apply_to_alarms(workspace: Workspace, words: list[str]) -> None:
    assert list_alarms(workspace, *words) == ["alarm: what 25 says was refused was done all the same, says 27"]
    assert list_alarms(workspace, *words, "--agent", "another") == ["there is no agent `another`"]


def test_follower_of_a_conversation_prints_only_its_alarms(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        follower = Follower(store, Query(conversation="0197bbbb-1"), NOW, as_json=False)
        follower.begin(store, 5, 5)
        assert capsys.readouterr().err.count("alarm: ") == 1
        keep(store, *build_denied_execution(31, conversation="0197aaaa-1"))
        follower.look(store, NOW)
        assert capsys.readouterr().err == ""
        keep(store, *build_denied_execution(41, conversation="0197bbbb-1"))
        follower.look(store, NOW)
        assert capsys.readouterr().err.count("alarm: ") == 1
