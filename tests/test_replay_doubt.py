"""What is certain although something before it was redacted, and what a host was told of a decision."""

import json
from pathlib import Path
from typing import Any

import pytest

from trails import call, shell
from trotline import Engine, Options
from trotline.audit.query import Query
from trotline.audit.trail import opened
from trotline.replay.comparison import Kind, Row, compared
from trotline.replay.sources import in_order
from trotline.replay.trials import IN_FORCE, WORST, State, Trial
from worlds import World, new_world, trotline_process

SENDS = "curl https://example.com/x -d a=b"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def output(world: World, text: str) -> dict[str, Any]:
    """What a tool gave back, in the conversation of all the others."""
    told = {"tool_name": "Shell", "tool_input": {"command": "git log -1"}, "tool_output": text, "tool_use_id": "t"}
    return {**shell(world, ""), "hook_event_name": "postToolUse", "duration": 1, **told}


def judged(world: World, state: State) -> dict[str, Row]:
    """What becomes of the calls of the trail under a state, by their subjects."""
    with opened(world.roots().state) as store:
        calls = in_order(store, Query())
    old = Trial(IN_FORCE, world.roots(), world.path / "old", "2026-01-01")
    new = Trial(state, world.roots(), world.path / "new", "2026-01-01")
    return {row.one.subject: row for row in compared(calls.every, old, new, calls.wanted)}


def test_an_address_in_an_output_hides_nothing_that_is_not_sent_anywhere(world: World) -> None:
    call(world, output(world, "Author: Bob Smith <bob.smith@corp-mail.de>"))
    for line in ("git push --force", "cat README.md", "rm -rf build", SENDS):
        call(world, shell(world, line))
    found = judged(world, State(preset="strict"))
    assert (found["git push --force"].kind, found["git push --force"].would) == (Kind.CHANGED, "deny")
    assert found["cat README.md"].kind is found["rm -rf build"].kind is Kind.SAME
    assert (found[SENDS].kind, found[SENDS].why) == (Kind.UNSAID, WORST)


def test_what_an_output_may_have_had_refused_is_doubted_when_it_comes_again(world: World) -> None:
    call(world, output(world, "Author: Bob Smith <bob.smith@corp-mail.de>"))
    call(world, shell(world, SENDS))
    call(world, shell(world, f"{SENDS} --retry 3"))
    found = judged(world, State(preset="strict"))
    assert {row.why for row in list(found.values())[1:]} == {WORST}


def test_a_change_is_certain_although_nobody_knows_what_is_in_force_would_say(world: World) -> None:
    rule = '[[rule]]\nname = "ann"\nwhen = "user == \'ann@acme.io\' && event.command == \'never\'"\ndeny = "not you"\n'
    call(world, shell(world, "cat .env"))
    world.write("home/.config/trotline/policy.toml", rule)
    strict = str(world.write("strict.toml", 'preset = "strict"\n'))
    done = trotline_process("replay", "--policy", strict, *world.options, cwd=world.project)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2] == (
        "silent -> deny: 1 call, and whether what is in force says so too cannot be said: "
        "redacted: the person's address, and a rule asks for `user`"
    )


def test_what_was_never_decided_cannot_be_said_where_what_is_in_force_cannot(world: World) -> None:
    call(world, shell(world, "cat .env"))
    world.write("home/.config/trotline/policy.toml", '[[rule]]\nname = "a"\nwhen = "user == \'x\'"\ndeny = "no"\n')
    strict = str(world.write("strict.toml", 'preset = "strict"\n'))
    mine = str(world.home / ".config/trotline/policy.toml")
    done = trotline_process("diff", mine, strict, "--format", "json", *world.options, cwd=world.project)
    assert json.loads(done.stdout)["data"]["counts"]["unsaid"] == 1


def test_a_question_that_was_sent_as_a_refusal_is_told_as_both(world: World) -> None:
    call(world, {**shell(world, "git push --force"), "cursor_version": "3.18.25"})
    done = trotline_process("replay", "--preset", "strict", *world.options, cwd=world.project)
    assert done.stdout.splitlines()[2] == "ask (sent as deny) -> deny: 1 call"
    shown = trotline_process("replay", "--preset", "strict", "--json", *world.options, cwd=world.project).stdout
    row = json.loads(shown)["data"]["rows"][0]
    assert (row["was"], row["would"], row["sent"]) == ("ask", "deny", ["deny", "deny"])


def test_what_a_monitor_did_not_say_is_no_other_decision(world: World) -> None:
    world.write("home/.config/trotline/settings.json", '{"mode": "monitor"}')
    call(world, shell(world, "git push --force"))
    done = trotline_process("replay", "--preset", "strict", *world.options, cwd=world.project)
    assert done.stdout.splitlines()[2] == "ask -> deny: 1 call"


# Agents of one's own


def test_a_call_of_ones_own_agent_is_judged_under_no_host_and_shown_under_its_name(world: World) -> None:
    rule = '[[rule]]\nname = "own"\nwhen = "host == \'\' && event.command == \'make\'"\ndeny = "not mine"\n'
    world.write("home/.config/trotline/policy.toml", rule)
    options = Options(host="my-agent")
    engine = Engine.load(world.project, home=world.home, system=world.system, trail=True, guarded=True, options=options)
    with engine.session() as session:
        assert session.before_shell("make").denied
        assert session.before_shell("git push --force").asks
    assert {row.kind for row in judged(world, IN_FORCE).values()} == {Kind.SAME}
    done = trotline_process("replay", "--preset", "strict", *world.options, cwd=world.project)
    lines = done.stdout.splitlines()
    assert lines[2] == "ask -> deny: 1 call"
    assert lines[4].endswith(" my-agent beforeShellExecution: git push --force")
