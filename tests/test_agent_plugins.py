"""Agents that take a whole file from us, a program or a plugin: only ours are touched, and when we fail they refuse."""

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

from kit import Workspace, make_workspace, run_trotline
from trotline.agents import AGENTS, get_agent
from trotline.agents.wiring import Wiring
from trotline.config.install.plugin_file import TEMPLATES, UNHEARD, Whose, own_text, whose

ROOT = Path(__file__).parent.parent
MINE = "#!/bin/sh\necho '{}'\n"


def wiring_of(name: str) -> Wiring:
    wiring = get_agent(name).wiring
    assert wiring is not None
    return wiring


OWN = [name for name in AGENTS if (wiring := get_agent(name).wiring) is not None and wiring.own]
GATE = {"cline": "PreToolUse", "opencode": "tool.execute.before"}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """In a path that no shell reads as it stands, and without the service that a line may have started."""
    odd = tmp_path / "o'brien & $HOME"
    odd.mkdir()
    made = make_workspace(odd)
    yield made
    if (made.home / ".local").exists():
        run(made, "service", "stop")


def run(workspace: Workspace, *words: str) -> tuple[int, str]:
    done = run_trotline(*words, *workspace.options, cwd=workspace.project)
    return done.returncode, done.stdout + done.stderr


def files_of(workspace: Workspace, name: str) -> list[Path]:
    wiring = wiring_of(name)
    return list(dict.fromkeys(workspace.home / wiring.files["user"].format(event=event) for event in wiring.events))


def gate_of(workspace: Workspace, name: str) -> Path:
    return workspace.home / wiring_of(name).files["user"].format(event=GATE[name])


@pytest.mark.parametrize("name", OWN)
def test_installing_twice_is_installing_once_and_uninstalling_leaves_nothing(workspace: Workspace, name: str) -> None:
    code, out = run(workspace, "install", name, "--yes")
    assert code == 0, out
    before = {file: (file.read_bytes(), file.stat().st_mode) for file in files_of(workspace, name)}
    assert all(whose(data) is Whose.OURS for data, _ in before.values())
    code, out = run(workspace, "install", name, "--yes")
    assert (code, out.count("nothing to do")) == (0, len(before) + 1)  # each file, and the plan
    assert {file: (file.read_bytes(), file.stat().st_mode) for file in before} == before
    code, out = run(workspace, "uninstall", name)
    assert (code, out.count("deleted")) == (0, len(before))
    assert [path.name for path in workspace.home.iterdir()] == [".local"], "directories that we made are gone too"


@pytest.mark.parametrize("name", OWN)
def test_a_dry_run_shows_the_whole_file_and_writes_nothing(workspace: Workspace, name: str) -> None:
    code, out = run(workspace, "install", name, "--dry-run")
    assert code == 0
    assert out.count("  --- /dev/null") == len(files_of(workspace, name))
    assert list(workspace.home.iterdir()) == []


@pytest.mark.parametrize("name", OWN)
def test_a_file_of_somebody_else_stays_and_it_is_said_what_to_do(workspace: Workspace, name: str) -> None:
    gate = gate_of(workspace, name)
    gate.parent.mkdir(parents=True)
    gate.write_text(MINE)
    code, out = run(workspace, "install", name, "--yes")
    assert (code, gate.read_text()) == (1, MINE)
    assert "TL520" in out
    assert f"hint: {wiring_of(name).taken}" in out
    assert out.count(": written") == len(files_of(workspace, name)) - 1
    code, out = run(workspace, "uninstall", name)
    assert (code, gate.read_text()) == (0, MINE)
    assert out.count("deleted") == len(files_of(workspace, name)) - 1


@pytest.mark.parametrize("name", OWN)
def test_one_of_ours_that_was_edited_stays_as_it_is(workspace: Workspace, name: str) -> None:
    run(workspace, "install", name, "--yes")
    gate = gate_of(workspace, name)
    edited = gate.read_text() + "\n"
    gate.write_text(edited)
    for command in (["install", name, "--yes"], ["uninstall", name]):
        code, out = run(workspace, *command)
        assert (code, gate.read_text()) == (1, edited)
        assert "TL521" in out
    assert [file for file in files_of(workspace, name) if file.exists()] == [gate]


@pytest.mark.parametrize("name", OWN)
def test_an_older_one_of_ours_is_brought_up_to_date(workspace: Workspace, name: str) -> None:
    run(workspace, "install", name, "--yes")
    gate = gate_of(workspace, name)
    current = gate.read_bytes()
    gate.write_text(own_text(get_agent(name), {GATE[name]: "/old/trotline-hook /old/python --agent x"}, 10))
    assert "is not as `trotline install` would write it" in run(workspace, "doctor", "--agent", name)[1]
    assert run(workspace, "install", name, "--yes")[0] == 0
    assert gate.read_bytes() == current


def test_a_program_that_lost_its_mode_gets_it_back(workspace: Workspace) -> None:
    run(workspace, "install", "cline", "--yes")
    gate = gate_of(workspace, "cline")
    gate.chmod(0o640)
    assert run(workspace, "install", "cline", "--yes")[0] == 0
    assert gate.stat().st_mode & 0o777 == 0o751


@pytest.mark.parametrize("name", OWN)
def test_a_link_out_of_the_home_is_not_followed(workspace: Workspace, name: str) -> None:
    elsewhere = workspace.path / "elsewhere"
    elsewhere.mkdir()
    gate_of(workspace, name).parent.parent.mkdir(parents=True)
    gate_of(workspace, name).parent.symlink_to(elsewhere)
    code, out = run(workspace, "install", name, "--yes")
    assert (code, list(elsewhere.iterdir())) == (1, [])
    assert "is outside of" in out


@given(at=st.integers(min_value=0), byte=st.integers(min_value=0, max_value=255), name=st.sampled_from(OWN))
def test_no_byte_of_ours_can_be_changed_unnoticed(at: int, byte: int, name: str) -> None:
    data = bytearray(own_text(get_agent(name), {GATE[name]: "/x/trotline-hook /x/python"}, 40).encode())
    assert whose(bytes(data)) is Whose.OURS
    at %= len(data)
    changed = data[at] != byte
    data[at] = byte
    assert (whose(bytes(data)) is not Whose.OURS) is changed


@given(st.binary(max_size=300))
def test_what_we_did_not_write_is_somebody_elses(data: bytes) -> None:
    assert whose(data) is Whose.SOMEBODYS


def test_a_canary_goes_through_every_file_as_the_agent_runs_it(workspace: Workspace) -> None:
    code, out = run(workspace, "install", *OWN, "--yes")
    assert (code, out.count("valid / executed / refused")) == (0, len(OWN)), out
    probed = run(workspace, "agents", "--probe")[1].splitlines()
    assert len([line for line in probed if line.endswith(" is there")]) == len(OWN)


def test_a_program_that_refuses_nothing_is_found_out(workspace: Workspace) -> None:
    run(workspace, "install", "cline", "--yes")
    gate = gate_of(workspace, "cline")
    gate.write_text(gate.read_text().replace("if answer=", "echo '{}'; exit; if answer="))
    code, out = run(workspace, "doctor", "--agent", "cline")
    assert code == 1
    assert "is not as `trotline install` would write it" in out
    assert "the canary must be refused; it was not" in out


def cline(file: Path, command: str) -> dict[str, Any]:
    call = {"id": "1", "name": "run_commands", "input": {"commands": [command]}}
    payload = {"clineVersion": "3", "hookName": "tool_call", "taskId": "t", "tool_call": call}
    done = subprocess.run([file], input=json.dumps(payload), capture_output=True, text=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_program_refuses_the_canary_and_lets_the_rest_go(workspace: Workspace) -> None:
    run(workspace, "install", "cline", "--yes")
    gate = gate_of(workspace, "cline")
    assert cline(gate, "echo trotline-canary")["cancel"] is True
    assert cline(gate, "ls") == {}


@pytest.mark.parametrize("line", ["/not/there/trotline-hook", "exit 2", "true", "sh -c 'kill -9 $$'", "false"])
def test_a_program_whose_line_cannot_answer_refuses_at_a_gate_and_nowhere_else(tmp_path: Path, line: str) -> None:
    agent = get_agent("cline")
    for event in ("PreToolUse", "UserPromptSubmit", "PostToolUse", "TaskStart"):
        file = tmp_path / event
        file.write_text(own_text(agent, {event: line}, 40))
        file.chmod(0o755)
        done = subprocess.run([file], input="{}", capture_output=True, text=True, check=False)
        refused = done.stdout.strip() != "" and json.loads(done.stdout) == {"cancel": True, "errorMessage": UNHEARD}
        assert refused is (event in {"PreToolUse", "UserPromptSubmit"})


PLAY = """
import { readFileSync } from "node:fs"
import { Trotline } from "./plugin.mjs"
const hooks = await Trotline({ directory: "/srv/shop" })
const played = []
for (const { hook, input, output } of JSON.parse(readFileSync("calls.json", "utf8"))) {
  const call = hook.startsWith("session.")
    ? hooks.event({ event: { type: hook, properties: input } })
    : hooks[hook](input, output)
  played.push(await call.then(() => ({ args: output?.args ?? null }), (error) => ({ thrown: error.message })))
}
console.log(JSON.stringify(played))
"""


def played(directory: Path, plugin: str, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """What becomes of these calls in a plugin that is really loaded."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here")
    (directory / "plugin.mjs").write_text(plugin)
    (directory / "play.mjs").write_text(PLAY)
    (directory / "calls.json").write_text(json.dumps(calls))
    done = subprocess.run([node, "play.mjs"], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def tool(command: str) -> dict[str, Any]:
    sent = {"tool": "bash", "sessionID": "s", "callID": "c"}
    return {"hook": "tool.execute.before", "input": sent, "output": {"args": {"command": command, "workdir": "/"}}}


def others() -> list[dict[str, Any]]:
    names = [name for name in wiring_of("opencode").events if name not in {"tool.execute.before", "chat.message"}]
    return [{"hook": name, "input": {"sessionID": "s"}, "output": {}} for name in names]


def prompt(text: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"hook": "chat.message", "input": {"sessionID": "s"}, "output": {"message": {}, "parts": parts}}


def test_the_plugin_refuses_the_canary_and_lets_the_rest_go(workspace: Workspace, tmp_path: Path) -> None:
    run(workspace, "install", "opencode", "--yes")
    plugin = files_of(workspace, "opencode")[0].read_text()
    canary, *rest = played(tmp_path, plugin, tool("echo trotline-canary"), tool("ls"), prompt("hello"), *others())
    assert "canary of Trotline" in canary["thrown"]
    assert [one.get("thrown") for one in rest] == [None] * len(rest)
    told = run(workspace, "log", "--json")[1]
    assert "sessionStart" in told


def with_line(tmp_path: Path, script: str) -> str:
    """The plugin with a line of our making, which finds the payload on its standard input."""
    file = tmp_path / "a line.sh"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    events = wiring_of("opencode").events
    return own_text(get_agent("opencode"), dict.fromkeys(events, f"'{file}' --agent opencode"), 60)


def test_changed_arguments_are_changed_in_the_object_that_opencode_has(tmp_path: Path) -> None:
    plugin = with_line(tmp_path, """cat > /dev/null; echo '{"args": {"command": "ls -l", "timeout": 5}}'""")
    assert played(tmp_path, plugin, tool("ls")) == [{"args": {"command": "ls -l", "timeout": 5}}]


def test_a_line_that_answers_without_reading_is_heard(tmp_path: Path) -> None:
    plugin = with_line(tmp_path, """echo '{"deny": true, "reason": "no"}'""")
    assert played(tmp_path, plugin, tool("x" * 1_000_000)) == [{"thrown": "no"}]


@pytest.mark.parametrize("script", ["exit 2", "true", "echo no JSON", "kill -9 $$", "echo '{}'; exit 1"])
def test_a_plugin_whose_line_cannot_answer_refuses_at_a_gate_and_nowhere_else(tmp_path: Path, script: str) -> None:
    plugin = with_line(tmp_path, script)
    before, asked, *rest = played(tmp_path, plugin, tool("ls"), prompt("hello"), *others())
    for refused in (before, asked):
        assert refused["thrown"].startswith("Trotline could not be run, so this was refused")
    assert [one.get("thrown") for one in rest] == [None] * len(rest)


def test_a_plugin_whose_line_is_gone_refuses(tmp_path: Path) -> None:
    events = wiring_of("opencode").events
    plugin = own_text(get_agent("opencode"), dict.fromkeys(events, "/not/there/trotline-hook"), 60)
    (refused,) = played(tmp_path, plugin, tool("ls"))
    assert refused["thrown"].startswith("Trotline could not be run, so this was refused")


def test_a_plugin_waits_no_longer_than_it_says(tmp_path: Path) -> None:
    plugin = with_line(tmp_path, "exec sleep 100").replace("const SECONDS = 60", "const SECONDS = 0.2")
    (refused,) = played(tmp_path, plugin, tool("ls"))
    assert refused["thrown"].startswith("Trotline could not be run, so this was refused")


def test_variables_do_not_reach_the_line(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    plugin = with_line(tmp_path, f"cat > /dev/null; env > '{seen}'; echo '{{}}'")
    os.environ["A_STRAY_VARIABLE"] = "1"
    try:
        played(tmp_path, plugin, tool("ls"))
    finally:
        del os.environ["A_STRAY_VARIABLE"]
    assert "A_STRAY_VARIABLE" not in seen.read_text()


def test_the_plugin_hands_on_every_event_that_it_has_a_line_for() -> None:
    text = (TEMPLATES / "plugin.js.txt").read_text()
    missing = [name for name in wiring_of("opencode").events if f'"{name}"' not in text]
    assert missing == ["session.created", "session.idle"], "those come over the bus, by their name in LINES"


def test_what_these_files_are_made_from_is_in_the_wheel() -> None:
    packed = {Path(file.path).resolve() for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {path.resolve() for path in TEMPLATES.iterdir()} <= packed
