"""The setup dialog of install: agents found, questions, files written, and the final report."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace, run_trotline
from trotline import machine
from trotline.cli import run as command_line
from trotline.config.settings import read_settings

MINE = '{\n  // mine\n  "version": 1,\n  "hooks": { "stop": [{ "command": "./mine.sh" }] }\n}\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = make_workspace(tmp_path)
    (made.home / ".cursor").mkdir()
    yield made
    run(made, "service", "stop")


def run(workspace: Workspace, *words: str, **environment: str) -> tuple[int, str]:
    done = run_trotline(*words, *workspace.options, cwd=workspace.project, environment=environment)
    return done.returncode, done.stdout + done.stderr


def run_json(workspace: Workspace, *words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    done = run_trotline(*words, "--json", *workspace.options, cwd=workspace.project, environment=environment)
    return done.returncode, json.loads(done.stdout)


def run_at_terminal(workspace: Workspace, answers: str, *words: str) -> tuple[int, str]:
    """Run a command at a terminal with these typed answers."""
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    process = subprocess.Popen(
        [sys.executable, "-m", "trotline", *words, *workspace.options],
        cwd=workspace.project,
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    os.close(theirs)
    with contextlib.closing(os.fdopen(ours, "rb", buffering=0)):
        out, _ = process.communicate(timeout=60)
    return process.returncode, out


def read_hooks(workspace: Workspace) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((workspace.home / ".cursor" / "hooks.json").read_text())["hooks"]
    return body


def is_fail_closed(workspace: Workspace) -> bool:
    entries = read_hooks(workspace)
    assert "failClosed" not in entries["afterFileEdit"][0]
    return bool(entries["beforeShellExecution"][0].get("failClosed"))


def test_install_finds_writes_and_verifies_agents(workspace: Workspace) -> None:
    workspace.script("bin/cursor", "#!/bin/sh\necho 3.21.16\n")
    code, out = run(workspace, "install", "--yes", PATH=f"{workspace.path / 'bin'}:{os.defpath}")
    assert code == 0, out
    assert "Cursor               3.21.16" in out
    assert "our line at 21 events, failing closed" in out
    assert "Mode                 enforce" in out
    assert "valid / executed / refused" in out
    assert "next: start Cursor anew and ask for `echo trotline-canary`: it must be refused" in out
    assert is_fail_closed(workspace)
    assert not (workspace.home / ".config").exists()


def test_a_second_install_changes_nothing_and_uninstall_restores_the_file(workspace: Workspace) -> None:
    file = workspace.write("user", MINE)
    assert run(workspace, "install", "--yes")[0] == 0
    before = file.read_bytes()
    code, out = run(workspace, "install", "--yes")
    assert code == 0
    assert "nothing to do: our line is at all of its 21 events" in out
    assert file.read_bytes() == before
    assert run(workspace, "uninstall")[0] == 0
    assert file.read_text() == MINE


def test_without_a_terminal_install_only_reports_its_plan(workspace: Workspace) -> None:
    code, out = run(workspace, "install")
    assert code == 64
    assert "our line at 21 events" in out
    assert "nobody can be asked here, so nothing was written" in out
    assert "--yes does it" in out
    code, body = run_json(workspace, "install")
    assert (code, body["ok"], body["schema"]) == (64, False, "trotline.error/1")
    assert not (workspace.home / ".cursor" / "hooks.json").exists()
    assert not (workspace.home / ".local").exists()


@pytest.mark.parametrize("words", [["install", "--yes"], ["install", "--yes", "--json"], ["uninstall", "cursor"]])
def test_two_homes_require_the_home_option(
    workspace: Workspace, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = workspace.path / "other"
    (other / ".cursor").mkdir(parents=True)
    monkeypatch.setattr(machine, "find_home", lambda: workspace.home)
    monkeypatch.setenv("HOME", str(other))
    monkeypatch.chdir(workspace.project)
    file = workspace.write("user", MINE)
    before = sorted(workspace.path.rglob("*"))
    assert command_line([*words, "--system", str(workspace.system)]) == 64
    error_output = capsys.readouterr().err
    assert f"HOME is {other}, and the password database says {workspace.home}: nothing was written" in error_output
    assert f"--home {other} or --home {workspace.home}" in error_output
    assert (file.read_text(), sorted(workspace.path.rglob("*"))) == (MINE, before)
    assert command_line([words[0], "cursor", "--dry-run", "--system", str(workspace.system)]) == 0


def test_the_home_option_takes_precedence(workspace: Workspace) -> None:
    code, out = run(workspace, "install", "--yes", HOME=str(workspace.path))
    assert (code, "password database" in out) == (0, False)
    assert run(workspace, "uninstall", HOME=str(workspace.path))[0] == 0


def test_a_user_is_warned_about_two_homes_before_the_first_question(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "find_home", lambda: workspace.home)
    monkeypatch.setenv("HOME", str(workspace.path))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    questions: list[str] = []

    def decline(question: str, **_: Any) -> bool:
        questions.append(capsys.readouterr().err + question)
        return False

    monkeypatch.setattr("click.confirm", decline)
    monkeypatch.chdir(workspace.project)
    assert command_line(["install", "cursor", "--system", str(workspace.system)]) == 1
    assert f"it is written into {workspace.home}, unless --home says otherwise" in questions[0]
    assert not (workspace.home / ".cursor" / "hooks.json").exists()


def test_a_dry_run_shows_both_diffs_and_writes_nothing(workspace: Workspace) -> None:
    code, out = run(workspace, "install", "--dry-run", "--monitor")
    assert code == 0
    assert '+mode = "monitor"' in out
    assert '"beforeShellExecution": [' in out
    assert sorted(path.name for path in workspace.home.rglob("*")) == [".cursor"]
    code, body = run_json(workspace, "install", "--dry-run")
    assert (code, body["data"]["agents"][0]["done"], body["data"]["agents"][0]["canary"]) == (0, "written", None)


def test_a_machine_without_agents_is_an_error_with_a_hint(workspace: Workspace) -> None:
    (workspace.home / ".cursor").rmdir()
    code, out = run(workspace, "install", "--yes")
    assert code == 64
    assert "no agent was found on this machine" in out
    assert "name one: cursor" in out
    assert run(workspace, "install", "cursor", "--yes")[0] == 0
    assert run(workspace, "install", "emacs", "--yes")[0] == 64


def test_agents_with_plugin_files_are_installed_too(workspace: Workspace) -> None:
    workspace.script("bin/opencode")
    code, out = run(workspace, "install", "--yes", PATH=f"{workspace.path / 'bin'}:{os.defpath}")
    assert code == 0, out
    assert "OpenCode             1 file of our own for 7 events, failing closed" in out
    assert "OpenCode  valid / executed / refused" in out
    code, body = run_json(workspace, "install", "cline", "--yes")
    assert (code, body["ok"]) == (0, True)
    (agent,) = body["data"]["agents"]
    assert (agent["agent"], agent["done"], agent["canary"]["refused"]) == ("cline", "written", True)
    assert {file["done"] for file in agent["files"]} == {"written"}
    assert len(agent["files"]) == 8
    code, out = run(workspace, "install", "cline", "--yes")
    assert (code, "nothing to do: our line is at all of its 8 events" in out) == (0, True)


def test_a_foreign_file_in_our_place_is_reported_and_unchanged(workspace: Workspace) -> None:
    mine = workspace.write("home/Documents/Cline/Hooks/PreToolUse", "#!/bin/sh\n")
    code, out = run(workspace, "install", "cline", "--yes")
    assert code == 1
    assert "refused: this file is somebody else's" in out
    assert "next: trotline doctor" in out
    assert mine.read_text() == "#!/bin/sh\n"


def test_generic_agent_gets_instructions(workspace: Workspace) -> None:
    code, out = run(workspace, "install", "generic", "--yes")
    assert code == 1
    assert "have it run `trotline hook generic`" in out


def test_a_user_confirms_every_agent(workspace: Workspace) -> None:
    (workspace.home / ".codex").mkdir()
    code, out = run_at_terminal(workspace, "\nn\ny\n", "install")
    assert code == 0, out
    assert "shall the agent's action be blocked (fail closed)? [Y/n]" in out
    assert not (workspace.home / ".cursor" / "hooks.json").exists()
    assert (workspace.home / ".codex" / "hooks.json").exists()
    assert "Codex skips hooks that were not reviewed" in out
    assert "fail closed" not in run_at_terminal(workspace, "y\n", "install", "codex")[1]


def test_the_fail_mode_answer_counts_and_no_to_all_writes_nothing(workspace: Workspace) -> None:
    code, out = run_at_terminal(workspace, "n\nn\n", "install")
    assert code == 1
    assert not (workspace.home / ".cursor" / "hooks.json").exists()
    assert "next: trotline install, and say yes to one of them" in out
    assert run_at_terminal(workspace, "n\ny\n", "install")[0] == 0
    assert not is_fail_closed(workspace)
    assert run_at_terminal(workspace, "y\ny\n", "install")[0] == 0
    assert is_fail_closed(workspace)


def test_install_offers_to_leave_monitor_mode(workspace: Workspace) -> None:
    assert run(workspace, "install", "--yes", "--monitor")[0] == 0
    code, out = run_at_terminal(workspace, "n\n", "install")
    assert code == 0
    assert "Monitor mode is on: nothing is refused. Refuse from now on?" in out
    assert read_settings(workspace.roots()).monitors
    assert run_at_terminal(workspace, "y\ny\ny\n", "install")[0] == 0
    assert not read_settings(workspace.roots()).monitors
    assert is_fail_closed(workspace)


def test_monitor_mode_is_set_reported_and_ended(workspace: Workspace) -> None:
    code, out = run(workspace, "install", "--yes", "--monitor")
    assert code == 0, out
    assert "Mode                 monitor: what would be refused is written down, and nothing is refused" in out
    assert "next: work as usual; `trotline doctor` then says what enforcing would have stopped" in out
    assert read_settings(workspace.roots()).monitors
    assert not is_fail_closed(workspace)
    assert "monitor mode: nothing is refused but the canary" in run(workspace, "install", "--yes")[1]
    code, out = run(workspace, "install", "--yes", "--enforce")
    assert (code, "Mode                 enforce" in out) == (0, True)
    assert not read_settings(workspace.roots()).monitors
    assert is_fail_closed(workspace)


def test_in_ci_install_fails_closed(workspace: Workspace) -> None:
    assert run(workspace, "install", "--yes", CI="true")[0] == 0
    assert is_fail_closed(workspace)
    assert run(workspace, "install", "--yes", "--fail-open", CI="true")[0] == 0
    assert not is_fail_closed(workspace)
    code, out = run(workspace, "install", "--yes", "--monitor", CI="true")
    assert code == 64
    assert "CI=true insists on failing closed" in out
    assert "--fail-open says that you want it otherwise" in out
    assert not (workspace.home / ".config").exists()
    assert run(workspace, "install", "--yes", "--monitor", "--fail-open", CI="true")[0] == 0
    assert read_settings(workspace.roots()).monitors


def test_install_does_not_override_the_machine_settings(workspace: Workspace) -> None:
    workspace.write("system/etc/trotline/trotline.toml", 'mode = "enforce"')
    code, out = run(workspace, "install", "--yes", "--monitor")
    assert code == 1
    assert "this machine is set to `enforce`" in out
    assert not (workspace.home / ".config").exists()
    assert not (workspace.home / ".cursor" / "hooks.json").exists()


@pytest.mark.parametrize("file", ["home/.cursor/hooks.json", "home/.config/trotline/trotline.toml"])
def test_a_broken_file_is_reported_and_unchanged(workspace: Workspace, file: str) -> None:
    broken = workspace.write(file, '{"version":')
    code, out = run(workspace, "install", "--yes", "--monitor")
    assert code == 1
    assert broken.read_text() == '{"version":'
    assert "refused" in out or "cannot be read, so nothing was changed" in out
    assert not (workspace.home / ".cursor" / "hooks.json").exists() or "hooks.json" in file


def test_an_unwritable_agent_does_not_block_the_others(workspace: Workspace) -> None:
    (workspace.home / ".codex").mkdir()
    outside = workspace.write("outside.json", "{}")
    (workspace.home / ".cursor" / "hooks.json").symlink_to(outside)
    code, out = run(workspace, "install", "--yes")
    assert code == 1
    assert "cannot be done" in out
    assert "Codex CLI  valid / executed / refused" in out
    code, body = run_json(workspace, "install", "--yes")
    assert (code, body["ok"], [one["agent"] for one in body["data"]["blocked"]]) == (1, False, ["cursor"])
    assert outside.read_text() == "{}"


def test_json_output_is_an_envelope(workspace: Workspace) -> None:
    code, body = run_json(workspace, "install", "--yes")
    assert (code, body["ok"], body["schema"]) == (0, True, "trotline.install/1")
    (agent,) = body["data"]["agents"]
    assert (agent["agent"], agent["done"], agent["canary"]["refused"]) == ("cursor", "written", True)
    assert (body["data"]["mode"], body["data"]["fail_closed"]) == ("enforce", True)
    assert agent["files"][0]["difference"].startswith("--- /dev/null")
