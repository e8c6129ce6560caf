"""Delivery to a collector: complete, in order, each batch until it is accepted, and nothing by default."""

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
    with serve_collector() as started:
        yield started


def configure_export(workspace: Workspace, collector: Collector, *connections: str) -> None:
    text = "\n".join(["[export]", f'endpoint = "{collector.url}"', *connections, ""])
    workspace.write("home/.config/trotline/trotline.toml", text)


def append_records(workspace: Workspace, count: int, first: int = 1, **fields: Any) -> None:
    spool = get_spool(workspace.roots().state)
    for number in range(first, first + count):
        assert spool.append(record(number, at_us=NOW + number, **fields)) == ""


def send_records(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return log(workspace, "send", *words)


def read_user_progress(workspace: Workspace, layer: str = "user") -> ExportProgress:
    return read_progress(workspace.roots().state / "outflow" / f"{layer}.json", ExportProgress)


def ids(*numbers: int) -> list[str]:
    return [f"id-{number}" for number in numbers]


# -- nothing by default


def test_nothing_is_sent_by_default(workspace: Workspace, collector: Collector) -> None:
    append_records(workspace, 3)
    done = send_records(workspace)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing is sent anywhere" in done.stdout
    assert collector.requests == []
    assert not (workspace.roots().state / "outflow").exists()


def test_project_cannot_configure_an_export(workspace: Workspace, collector: Collector) -> None:
    workspace.write("project/.trotline/trotline.toml", f'[export]\nendpoint = "{collector.url}"\n')
    append_records(workspace, 3)
    done = send_records(workspace)
    assert "nothing is sent anywhere" in done.stdout
    assert collector.requests == []
    checked = workspace.run("check")
    assert "a project cannot say this: `export` is not in force" in checked.stdout


# -- content


def test_records_arrive_once_and_oldest_first(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, "batch = 2")
    append_records(workspace, 5)
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 5)
    append_records(workspace, 2, first=6)
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 5, 6, 7)
    assert [len(request.logs) for request in collector.requests if request.logs] == [2, 2, 1, 2]
    assert send_records(workspace).returncode == 0
    assert len(collector.requests) == 8
    assert (
        read_user_progress(workspace).sent,
        read_user_progress(workspace).failures,
        read_user_progress(workspace).pending,
    ) == (7, 0, None)


def test_call_arrives_redacted_with_its_trace(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, "details = true", "[export.resource]", '"host.name" = "a-laptop"')
    call(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com")
    call(workspace, "echo trotline-canary")
    call(workspace, "", event="sessionEnd")
    assert send_records(workspace).returncode == 0
    logs = [log for request in collector.requests for log in request.logs]
    attributes = read_attributes(collector.requests[0].message.resource_logs[0].resource.attributes)
    assert (attributes["service.name"], attributes["host.name"]) == ("trotline", "a-laptop")
    events = [read_attributes(log.attributes)["trotline.event"] for log in logs]
    assert events == ["beforeShellExecution", "beforeShellExecution", "sessionEnd"]
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
    assert all(SECRET.encode() not in request.body for request in collector.requests)


def test_detail_is_sent_only_if_configured(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector)
    call(workspace, "curl https://example.com/private")
    assert send_records(workspace).returncode == 0
    assert collector.taken
    assert all(b"example.com" not in request.body for request in collector.requests)


def test_completed_turn_is_a_span(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector)
    append_records(workspace, 2, generation="g1")
    append_records(workspace, 1, first=3, generation="g1", event="stop")
    assert send_records(workspace).returncode == 0
    (turn,) = (span for span in collector.spans if span.name == "invoke_agent somebody")
    assert (turn.start_time_unix_nano, turn.end_time_unix_nano) == ((NOW + 1) * 1000, (NOW + 3) * 1000)
    events = [span for span in collector.spans if span.span_id != turn.span_id]
    assert [span.parent_span_id for span in events] == [turn.span_id] * 3
    assert turn.parent_span_id.hex() == otlp.get_scope_span_id(("somebody", "c1", ""))


def test_headers_come_from_a_file_or_a_variable_and_stay_private(workspace: Workspace, collector: Collector) -> None:
    workspace.write(
        "home/.config/trotline/headers", "# for the collector\nAuthorization: Bearer s3cret-s3cret\n", 0o600
    )
    configure_export(workspace, collector, 'headers_file = "headers"', 'headers_env = "TEAM_HEADERS"')
    append_records(workspace, 1)
    done = send_records(workspace)
    assert done.returncode == 1
    assert "the variable TEAM_HEADERS is not set here" in done.stdout
    assert collector.requests == []
    argv = [sys.executable, "-m", "trotline", "log", "send", *workspace.options]
    environment = {**os.environ, "TEAM_HEADERS": "x-team=blue%20sky, x-more=1"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    (request, _) = collector.requests
    assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer s3cret-s3cret", "blue sky")
    stored = [path.read_bytes() for path in workspace.roots().state.rglob("*") if path.is_file()]
    assert not any(b"s3cret-s3cret" in data for data in [*stored, done.stdout.encode(), done.stderr.encode()])


def test_headers_file_readable_by_others_is_not_used(workspace: Workspace, collector: Collector) -> None:
    workspace.write("home/.config/trotline/headers", "Authorization: Bearer x\n", 0o644)
    configure_export(workspace, collector, 'headers_file = "headers"')
    append_records(workspace, 1)
    assert "others may read" in send_records(workspace).stdout
    assert collector.requests == []


def test_json_protocol_needs_no_library(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, 'protocol = "http/json"', 'signals = ["logs"]')
    append_records(workspace, 2)
    assert send_records(workspace).returncode == 0
    (request,) = collector.requests
    assert request.headers["content-type"] == "application/json"
    logs = json.loads(request.body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert [len(log["traceId"]) for log in logs] == [32, 32]


def test_machine_and_user_can_both_have_a_collector(workspace: Workspace, collector: Collector) -> None:
    with serve_collector() as other:
        configure_export(workspace, collector)
        workspace.write(
            "system/etc/trotline/trotline.toml", f'[export]\nendpoint = "{other.url}"\nsignals = ["logs"]\n'
        )
        append_records(workspace, 2)
        assert send_records(workspace).returncode == 0
        assert collector.taken == other.taken == ids(1, 2)
        assert (read_user_progress(workspace, "enterprise").seq, len(other.requests)) == (2, 1)


def test_batch_contains_the_head_of_the_chain(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector)
    append_records(workspace, 3)
    assert send_records(workspace).returncode == 0
    scope = collector.requests[0].scope
    anchor = workspace.write("elsewhere", f"{scope['trotline.head.seq']} {scope['trotline.head.digest']}\n")
    assert "it holds; anchored up to entry 3" in log(workspace, "verify", "--anchor", str(anchor)).stdout
    db = sqlite3.connect(workspace.roots().state / "audit_log.db")
    db.executescript("DELETE FROM entries WHERE seq = 3; DELETE FROM records WHERE seq = 3; DELETE FROM checkpoints")
    db.close()
    assert log(workspace, "verify", "--anchor", str(anchor)).returncode == 1


# -- rejected batches


@pytest.mark.parametrize("status", [429, 502, 503, 504, 500, 401, 404, 400, 302])
def test_rejected_batch_is_sent_again_later(workspace: Workspace, collector: Collector, status: int) -> None:
    configure_export(workspace, collector)
    append_records(workspace, 3)
    collector.replies = [
        CollectorReply(status, (("Retry-After", "120"), ("Location", collector.url + "/elsewhere")), b"not now")
    ]
    done = send_records(workspace)
    assert done.returncode == 1
    assert f"it answered with status {status}, " in done.stdout
    assert "not now" not in done.stdout  # a server may quote what it was sent
    assert len(collector.requests) == 1
    noted = read_user_progress(workspace)
    assert (noted.failures, noted.seq, noted.sent) == (1, 0, 0)
    assert noted.trouble is not None
    assert noted.next_us - noted.trouble.at_us >= 120_000_000
    send_records(workspace, "--background")
    assert len(collector.requests) == 1, "not before the time that the collector named"
    assert send_records(workspace).returncode == 0, "but when a person says so"
    first, again, spans = collector.requests
    assert first.body == again.body
    assert first.batch == again.batch == spans.batch
    assert first.headers["idempotency-key"] == f"{first.batch}-logs"
    assert spans.headers["idempotency-key"] == f"{first.batch}-traces"
    assert (read_user_progress(workspace).failures, read_user_progress(workspace).sent) == (0, 3)


def test_accepted_part_of_a_batch_is_not_sent_again(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector)
    append_records(workspace, 2)
    collector.replies = [CollectorReply(), CollectorReply(503)]
    assert send_records(workspace).returncode == 1
    assert send_records(workspace).returncode == 0
    assert [request.path for request in collector.requests] == ["/v1/logs", "/v1/traces", "/v1/traces"]


def test_oversized_batch_is_halved_and_an_oversized_record_is_counted(
    workspace: Workspace, collector: Collector
) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]')
    append_records(workspace, 4)
    collector.replies = [CollectorReply(413), CollectorReply(413)]  # all four, then two
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 1, 2, 1, 2, 3, 4)
    assert (read_user_progress(workspace).sent, read_user_progress(workspace).refused) == (4, 0)
    append_records(workspace, 2, first=5)
    collector.replies = [CollectorReply(413), CollectorReply(413)]
    done = send_records(workspace)
    assert "1 refused" in done.stdout
    assert "record 5 is too large for it" in done.stdout
    assert (read_user_progress(workspace).sent, read_user_progress(workspace).refused) == (5, 1)


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_partially_rejected_batch_is_counted_and_not_sent_again(
    workspace: Workspace, collector: Collector, protocol: str
) -> None:
    configure_export(workspace, collector, f'protocol = "{protocol}"', 'signals = ["logs"]')
    append_records(workspace, 3)
    answer = ExportLogsServiceResponse()
    answer.partial_success.rejected_log_records = 2
    answer.partial_success.error_message = "too old"
    body = answer.SerializeToString()
    if protocol == "http/json":
        body = b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}'
    collector.replies = [CollectorReply(200, (), body)]
    done = send_records(workspace)
    assert "2 refused" in done.stdout
    assert "it refused 2 of a batch: too old" in done.stdout
    send_records(workspace)
    assert len(collector.requests) == 1


@pytest.mark.parametrize("count", ["1e999", "Infinity", "NaN", "[]", '"many"'])
def test_unreadable_number_of_rejected_records_counts_as_none(count: str) -> None:
    body = f'{{"partialSuccess": {{"rejectedLogRecords": {count}, "errorMessage": "too old"}}}}'
    assert otlp.parse_rejection("logs", body.encode(), otlp.JSON) == otlp.Rejection()


def test_unreachable_collector_blocks_no_call_and_is_reported(workspace: Workspace) -> None:
    with serve_collector() as gone:
        configure_export(workspace, gone)
    call(workspace, "ls")
    done = send_records(workspace)
    assert done.returncode == 1
    assert "it could not be reached" in done.stdout
    assert "1 failure in a row; next try" in done.stdout
    call(workspace, "ls")
    assert log(workspace, "--count").stdout == "2\n"
    status = log(workspace, "export", "--status", "--json")
    (destination,) = json.loads(status.stdout)["data"]["destinations"]
    assert (destination["waiting"], destination["failures"], status.returncode) == (2, 1, 1)
    output = workspace.run("doctor").stdout
    assert "it could not be reached" in output


def test_backlog_can_be_skipped(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]')
    append_records(workspace, 3)
    assert send_records(workspace, "--skip").returncode == 0
    assert collector.requests == []
    append_records(workspace, 1, first=4)
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(4)


def test_new_audit_log_is_sent_from_its_beginning(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]')
    append_records(workspace, 3)
    assert send_records(workspace).returncode == 0
    for file in workspace.roots().state.glob("audit_log.db*"):
        file.unlink()
    append_records(workspace, 4, first=11)
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1, 2, 3, 11, 12, 13, 14)


def test_forgotten_records_are_not_sent(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]')
    append_records(workspace, 2)
    append_records(workspace, 2, first=3, conversation="other")
    collector.replies = [CollectorReply(503)]
    assert send_records(workspace).returncode == 1
    assert log(workspace, "conversations", "--clear", "c1").returncode == 0
    assert send_records(workspace).returncode == 0
    assert collector.taken[4:] == ids(3, 4)


# -- killed and concurrent senders


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/traces"])
def test_killed_sender_leaves_no_gap(workspace: Workspace, collector: Collector, path: str) -> None:
    configure_export(workspace, collector, "batch = 2")
    append_records(workspace, 6)
    argv = [sys.executable, "-m", "trotline", "log", "send", *workspace.options]
    sender = subprocess.Popen(argv, stdout=subprocess.DEVNULL)

    def kill(request: Any) -> None:
        if request.path == path and len(collector.taken) == 4:
            collector.before_answer = lambda _: None
            sender.send_signal(signal.SIGKILL)
            sender.wait()

    collector.before_answer = kill
    assert sender.wait() == -signal.SIGKILL
    assert send_records(workspace).returncode == 0
    again = ids(3, 4) if path == "/v1/logs" else []
    assert collector.taken == [*ids(1, 2, 3, 4), *again, *ids(5, 6)]
    twice = [request for request in collector.requests if request.path == path][1:3]
    assert twice[0].body == twice[1].body
    events = [span.span_id for span in collector.spans]
    assert len(set(events)) == 6


def test_concurrent_senders_do_not_send_twice(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]')
    append_records(workspace, 2)
    answers: list[int] = []
    collector.before_answer = lambda _: answers.append(send_records(workspace).returncode)
    assert send_records(workspace).returncode == 0
    assert answers == [75]
    assert collector.taken == ids(1, 2)


# -- automatic sending


def test_existing_records_are_sent_without_a_new_call(workspace: Workspace, collector: Collector) -> None:
    append_records(workspace, 2)
    assert log(workspace, "--count").stdout == "2\n"
    configure_export(workspace, collector)
    assert log(workspace, "--count").stdout == "2\n"
    collector.wait_for(lambda destination: len(destination.requests) == 2)


def test_reading_the_log_starts_a_sender(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector)
    append_records(workspace, 2)
    assert log(workspace, "--count").stdout == "2\n"
    collector.wait_for(lambda destination: len(destination.requests) == 2)
    assert collector.taken == ids(1, 2)


@pytest.fixture
def short_workspace() -> Iterator[Workspace]:
    """A workspace whose paths are short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="tl", dir="/tmp", ignore_cleanup_errors=True) as directory:
        yield make_workspace(Path(directory))


def test_service_starts_a_sender(short_workspace: Workspace, collector: Collector) -> None:
    workspace = short_workspace
    configure_export(workspace, collector)
    append_records(workspace, 2)
    service = subprocess.Popen(
        [sys.executable, "-m", "trotline", "service", "run", "--idle", "50", "--home", str(workspace.home)],
        stderr=subprocess.DEVNULL,
    )
    try:
        collector.wait_for(lambda destination: len(destination.requests) == 2)
    finally:
        service.terminate()
        service.wait()
    assert collector.taken == ids(1, 2)


def test_sender_waits_for_missing_detail(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]', "details = true")
    current_seconds = (
        int(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout) * 1_000_000
    )
    spool = get_spool(workspace.roots().state)
    spool.append(record(1, at_us=current_seconds + 3_600_000_000))  # a clock that is ahead is not waited for
    spool.append(record(2, at_us=current_seconds))
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1)
    spool.append(detail(2, command="make"))
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1, 2)
    assert b"make" in collector.requests[-1].body


# -- into a file


def test_export_file_is_private(workspace: Workspace) -> None:
    append_records(workspace, 2)
    file = workspace.path / "out.jsonl"
    assert log(workspace, "export", "--output", str(file)).returncode == 0
    assert [json.loads(connection)["id"] for connection in file.read_text().splitlines()] == ids(2, 1)
    assert file.stat().st_mode & 0o777 == 0o600


# -- pauses


def test_pauses_grow_to_a_limit() -> None:
    pauses = [compute_pause_us(failures) for failures in range(40)]
    assert pauses[0] < pauses[2] < pauses[4]
    assert max(pauses) <= MAX_PAUSE_US * 5 // 4
    assert compute_pause_us(0, 10**15) == MAX_WAIT_US


def test_impossible_next_time_is_ignored() -> None:
    assert not ExportProgress(next_us=NOW + 1).is_due(NOW)
    assert ExportProgress(next_us=NOW).is_due(NOW)
    assert ExportProgress(next_us=NOW + 2 * MAX_WAIT_US).is_due(NOW)


# -- secrets and private files


def test_no_secret_leaves_through_any_channel(workspace: Workspace, collector: Collector) -> None:
    with serve_collector() as chat:
        configure_export(workspace, collector, "details = true")
        recorder = workspace.script("home/bin/keep", f"#!/bin/sh\ncat >> '{workspace.path}/kept'\n")
        channels = (f'command = ["{recorder}"]', f'webhook = "{chat.url}"\ndetails = true')
        rules = [
            f'[[alert]]\nname = "a{n}"\non = "slow"\nover = "1ms"\nat_most = 100\n{w}' for n, w in enumerate(channels)
        ]
        file = workspace.home / ".config/trotline/trotline.toml"
        file.write_text(file.read_text() + "\n".join(rules) + "\n")
        templates = sorted(SECRET_TEMPLATES.values())
        for at in range(0, len(templates), 25):
            call(workspace, "cat <<EOF\n" + "\n".join(map(fill_template, templates[at : at + 25])) + "\nEOF")
        assert send_records(workspace).returncode == 0
        outputs = [request.body for request in (*collector.requests, *chat.requests)] + [
            (workspace.path / "kept").read_bytes()
        ]
    outputs += [log(workspace, "export", "--format", form).stdout.encode() for form in ("jsonl", "csv", "ocsf", "otlp")]
    outputs += [path.read_bytes() for path in (workspace.roots().state / "outflow").iterdir()]
    planted = [value.encode() for template in templates for value in list_secret_values(template)]
    assert len(planted) >= 150
    assert len(chat.requests) == len(range(0, len(templates), 25))
    assert [value for value in planted if any(value in data for data in outputs)] == []


def test_progress_files_are_private(workspace: Workspace, collector: Collector) -> None:
    configure_export(workspace, collector)
    append_records(workspace, 1)
    assert send_records(workspace).returncode == 0
    directory = workspace.roots().state / "outflow"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seq": "x"}', '{"seq": -5}'])
def test_invalid_progress_file_is_restarted(workspace: Workspace, collector: Collector, text: str) -> None:
    configure_export(workspace, collector, 'signals = ["logs"]')
    workspace.write("home/.local/state/trotline/v1/outflow/user.json", text)
    append_records(workspace, 2)
    assert send_records(workspace).returncode == 0
    assert collector.taken == ids(1, 2)


# -- servers that are not collectors


@contextmanager
def serve_reply(answer: bytes, *, hangs: bool = False) -> Iterator[str]:
    """Serve the same bytes to every client; a hanging server keeps connections open."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                connection.recv(1 << 20)
                connection.sendall(answer)
                if not hangs:
                    connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(
    "answer,hangs,output",
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
def test_hanging_or_foreign_server_is_a_failure(workspace: Workspace, answer: bytes, hangs: bool, output: str) -> None:
    with serve_reply(answer, hangs=hangs) as url:
        workspace.write("home/.config/trotline/trotline.toml", f'[export]\nendpoint = "{url}"\ntimeout = 1\n')
        append_records(workspace, 1)
        done = send_records(workspace)
    assert (done.returncode, done.stderr) == (1, "")
    assert output in done.stdout
    assert "\x1b" not in done.stdout
    assert read_user_progress(workspace).failures == 1


def test_endless_reply_is_cut(workspace: Workspace) -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000
    with serve_reply(endless) as url:
        workspace.write("home/.config/trotline/trotline.toml", f'[export]\nendpoint = "{url}"\nsignals = ["logs"]\n')
        append_records(workspace, 1)
        assert send_records(workspace).returncode == 0
