"""trotline doctor: every check finds its fault, in workspaces with real files, processes and services."""

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
from trotline.config.install.hook_entries import list_hook_files
from trotline.config.install.install_key import read_or_create_key
from trotline.config.install.plugin_file import render_owned_file
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
AGENT = "openhands"
"""The agent with the fewest events, for tests that work with any agent."""


needs_client = pytest.mark.skipif(
    not CLIENT.exists(), reason=f"NO COMPILED CLIENT at {CLIENT.name}: lines that go through it are not tested"
)


def run(workspace: Workspace, *words: str, **environment: str) -> tuple[int, str]:
    done = workspace.run(*words, environment=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """A workspace whose path is short enough for a socket; its service ends with the test."""
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as path:
        created = make_workspace(Path(path))
        yield created
        run(created, "service", "stop")


def install(workspace: Workspace, name: str = AGENT, *words: str) -> Path:
    code, out = run(workspace, "install", name, "--yes", *(words or ["--fail-open"]))
    assert code == 0, out
    return get_file(workspace, name)


def get_file(workspace: Workspace, name: str) -> Path:
    wiring = get_agent(name).wiring
    assert wiring is not None
    return workspace.home / wiring.files["user"].format(event=wiring.events[0])


def run_doctor(workspace: Workspace, name: str = AGENT, **environment: str) -> tuple[int, dict[str, Any]]:
    done = workspace.run("doctor", "--agent", name, "--json", environment=environment)
    body: dict[str, Any] = json.loads(done.stdout)
    assert body["schema"] == "trotline.doctor/1"
    assert body["ok"] is (done.returncode == 0)
    return done.returncode, body["data"]


def get_details(data: dict[str, Any], what: str, state: str = "") -> str:
    """Return the details of a check, in one state or in all."""
    findings = [finding for agent in data["agents"] for finding in agent["findings"]] + data["machine"]
    details = [
        finding["detail"] for finding in findings if finding["check"] == what and state in {"", finding["state"]}
    ]
    return "\n".join(details)


def list_faults(data: dict[str, Any]) -> set[str]:
    """Return the checks that warn or fail, except latency, which depends on the machine."""
    findings = [finding for agent in data["agents"] for finding in agent["findings"]] + data["machine"]
    return {finding["check"] for finding in findings if finding["state"] in {"warn", "fail"}} - {"latency"}


def replace_client(workspace: Workspace, file: Path, script: str, place: str = "bin") -> Path:
    """Replace the client in the hook lines of a file by a script; `$REAL` in it is the real client."""
    program = workspace.script(
        f"{place}/trotline-hook", "#!/bin/sh\n" + script.replace("$REAL", shlex.quote(str(CLIENT)))
    )
    file.write_text(file.read_text().replace(str(CLIENT), str(program)))
    return program


# -- no findings


@pytest.mark.parametrize("name", WIRED)
def test_fresh_installation_has_no_findings(workspace: Workspace, name: str) -> None:
    install(workspace, name)
    data = run_doctor(workspace, name)[1]
    assert list_faults(data) == set(), data
    wiring = get_agent(name).wiring
    assert wiring is not None
    assert f"all {len(wiring.events)} events answered" in get_details(data, "round trip", "ok")
    assert f"all {len(wiring.events)} calls are in the audit log" in get_details(data, "records", "ok")
    assert "the canary is refused" in get_details(data, "refusal", "ok")
    assert get_details(data, "latency")
    assert "has not called yet" in get_details(data, "loaded", "note")


def test_doctor_prints_lines_and_a_next_step(workspace: Workspace) -> None:
    install(workspace)
    _, out = run(workspace, "doctor", "--agent", AGENT)
    assert out.startswith("OpenHands  version unknown\n  ok    file ")
    assert "\nThis machine\n  ok    state " in out
    assert out.splitlines()[-1].startswith(("next: start OpenHands anew", "next: trotline service status"))


def test_doctor_changes_nothing_and_its_calls_are_self_tests(workspace: Workspace) -> None:
    file = install(workspace)
    before = file.read_bytes()
    run(workspace, "doctor")
    assert file.read_bytes() == before
    assert run(workspace, "log")[1] == "no matching records\n"
    _, everything = run(workspace, "log", "--all")
    assert everything.count("openhands") >= 6
    assert "calls of agents that are remembered: 0" in run(workspace, "doctor")[1]


def test_no_installed_agent_is_a_finding(workspace: Workspace) -> None:
    code, out = run(workspace, "doctor")
    assert code == 1
    assert "no agent was found on this machine" in out
    assert run(workspace, "doctor", "--agent", "nobody")[0] == 64


def test_only_named_agents_are_examined(workspace: Workspace) -> None:
    for name in ("codex", AGENT):
        install(workspace, name)
    _, out = run(workspace, "doctor", "--agent", AGENT)
    assert "Codex" not in out
    assert "Codex" in run(workspace, "doctor")[1]


def test_generic_agent_gets_instructions(workspace: Workspace) -> None:
    code, out = run(workspace, "doctor", "--agent", "generic")
    assert code == 0
    assert "have it run `trotline hook generic`" in out


# -- programs and plugins


def test_missing_or_broken_program_is_found_and_install_repairs_it(
    workspace: Workspace,
) -> None:
    gate = install(workspace, "cline").with_name("PreToolUse")
    assert "closed" in get_details(run_doctor(workspace, "cline")[1], "fails", "ok")
    gate.unlink()
    assert "no line of ours at PreToolUse" in get_details(run_doctor(workspace, "cline")[1], "entries", "fail")
    install(workspace, "cline")
    gate.chmod(0o600)
    code, data = run_doctor(workspace, "cline")
    assert (code, data["next"]) == (1, f"look at {workspace.roots().state / 'run' / 'log'}")
    assert "not as `trotline install` would write it" in get_details(data, "lines", "warn")
    assert "PreToolUse: exit 126" in get_details(data, "round trip", "fail")
    install(workspace, "cline")
    assert list_faults(run_doctor(workspace, "cline")[1]) == set()


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_foreign_or_edited_file_is_found_with_a_next_step(workspace: Workspace, name: str) -> None:
    file = install(workspace, name)
    file.write_text(file.read_text() + "\n")
    code, data = run_doctor(workspace, name)
    assert code == 1
    assert "TL521" in get_details(data, "file", "fail")
    assert "remove the file" in data["next"]
    file.write_text("somebody else's")
    assert "TL520" in get_details(run_doctor(workspace, name)[1], "file", "fail")


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_project_file_with_a_forged_seal_is_not_run(workspace: Workspace, name: str) -> None:
    """The seal is a digest: anyone who can commit to a repository can make one."""
    ran = workspace.path / "ran"
    assert run(workspace, "install", name, "--layer", "project", "--yes")[0] == 0
    agent = get_agent(name)
    targets = list_hook_files(agent, "project", workspace.roots())
    assert all(may_run(finding, workspace.roots()) for finding in find_our_lines(targets))
    other = workspace.script("project/bin/trotline-hook", f"#!/bin/sh\ntouch {ran}\n")
    for target in targets:
        lines = {event: f"{other} /python --agent {name} --event {event}" for event in target.events}
        target.file.write_text(render_owned_file(agent, lines, target.wiring.seconds))
    assert find_our_lines(targets)
    code, data = run_doctor(workspace, name)
    assert code == 1
    assert "look like ours and are not to the letter: they were not run" in get_details(data, "round trip", "fail")
    assert "the project's line is not ours to the letter" in get_details(data, "refusal", "fail")
    assert not ran.exists()


# -- files


def test_agent_without_hook_line_is_found_and_install_repairs_it(workspace: Workspace) -> None:
    (workspace.home / ".openhands").mkdir()
    code, data = run_doctor(workspace)
    assert (code, data["next"]) == (1, "trotline install openhands")
    assert "nothing that it does is seen" in get_details(data, "entries", "warn")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert list_faults(run_doctor(workspace)[1]) == set()


def test_misspelt_event_makes_the_whole_file_ineffective(workspace: Workspace) -> None:
    file = install(workspace, "cursor")
    file.write_text(file.read_text().replace('"hooks": {', '"hooks": {\n "beforeShellExec": [{"command": "x"}],', 1))
    code, data = run_doctor(workspace, "cursor")
    assert code == 1
    assert "TL206 there is no event `beforeShellExec`" in get_details(data, "file", "fail")
    assert data["next"] == f"trotline check {file}"


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_unparsable_file_is_found(workspace: Workspace, name: str) -> None:
    file = install(workspace, name)
    file.write_text(file.read_text()[:-20])
    code, data = run_doctor(workspace, name)
    assert code == 1
    assert "TL101" in get_details(data, "file", "fail")


def test_directory_instead_of_the_file_is_a_finding(workspace: Workspace) -> None:
    get_file(workspace, AGENT).mkdir(parents=True)
    code, data = run_doctor(workspace)
    assert code == 1
    assert "cannot be read: is a directory" in get_details(data, "file", "fail")


def test_missing_entry_is_found_and_install_repairs_it(workspace: Workspace) -> None:
    file = install(workspace)
    body = json.loads(file.read_text())
    event = next(iter(body["hooks"]))
    del body["hooks"][event]
    file.write_text(json.dumps(body))
    code, data = run_doctor(workspace)
    assert code == 1
    assert f"no line of ours at {event}" in get_details(data, "entries", "fail")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert list_faults(run_doctor(workspace)[1]) == set()


def test_changed_entry_is_repaired_with_the_same_fail_mode(workspace: Workspace) -> None:
    file = install(workspace, "cursor", "--fail-closed")
    assert "closed" in get_details(run_doctor(workspace, "cursor")[1], "fails", "ok")
    file.write_text(file.read_text().replace('"timeout": 60', '"timeout": 5'))
    code, data = run_doctor(workspace, "cursor")
    assert code == 1
    assert "not as `trotline install` would write it" in get_details(data, "lines", "warn")
    assert data["next"] == "trotline install cursor"
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert "closed" in get_details(run_doctor(workspace, "cursor")[1], "fails", "ok")


def test_lines_of_an_older_version_are_found_and_install_repairs_them(workspace: Workspace) -> None:
    file = install(workspace)
    file.write_text(file.read_text().replace("--agent ", "--host "))
    code, data = run_doctor(workspace)
    assert code == 1
    assert "were written by an older version" in get_details(data, "lines", "fail")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    assert "--host" not in file.read_text()
    assert list_faults(run_doctor(workspace)[1]) == set()


def test_fail_mode_of_a_foreign_entry_is_ignored(workspace: Workspace) -> None:
    file = install(workspace, "cursor")
    body = json.loads(file.read_text().replace('"timeout": 60', '"timeout": 5'))
    body["hooks"]["beforeShellExecution"].append({"command": "true", "failClosed": True})
    file.write_text(json.dumps(body))
    assert run_doctor(workspace, "cursor")[1]["next"] == "trotline install cursor --fail-open"


def test_fail_open_agent_is_noted(workspace: Workspace) -> None:
    install(workspace, "cursor")
    data = run_doctor(workspace, "cursor")[1]
    assert "trotline install cursor --fail-closed" in get_details(data, "fails", "note")
    install(workspace)
    assert "no setting" in get_details(run_doctor(workspace)[1], "fails", "note")


# -- programs


def delete(program: Path) -> None:
    program.unlink()


def make_not_executable(program: Path) -> None:
    program.chmod(0o644)


def make_writable_by_all(program: Path) -> None:
    program.chmod(0o777)


def give_away(program: Path) -> None:
    os.chown(program, 12345, 12345)


BROKEN: dict[str, Callable[[Path], None]] = {
    "is not there": delete,
    "cannot be run": make_not_executable,
    "can be written by other users": make_writable_by_all,
    "belongs to another user": give_away,
}


@needs_client
@pytest.mark.parametrize("fault", BROKEN)
def test_missing_or_unsafe_client_is_found(workspace: Workspace, fault: str) -> None:
    if fault == "belongs to another user" and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    program = replace_client(workspace, install(workspace), 'exec $REAL "$@"\n')
    BROKEN[fault](program)
    code, data = run_doctor(workspace)
    assert code == 1
    assert f"{program} {fault}" in get_details(data, "programs", "fail")


@needs_client
def test_missing_interpreter_is_found(workspace: Workspace) -> None:
    file = install(workspace)
    (_, _, line), *_ = find_our_lines(list_hook_files(get_agent(AGENT), "user", workspace.roots()))
    python = shlex.split(line)[1]
    file.write_text(file.read_text().replace(python, f"{python}-gone"))
    assert f"{python}-gone is not there" in get_details(run_doctor(workspace)[1], "programs", "fail")


@needs_client
def test_client_inside_the_workspace_is_found(workspace: Workspace) -> None:
    replace_client(workspace, install(workspace), 'exec $REAL "$@"\n', place="project/tools")
    assert "is inside the workspace" in get_details(run_doctor(workspace)[1], "programs", "fail")


# -- loading


def test_hook_lines_in_two_layers_are_found_and_uninstall_repairs_them(workspace: Workspace) -> None:
    install(workspace)
    assert run(workspace, "install", AGENT, "--layer", "project", "--yes")[0] == 0
    code, data = run_doctor(workspace)
    assert code == 1
    assert str(workspace.project) in get_details(data, "once", "warn")
    assert data["next"] == "trotline uninstall openhands --layer project"
    assert run(workspace, *data["next"].split()[1:])[0] == 0
    assert list_faults(run_doctor(workspace)[1]) == set()


def test_duplicate_hook_line_is_found(workspace: Workspace) -> None:
    file = install(workspace, "cursor")
    body = json.loads(file.read_text())
    body["hooks"]["stop"] *= 2
    file.write_text(json.dumps(body))
    assert "more than one line of ours at stop" in get_details(run_doctor(workspace, "cursor")[1], "once", "warn")


def test_hook_line_with_an_open_quote_does_not_end_the_doctor(workspace: Workspace) -> None:
    file = install(workspace, "cursor")
    body = json.loads(file.read_text())
    body["hooks"]["stop"][0]["command"] += " '"
    file.write_text(json.dumps(body))
    code, data = run_doctor(workspace, "cursor")
    assert code == 1
    assert "no line of ours at stop" in get_details(data, "entries", "fail")


def test_file_of_another_agent_that_cursor_loads_is_noted(workspace: Workspace) -> None:
    install(workspace, "cursor")
    assert "loaded once" in get_details(run_doctor(workspace, "cursor")[1], "once", "ok")
    install(workspace, "claude-code")
    data = run_doctor(workspace, "cursor")[1]
    assert list_faults(data) == set()
    assert f"also loads {get_file(workspace, 'claude-code')}" in get_details(data, "once", "note")
    assert "loaded once" in get_details(run_doctor(workspace, "claude-code")[1], "once", "ok")


@pytest.mark.parametrize("command", ["lint-hook --all", "env lint-hook", "/usr/bin/env lint-hook"])
def test_command_that_is_only_on_the_path_of_the_shell_is_found(workspace: Workspace, command: str) -> None:
    file = install(workspace, "cursor")
    body = json.loads(file.read_text())
    body["hooks"]["stop"] += [{"command": command}, {"command": "true"}, {"command": "./mine.sh"}]
    file.write_text(json.dumps(body))
    workspace.script("bin/lint-hook")
    data = run_doctor(workspace, "cursor", PATH=f"{workspace.path / 'bin'}:{os.defpath}")[1]
    assert "`lint-hook` is found from your shell, and not when Cursor" in get_details(data, "PATH", "warn")
    assert "`true`" not in get_details(data, "PATH")


# -- calls


@needs_client
@pytest.mark.parametrize(
    "script,detail",
    [
        ("exit 1\n", "exit 1"),
        ("exit 127\n", "exit 127"),
        ("echo oops\n", "answered `oops`"),
    ],
)
def test_line_with_an_invalid_reply_is_found(workspace: Workspace, script: str, detail: str) -> None:
    replace_client(workspace, install(workspace), script)
    code, data = run_doctor(workspace)
    assert code == 1
    assert detail in get_details(data, "round trip", "fail")


@needs_client
def test_line_that_loses_its_payload_is_found(workspace: Workspace) -> None:
    replace_client(workspace, install(workspace), 'exec $REAL "$@" </dev/null\n')
    assert "6 calls left 0 records" in get_details(run_doctor(workspace)[1], "records", "fail")


def test_sample_denied_by_the_policy_counts_as_answered(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(event: str) -> dict[str, Any]:
        command = {"command": "echo trotline-canary"} if event == "beforeShellExecution" else {}
        return {**build_payload(event), **command}

    monkeypatch.setattr(sample_calls, "build_payload", refused)
    install(workspace, "cursor")
    examined = AgentState(InstalledAgent(get_agent("cursor"), ""), MachineState(workspace.roots()))
    found = {finding.state: finding.detail for finding in call_checks.check_round_trip(examined)}
    assert found == {
        CheckState.NOTE: "your own policy refuses the samples of beforeShellExecution",
        CheckState.OK: "all 21 events answered, user",
    }
    assert [finding.state for finding in call_checks.check_records(examined)] == [CheckState.OK]


@needs_client
def test_line_that_allows_everything_is_found(workspace: Workspace) -> None:
    replace_client(workspace, install(workspace), "cat >/dev/null; echo '{}'\n")
    data = run_doctor(workspace)[1]
    assert "the canary must be refused; it was not" in get_details(data, "refusal", "fail")
    assert "6 calls left 0 records" in get_details(data, "records", "fail")
    assert not get_details(data, "round trip", "fail")


@needs_client
def test_project_line_that_imitates_a_hook_line_is_not_run(workspace: Workspace) -> None:
    """Anyone who can commit to a repository can write one."""
    ran = workspace.path / "ran"
    assert run(workspace, "install", AGENT, "--layer", "project", "--yes")[0] == 0
    file = workspace.project / ".openhands" / "hooks.json"
    replace_client(workspace, file, f"touch {ran}; exit 0\n", place="project/bin")
    assert all(
        is_hook_line(finding.command)
        for finding in find_our_lines(list_hook_files(get_agent(AGENT), "project", workspace.roots()))
    )
    code, data = run_doctor(workspace)
    assert code == 1
    assert "look like ours and are not to the letter: they were not run" in get_details(data, "round trip", "fail")
    assert "the project's line is not ours to the letter" in get_details(data, "refusal", "fail")
    assert not ran.exists()


@needs_client
def test_slow_gate_is_found(workspace: Workspace) -> None:
    replace_client(workspace, install(workspace), 'sleep 0.25; exec $REAL "$@"\n')
    code, data = run_doctor(workspace)
    assert code == 1
    assert "more than 200 ms is felt" in get_details(data, "latency", "warn")


def test_running_service_is_reported(workspace: Workspace) -> None:
    install(workspace)
    assert "the service answers" in get_details(run_doctor(workspace)[1], "latency")
    assert "running, process" in get_details(run_doctor(workspace)[1], "service", "ok")


@pytest.mark.parametrize("version,weaker", [("3.21.16", True), ("2.3.0", False), ("nonsense", True)])
def test_limitations_of_the_agent_version_are_noted(workspace: Workspace, version: str, weaker: bool) -> None:
    install(workspace, "cursor")
    workspace.script("bin/cursor", f"#!/bin/sh\necho 'Cursor {version}'\n")
    path = f"{workspace.path / 'bin'}:{os.defpath}"
    data = run_doctor(workspace, "cursor", PATH=path)[1]
    assert list_faults(data) == set()
    assert data["agents"][0]["version"] == f"Cursor {version}"
    assert ("`ask` is a deny in 2.x" in get_details(data, "version", "note")) is weaker
    workspace.write("home/.config/trotline/trotline.toml", 'ask_fallback = "ask"')
    data = run_doctor(workspace, "cursor", PATH=path)[1]
    assert bool(get_details(data, "version", "warn")) is weaker


def test_call_of_the_agent_proves_that_it_loaded_the_file(workspace: Workspace) -> None:
    install(workspace)
    call = record(1, at_us=1, agent=AGENT, event="stop", conversation="theirs")
    Spool(workspace.roots().state / "spool").append(call)
    assert "called last at 1970-01-01T00:00:00+00:00, stop" in get_details(run_doctor(workspace)[1], "loaded", "ok")


# -- this machine


def examine_machine(workspace: Workspace) -> dict[str, Any]:
    """Run the checks of the machine, and return them in the form of the whole report."""
    found = check_machine(MachineState(workspace.roots()))
    return {"agents": [], "machine": [{**finding._asdict(), "state": finding.state.value} for finding in found]}


@pytest.fixture
def used_workspace(workspace: Workspace) -> Workspace:
    """A workspace with one recorded call."""
    Spool(workspace.roots().state / "spool").append(record(1, id="1", at_us=1, agent=AGENT, event="stop"))
    ensure_private_directory(workspace.roots().state / "run")
    assert list_faults(examine_machine(workspace)) == set()
    return workspace


@pytest.mark.parametrize("part,mode", [("", 0o777), ("", 0o775), ("spool", 0o755), ("run", 0o710)])
def test_state_readable_by_others_is_found_and_the_next_step_repairs_it(
    used_workspace: Workspace, part: str, mode: int
) -> None:
    path = used_workspace.roots().state / part
    path.chmod(mode)
    data = examine_machine(used_workspace)
    assert get_details(data, "state", "fail") == f"{path} is open to other users (mode {mode:o})"
    (step,) = [finding["next"] for finding in data["machine"] if finding["state"] == "fail"]
    subprocess.run(shlex.split(step), check=True)
    assert list_faults(examine_machine(used_workspace)) == set()


def test_symlinked_or_blocked_state_is_found(used_workspace: Workspace) -> None:
    run = used_workspace.roots().state / "run"
    run.rename(used_workspace.path / "run")
    run.symlink_to(used_workspace.path / "run")
    assert get_details(examine_machine(used_workspace), "state", "fail") == f"{run} is a link"
    run.unlink()
    run.write_text("in the way")
    assert get_details(examine_machine(used_workspace), "state", "fail") == f"{run} is no directory"


def test_unwritable_audit_log_is_found(workspace: Workspace) -> None:
    install(workspace)
    run(workspace, "service", "stop")
    shutil.rmtree(workspace.roots().state / "spool")
    workspace.write(str((workspace.roots().state / "spool").relative_to(workspace.path)), "in the way")
    code, data = run_doctor(workspace)
    assert code == 1
    assert "is no directory" in get_details(data, "state", "fail")
    assert "cannot be looked at: not a directory" in get_details(data, "records", "fail")
    assert "cannot be read: not a directory" in get_details(data, "audit_log", "fail")


def test_torn_records_are_found(used_workspace: Workspace) -> None:
    with Spool(used_workspace.roots().state / "spool").file.open("ab") as file:
        file.write(b"\n00000000 {torn\n")
    assert get_details(examine_machine(used_workspace), "audit_log", "warn").startswith("1 records in ")


@pytest.mark.parametrize("spoil", [lambda key: key.chmod(0o644), lambda key: key.write_bytes(b"")])
def test_unusable_key_is_found(used_workspace: Workspace, spoil: Callable[[Path], object]) -> None:
    key = used_workspace.roots().state / "key"
    read_or_create_key(key.parent)
    spoil(key)
    assert "no words of calls are kept" in get_details(examine_machine(used_workspace), "state", "fail")


def test_nearly_full_disk_is_found(used_workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "MIN_FREE_BYTES", 10**18)
    assert "MB are left where records are kept" in get_details(examine_machine(used_workspace), "audit_log", "warn")


@pytest.mark.parametrize(
    "seconds,state,detail", [(0.0, "warn", "process {pid} does not answer"), (3600.0, "ok", "starting, process {pid}")]
)
def test_hanging_service_is_found_unless_it_just_started(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, seconds: float, state: str, detail: str
) -> None:
    monkeypatch.setattr(machine_checks, "MAX_START_SECONDS", seconds)
    install(workspace)
    run_doctor(workspace)
    pid = wait_for_service(workspace.home)
    os.kill(pid, signal.SIGSTOP)
    try:
        data = examine_machine(workspace)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert get_details(data, "service", state) == detail.format(pid=pid)


def test_cold_calls_are_noted(used_workspace: Workspace) -> None:
    RunDirectory(used_workspace.roots().state / "run").log("busy", WENT_COLD)
    assert "one call was answered without it: busy" in get_details(examine_machine(used_workspace), "service", "note")


@pytest.mark.parametrize(
    "text,detail",
    [
        ("{", "trotline.toml:1:"),
        ('mode = "off"', "`mode` must be"),
        ("x = 1", "no setting `x`"),
        ('costs = "Shell=free"', "`costs` must be prices"),
    ],
)
@pytest.mark.parametrize("place", ["home/.config", "system/etc"])
def test_invalid_settings_are_found(used_workspace: Workspace, place: str, text: str, detail: str) -> None:
    used_workspace.write(f"{place}/trotline/trotline.toml", text)
    assert detail in get_details(examine_machine(used_workspace), "settings", "fail")


def test_damaged_list_of_malicious_packages_is_found(used_workspace: Workspace) -> None:
    assert get_details(examine_machine(used_workspace), "packages") == ""
    file = ".local/state/trotline/v1/malicious-packages"
    used_workspace.write(
        f"home/{file}", '{"schema": "trotline.malicious/1", "bytes": 0, "entries": 3, "newest": "2026-10-01"}\n'
    )
    assert "has 3 reports of malicious packages, the newest of 2026-10-01" in get_details(
        examine_machine(used_workspace), "packages", "ok"
    )
    used_workspace.write(f"home/{file}", "no list")
    assert "its first line is not ours" in get_details(examine_machine(used_workspace), "packages", "fail")


def test_invalid_policy_is_found(used_workspace: Workspace) -> None:
    assert "nobody has written one" in get_details(examine_machine(used_workspace), "policy", "ok")
    used_workspace.write("home/.config/trotline/trotline.toml", 'preset = "lax"')
    assert "trotline.toml:1:" in get_details(examine_machine(used_workspace), "policy", "fail")


def test_invalid_secret_rule_is_found(used_workspace: Workspace) -> None:
    used_workspace.write("home/.config/trotline/secrets.toml", "[[rules]]\nid = 'acme'\nregex = 'ACME[0-9]{4}'\n")
    assert "a file of rules" in get_details(examine_machine(used_workspace), "secrets", "ok")
    used_workspace.write("home/.config/trotline/secrets.toml", "[[rules]]\nid = 'acme'\nregex = '('\n")
    assert "`acme`" in get_details(examine_machine(used_workspace), "secrets", "fail")


def test_ask_fallback_is_noted(used_workspace: Workspace) -> None:
    used_workspace.write("home/.config/trotline/trotline.toml", 'ask_fallback = "ask"')
    assert "`ask` is sent as `ask`" in get_details(examine_machine(used_workspace), "settings", "note")


def test_missing_unwritable_or_emptied_anchor_is_found(used_workspace: Workspace) -> None:
    heads = used_workspace.path / "elsewhere" / "heads"
    used_workspace.write("home/.config/trotline/trotline.toml", format_toml({"anchor_file": str(heads)}))
    assert "its directory is not there" in get_details(examine_machine(used_workspace), "anchor", "fail")
    heads.parent.mkdir()
    assert "is begun with the first records" in get_details(examine_machine(used_workspace), "anchor", "note")
    with SqliteStore(used_workspace.roots().state / "audit_log.db") as store:
        keep(store, record(1))
    assert "no head is noted" in get_details(examine_machine(used_workspace), "anchor", "warn")
    assert run(used_workspace, "log", "anchor")[0] == 0
    assert get_details(examine_machine(used_workspace), "anchor") == f"heads are noted in {heads}, the last of entry 2"
    heads.unlink()
    assert "is gone: the one of entry 2 was noted there" in get_details(
        examine_machine(used_workspace), "anchor", "fail"
    )
    heads.mkdir()
    assert "cannot be read" in get_details(examine_machine(used_workspace), "anchor", "fail")


def test_unreachable_keep_size_is_found(used_workspace: Workspace) -> None:
    used_workspace.write("home/.config/trotline/trotline.toml", 'keep_size = "1MB"')
    with SqliteStore(used_workspace.roots().state / "audit_log.db") as store:
        keep(store, record(1, at_us=1), detail(1, command=os.urandom(1_000_000).hex()))
        assert get_details(examine_machine(used_workspace), "keep_size") == ""  # old records will be forgotten
        keep(store, record(2, at_us=read_clock()), detail(2, command=os.urandom(1_000_000).hex()))
    assert "`keep_size` cannot be kept" in get_details(examine_machine(used_workspace), "keep_size", "warn")


def test_unreadable_trust_is_found(used_workspace: Workspace) -> None:
    used_workspace.write("home/.local/state/trotline/v1/trust/0.json", "{")
    assert "its workspace is not trusted" in get_details(examine_machine(used_workspace), "trust", "warn")


def test_unused_machine_has_no_findings(workspace: Workspace) -> None:
    assert list_faults(examine_machine(workspace)) == set()
    assert "not there yet" in get_details(examine_machine(workspace), "state", "note")


# -- monitor mode


def test_monitor_mode_reports_what_enforcing_would_have_denied(workspace: Workspace) -> None:
    install(workspace)
    workspace.write("home/.config/trotline/trotline.toml", 'mode = "monitor"')
    spool = Spool(workspace.roots().state / "spool")
    common = {
        "at_us": 1,
        "agent": AGENT,
        "conversation": "c",
        "monitored": True,
        "tool": "Shell",
        "event": "preToolUse",
    }
    for number, withheld in enumerate([["deny"], ["deny"], ["context"], []]):
        spool.append({**record(number), **common, "withheld": withheld, "deciders": ["no_rm"]})
    spool.append({**record(9), **common, "withheld": ["deny"], "conversation": "trotline-prove"})
    code, data = run_doctor(workspace)
    assert (code, data["next"]) == (1, "trotline install --enforce")
    assert "nothing is refused but the canary" in get_details(data, "settings", "warn")
    lines = get_details(data, "monitor", "note").splitlines()
    assert lines[:2] == [
        "enforcing would have stopped 2 of 4 calls that were monitored",
        "deny 2 times at preToolUse, by no_rm",
    ]
    assert lines[2:] == ["last: 1970-01-01T00:00:00+00:00 openhands preToolUse Shell: deny, by no_rm"] * 2
    assert "the canary is refused" in get_details(data, "refusal", "ok")
    assert run(workspace, *data["next"].split()[1:], "--yes")[0] == 0
    data = run_doctor(workspace)[1]
    assert (list_faults(data), get_details(data, "monitor")) == (set(), "")
