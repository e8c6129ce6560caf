"""trotline replay as a person sees it: a real trail, judged again."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planted import made
from store_behaviour import record
from trails import call, called, shell
from trotline.audit import trail
from trotline.audit.query import Query
from trotline.audit.trail import spool_of
from trotline.guards import NAMES, guards
from trotline.guards.guard import PRESETS, Level
from trotline.replay.comparison import Kind, compared
from trotline.replay.sources import in_order
from trotline.replay.trials import IN_FORCE, WORST, Trial
from worlds import World, new_world, patient, trotline_process

SECRET = made("ghp_{crc*36}")


EVENT_FIELDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "beforeShellExecution": lambda line: {"command": line},
    "preToolUse": lambda line: {"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": {"command": line}},
    "afterShellExecution": lambda line: {"hook_event_name": "afterShellExecution", "command": line, "output": line},
    "beforeSubmitPrompt": lambda line: {"hook_event_name": "beforeSubmitPrompt", "prompt": line},
    "stop": lambda _: {"hook_event_name": "stop", "status": "completed"},
}
EVENTS = list(EVENT_FIELDS)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def replay(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    return trotline_process("replay", *words, *world.options, cwd=world.project)


def data(world: World, *words: str) -> Any:
    return json.loads(replay(world, *words, "--json").stdout)["data"]


def changes(world: World, *words: str) -> list[tuple[str, str, str]]:
    """What would be decided otherwise: subject, old and new."""
    rows = data(world, *words)["rows"]
    return [(row["subject"], row["was"], row["would"]) for row in rows if row["kind"] == "changed"]


def test_what_is_in_force_changes_nothing(world: World) -> None:
    call(world, shell(world, "git push --force"))
    call(world, shell(world, "ls"))
    done = replay(world)
    assert done.stdout == "2 calls: 0 would be decided otherwise, 2 the same\n"
    assert done.returncode == 0


def test_every_line_that_guards_know_is_judged_again_as_it_was(world: World) -> None:
    for number, line in enumerate(LINES):
        called(world, shell(world, line, f"c{number % 3}"), number)
    found = data(world)
    assert found["calls"] == len(LINES) > 300
    assert found["counts"]["changed"] == found["counts"]["drifted"] == found["counts"]["others"] == 0
    assert found["counts"]["same"] > len(LINES) * 0.8
    assert {row["kind"] for row in found["rows"]} <= {"unsaid"}


LINES = [line for guard in guards() for line in (*guard.stops, *guard.passes)]


@settings(parent=patient, max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from("abc"), st.sampled_from(EVENTS)), max_size=12),
    st.sampled_from(PRESETS),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(Level)), max_size=6),
    st.booleans(),
)
def test_replaying_through_what_is_in_force_changes_nothing(
    calls: list[tuple[str, str, str]], preset: str, levels: dict[str, Level], monitored: bool
) -> None:
    with TemporaryDirectory() as directory:
        world = new_world(Path(directory).resolve())
        table = "".join(f'{guard} = "{level}"\n' for guard, level in levels.items())
        world.write("home/.config/trotline/policy.toml", f'preset = "{preset}"\n[guards]\n{table}')
        world.write("home/.config/trotline/settings.json", '{"mode": "monitor"}' if monitored else "{}")
        for number, (line, conversation, event) in enumerate(calls):
            called(world, {**shell(world, line, conversation), **EVENT_FIELDS[event](line)}, number)
        with trail.opened(world.roots().state) as store:
            found = in_order(store, Query())
        old, new = (Trial(IN_FORCE, world.roots(), world.path / name, "2026-01-01") for name in ("old", "new"))
        rows = list(compared(found.every, old, new, found.wanted))
        assert len(rows) == len(calls)
        assert {row.kind for row in rows} <= {Kind.SAME, Kind.UNSAID}
        assert all(row.one.missing or row.why == WORST for row in rows if row.kind is Kind.UNSAID)


def test_a_stricter_preset_shows_what_it_would_refuse_and_why(world: World) -> None:
    call(world, shell(world, "cat .env"))
    call(world, shell(world, "ls"))
    done = replay(world, "--preset", "strict")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "2 calls: 1 would be decided otherwise, 1 the same"
    assert lines[2] == "silent -> deny: 1 call"
    assert lines[3].startswith("  now speaks: credentials: deny, ")
    assert lines[4].endswith(" cursor beforeShellExecution: cat .env")


def test_a_policy_is_judged_as_the_one_of_its_layer(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    file = world.write("new.toml", '[guards]\nhistory = "warn"\n')
    assert changes(world, "--policy", str(file)) == [("git reset --hard", "ask", "silent")]
    assert changes(world, "--policy", str(file), "--layer", "project") == []  # a project cannot be milder


def test_a_rule_that_speaks_now_is_named(world: World) -> None:
    call(world, shell(world, "npm test"))
    rule = '[[rule]]\nname = "no npm"\nwhen = "event.command.startsWith(\'npm\')"\ndeny = "use pnpm"\n'
    done = replay(world, "--policy", str(world.write("new.toml", rule)))
    assert "  now speaks: rule no npm: deny, use pnpm (Trotline, rule no npm, user)" in done.stdout.splitlines()


def test_the_policy_that_is_replaced_does_not_speak_any_more(world: World) -> None:
    rule = '[[rule]]\nname = "no npm"\nwhen = "event.command.startsWith(\'npm\')"\ndeny = "use pnpm"\n'
    world.write("home/.config/trotline/policy.toml", rule)
    call(world, shell(world, "npm test"))
    assert changes(world) == []
    empty = str(world.write("new.toml", ""))
    assert changes(world, "--policy", empty) == [("npm test", "deny", "silent")]
    assert "  no longer speaks: rule no npm (deny)" in replay(world, "--policy", empty).stdout.splitlines()


def test_what_changed_since_is_not_blamed_on_the_candidate(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    world.write("home/.config/trotline/policy.toml", '[guards]\nhistory = "warn"\n')
    done = replay(world, "--preset", "standard")
    assert done.returncode == 1
    assert (
        "ask (sent as deny) -> silent: 1 call, and not because of the candidate: what is in force says so too, now"
        in done.stdout.splitlines()
    )


def test_a_conversation_is_judged_from_its_beginning_with_a_memory_of_its_own(world: World) -> None:
    call(world, shell(world, "cat .env"))
    call(world, shell(world, "curl https://example.com/x -d a=b"))
    sessions = {file: file.read_bytes() for file in (world.roots().state / "sessions").iterdir()}
    assert data(world, "--command", "curl *")["counts"]["same"] == 1
    rows = data(world, "--preset", "strict", "--command", "curl *")["rows"]
    assert [row["silent"] for row in rows] == [[["sequences", "ask"]]]  # the file would not have been read
    assert {file: file.read_bytes() for file in (world.roots().state / "sessions").iterdir()} == sessions


def test_the_trail_is_the_same_afterwards(world: World) -> None:
    call(world, shell(world, "git push --force"))
    with trail.opened(world.roots().state) as store:
        head = store.head()
    state = {path for path in world.roots().state.rglob("*") if path.is_file()}
    assert replay(world, "--preset", "strict").returncode == 1
    with trail.opened(world.roots().state) as store:
        assert store.head() == head
    assert {path for path in world.roots().state.rglob("*") if path.is_file() and "trail.db-" not in path.name} <= state


def test_what_was_redacted_cannot_be_said_and_is_counted(world: World) -> None:
    call(world, shell(world, f"curl -H 'Authorization: {SECRET}' https://example.com"))
    call(world, shell(world, "ls"))
    done = replay(world, "--preset", "strict")
    assert done.stdout.splitlines()[0] == "2 calls: 0 would be decided otherwise, 1 the same, 1 cannot be said"
    assert "redacted: " in done.stdout.splitlines()[-1]
    assert done.stdout.splitlines()[-1].endswith(" in `command`")
    assert SECRET not in done.stdout


def test_what_was_cut_or_not_kept_cannot_be_said(world: World) -> None:
    call(world, shell(world, "echo " + "x " * 20_000))
    spool_of(world.roots().state).append(record(1, host="cursor"))
    spool_of(world.roots().state).append(record(2, host="cursor"))
    missing = {"schema": "trotline.detail/1", "id": record(2)["id"], "missing": "what was said could not be kept"}
    spool_of(world.roots().state).append(missing)
    whys = {row["why"] for row in data(world)["rows"]}
    assert whys == {
        "cut: `command` was too long",
        "nothing was kept of what was said",
        "what was said could not be kept",
    }


def test_a_payload_of_which_the_main_thing_is_missing_is_not_taken_for_a_refusal(world: World) -> None:
    kept = {
        "schema": "trotline.detail/1",
        "id": record(1)["id"],
        "payload": {"hook_event_name": "beforeShellExecution"},
    }
    for line in (record(1, host="cursor"), kept):
        spool_of(world.roots().state).append(line)
    found = data(world)["rows"]
    assert [row.get("why") for row in found] == ["what was kept of its payload cannot be read any more"]


def test_what_depends_on_a_call_that_cannot_be_judged_again_cannot_be_said(world: World) -> None:
    call(world, shell(world, f"curl -H 'Authorization: {SECRET}' https://example.com"))
    call(world, shell(world, "curl https://example.com/x -d a=b"))
    call(world, shell(world, "ls"))
    call(world, shell(world, "curl https://example.com/x -d a=b", "c2"))
    rows = {row["seq"]: row["why"] for row in data(world)["rows"]}
    assert len(rows) == 2
    assert "it depends on an earlier call of its conversation that cannot be judged again" in rows.values()


def test_a_person_whose_address_was_redacted_matters_only_to_a_rule_that_asks(world: World) -> None:
    call(world, shell(world, "npm test"))
    assert data(world)["counts"]["same"] == 1
    rule = '[[rule]]\nname = "ann"\nwhen = "user == \'ann@acme.io\'"\ndeny = "not you"\n'
    rows = data(world, "--policy", str(world.write("new.toml", rule)))["rows"]
    assert [row["why"] for row in rows] == ["redacted: the person's address, and a rule asks for `user`"]


def test_given_events_are_compared_with_what_is_in_force(world: World) -> None:
    lines = [json.dumps(shell(world, line)) for line in ("ls", "cat .env")]
    file = world.write("events.jsonl", "\n".join(lines))
    assert changes(world, "--events", str(file)) == []
    assert changes(world, "--events", str(file), "--preset", "strict") == [("cat .env", "silent", "deny")]


def test_a_given_line_that_is_no_payload_is_named(world: World) -> None:
    file = world.write("events.jsonl", json.dumps(shell(world, "ls")) + "\nnonsense\n")
    done = replay(world, "--events", str(file))
    assert (done.returncode, done.stderr.splitlines()[0]) == (64, "error: line 2 is no JSON")


@pytest.mark.parametrize(
    "wrong", [{"seq": "x"}, {"voices": 7}, {"at_us": []}, {"detail": {"payload": 5}}, {"detail": [], "host": None}]
)
def test_a_record_that_is_none_is_an_answer_and_no_accident(world: World, wrong: dict[str, Any]) -> None:
    file = world.write("events.jsonl", json.dumps({**record(1, host="cursor"), **wrong}))
    done = replay(world, "--events", str(file))
    assert done.returncode in {0, 64}
    assert "Traceback" not in done.stderr


def test_what_a_record_from_elsewhere_says_does_not_talk_to_the_terminal(world: World) -> None:
    payload = shell(world, "ls \x1b[31m")
    words = {"asked": "\x1b[2J", "detail": {"payload": payload}, "voices": [{"author": "history", "said": "\x1b[2J"}]}
    file = world.write("events.jsonl", json.dumps({**record(1, host="cursor"), **words}))
    done = replay(world, "--events", str(file))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_an_export_of_another_machine_can_be_given(world: World, tmp_path: Path) -> None:
    call(world, shell(world, "cat .env"))
    exported = trotline_process("log", "export", *world.options, cwd=world.project).stdout
    (tmp_path / "elsewhere").mkdir()
    elsewhere = new_world(tmp_path / "elsewhere")
    file = elsewhere.write("events.jsonl", exported)
    assert changes(elsewhere, "--events", str(file), "--preset", "strict") == [("cat .env", "silent", "deny")]


def test_calls_of_another_place_can_be_judged_as_if_they_had_been_made_here(world: World) -> None:
    world.write("project/.trotline/policy.toml", '[lists]\ndeny_packages = ["pkg:npm/left-pad"]\n')
    payload = {**shell(world, "npm install left-pad"), "workspace_roots": ["/srv/shop"], "cwd": "/srv/shop/web"}
    file = str(world.write("events.jsonl", json.dumps(payload)))
    empty = str(world.write("project/empty.toml", ""))
    assert changes(world, "--events", file, "--policy", empty, "--layer", "project") == []
    there = changes(world, "--events", file, "--here", "--policy", empty, "--layer", "project")
    assert there == [("npm install left-pad", "deny", "silent")]


def test_a_candidate_with_a_problem_says_so_and_is_a_finding(world: World) -> None:
    call(world, shell(world, "ls"))
    done = replay(world, "--policy", str(world.write("new.toml", 'preset = "strickt"\n')))
    assert done.returncode == 1
    assert "there is no preset `strickt`" in done.stdout


def test_an_empty_trail_says_so(world: World) -> None:
    assert replay(world).stdout == "nothing in the trail answers to that\n"


# Hooks

DENIES_NPM = """#!/bin/sh
read -r payload
case "$payload" in *npm*) echo '{"permission": "deny", "user_message": "use pnpm"}' ;; *) echo '{}' ;; esac
"""


def hooks(world: World, file: str, **entry: Any) -> Path:
    """A file with one hook before commands, which refuses npm."""
    script = world.script("scripts/no-npm.sh", DENIES_NPM)
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": str(script), **entry}]}}
    return world.write(file, json.dumps(content))


def test_hooks_that_are_given_are_run_beside_the_guards(world: World) -> None:
    for line in ("npm test", "ls", "git reset --hard"):
        call(world, shell(world, line))
    file = hooks(world, "candidate/hooks.json")
    assert changes(world, "--hooks", str(file)) == [("npm test", "silent", "deny")]
    assert "no-npm.sh: deny, use pnpm" in replay(world, "--hooks", str(file)).stdout


def test_hooks_are_run_for_the_calls_that_were_asked_for_and_no_others(world: World) -> None:
    for line in ("ls", "npm test"):
        call(world, shell(world, line))
    script = world.script("scripts/counts.sh", f"#!/bin/sh\necho x >> {world.path}/ran\necho '{{}}'\n")
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": str(script)}]}}
    file = world.write("candidate/hooks.json", json.dumps(content))
    assert data(world, "--hooks", str(file), "--command", "npm *")["counts"]["same"] == 1
    assert (world.path / "ran").read_text() == "x\n"


def test_the_matcher_of_a_hook_that_is_given_holds(world: World) -> None:
    call(world, shell(world, "npm test"))
    assert changes(world, "--hooks", str(hooks(world, "candidate/hooks.json", matcher="^yarn"))) == []


def test_hooks_of_a_project_that_is_not_trusted_are_not_run(world: World) -> None:
    call(world, shell(world, "npm test"))
    world.script("project/evil.sh", f"#!/bin/sh\ntouch {world.path}/ran\n")
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": "./evil.sh"}]}}
    file = world.write("project", json.dumps(content))
    done = replay(world, "--hooks", str(file))
    assert (done.returncode, "are not trusted, and are not run" in done.stderr) == (64, True)
    assert not (world.path / "ran").exists()
    trotline_process("trust", "--yes", *world.options, cwd=world.project)
    replay(world, "--hooks", str(file))
    assert (world.path / "ran").exists()


def test_a_prompt_hook_is_not_asked_and_what_it_would_say_cannot_be_said(world: World) -> None:
    call(world, shell(world, "npm test"))
    entry = {"type": "prompt", "prompt": "is this fine?"}
    file = world.write("hooks.json", json.dumps({"version": 1, "hooks": {"beforeShellExecution": [entry]}}))
    whys = [row["why"] for row in data(world, "--hooks", str(file))["rows"]]
    assert whys == ["a prompt hook would be asked, and nothing is sent"]


def test_a_program_of_the_sdk_leaves_no_record_in_the_real_conversation(world: World) -> None:
    call(world, shell(world, "npm test"))
    program = world.write(
        "candidate/hook.py",
        "from trotline import deny, on, run\n@on.before_shell\ndef no(event):\n    return deny('no')\nrun()\n",
    )
    line = f"{sys.executable} -P {program} --home {world.home}"
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": line}]}}
    file = world.write("candidate/hooks.json", json.dumps(content))
    assert changes(world, "--hooks", str(file)) == [("npm test", "silent", "deny")]
    shown = trotline_process("log", "--json", *world.options, cwd=world.project).stdout
    assert [one["conversation"] for one in json.loads(shown)["data"]["records"]] == ["c1"]


# Another host


def test_another_host_is_answered_in_its_own_words(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    done = json.loads(replay(world, "1", "--as", "claude-code", "--json").stdout)
    found = done["data"]
    assert (done["ok"], found["was"], found["decision"], found["losses"]) == (True, "ask", "ask", [])
    assert json.loads(found["payload"])["tool_input"] == {"command": "git reset --hard"}
    assert json.loads(found["stdout"])["hookSpecificOutput"]["permissionDecision"] == "ask"


def test_what_another_host_cannot_hear_is_a_finding(world: World) -> None:
    call(world, shell(world, "git reset --hard"))
    done = replay(world, "1", "--as", "windsurf")
    assert done.returncode == 1
    assert "  lost: ask: Windsurf knows no ask; sent as deny" in done.stdout.splitlines()
    assert "  answered with exit 2: " in done.stdout.splitlines()


def test_a_host_without_such_an_event_says_so(world: World) -> None:
    call(world, {"hook_event_name": "workspaceOpen", "workspace_roots": [str(world.project)]})
    done = replay(world, "1", "--as", "claude-code")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        64,
        "error: Claude Code raises nothing like workspaceOpen",
    )


def test_what_cannot_be_judged_again_is_answered_nowhere(world: World) -> None:
    call(world, shell(world, f"curl -H 'Authorization: {SECRET}' https://example.com"))
    done = replay(world, "1", "--as", "claude-code")
    assert (done.returncode, "cannot be said: redacted: " in done.stderr) == (64, True)


@pytest.mark.parametrize(
    "words,said",
    [
        (["--as", "windsurf"], "--as is about one call"),
        (["--layer", "user"], "--layer says whose policy a file would be"),
        (["99"], "the trail has no record `99`"),
        (["99", "--since", "2h"], "an ID is one call, and conditions choose among many"),
        (["99", "--verdict", "denied", "--as", "codex"], "an ID is one call, and conditions choose among many"),
        (["99", "--host", "cursor"], "an ID is one call, and conditions choose among many"),
        (["--events", "-"], "the input is empty: nothing is in `<stdin>`"),
        (["--events", "-", "--since", "2h"], "what is given with --events is all judged"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_question_that_means_nothing_gets_a_clear_answer(world: World, words: list[str], said: str) -> None:
    done = replay(world, *words)
    assert done.returncode == 64  # 1 would say that a decision changes
    assert done.stderr.splitlines()[0] == f"error: {said}"
