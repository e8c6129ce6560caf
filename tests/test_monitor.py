"""Monitor mode: everything is judged and written down, nothing is sent but what the canary says, and nobody is left in
the dark about it."""

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

from strategies import verdicts
from trotline import program
from trotline.answer import Seat, answer
from trotline.audit.spool import Spool
from trotline.canary import CANARY
from trotline.checkup.trips import sample
from trotline.config.settings import read_settings
from trotline.config.settings_edit import put_setting
from trotline.engine.functions import Function
from trotline.engine.sessions import Sessions
from trotline.errors import TrotlineError
from trotline.hosts import HOSTS, host_named
from trotline.hosts.host import Answer
from trotline.outcomes import Call, Failure, FailureKind, Outcome
from trotline.testing.payloads import payload
from trotline.verdicts import Verdict
from worlds import World, new_world, patient, trotline_process

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
def world(tmp_path: Path) -> World:
    made = new_world(tmp_path)
    made.write("home/.config/trotline/settings.json", '{"mode": "monitor"}')
    made.write("guard.py", GUARD)
    return made


def asked(world: World, body: dict[str, Any] | str, *words: str) -> "subprocess.CompletedProcess[str]":
    text = body if isinstance(body, str) else json.dumps(body)
    line = [sys.executable, str(world.path / "guard.py"), "--host", "cursor", "--home", str(world.home), *words]
    return subprocess.run(line, input=text, capture_output=True, text=True, check=False)


def shell(command: str) -> dict[str, Any]:
    return {"hook_event_name": "beforeShellExecution", "command": command, "conversation_id": "c"}


def last(world: World) -> dict[str, Any]:
    return Spool(world.roots().state / "spool").read().records[-1]


def test_a_refusal_is_not_sent_and_is_on_record_and_on_standard_error(world: World) -> None:
    done = asked(world, shell("terraform destroy"))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"permission": "allow"})
    assert done.stderr.splitlines() == ["trotline: monitor mode: not sent: deny, by no_terraform"]
    record = last(world)
    assert (record["asked"], record["monitored"], record["withheld"]) == ("deny", True, ["deny"])
    shown = trotline_process("trace", *world.options, cwd=world.project).stdout
    assert "beforeShellExecution: would deny" in shown


def test_a_refusal_that_was_not_sent_has_a_word_of_its_own_wherever_it_is_counted(world: World) -> None:
    asked(world, shell("terraform destroy"))
    asked(world, shell("echo trotline-canary"))

    def log(*words: str) -> str:
        return trotline_process("log", *words, *world.options, cwd=world.project).stdout

    found = json.loads(log("stats", "--json"))["data"]
    assert found["verdicts"] == {"deny": 1, "would_deny": 1}
    assert (found["denied_by"], found["would_be_denied_by"]) == ({"canary": 1}, {"no_terraform": 1})
    table = log("stats")
    assert "1  would be denied\n" in table
    assert "would be denied by\n" in table
    (talk,) = json.loads(log("conversations", "--json"))["data"]
    assert (talk["calls"], talk["denied"]) == (2, 1)
    assert [log("--verdict", word, "--count") for word in ("denied", "would-be-denied")] == ["1\n", "1\n"]
    assert "would be denied: terraform destroy" in log("--verdict", "would-be-denied")
    rows = list(csv.DictReader(io.StringIO(log("export", "--format", "csv"))))
    assert [row["verdict"] for row in rows] == ["deny", "would_deny"]
    sent = log("export", "--format", "otlp", "--verdict", "would-be-denied")
    assert '{"key":"trotline.verdict","value":{"stringValue":"would_deny"}}' in sent
    assert "WARN" not in sent


def test_what_would_change_the_agent_is_not_sent_either(world: World) -> None:
    prompt = payload("beforeSubmitPrompt")
    done = asked(world, prompt)
    assert json.loads(done.stdout) == {"continue": True}
    assert last(world)["withheld"] == ["context"]
    shown = trotline_process("trace", *world.options, cwd=world.project).stdout
    assert "monitor mode, not sent: context" in shown


def test_the_canary_is_refused_all_the_same(world: World) -> None:
    done = asked(world, shell("echo trotline-canary"))
    assert json.loads(done.stdout)["permission"] == "deny"
    assert last(world)["withheld"] == []


def test_a_call_that_cannot_be_read_is_let_go_and_loud(world: World) -> None:
    done = asked(world, "no json", "--event", "beforeShellExecution")
    assert json.loads(done.stdout) == {"permission": "allow"}
    assert "not sent: deny, by trotline" in done.stderr
    assert "could not read this call" in done.stderr


def test_a_failure_of_our_own_refuses_nothing_either(world: World) -> None:
    words = ["--host", "cursor", "--event", "beforeShellExecution", "--home", str(world.home)]
    late = Failure(kind=FailureKind.TIMED_OUT, detail="late")
    sent, outcome = program.failed(Call(id="1", argv=tuple(words)), late, 0)
    assert json.loads(sent.stdout) == {"permission": "allow"}
    assert (outcome.monitored, outcome.withheld) == (True, ("deny",))
    enforcing = (*words[:-1], str(world.path / "elsewhere"))
    sent, _ = program.failed(Call(id="1", argv=enforcing), late, 0)
    assert json.loads(sent.stdout)["permission"] == "deny"


def played(host: str, event: str, verdict: Verdict, path: Path, **mode: Any) -> tuple[Answer, Outcome]:
    known = host_named(host)
    judge = Function(name="judge", event=known.events[event], call=lambda _: verdict)
    call = Call(id="1", payload=sample(known, event, "c"))
    return answer(call, Seat(known, [judge], Sessions(path), event, always=(CANARY,), **mode))


@pytest.mark.parametrize("host", HOSTS)
@examples(patient, max_examples=20)
@given(verdict=verdicts)
def test_no_host_can_tell_monitoring_from_silence(
    host: str, verdict: Verdict, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp()
    for event in host_named(host).events:
        sent, outcome = played(host, event, verdict, path, monitors=True)
        silence, _ = played(host, event, Verdict(), path)
        assert sent == silence
        assert outcome.monitored
        assert outcome.decision.permission == verdict.permission or not outcome.event.contract.refusable


def settings(world: World, *, user: str = "", machine: str = "") -> str:
    if user:
        world.write("home/.config/trotline/settings.json", user)
    if machine:
        world.write("system/etc/trotline/settings.json", machine)
    return read_settings(world.roots()).mode


def test_the_owner_of_the_machine_has_the_last_word(world: World) -> None:
    assert settings(world) == "monitor"
    assert settings(world, machine='{"mode": "enforce"}') == "enforce"
    assert settings(world, user='{"mode": "enforce"}', machine='{"mode": "monitor"}') == "monitor"


@pytest.mark.parametrize("broken", ["{", "[]", '{"mode": "off"}', '{"mode": true}'])
def test_what_cannot_be_understood_is_enforced(world: World, broken: str) -> None:
    assert settings(world, machine=broken) == "enforce"
    assert settings(world, machine="{}", user=broken) == "enforce"
    assert read_settings(world.roots()).problems


def test_a_project_has_no_say_in_it(world: World) -> None:
    world.write("home/.config/trotline/settings.json", "{}")
    for place in (".config/trotline/settings.json", ".trotline/settings.json", "settings.json"):
        world.write(f"project/{place}", '{"mode": "monitor"}')
    done = asked(world, {**shell("terraform apply"), "workspace_roots": [str(world.project)]})
    assert json.loads(done.stdout)["permission"] == "deny"


@pytest.mark.parametrize(
    "before,after",
    [
        (None, '{\n  "mode": "monitor"\n}\n'),
        ("", '{\n  "mode": "monitor"\n}\n'),
        ('{"ask_fallback": "ask"}', '{"ask_fallback": "ask", "mode": "monitor"}'),
        ('{\n  // mine\n  "mode": "enforce" // for now\n}\n', '{\n  // mine\n  "mode": "monitor" // for now\n}\n'),
        ('\ufeff{\r\n\t"mode": "enforce"\r\n}', '\ufeff{\r\n\t"mode": "monitor"\r\n}'),
    ],
)
def test_a_word_is_set_and_the_rest_of_the_file_stays(tmp_path: Path, before: str | None, after: str) -> None:
    world = new_world(tmp_path)
    file = world.home / ".config" / "trotline" / "settings.json"
    if before is not None:
        world.write("home/.config/trotline/settings.json", before.encode())
    planned = put_setting(world.roots(), "mode", "monitor", dry_run=True)
    assert planned.after == after.encode()
    assert not file.exists() or file.read_bytes() == (before or "").encode()
    put_setting(world.roots(), "mode", "monitor")
    assert file.read_bytes() == after.encode()
    assert put_setting(world.roots(), "mode", "monitor").done == "nothing to do"
    assert read_settings(world.roots()).monitors
    put_setting(world.roots(), "mode", "enforce")
    assert not read_settings(world.roots()).monitors


def test_the_default_is_not_written_where_nothing_was_said(tmp_path: Path) -> None:
    world = new_world(tmp_path)
    put_setting(world.roots(), "mode", "enforce")
    assert not (world.home / ".config").exists()


def test_a_settings_file_that_is_broken_or_elsewhere_is_left_alone(world: World) -> None:
    file = world.write("home/.config/trotline/settings.json", '{"mode":')
    with pytest.raises(TrotlineError, match="cannot be read"):
        put_setting(world.roots(), "mode", "enforce")
    assert file.read_text() == '{"mode":'
    file.unlink()
    file.symlink_to(world.write("outside.json", "{}"))
    with pytest.raises(TrotlineError, match="leads out of your home"):
        put_setting(world.roots(), "mode", "monitor")
    assert (world.path / "outside.json").read_text() == "{}"


@pytest.mark.parametrize("command", [["hosts"], ["hosts", "--probe"], ["hosts", "codex"], ["prove"]])
def test_commands_that_speak_of_refusals_say_that_there_are_none(world: World, command: list[str]) -> None:
    done = trotline_process(*command, *world.options, cwd=world.project)
    assert "monitor mode: nothing is refused but the canary" in done.stderr
    world.write("home/.config/trotline/settings.json", "{}")
    assert "monitor" not in trotline_process(*command, *world.options, cwd=world.project).stderr


def test_guards_are_heard_written_down_and_remember_no_refusal(world: World) -> None:
    body = {**shell("rm -rf ~"), "workspace_roots": [str(world.project)]}
    for _ in range(2):
        line = [sys.executable, "-m", "trotline", "hook", "cursor", "--home", str(world.home)]
        done = subprocess.run(line, input=json.dumps(body), capture_output=True, text=True, check=False)
        assert json.loads(done.stdout) == {"permission": "allow"}
        assert "monitor mode: not sent: deny, by deletion" in done.stderr
        assert (last(world)["asked"], last(world)["withheld"]) == ("deny", ["deny"])
    assert Sessions(world.roots().state / "sessions").read("c").session.memory.denied == ()


def test_a_program_of_ones_own_is_answered_by_its_handlers_alone(world: World) -> None:
    world.write("home/.config/trotline/settings.json", "{}")
    done = asked(world, {**shell("rm -rf ~"), "workspace_roots": [str(world.project)]})
    assert json.loads(done.stdout) == {"permission": "allow"}
