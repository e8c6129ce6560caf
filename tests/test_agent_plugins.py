"""Programs and plugins that `install` writes: foreign files stay untouched, and a failing hook line refuses."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st

from kit import Workspace, make_workspace, read_data
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Wiring
from trotline.config.install.plugin_file import NOT_RUN_MESSAGE, TEMPLATES, FileOwner, find_owner, render_owned_file

ROOT = Path(__file__).parent.parent
FOREIGN_SCRIPT = "#!/bin/sh\necho '{}'\n"


def get_wiring(name: str) -> Wiring:
    wiring = get_agent(name).wiring
    assert wiring is not None
    return wiring


FILE_AGENTS = [name for name in AGENTS if (wiring := get_agent(name).wiring) is not None and wiring.owns_file]
GATE = {"cline": "PreToolUse", "opencode": "tool.execute.before"}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace whose path needs quoting in a shell; a service that a hook line started ends with the test."""
    odd = tmp_path / "o'brien & $HOME"
    odd.mkdir()
    created = make_workspace(odd)
    yield created
    if (created.home / ".local").exists():
        run(created, "service", "stop")


def run(workspace: Workspace, *words: str) -> tuple[int, str]:
    done = workspace.run(*words)
    return done.returncode, done.stdout + done.stderr


def list_files(workspace: Workspace, name: str) -> list[Path]:
    wiring = get_wiring(name)
    return list(dict.fromkeys(workspace.home / wiring.files["user"].format(event=event) for event in wiring.events))


def get_gate(workspace: Workspace, name: str) -> Path:
    return workspace.home / get_wiring(name).files["user"].format(event=GATE[name])


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_second_install_changes_nothing_and_uninstall_removes_everything(workspace: Workspace, name: str) -> None:
    code, out = run(workspace, "install", name, "--yes")
    assert code == 0, out
    before = {file: (file.read_bytes(), file.stat().st_mode) for file in list_files(workspace, name)}
    assert all(find_owner(data) is FileOwner.OURS for data, _ in before.values())
    code, out = run(workspace, "install", name, "--yes")
    assert (code, out.count("nothing to do")) == (0, len(before) + 1)  # each file and the plan
    assert {file: (file.read_bytes(), file.stat().st_mode) for file in before} == before
    code, out = run(workspace, "uninstall", name)
    assert (code, out.count("deleted")) == (0, len(before))
    assert [path.name for path in workspace.home.iterdir()] == [".local"], "directories that we made are gone too"


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_dry_run_shows_the_whole_file_and_writes_nothing(workspace: Workspace, name: str) -> None:
    code, out = run(workspace, "install", name, "--dry-run")
    assert code == 0
    assert out.count("  --- /dev/null") == len(list_files(workspace, name))
    assert list(workspace.home.iterdir()) == []


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_foreign_file_stays_and_a_hint_is_printed(workspace: Workspace, name: str) -> None:
    gate = get_gate(workspace, name)
    gate.parent.mkdir(parents=True)
    gate.write_text(FOREIGN_SCRIPT)
    code, out = run(workspace, "install", name, "--yes")
    assert (code, gate.read_text()) == (1, FOREIGN_SCRIPT)
    assert "TL520" in out
    assert f"hint: {get_wiring(name).conflict_hint}" in out
    assert out.count(": written") == len(list_files(workspace, name)) - 1
    code, out = run(workspace, "uninstall", name)
    assert (code, gate.read_text()) == (0, FOREIGN_SCRIPT)
    assert out.count("deleted") == len(list_files(workspace, name)) - 1


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_edited_file_of_trotline_stays_unchanged(workspace: Workspace, name: str) -> None:
    run(workspace, "install", name, "--yes")
    gate = get_gate(workspace, name)
    edited = gate.read_text() + "\n"
    gate.write_text(edited)
    for command in (["install", name, "--yes"], ["uninstall", name]):
        code, out = run(workspace, *command)
        assert (code, gate.read_text()) == (1, edited)
        assert "TL521" in out
    assert [file for file in list_files(workspace, name) if file.exists()] == [gate]


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_older_file_of_trotline_is_updated(workspace: Workspace, name: str) -> None:
    run(workspace, "install", name, "--yes")
    gate = get_gate(workspace, name)
    current = gate.read_bytes()
    gate.write_text(render_owned_file(get_agent(name), {GATE[name]: "/old/trotline-hook /old/python --agent x"}, 10))
    assert "is not as `trotline install` would write it" in run(workspace, "doctor", "--agent", name)[1]
    assert run(workspace, "install", name, "--yes")[0] == 0
    assert gate.read_bytes() == current


def test_install_restores_the_file_mode(workspace: Workspace) -> None:
    run(workspace, "install", "cline", "--yes")
    gate = get_gate(workspace, "cline")
    gate.chmod(0o640)
    assert run(workspace, "install", "cline", "--yes")[0] == 0
    assert gate.stat().st_mode & 0o777 == 0o751


@pytest.mark.parametrize("name", FILE_AGENTS)
def test_symlink_out_of_the_home_is_not_followed(workspace: Workspace, name: str) -> None:
    elsewhere = workspace.path / "elsewhere"
    elsewhere.mkdir()
    get_gate(workspace, name).parent.parent.mkdir(parents=True)
    get_gate(workspace, name).parent.symlink_to(elsewhere)
    code, out = run(workspace, "install", name, "--yes")
    assert (code, list(elsewhere.iterdir())) == (1, [])
    assert "is outside of" in out


@given(at=st.integers(min_value=0), byte=st.integers(min_value=0, max_value=255), name=st.sampled_from(FILE_AGENTS))
def test_every_changed_byte_is_detected(at: int, byte: int, name: str) -> None:
    data = bytearray(render_owned_file(get_agent(name), {GATE[name]: "/x/trotline-hook /x/python"}, 40).encode())
    assert find_owner(bytes(data)) is FileOwner.OURS
    at %= len(data)
    changed = data[at] != byte
    data[at] = byte
    assert (find_owner(bytes(data)) is not FileOwner.OURS) is changed


@given(st.binary(max_size=300))
def test_foreign_content_is_recognised_as_foreign(data: bytes) -> None:
    assert find_owner(data) is FileOwner.FOREIGN


def test_canary_is_refused_by_every_installed_file(workspace: Workspace) -> None:
    code, out = run(workspace, "install", *FILE_AGENTS, "--yes")
    assert (code, out.count("valid / executed / refused")) == (0, len(FILE_AGENTS)), out
    probed = run(workspace, "agents", "--probe")[1].splitlines()
    assert len([line for line in probed if line.endswith(" is there")]) == len(FILE_AGENTS)


def test_doctor_detects_a_program_that_refuses_nothing(workspace: Workspace) -> None:
    run(workspace, "install", "cline", "--yes")
    gate = get_gate(workspace, "cline")
    gate.write_text(gate.read_text().replace("if answer=", "echo '{}'; exit; if answer="))
    code, out = run(workspace, "doctor", "--agent", "cline")
    assert code == 1
    assert "is not as `trotline install` would write it" in out
    assert "the canary must be refused; it was not" in out


def call_cline(file: Path, command: str) -> dict[str, Any]:
    call = {"id": "1", "name": "run_commands", "input": {"commands": [command]}}
    payload = {"clineVersion": "3", "hookName": "tool_call", "taskId": "t", "tool_call": call}
    done = subprocess.run([file], input=json.dumps(payload), capture_output=True, text=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_program_refuses_only_the_canary(workspace: Workspace) -> None:
    run(workspace, "install", "cline", "--yes")
    gate = get_gate(workspace, "cline")
    assert call_cline(gate, "echo trotline-canary")["cancel"] is True
    assert call_cline(gate, "ls") == {}


@pytest.mark.parametrize("line", ["/not/there/trotline-hook", "exit 2", "true", "sh -c 'kill -9 $$'", "false"])
def test_program_refuses_only_gates_if_its_line_fails(tmp_path: Path, line: str) -> None:
    agent = get_agent("cline")
    for event in ("PreToolUse", "UserPromptSubmit", "PostToolUse", "TaskStart"):
        file = tmp_path / event
        file.write_text(render_owned_file(agent, {event: line}, 40))
        file.chmod(0o755)
        done = subprocess.run([file], input="{}", capture_output=True, text=True, check=False)
        refused = done.stdout.strip() != "" and json.loads(done.stdout) == {
            "cancel": True,
            "errorMessage": NOT_RUN_MESSAGE,
        }
        assert refused is (event in {"PreToolUse", "UserPromptSubmit"})


PLAY_SCRIPT = read_data("scripts/opencode_calls.mjs")


def play_calls(directory: Path, plugin: str, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Load the plugin in node and return the result of each call."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here")
    (directory / "plugin.mjs").write_text(plugin)
    (directory / "play.mjs").write_text(PLAY_SCRIPT)
    (directory / "calls.json").write_text(json.dumps(calls))
    done = subprocess.run([node, "play.mjs"], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def build_tool_call(command: str) -> dict[str, Any]:
    sent = {"tool": "bash", "sessionID": "s", "callID": "c"}
    return {"hook": "tool.execute.before", "input": sent, "output": {"args": {"command": command, "workdir": "/"}}}


def build_other_calls() -> list[dict[str, Any]]:
    names = [name for name in get_wiring("opencode").events if name not in {"tool.execute.before", "chat.message"}]
    return [{"hook": name, "input": {"sessionID": "s"}, "output": {}} for name in names]


def build_prompt_call(text: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"hook": "chat.message", "input": {"sessionID": "s"}, "output": {"message": {}, "parts": parts}}


def test_plugin_refuses_only_the_canary(workspace: Workspace, tmp_path: Path) -> None:
    run(workspace, "install", "opencode", "--yes")
    plugin = list_files(workspace, "opencode")[0].read_text()
    canary, *rest = play_calls(
        tmp_path,
        plugin,
        build_tool_call("echo trotline-canary"),
        build_tool_call("ls"),
        build_prompt_call("hello"),
        *build_other_calls(),
    )
    assert "canary of Trotline" in canary["thrown"]
    assert [result.get("thrown") for result in rest] == [None] * len(rest)
    log = run(workspace, "log", "--json")[1]
    assert "sessionStart" in log


def build_plugin(tmp_path: Path, script: str) -> str:
    """Build the plugin with this script as its hook line."""
    file = tmp_path / "a line.sh"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    events = get_wiring("opencode").events
    return render_owned_file(get_agent("opencode"), dict.fromkeys(events, f"'{file}' --agent opencode"), 60)


def test_plugin_changes_arguments_in_place(tmp_path: Path) -> None:
    plugin = build_plugin(tmp_path, """cat > /dev/null; echo '{"args": {"command": "ls -l", "timeout": 5}}'""")
    assert play_calls(tmp_path, plugin, build_tool_call("ls")) == [{"args": {"command": "ls -l", "timeout": 5}}]


def test_reply_is_used_if_the_line_does_not_read_its_input(tmp_path: Path) -> None:
    plugin = build_plugin(tmp_path, """echo '{"deny": true, "reason": "no"}'""")
    assert play_calls(tmp_path, plugin, build_tool_call("x" * 1_000_000)) == [{"thrown": "no"}]


@pytest.mark.parametrize("script", ["exit 2", "true", "echo no JSON", "kill -9 $$", "echo '{}'; exit 1"])
def test_plugin_refuses_only_gates_if_its_line_fails(tmp_path: Path, script: str) -> None:
    plugin = build_plugin(tmp_path, script)
    before, prompted, *rest = play_calls(
        tmp_path, plugin, build_tool_call("ls"), build_prompt_call("hello"), *build_other_calls()
    )
    for refused in (before, prompted):
        assert refused["thrown"].startswith("Trotline could not be run, so this was refused")
    assert [result.get("thrown") for result in rest] == [None] * len(rest)


def test_plugin_refuses_if_its_line_is_missing(tmp_path: Path) -> None:
    events = get_wiring("opencode").events
    plugin = render_owned_file(get_agent("opencode"), dict.fromkeys(events, "/not/there/trotline-hook"), 60)
    (refused,) = play_calls(tmp_path, plugin, build_tool_call("ls"))
    assert refused["thrown"].startswith("Trotline could not be run, so this was refused")


def test_plugin_refuses_after_its_timeout(tmp_path: Path) -> None:
    plugin = build_plugin(tmp_path, "exec sleep 100").replace("const SECONDS = 60", "const SECONDS = 0.2")
    (refused,) = play_calls(tmp_path, plugin, build_tool_call("ls"))
    assert refused["thrown"].startswith("Trotline could not be run, so this was refused")


def test_environment_variables_do_not_reach_the_line(tmp_path: Path) -> None:
    environment = tmp_path / "seen"
    plugin = build_plugin(tmp_path, f"cat > /dev/null; env > '{environment}'; echo '{{}}'")
    os.environ["A_STRAY_VARIABLE"] = "1"
    try:
        play_calls(tmp_path, plugin, build_tool_call("ls"))
    finally:
        del os.environ["A_STRAY_VARIABLE"]
    assert "A_STRAY_VARIABLE" not in environment.read_text()


def test_plugin_forwards_every_event_of_the_agent() -> None:
    text = (TEMPLATES / "plugin.js.txt").read_text()
    missing = [name for name in get_wiring("opencode").events if f'"{name}"' not in text]
    assert missing == ["session.created", "session.idle"], "those come over the bus, by their name in LINES"


def test_templates_are_in_the_wheel() -> None:
    packed = {Path(file.path).resolve() for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {path.resolve() for path in TEMPLATES.iterdir()} <= packed
