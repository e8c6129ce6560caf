"""Exports: every line matches its published schema, and the official library reads OTLP."""

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

from kit import Workspace, make_workspace, read_rows, run_trotline
from secret_samples import fill_template
from store_behaviour import detail, record
from test_log import call, fill, log
from trotline.audit.export import export_formats, otlp
from trotline.audit.record.record import Detail, Record
from trotline.audit.record.record_reader import convert_record
from trotline.audit.record.record_schema import SCHEMAS
from trotline.audit.store.audit_log import get_spool

SECRET = fill_template("ghp_{crc*36}")
RECORD_FIELDS, DETAIL_FIELDS = Record.__struct_fields__, Detail.__struct_fields__
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with four records of real calls and four of other agents."""
    workspace = make_workspace(tmp_path)
    call(workspace, "echo trotline-canary")
    call(workspace, f"curl -H 'Authorization: {SECRET}' https://example.com")
    call(workspace, "npm test", event="afterShellExecution")
    call(workspace, "", event="stop")
    fill(get_spool(workspace.roots().state))
    return workspace


def build_span(body: dict[str, Any], *, with_detail: bool = True) -> dict[str, Any]:
    return otlp.build_span(convert_record(body), with_detail=with_detail)


def list_schema_errors(name: str, instance: Any) -> list[str]:
    return [error.message for error in jsonschema_rs.Draft202012Validator(SCHEMAS[name]()).iter_errors(instance)]


def export(workspace: Workspace, form: str) -> str:
    done = log(workspace, "export", "--format", form)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_line_of_jsonl_matches_the_schema(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in export(workspace, "jsonl").splitlines()]
    assert len(lines) == 8
    assert [list_schema_errors("record", line) for line in lines] == [[]] * 8


def test_every_field_of_a_real_call_is_documented(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in export(workspace, "jsonl").splitlines()]
    real = [line for line in lines if line["agent"] == "cursor"]
    assert len(real) == 4
    assert [set(line) - set(RECORD_FIELDS) for line in real] == [set()] * 4
    assert [set(line["detail"]) - set(DETAIL_FIELDS) for line in real] == [set()] * 4


@pytest.mark.parametrize("field", ["id", "seq", "decided"])
def test_line_without_a_required_field_violates_the_schema(field: str) -> None:
    whole = {**record(1), "seq": 1}
    assert list_schema_errors("record", whole) == []
    assert list_schema_errors("record", {name: value for name, value in whole.items() if name != field})
    assert list_schema_errors("record", {**whole, field: ["odd"]})


def test_every_row_of_csv_matches_the_schema(workspace: Workspace) -> None:
    text = export(workspace, "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 8
    assert [list_schema_errors("record-csv", row) for row in rows] == [[]] * 8
    assert text.splitlines()[0].split(",") == SCHEMAS["record-csv"]()["required"]


def test_every_line_of_ocsf_matches_the_schema(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in export(workspace, "ocsf").splitlines()]
    assert len(lines) == 8
    assert [list_schema_errors("record-ocsf", line) for line in lines] == [[]] * 8
    assert list_schema_errors("record-ocsf", {**lines[0], "class_uid": 2004})
    assert list_schema_errors("record-ocsf", {**lines[0], "unmapped": {"subject": "", "record": {}}})


@pytest.mark.parametrize("name", ["record", "record-csv", "record-ocsf"])
def test_schema_command_prints_the_schema(workspace: Workspace, name: str) -> None:
    done = run_trotline("schema", name, cwd=workspace.project)
    assert json.loads(done.stdout) == SCHEMAS[name]()


# -- otlp


IDS = ("traceId", "spanId", "parentSpanId")


def parse_otlp(kind: Any, text: str | bytes) -> Any:
    """Parse OTLP JSON with the official library; OTLP writes IDs as hex digits, protobuf JSON as base64."""

    def with_bytes(event_body: dict[str, Any]) -> dict[str, Any]:
        return {
            **event_body,
            **{key: base64.b64encode(bytes.fromhex(event_body[key])).decode() for key in IDS if key in event_body},
        }

    return json_format.ParseDict(json.loads(text, object_hook=with_bytes), kind())


def read_otlp(workspace: Workspace) -> tuple[list[Any], list[Any]]:
    """Return the logs and spans of an export, read by the official library."""
    logs, spans = [], []
    for line in export(workspace, "otlp").splitlines():
        if "resourceLogs" in json.loads(line):
            message = parse_otlp(ExportLogsServiceRequest, line)
            logs += [log for row in message.resource_logs for scope in row.scope_logs for log in scope.log_records]
        else:
            message = parse_otlp(ExportTraceServiceRequest, line)
            spans += [span for row in message.resource_spans for scope in row.scope_spans for span in scope.spans]
    return logs, spans


def get_attributes(attributes: Any) -> dict[str, Any]:
    return {row.key: getattr(row.value, row.value.WhichOneof("value")) for row in attributes}


def test_record_is_a_log_and_a_span_and_a_conversation_is_a_trace(workspace: Workspace) -> None:
    logs, spans = read_otlp(workspace)
    events = [span for span in spans if "trotline.event" in get_attributes(span.attributes)]
    assert len(logs) == len(events) == 8
    assert {(log.trace_id, log.span_id) for log in logs} == {(span.trace_id, span.span_id) for span in events}
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans)
    for span in events:
        parent = known[span.parent_span_id]
        assert parent.trace_id == span.trace_id
        assert parent.start_time_unix_nano <= span.start_time_unix_nano
    roots = [span for span in spans if not span.parent_span_id]
    assert {(span.name, get_attributes(span.attributes)["gen_ai.conversation.id"]) for span in roots} == {
        ("conversation cursor", "c1"),
        ("conversation somebody", "c1"),
        ("conversation another", "c2"),
    }
    assert len({span.trace_id for span in spans}) == 3


def test_attributes_follow_the_conventions(workspace: Workspace) -> None:
    logs, spans = read_otlp(workspace)
    denied = next(log for log in logs if log.severity_text == "WARN")
    attributes = get_attributes(denied.attributes)
    assert denied.severity_number == 13
    assert (attributes["trotline.verdict"], attributes["gen_ai.agent.name"]) in {
        ("deny", "cursor"),
        ("deny", "somebody"),
    }
    assert attributes["log.record.uid"]
    run = next(span for span in spans if span.name == "execute_tool Shell")
    assert get_attributes(run.attributes)["gen_ai.operation.name"] == "execute_tool"
    assert all(log.time_unix_nano > 1_700_000_000 * 10**9 for log in logs)


def test_exports_contain_no_secret(workspace: Workspace) -> None:
    for form in ("jsonl", "csv", "ocsf", "otlp"):
        text = export(workspace, form)
        assert "curl -H" in text
        assert SECRET not in text


@pytest.mark.parametrize("form", ["jsonl", "csv", "ocsf", "otlp"])
def test_export_without_detail_contains_no_text(workspace: Workspace, form: str) -> None:
    text = log(workspace, "export", "--format", form, "--no-details").stdout
    assert "beforeShellExecution" in text
    for words in ("curl", "npm test", "rm -rf", '"payload"', "tool_input"):
        assert words not in text


def test_export_without_detail_contains_measures_and_machine(workspace: Workspace) -> None:
    detail_fields = {"tokens": 7, "duration_ms": 40, "exit": 2, "subagent_type": "as the agent says"}
    words = {
        **detail(1, command="make secrets"),
        "machine": "m",
        "user": "ann",
        "version": "3",
        "measures": detail_fields,
    }
    body = {**record(1, event="afterShellExecution"), "seq": 1, "detail": words, "invalid": {"detail": "make"}}
    (line,) = export_formats.format_records("jsonl", [convert_record(body)], with_detail=False)
    remaining = {"machine": "m", "user": "ann", "version": "3", "measures": {"tokens": 7, "duration_ms": 40, "exit": 2}}
    assert json.loads(line)["detail"] == {"schema": "trotline.detail/2", "id": "id-1", **remaining}
    assert "make" not in line
    (line,) = export_formats.format_records("ocsf", [convert_record(body)], with_detail=False)
    event = json.loads(line)
    assert (event["src_endpoint"]["name"], event["actor"]["user"]["name"]) == ("m", "ann")
    assert list_schema_errors("record-ocsf", event) == []
    assert "make" not in line


@pytest.mark.parametrize(
    "event,fields,detail_fields,status",
    [
        ("postToolUseFailure", {}, {"measures": {"failure_type": "timeout"}}, ("Failure", 1, "timeout", "none")),
        ("postToolUse", {}, {"measures": {"exit": 3}}, ("Failure", 1, "_OTHER", "none")),
        ("postToolUse", {}, {"measures": {"exit": 0}}, ("Success", 1, "", "none")),
        ("preToolUse", {"decided": "deny"}, {}, ("Failure", 3, "g", "deny")),
        ("preToolUse", {"decided": "deny", "withheld": ["deny"]}, {}, ("Success", 1, "g", "would_deny")),
        ("preToolUse", {"decided": "ask", "withheld": ["ask"]}, {}, ("Success", 1, "g", "would_ask")),
        ("preToolUse", {"decided": "ask"}, {}, ("Other", 1, "g", "ask")),
    ],
)
def test_ocsf_status_is_the_outcome_of_the_call(
    event: str, fields: dict[str, Any], detail_fields: dict[str, Any], status: tuple[str, int, str, str]
) -> None:
    deciders = ["g"] if fields else []
    body = {**record(1, event=event, deciders=deciders, **fields), "seq": 1, "detail": {**detail(1), **detail_fields}}
    (line,) = export_formats.format_ocsf([convert_record(body)])
    event_body = json.loads(line)
    assert list_schema_errors("record-ocsf", event_body) == []
    verdict = event_body["unmapped"]["verdict"]
    assert (event_body["status"], event_body["severity_id"], event_body["status_detail"], verdict) == status


def test_output_file_becomes_private(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("x" * 1_000_000)
    file.chmod(0o644)
    assert log(workspace, "export", "--output", str(file)).returncode == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line)["schema"] for line in file.read_text().splitlines()] == ["trotline.record/2"] * 8


def test_device_is_written_without_a_mode_change(workspace: Workspace) -> None:
    assert log(workspace, "export", "--output", "/dev/null").stdout == "8 lines in /dev/null\n"


@pytest.mark.parametrize(
    "words,message",
    [
        (["--json"], "--json goes with --status"),
        (["--status", "--agent", "x"], "--status is asked alone, without --agent"),
    ],
    ids=str,
)
def test_conflicting_options_are_an_error(workspace: Workspace, words: list[str], message: str) -> None:
    done = log(workspace, "export", *words)
    assert done.returncode == 64
    assert message in done.stderr + done.stdout


def test_ocsf_contains_machine_and_user_if_known(workspace: Workspace) -> None:
    lines = [json.loads(line) for line in export(workspace, "ocsf").splitlines()]
    real = [row for row in lines if row["actor"]["app_name"] == "cursor"]
    detail = real[0]["unmapped"]["record"]["detail"]
    assert {row["src_endpoint"]["name"] for row in real} == {detail["machine"]} != {""}
    assert {row["actor"]["user"]["name"] for row in real} == {detail["user"]} != {""}
    unknown = next(row for row in lines if row["actor"]["app_name"] == "another")
    assert (unknown["src_endpoint"], "user" in unknown["actor"]) == ({"name": "localhost"}, False)


def test_mcp_call_is_a_tool_call_span() -> None:
    detail_fields = {"tool_input": '{"id": 42}', "mcp_server_name": "tickets", "duration": 250}
    body = {
        **record(1, event="afterMCPExecution", tool="close_ticket", generation="g1"),
        "detail": {"payload": detail_fields},
    }
    span = build_span(body)
    attributes = {row["key"]: row["value"] for row in span["attributes"]}
    assert (span["name"], span["kind"]) == ("tools/call close_ticket", 3)
    assert attributes["mcp.method.name"] == {"stringValue": "tools/call"}
    assert attributes["gen_ai.tool.call.arguments"] == {"stringValue": '{"id": 42}'}
    assert int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) == 250_000_000
    quiet = build_span(body, with_detail=False)
    assert "gen_ai.tool.call.arguments" not in {row["key"] for row in quiet["attributes"]}
    assert span["parentSpanId"] == otlp.get_scope_span_id(("somebody", "c1", "g1"))


def test_command_reported_by_two_events_is_one_execution_span() -> None:
    after = record(1, agent="cursor", event="afterShellExecution")
    generic = record(2, agent="cursor", event="postToolUse", tool="Shell")
    assert [build_span(row)["name"] for row in (after, generic)] == ["execute_tool Shell", "postToolUse Shell"]
    dated = [{**row, "detail": {"version": "3.21.16"}} for row in (after, generic)]
    assert [build_span(row)["name"] for row in dated] == ["afterShellExecution Shell", "execute_tool Shell"]
    assert build_span({**generic, "tool": "Read"})["name"] == "execute_tool Read"
    assert build_span({**generic, "agent": "codex"})["name"] == "execute_tool Shell"
    assert build_span({**generic, "tool": "MCP:tickets:close"})["name"] == "postToolUse close"


def test_mcp_call_in_a_generic_event_is_a_tool_call_span() -> None:
    span = build_span(record(1, agent="claude-code", event="postToolUse", tool="MCP:tickets:close"))
    attributes = {row["key"]: row["value"] for row in span["attributes"]}
    assert (span["name"], span["kind"]) == ("tools/call close", 3)
    assert attributes["mcp.method.name"] == {"stringValue": "tools/call"}
    assert attributes["gen_ai.tool.name"] == {"stringValue": "close"}


@pytest.mark.parametrize(
    "event,detail_fields,kind",
    read_rows("export", "failed_execution_is_an_error_span"),
)
def test_failed_execution_is_an_error_span(event: str, detail_fields: dict[str, Any], kind: str | None) -> None:
    span = build_span({**record(1, event=event), "detail": detail_fields}, with_detail=False)
    attributes = {row["key"]: row["value"]["stringValue"] for row in span["attributes"] if row["key"] == "error.type"}
    assert (span.get("status"), attributes.get("error.type")) == ({"code": 2} if kind else None, kind)


def test_failed_command_of_cursor_is_one_error_span() -> None:
    after = {**record(1, agent="cursor", event="afterShellExecution"), "detail": {"version": "3.21.16"}}
    detail_fields = {"version": "3.21.16", "measures": {"exit": 3}}
    generic = {**record(2, agent="cursor", event="postToolUse", tool="Shell"), "detail": detail_fields}
    spans = [build_span(row) for row in (after, generic)]
    assert [(span["name"], "status" in span) for span in spans] == [
        ("afterShellExecution Shell", False),
        ("execute_tool Shell", True),
    ]


def test_denied_call_is_not_an_execution_span() -> None:
    detail_fields = {"measures": {"failure_type": "permission_denied"}}
    refused = {**record(1, agent="cursor", event="postToolUseFailure", tool="Shell"), "detail": detail_fields}
    span = build_span(refused)
    assert (span["name"], "status" in span) == ("postToolUseFailure Shell", False)
    assert not {row["key"] for row in span["attributes"]} & {"error.type", "gen_ai.operation.name"}


def test_execution_without_a_duration_has_none() -> None:
    span = build_span(record(1, event="afterShellExecution", micros=5000))
    assert span["startTimeUnixNano"] == span["endTimeUnixNano"]
    answer = build_span(record(1, micros=5000))
    assert int(answer["endTimeUnixNano"]) - int(answer["startTimeUnixNano"]) == 5_000_000


def test_cache_tokens_follow_the_conventions() -> None:
    measures = {"cache_read_tokens": 50, "cache_write_tokens": 25}
    span = build_span({**record(1, event="stop"), "detail": {"measures": measures}}, with_detail=False)
    attributes = {row["key"]: row["value"] for row in span["attributes"]}
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == {"intValue": "50"}
    assert attributes["gen_ai.usage.cache_creation.input_tokens"] == {"intValue": "25"}


def test_measures_are_exported_without_a_payload() -> None:
    measures = {"duration_ms": 40, "input_tokens": 7, "exit": 2}
    body = {**record(1, event="afterShellExecution"), "detail": {"measures": measures, "machine": "a-laptop"}}
    quiet = build_span(body, with_detail=False)
    attributes = {row["key"]: row["value"] for row in quiet["attributes"]}
    assert int(quiet["endTimeUnixNano"]) - int(quiet["startTimeUnixNano"]) == 40_000_000
    assert (attributes["gen_ai.usage.input_tokens"], attributes["process.exit.code"]) == (
        {"intValue": "7"},
        {"intValue": "2"},
    )
    assert "trotline.machine" not in attributes
    assert "trotline.machine" in {row["key"] for row in build_span(body)["attributes"]}


def test_call_without_a_conversation_is_a_separate_trace() -> None:
    first, second = record(1, conversation=""), record(2, conversation="")
    assert otlp.get_trace_id(convert_record(first)) != otlp.get_trace_id(convert_record(second))
    assert "parentSpanId" not in build_span(first)


@given(st.dictionaries(st.sampled_from(RECORD_FIELDS), JSON), st.dictionaries(st.sampled_from(DETAIL_FIELDS), JSON))
def test_any_record_can_be_encoded_and_decoded(fields: dict[str, Any], words: dict[str, Any]) -> None:
    body = {**fields, "id": "id-1", "seq": 1, "detail": words}
    logs = otlp.build_logs_request([convert_record(body)], resource={})
    data = otlp.encode_request("logs", logs, otlp.PROTOBUF)
    (log,) = ExportLogsServiceRequest.FromString(data).resource_logs[0].scope_logs[0].log_records
    assert log.trace_id == bytes.fromhex(otlp.get_trace_id(convert_record(body)))
    spans = otlp.build_traces_request([build_span(body)], resource={})
    data = otlp.encode_request("traces", spans, otlp.PROTOBUF)
    (span,) = ExportTraceServiceRequest.FromString(data).resource_spans[0].scope_spans[0].spans
    assert span.end_time_unix_nano >= span.start_time_unix_nano


def test_deeply_nested_value_becomes_text() -> None:
    deep: Any = "bottom"
    for _ in range(300):
        deep = [deep]
    body = {**record(1), "seq": 1, "detail": {**detail(1), "payload": {"deep": deep}}}
    data = otlp.encode_request("logs", otlp.build_logs_request([convert_record(body)], resource={}), otlp.PROTOBUF)
    assert "bottom" in str(ExportLogsServiceRequest.FromString(data))


@given(st.lists(st.dictionaries(st.sampled_from(RECORD_FIELDS), JSON), max_size=3))
def test_protobuf_equals_json(fields: list[dict[str, Any]]) -> None:
    bodies = [{**row, "id": f"id-{number}", "seq": number} for number, row in enumerate(fields, 1)]
    records = [convert_record(body) for body in bodies]
    requests: dict[str, tuple[dict[str, Any], Any]] = {
        "logs": (otlp.build_logs_request(records, resource={"host.name": "x"}), ExportLogsServiceRequest),
        "traces": (otlp.build_traces_request(map(build_span, bodies), resource={}), ExportTraceServiceRequest),
    }
    for signal, (request, kind) in requests.items():
        message = kind.FromString(otlp.encode_request(signal, request, otlp.PROTOBUF))
        assert parse_otlp(kind, otlp.encode_request(signal, request, otlp.JSON)) == message
