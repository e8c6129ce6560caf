"""Which alarms somebody sees who asks for something else: the weighty ones first, and how many there are more."""

from pathlib import Path
from typing import Any

import pytest

from store_behaviour import detail, keep, record
from trotline.audit.alarms import DONE_ALL_THE_SAME, NEVER_DONE, Alarm
from trotline.audit.precedence import foremost
from trotline.audit.query import Query
from trotline.audit.sqlite_store import SqliteStore
from trotline.cli.following import Follower
from worlds import World, new_world, trotline_process

NOW = 10**15


def alarm(seq: int, kind: str) -> Alarm:
    return Alarm(kind, "cursor", seq, f"id-{seq}")


def test_doubts_push_out_nothing_that_nobody_can_have_meant() -> None:
    found = [alarm(1, DONE_ALL_THE_SAME), *(alarm(seq, NEVER_DONE) for seq in range(2, 9)), alarm(9, DONE_ALL_THE_SAME)]
    assert [one.seq for one in foremost(found, 4)] == [1, 9, 7, 8]
    assert [one.seq for one in foremost(found, 1)] == [9]
    assert foremost(found, 2) == [found[0], found[-1]]
    assert set(foremost(found, 99)) == set(found)


def refused_and_done(number: int, **more: Any) -> list[dict[str, Any]]:
    action = {"action": f"a{number}"}
    return [
        record(number, asked="deny", sent="deny", **more),
        {**detail(number, command="rm x"), **action},
        record(number + 1, event="afterShellExecution", **more),
        {**detail(number + 1, command="rm x"), **action},
    ]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = new_world(tmp_path)
    with SqliteStore(made.roots().state / "trail.db") as store:
        for number in range(1, 13, 2):
            keep(store, *refused_and_done(number, conversation="0197aaaa-1"))
        keep(store, *refused_and_done(21, conversation="0197bbbb-1", host="claude-code"))
    return made


def alarms(world: World, *words: str) -> list[str]:
    done = trotline_process("log", *words, *world.options, cwd=world.project)
    assert done.returncode == 0
    return done.stderr.splitlines()


def test_how_many_more_there_are_is_said(world: World) -> None:
    told = alarms(world)
    assert len(told) == 6
    assert told[-1] == "and 2 more: trotline log alarms"


@pytest.mark.parametrize("words", [["--host", "claude-code"], ["--conversation", "0197bbbb"]])
def test_who_asks_for_one_host_or_conversation_hears_of_no_others(world: World, words: list[str]) -> None:
    assert alarms(world, *words) == ["alarm: what 25 says was refused was done all the same, says 27"]
    assert alarms(world, *words, "--host", "another") == ["there is no host `another`"]


def test_who_follows_one_conversation_hears_of_no_others(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with SqliteStore(world.roots().state / "trail.db") as store:
        follower = Follower(store, Query(conversation="0197bbbb-1"), NOW, as_json=False)
        follower.begin(store, 5, 5)
        assert capsys.readouterr().err.count("alarm: ") == 1
        keep(store, *refused_and_done(31, conversation="0197aaaa-1"))
        follower.look(store, NOW)
        assert capsys.readouterr().err == ""
        keep(store, *refused_and_done(41, conversation="0197bbbb-1"))
        follower.look(store, NOW)
        assert capsys.readouterr().err.count("alarm: ") == 1
