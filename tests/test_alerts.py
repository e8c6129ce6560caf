"""Alerts: which records match, rate limits, delivery to each channel, failures, and the configuration."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector import Collector, CollectorReply, serve_collector
from kit import MARK, Workspace, has_ended, read_rows, run_trotline
from secret_samples import fill_template
from store_behaviour import record
from test_log import call, log
from trotline.audit.export.export_progress import EXPORT_DIRECTORY, read_progress
from trotline.audit.record.record_reader import convert_record
from trotline.audit.record.record_schema import alert_schema
from trotline.audit.store.audit_log import get_spool
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import StoredLine
from trotline.config.alerts_file import OCCASIONS, Alert, AlertTable, read_alerts
from trotline.delivery import alerts as alerts_module
from trotline.delivery.alerts import ALERTS_STATE_FILE, AlertMessage, AlertRound, AlertState, matches_record

ROOT = Path(__file__).parents[1]
SECRET = fill_template("ghp_{crc*36}")
NOW = 1_900_000_000_000_000
MINUTE = 60_000_000
FAILED = [{"author": "a-hook", "permission": "none", "failure": "timed-out", "micros": 1}]


@pytest.fixture
def server() -> Iterator[Collector]:
    with serve_collector() as collector:
        yield collector


def build_alert(**settings: Any) -> Alert:
    return Alert(**{"name": "a", "on": "denied", "layer": "user", "desktop": True, **settings})


def configure_alert(workspace: Workspace, *lines: str, name: str = "mine", on: str = "denied") -> None:
    text = "\n".join(["[[alert]]", f'name = "{name}"', f'on = "{on}"', *lines, ""])
    workspace.write("home/.config/trotline/trotline.toml", text)


def write_recorder(workspace: Workspace) -> tuple[Path, Path]:
    """Write a program that saves its input; return its path and that of the saved input."""
    received = workspace.path / "kept.jsonl"
    text = f"#!/bin/sh\nprintf '%s ' \"$@\" >> '{workspace.path}/arguments'\ncat >> '{received}'\n"
    return workspace.script("home/bin/keep", text), received


def keep(workspace: Workspace, *bodies: dict[str, Any]) -> None:
    for body in bodies:
        assert get_spool(workspace.roots().state).append(body) == ""


def list_schema_errors(body: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema_rs.Draft202012Validator(alert_schema()).iter_errors(body)]


# -- matching records


@pytest.mark.parametrize(
    "settings,fields,due",
    read_rows("alerts", "records_match_alerts"),
)
def test_records_match_alerts(settings: dict[str, Any], fields: dict[str, Any], due: bool) -> None:
    assert matches_record(build_alert(**settings), convert_record(record(1, **fields))) is due


@given(st.sampled_from([*OCCASIONS]), st.dictionaries(st.sampled_from([*record(1), "findings"]), st.integers()))
def test_odd_records_do_not_break_a_round(on: str, odd: dict[str, Any]) -> None:
    malformed = convert_record({**record(1), "responses": 3, **odd, "seq": 1})
    assert matches_record(build_alert(on=on), malformed) in {True, False}
    assert json.dumps(AlertMessage(build_alert(on=on), malformed, 2).body)


# -- rate limits


class Times:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "audit_log.db") as opened:
        yield opened


def send_round(round_: AlertRound, store: SqliteStore, sent: list[AlertMessage]) -> list[tuple[str, int]]:
    """Run a round; return the record ID and the number of further records of each alert."""
    before = len(sent)
    round_.run(store, 0)
    return [(item.record.id if item.record else "", item.suppressed) for item in sent[before:]]


def record_messages(sent: list[AlertMessage]) -> Callable[[AlertMessage], str]:
    def deliver(message: AlertMessage) -> str:
        sent.append(message)
        return ""

    return deliver


def append(store: SqliteStore, *numbers: int, **fields: Any) -> None:
    store.append([StoredLine(record(number, **{"decided": "deny", "at_us": 1, **fields})) for number in numbers])


def test_alerts_are_limited_and_the_rest_is_counted(tmp_path: Path, store: SqliteStore, times: Times) -> None:
    sent: list[AlertMessage] = []

    def next_round() -> AlertRound:
        return AlertRound(tmp_path, [build_alert(at_most=2, per="10m")], times, record_messages(sent))

    append(store, 1, 2, 3, 4, 5)
    item = next_round()
    assert send_round(item, store, sent) == [("id-1", 0), ("id-2", 0)]
    assert item.due == [NOW + 10 * MINUTE]
    append(store, 6)
    times.now += MINUTE
    assert send_round(next_round(), store, sent) == []
    times.now += 10 * MINUTE
    assert send_round(next_round(), store, sent) == [("", 4)]
    append(store, 7)
    assert send_round(next_round(), store, sent) == [("id-7", 0)]
    assert sent[-2].text == "4 more since the last alert"
    assert [list_schema_errors(item.body) for item in sent] == [[]] * 4
    assert next_round().state.fired["a"].count == 4


def test_failed_delivery_is_counted_with_suppressed_alerts(tmp_path: Path, store: SqliteStore, times: Times) -> None:
    sent: list[AlertMessage] = []
    answers = ["it is broken", "", ""]

    def deliver(message: AlertMessage) -> str:
        sent.append(message)
        return answers.pop(0)

    append(store, 1, 2)
    rounds = AlertRound(tmp_path, [build_alert(at_most=2)], times, deliver).run(store, 0)
    assert [item.record.id for item in sent if item.record] == ["id-1", "id-2"]
    assert [item.suppressed for item in sent] == [0, 1]
    assert rounds.fired["a"].trouble is None


def test_new_alert_ignores_old_records(tmp_path: Path, store: SqliteStore, times: Times) -> None:
    sent: list[AlertMessage] = []
    deliver = record_messages(sent)
    append(store, 1, at_us=10)
    append(store, 2, at_us=20)
    AlertRound(tmp_path, [build_alert()], times, deliver).run(store, since_us=15)
    append(store, 3, at_us=5)
    second_round = AlertRound(tmp_path, [build_alert()], times, deliver)
    second_round.run(store, since_us=15)
    assert second_round.sent == 1
    assert [item.record.id for item in sent if item.record] == ["id-2", "id-3"]


def test_silence_is_reported_once_until_the_next_call(tmp_path: Path, store: SqliteStore, times: Times) -> None:
    sent: list[AlertMessage] = []

    def next_round() -> AlertRound:
        deliver = record_messages(sent)
        return AlertRound(tmp_path, [build_alert(on="silent", after="1h")], times, deliver)

    assert send_round(next_round(), store, sent) == []
    append(store, 1, at_us=NOW - 59 * MINUTE)
    item = next_round()
    assert send_round(item, store, sent) == []
    assert item.due == [NOW + MINUTE]
    times.now += MINUTE
    assert send_round(next_round(), store, sent) == [("id-1", 0)]
    times.now += 1000 * MINUTE
    assert send_round(next_round(), store, sent) == []
    append(store, 2, at_us=times.now)
    assert send_round(next_round(), store, sent) == []
    times.now += 60 * MINUTE
    assert send_round(next_round(), store, sent) == [("id-2", 0)]
    assert "no call has come since" in sent[-1].text


def test_denied_action_that_was_done_sends_an_alert(workspace: Workspace) -> None:
    recorder, received = write_recorder(workspace)
    configure_alert(workspace, f'command = ["{recorder}"]', on="alarm")
    call(workspace, "echo trotline-canary")
    assert workspace.run("log", "send").returncode == 0
    call(workspace, "echo trotline-canary", event="afterShellExecution")
    assert workspace.run("log", "send").returncode == 0
    (line,) = received.read_text().splitlines()
    assert "done all the same" in json.loads(line)["text"]


@pytest.mark.parametrize("since_us,alarms", [(20, 1), (21, 0)])
def test_alarm_before_the_first_round_is_sent_if_the_alert_is_older(
    tmp_path: Path, store: SqliteStore, times: Times, since_us: int, alarms: int
) -> None:
    sent: list[AlertMessage] = []
    for number, event in ((1, "beforeShellExecution"), (2, "afterShellExecution")):
        append(store, number, event=event, at_us=10 * number)
        store.append([StoredLine({"schema": "trotline.detail/2", "id": f"id-{number}", "action": "a"})])
    for _ in range(2):
        AlertRound(tmp_path, [build_alert(on="alarm")], times, record_messages(sent)).run(store, since_us)
    assert [item.record.id for item in sent if item.record] == ["id-2"] * alarms


def test_execution_without_a_question_sends_an_alert_and_unused_permission_does_not(workspace: Workspace) -> None:
    recorder, received = write_recorder(workspace)
    configure_alert(workspace, f'command = ["{recorder}"]', on="alarm")
    for command, event in (
        ("", "sessionStart"),
        ("ls", "beforeShellExecution"),
        ("ls", "afterShellExecution"),
        ("make", "beforeShellExecution"),
        ("", "stop"),
    ):
        call(workspace, command, event=event)
    assert workspace.run("log", "send").returncode == 0
    assert not received.exists()
    for command in ("make", "rm notes"):
        call(workspace, command, event="afterShellExecution")
    assert workspace.run("log", "send").returncode == 0
    (line,) = received.read_text().splitlines()
    assert "nobody was asked before: a hook stopped firing" in json.loads(line)["text"]


# -- channels


def test_command_reads_the_record_without_a_shell(workspace: Workspace) -> None:
    recorder, received = write_recorder(workspace)
    configure_alert(workspace, f'command = ["{recorder}", "$(touch {workspace.path}/pwned)", "a b"]')
    call(workspace, f"echo trotline-canary {SECRET}")
    call(workspace, "ls")
    done = workspace.run("log", "send")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = received.read_text().splitlines()
    body = json.loads(line)
    assert (body["schema"], body["alert"], body["on"], body["more"]) == ("trotline.alert/1", "mine", "denied", 0)
    assert list_schema_errors(body) == []
    assert body["record"]["detail"]["payload"]["command"].startswith("echo trotline-canary")
    assert body["text"].startswith("cursor beforeShellExecution: denied by canary: echo trotline-canary")
    assert SECRET not in line
    assert (workspace.path / "arguments").read_text() == f"$(touch {workspace.path}/pwned) a b "
    assert not (workspace.path / "pwned").exists()
    assert "mine on denied" in workspace.run("log", "alerts").stdout
    assert "sent 1 time, last" in workspace.run("log", "alerts").stdout


def test_webhook_gets_detail_only_if_configured(workspace: Workspace, server: Collector) -> None:
    configure_alert(workspace, f'webhook = "{server.url}/hook"')
    call(workspace, "echo trotline-canary at example.com")
    assert workspace.run("log", "send").returncode == 0
    (request,) = server.requests
    body = json.loads(request.body)
    assert (request.path, request.headers["content-type"]) == ("/hook", "application/json")
    assert body["text"] == "cursor beforeShellExecution: denied by canary"
    assert "detail" not in body["record"]
    assert b"example.com" not in request.body
    configure_alert(workspace, f'webhook = "{server.url}/hook"', "details = true")
    call(workspace, f"echo trotline-canary at example.com {SECRET}")
    assert workspace.run("log", "send").returncode == 0
    assert b"example.com" in server.requests[-1].body
    assert SECRET.encode() not in server.requests[-1].body


def test_webhook_address_can_be_in_a_private_file(workspace: Workspace, server: Collector) -> None:
    file = workspace.write("home/.config/trotline/hook.url", f"{server.url}/secret-path\n", 0o600)
    configure_alert(workspace, 'webhook_file = "hook.url"')
    server.replies = [CollectorReply(500, (), b"no")]
    call(workspace, "echo trotline-canary")
    workspace.run("log", "send")
    output = workspace.run("log", "alerts").stdout
    assert "it did not arrive: it answered with status 500, internal server error" in output
    assert "secret-path" not in output
    assert "1 more, of which nobody was told yet" in output
    file.chmod(0o644)
    assert "others may read" in workspace.run("log", "alerts", "test", "mine").stderr


@pytest.mark.parametrize("tool", ["notify-send", "osascript"])
def test_desktop_notification_gets_its_text_as_arguments(workspace: Workspace, tool: str) -> None:
    workspace.script(f"bin/{tool}", f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{workspace.path}/shown'\n")
    configure_alert(workspace, "desktop = true")
    keep(workspace, record(1, decided="deny", at_us=NOW * 2, agent='<b>"; do shell script "x'))
    path = {"PATH": f"{workspace.path}/bin"}
    sent = workspace.run("log", "send", environment=path)
    assert sent.returncode == 0
    assert "no records are sent anywhere" in sent.stdout
    assert sent.stdout.endswith("\n1 alert sent\n")
    output = (workspace.path / "shown").read_text()
    assert "Trotline: mine\n" in output
    assert ("&lt;b&gt;" in output) is (tool == "notify-send")


def test_failing_or_missing_program_is_reported(workspace: Workspace) -> None:
    for script, why in (("exit 3", "ended with 3"), (None, "cannot be run: not found")):
        path = workspace.script("home/bin/bad", f"#!/bin/sh\n{script}\n") if script else workspace.home / "bin" / "none"
        configure_alert(workspace, f'command = ["{path}"]')
        done = workspace.run("log", "alerts", "test", "mine")
        assert (done.returncode, why in done.stderr) == (1, True)
    call(workspace, "echo trotline-canary")
    assert workspace.run("log", "send").returncode == 0, "what is sent to collectors is another matter"
    assert workspace.run("log", "alerts").returncode == 1
    message = workspace.run("doctor").stdout
    assert "`mine` did not arrive" in message


def test_sample_is_marked_as_a_sample(workspace: Workspace, server: Collector) -> None:
    configure_alert(workspace, f'webhook = "{server.url}"')
    done = workspace.run("log", "alerts", "test", "mine")
    assert (done.returncode, done.stdout) == (0, "sent: sample beforeShellExecution: denied by sample\n")
    body = json.loads(server.requests[0].body)
    assert (body["sample"], list_schema_errors(body)) == (True, [])
    assert workspace.run("log", "alerts", "test", "other").returncode == 64
    assert read_progress(workspace.roots().state / EXPORT_DIRECTORY / ALERTS_STATE_FILE, AlertState).fired == {}


# -- off by default, and without delay for calls


def test_no_alert_is_sent_by_default(workspace: Workspace) -> None:
    call(workspace, "echo trotline-canary")
    assert workspace.run("log", "send").returncode == 0
    assert "nobody is told anything" in workspace.run("log", "alerts").stdout
    assert json.loads(workspace.run("log", "alerts", "--json").stdout)["data"] == {"alerts": []}


def test_reading_the_log_sends_alerts(workspace: Workspace, server: Collector) -> None:
    configure_alert(workspace, f'webhook = "{server.url}"')
    call(workspace, "echo trotline-canary")
    assert log(workspace, "--count").stdout == "1\n"
    server.wait_for(lambda item: len(item.requests) == 1)


def test_hook_call_imports_no_delivery_module(workspace: Workspace) -> None:
    configure_alert(workspace, "desktop = true")
    code = (
        "import sys, io; sys.argv = ['trotline', 'hook', 'cursor', '--home', sys.argv[1]]\n"
        "from trotline.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    payload = json.dumps({"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "ls"})
    argv = [sys.executable, "-I", "-c", code, str(workspace.home)]
    done = subprocess.run(argv, input=payload, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) | set(done.stderr.split())
    assert "trotline.hook.process" in loaded
    ours = {name for name in loaded if name.startswith(("trotline.delivery", "trotline.audit.export"))}
    assert ours == set()
    assert not {"httpx2", "google.protobuf", "opentelemetry", "tomllib", "sqlite3"} & loaded


# -- the file

WELL = '[[alert]]\nname = "a"\non = "denied"\n'


@pytest.mark.parametrize(
    "text,code,message",
    read_rows("alerts", "problem_has_code_and_place"),
)
def test_problem_has_code_and_place(workspace: Workspace, text: str, code: str, message: str) -> None:
    workspace.write("home/.config/trotline/trotline.toml", text)
    read = read_alerts(workspace.roots())
    assert read.alerts == ()
    (problem,) = read.problems
    before = text[: text.index(MARK)]
    if "no TOML" not in message:
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        assert (problem.place.line, problem.place.column) == (line, column)
    assert (problem.code, message in problem.message) == (code, True), problem.message


def test_invalid_alert_does_not_disable_valid_alerts(workspace: Workspace) -> None:
    text = f'{WELL}desktop = true\n[[alert]]\nname = "b"\non = "odd"\ndesktop = true\n{WELL}desktop = true\n'
    workspace.write("home/.config/trotline/trotline.toml", text)
    read = read_alerts(workspace.roots())
    assert [item.name for item in read.alerts] == ["a"]
    assert [(problem.place.line, problem.place.column) for problem in read.problems] == [(7, 1), (10, 1)]
    assert "there is an alert `a` already" in read.problems[1].message
    done = workspace.run("check")
    assert (done.returncode, done.stdout.count("TL283")) == (1, 2)


def test_machine_and_user_have_alerts_and_a_project_has_none(workspace: Workspace) -> None:
    workspace.write("system/etc/trotline/trotline.toml", f"{WELL}desktop = true\n")
    workspace.write("home/.config/trotline/trotline.toml", f"{WELL}desktop = true\n".replace('"a"', '"b"'))
    workspace.write("project/.trotline/trotline.toml", f'{WELL}command = ["/bin/sh", "-c", "x"]\n')
    read = read_alerts(workspace.roots())
    assert [(item.name, item.layer) for item in read.alerts] == [("a", "enterprise"), ("b", "user")]
    assert read.problems == ()
    done = workspace.run("check")
    assert "a project cannot say this: `alert` is not in force" in done.stdout


def test_every_occasion_is_listed(workspace: Workspace) -> None:
    output = run_trotline("log", "alerts", "occasions", cwd=workspace.project).stdout
    assert [line.partition(":")[0] for line in output.splitlines()] == list(OCCASIONS)


def test_documented_alerts_are_valid_and_every_key_is_documented(workspace: Workspace) -> None:
    page = (ROOT / "docs" / "alerts.md").read_text("utf-8")
    (output,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    workspace.write("home/.config/trotline/trotline.toml", output)
    read = read_alerts(workspace.roots())
    assert (read.problems, [item.name for item in read.alerts]) == ((), ["refused", "key-in-a-text", "quiet"])
    assert [key for key in AlertTable.__struct_fields__ if f"`{key}`" not in page] == []
    (sample,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert set(json.loads(sample)) == set(AlertMessage(build_alert(), convert_record(record(1))).body)


def test_hanging_program_is_killed_with_its_children(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts_module, "CHANNEL_TIMEOUT", 0.5)
    script = f"#!/bin/sh\nsleep 1000 &\necho $! > '{workspace.path}/child'\necho x > '{workspace.path}/begun'\nwait\n"
    path = workspace.script("home/bin/slow", script)
    message = AlertMessage(build_alert(desktop=False, command=(str(path),)), convert_record(record(1)))
    why = alerts_module.deliver_message(message, alerts_module.ChannelContext({}, Times()))
    assert "did not end within 0.5 s" in why
    if (workspace.path / "begun").exists():
        assert has_ended(int((workspace.path / "child").read_text()))
