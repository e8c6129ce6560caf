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

from collector import Collector, Say, collecting, named
from planted import KINDS, made, values
from store_behaviour import detail, record
from test_log import call, log
from trotline.audit import otlp
from trotline.audit.journal import LONGEST_PAUSE_US, LONGEST_WAIT_US, Progress, noted, pause_us
from trotline.audit.trail import spool_of
from worlds import World, new_world, trotline_process

SECRET = made("ghp_{crc*36}")
NOW = 1_700_000_000_000_000


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as one:
        yield one


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def configured(world: World, collector: Collector, *lines: str) -> None:
    text = "\n".join([f'endpoint = "{collector.url}"', *lines, ""])
    world.write("home/.config/trotline/export.toml", text)


def keep(world: World, count: int, first: int = 1, **fields: Any) -> None:
    spool = spool_of(world.roots().state)
    for number in range(first, first + count):
        assert spool.append(record(number, at_us=NOW + number, **fields)) == ""


def send(world: World, *words: str) -> "subprocess.CompletedProcess[str]":
    return log(world, "send", *words)


def progress(world: World, layer: str = "user") -> Progress:
    return noted(world.roots().state / "outflow" / f"{layer}.json", Progress)


def ids(*numbers: int) -> list[str]:
    return [f"id-{number}" for number in numbers]


# -- nothing by default


def test_nothing_is_sent_unless_somebody_says_where(world: World, collector: Collector) -> None:
    keep(world, 3)
    done = send(world)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing is sent anywhere" in done.stdout
    assert collector.got == []
    assert not (world.roots().state / "outflow").exists()


def test_a_project_cannot_say_where(world: World, collector: Collector) -> None:
    world.write("project/.trotline/export.toml", f'endpoint = "{collector.url}"\n')
    keep(world, 3)
    done = send(world)
    assert done.returncode == 1
    assert "a project does not say this: the file is not read" in done.stdout
    assert collector.got == []


# -- what arrives


def test_records_arrive_oldest_first_and_once(world: World, collector: Collector) -> None:
    configured(world, collector, "batch = 2")
    keep(world, 5)
    assert send(world).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 5)
    keep(world, 2, first=6)
    assert send(world).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 5, 6, 7)
    assert [len(got.logs) for got in collector.got if got.logs] == [2, 2, 1, 2]
    assert send(world).returncode == 0
    assert len(collector.got) == 8
    assert (progress(world).sent, progress(world).failures, progress(world).pending) == (7, 0, None)


def test_a_real_call_arrives_redacted_with_its_trace(world: World, collector: Collector) -> None:
    configured(world, collector, "words = true", "[resource]", '"host.name" = "a-laptop"')
    call(world, f"curl -H 'Authorization: {SECRET}' https://example.com")
    call(world, "echo trotline-canary")
    call(world, "", event="sessionEnd")
    assert send(world).returncode == 0
    logs = [log for got in collector.got for log in got.logs]
    about = named(collector.got[0].message.resource_logs[0].resource.attributes)
    assert (about["service.name"], about["host.name"]) == ("trotline", "a-laptop")
    assert [named(log.attributes)["trotline.event"] for log in logs] == [*["beforeShellExecution"] * 2, "sessionEnd"]
    assert [log.severity_text for log in logs] == ["INFO", "WARN", "INFO"]
    assert "curl -H" in str(logs[0].body)
    spans = {span.span_id: span for span in collector.spans}
    assert {log.span_id for log in logs} < set(spans)
    (root,) = (span for span in spans.values() if not span.parent_span_id)
    assert root.name == "conversation cursor"
    assert root.start_time_unix_nano == min(log.time_unix_nano for log in logs)
    assert root.end_time_unix_nano == max(log.time_unix_nano for log in logs)
    assert root.trace_id.hex() == otlp.trace_id({"host": "cursor", "conversation": "c1", "id": ""})
    assert {span.trace_id for span in spans.values()} == {root.trace_id}
    assert {span.parent_span_id for span in spans.values() if span is not root} == {root.span_id}
    assert all(SECRET.encode() not in got.body for got in collector.got)


def test_words_are_sent_only_if_somebody_says_so(world: World, collector: Collector) -> None:
    configured(world, collector)
    call(world, "curl https://example.com/private")
    assert send(world).returncode == 0
    assert collector.taken
    assert all(b"example.com" not in got.body for got in collector.got)


def test_a_turn_is_a_span_once_it_is_over(world: World, collector: Collector) -> None:
    configured(world, collector)
    keep(world, 2, generation="g1")
    keep(world, 1, first=3, generation="g1", event="stop")
    assert send(world).returncode == 0
    (turn,) = (span for span in collector.spans if span.name == "invoke_agent somebody")
    assert (turn.start_time_unix_nano, turn.end_time_unix_nano) == ((NOW + 1) * 1000, (NOW + 3) * 1000)
    events = [span for span in collector.spans if span.span_id != turn.span_id]
    assert [span.parent_span_id for span in events] == [turn.span_id] * 3
    assert turn.parent_span_id.hex() == otlp.talk_span_id(("somebody", "c1", ""))


def test_headers_come_from_a_file_or_a_variable_and_are_shown_nowhere(world: World, collector: Collector) -> None:
    world.write("home/.config/trotline/headers", "# for the collector\nAuthorization: Bearer s3cret-s3cret\n", 0o600)
    configured(world, collector, 'headers_file = "headers"', 'headers_env = "TEAM_HEADERS"')
    keep(world, 1)
    done = send(world)
    assert done.returncode == 1
    assert "the variable TEAM_HEADERS is not set here" in done.stdout
    assert collector.got == []
    argv = [sys.executable, "-m", "trotline", "log", "send", *world.options]
    environment = {**os.environ, "TEAM_HEADERS": "x-team=blue%20sky, x-more=1"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    (got, _) = collector.got
    assert (got.headers["authorization"], got.headers["x-team"]) == ("Bearer s3cret-s3cret", "blue sky")
    kept = [path.read_bytes() for path in world.roots().state.rglob("*") if path.is_file()]
    assert not any(b"s3cret-s3cret" in data for data in [*kept, done.stdout.encode(), done.stderr.encode()])


def test_a_file_of_headers_that_others_may_read_is_not_used(world: World, collector: Collector) -> None:
    world.write("home/.config/trotline/headers", "Authorization: Bearer x\n", 0o644)
    configured(world, collector, 'headers_file = "headers"')
    keep(world, 1)
    assert "others may read" in send(world).stdout
    assert collector.got == []


def test_json_needs_no_library(world: World, collector: Collector) -> None:
    configured(world, collector, 'protocol = "http/json"', 'signals = ["logs"]')
    keep(world, 2)
    assert send(world).returncode == 0
    (got,) = collector.got
    assert got.headers["content-type"] == "application/json"
    logs = json.loads(got.body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert [len(log["traceId"]) for log in logs] == [32, 32]


def test_the_machine_and_the_person_may_both_have_a_collector(world: World, collector: Collector) -> None:
    with collecting() as other:
        configured(world, collector)
        world.write("system/etc/trotline/export.toml", f'endpoint = "{other.url}"\nsignals = ["logs"]\n')
        keep(world, 2)
        assert send(world).returncode == 0
        assert collector.taken == other.taken == ids(1, 2)
        assert (progress(world, "enterprise").seq, len(other.got)) == (2, 1)


def test_a_batch_names_the_head_of_the_chain_so_that_a_cut_end_is_seen(world: World, collector: Collector) -> None:
    configured(world, collector)
    keep(world, 3)
    assert send(world).returncode == 0
    scope = collector.got[0].scope
    anchor = world.write("elsewhere", f"{scope['trotline.head.seq']} {scope['trotline.head.digest']}\n")
    assert "it holds; anchored up to entry 3" in log(world, "verify", "--anchor", str(anchor)).stdout
    db = sqlite3.connect(world.roots().state / "trail.db")
    db.executescript("DELETE FROM entries WHERE seq = 3; DELETE FROM records WHERE seq = 3; DELETE FROM checkpoints")
    db.close()
    assert log(world, "verify", "--anchor", str(anchor)).returncode == 1


# -- when it is not taken


@pytest.mark.parametrize("status", [429, 502, 503, 504, 500, 401, 404, 400, 302])
def test_what_is_not_taken_is_sent_again_later(world: World, collector: Collector, status: int) -> None:
    configured(world, collector)
    keep(world, 3)
    collector.says = [Say(status, (("Retry-After", "120"), ("Location", collector.url + "/elsewhere")), b"not now")]
    done = send(world)
    assert done.returncode == 1
    assert f"it answered with status {status}, " in done.stdout
    assert "not now" not in done.stdout  # a server may quote what it was sent
    assert len(collector.got) == 1
    noted_ = progress(world)
    assert (noted_.failures, noted_.seq, noted_.sent) == (1, 0, 0)
    assert noted_.trouble is not None
    assert noted_.next_us - noted_.trouble.at_us >= 120_000_000
    send(world, "--background")
    assert len(collector.got) == 1, "not before the time that the collector named"
    assert send(world).returncode == 0, "but when a person says so"
    first, again, spans = collector.got
    assert first.body == again.body
    assert first.batch == again.batch == spans.batch
    assert (first.headers["idempotency-key"], spans.headers["idempotency-key"]) == (
        f"{first.batch}-logs",
        f"{first.batch}-traces",
    )
    assert (progress(world).failures, progress(world).sent) == (0, 3)


def test_what_was_taken_of_a_batch_is_not_sent_again(world: World, collector: Collector) -> None:
    configured(world, collector)
    keep(world, 2)
    collector.says = [Say(), Say(503)]
    assert send(world).returncode == 1
    assert send(world).returncode == 0
    assert [got.path for got in collector.got] == ["/v1/logs", "/v1/traces", "/v1/traces"]


def test_a_batch_that_is_too_large_is_halved_and_one_that_stays_so_is_counted(
    world: World, collector: Collector
) -> None:
    configured(world, collector, 'signals = ["logs"]')
    keep(world, 4)
    collector.says = [Say(413), Say(413)]  # all four, then two
    assert send(world).returncode == 0
    assert collector.taken == ids(1, 2, 3, 4, 1, 2, 1, 2, 3, 4)
    assert (progress(world).sent, progress(world).refused) == (4, 0)
    keep(world, 2, first=5)
    collector.says = [Say(413), Say(413)]
    done = send(world)
    assert "1 refused" in done.stdout
    assert "record 5 is too large for it" in done.stdout
    assert (progress(world).sent, progress(world).refused) == (5, 1)


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_what_a_collector_takes_and_refuses_is_counted_and_not_sent_again(
    world: World, collector: Collector, protocol: str
) -> None:
    configured(world, collector, f'protocol = "{protocol}"', 'signals = ["logs"]')
    keep(world, 3)
    answer = ExportLogsServiceResponse()
    answer.partial_success.rejected_log_records = 2
    answer.partial_success.error_message = "too old"
    body = answer.SerializeToString()
    if protocol == "http/json":
        body = b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}'
    collector.says = [Say(200, (), body)]
    done = send(world)
    assert "2 refused" in done.stdout
    assert "it refused 2 of a batch: too old" in done.stdout
    send(world)
    assert len(collector.got) == 1


def test_a_collector_that_is_dead_blocks_nobody_and_is_visible(world: World) -> None:
    with collecting() as gone:
        configured(world, gone)
    call(world, "ls")
    done = send(world)
    assert done.returncode == 1
    assert "it could not be reached" in done.stdout
    assert "1 failure in a row; next try" in done.stdout
    call(world, "ls")
    assert log(world, "--count").stdout == "2\n"
    status = log(world, "export", "--status", "--json")
    (one,) = json.loads(status.stdout)["data"]["destinations"]
    assert (one["waiting"], one["failures"], status.returncode) == (2, 1, 1)
    said = trotline_process("doctor", *world.options, cwd=world.project).stdout
    assert "it could not be reached" in said


def test_a_person_may_pass_over_what_is_there(world: World, collector: Collector) -> None:
    configured(world, collector, 'signals = ["logs"]')
    keep(world, 3)
    assert send(world, "--skip").returncode == 0
    assert collector.got == []
    keep(world, 1, first=4)
    assert send(world).returncode == 0
    assert collector.taken == ids(4)


def test_a_new_trail_in_the_same_place_is_sent_from_its_beginning(world: World, collector: Collector) -> None:
    configured(world, collector, 'signals = ["logs"]')
    keep(world, 3)
    assert send(world).returncode == 0
    for file in world.roots().state.glob("trail.db*"):
        file.unlink()
    keep(world, 4, first=11)
    assert send(world).returncode == 0
    assert collector.taken == ids(1, 2, 3, 11, 12, 13, 14)


def test_what_was_forgotten_before_it_was_sent_is_not_sent(world: World, collector: Collector) -> None:
    configured(world, collector, 'signals = ["logs"]')
    keep(world, 2)
    keep(world, 2, first=3, conversation="other")
    collector.says = [Say(503)]
    assert send(world).returncode == 1
    assert log(world, "forget", "--conversation", "c1").returncode == 0
    assert send(world).returncode == 0
    assert collector.taken[4:] == ids(3, 4)


# -- whoever sends may die at any moment


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/traces"])
def test_a_sender_that_is_killed_leaves_no_gap_and_one_batch_that_is_sent_again(
    world: World, collector: Collector, path: str
) -> None:
    configured(world, collector, "batch = 2")
    keep(world, 6)
    argv = [sys.executable, "-m", "trotline", "log", "send", *world.options]
    sender = subprocess.Popen(argv, stdout=subprocess.DEVNULL)

    def kill(got: Any) -> None:
        if got.path == path and len(collector.taken) == 4:
            collector.before_answer = lambda _: None
            sender.send_signal(signal.SIGKILL)
            sender.wait()

    collector.before_answer = kill
    assert sender.wait() == -signal.SIGKILL
    assert send(world).returncode == 0
    again = ids(3, 4) if path == "/v1/logs" else []
    assert collector.taken == [*ids(1, 2, 3, 4), *again, *ids(5, 6)]
    twice = [got for got in collector.got if got.path == path][1:3]
    assert twice[0].body == twice[1].body
    events = [span.span_id for span in collector.spans]
    assert len(set(events)) == 6


def test_two_senders_do_not_send_the_same(world: World, collector: Collector) -> None:
    configured(world, collector, 'signals = ["logs"]')
    keep(world, 2)
    answers: list[int] = []
    collector.before_answer = lambda _: answers.append(send(world).returncode)
    assert send(world).returncode == 0
    assert answers == [75]
    assert collector.taken == ids(1, 2)


# -- by itself


def test_what_the_trail_had_already_is_sent_without_a_new_call(world: World, collector: Collector) -> None:
    keep(world, 2)
    assert log(world, "--count").stdout == "2\n"
    configured(world, collector)
    assert log(world, "--count").stdout == "2\n"
    collector.wait_for(lambda one: len(one.got) == 2)


def test_asking_the_trail_sets_a_sender_off(world: World, collector: Collector) -> None:
    configured(world, collector)
    keep(world, 2)
    assert log(world, "--count").stdout == "2\n"
    collector.wait_for(lambda one: len(one.got) == 2)
    assert collector.taken == ids(1, 2)


@pytest.fixture
def near() -> Iterator[World]:
    """A world whose paths are short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="tl", dir="/tmp", ignore_cleanup_errors=True) as directory:
        yield new_world(Path(directory))


def test_the_service_sets_a_sender_off(near: World, collector: Collector) -> None:
    world = near
    configured(world, collector)
    keep(world, 2)
    service = subprocess.Popen(
        [sys.executable, "-m", "trotline", "service", "run", "--idle", "50", "--home", str(world.home)],
        stderr=subprocess.DEVNULL,
    )
    try:
        collector.wait_for(lambda one: len(one.got) == 2)
    finally:
        service.terminate()
        service.wait()
    assert collector.taken == ids(1, 2)


def test_a_call_whose_words_have_not_come_yet_is_waited_for(world: World, collector: Collector) -> None:
    configured(world, collector, 'signals = ["logs"]', "words = true")
    now = int(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout) * 1_000_000
    spool = spool_of(world.roots().state)
    spool.append(record(1, at_us=now + 3_600_000_000))  # a clock that is ahead is not waited for
    spool.append(record(2, at_us=now))
    assert send(world).returncode == 0
    assert collector.taken == ids(1)
    spool.append(detail(2, command="make"))
    assert send(world).returncode == 0
    assert collector.taken == ids(1, 2)
    assert b"make" in collector.got[-1].body


# -- once


def test_an_export_may_be_posted_once(world: World, collector: Collector) -> None:
    keep(world, 3)
    collector.says = [Say(503, (("Retry-After", "0"),)), Say()]
    done = log(world, "export", "--to", collector.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert collector.taken == ids(3, 2, 1, 3, 2, 1)
    assert [got.path for got in collector.got] == ["/v1/logs", "/v1/logs", "/v1/traces", "/v1/traces"]
    assert not (world.roots().state / "outflow").exists()


@pytest.mark.parametrize("url", ["ftp://x", "http://collector.example:4318", "https://me:pw@x", "http://[x"])
def test_where_nothing_should_be_sent_nothing_is(world: World, url: str) -> None:
    done = log(world, "export", "--to", url)
    assert done.returncode == 64
    assert "error:" in done.stderr


def test_an_export_may_go_into_a_file_that_is_its_owners(world: World) -> None:
    keep(world, 2)
    file = world.path / "out.jsonl"
    assert log(world, "export", "--output", str(file)).returncode == 0
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ids(2, 1)
    assert file.stat().st_mode & 0o777 == 0o600


# -- pauses


def test_pauses_grow_and_have_an_end() -> None:
    pauses = [pause_us(failures) for failures in range(40)]
    assert pauses[0] < pauses[2] < pauses[4]
    assert max(pauses) <= LONGEST_PAUSE_US * 5 // 4
    assert pause_us(0, 10**15) == LONGEST_WAIT_US


def test_a_time_that_no_pause_can_have_named_is_not_waited_for() -> None:
    assert not Progress(next_us=NOW + 1).is_due(NOW)
    assert Progress(next_us=NOW).is_due(NOW)
    assert Progress(next_us=NOW + 2 * LONGEST_WAIT_US).is_due(NOW)


# -- what nobody may learn


def test_no_secret_of_any_kind_leaves_by_any_way(world: World, collector: Collector) -> None:
    with collecting() as chat:
        configured(world, collector, "words = true")
        keeper = world.script("home/bin/keep", f"#!/bin/sh\ncat >> '{world.path}/kept'\n")
        ways = (f'command = ["{keeper}"]', f'webhook = "{chat.url}"\nwords = true')
        rules = [f'[[alert]]\nname = "a{n}"\non = "slow"\nover = "1ms"\nat_most = 100\n{w}' for n, w in enumerate(ways)]
        world.write("home/.config/trotline/alerts.toml", "\n".join(rules) + "\n")
        templates = sorted(KINDS.values())
        for at in range(0, len(templates), 25):
            call(world, "cat <<EOF\n" + "\n".join(map(made, templates[at : at + 25])) + "\nEOF")
        assert send(world).returncode == 0
        left = [got.body for got in (*collector.got, *chat.got)] + [(world.path / "kept").read_bytes()]
    left += [log(world, "export", "--format", form).stdout.encode() for form in ("jsonl", "csv", "ocsf", "otlp")]
    left += [path.read_bytes() for path in (world.roots().state / "outflow").iterdir()]
    planted = [value.encode() for template in templates for value in values(template)]
    assert len(planted) >= 150
    assert len(chat.got) == len(range(0, len(templates), 25))
    assert [value for value in planted if any(value in data for data in left)] == []


def test_what_is_noted_is_its_owners(world: World, collector: Collector) -> None:
    configured(world, collector)
    keep(world, 1)
    assert send(world).returncode == 0
    directory = world.roots().state / "outflow"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seq": "x"}', '{"seq": -5}'])
def test_a_journal_that_says_nothing_is_begun_anew(world: World, collector: Collector, text: str) -> None:
    configured(world, collector, 'signals = ["logs"]')
    world.write("home/.local/state/trotline/v1/outflow/user.json", text)
    keep(world, 2)
    assert send(world).returncode == 0
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
    world: World, answer: bytes, hangs: bool, said: str
) -> None:
    with odd_server(answer, hangs=hangs) as url:
        world.write("home/.config/trotline/export.toml", f'endpoint = "{url}"\ntimeout = 1\n')
        keep(world, 1)
        done = send(world)
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout
    assert "\x1b" not in done.stdout
    assert progress(world).failures == 1


def test_an_answer_without_end_is_cut(world: World) -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000
    with odd_server(endless) as url:
        world.write("home/.config/trotline/export.toml", f'endpoint = "{url}"\nsignals = ["logs"]\n')
        keep(world, 1)
        assert send(world).returncode == 0
