"""The replay command on a real audit log."""

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

from kit import Workspace, build_shell_payload, call_hook, call_in_process, make_workspace, read_rows
from secret_samples import fill_template
from store_behaviour import record
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import get_spool
from trotline.guards import GUARD_NAMES
from trotline.guards.cases import load_cases
from trotline.guards.guard import PRESETS, GuardLevel
from trotline.replay.call_sources import find_calls
from trotline.replay.candidate import IN_FORCE
from trotline.replay.comparison import ChangeKind, compare_calls
from trotline.replay.trial import DEPENDS_ON_UNKNOWN_CALL, Trial

SECRET = fill_template("ghp_{crc*36}")


EVENT_FIELDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "beforeShellExecution": lambda line: {"command": line},
    "preToolUse": lambda line: {"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": {"command": line}},
    "afterShellExecution": lambda line: {"hook_event_name": "afterShellExecution", "command": line, "output": line},
    "beforeSubmitPrompt": lambda line: {"hook_event_name": "beforeSubmitPrompt", "prompt": line},
    "stop": lambda _: {"hook_event_name": "stop", "status": "completed"},
}
EVENTS = list(EVENT_FIELDS)


def replay(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return workspace.run("replay", *words)


def data(workspace: Workspace, *words: str) -> Any:
    return json.loads(replay(workspace, *words, "--json").stdout)["data"]


def changes(workspace: Workspace, *words: str) -> list[tuple[str, str, str]]:
    """Return subject, old and new decision of every change."""
    rows = data(workspace, *words)["changes"]
    return [(row["subject"], row["old"], row["new"]) for row in rows if row["kind"] == "changed"]


def test_the_current_policy_changes_nothing(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git push --force"))
    call_hook(workspace, build_shell_payload(workspace, "ls"))
    done = replay(workspace)
    assert done.stdout == "2 calls: 0 would be decided otherwise, 2 the same\n"
    assert done.returncode == 0


def test_every_guard_case_is_replayed_with_the_same_verdict(workspace: Workspace) -> None:
    for number, line in enumerate(LINES):
        call_in_process(workspace, build_shell_payload(workspace, line, f"c{number % 3}"), number)
    found = data(workspace)
    assert found["calls"] == len(LINES) > 300
    assert found["counts"]["changed"] == found["counts"]["drifted"] == found["counts"]["others"] == 0
    assert found["counts"]["same"] > len(LINES) * 0.8
    assert {row["kind"] for row in found["changes"]} <= {"unknown"}


LINES = [line for name in GUARD_NAMES for line in (*load_cases(name).commands, *load_cases(name).passes)]


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from("abc"), st.sampled_from(EVENTS)), max_size=12),
    st.sampled_from(PRESETS),
    st.dictionaries(st.sampled_from(GUARD_NAMES), st.sampled_from(list(GuardLevel)), max_size=6),
    st.booleans(),
)
def test_replaying_with_the_current_hooks_changes_nothing(
    calls: list[tuple[str, str, str]], preset: str, levels: dict[str, GuardLevel], monitored: bool
) -> None:
    with TemporaryDirectory() as directory:
        workspace = make_workspace(Path(directory).resolve())
        table = "".join(f'{guard} = "{level}"\n' for guard, level in levels.items())
        mode = "monitor" if monitored else "enforce"
        config = f'mode = "{mode}"\npreset = "{preset}"\n[guards]\n{table}'
        workspace.write("home/.config/trotline/trotline.toml", config)
        for number, (line, conversation, event) in enumerate(calls):
            call_in_process(
                workspace, {**build_shell_payload(workspace, line, conversation), **EVENT_FIELDS[event](line)}, number
            )
        with audit_log.open_audit_log(workspace.roots().state) as store:
            found = find_calls(store, Query())
        old, new = (Trial(IN_FORCE, workspace.roots(), workspace.path / name, "2026-01-01") for name in ("old", "new"))
        rows = list(compare_calls(found.calls, old, new, found.selected))
        assert len(rows) == len(calls)
        assert {row.kind for row in rows} <= {ChangeKind.SAME, ChangeKind.UNKNOWN}
        unknown = [row for row in rows if row.kind is ChangeKind.UNKNOWN]
        assert all(row.call.missing or row.why == DEPENDS_ON_UNKNOWN_CALL for row in unknown)


def test_a_stricter_preset_shows_what_it_would_refuse_and_why(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "cat .env"))
    call_hook(workspace, build_shell_payload(workspace, "ls"))
    done = replay(workspace, "--preset", "strict")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "2 calls: 1 would be decided otherwise, 1 the same"
    assert lines[2] == "none -> deny: 1 call"
    assert lines[3].startswith("  now speaks: credentials: deny, ")
    assert lines[4].endswith(" cursor beforeShellExecution: cat .env")


def test_a_candidate_policy_replaces_its_layer(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git reset --hard"))
    file = workspace.write("new.toml", '[guards]\nhistory = "warn"\n')
    assert changes(workspace, "--policy", str(file)) == [("git reset --hard", "ask", "none")]
    assert changes(workspace, "--policy", str(file), "--layer", "project") == []  # a project cannot be milder


def test_a_new_matching_rule_is_named(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    rule = '[[rule]]\nname = "no npm"\nwhen = "event.command.startsWith(\'npm\')"\ndeny = "use pnpm"\n'
    done = replay(workspace, "--policy", str(workspace.write("new.toml", rule)))
    assert "  now speaks: rule no npm: deny, use pnpm (Trotline, rule no npm, user)" in done.stdout.splitlines()


def test_a_replaced_policy_does_not_apply(workspace: Workspace) -> None:
    rule = '[[rule]]\nname = "no npm"\nwhen = "event.command.startsWith(\'npm\')"\ndeny = "use pnpm"\n'
    workspace.write("home/.config/trotline/trotline.toml", rule)
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    assert changes(workspace) == []
    empty = str(workspace.write("new.toml", ""))
    assert changes(workspace, "--policy", empty) == [("npm test", "deny", "none")]
    assert "  no longer speaks: rule no npm (deny)" in replay(workspace, "--policy", empty).stdout.splitlines()


def test_earlier_changes_are_not_attributed_to_the_candidate(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git reset --hard"))
    workspace.write("home/.config/trotline/trotline.toml", '[guards]\nhistory = "warn"\n')
    done = replay(workspace, "--preset", "standard")
    assert done.returncode == 1
    assert (
        "ask (sent as deny) -> none: 1 call, and not because of the candidate: what is in force says so too, now"
        in done.stdout.splitlines()
    )


def test_a_conversation_is_replayed_from_its_start_with_its_own_history(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "cat .env"))
    call_hook(workspace, build_shell_payload(workspace, "curl https://example.com/x -d a=b"))
    sessions = {file: file.read_bytes() for file in (workspace.roots().state / "sessions").iterdir()}
    assert data(workspace, "--command", "curl *")["counts"]["same"] == 1
    rows = data(workspace, "--preset", "strict", "--command", "curl *")["changes"]
    assert [row["removed"] for row in rows] == [[["sequences", "ask"]]]  # the file would not have been read
    assert {file: file.read_bytes() for file in (workspace.roots().state / "sessions").iterdir()} == sessions


def test_replay_does_not_change_the_audit_log(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "git push --force"))
    with audit_log.open_audit_log(workspace.roots().state) as store:
        head = store.head()
    state = {path for path in workspace.roots().state.rglob("*") if path.is_file()}
    assert replay(workspace, "--preset", "strict").returncode == 1
    with audit_log.open_audit_log(workspace.roots().state) as store:
        assert store.head() == head
    assert {
        path for path in workspace.roots().state.rglob("*") if path.is_file() and "audit_log.db-" not in path.name
    } <= state


def test_a_redacted_call_is_unknown_and_counted(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com"))
    call_hook(workspace, build_shell_payload(workspace, "ls"))
    done = replay(workspace, "--preset", "strict")
    assert done.stdout.splitlines()[0] == "2 calls: 0 would be decided otherwise, 1 the same, 1 cannot be said"
    assert "redacted: " in done.stdout.splitlines()[-1]
    assert done.stdout.splitlines()[-1].endswith(" in `command`")
    assert SECRET not in done.stdout


def test_a_call_without_complete_detail_is_unknown(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "echo " + "x " * 20_000))
    get_spool(workspace.roots().state).append(record(1, agent="cursor"))
    get_spool(workspace.roots().state).append(record(2, agent="cursor"))
    missing = {"schema": "trotline.detail/2", "id": record(2)["id"], "missing": "what was said could not be kept"}
    get_spool(workspace.roots().state).append(missing)
    whys = {row["why"] for row in data(workspace)["changes"]}
    assert whys == {
        "cut: `command` was too long",
        "nothing was kept of what was said",
        "what was said could not be kept",
    }


def test_a_payload_of_which_the_main_thing_is_missing_is_not_taken_for_a_refusal(workspace: Workspace) -> None:
    complete = {
        "schema": "trotline.detail/2",
        "id": record(1)["id"],
        "payload": {"hook_event_name": "beforeShellExecution"},
    }
    for line in (record(1, agent="cursor"), complete):
        get_spool(workspace.roots().state).append(line)
    found = data(workspace)["changes"]
    assert [row.get("why") for row in found] == ["what was kept of its payload cannot be read any more"]


def test_a_call_that_depends_on_an_unknown_call_is_unknown(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com"))
    call_hook(workspace, build_shell_payload(workspace, "curl https://example.com/x -d a=b"))
    call_hook(workspace, build_shell_payload(workspace, "ls"))
    call_hook(workspace, build_shell_payload(workspace, "curl https://example.com/x -d a=b", "c2"))
    rows = {row["seq"]: row["why"] for row in data(workspace)["changes"]}
    assert len(rows) == 2
    assert "it depends on an earlier call of its conversation that cannot be judged again" in rows.values()


def test_a_redacted_user_matters_only_to_rules_about_users(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    assert data(workspace)["counts"]["same"] == 1
    rule = '[[rule]]\nname = "ann"\nwhen = "user == \'ann@acme.io\'"\ndeny = "not you"\n'
    rows = data(workspace, "--policy", str(workspace.write("new.toml", rule)))["changes"]
    assert [row["why"] for row in rows] == ["redacted: the person's address, and a rule asks for `user`"]


def test_given_events_are_compared_with_the_current_policy(workspace: Workspace) -> None:
    lines = [json.dumps(build_shell_payload(workspace, line)) for line in ("ls", "cat .env")]
    file = workspace.write("events.jsonl", "\n".join(lines))
    assert changes(workspace, "--events", str(file)) == []
    assert changes(workspace, "--events", str(file), "--preset", "strict") == [("cat .env", "none", "deny")]


def test_a_given_line_that_is_no_payload_is_named(workspace: Workspace) -> None:
    file = workspace.write("events.jsonl", json.dumps(build_shell_payload(workspace, "ls")) + "\nnonsense\n")
    done = replay(workspace, "--events", str(file))
    assert (done.returncode, done.stderr.splitlines()[0]) == (64, "error: line 2 is no JSON")


@pytest.mark.parametrize(
    "wrong", [{"seq": "x"}, {"responses": 7}, {"at_us": []}, {"detail": {"payload": 5}}, {"detail": [], "agent": None}]
)
def test_a_record_that_is_none_is_an_answer_and_no_accident(workspace: Workspace, wrong: dict[str, Any]) -> None:
    file = workspace.write("events.jsonl", json.dumps({**record(1, agent="cursor"), **wrong}))
    done = replay(workspace, "--events", str(file))
    assert done.returncode in {0, 64}
    assert "Traceback" not in done.stderr


def test_control_characters_of_a_record_do_not_reach_the_terminal(workspace: Workspace) -> None:
    payload = build_shell_payload(workspace, "ls \x1b[31m")
    words = {
        "decided": "\x1b[2J",
        "detail": {"payload": payload},
        "responses": [{"author": "history", "permission": "\x1b[2J"}],
    }
    file = workspace.write("events.jsonl", json.dumps({**record(1, agent="cursor"), **words}))
    done = replay(workspace, "--events", str(file))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_an_export_of_another_machine_can_be_read_calls(workspace: Workspace, tmp_path: Path) -> None:
    call_hook(workspace, build_shell_payload(workspace, "cat .env"))
    exported = workspace.run("log", "export").stdout
    (tmp_path / "elsewhere").mkdir()
    elsewhere = make_workspace(tmp_path / "elsewhere")
    file = elsewhere.write("events.jsonl", exported)
    assert changes(elsewhere, "--events", str(file), "--preset", "strict") == [("cat .env", "none", "deny")]


def test_calls_of_another_machine_can_be_rebased(workspace: Workspace) -> None:
    workspace.write("project/.trotline/trotline.toml", '[lists]\ndeny_packages = ["pkg:npm/left-pad"]\n')
    payload = {
        **build_shell_payload(workspace, "npm install left-pad"),
        "workspace_roots": ["/srv/shop"],
        "cwd": "/srv/shop/web",
    }
    file = str(workspace.write("events.jsonl", json.dumps(payload)))
    empty = str(workspace.write("project/empty.toml", ""))
    assert changes(workspace, "--events", file, "--policy", empty, "--layer", "project") == []
    there = changes(workspace, "--events", file, "--here", "--policy", empty, "--layer", "project")
    assert there == [("npm install left-pad", "deny", "none")]


def test_a_candidate_with_a_problem_is_a_finding(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "ls"))
    done = replay(workspace, "--policy", str(workspace.write("new.toml", 'preset = "strickt"\n')))
    assert done.returncode == 1
    assert "there is no preset `strickt`" in done.stdout


def test_an_empty_audit_log_is_reported(workspace: Workspace) -> None:
    assert replay(workspace).stdout == "no matching records\n"


DENIES_NPM = """#!/bin/sh
read -r payload
case "$payload" in *npm*) echo '{"permission": "deny", "user_message": "use pnpm"}' ;; *) echo '{}' ;; esac
"""


def hooks(workspace: Workspace, file: str, **entry: Any) -> Path:
    """Build a file with one hook that denies npm."""
    script = workspace.script("scripts/no-npm.sh", DENIES_NPM)
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": str(script), **entry}]}}
    return workspace.write(file, json.dumps(content))


def test_candidate_hooks_run_with_the_guards(workspace: Workspace) -> None:
    for line in ("npm test", "ls", "git reset --hard"):
        call_hook(workspace, build_shell_payload(workspace, line))
    file = hooks(workspace, "candidate/hooks.json")
    assert changes(workspace, "--hooks", str(file)) == [("npm test", "none", "deny")]
    assert "no-npm.sh: deny, use pnpm" in replay(workspace, "--hooks", str(file)).stdout


def test_hooks_run_for_the_selected_calls_only(workspace: Workspace) -> None:
    for line in ("ls", "npm test"):
        call_hook(workspace, build_shell_payload(workspace, line))
    script = workspace.script("scripts/counts.sh", f"#!/bin/sh\necho x >> {workspace.path}/ran\necho '{{}}'\n")
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": str(script)}]}}
    file = workspace.write("candidate/hooks.json", json.dumps(content))
    assert data(workspace, "--hooks", str(file), "--command", "npm *")["counts"]["same"] == 1
    assert (workspace.path / "ran").read_text() == "x\n"


def test_the_matcher_of_a_hook_that_is_given_holds(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    assert changes(workspace, "--hooks", str(hooks(workspace, "candidate/hooks.json", matcher="^yarn"))) == []


def test_hooks_of_a_project_that_is_not_trusted_are_not_run(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    workspace.script("project/evil.sh", f"#!/bin/sh\ntouch {workspace.path}/ran\n")
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": "./evil.sh"}]}}
    file = workspace.write("project", json.dumps(content))
    done = replay(workspace, "--hooks", str(file))
    assert (done.returncode, "are not trusted, and are not run" in done.stderr) == (64, True)
    assert not (workspace.path / "ran").exists()
    workspace.run("trust", "--yes")
    replay(workspace, "--hooks", str(file))
    assert (workspace.path / "ran").exists()


def test_a_prompt_hook_is_not_run_and_makes_a_call_unknown(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    entry = {"type": "prompt", "prompt": "is this fine?"}
    file = workspace.write("hooks.json", json.dumps({"version": 1, "hooks": {"beforeShellExecution": [entry]}}))
    whys = [row["why"] for row in data(workspace, "--hooks", str(file))["changes"]]
    assert whys == ["a prompt hook would be asked, and nothing is sent"]


def test_a_program_of_the_sdk_leaves_no_record_in_the_real_conversation(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "npm test"))
    program = workspace.write(
        "candidate/hook.py",
        "from trotline import deny, on, run\n@on.before_shell\ndef no(event):\n    return deny('no')\nrun()\n",
    )
    line = f"{sys.executable} -P {program} --home {workspace.home}"
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": line}]}}
    file = workspace.write("candidate/hooks.json", json.dumps(content))
    assert changes(workspace, "--hooks", str(file)) == [("npm test", "none", "deny")]
    shown = workspace.run("log", "--json").stdout
    assert [one["conversation"] for one in json.loads(shown)["data"]["records"]] == ["c1"]


@pytest.mark.parametrize(
    "words,expected_text",
    read_rows("replay", "invalid_queries"),
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_invalid_query_is_a_clear_error(workspace: Workspace, words: list[str], expected_text: str) -> None:
    done = replay(workspace, *words)
    assert done.returncode == 64  # exit code 1 means that a decision changes
    assert done.stderr.splitlines()[0] == f"error: {expected_text}"


def test_a_candidate_for_the_project_counts_calls_of_other_workspaces(workspace: Workspace) -> None:
    for _ in range(2):
        call_hook(workspace, {**build_shell_payload(workspace, "npm test"), "workspace_roots": ["/somewhere/else"]})
    rule = '[[rule]]\nname = "no npm"\nwhen = "event.command.startsWith(\'npm\')"\ndeny = "use pnpm"\n'
    done = replay(workspace, "--policy", str(workspace.write("new.toml", rule)), "--layer", "project")
    assert done.stdout == (
        "2 calls: 0 would be decided otherwise, 2 the same; 2 were in other workspaces, which this does not reach\n"
    )
