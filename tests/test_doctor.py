"""trotline doctor: every check sees what it is for. Each workspace here is really broken, and really looked at."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, format_toml, make_workspace
from soak_service import wait_for_service
from store_behaviour import detail, keep, record
from trotline.agents import AGENTS, get_agent
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.config.install.hook_entries import build_entries
from trotline.config.install.install_key import install_key
from trotline.config.install.plugin_file import own_text
from trotline.doctor import call_checks, machine_checks, sample_calls
from trotline.doctor.checks import AgentState, CheckState, MachineState
from trotline.doctor.examination import check_machine
from trotline.doctor.hook_lines import find_our_lines, may_run
from trotline.doctor.installed_agents import InstalledAgent
from trotline.machine import read_clock
from trotline.service.directory import WENT_COLD, RunDirectory
from trotline.service.line import CLIENT, is_hook_line
from trotline.system.files import ensure_private_directory
from trotline.testing.sample_payloads import build_payload

WIRED = [name for name in AGENTS if get_agent(name).wiring is not None]
FEW = "openhands"
"""The agent with the fewest events, where it does not matter which."""


needs_client = pytest.mark.skipif(
    not CLIENT.exists(), reason=f"NO COMPILED CLIENT at {CLIENT.name}: lines that go through it are not tested"
)


def run(workspace: Workspace, *words: str, **environment: str) -> tuple[int, str]:
    done = workspace.run(*words, environment=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """One whose path is short enough for a socket, and that is left without a service."""
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as path:
        made = make_workspace(Path(path))
        yield made
        run(made, "service", "stop")


def installed(workspace: Workspace, name: str = FEW, *words: str) -> Path:
    code, out = run(workspace, "install", name, "--yes", *(words or ["--fail-open"]))
    assert code == 0, out
    return file_of(workspace, name)


def file_of(workspace: Workspace, name: str) -> Path:
    wiring = get_agent(name).wiring
    assert wiring is not None
    return workspace.home / wiring.files["user"].format(event=wiring.events[0])


def doctor(workspace: Workspace, name: str = FEW, **environment: str) -> tuple[int, dict[str, Any]]:
    done = workspace.run("doctor", "--agent", name, "--json", environment=environment)
    body: dict[str, Any] = json.loads(done.stdout)
    assert body["schema"] == "trotline.doctor/1"
    assert body["ok"] is (done.returncode == 0)
    return done.returncode, body["data"]


def said(data: dict[str, Any], what: str, state: str = "") -> str:
    """The details of one check, in one or every state."""
    findings = [finding for agent in data["agents"] for finding in agent["findings"]] + data["machine"]
    wanted = [one["detail"] for one in findings if one["check"] == what and state in {"", one["state"]}]
    return "\n".join(wanted)


def bad(data: dict[str, Any]) -> set[str]:
    """What is to be put right; how fast this machine is today is no matter of ours."""
    findings = [finding for agent in data["agents"] for finding in agent["findings"]] + data["machine"]
    return {finding["check"] for finding in findings if finding["state"] in {"warn", "fail"}} - {"latency"}


def client(workspace: Workspace, file: Path, script: str, place: str = "bin") -> Path:
    """Our lines in the file go through this script from now on; `$REAL` in it is the real client."""
    program = workspace.script(
        f"{place}/trotline-hook", "#!/bin/sh\n" + script.replace("$REAL", shlex.quote(str(CLIENT)))
    )
    file.write_text(file.read_text().replace(str(CLIENT), str(program)))
    return program


# -- all is well


@pytest.mark.parametrize("name", WIRED)
def test_a_fresh_installation_has_nothing_to_put_right(workspace: Workspace, name: str) -> None:
    installed(workspace, name)
    data = doctor(workspace, name)[1]
    assert bad(data) == set(), data
    wiring = get_agent(name).wiring
    assert wiring is not None
    assert f"all {len(wiring.events)} events answered" in said(data, "round trip", "ok")
    assert f"all {len(wiring.events)} calls are in the trail" in said(data, "records", "ok")
    assert "the canary is refused" in said(data, "refusal", "ok")
    assert said(data, "latency")
    assert "has not called yet" in said(data, "loaded", "note")


def test_it_is_said_in_lines_and_a_next_step(workspace: Workspace) -> None:
    installed(workspace)
    _, out = run(workspace, "doctor", "--agent", FEW)
    assert out.startswith("OpenHands  version unknown\n  ok    file ")
    assert "\nThis machine\n  ok    state " in out
    assert out.splitlines()[-1].startswith(("next: start OpenHands anew", "next: trotline service status"))


def test_it_changes_nothing_and_its_calls_are_no_agents(workspace: Workspace) -> None:
    file = installed(workspace)
    before = file.read_bytes()
    run(workspace, "doctor")
    assert file.read_bytes() == before
    assert run(workspace, "log")[1] == "nothing in the trail answers to that\n"
    _, everything = run(workspace, "log", "--all")
    assert everything.count("openhands") >= 6
    assert "calls of agents that are remembered: 0" in run(workspace, "doctor")[1]


def test_nobody_here_is_a_finding(workspace: Workspace) -> None:
    code, out = run(workspace, "doctor")
    assert code == 1
    assert "no agent was found on this machine" in out
    assert run(workspace, "doctor", "--agent", "nobody")[0] == 64


def test_only_the_named_agents_are_looked_at(workspace: Workspace) -> None:
    for name in ("codex", FEW):
        installed(workspace, name)
    _, out = run(workspace, "doctor", "--agent", FEW)
    assert "Codex" not in out
    assert "Codex" in run(workspace, "doctor")[1]


def test_an_agent_of_ones_own_is_told_by_hand(workspace: Workspace) -> None:
    code, out = run(workspace, "doctor", "--agent", "generic")
    assert code == 0
    assert "have it run `trotline hook generic`" in out


# -- files of our own


def test_a_program_of_ours_that_is_missing_old_or_cannot_be_run_is_found_and_the_next_step_helps(
    workspace: Workspace,
) -> None:
    gate = installed(workspace, "cline").with_name("PreToolUse")
    assert "closed" in said(doctor(workspace, "cline")[1], "fails", "ok")
    gate.unlink()
    assert "no line of ours at PreToolUse" in said(doctor(workspace, "cline")[1], "entries", "fail")
    installed(workspace, "cline")
    gate.chmod(0o600)
    code, data = doctor(workspace, "cline")
    assert (code, data["next"]) == (1, f"look at {workspace.roots().state / 'run' / 'log'}")
    assert "not as `trotline install` would write it" in said(data, "lines", "warn")
    assert "PreToolUse: exit 126" in said(data, "round trip", "fail")
    installed(workspace, "cline")
    assert bad(doctor(workspace, "cline")[1]) == set()


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_a_file_that_is_not_ours_or_was_edited_is_found_with_what_to_do(workspace: Workspace, name: str) -> None:
    file = installed(workspace, name)
    file.write_text(file.read_text() + "\n")
    code, data = doctor(workspace, name)
    assert code == 1
    assert "TL521" in said(data, "file", "fail")
    assert "remove the file" in data["next"]
    file.write_text("somebody else's")
    assert "TL520" in said(doctor(workspace, name)[1], "file", "fail")


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_a_file_of_a_project_that_only_bears_our_seal_is_not_run(workspace: Workspace, name: str) -> None:
    """The seal is a digest: whoever can commit to a repository can make one."""
    ran = workspace.path / "ran"
    assert run(workspace, "install", name, "--layer", "project", "--yes")[0] == 0
    agent = get_agent(name)
    wires = build_entries(agent, "project", workspace.roots())
    assert all(may_run(one, workspace.roots()) for one in find_our_lines(wires))
    other = workspace.script("project/bin/trotline-hook", f"#!/bin/sh\ntouch {ran}\n")
    for wire in wires:
        lines = {event: f"{other} /python --agent {name} --event {event}" for event in wire.events}
        wire.file.write_text(own_text(agent, lines, wire.wiring.seconds))
    assert find_our_lines(wires)
    code, data = doctor(workspace, name)
    assert code == 1
    assert "look like ours and are not to the letter: they were not run" in said(data, "round trip", "fail")
    assert "the project's line is not ours to the letter" in said(data, "refusal", "fail")
    assert not ran.exists()


# -- files


def test_an_agent_without_our_line_is_found_and_the_next_step_helps(workspace: Workspace) -> None:
    (workspace.home / ".openhands").mkdir()
    code, data = doctor(workspace)
    assert (code, data["next"]) == (1, "trotline install openhands")
    assert "nothing that it does is seen" in said(data, "entries", "warn")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert bad(doctor(workspace)[1]) == set()


def test_one_misspelt_event_of_others_voids_the_file_and_us(workspace: Workspace) -> None:
    file = installed(workspace, "cursor")
    file.write_text(file.read_text().replace('"hooks": {', '"hooks": {\n "beforeShellExec": [{"command": "x"}],', 1))
    code, data = doctor(workspace, "cursor")
    assert code == 1
    assert "TL206 there is no event `beforeShellExec`" in said(data, "file", "fail")
    assert data["next"] == f"trotline check {file}"


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_a_file_that_cannot_be_parsed_is_found(workspace: Workspace, name: str) -> None:
    file = installed(workspace, name)
    file.write_text(file.read_text()[:-20])
    code, data = doctor(workspace, name)
    assert code == 1
    assert "TL101" in said(data, "file", "fail")


def test_a_directory_in_the_place_of_the_file_is_a_finding_and_no_crash(workspace: Workspace) -> None:
    file_of(workspace, FEW).mkdir(parents=True)
    code, data = doctor(workspace)
    assert code == 1
    assert "cannot be read: is a directory" in said(data, "file", "fail")


def test_a_missing_entry_is_found_and_the_next_step_helps(workspace: Workspace) -> None:
    file = installed(workspace)
    body = json.loads(file.read_text())
    event = next(iter(body["hooks"]))
    del body["hooks"][event]
    file.write_text(json.dumps(body))
    code, data = doctor(workspace)
    assert code == 1
    assert f"no line of ours at {event}" in said(data, "entries", "fail")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert bad(doctor(workspace)[1]) == set()


def test_an_entry_that_is_not_what_we_would_write_is_found_and_the_fail_mode_is_kept(workspace: Workspace) -> None:
    file = installed(workspace, "cursor", "--fail-closed")
    assert "closed" in said(doctor(workspace, "cursor")[1], "fails", "ok")
    file.write_text(file.read_text().replace('"timeout": 60', '"timeout": 5'))
    code, data = doctor(workspace, "cursor")
    assert code == 1
    assert "not as `trotline install` would write it" in said(data, "lines", "warn")
    assert data["next"] == "trotline install cursor"
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert "closed" in said(doctor(workspace, "cursor")[1], "fails", "ok")


def test_lines_of_an_older_version_are_found_and_the_next_step_helps(workspace: Workspace) -> None:
    file = installed(workspace)
    file.write_text(file.read_text().replace("--agent ", "--host "))
    code, data = doctor(workspace)
    assert code == 1
    assert "were written by an older version" in said(data, "lines", "fail")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert "--host" not in file.read_text()
    assert bad(doctor(workspace)[1]) == set()


def test_the_fail_mode_of_somebody_elses_entry_is_not_taken_for_ours(workspace: Workspace) -> None:
    file = installed(workspace, "cursor")
    body = json.loads(file.read_text().replace('"timeout": 60', '"timeout": 5'))
    body["hooks"]["beforeShellExecution"].append({"command": "true", "failClosed": True})
    file.write_text(json.dumps(body))
    assert doctor(workspace, "cursor")[1]["next"] == "trotline install cursor --fail-open"


def test_an_agent_that_goes_on_when_we_break_is_noted(workspace: Workspace) -> None:
    installed(workspace, "cursor")
    data = doctor(workspace, "cursor")[1]
    assert "trotline install cursor --fail-closed" in said(data, "fails", "note")
    installed(workspace)
    assert "no setting" in said(doctor(workspace)[1], "fails", "note")


# -- programs


def _gone(program: Path) -> None:
    program.unlink()


def _not_executable(program: Path) -> None:
    program.chmod(0o644)


def _writable_by_all(program: Path) -> None:
    program.chmod(0o777)


def _somebody_elses(program: Path) -> None:
    os.chown(program, 12345, 12345)


BROKEN: dict[str, Callable[[Path], None]] = {
    "is not there": _gone,
    "cannot be run": _not_executable,
    "can be written by other users": _writable_by_all,
    "belongs to another user": _somebody_elses,
}


@needs_client
@pytest.mark.parametrize("fault", BROKEN)
def test_a_client_that_is_gone_or_not_ours_is_found(workspace: Workspace, fault: str) -> None:
    if fault == "belongs to another user" and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    program = client(workspace, installed(workspace), 'exec $REAL "$@"\n')
    BROKEN[fault](program)
    code, data = doctor(workspace)
    assert code == 1
    assert f"{program} {fault}" in said(data, "programs", "fail")


@needs_client
def test_an_interpreter_that_is_gone_is_found(workspace: Workspace) -> None:
    file = installed(workspace)
    (_, _, line), *_ = find_our_lines(build_entries(get_agent(FEW), "user", workspace.roots()))
    python = shlex.split(line)[1]
    file.write_text(file.read_text().replace(python, f"{python}-gone"))
    assert f"{python}-gone is not there" in said(doctor(workspace)[1], "programs", "fail")


@needs_client
def test_a_client_that_the_agent_can_change_is_found(workspace: Workspace) -> None:
    client(workspace, installed(workspace), 'exec $REAL "$@"\n', place="project/tools")
    assert "is inside the workspace" in said(doctor(workspace)[1], "programs", "fail")


# -- loading


def test_two_layers_with_our_line_are_found_and_the_next_step_helps(workspace: Workspace) -> None:
    installed(workspace)
    assert run(workspace, "install", FEW, "--layer", "project", "--yes")[0] == 0
    code, data = doctor(workspace)
    assert code == 1
    assert str(workspace.project) in said(data, "once", "warn")
    assert data["next"] == "trotline uninstall openhands --layer project"
    assert run(workspace, *data["next"].split()[1:])[0] == 0
    assert bad(doctor(workspace)[1]) == set()


def test_one_line_twice_in_a_file_is_found(workspace: Workspace) -> None:
    file = installed(workspace, "cursor")
    body = json.loads(file.read_text())
    body["hooks"]["stop"] *= 2
    file.write_text(json.dumps(body))
    assert "more than one line of ours at stop" in said(doctor(workspace, "cursor")[1], "once", "warn")


def test_a_file_that_cursor_loads_besides_its_own_is_noted(workspace: Workspace) -> None:
    installed(workspace, "cursor")
    assert "loaded once" in said(doctor(workspace, "cursor")[1], "once", "ok")
    installed(workspace, "claude-code")
    data = doctor(workspace, "cursor")[1]
    assert bad(data) == set()
    assert f"also loads {file_of(workspace, 'claude-code')}" in said(data, "once", "note")
    assert "loaded once" in said(doctor(workspace, "claude-code")[1], "once", "ok")


@pytest.mark.parametrize("command", ["lint-hook --all", "env lint-hook", "/usr/bin/env lint-hook"])
def test_a_command_that_only_a_shell_would_find_is_found(workspace: Workspace, command: str) -> None:
    file = installed(workspace, "cursor")
    body = json.loads(file.read_text())
    body["hooks"]["stop"] += [{"command": command}, {"command": "true"}, {"command": "./mine.sh"}]
    file.write_text(json.dumps(body))
    workspace.script("bin/lint-hook")
    data = doctor(workspace, "cursor", PATH=f"{workspace.path / 'bin'}:{os.defpath}")[1]
    assert "`lint-hook` is found from your shell, and not when Cursor" in said(data, "PATH", "warn")
    assert "`true`" not in said(data, "PATH")


# -- calls


@needs_client
@pytest.mark.parametrize(
    "script,seen",
    [
        ("exit 1\n", "exit 1"),
        ("exit 127\n", "exit 127"),
        ("echo oops\n", "answered `oops`"),
    ],
)
def test_a_line_that_answers_nonsense_is_found(workspace: Workspace, script: str, seen: str) -> None:
    client(workspace, installed(workspace), script)
    code, data = doctor(workspace)
    assert code == 1
    assert seen in said(data, "round trip", "fail")


@needs_client
def test_a_line_that_loses_its_payload_is_found_by_its_records(workspace: Workspace) -> None:
    client(workspace, installed(workspace), 'exec $REAL "$@" </dev/null\n')
    assert "6 calls left 0 records" in said(doctor(workspace)[1], "records", "fail")


def test_a_sample_that_our_own_policy_refuses_is_answered_all_the_same(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(event: str) -> dict[str, Any]:
        return {
            **build_payload(event),
            **({"command": "echo trotline-canary"} if event == "beforeShellExecution" else {}),
        }

    monkeypatch.setattr(sample_calls, "build_payload", refused)
    installed(workspace, "cursor")
    examined = AgentState(InstalledAgent(get_agent("cursor"), ""), MachineState(workspace.roots()))
    found = {finding.state: finding.detail for finding in call_checks.check_round_trip(examined)}
    assert found == {
        CheckState.NOTE: "your own policy refuses the samples of beforeShellExecution",
        CheckState.OK: "all 21 events answered, user",
    }
    assert [finding.state for finding in call_checks.check_records(examined)] == [CheckState.OK]


@needs_client
def test_a_line_that_allows_everything_is_found(workspace: Workspace) -> None:
    client(workspace, installed(workspace), "cat >/dev/null; echo '{}'\n")
    data = doctor(workspace)[1]
    assert "the canary must be refused; it was not" in said(data, "refusal", "fail")
    assert "6 calls left 0 records" in said(data, "records", "fail")
    assert not said(data, "round trip", "fail")


@needs_client
def test_a_line_of_a_project_that_only_looks_like_ours_is_not_run(workspace: Workspace) -> None:
    """Whoever can commit to a repository can write one."""
    ran = workspace.path / "ran"
    assert run(workspace, "install", FEW, "--layer", "project", "--yes")[0] == 0
    file = workspace.project / ".openhands" / "hooks.json"
    client(workspace, file, f"touch {ran}; exit 0\n", place="project/bin")
    assert all(
        is_hook_line(one.command) for one in find_our_lines(build_entries(get_agent(FEW), "project", workspace.roots()))
    )
    code, data = doctor(workspace)
    assert code == 1
    assert "look like ours and are not to the letter: they were not run" in said(data, "round trip", "fail")
    assert "the project's line is not ours to the letter" in said(data, "refusal", "fail")
    assert not ran.exists()


@needs_client
def test_a_slow_gate_is_found(workspace: Workspace) -> None:
    client(workspace, installed(workspace), 'sleep 0.25; exec $REAL "$@"\n')
    code, data = doctor(workspace)
    assert code == 1
    assert "more than 200 ms is felt" in said(data, "latency", "warn")


def test_a_warm_gate_is_said_to_be_one(workspace: Workspace) -> None:
    installed(workspace)
    assert "the service answers" in said(doctor(workspace)[1], "latency")
    assert "running, process" in said(doctor(workspace)[1], "service", "ok")


@pytest.mark.parametrize("version,weaker", [("3.21.16", True), ("2.3.0", False), ("nonsense", True)])
def test_what_a_version_does_not_hear_is_noted(workspace: Workspace, version: str, weaker: bool) -> None:
    installed(workspace, "cursor")
    workspace.script("bin/cursor", f"#!/bin/sh\necho 'Cursor {version}'\n")
    path = f"{workspace.path / 'bin'}:{os.defpath}"
    data = doctor(workspace, "cursor", PATH=path)[1]
    assert bad(data) == set()
    assert data["agents"][0]["version"] == f"Cursor {version}"
    assert ("`ask` is a deny in 2.x" in said(data, "version", "note")) is weaker
    workspace.write("home/.config/trotline/trotline.toml", 'ask_fallback = "ask"')
    data = doctor(workspace, "cursor", PATH=path)[1]
    assert bool(said(data, "version", "warn")) is weaker


def test_a_call_of_the_agent_itself_shows_that_it_has_loaded_the_file(workspace: Workspace) -> None:
    installed(workspace)
    record = {"id": "1", "at_us": 1, "agent": FEW, "event": "stop", "conversation": "theirs"}
    Spool(workspace.roots().state / "spool").append(record)
    assert "called last at 1970-01-01T00:00:00+00:00, stop" in said(doctor(workspace)[1], "loaded", "ok")


# -- this machine


def looked(workspace: Workspace) -> dict[str, Any]:
    """What is found about the machine alone, in the shape of the whole."""
    found = check_machine(MachineState(workspace.roots()))
    return {"agents": [], "machine": [{**one._asdict(), "state": one.state.value} for one in found]}


@pytest.fixture
def used(workspace: Workspace) -> Workspace:
    """A workspace in which somebody has called once."""
    Spool(workspace.roots().state / "spool").append({"id": "1", "at_us": 1, "agent": FEW, "event": "stop"})
    ensure_private_directory(workspace.roots().state / "run")
    assert bad(looked(workspace)) == set()
    return workspace


@pytest.mark.parametrize("part,mode", [("", 0o777), ("", 0o775), ("spool", 0o755), ("run", 0o710)])
def test_state_that_others_may_look_at_is_found_and_the_next_step_helps(used: Workspace, part: str, mode: int) -> None:
    path = used.roots().state / part
    path.chmod(mode)
    data = looked(used)
    assert said(data, "state", "fail") == f"{path} is open to other users (mode {mode:o})"
    (step,) = [one["next"] for one in data["machine"] if one["state"] == "fail"]
    subprocess.run(shlex.split(step), check=True)
    assert bad(looked(used)) == set()


def test_state_that_is_somewhere_else_or_nothing_of_ours_is_found(used: Workspace) -> None:
    run = used.roots().state / "run"
    run.rename(used.path / "run")
    run.symlink_to(used.path / "run")
    assert said(looked(used), "state", "fail") == f"{run} is a link"
    run.unlink()
    run.write_text("in the way")
    assert said(looked(used), "state", "fail") == f"{run} is no directory"


def test_a_trail_that_cannot_be_written_is_found(workspace: Workspace) -> None:
    installed(workspace)
    run(workspace, "service", "stop")
    shutil.rmtree(workspace.roots().state / "spool")
    workspace.write(str((workspace.roots().state / "spool").relative_to(workspace.path)), "in the way")
    code, data = doctor(workspace)
    assert code == 1
    assert "is no directory" in said(data, "state", "fail")
    assert "cannot be looked at: not a directory" in said(data, "records", "fail")
    assert "cannot be read: not a directory" in said(data, "trail", "fail")


def test_torn_records_are_found(used: Workspace) -> None:
    with Spool(used.roots().state / "spool").file.open("ab") as file:
        file.write(b"\n00000000 {torn\n")
    assert said(looked(used), "trail", "warn").startswith("1 records in ")


@pytest.mark.parametrize("spoil", [lambda key: key.chmod(0o644), lambda key: key.write_bytes(b"")])
def test_a_key_without_which_no_words_are_kept_is_found(used: Workspace, spoil: Callable[[Path], object]) -> None:
    key = used.roots().state / "key"
    install_key(key.parent)
    spoil(key)
    assert "no words of calls are kept" in said(looked(used), "state", "fail")


def test_a_disk_that_is_nearly_full_is_found(used: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "MIN_FREE_BYTES", 10**18)
    assert "MB are left where records are kept" in said(looked(used), "trail", "warn")


@pytest.mark.parametrize(
    "seconds,state,says", [(0.0, "warn", "process {pid} does not answer"), (3600.0, "ok", "starting, process {pid}")]
)
def test_a_service_that_does_not_answer_is_found_unless_it_has_just_begun(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, seconds: float, state: str, says: str
) -> None:
    monkeypatch.setattr(machine_checks, "MAX_START_SECONDS", seconds)
    installed(workspace)
    doctor(workspace)
    pid = wait_for_service(workspace.home)
    os.kill(pid, signal.SIGSTOP)
    try:
        data = looked(workspace)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert said(data, "service", state) == says.format(pid=pid)


def test_calls_that_went_cold_are_noted(used: Workspace) -> None:
    RunDirectory(used.roots().state / "run").log("busy", WENT_COLD)
    assert "one call was answered without it: busy" in said(looked(used), "service", "note")


@pytest.mark.parametrize(
    "text,seen",
    [
        ("{", "trotline.toml:1:"),
        ('mode = "off"', "`mode` must be"),
        ("x = 1", "no setting `x`"),
        ('costs = "Shell=free"', "`costs` must be prices"),
    ],
)
@pytest.mark.parametrize("place", ["home/.config", "system/etc"])
def test_settings_that_mean_nothing_are_found(used: Workspace, place: str, text: str, seen: str) -> None:
    used.write(f"{place}/trotline/trotline.toml", text)
    assert seen in said(looked(used), "settings", "fail")


def test_a_list_of_malicious_packages_that_is_damaged_is_found(used: Workspace) -> None:
    assert said(looked(used), "packages") == ""
    file = ".local/state/trotline/v1/malicious-packages"
    used.write(f"home/{file}", '{"schema": "trotline.malicious/1", "bytes": 0, "entries": 3, "newest": "2026-10-01"}\n')
    assert "has 3 reports of malicious packages, the newest of 2026-10-01" in said(looked(used), "packages", "ok")
    used.write(f"home/{file}", "no list")
    assert "its first line is not ours" in said(looked(used), "packages", "fail")


def test_a_policy_that_means_nothing_is_found(used: Workspace) -> None:
    assert "nobody has written one" in said(looked(used), "policy", "ok")
    used.write("home/.config/trotline/trotline.toml", 'preset = "lax"')
    assert "trotline.toml:1:" in said(looked(used), "policy", "fail")


def test_a_rule_for_secrets_that_cannot_be_read_is_found(used: Workspace) -> None:
    used.write("home/.config/trotline/secrets.toml", "[[rules]]\nid = 'acme'\nregex = 'ACME[0-9]{4}'\n")
    assert "a file of rules" in said(looked(used), "secrets", "ok")
    used.write("home/.config/trotline/secrets.toml", "[[rules]]\nid = 'acme'\nregex = '('\n")
    assert "`acme`" in said(looked(used), "secrets", "fail")


def test_a_setting_that_believes_in_asking_is_noted(used: Workspace) -> None:
    used.write("home/.config/trotline/trotline.toml", 'ask_fallback = "ask"')
    assert "`ask` is sent as `ask`" in said(looked(used), "settings", "note")


def test_an_anchor_that_is_not_begun_cannot_be_written_or_lost_its_heads_is_found(used: Workspace) -> None:
    heads = used.path / "elsewhere" / "heads"
    used.write("home/.config/trotline/trotline.toml", format_toml({"anchor_file": str(heads)}))
    assert "its directory is not there" in said(looked(used), "anchor", "fail")
    heads.parent.mkdir()
    assert "is begun with the first records" in said(looked(used), "anchor", "note")
    with SqliteStore(used.roots().state / "trail.db") as store:
        keep(store, record(1))
    assert "no head is noted" in said(looked(used), "anchor", "warn")
    assert run(used, "log", "anchor")[0] == 0
    assert said(looked(used), "anchor") == f"heads are noted in {heads}, the last of entry 1"
    heads.unlink()
    assert "is gone: the one of entry 1 was noted there" in said(looked(used), "anchor", "fail")
    heads.mkdir()
    assert "cannot be read" in said(looked(used), "anchor", "fail")


def test_a_size_that_cannot_be_reached_is_found(used: Workspace) -> None:
    used.write("home/.config/trotline/trotline.toml", 'keep_size = "1MB"')
    with SqliteStore(used.roots().state / "trail.db") as store:
        keep(store, record(1, at_us=1), detail(1, command=os.urandom(1_000_000).hex()))
        assert said(looked(used), "keep_size") == ""  # it is old, and will be forgotten
        keep(store, record(2, at_us=read_clock()), detail(2, command=os.urandom(1_000_000).hex()))
    assert "`keep_size` cannot be kept" in said(looked(used), "keep_size", "warn")


def test_trust_that_cannot_be_read_is_found(used: Workspace) -> None:
    used.write("home/.local/state/trotline/v1/trust/0.json", "{")
    assert "its workspace is not trusted" in said(looked(used), "trust", "warn")


def test_a_machine_on_which_nothing_was_ever_called_has_nothing_wrong(workspace: Workspace) -> None:
    assert bad(looked(workspace)) == set()
    assert "not there yet" in said(looked(workspace), "state", "note")


# -- monitor mode


def test_in_monitor_mode_it_says_what_enforcing_would_have_stopped(workspace: Workspace) -> None:
    installed(workspace)
    workspace.write("home/.config/trotline/trotline.toml", 'mode = "monitor"')
    spool = Spool(workspace.roots().state / "spool")
    common = {"at_us": 1, "agent": FEW, "conversation": "c", "monitored": True, "tool": "Shell", "event": "preToolUse"}
    for number, withheld in enumerate([["deny"], ["deny"], ["context"], []]):
        spool.append({**common, "id": str(number), "withheld": withheld, "deciders": ["no_rm"]})
    spool.append({**common, "id": "9", "withheld": ["deny"], "conversation": "trotline-prove"})
    code, data = doctor(workspace)
    assert (code, data["next"]) == (1, "trotline install --enforce")
    assert "nothing is refused but the canary" in said(data, "settings", "warn")
    told = said(data, "monitor", "note").splitlines()
    assert told[:2] == [
        "enforcing would have stopped 2 of 4 calls that were monitored",
        "deny 2 times at preToolUse, by no_rm",
    ]
    assert told[2:] == ["last: 1970-01-01T00:00:00+00:00 openhands preToolUse Shell: deny, by no_rm"] * 2
    assert "the canary is refused" in said(data, "refusal", "ok")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    data = doctor(workspace)[1]
    assert (bad(data), said(data, "monitor")) == (set(), "")
