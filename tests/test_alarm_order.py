"""Which alarms somebody sees who asks for something else: the weighty ones first, and how many there are more."""

from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace, run_trotline
from store_behaviour import detail, keep, record
from trotline.audit.query.alarms import DONE_DESPITE_DENIAL, NEVER_DONE, Alarm, select_alarms
from trotline.audit.query.query import Query
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.cli.log import Follower

NOW = 10**15


def alarm(seq: int, kind: str) -> Alarm:
    return Alarm(kind, "cursor", seq, f"id-{seq}")


def test_doubts_push_out_nothing_that_nobody_can_have_meant() -> None:
    found = [
        alarm(1, DONE_DESPITE_DENIAL),
        *(alarm(seq, NEVER_DONE) for seq in range(2, 9)),
        alarm(9, DONE_DESPITE_DENIAL),
    ]
    assert [one.seq for one in select_alarms(found, 4)] == [1, 9, 7, 8]
    assert [one.seq for one in select_alarms(found, 1)] == [9]
    assert select_alarms(found, 2) == [found[0], found[-1]]
    assert set(select_alarms(found, 99)) == set(found)


def refused_and_done(number: int, **more: Any) -> list[dict[str, Any]]:
    action = {"action": f"a{number}"}
    return [
        record(number, asked="deny", sent="deny", **more),
        {**detail(number, command="rm x"), **action},
        record(number + 1, event="afterShellExecution", **more),
        {**detail(number + 1, command="rm x"), **action},
    ]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    with SqliteStore(made.roots().state / "trail.db") as store:
        for number in range(1, 13, 2):
            keep(store, *refused_and_done(number, conversation="0197aaaa-1"))
        keep(store, *refused_and_done(21, conversation="0197bbbb-1", agent="claude-code"))
    return made


def alarms(workspace: Workspace, *words: str) -> list[str]:
    done = run_trotline("log", *words, *workspace.options, cwd=workspace.project)
    assert done.returncode == 0
    return done.stderr.splitlines()


def test_how_many_more_there_are_is_said(workspace: Workspace) -> None:
    told = alarms(workspace)
    assert len(told) == 6
    assert told[-1] == "and 2 more: trotline log alarms"


@pytest.mark.parametrize("words", [["--agent", "claude-code"], ["--conversation", "0197bbbb"]])
def test_who_asks_for_one_agent_or_conversation_hears_of_no_others(workspace: Workspace, words: list[str]) -> None:
    assert alarms(workspace, *words) == ["alarm: what 25 says was refused was done all the same, says 27"]
    assert alarms(workspace, *words, "--agent", "another") == ["there is no agent `another`"]


def test_who_follows_one_conversation_hears_of_no_others(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqliteStore(workspace.roots().state / "trail.db") as store:
        follower = Follower(store, Query(conversation="0197bbbb-1"), NOW, as_json=False)
        follower.begin(store, 5, 5)
        assert capsys.readouterr().err.count("alarm: ") == 1
        keep(store, *refused_and_done(31, conversation="0197aaaa-1"))
        follower.look(store, NOW)
        assert capsys.readouterr().err == ""
        keep(store, *refused_and_done(41, conversation="0197bbbb-1"))
        follower.look(store, NOW)
        assert capsys.readouterr().err.count("alarm: ") == 1
