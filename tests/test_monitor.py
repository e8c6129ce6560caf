"""Monitor mode: calls are evaluated and recorded, only the canary is denied, and every report shows the mode."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples

from kit import Workspace, make_workspace, read_rows
from strategies import verdicts
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import AgentReply
from trotline.audit.store.spool import Spool
from trotline.config.settings import read_settings
from trotline.config.settings_edit import put_setting
from trotline.conversation.functions import EventHandler
from trotline.conversation.sessions import Sessions
from trotline.doctor.sample_calls import build_sample
from trotline.domain.errors import TrotlineError
from trotline.domain.outcomes import Call, Failure, FailureKind, Outcome
from trotline.domain.verdicts import Verdict
from trotline.hook import process
from trotline.hook.answer import AnswerContext, answer
from trotline.testing.sample_payloads import build_payload

GUARD = """
from trotline import add_context, deny, on, run

@on.before_shell(matching="terraform")
def no_terraform(event):
    return deny("not from here")

@on.before_submit_prompt
def remember(event):
    return add_context("be brief")

run()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    made.write("home/.config/trotline/trotline.toml", 'mode = "monitor"')
    made.write("guard.py", GUARD)
    return made


def call_hook(workspace: Workspace, body: dict[str, Any] | str, *words: str) -> "subprocess.CompletedProcess[str]":
    text = body if isinstance(body, str) else json.dumps(body)
    line = [
        sys.executable,
        str(workspace.path / "guard.py"),
        "--agent",
        "cursor",
        "--home",
        str(workspace.home),
        *words,
    ]
    return subprocess.run(line, input=text, capture_output=True, text=True, check=False)


def shell(command: str) -> dict[str, Any]:
    return {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}


def last(workspace: Workspace) -> dict[str, Any]:
    return Spool(workspace.roots().state / "spool").read().records[-1]


def test_a_denial_is_recorded_and_logged_but_not_sent(workspace: Workspace) -> None:
    done = call_hook(workspace, shell("terraform destroy"))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"permission": "allow"})
    assert done.stderr.splitlines() == ["trotline: monitor mode: not sent: deny, by no_terraform"]
    record = last(workspace)
    assert (record["decided"], record["monitored"], record["withheld"]) == ("deny", True, ["deny"])
    shown = workspace.run("log").stdout
    assert "beforeShellExecution would be denied" in shown


def test_unsent_denials_are_counted_separately(workspace: Workspace) -> None:
    call_hook(workspace, shell("terraform destroy"))
    call_hook(workspace, shell("echo trotline-canary"))

    def log(*words: str) -> str:
        return workspace.run("log", *words).stdout

    found = json.loads(log("stats", "--json"))["data"]
    assert found["verdicts"] == {"deny": 1, "would_deny": 1}
    assert (found["denied_by"], found["would_be_denied_by"]) == ({"canary": 1}, {"no_terraform": 1})
    table = log("stats")
    assert "1  would be denied\n" in table
    assert "would be denied by\n" in table
    (conversation,) = json.loads(log("conversations", "--json"))["data"]
    assert (conversation["calls"], conversation["denied"]) == (2, 1)
    assert [log("--verdict", word, "--count") for word in ("denied", "would-be-denied")] == ["1\n", "1\n"]
    assert "would be denied: terraform destroy" in log("--verdict", "would-be-denied")
    rows = list(csv.DictReader(io.StringIO(log("export", "--format", "csv"))))
    assert [row["verdict"] for row in rows] == ["deny", "would_deny"]
    sent = log("export", "--format", "otlp", "--verdict", "would-be-denied")
    assert '{"key":"trotline.verdict","value":{"stringValue":"would_deny"}}' in sent
    assert "WARN" not in sent


def test_context_for_the_agent_is_not_sent(workspace: Workspace) -> None:
    prompt = build_payload("beforeSubmitPrompt")
    done = call_hook(workspace, prompt)
    assert json.loads(done.stdout) == {"continue": True}
    assert last(workspace)["withheld"] == ["context"]


def test_the_canary_is_denied(workspace: Workspace) -> None:
    done = call_hook(workspace, shell("echo trotline-canary"))
    assert json.loads(done.stdout)["permission"] == "deny"
    assert last(workspace)["withheld"] == []


def test_an_unreadable_call_is_allowed_with_a_warning(workspace: Workspace) -> None:
    done = call_hook(workspace, "no json", "--event", "beforeShellExecution")
    assert json.loads(done.stdout) == {"permission": "allow"}
    assert "not sent: deny, by trotline" in done.stderr
    assert "could not read this call" in done.stderr


def test_an_internal_error_denies_nothing(workspace: Workspace) -> None:
    words = ["--agent", "cursor", "--event", "beforeShellExecution", "--home", str(workspace.home)]
    late = Failure(kind=FailureKind.TIMED_OUT, detail="late")
    sent, outcome = process.handle_failure(Call(id="1", argv=tuple(words)), late, 0)
    assert json.loads(sent.stdout) == {"permission": "allow"}
    assert (outcome.monitored, outcome.withheld) == (True, ("deny",))
    enforcing = (*words[:-1], str(workspace.path / "elsewhere"))
    sent, _ = process.handle_failure(Call(id="1", argv=enforcing), late, 0)
    assert json.loads(sent.stdout)["permission"] == "deny"


def played(agent: str, event: str, verdict: Verdict, path: Path, **mode: Any) -> tuple[AgentReply, Outcome]:
    known = get_agent(agent)
    judge = EventHandler(name="judge", event=known.events[event], call=lambda _: verdict)
    call = Call(id="1", payload=build_sample(known, event, "c"))
    return answer(call, AnswerContext(known, [judge], Sessions(path), event, **mode))


@pytest.mark.parametrize("agent", AGENTS)
@examples(max_examples=20)
@given(verdict=verdicts)
def test_no_agent_can_tell_monitoring_from_silence(
    agent: str, verdict: Verdict, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp()
    for event in get_agent(agent).events:
        sent, outcome = played(agent, event, verdict, path, is_monitoring=True)
        silence, _ = played(agent, event, Verdict(), path)
        assert sent == silence
        assert outcome.monitored
        assert outcome.decision.permission == verdict.permission or not outcome.event.contract.refusable


def settings(workspace: Workspace, *, user: str = "", machine: str = "") -> str:
    if user:
        workspace.write("home/.config/trotline/trotline.toml", user)
    if machine:
        workspace.write("system/etc/trotline/trotline.toml", machine)
    return read_settings(workspace.roots()).mode


def test_the_machine_setting_takes_precedence(workspace: Workspace) -> None:
    assert settings(workspace) == "monitor"
    assert settings(workspace, machine='mode = "enforce"') == "enforce"
    assert settings(workspace, user='mode = "enforce"', machine='mode = "monitor"') == "monitor"


@pytest.mark.parametrize("broken", ["{", "mode", 'mode = "off"', "mode = true"])
def test_an_invalid_mode_is_enforced(workspace: Workspace, broken: str) -> None:
    assert settings(workspace, machine=broken) == "enforce"
    assert settings(workspace, machine="# nothing", user=broken) == "enforce"
    assert read_settings(workspace.roots()).problems


def test_a_project_cannot_set_the_mode(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/trotline.toml", "")
    for place in (".config/trotline/trotline.toml", ".trotline/trotline.toml", "settings.json"):
        workspace.write(f"project/{place}", 'mode = "monitor"')
    done = call_hook(workspace, {**shell("terraform apply"), "workspace_roots": [str(workspace.project)]})
    assert json.loads(done.stdout)["permission"] == "deny"


@pytest.mark.parametrize("before,after", read_rows("monitor", "edits"))
def test_one_key_is_set_and_the_rest_of_the_file_stays(tmp_path: Path, before: str | None, after: str) -> None:
    workspace = make_workspace(tmp_path)
    file = workspace.home / ".config" / "trotline" / "trotline.toml"
    if before is not None:
        workspace.write("home/.config/trotline/trotline.toml", before.encode())
    planned = put_setting(workspace.roots(), "mode", "monitor", dry_run=True)
    assert planned.after == after.encode()
    assert not file.exists() or file.read_bytes() == (before or "").encode()
    put_setting(workspace.roots(), "mode", "monitor")
    assert file.read_bytes() == after.encode()
    assert put_setting(workspace.roots(), "mode", "monitor").outcome == "nothing to do"
    assert read_settings(workspace.roots()).monitors
    put_setting(workspace.roots(), "mode", "enforce")
    assert not read_settings(workspace.roots()).monitors


def test_the_default_is_not_written_without_a_setting(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    put_setting(workspace.roots(), "mode", "enforce")
    assert not (workspace.home / ".config").exists()


def test_a_settings_file_that_is_broken_or_elsewhere_is_left_alone(workspace: Workspace) -> None:
    file = workspace.write("home/.config/trotline/trotline.toml", "mode =")
    with pytest.raises(TrotlineError, match="cannot be read"):
        put_setting(workspace.roots(), "mode", "enforce")
    assert file.read_text() == "mode ="
    file.unlink()
    file.symlink_to(workspace.write("outside.toml", "# mine"))
    with pytest.raises(TrotlineError, match="leads out of your home"):
        put_setting(workspace.roots(), "mode", "monitor")
    assert (workspace.path / "outside.toml").read_text() == "# mine"


@pytest.mark.parametrize("command", [["agents"], ["agents", "--probe"], ["agents", "codex"]])
def test_commands_about_denials_mention_monitor_mode(workspace: Workspace, command: list[str]) -> None:
    done = workspace.run(*command)
    assert "monitor mode: nothing is refused but the canary" in done.stderr
    workspace.write("home/.config/trotline/trotline.toml", "")
    assert "monitor" not in workspace.run(*command).stderr


def test_guards_respond_are_recorded_and_store_no_refusal(workspace: Workspace) -> None:
    body = {**shell("rm -rf ~"), "workspace_roots": [str(workspace.project)]}
    for _ in range(2):
        line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
        done = subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)
        assert json.loads(done.stdout) == {"permission": "allow"}
        assert "monitor mode: not sent: deny, by deletion" in done.stderr
        assert (last(workspace)["decided"], last(workspace)["withheld"]) == ("deny", ["deny"])
    assert Sessions(workspace.roots().state / "sessions").read("c").session.history.denied == ()


def test_a_hook_program_is_answered_by_its_handlers_only(workspace: Workspace) -> None:
    workspace.write("home/.config/trotline/trotline.toml", "")
    done = call_hook(workspace, {**shell("rm -rf ~"), "workspace_roots": [str(workspace.project)]})
    assert json.loads(done.stdout) == {"permission": "allow"}
