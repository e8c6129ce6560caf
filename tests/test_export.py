"""Exports: every line is what the published schema says, and OTLP is what the official library reads."""

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from kit import Workspace, make_workspace, run_trotline
from secret_samples import fill_template
from store_behaviour import detail, record
from test_log import call, fill, log
from trotline.audit.export import export_formats, otlp
from trotline.audit.record.record_schema import DETAIL, RECORD, SCHEMAS
from trotline.audit.store.audit_log import get_spool

SECRET = fill_template("ghp_{crc*36}")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Four calls of no agent of ours, and some of real ones."""
    workspace = make_workspace(tmp_path)
    call(workspace, "echo trotline-canary")
    call(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com")
    call(workspace, "npm test", event="afterShellExecution")
    call(workspace, "", event="stop")
    fill(get_spool(workspace.roots().state))
    return workspace


def errors_of(name: str, instance: Any) -> list[str]:
    return [error.message for error in jsonschema_rs.Draft202012Validator(SCHEMAS[name]()).iter_errors(instance)]


def exported(workspace: Workspace, form: str) -> str:
    done = log(workspace, "export", "--format", form)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_line_of_jsonl_is_a_record_of_the_published_schema(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in exported(workspace, "jsonl").splitlines()]
    assert len(lines) == 8
    assert [errors_of("record", line) for line in lines] == [[]] * 8


def test_every_field_that_a_real_call_leaves_is_described(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in exported(workspace, "jsonl").splitlines()]
    real = [line for line in lines if line["agent"] == "cursor"]
    assert len(real) == 4
    assert [set(line) - set(RECORD) for line in real] == [set()] * 4
    assert [set(line["detail"]) - set(DETAIL) for line in real] == [set()] * 4


@pytest.mark.parametrize("field", ["id", "seq", "asked"])
def test_a_line_that_lacks_what_a_record_has_is_none(field: str) -> None:
    whole = {**record(1), "seq": 1}
    assert errors_of("record", whole) == []
    assert errors_of("record", {name: value for name, value in whole.items() if name != field})
    assert errors_of("record", {**whole, field: ["odd"]})


def test_every_row_of_csv_has_the_published_columns(workspace: Workspace) -> None:
    text = exported(workspace, "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 8
    assert [errors_of("record-csv", row) for row in rows] == [[]] * 8
    assert text.splitlines()[0].split(",") == SCHEMAS["record-csv"]()["required"]


def test_every_line_of_ocsf_is_mapped_as_published(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in exported(workspace, "ocsf").splitlines()]
    assert len(lines) == 8
    assert [errors_of("record-ocsf", line) for line in lines] == [[]] * 8
    assert errors_of("record-ocsf", {**lines[0], "class_uid": 2004})
    assert errors_of("record-ocsf", {**lines[0], "unmapped": {"subject": "", "record": {}}})


@pytest.mark.parametrize("name", ["record", "record-csv", "record-ocsf"])
def test_the_command_prints_the_schema(workspace: Workspace, name: str) -> None:
    done = run_trotline("schema", name, cwd=workspace.project)
    assert json.loads(done.stdout) == SCHEMAS[name]()


# -- otlp


IDS = ("traceId", "spanId", "parentSpanId")


def read_as(kind: Any, text: str | bytes) -> Any:
    """By the library's own reader; OTLP writes ids as hexadecimal digits where protobuf's own JSON has base64."""

    def with_bytes(found: dict[str, Any]) -> dict[str, Any]:
        return {**found, **{key: base64.b64encode(bytes.fromhex(found[key])).decode() for key in IDS if key in found}}

    return json_format.ParseDict(json.loads(text, object_hook=with_bytes), kind())


def messages(workspace: Workspace) -> tuple[list[Any], list[Any]]:
    """Logs and spans of an export, read by the official library."""
    logs, spans = [], []
    for line in exported(workspace, "otlp").splitlines():
        if "resourceLogs" in json.loads(line):
            message = read_as(ExportLogsServiceRequest, line)
            logs += [log for one in message.resource_logs for scope in one.scope_logs for log in scope.log_records]
        else:
            message = read_as(ExportTraceServiceRequest, line)
            spans += [span for one in message.resource_spans for scope in one.scope_spans for span in scope.spans]
    return logs, spans


def named(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def test_a_record_is_a_log_and_a_span_and_a_conversation_is_a_trace(workspace: Workspace) -> None:
    logs, spans = messages(workspace)
    events = [span for span in spans if "trotline.event" in named(span.attributes)]
    assert len(logs) == len(events) == 8
    assert {(log.trace_id, log.span_id) for log in logs} == {(span.trace_id, span.span_id) for span in events}
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans)
    for span in events:
        parent = known[span.parent_span_id]
        assert parent.trace_id == span.trace_id
        assert parent.start_time_unix_nano <= span.start_time_unix_nano
    roots = [span for span in spans if not span.parent_span_id]
    assert {(span.name, named(span.attributes)["gen_ai.conversation.id"]) for span in roots} == {
        ("conversation cursor", "c1"),
        ("conversation somebody", "c1"),
        ("conversation another", "c2"),
    }
    assert len({span.trace_id for span in spans}) == 3


def test_names_are_those_of_the_conventions_and_ours(workspace: Workspace) -> None:
    logs, spans = messages(workspace)
    denied = next(log for log in logs if log.severity_text == "WARN")
    about = named(denied.attributes)
    assert denied.severity_number == 13
    assert (about["trotline.verdict"], about["gen_ai.agent.name"]) in {("deny", "cursor"), ("deny", "somebody")}
    assert about["log.record.uid"]
    run = next(span for span in spans if span.name == "execute_tool Shell")
    assert named(run.attributes)["gen_ai.operation.name"] == "execute_tool"
    assert all(log.time_unix_nano > 1_700_000_000 * 10**9 for log in logs)


def test_no_planted_secret_is_in_any_export(workspace: Workspace) -> None:
    for form in ("jsonl", "csv", "ocsf", "otlp"):
        text = exported(workspace, form)
        assert "curl -H" in text
        assert SECRET not in text


@pytest.mark.parametrize("form", ["jsonl", "csv", "ocsf", "otlp"])
def test_without_words_nothing_that_was_said_is_in_any_export(workspace: Workspace, form: str) -> None:
    text = log(workspace, "export", "--format", form, "--no-words").stdout
    assert "beforeShellExecution" in text
    for words in ("curl", "npm test", "rm -rf", '"payload"', "tool_input"):
        assert words not in text


def test_without_words_there_is_still_what_the_agent_counted_and_where(workspace: Workspace) -> None:
    told = {"tokens": 7, "duration_ms": 40, "exit": 2, "subagent_type": "as the agent says"}
    words = {**detail(1, command="make secrets"), "machine": "m", "user": "ann", "version": "3", "measures": told}
    body = {**record(1, event="afterShellExecution"), "seq": 1, "detail": words, "odd": {"detail": "make"}}
    (line,) = export_formats.format_records("jsonl", [body], words=False)
    kept = {"machine": "m", "user": "ann", "version": "3", "measures": {"tokens": 7, "duration_ms": 40, "exit": 2}}
    assert json.loads(line)["detail"] == {"schema": "trotline.detail/1", "id": "id-1", **kept}
    assert "make" not in line
    (line,) = export_formats.format_records("ocsf", [body], words=False)
    event = json.loads(line)
    assert (event["src_endpoint"]["name"], event["actor"]["user"]["name"]) == ("m", "ann")
    assert errors_of("record-ocsf", event) == []
    assert "make" not in line


@pytest.mark.parametrize(
    "event,fields,told,status",
    [
        ("postToolUseFailure", {}, {"measures": {"failure_type": "timeout"}}, ("Failure", 1, "timeout", "none")),
        ("postToolUse", {}, {"measures": {"exit": 3}}, ("Failure", 1, "_OTHER", "none")),
        ("postToolUse", {}, {"measures": {"exit": 0}}, ("Success", 1, "", "none")),
        ("preToolUse", {"asked": "deny"}, {}, ("Failure", 3, "g", "deny")),
        ("preToolUse", {"asked": "deny", "withheld": ["deny"]}, {}, ("Success", 1, "g", "would_deny")),
        ("preToolUse", {"asked": "ask", "withheld": ["ask"]}, {}, ("Success", 1, "g", "would_ask")),
        ("preToolUse", {"asked": "ask"}, {}, ("Other", 1, "g", "ask")),
    ],
)
def test_ocsf_tells_what_became_of_a_call_and_whether_it_failed(
    event: str, fields: dict[str, Any], told: dict[str, Any], status: tuple[str, int, str, str]
) -> None:
    deciders = ["g"] if fields else []
    body = {**record(1, event=event, deciders=deciders, **fields), "seq": 1, "detail": {**detail(1), **told}}
    (line,) = export_formats.format_ocsf([body])
    found = json.loads(line)
    assert errors_of("record-ocsf", found) == []
    verdict = found["unmapped"]["verdict"]
    assert (found["status"], found["severity_id"], found["status_detail"], verdict) == status


def test_a_file_that_others_could_read_is_closed_to_them(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("x" * 1_000_000)
    file.chmod(0o644)
    assert log(workspace, "export", "--output", str(file)).returncode == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line)["schema"] for line in file.read_text().splitlines()] == ["trotline.record/1"] * 8


def test_a_pipe_is_written_to_as_it_is(workspace: Workspace) -> None:
    assert log(workspace, "export", "--output", "/dev/null").stdout == "8 lines in /dev/null\n"


@pytest.mark.parametrize(
    "words,said",
    [
        (["--json"], "--json goes with --status"),
        (["--status", "--agent", "x"], "--status is asked alone, without --agent"),
    ],
    ids=str,
)
def test_an_option_that_would_change_nothing_is_refused(workspace: Workspace, words: list[str], said: str) -> None:
    done = log(workspace, "export", *words)
    assert done.returncode == 64
    assert said in done.stderr + done.stdout


def test_ocsf_names_the_machine_and_the_person_where_they_are_kept(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in exported(workspace, "ocsf").splitlines()]
    real = [one for one in lines if one["actor"]["app_name"] == "cursor"]
    detail = real[0]["unmapped"]["record"]["detail"]
    assert {one["src_endpoint"]["name"] for one in real} == {detail["machine"]} != {""}
    assert {one["actor"]["user"]["name"] for one in real} == {detail["user"]} != {""}
    unknown = next(one for one in lines if one["actor"]["app_name"] == "another")
    assert (unknown["src_endpoint"], "user" in unknown["actor"]) == ({"name": "localhost"}, False)


def test_an_mcp_call_is_a_call_of_a_tool() -> None:
    told = {"tool_input": '{"id": 42}', "mcp_server_name": "tickets", "duration": 250}
    body = {**record(1, event="afterMCPExecution", tool="close_ticket", generation="g1"), "detail": {"payload": told}}
    span = otlp.build_span(body)
    about = {one["key"]: one["value"] for one in span["attributes"]}
    assert (span["name"], span["kind"]) == ("tools/call close_ticket", 3)
    assert about["mcp.method.name"] == {"stringValue": "tools/call"}
    assert about["gen_ai.tool.call.arguments"] == {"stringValue": '{"id": 42}'}
    assert int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) == 250_000_000
    quiet = otlp.build_span(body, words=False)
    assert "gen_ai.tool.call.arguments" not in {one["key"] for one in quiet["attributes"]}
    assert span["parentSpanId"] == otlp.get_scope_span_id(("somebody", "c1", "g1"))


def test_one_command_of_an_agent_that_tells_of_it_twice_is_one_execution() -> None:
    after = record(1, agent="cursor", event="afterShellExecution")
    generic = record(2, agent="cursor", event="postToolUse", tool="Shell")
    assert [otlp.build_span(one)["name"] for one in (after, generic)] == ["execute_tool Shell", "postToolUse Shell"]
    dated = [{**one, "detail": {"version": "3.21.16"}} for one in (after, generic)]
    assert [otlp.build_span(one)["name"] for one in dated] == ["afterShellExecution Shell", "execute_tool Shell"]
    assert otlp.build_span({**generic, "tool": "Read"})["name"] == "execute_tool Read"
    assert otlp.build_span({**generic, "agent": "codex"})["name"] == "execute_tool Shell"
    assert otlp.build_span({**generic, "tool": "MCP:tickets:close"})["name"] == "postToolUse close"


def test_an_mcp_call_of_an_agent_that_has_no_event_for_it_is_one_all_the_same() -> None:
    span = otlp.build_span(record(1, agent="claude-code", event="postToolUse", tool="MCP:tickets:close"))
    about = {one["key"]: one["value"] for one in span["attributes"]}
    assert (span["name"], span["kind"]) == ("tools/call close", 3)
    assert about["mcp.method.name"] == {"stringValue": "tools/call"}
    assert about["gen_ai.tool.name"] == {"stringValue": "close"}


@pytest.mark.parametrize(
    "event,told,kind",
    [
        ("afterShellExecution", {"measures": {"exit": 2}}, "_OTHER"),
        ("afterShellExecution", {"measures": {"exit": 0}}, None),
        ("afterMCPExecution", {"payload": {"result_json": '{"content": [], "isError": true}'}}, "tool_error"),
        ("afterMCPExecution", {"payload": {"result_json": '{"isError": false}'}}, None),
        ("afterMCPExecution", {"payload": {"result_json": "isError {"}}, None),
        ("postToolUseFailure", {"payload": {"failure_type": "timeout"}}, "timeout"),
        ("postToolUseFailure", {}, "_OTHER"),
        ("beforeShellExecution", {"measures": {"exit": 2}}, None),
    ],
)
def test_what_ended_badly_is_an_error(event: str, told: dict[str, Any], kind: str | None) -> None:
    span = otlp.build_span({**record(1, event=event), "detail": told}, words=False)
    about = {one["key"]: one["value"]["stringValue"] for one in span["attributes"] if one["key"] == "error.type"}
    assert (span.get("status"), about.get("error.type")) == ({"code": 2} if kind else None, kind)


def test_a_command_of_cursor_that_ended_badly_is_one_error() -> None:
    after = {**record(1, agent="cursor", event="afterShellExecution"), "detail": {"version": "3.21.16"}}
    told = {"version": "3.21.16", "measures": {"exit": 3}}
    generic = {**record(2, agent="cursor", event="postToolUse", tool="Shell"), "detail": told}
    spans = [otlp.build_span(one) for one in (after, generic)]
    assert [(span["name"], "status" in span) for span in spans] == [
        ("afterShellExecution Shell", False),
        ("execute_tool Shell", True),
    ]


def test_what_was_refused_was_not_executed() -> None:
    told = {"measures": {"failure_type": "permission_denied"}}
    refused = {**record(1, agent="cursor", event="postToolUseFailure", tool="Shell"), "detail": told}
    span = otlp.build_span(refused)
    assert (span["name"], "status" in span) == ("postToolUseFailure Shell", False)
    assert not {one["key"] for one in span["attributes"]} & {"error.type", "gen_ai.operation.name"}


def test_an_execution_whose_length_nobody_tells_has_none() -> None:
    span = otlp.build_span(record(1, event="afterShellExecution", micros=5000))
    assert span["startTimeUnixNano"] == span["endTimeUnixNano"]
    answer = otlp.build_span(record(1, micros=5000))
    assert int(answer["endTimeUnixNano"]) - int(answer["startTimeUnixNano"]) == 5_000_000


def test_tokens_of_caches_are_told_by_the_names_of_the_conventions() -> None:
    measures = {"cache_read_tokens": 50, "cache_write_tokens": 25}
    span = otlp.build_span({**record(1, event="stop"), "detail": {"measures": measures}}, words=False)
    about = {one["key"]: one["value"] for one in span["attributes"]}
    assert about["gen_ai.usage.cache_read.input_tokens"] == {"intValue": "50"}
    assert about["gen_ai.usage.cache_creation.input_tokens"] == {"intValue": "25"}


def test_what_was_measured_is_told_where_no_payload_is_kept() -> None:
    measures = {"duration_ms": 40, "input_tokens": 7, "exit": 2}
    body = {**record(1, event="afterShellExecution"), "detail": {"measures": measures, "machine": "a-laptop"}}
    quiet = otlp.build_span(body, words=False)
    about = {one["key"]: one["value"] for one in quiet["attributes"]}
    assert int(quiet["endTimeUnixNano"]) - int(quiet["startTimeUnixNano"]) == 40_000_000
    assert (about["gen_ai.usage.input_tokens"], about["process.exit.code"]) == ({"intValue": "7"}, {"intValue": "2"})
    assert "trotline.machine" not in about
    assert "trotline.machine" in {one["key"] for one in otlp.build_span(body)["attributes"]}


def test_a_call_outside_of_every_conversation_is_a_trace_of_its_own() -> None:
    one, other = record(1, conversation=""), record(2, conversation="")
    assert otlp.get_trace_id(one) != otlp.get_trace_id(other)
    assert "parentSpanId" not in otlp.build_span(one)


@given(st.dictionaries(st.sampled_from([*RECORD, "odd"]), JSON), st.dictionaries(st.sampled_from([*DETAIL]), JSON))
def test_whatever_stands_in_a_record_can_be_sent_and_read_again(fields: dict[str, Any], words: dict[str, Any]) -> None:
    body = {**fields, "id": "id-1", "seq": 1, "detail": words}
    logs = otlp.build_logs_request([body], about={})
    data = otlp.encode_request("logs", logs, otlp.PROTOBUF)
    (log,) = ExportLogsServiceRequest.FromString(data).resource_logs[0].scope_logs[0].log_records
    assert log.trace_id == bytes.fromhex(otlp.get_trace_id(body))
    spans = otlp.build_traces_request([otlp.build_span(body)], about={})
    data = otlp.encode_request("traces", spans, otlp.PROTOBUF)
    (span,) = ExportTraceServiceRequest.FromString(data).resource_spans[0].scope_spans[0].spans
    assert span.end_time_unix_nano >= span.start_time_unix_nano


def test_a_value_deeper_than_a_reader_goes_is_a_text() -> None:
    deep: Any = "bottom"
    for _ in range(300):
        deep = [deep]
    body = {**record(1), "seq": 1, "detail": {**detail(1), "payload": {"deep": deep}}}
    data = otlp.encode_request("logs", otlp.build_logs_request([body], about={}), otlp.PROTOBUF)
    assert "bottom" in str(ExportLogsServiceRequest.FromString(data))


@given(st.lists(st.dictionaries(st.sampled_from([*RECORD, "odd"]), JSON), max_size=3))
def test_protobuf_says_what_json_says(fields: list[dict[str, Any]]) -> None:
    bodies = [{**one, "id": f"id-{number}", "seq": number} for number, one in enumerate(fields, 1)]
    requests: dict[str, tuple[dict[str, Any], Any]] = {
        "logs": (otlp.build_logs_request(bodies, about={"host.name": "x"}), ExportLogsServiceRequest),
        "traces": (otlp.build_traces_request(map(otlp.build_span, bodies), about={}), ExportTraceServiceRequest),
    }
    for signal, (request, kind) in requests.items():
        message = kind.FromString(otlp.encode_request(signal, request, otlp.PROTOBUF))
        assert read_as(kind, otlp.encode_request(signal, request, otlp.JSON)) == message
