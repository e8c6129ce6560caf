"""The commands `trust` and `fire` in their own processes: granting, losing and showing trust."""

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace, read_rows, run_trotline
from trotline.config.trust import MAX_WORDS, Digests, TrustCoverage, build_coverage

ALLOW = '#!/bin/sh\ncat > /dev/null\necho \'{"permission": "allow"}\'\n'

COVERED = tuple(read_rows("trust", "covered"))
"""Files of the sample workspace that trust covers."""

HOOKS = {
    "version": 1,
    "hooks": {
        "beforeShellExecution": [
            {"command": ".cursor/hooks/guard.sh"},
            {"command": "tools/check.sh --config tools/check.conf"},
            {"command": "sh $CURSOR_PROJECT_DIR/tools/plain.sh"},
        ]
    },
}
RAN = [".cursor/hooks/guard.sh", "tools/check.sh --config tools/check.conf", "sh $CURSOR_PROJECT_DIR/tools/plain.sh"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with hooks in both trees and in tools/, and with unrelated files."""
    made = make_workspace(tmp_path)
    made.write("project", json.dumps(HOOKS) + "\n")
    made.write("claude-project", "{}\n")
    made.write("claude-local", "{}\n")
    for script in (".cursor/hooks/guard.sh", "tools/check.sh", "tools/plain.sh"):
        made.script(f"project/{script}", ALLOW)
    for text in ("tools/check.conf", ".cursor/hooks/lib/deep/words.txt", ".claude/hooks/words.txt", "src/main.py"):
        made.write(f"project/{text}", "first\nsecond\n")
    return made


def trotline(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return run_trotline(*words, *workspace.options, cwd=workspace.path)


def fire(workspace: Workspace, *words: str, event: str = "beforeShellExecution") -> dict[str, Any]:
    done = trotline(workspace, "fire", event, "--set", "command=ls", "--json", *words)
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    assert done.returncode == {"deny": 20, "ask": 10}.get(data["decision"]["permission"], 0)
    return data


def ran(workspace: Workspace, *words: str) -> list[str]:
    return [run["line"] for run in fire(workspace, *words)["runs"]]


def state(workspace: Workspace) -> dict[str, Any]:
    """Return the data of `trust --status`."""
    done = trotline(workspace, "trust", "--status", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["ok"] else 1)
    data: dict[str, Any] = answer["data"][0]
    return data


def why_not(workspace: Workspace) -> set[str]:
    """Return the reasons why no hook ran; empty if one ran."""
    data = fire(workspace)
    return {entry["why"] for entry in data["not_run"]} if not data["runs"] else set()


def trust(workspace: Workspace) -> None:
    assert trotline(workspace, "trust", "--yes").returncode == 0


@pytest.fixture
def trusted(workspace: Workspace) -> Workspace:
    """The sample workspace after `trotline trust --yes`."""
    trust(workspace)
    return workspace


def test_hooks_of_an_untrusted_project_do_not_run_and_are_listed_with_the_reason(workspace: Workspace) -> None:
    workspace.script("project/.cursor/hooks/guard.sh", "#!/bin/sh\n: > ran\n")
    data = fire(workspace)
    assert data["runs"] == []
    assert [(entry["line"], entry["why"]) for entry in data["not_run"]] == [
        (line, "the workspace is not trusted") for line in RAN
    ]
    assert data["decision"]["permission"] == "none"
    assert not (workspace.project / "ran").exists()


def test_fire_names_every_hook_that_did_not_run(workspace: Workspace) -> None:
    done = trotline(workspace, "fire", "beforeShellExecution", "--set", "command=ls")
    assert all(line in done.stdout for line in RAN)
    assert done.stdout.count("not run: the workspace is not trusted") == len(RAN)


def test_a_script_that_fires_is_warned_of_hooks_that_did_not_run(workspace: Workspace) -> None:
    done = trotline(workspace, "fire", "beforeShellExecution", "--set", "command=ls", "--json")
    assert done.stderr.startswith("warning: 3 hooks of the project did not run\n")
    assert "--trust-digest" in done.stderr
    trust(workspace)
    assert trotline(workspace, "fire", "beforeShellExecution", "--set", "command=ls", "--json").stderr == ""


def test_a_dry_run_lists_untrusted_hooks_as_not_run(workspace: Workspace) -> None:
    done = trotline(workspace, "fire", "beforeShellExecution", "--set", "command=ls", "--dry-run", "--json")
    data = json.loads(done.stdout)["data"]
    assert data["would_run"] == []
    assert [entry["line"] for entry in data["would_not"]] == RAN


def test_without_a_terminal_nothing_is_trusted(workspace: Workspace) -> None:
    done = trotline(workspace, "trust")
    assert done.returncode == 1
    assert "error: nobody is here to be asked" in done.stderr
    hint = done.stderr.split("hint:")[1]
    assert "--yes" in hint
    assert "--trust-digest" in hint
    assert ran(workspace) == []


def test_without_a_terminal_the_error_is_an_envelope_for_programs(workspace: Workspace) -> None:
    done = trotline(workspace, "trust", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"]) == (1, False)
    assert "nobody is here to be asked" in answer["problems"][0]["message"]
    assert ran(workspace) == []


@pytest.mark.parametrize("answer, hooks", [("y\n", RAN), ("n\n", []), ("\n", [])], ids=["yes", "no", "nothing"])
def test_at_a_terminal_trust_prompts(workspace: Workspace, answer: str, hooks: list[str]) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "trotline", "trust", *workspace.options],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
    )
    os.write(ours, answer.encode())
    output, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "Trust these hooks to run as you?" in output.decode()
    assert process.returncode == (0 if hooks else 1)
    assert ran(workspace) == hooks


def test_yes_prints_hooks_covered_files_and_uncovered_files(workspace: Workspace) -> None:
    done = trotline(workspace, "trust", "--yes")
    assert done.returncode == 0
    would_run, covered, not_covered = done.stdout.split("\n\n")[1:4]
    assert would_run.startswith("3 hooks would run as you:")
    assert [line.split(maxsplit=1)[1] for line in would_run.splitlines()[1:]] == RAN
    assert covered.startswith("covered, 9 files")
    assert [line.split()[1] for line in covered.splitlines()[1:]] == list(COVERED)
    assert not_covered.startswith("not covered")
    assert [line.strip() for line in not_covered.splitlines()[1:]] == ["sh"]


def test_yes_prints_the_same_as_json(workspace: Workspace) -> None:
    answer = json.loads(trotline(workspace, "trust", "--yes", "--json").stdout)
    data = answer["data"][0]
    assert answer["ok"]
    assert data["trusted"]
    assert [hook["line"] for hook in data["hooks"]] == RAN
    assert tuple(data["covered"]) == COVERED
    assert data["not_covered"] == ["sh"]


def test_the_question_and_yes_print_the_same(workspace: Workspace) -> None:
    assert trotline(workspace, "trust").stdout == trotline(workspace, "trust", "--yes").stdout


def test_after_yes_the_hooks_run(trusted: Workspace) -> None:
    data = fire(trusted)
    assert [(run["line"], run["permission"]) for run in data["runs"]] == [(line, "allow") for line in RAN]
    assert (data["not_run"], data["alarms"]) == ([], [])


def test_to_trust_twice_changes_nothing(trusted: Workspace) -> None:
    trust(trusted)
    assert ran(trusted) == RAN


def test_control_characters_do_not_reach_the_terminal(workspace: Workspace) -> None:
    hooks = {"stop": [{"command": "echo \x1b]0;title\x07 \x1b[2J x.sh"}]}
    workspace.write("project", json.dumps({"version": 1, "hooks": hooks}))
    printed = trotline(workspace, "trust", "--yes").stdout
    assert "x.sh" in printed
    assert not {"\x1b", "\x07"} & set(printed)


def test_a_workspace_with_too_many_files_to_cover_cannot_be_trusted(workspace: Workspace) -> None:
    crowd = workspace.project / ".cursor" / "hooks" / "crowd"
    crowd.mkdir()
    for number in range(5001):
        (crowd / str(number)).touch()
    done = trotline(workspace, "trust", "--yes")
    assert done.returncode == 1
    assert "cannot be trusted: its hook directories hold more than 5000 files" in done.stderr
    assert ran(workspace) == []


@pytest.mark.parametrize("name", COVERED)
def test_one_changed_byte_ends_trust_and_the_old_byte_brings_it_back(trusted: Workspace, name: str) -> None:
    file = trusted.project / name
    before = file.read_bytes()
    file.write_bytes(before[:-1] + b" ")
    assert why_not(trusted) == {f"the workspace changed since it was trusted: {name}"}
    file.write_bytes(before)
    assert ran(trusted) == RAN


@pytest.mark.parametrize("tree", [".cursor/hooks", ".claude/hooks"])
def test_a_new_file_in_a_hooks_directory_ends_trust(trusted: Workspace, tree: str) -> None:
    added = trusted.write(f"project/{tree}/new/added.txt", "x")
    assert why_not(trusted) == {f"the workspace changed since it was trusted: {tree}/new/added.txt"}
    added.unlink()
    assert ran(trusted) == RAN


@pytest.mark.parametrize("name", [".cursor/hooks/lib/deep/words.txt", ".claude/hooks/words.txt", "tools/check.conf"])
def test_a_file_that_is_gone_ends_trust(trusted: Workspace, name: str) -> None:
    file = trusted.project / name
    before = file.read_bytes()
    file.unlink()
    assert why_not(trusted) == {f"the workspace changed since it was trusted: {name}"}
    file.write_bytes(before)
    assert ran(trusted) == RAN


def test_a_file_that_becomes_executable_ends_trust(trusted: Workspace) -> None:
    file = trusted.project / ".cursor/hooks/lib/deep/words.txt"
    file.chmod(0o755)
    assert why_not(trusted) == {"the workspace changed since it was trusted: .cursor/hooks/lib/deep/words.txt"}
    file.chmod(0o644)
    assert ran(trusted) == RAN


def test_a_new_hook_in_a_settings_file_ends_trust(trusted: Workspace) -> None:
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "true"}]}]}
    trusted.write("claude-local", json.dumps({"hooks": hooks}))
    assert why_not(trusted) == {"the workspace changed since it was trusted: .claude/settings.local.json"}


def test_a_script_that_is_replaced_by_a_link_to_another_ends_trust(trusted: Workspace) -> None:
    trusted.script("elsewhere/guard.sh", "#!/bin/sh\n")
    script = trusted.project / ".cursor/hooks/guard.sh"
    script.unlink()
    script.symlink_to(trusted.path / "elsewhere/guard.sh")
    assert ran(trusted) == []


def test_unrelated_files_may_change(trusted: Workspace) -> None:
    trusted.write("project/src/main.py", "other\n")
    trusted.write("project/tools/unrelated.sh", "other\n")
    assert ran(trusted) == RAN


def test_revoking_removes_trust_and_reports_its_previous_state(trusted: Workspace) -> None:
    done = trotline(trusted, "trust", "--revoke")
    assert (done.returncode, done.stdout) == (0, f"{trusted.project}: no longer trusted\n")
    assert why_not(trusted) == {"the workspace is not trusted"}
    assert trotline(trusted, "trust", "--revoke").stdout == f"{trusted.project}: was not trusted\n"


def test_a_hook_that_changes_a_covered_file_while_it_runs_raises_an_alarm(workspace: Workspace) -> None:
    workspace.script(
        "project/tools/check.sh", "#!/bin/sh\ncat > /dev/null\necho changed >> tools/check.conf\necho '{}'\n"
    )
    trust(workspace)
    data = fire(workspace)
    assert [run["line"] for run in data["runs"]] == RAN
    assert data["alarms"] == [f"files that trust in {workspace.project} covers changed while its hooks ran"]
    assert why_not(workspace) == {"the workspace changed since it was trusted: tools/check.conf"}


def test_a_link_that_leaves_the_workspace_is_not_covered_and_is_listed(workspace: Workspace) -> None:
    outside = workspace.script("elsewhere/outside.sh", ALLOW)
    (workspace.project / "tools" / "link.sh").symlink_to(outside)
    workspace.write(
        "project", json.dumps({"version": 1, "hooks": {"beforeShellExecution": [{"command": "tools/link.sh"}]}})
    )
    assert trotline(workspace, "trust", "--yes").returncode == 0
    assert state(workspace)["not_covered"] == ["tools/link.sh"]
    assert "tools/link.sh" not in state(workspace)["covered"]
    outside.write_text(ALLOW + "\n")
    assert ran(workspace) == ["tools/link.sh"]


def covered(workspace: Workspace) -> TrustCoverage:
    return build_coverage(workspace.project, workspace.load().layers, workspace.roots(), Digests())


def test_a_command_with_too_many_words_cannot_be_covered(workspace: Workspace) -> None:
    def of(words: int) -> TrustCoverage:
        line = " ".join(["true", *(f"word{at}" for at in range(words - 2)), "tools/check.sh"])
        workspace.write("project", json.dumps({"version": 1, "hooks": {"stop": [{"command": line}]}}))
        return covered(workspace)

    assert "tools/check.sh" in of(MAX_WORDS).files
    assert of(MAX_WORDS + 1).problem == f"a command of `stop` has more than {MAX_WORDS} words"


def test_links_below_a_linked_directory_are_followed_and_listed(workspace: Workspace) -> None:
    inner, outer = workspace.project / "inner", workspace.path / "outer"
    for directory in (inner, outer, workspace.project / "deep"):
        directory.mkdir()
        (directory / "words.txt").write_text("first\n")
    (workspace.project / ".cursor" / "hooks" / "link").symlink_to(inner)
    (inner / "further").symlink_to(workspace.project / "deep")
    (inner / "out").symlink_to(outer)
    (inner / "round").symlink_to(inner)
    coverage = covered(workspace)
    names = [name for name in coverage.files if name.startswith(".cursor/hooks/link")]
    assert sorted(names) == [
        ".cursor/hooks/link",
        ".cursor/hooks/link/further",
        ".cursor/hooks/link/further/words.txt",
        ".cursor/hooks/link/out",
        ".cursor/hooks/link/round",
        ".cursor/hooks/link/words.txt",
    ]
    assert ".cursor/hooks/link/out, a linked directory" in coverage.not_covered


@pytest.mark.parametrize("command, listed", read_rows("trust", "uncovered_commands"))
def test_files_outside_the_workspace_are_listed_as_not_covered(workspace: Workspace, command: str, listed: str) -> None:
    workspace.script("elsewhere/guard.sh")
    workspace.write("project", json.dumps({"version": 1, "hooks": {"stop": [{"command": command}]}}))
    assert listed in state(workspace)["not_covered"]


@pytest.mark.parametrize("command", read_rows("trust", "covered_commands"))
def test_a_file_named_by_a_command_is_covered(workspace: Workspace, command: str) -> None:
    workspace.write("project", json.dumps({"version": 1, "hooks": {"stop": [{"command": command}]}}))
    assert "tools/check.sh" in state(workspace)["covered"]


def test_an_absolute_path_into_the_workspace_is_covered(workspace: Workspace) -> None:
    hooks = {"stop": [{"command": f"{workspace.project}/tools/check.sh"}]}
    workspace.write("project", json.dumps({"version": 1, "hooks": hooks}))
    assert "tools/check.sh" in state(workspace)["covered"]


def test_the_difference_is_shown_line_by_line(trusted: Workspace) -> None:
    trusted.write("project/tools/check.conf", "first\nthird\n")
    done = trotline(trusted, "trust", "--status")
    assert done.returncode == 1
    shown = [line.strip() for line in done.stdout.splitlines()]
    assert f"{trusted.project}  changed since it was trusted" in shown
    for line in ("--- trusted/tools/check.conf", "+++ now/tools/check.conf", "first", "-second", "+third"):
        assert line in shown


def test_an_added_a_removed_and_a_newly_executable_file_are_shown(trusted: Workspace) -> None:
    trusted.write("project/.cursor/hooks/added.txt", "added\n")
    (trusted.project / "tools/check.conf").unlink()
    (trusted.project / ".cursor/hooks/lib/deep/words.txt").chmod(0o755)
    shown = trotline(trusted, "trust", "--status").stdout
    assert "+added" in shown
    assert "-second" in shown
    assert ".cursor/hooks/lib/deep/words.txt: its mode changed" in shown


def test_trusting_again_shows_the_difference(trusted: Workspace) -> None:
    trusted.write("project/tools/check.conf", "first\nthird\n")
    done = trotline(trusted, "trust", "--yes")
    assert "+third" in done.stdout
    assert ran(trusted) == RAN


def test_the_status_never_grants_anything(workspace: Workspace) -> None:
    assert state(workspace)["state"] == "never trusted"
    assert state(workspace)["state"] == "never trusted"
    trust(workspace)
    assert (state(workspace)["state"], state(workspace)["changes"]) == ("trusted", [])
    workspace.write("project/tools/check.conf", "x")
    assert (state(workspace)["state"], state(workspace)["changes"]) == (
        "changed since it was trusted",
        ["tools/check.conf"],
    )
    assert ran(workspace) == []


def test_a_digest_on_the_command_line_is_trust_for_one_call(workspace: Workspace) -> None:
    digest = state(workspace)["digest"]
    assert ran(workspace, "--trust-digest", digest) == RAN
    assert ran(workspace) == []


def test_the_digest_is_in_the_text_output(workspace: Workspace) -> None:
    digest = trotline(workspace, "trust", "--status").stdout.split()[-1]
    assert ran(workspace, "--trust-digest", digest) == RAN


@pytest.mark.parametrize("wrong", ["0" * 64, "", "short", "*"])
def test_another_digest_is_no_trust(workspace: Workspace, wrong: str) -> None:
    assert ran(workspace, "--trust-digest", wrong) == []


def test_part_of_a_digest_is_no_trust(workspace: Workspace) -> None:
    digest = state(workspace)["digest"]
    assert ran(workspace, "--trust-digest", digest[:-1]) == []
    assert ran(workspace, "--trust-digest", digest.upper()) == []


def test_a_digest_is_of_no_use_after_a_change(workspace: Workspace) -> None:
    digest = state(workspace)["digest"]
    workspace.write("project/tools/check.conf", "x")
    assert ran(workspace, "--trust-digest", digest) == []


def test_of_several_digests_one_fits(workspace: Workspace) -> None:
    digest = state(workspace)["digest"]
    assert ran(workspace, "--trust-digest", "0" * 64, "--trust-digest", digest) == RAN


@pytest.mark.parametrize("layer", ["claude-project", "claude-local"])
def test_claude_codes_files_in_a_project_need_the_same_trust(workspace: Workspace, layer: str) -> None:
    workspace.script("project/.claude/hooks/guard.sh", ALLOW)
    group = {"hooks": [{"type": "command", "command": ".claude/hooks/guard.sh"}]}
    workspace.write(layer, json.dumps({"hooks": {"PreToolUse": [group]}}))
    tool = ("preToolUse", "--set", "tool_name=Shell", "--json")
    before = json.loads(trotline(workspace, "fire", *tool).stdout)["data"]
    assert before["runs"] == []
    assert [(entry["layer"], entry["why"]) for entry in before["not_run"]] == [(layer, "the workspace is not trusted")]
    assert trotline(workspace, "trust", "--yes").returncode == 0
    after = json.loads(trotline(workspace, "fire", *tool).stdout)["data"]
    assert [(run["layer"], run["permission"]) for run in after["runs"]] == [(layer, "allow")]


@pytest.mark.parametrize("layer", ["enterprise", "team", "user", "plugin"])
def test_hooks_that_no_repository_can_write_need_no_trust(workspace: Workspace, layer: str) -> None:
    hooks = {"beforeShellExecution": [{"command": "echo '{}'"}]}
    workspace.write(layer, json.dumps({"version": 1, "hooks": hooks}))
    data = fire(workspace)
    assert [run["layer"] for run in data["runs"]] == [layer]
    assert {entry["layer"] for entry in data["not_run"]} == {"project"}


def test_user_hooks_of_claude_code_need_no_trust(workspace: Workspace) -> None:
    group = {"hooks": [{"type": "command", "command": "echo '{}'"}]}
    workspace.write("claude-user", json.dumps({"hooks": {"PreToolUse": [group]}}))
    done = trotline(workspace, "fire", "preToolUse", "--set", "tool_name=Shell", "--json")
    assert [run["layer"] for run in json.loads(done.stdout)["data"]["runs"]] == ["claude-user"]


def test_the_store_is_outside_the_workspace_and_its_owners_alone(workspace: Workspace) -> None:
    before = sorted(workspace.project.rglob("*"))
    trust(workspace)
    assert sorted(workspace.project.rglob("*")) == before
    store = workspace.home / ".local/state/trotline/v1/trust"
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert stat.S_IMODE((store / "copies").stat().st_mode) == 0o700
    assert len(list(store.glob("*.json"))) == 1


def test_file_names_in_the_store_do_not_reveal_the_workspace(trusted: Workspace) -> None:
    store = trusted.home / ".local/state/trotline/v1/trust"
    assert not any("project" in file.name or "guard" in file.name for file in store.rglob("*"))


def test_trust_applies_to_one_root_only(workspace: Workspace) -> None:
    other = workspace.path / "other"
    shutil.copytree(workspace.project, other)
    trust(workspace)
    data = fire(workspace, "--project", str(other))
    assert [run["line"] for run in data["runs"]] == RAN
    assert {(entry["line"], entry["why"]) for entry in data["not_run"]} == {
        (line, "the workspace is not trusted") for line in RAN
    }
    assert all(entry["place"].startswith(f"{other}/") for entry in data["not_run"])


def test_trust_covers_every_named_root(workspace: Workspace) -> None:
    other = workspace.path / "other"
    shutil.copytree(workspace.project, other)
    assert trotline(workspace, "trust", "--yes", "--project", str(other)).returncode == 0
    assert len(ran(workspace, "--project", str(other))) == 2 * len(RAN)
    assert trotline(workspace, "trust", "--revoke", "--project", str(other)).returncode == 0
    assert fire(workspace, "--project", str(other))["runs"] == []


def test_a_workspace_that_moves_is_not_trusted(trusted: Workspace) -> None:
    moved = trusted.project.rename(trusted.path / "moved")
    words = ("--home", str(trusted.home), "--system", str(trusted.system), "--project", str(moved))
    done = run_trotline("trust", "--status", *words, cwd=trusted.path)
    assert done.returncode == 1
    assert "never trusted" in done.stdout


def grant_of(workspace: Workspace) -> Path:
    (grant,) = (workspace.home / ".local/state/trotline/v1/trust").glob("*.json")
    return grant


def changed_grant(**changes: object) -> Callable[[bytes], bytes]:
    return lambda data: json.dumps({**json.loads(data), **changes}).encode()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"\xff" + data,
        lambda data: b"[]",
        lambda data: b"{}",
        changed_grant(schema="trotline.trust/2"),
        changed_grant(root="/somewhere/else"),
        changed_grant(digest="0" * 64),
        changed_grant(digest=None),
        changed_grant(digest=["x"]),
        changed_grant(files="all of them"),
    ],
    ids=["empty", "cut", "no text", "list", "object", "newer", "root", "digest", "none", "type", "files"],
)
def test_a_damaged_or_forged_grant_is_no_trust(trusted: Workspace, damage: Callable[[bytes], bytes]) -> None:
    grant = grant_of(trusted)
    grant.write_bytes(damage(grant.read_bytes()))
    assert fire(trusted)["runs"] == []
    assert state(trusted)["state"] != "trusted"


def test_a_damaged_grant_can_be_replaced(trusted: Workspace) -> None:
    grant_of(trusted).write_bytes(b"{")
    trust(trusted)
    assert ran(trusted) == RAN


def test_the_grant_of_another_workspace_does_not_serve(trusted: Workspace) -> None:
    grant = grant_of(trusted)
    other = trusted.path / "other"
    shutil.copytree(trusted.project, other)
    words = ("--home", str(trusted.home), "--system", str(trusted.system), "--project", str(other))
    assert run_trotline("trust", "--yes", *words, cwd=trusted.path).returncode == 0
    (others,) = set(grant.parent.glob("*.json")) - {grant}
    others.write_bytes(grant.read_bytes())
    done = run_trotline("trust", "--status", *words, cwd=trusted.path)
    assert done.returncode == 1
    assert "never trusted" in done.stdout


def test_copies_for_showing_changes_are_optional(trusted: Workspace) -> None:
    shutil.rmtree(grant_of(trusted).parent / "copies")
    assert ran(trusted) == RAN
    trusted.write("project/tools/check.conf", "third\n")
    assert "+third" in trotline(trusted, "trust", "--status").stdout
