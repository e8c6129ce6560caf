"""What is sent to a collector: all of it, in order, each batch until it is taken; and nothing by default."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from collector import Collector, CollectorReply, read_attributes, serve_collector
from kit import Workspace, make_workspace
from secret_samples import SECRET_TEMPLATES, fill_template, list_secret_values
from store_behaviour import detail, record
from test_log import call, log
from trotline.audit.export import otlp
from trotline.audit.export.export_progress import (
    MAX_PAUSE_US,
    MAX_WAIT_US,
    ExportProgress,
    compute_pause_us,
    read_progress,
)
from trotline.audit.record.record_reader import convert_record
from trotline.audit.store.audit_log import get_spool

SECRET = fill_template("ghp_{crc*36}")
NOW = 1_700_000_000_000_000


@pytest.fixture
def collector() -> Iterator[Collector]:
    with serve_collector() as one:
        yield one


def configured(workspace: Workspace, collector: Collector, *lines: str) -> None:
    text = "\n".join(["[export]", f'endpoint = "{collector.url}"', *lines, ""])
    workspace.write("home/.config/trotline/trotline.toml", text)


def keep(workspace: Workspace, count: int, first: int = 1, **fields: Any) -> None:
    spool = get_spool(workspace.roots().state)
    for number in range(first, first + count):
        assert spool.append(record(number, at_us=NOW + number, **fields)) == ""


def send(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return log(workspace, "send", *words)


def progress(workspace: Workspace, layer: str = "user") -> ExportProgress:
    return read_progress(workspace.roots().state / "outflow" / f"{layer}.json", ExportProgress)


def ids(*numbers: int) -> list[str]:
    return [f"id-{number}" for number in numbers]


# -- nothing by default


def test_nothing_is_sent_unless_somebody_says_where(workspace: Workspace, collector: Collector) -> None:
    keep(workspace, 3)
    done = send(workspace)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing is sent anywhere" in done.stdout
    assert collector.got == []
    assert not (workspace.roots().state / "outflow").exists()


def test_a_project_cannot_say_where(workspace: Workspace, collector: Collector) -> None:
    workspace.write("project/.trotline/trotline.toml", f'[export]\nendpoint = "{collector.url}"\n')
    keep(workspace, 3)
    done = send(workspace)
    assert "nothing is sent anywhere" in done.stdout
    assert collector.got == []
    checked = workspace.run("check")
    assert "a project cannot say this: `export` is not in force" in checked.stdout


# -- what arrives


def test_records_arrive_oldest_first_and_once(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, "batch = 2")
    keep(workspace, 5)
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 5)
    keep(workspace, 2, first=6)
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 5, 6, 7)
    assert [len(got.logs) for got in collector.got if got.logs] == [2, 2, 1, 2]
    assert send(workspace).returncode == 0
    assert len(collector.got) == 8
    assert (progress(workspace).sent, progress(workspace).failures, progress(workspace).pending) == (7, 0, None)


def test_a_real_call_arrives_redacted_with_its_trace(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, "words = true", "[export.resource]", '"host.name" = "a-laptop"')
    call(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com")
    call(workspace, "echo trotline-canary")
    call(workspace, "", event="sessionEnd")
    assert send(workspace).returncode == 0
    logs = [log for got in collector.got for log in got.logs]
    about = read_attributes(collector.got[0].message.resource_logs[0].resource.attributes)
    assert (about["service.name"], about["host.name"]) == ("trotline", "a-laptop")
    assert [read_attributes(log.attributes)["trotline.event"] for log in logs] == [
        *["beforeShellExecution"] * 2,
        "sessionEnd",
    ]
    assert [log.severity_text for log in logs] == ["INFO", "WARN", "INFO"]
    assert "curl -H" in str(logs[0].body)
    spans = {span.span_id: span for span in collector.spans}
    assert {log.span_id for log in logs} < set(spans)
    (root,) = (span for span in spans.values() if not span.parent_span_id)
    assert root.name == "conversation cursor"
    assert root.start_time_unix_nano == min(log.time_unix_nano for log in logs)
    assert root.end_time_unix_nano == max(log.time_unix_nano for log in logs)
    assert root.trace_id.hex() == otlp.get_trace_id(convert_record({"agent": "cursor", "conversation": "c1"}))
    assert {span.trace_id for span in spans.values()} == {root.trace_id}
    assert {span.parent_span_id for span in spans.values() if span is not root} == {root.span_id}
    assert all(SECRET.encode() not in got.body for got in collector.got)


def test_words_are_sent_only_if_somebody_says_so(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector)
    call(workspace, "curl https://example.com/private")
    assert send(workspace).returncode == 0
    assert collector.taken
    assert all(b"example.com" not in got.body for got in collector.got)


def test_a_turn_is_a_span_once_it_is_over(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector)
    keep(workspace, 2, generation="g1")
    keep(workspace, 1, first=3, generation="g1", event="stop")
    assert send(workspace).returncode == 0
    (turn,) = (span for span in collector.spans if span.name == "invoke_agent somebody")
    assert (turn.start_time_unix_nano, turn.end_time_unix_nano) == ((NOW + 1) * 1000, (NOW + 3) * 1000)
    events = [span for span in collector.spans if span.span_id != turn.span_id]
    assert [span.parent_span_id for span in events] == [turn.span_id] * 3
    assert turn.parent_span_id.hex() == otlp.get_scope_span_id(("somebody", "c1", ""))


def test_headers_come_from_a_file_or_a_variable_and_are_shown_nowhere(
    workspace: Workspace, collector: Collector
) -> None:
    workspace.write(
        "home/.config/trotline/headers", "# for the collector\nAuthorization: Bearer s3cret-s3cret\n", 0o600
    )
    configured(workspace, collector, 'headers_file = "headers"', 'headers_env = "TEAM_HEADERS"')
    keep(workspace, 1)
    done = send(workspace)
    assert done.returncode == 1
    assert "the variable TEAM_HEADERS is not set here" in done.stdout
    assert collector.got == []
    argv = [sys.executable, "-m", "trotline", "log", "send", *workspace.options]
    environment = {**os.environ, "TEAM_HEADERS": "x-team=blue%20sky, x-more=1"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    (got, _) = collector.got
    assert (got.headers["authorization"], got.headers["x-team"]) == ("Bearer s3cret-s3cret", "blue sky")
    kept = [path.read_bytes() for path in workspace.roots().state.rglob("*") if path.is_file()]
    assert not any(b"s3cret-s3cret" in data for data in [*kept, done.stdout.encode(), done.stderr.encode()])


def test_a_file_of_headers_that_others_may_read_is_not_used(workspace: Workspace, collector: Collector) -> None:
    workspace.write("home/.config/trotline/headers", "Authorization: Bearer x\n", 0o644)
    configured(workspace, collector, 'headers_file = "headers"')
    keep(workspace, 1)
    assert "others may read" in send(workspace).stdout
    assert collector.got == []


def test_json_needs_no_library(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, 'protocol = "http/json"', 'signals = ["logs"]')
    keep(workspace, 2)
    assert send(workspace).returncode == 0
    (got,) = collector.got
    assert got.headers["content-type"] == "application/json"
    logs = json.loads(got.body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert [len(log["traceId"]) for log in logs] == [32, 32]


def test_the_machine_and_the_person_may_both_have_a_collector(workspace: Workspace, collector: Collector) -> None:
    with serve_collector() as other:
        configured(workspace, collector)
        workspace.write(
            "system/etc/trotline/trotline.toml", f'[export]\nendpoint = "{other.url}"\nsignals = ["logs"]\n'
        )
        keep(workspace, 2)
        assert send(workspace).returncode == 0
        assert collector.taken == other.taken == ids(1, 2)
        assert (progress(workspace, "enterprise").seq, len(other.got)) == (2, 1)


def test_a_batch_names_the_head_of_the_chain_so_that_a_cut_end_is_seen(
    workspace: Workspace, collector: Collector
) -> None:
    configured(workspace, collector)
    keep(workspace, 3)
    assert send(workspace).returncode == 0
    scope = collector.got[0].scope
    anchor = workspace.write("elsewhere", f"{scope['trotline.head.seq']} {scope['trotline.head.digest']}\n")
    assert "it holds; anchored up to entry 3" in log(workspace, "verify", "--anchor", str(anchor)).stdout
    db = sqlite3.connect(workspace.roots().state / "trail.db")
    db.executescript("DELETE FROM entries WHERE seq = 3; DELETE FROM records WHERE seq = 3; DELETE FROM checkpoints")
    db.close()
    assert log(workspace, "verify", "--anchor", str(anchor)).returncode == 1


# -- when it is not taken


@pytest.mark.parametrize("status", [429, 502, 503, 504, 500, 401, 404, 400, 302])
def test_what_is_not_taken_is_sent_again_later(workspace: Workspace, collector: Collector, status: int) -> None:
    configured(workspace, collector)
    keep(workspace, 3)
    collector.says = [
        CollectorReply(status, (("Retry-After", "120"), ("Location", collector.url + "/elsewhere")), b"not now")
    ]
    done = send(workspace)
    assert done.returncode == 1
    assert f"it answered with status {status}, " in done.stdout
    assert "not now" not in done.stdout  # a server may quote what it was sent
    assert len(collector.got) == 1
    noted_ = progress(workspace)
    assert (noted_.failures, noted_.seq, noted_.sent) == (1, 0, 0)
    assert noted_.trouble is not None
    assert noted_.next_us - noted_.trouble.at_us >= 120_000_000
    send(workspace, "--background")
    assert len(collector.got) == 1, "not before the time that the collector named"
    assert send(workspace).returncode == 0, "but when a person says so"
    first, again, spans = collector.got
    assert first.body == again.body
    assert first.batch == again.batch == spans.batch
    assert (first.headers["idempotency-key"], spans.headers["idempotency-key"]) == (
        f"{first.batch}-logs",
        f"{first.batch}-traces",
    )
    assert (progress(workspace).failures, progress(workspace).sent) == (0, 3)


def test_what_was_taken_of_a_batch_is_not_sent_again(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector)
    keep(workspace, 2)
    collector.says = [CollectorReply(), CollectorReply(503)]
    assert send(workspace).returncode == 1
    assert send(workspace).returncode == 0
    assert [got.path for got in collector.got] == ["/v1/logs", "/v1/traces", "/v1/traces"]


def test_a_batch_that_is_too_large_is_halved_and_one_that_stays_so_is_counted(
    workspace: Workspace, collector: Collector
) -> None:
    configured(workspace, collector, 'signals = ["logs"]')
    keep(workspace, 4)
    collector.says = [CollectorReply(413), CollectorReply(413)]  # all four, then two
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 1, 2, 1, 2, 3, 4)
    assert (progress(workspace).sent, progress(workspace).refused) == (4, 0)
    keep(workspace, 2, first=5)
    collector.says = [CollectorReply(413), CollectorReply(413)]
    done = send(workspace)
    assert "1 refused" in done.stdout
    assert "record 5 is too large for it" in done.stdout
    assert (progress(workspace).sent, progress(workspace).refused) == (5, 1)


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_what_a_collector_takes_and_refuses_is_counted_and_not_sent_again(
    workspace: Workspace, collector: Collector, protocol: str
) -> None:
    configured(workspace, collector, f'protocol = "{protocol}"', 'signals = ["logs"]')
    keep(workspace, 3)
    answer = ExportLogsServiceResponse()
    answer.partial_success.rejected_log_records = 2
    answer.partial_success.error_message = "too old"
    body = answer.SerializeToString()
    if protocol == "http/json":
        body = b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}'
    collector.says = [CollectorReply(200, (), body)]
    done = send(workspace)
    assert "2 refused" in done.stdout
    assert "it refused 2 of a batch: too old" in done.stdout
    send(workspace)
    assert len(collector.got) == 1


def test_a_collector_that_is_dead_blocks_nobody_and_is_visible(workspace: Workspace) -> None:
    with serve_collector() as gone:
        configured(workspace, gone)
    call(workspace, "ls")
    done = send(workspace)
    assert done.returncode == 1
    assert "it could not be reached" in done.stdout
    assert "1 failure in a row; next try" in done.stdout
    call(workspace, "ls")
    assert log(workspace, "--count").stdout == "2\n"
    status = log(workspace, "export", "--status", "--json")
    (one,) = json.loads(status.stdout)["data"]["destinations"]
    assert (one["waiting"], one["failures"], status.returncode) == (2, 1, 1)
    said = workspace.run("doctor").stdout
    assert "it could not be reached" in said


def test_a_person_may_pass_over_what_is_there(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, 'signals = ["logs"]')
    keep(workspace, 3)
    assert send(workspace, "--skip").returncode == 0
    assert collector.got == []
    keep(workspace, 1, first=4)
    assert send(workspace).returncode == 0
    assert collector.taken == ids(4)


def test_a_new_trail_in_the_same_place_is_sent_from_its_beginning(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, 'signals = ["logs"]')
    keep(workspace, 3)
    assert send(workspace).returncode == 0
    for file in workspace.roots().state.glob("trail.db*"):
        file.unlink()
    keep(workspace, 4, first=11)
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 11, 12, 13, 14)


def test_what_was_forgotten_before_it_was_sent_is_not_sent(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, 'signals = ["logs"]')
    keep(workspace, 2)
    keep(workspace, 2, first=3, conversation="other")
    collector.says = [CollectorReply(503)]
    assert send(workspace).returncode == 1
    assert log(workspace, "conversations", "--clear", "c1").returncode == 0
    assert send(workspace).returncode == 0
    assert collector.taken[4:] == ids(3, 4)


# -- whoever sends may die at any moment


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/traces"])
def test_a_sender_that_is_killed_leaves_no_gap_and_one_batch_that_is_sent_again(
    workspace: Workspace, collector: Collector, path: str
) -> None:
    configured(workspace, collector, "batch = 2")
    keep(workspace, 6)
    argv = [sys.executable, "-m", "trotline", "log", "send", *workspace.options]
    sender = subprocess.Popen(argv, stdout=subprocess.DEVNULL)

    def kill(got: Any) -> None:
        if got.path == path and len(collector.taken) == 4:
            collector.before_answer = lambda _: None
            sender.send_signal(signal.SIGKILL)
            sender.wait()

    collector.before_answer = kill
    assert sender.wait() == -signal.SIGKILL
    assert send(workspace).returncode == 0
    again = ids(3, 4) if path == "/v1/logs" else []
    assert collector.taken == [*ids(1, 2, 3, 4), *again, *ids(5, 6)]
    twice = [got for got in collector.got if got.path == path][1:3]
    assert twice[0].body == twice[1].body
    events = [span.span_id for span in collector.spans]
    assert len(set(events)) == 6


def test_two_senders_do_not_send_the_same(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, 'signals = ["logs"]')
    keep(workspace, 2)
    answers: list[int] = []
    collector.before_answer = lambda _: answers.append(send(workspace).returncode)
    assert send(workspace).returncode == 0
    assert answers == [75]
    assert collector.taken == ids(1, 2)


# -- by itself


def test_what_the_trail_had_already_is_sent_without_a_new_call(workspace: Workspace, collector: Collector) -> None:
    keep(workspace, 2)
    assert log(workspace, "--count").stdout == "2\n"
    configured(workspace, collector)
    assert log(workspace, "--count").stdout == "2\n"
    collector.wait_for(lambda one: len(one.got) == 2)


def test_asking_the_trail_sets_a_sender_off(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector)
    keep(workspace, 2)
    assert log(workspace, "--count").stdout == "2\n"
    collector.wait_for(lambda one: len(one.got) == 2)
    assert collector.taken == ids(1, 2)


@pytest.fixture
def near() -> Iterator[Workspace]:
    """A workspace whose paths are short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="tl", dir="/tmp", ignore_cleanup_errors=True) as directory:
        yield make_workspace(Path(directory))


def test_the_service_sets_a_sender_off(near: Workspace, collector: Collector) -> None:
    workspace = near
    configured(workspace, collector)
    keep(workspace, 2)
    service = subprocess.Popen(
        [sys.executable, "-m", "trotline", "service", "run", "--idle", "50", "--home", str(workspace.home)],
        stderr=subprocess.DEVNULL,
    )
    try:
        collector.wait_for(lambda one: len(one.got) == 2)
    finally:
        service.terminate()
        service.wait()
    assert collector.taken == ids(1, 2)


def test_a_call_whose_words_have_not_come_yet_is_waited_for(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector, 'signals = ["logs"]', "words = true")
    now = int(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout) * 1_000_000
    spool = get_spool(workspace.roots().state)
    spool.append(record(1, at_us=now + 3_600_000_000))  # a clock that is ahead is not waited for
    spool.append(record(2, at_us=now))
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1)
    spool.append(detail(2, command="make"))
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1, 2)
    assert b"make" in collector.got[-1].body


# -- into a file


def test_an_export_may_go_into_a_file_that_is_its_owners(workspace: Workspace) -> None:
    keep(workspace, 2)
    file = workspace.path / "out.jsonl"
    assert log(workspace, "export", "--output", str(file)).returncode == 0
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ids(2, 1)
    assert file.stat().st_mode & 0o777 == 0o600


# -- pauses


def test_pauses_grow_and_have_an_end() -> None:
    pauses = [compute_pause_us(failures) for failures in range(40)]
    assert pauses[0] < pauses[2] < pauses[4]
    assert max(pauses) <= MAX_PAUSE_US * 5 // 4
    assert compute_pause_us(0, 10**15) == MAX_WAIT_US


def test_a_time_that_no_pause_can_have_named_is_not_waited_for() -> None:
    assert not ExportProgress(next_us=NOW + 1).is_due(NOW)
    assert ExportProgress(next_us=NOW).is_due(NOW)
    assert ExportProgress(next_us=NOW + 2 * MAX_WAIT_US).is_due(NOW)


# -- what nobody may learn


def test_no_secret_of_any_kind_leaves_by_any_way(workspace: Workspace, collector: Collector) -> None:
    with serve_collector() as chat:
        configured(workspace, collector, "words = true")
        keeper = workspace.script("home/bin/keep", f"#!/bin/sh\ncat >> '{workspace.path}/kept'\n")
        ways = (f'command = ["{keeper}"]', f'webhook = "{chat.url}"\nwords = true')
        rules = [f'[[alert]]\nname = "a{n}"\non = "slow"\nover = "1ms"\nat_most = 100\n{w}' for n, w in enumerate(ways)]
        file = workspace.home / ".config/trotline/trotline.toml"
        file.write_text(file.read_text() + "\n".join(rules) + "\n")
        templates = sorted(SECRET_TEMPLATES.values())
        for at in range(0, len(templates), 25):
            call(workspace, "cat <<EOF\n" + "\n".join(map(fill_template, templates[at : at + 25])) + "\nEOF")
        assert send(workspace).returncode == 0
        left = [got.body for got in (*collector.got, *chat.got)] + [(workspace.path / "kept").read_bytes()]
    left += [log(workspace, "export", "--format", form).stdout.encode() for form in ("jsonl", "csv", "ocsf", "otlp")]
    left += [path.read_bytes() for path in (workspace.roots().state / "outflow").iterdir()]
    planted = [value.encode() for template in templates for value in list_secret_values(template)]
    assert len(planted) >= 150
    assert len(chat.got) == len(range(0, len(templates), 25))
    assert [value for value in planted if any(value in data for data in left)] == []


def test_what_is_noted_is_its_owners(workspace: Workspace, collector: Collector) -> None:
    configured(workspace, collector)
    keep(workspace, 1)
    assert send(workspace).returncode == 0
    directory = workspace.roots().state / "outflow"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seq": "x"}', '{"seq": -5}'])
def test_a_journal_that_says_nothing_is_begun_anew(workspace: Workspace, collector: Collector, text: str) -> None:
    configured(workspace, collector, 'signals = ["logs"]')
    workspace.write("home/.local/state/trotline/v1/outflow/user.json", text)
    keep(workspace, 2)
    assert send(workspace).returncode == 0
    assert collector.taken == ids(1, 2)


# -- servers that are none


@contextmanager
def odd_server(answer: bytes, *, hangs: bool = False) -> Iterator[str]:
    """One that says the same to everybody, or nothing at all, and keeps the line open."""
    listener = socket.create_server(("127.0.0.1", 0))
    lines: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                lines.append(line)
                line.recv(1 << 20)
                line.sendall(answer)
                if not hangs:
                    line.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for line in lines:
        line.close()


@pytest.mark.parametrize(
    "answer,hangs,said",
    [
        (b"", True, "did not answer within 1 s"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab", True, "did not answer within 1 s"),
        (b"", False, "could not be reached"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", False, "could not be reached"),
        (
            b"HTTP/1.1 500 \x1b[2J\r\nContent-Length: 4\r\n\r\n\x1b[2J",
            False,
            "it answered with status 500, internal server error",
        ),
    ],
)
def test_a_server_that_hangs_or_speaks_something_else_is_a_failure(
    workspace: Workspace, answer: bytes, hangs: bool, said: str
) -> None:
    with odd_server(answer, hangs=hangs) as url:
        workspace.write("home/.config/trotline/trotline.toml", f'[export]\nendpoint = "{url}"\ntimeout = 1\n')
        keep(workspace, 1)
        done = send(workspace)
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout
    assert "\x1b" not in done.stdout
    assert progress(workspace).failures == 1


def test_an_answer_without_end_is_cut(workspace: Workspace) -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000
    with odd_server(endless) as url:
        workspace.write("home/.config/trotline/trotline.toml", f'[export]\nendpoint = "{url}"\nsignals = ["logs"]\n')
        keep(workspace, 1)
        assert send(workspace).returncode == 0
