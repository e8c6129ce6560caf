"""The commands install, uninstall and agents."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, make_workspace
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent, Capability
from trotline.cli.agents import ACTIONS, Coverage, get_coverage, list_capability_changes
from trotline.config.install.hook_entries import list_hook_files
from trotline.config.paths import Roots
from trotline.service.line import is_hook_line

WIRED_AGENTS = [name for name in AGENTS if get_agent(name).wiring is not None]
FILE_AGENTS = [name for name in WIRED_AGENTS if (wiring := get_agent(name).wiring) is not None and not wiring.owns_file]
"""Agents with entries in a shared file; tests/test_agent_plugins.py has the others."""
MINE = '{\n  // mine\n  "version": 1,\n  "hooks": { "stop": [{ "command": "./mine.sh" }] }\n}\n'


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace; a service that a hook line started is stopped at the end."""
    made = make_workspace(tmp_path)
    yield made
    if (made.home / ".local").exists():
        run(made, "service", "stop")


def run(workspace: Workspace, *words: str) -> tuple[int, str]:
    done = workspace.run(*words)
    return done.returncode, done.stdout + done.stderr


def get_hooks_file(workspace: Workspace, name: str) -> Path:
    wiring = get_agent(name).wiring
    assert wiring is not None
    return workspace.home / wiring.files["user"].format(event=wiring.events[0])


def list_commands(body: Any) -> list[str]:
    """Return every command line in a hooks file of any shape."""
    if isinstance(body, list):
        return [line for one in body for line in list_commands(one)]
    if not isinstance(body, dict):
        return []
    own = [body[key] for key in ("command", "bash") if isinstance(body.get(key), str)]
    return own + [line for value in body.values() for line in list_commands(value)]


@pytest.mark.parametrize(
    "version, count", [("1.7.2", 6), ("2.1.0", 12), ("2.6.3", 20), ("3.9.16", 21), ("2026.07.23-e383d2b", 21), ("", 21)]
)
def test_only_events_that_the_version_knows_are_written(tmp_path: Path, version: str, count: int) -> None:
    """Cursor ignores a file with an unknown event."""
    roots = Roots(home=tmp_path, system=tmp_path)
    (target,) = list_hook_files(get_agent("cursor"), "user", roots, version)
    assert len(target.events) == count
    assert "beforeShellExecution" in target.events


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_installing_writes_every_event_once_and_uninstalling_leaves_nothing(workspace: Workspace, name: str) -> None:
    code, out = run(workspace, "install", name, "--yes")
    assert code == 0, out
    file = get_hooks_file(workspace, name)
    lines = list_commands(json.loads(file.read_text()))
    wiring = get_agent(name).wiring
    assert wiring is not None
    assert len(lines) == len(wiring.events)
    assert all(is_hook_line(line) and "//" not in line for line in lines)
    assert [shlex.split(line)[shlex.split(line).index("--event") + 1] for line in lines] == list(wiring.events)
    before = file.read_bytes()
    assert "nothing to do" in run(workspace, "install", name, "--yes")[1]
    assert file.read_bytes() == before
    assert run(workspace, "uninstall", name)[0] == 0
    assert not file.exists()


def test_uninstall_restores_the_original_file_byte_by_byte(workspace: Workspace) -> None:
    file = workspace.write("user", MINE)
    assert run(workspace, "install", "cursor", "--yes", "--fail-closed")[0] == 0
    text = file.read_text()
    assert "// mine" in text
    assert '"failClosed": true' in text
    assert "fatal" not in run(workspace, "check")[1]
    assert run(workspace, "uninstall", "cursor")[0] == 0
    assert file.read_text() == MINE


def test_an_edited_file_loses_only_trotline_entries(workspace: Workspace) -> None:
    file = workspace.write("user", MINE)
    run(workspace, "install", "cursor", "--yes")
    file.write_text(file.read_text().replace("./mine.sh", "./other.sh"))
    run(workspace, "uninstall", "cursor")
    assert list_commands(json.loads(file.read_text().replace("// mine", ""))) == ["./other.sh"]


def test_a_dry_run_shows_a_diff_and_changes_nothing(workspace: Workspace) -> None:
    file = workspace.write("user", MINE)
    code, out = run(workspace, "install", "cursor", "--dry-run")
    assert (code, file.read_text()) == (0, MINE)
    assert "would be written" in out
    assert '"beforeShellExecution": [' in out
    answer = json.loads(workspace.run("install", "cursor", "--dry-run", "--json").stdout)
    assert answer["data"]["agents"][0]["done"] == "written"
    assert not (workspace.home / ".local").exists()


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_without_a_terminal_nothing_is_written(workspace: Workspace, more: list[str]) -> None:
    file = workspace.write("user", MINE)
    done = workspace.run("install", "cursor", *more)
    assert (done.returncode, file.read_text()) == (64, MINE)
    assert "nobody can be asked here, so nothing was written" in done.stderr
    assert "--yes does it" in done.stderr


def test_uninstall_reports_removed_entries_as_json(workspace: Workspace) -> None:
    file = workspace.write("user", MINE)
    run(workspace, "install", "cursor", "--yes")
    done = workspace.run("uninstall", "cursor", "--yes", "--json")
    report = json.loads(done.stdout)
    assert (report["schema"], report["data"][0]["done"], file.read_text()) == ("trotline.uninstall/1", "restored", MINE)


def test_a_deleted_working_directory_is_reported(workspace: Workspace, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"cd {gone} && rmdir {gone} && exec {sys.executable} -I -m trotline log --home {workspace.home}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "the directory that this runs in is gone" in done.stderr


def test_a_broken_file_is_refused_and_untouched(workspace: Workspace) -> None:
    file = workspace.write("user", '{"version": 1, "hooks": {')
    code, out = run(workspace, "install", "cursor", "--yes")
    assert code == 1
    assert "refused" in out
    assert "TL101" in out
    assert file.read_text() == '{"version": 1, "hooks": {'


def test_without_a_name_install_uses_the_agents_on_this_machine(workspace: Workspace) -> None:
    code, out = run(workspace, "install", "--yes")
    assert code == 64
    assert "no agent was found" in out
    (workspace.home / ".codex").mkdir()
    (workspace.home / ".qwen").mkdir()
    code, out = run(workspace, "install", "--yes")
    assert code == 0
    assert {name for name in WIRED_AGENTS if get_hooks_file(workspace, name).exists()} == {"codex", "qwen-code"}
    assert "Codex skips hooks that were not reviewed" in out


def test_a_layer_that_the_agent_lacks_is_an_error(workspace: Workspace) -> None:
    code, out = run(workspace, "install", "codex", "--layer", "enterprise", "--yes")
    assert code == 64
    assert "Codex CLI has no enterprise layer" in out
    code, out = run(workspace, "install", "generic", "--yes")
    assert code == 1


@pytest.mark.parametrize("name", ["cursor", "claude-code", "codex", "gemini-cli"])
def test_the_installed_line_refuses_only_the_canary(workspace: Workspace, name: str) -> None:
    run(workspace, "install", name, "--yes")
    lines = list_commands(json.loads(get_hooks_file(workspace, name).read_text()))
    gate = next(
        line
        for line in lines
        if any(f"--event {event}" in line for event in ("beforeShellExecution", "PreToolUse", "BeforeTool"))
    )
    tool = {"cursor": {}, "gemini-cli": {"tool_name": "run_shell_command"}}.get(name, {"tool_name": "Bash"})
    answers = []
    for command in ("echo trotline-canary", "ls"):
        event = {"cursor": "beforeShellExecution", "gemini-cli": "BeforeTool"}.get(name, "PreToolUse")
        body = {
            "hook_event_name": event,
            "session_id": "s",
            "command": command,
            **tool,
            "tool_input": {"command": command},
        }
        done = subprocess.run(
            ["/bin/sh", "-c", gate], input=json.dumps(body), capture_output=True, text=True, check=False
        )
        answers.append((done.returncode, "canary" in done.stdout))
    assert answers == [(0, True), (0, False)]


def test_agents_lists_what_each_agent_can_prevent(workspace: Workspace) -> None:
    code, out = run(workspace, "agents")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:]}
    assert rows["cursor"][0] == "prevented"
    assert rows["codex"][-3:] == ["invisible", "invisible", "prevented"]
    assert set(rows) == set(AGENTS)
    data = json.loads(workspace.run("agents", "--json").stdout)["data"]
    assert data["windsurf"]["stop"] == "invisible"


@pytest.mark.parametrize("agent", [get_agent(name) for name in AGENTS], ids=lambda agent: agent.name)
def test_every_prevented_action_has_an_event_that_can_be_refused(agent: Agent) -> None:
    for action in ACTIONS:
        refuses = any(
            agent.capabilities.get(event, frozenset()) & {Capability.DENY, Capability.FOLLOW_UP}
            for event in ACTIONS[action][0]
        )
        assert (get_coverage(agent, action) is Coverage.PREVENTED) is (
            refuses and bool(set(ACTIONS[action][0]) & set(agent.events.values()))
        )


def test_an_agent_is_described_event_by_event(workspace: Workspace) -> None:
    out = run(workspace, "agents", "codex")[1]
    assert "PreToolUse" in out
    assert "lost: ask: Codex CLI runs what it is told to ask about" in out
    assert "no limit of its own" in out


def test_versions_of_an_agent_are_compared_by_capability(workspace: Workspace) -> None:
    out = run(workspace, "agents", "cursor", "--diff", "2.4", "3.21.16")[1]
    assert "beforeShellExecution: ask is not heard any more" in out
    assert "beforeSubmitPrompt: context is heard" in out
    assert list_capability_changes(get_agent("cursor"), "3.21.16", "3.21.16") == []


def test_a_probe_names_the_agents_that_are_here(workspace: Workspace) -> None:
    assert run(workspace, "agents", "--probe")[1].strip() == "none"
    (workspace.home / ".gemini").mkdir()
    assert run(workspace, "agents", "--probe")[1].startswith("Gemini CLI  version unknown  ")


def test_a_canary_goes_through_every_installed_line(workspace: Workspace) -> None:
    code, out = run(workspace, "install", *WIRED_AGENTS, "--yes")
    assert code == 0, out
    assert out.count("valid / executed / refused") == len(WIRED_AGENTS)


def test_a_hook_line_in_an_ignored_file_is_no_proof(workspace: Workspace) -> None:
    file = workspace.write("user", '{"version": 1, "hooks": {"beforeShellExec": [{"command": "x"}]}}')
    code, out = run(workspace, "install", "cursor", "--yes")
    assert (code, "TL206" in out) == (1, True)
    assert "beforeShellExec`" in out
    assert "NOT loaded: TL206 there is no event `beforeShellExec` / executed / refused" in out
    assert f"trotline check {file}" in out
    assert out.splitlines()[-1] == f"next: trotline check {file}"


def test_doctor_reports_a_hook_line_that_does_not_refuse(workspace: Workspace) -> None:
    run(workspace, "install", "cursor", "--yes")
    file = get_hooks_file(workspace, "cursor")
    file.write_text(file.read_text().replace("--event beforeShellExecution", "--event afterShellExecution"))
    code, out = run(workspace, "doctor", "--agent", "cursor")
    assert code == 1
    assert "is not as `trotline install` would write it" in out
    assert run(workspace, "install", "cursor", "--yes")[0] == 0
    assert "is not as" not in run(workspace, "doctor", "--agent", "cursor")[1]
