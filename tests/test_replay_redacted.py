"""Replay of redacted calls, and of decisions that were sent differently."""

import json
from pathlib import Path
from typing import Any

from kit import Workspace, build_shell_payload, call_hook
from trotline import Engine, Options
from trotline.audit.query.query import Query
from trotline.audit.store.audit_log import open_audit_log
from trotline.domain.events import BeforeShell
from trotline.replay.call_sources import find_calls
from trotline.replay.candidate import IN_FORCE, Candidate, read_candidate_policy
from trotline.replay.comparison import CallChange, ChangeKind, compare_calls
from trotline.replay.trial import DEPENDS_ON_UNKNOWN_CALL, Trial

SENDS = "curl https://example.com/x -d a=b"


def output(workspace: Workspace, text: str) -> dict[str, Any]:
    """Build the result of a tool in the shared conversation."""
    shell_result = {
        "tool_name": "Shell",
        "tool_input": {"command": "git log -1"},
        "tool_output": text,
        "tool_use_id": "t",
    }
    return {**build_shell_payload(workspace, ""), "hook_event_name": "postToolUse", "duration": 1, **shell_result}


def evaluate(workspace: Workspace, candidate: Candidate) -> dict[str, CallChange]:
    """Return the replayed decisions by subject."""
    with open_audit_log(workspace.roots().state) as store:
        calls = find_calls(store, Query())
    old = Trial(IN_FORCE, workspace.roots(), workspace.path / "old", "2026-01-01")
    new = Trial(candidate, workspace.roots(), workspace.path / "new", "2026-01-01")
    return {row.call.subject: row for row in compare_calls(calls.calls, old, new, calls.selected)}


def test_an_address_in_an_output_hides_nothing_that_is_not_sent_anywhere(workspace: Workspace) -> None:
    call_hook(workspace, output(workspace, "Author: Bob Smith <bob.smith@corp-mail.de>"))
    for line in ("git push --force", "cat README.md", "rm -rf build", SENDS):
        call_hook(workspace, build_shell_payload(workspace, line))
    found = evaluate(workspace, Candidate(preset="strict"))
    assert (found["git push --force"].kind, found["git push --force"].new) == (ChangeKind.CHANGED, "deny")
    assert found["cat README.md"].kind is found["rm -rf build"].kind is ChangeKind.SAME
    assert (found[SENDS].kind, found[SENDS].why) == (ChangeKind.UNKNOWN, DEPENDS_ON_UNKNOWN_CALL)


def test_a_call_after_a_redacted_output_is_unknown(workspace: Workspace) -> None:
    call_hook(workspace, output(workspace, "Author: Bob Smith <bob.smith@corp-mail.de>"))
    call_hook(workspace, build_shell_payload(workspace, SENDS))
    call_hook(workspace, build_shell_payload(workspace, f"{SENDS} --retry 3"))
    found = evaluate(workspace, Candidate(preset="strict"))
    assert {row.why for row in list(found.values())[1:]} == {DEPENDS_ON_UNKNOWN_CALL}


def test_a_change_can_be_certain_without_a_known_current_verdict(workspace: Workspace) -> None:
    rule = '[[rule]]\nname = "ann"\nwhen = "user == \'ann@acme.io\' && event.command == \'never\'"\ndeny = "not you"\n'
    call_hook(workspace, build_shell_payload(workspace, "cat .env"))
    workspace.write("home/.config/trotline/trotline.toml", rule)
    strict = str(workspace.write("strict.toml", 'preset = "strict"\n'))
    done = workspace.run("replay", "--policy", strict)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2] == (
        "none -> deny: 1 call, and whether what is in force says so too cannot be said: "
        "redacted: the person's address, and a rule asks for `user`"
    )


def test_an_undecided_call_stays_unknown(workspace: Workspace) -> None:
    call_hook(workspace, build_shell_payload(workspace, "cat .env"))
    workspace.write(
        "home/.config/trotline/trotline.toml", '[[rule]]\nname = "a"\nwhen = "user == \'x\'"\ndeny = "no"\n'
    )
    strict = str(workspace.write("strict.toml", 'preset = "strict"\n'))
    with open_audit_log(workspace.roots().state) as store:
        undecided = [call._replace(decision=None) for call in find_calls(store, Query()).calls]
    layer, policies = read_candidate_policy(Path(strict), "user", workspace.roots())
    old = Trial(IN_FORCE, workspace.roots(), workspace.path / "old", "2026-01-01")
    new = Trial(Candidate(layer, policies), workspace.roots(), workspace.path / "new", "2026-01-01")
    assert [change.kind for change in compare_calls(undecided, old, new)] == [ChangeKind.UNKNOWN]


def test_an_ask_sent_as_deny_is_shown_as_both(workspace: Workspace) -> None:
    call_hook(workspace, {**build_shell_payload(workspace, "git push --force"), "cursor_version": "3.18.25"})
    done = workspace.run("replay", "--preset", "strict")
    assert done.stdout.splitlines()[2] == "ask (sent as deny) -> deny: 1 call"
    shown = workspace.run("replay", "--preset", "strict", "--json").stdout
    row = json.loads(shown)["data"]["changes"][0]
    assert (row["old"], row["new"], row["sent"]) == ("ask", "deny", ["deny", "deny"])


def test_an_unsent_denial_is_no_change(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/trotline.toml", 'mode = "monitor"')
    call_hook(workspace, build_shell_payload(workspace, "git push --force"))
    done = workspace.run("replay", "--preset", "strict")
    assert done.stdout.splitlines()[2] == "ask -> deny: 1 call"


def test_a_call_of_an_unknown_agent_is_replayed_and_shown_under_its_name(workspace: Workspace) -> None:
    rule = '[[rule]]\nname = "own"\nwhen = "agent == \'\' && event.command == \'make\'"\ndeny = "not mine"\n'
    workspace.write("home/.config/trotline/trotline.toml", rule)
    options = Options(agent="my-agent")
    engine = Engine.load(
        workspace.project, home=workspace.home, system=workspace.system, audit_log=True, guarded=True, options=options
    )
    with engine.session() as session:
        assert session.fire(BeforeShell(command="make")).is_denied
        assert session.fire(BeforeShell(command="git push --force")).is_asked
    assert {row.kind for row in evaluate(workspace, IN_FORCE).values()} == {ChangeKind.SAME}
    done = workspace.run("replay", "--preset", "strict")
    lines = done.stdout.splitlines()
    assert lines[2] == "ask -> deny: 1 call"
    assert lines[4].endswith(" my-agent beforeShellExecution: git push --force")
