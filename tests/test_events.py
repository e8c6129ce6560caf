"""Events: reading of every spelling, unreadable payloads, writing, and the contract of each event."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest

from kit import read_corpus, read_rows
from trotline.agents.cursor import payloads
from trotline.agents.cursor.payloads import read_event, write_event
from trotline.cli.schema import build_payload_schema
from trotline.domain.contracts import Ask, Contract, Family, Fires, Subject, Surface
from trotline.domain.errors import UnreadablePayload
from trotline.domain.event_fields import build_sample
from trotline.domain.event_records import Attachment, Edit, ModelParam, Range, TabEdit
from trotline.domain.events import EVENTS, NULLABLE, Event, OtherEvent

SHARED = Path(__file__).parents[2] / "shared"

REQUIRED = read_corpus("events")["required"]
"""The required field of each event that has one."""


def payload(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, **REQUIRED.get(name, {}), **fields}


def read(name: str, **fields: Any) -> Any:
    """Read a payload with these fields; returns Any, so that tests can access the fields of every event class."""
    return read_event(json.dumps(payload(name, **fields)))


def write(event: Event) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(write_event(event))
    return body


def read_error(data: bytes | str) -> UnreadablePayload:
    with pytest.raises(UnreadablePayload) as caught:
        read_event(data)
    return caught.value


# -- reading is liberal


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_is_read_from_its_name_and_required_field(name: str) -> None:
    event = read(name)
    assert type(event) is EVENTS[name]
    assert event.wire_name == name
    assert event.raw == {}


@pytest.mark.parametrize("name", EVENTS)
def test_common_fields_are_read_on_every_event(name: str) -> None:
    event = read(
        name,
        conversation_id="c",
        generation_id="g",
        workspace_roots=["/a", "/b"],
        model="default",
        model_id="m",
        model_params=[{"id": "effort", "value": "high"}],
        session_id="s",
        cursor_version="3.21",
        user_email="a@example.com",
        transcript_path="/t",
    )
    assert (event.conversation_id, event.generation_id, event.session_id) == ("c", "g", "s")
    assert (event.workspace_roots, event.cursor_version) == (("/a", "/b"), "3.21")
    assert (event.model, event.model_id, event.model_params) == ("default", "m", (ModelParam("effort", "high"),))
    assert (event.user_email, event.transcript_path, event.raw) == ("a@example.com", "/t", {})


@pytest.mark.parametrize("name", ["beforeSubmitPrompt", "beforeReadFile"])
@pytest.mark.parametrize("key", ["file_path", "filePath"])
def test_attachments_are_read_in_both_spellings(name: str, key: str) -> None:
    event = read(name, attachments=[{"type": "rule", key: "/a/CLAUDE.md"}, {"type": "file", key: "/b"}])
    assert event.attachments == (Attachment("rule", "/a/CLAUDE.md"), Attachment("file", "/b"))


def test_newer_spelling_of_an_attachment_wins() -> None:
    event = read("beforeSubmitPrompt", attachments=[{"filePath": "/old", "file_path": "/new", "type": "file"}])
    assert event.attachments == (Attachment("file", "/new"),)


def test_attachments_that_are_not_objects_are_raw() -> None:
    event = read("beforeSubmitPrompt", attachments=["a.py"])
    assert event.attachments == ()
    assert event.raw == {"attachments": ["a.py"]}


TOOL_EVENTS = ["preToolUse", "postToolUse", "postToolUseFailure", "beforeMCPExecution", "afterMCPExecution"]


@pytest.mark.parametrize("name", TOOL_EVENTS)
@pytest.mark.parametrize("value", [{"id": 42}, '{"id": 42}'], ids=["object", "text"])
def test_tool_input_is_read_as_an_object_and_as_json_text(name: str, value: Any) -> None:
    assert read(name, tool_input=value).tool_input == {"id": 42}


@pytest.mark.parametrize("value", [[1, 2], "[1, 2]"], ids=["list", "text"])
def test_tool_input_may_be_a_list(value: Any) -> None:
    assert read("preToolUse", tool_input=value).tool_input == [1, 2]


@pytest.mark.parametrize("text", ["", "hello", "5", "null", "true", '"quoted"', "{broken", '{"a": NaN}', "[" * 100_000])
def test_tool_input_without_an_object_stays_text(text: str) -> None:
    assert read("beforeMCPExecution", tool_input=text).tool_input == text


@pytest.mark.parametrize("value", [5, True, 1.5])
def test_tool_input_of_another_type_is_raw(value: Any) -> None:
    event = read("preToolUse", tool_input=value)
    assert event.tool_input == {}
    assert event.raw == {"tool_input": value}


@pytest.mark.parametrize("as_bytes", [True, False])
def test_byte_order_mark_is_skipped(*, as_bytes: bool) -> None:
    text = "\ufeff" + json.dumps(payload("stop", status="completed"))
    assert read_event(text.encode() if as_bytes else text) == read("stop", status="completed")


def test_only_one_byte_order_mark_is_skipped() -> None:
    assert "not JSON" in read_error("\ufeff\ufeff" + json.dumps(payload("stop"))).message


UNKNOWN: dict[str, Any] = {"future": {"deep": [1, None, {"x": "\ud83d"}]}, "empty": None, "list": [], "": 0, "Ünï": "ö"}


@pytest.mark.parametrize("name", EVENTS)
def test_unknown_fields_are_preserved(name: str) -> None:
    event = read(name, **UNKNOWN)
    assert event.raw == UNKNOWN
    assert {key: write(event)[key] for key in UNKNOWN} == UNKNOWN


def test_unknown_event_keeps_its_fields_and_cannot_be_refused() -> None:
    event = read(
        "afterTheHeatDeath", conversation_id="c", command="make", tool_input="{}", attachments=[{"filePath": 1}]
    )
    assert isinstance(event, OtherEvent)
    assert (event.wire_name, event.hook_event_name, event.conversation_id) == ("afterTheHeatDeath",) * 2 + ("c",)
    assert event.raw == {"command": "make", "tool_input": "{}", "attachments": [{"filePath": 1}]}
    assert write(event)["hook_event_name"] == "afterTheHeatDeath"
    event = read("afterTheHeatDeath")
    assert event.subject is None
    assert event.contract == Contract(name="", when="unknown to this version", fires_on=())


def test_older_and_newer_fields_of_a_subagent_start_are_read() -> None:
    event = read("subagentStart", prompt="look around", model="m")
    assert (event.task, event.model, event.raw) == ("look around", "m", {})
    newer = {
        "subagent_id": "s1",
        "task": "t",
        "parent_conversation_id": "p",
        "tool_call_id": "c",
        "subagent_model": "m",
        "is_parallel_worker": True,
        "git_branch": "main",
    }
    event = read("subagentStart", **newer)
    assert {key: getattr(event, key) for key in newer} == newer
    assert event.raw == {}


def test_older_and_newer_fields_of_a_subagent_stop_are_read() -> None:
    event = read("subagentStop", prompt="look", result="found", duration=45000, status="completed")
    assert (event.task, event.summary, event.duration_ms, event.raw) == ("look", "found", 45000, {})
    newer = {
        "subagent_id": "s1",
        "parent_conversation_id": "p",
        "status": "aborted",
        "task": "t",
        "description": "d",
        "summary": "s",
        "duration_ms": 1.5,
        "message_count": 1,
        "tool_call_count": 2,
        "loop_count": 3,
        "agent_transcript_path": "/t",
    }
    event = read("subagentStop", **newer, modified_files=["/a", "/b"])
    assert {key: getattr(event, key) for key in newer} == newer
    assert (event.modified_files, event.raw) == (("/a", "/b"), {})


def test_newer_spelling_wins_unless_it_is_null() -> None:
    event = read("subagentStop", task="new", prompt="old", summary="new", result="old", duration_ms=2, duration=1)
    assert (event.task, event.summary, event.duration_ms) == ("new", "new", 2)
    assert event.raw == {"prompt": "old", "result": "old", "duration": 1}
    assert read("subagentStart", task=None, prompt="old").task == "old"


@pytest.mark.parametrize("name", ["beforeMCPExecution", "afterMCPExecution"])
def test_server_is_read_as_mcp_server_name(name: str) -> None:
    event = read(name, server="tickets")
    assert (event.mcp_server_name, event.raw) == ("tickets", {})


@pytest.mark.parametrize("name", ["beforeMCPExecution", "afterMCPExecution"])
@pytest.mark.parametrize(
    "tool_name, tool, server", read_rows("events", "an_mcp_event_names_the_bare_tool_however_it_was_spelt_tool_name")
)
def test_mcp_event_has_the_bare_tool_name(name: str, tool_name: str, tool: str, server: str | None) -> None:
    event = read(name, tool_name=tool_name)
    assert (event.tool_name, event.mcp_server_name, event.subject) == (tool, server, tool)


def test_server_comes_from_the_payload_or_else_from_the_tool_name() -> None:
    event = read("beforeMCPExecution", tool_name="MCP:theirs:close", mcp_server_name="ours")
    assert (event.tool_name, event.mcp_server_name) == ("close", "ours")
    assert read("beforeMCPExecution", tool_name="MCP:tickets:close", mcp_server_name="").mcp_server_name == "tickets"


@pytest.mark.parametrize("tool_name", ["MCP:close", "MCP:tickets:close"])
def test_generic_event_keeps_the_full_tool_name(tool_name: str) -> None:
    assert read("preToolUse", tool_name=tool_name).subject == tool_name


@pytest.mark.parametrize("name, field", [("postToolUse", "tool_output"), ("afterMCPExecution", "result_json")])
@pytest.mark.parametrize("value, text", read_rows("events", "a_result_is_read_as_text_and_as_the_object_itself_value"))
def test_result_is_read_from_text_and_from_an_object(name: str, field: str, value: Any, text: str) -> None:
    assert getattr(read(name, **{field: value}), field) == text


def test_working_directory_of_a_finished_command_is_optional() -> None:
    assert read("afterShellExecution", cwd="/work").cwd == "/work"
    assert read("afterShellExecution").cwd is None


@pytest.mark.parametrize("name, field", read_rows("events", "durations_and_shares_may_be_fractions"))
def test_durations_and_shares_may_be_fractions(name: str, field: str) -> None:
    assert getattr(read(name, **{field: 1234.5678}), field) == 1234.5678
    assert getattr(read(name, **{field: 1234}), field) == 1234


@pytest.mark.parametrize("name", ["preToolUse", "postToolUse", "postToolUseFailure"])
def test_newline_in_the_tool_use_id_is_preserved(name: str) -> None:
    assert read(name, tool_use_id="call-1\nfc_2").tool_use_id == "call-1\nfc_2"


@pytest.mark.parametrize("name", EVENTS)
def test_null_is_read_as_absent(name: str) -> None:
    optional = [field for field in EVENTS[name].__struct_fields__ if field not in {"raw", *REQUIRED.get(name, ())}]
    known = set(optional) - {"tool_output", "result_json"}
    assert read(name, **dict.fromkeys(known)) == read(name)


@pytest.mark.parametrize(
    "field, value",
    [("loop_count", "many"), ("loop_count", 1.5), ("workspace_roots", "/a"), ("status", ["x"]), ("model", {"id": 1})],
)
def test_optional_value_of_the_wrong_type_is_raw(field: str, value: Any) -> None:
    event = read("stop", **{field: value})
    assert event.raw == {field: value}
    assert getattr(event, field) == getattr(read("stop"), field)


@pytest.mark.parametrize(
    "field, value, meant", [("loop_count", "3", 3), ("loop_count", 3.0, 3), ("input_tokens", "12", 12)]
)
def test_quoted_number_is_read_as_a_number(field: str, value: Any, meant: int) -> None:
    assert getattr(read("stop", **{field: value}), field) == meant


@pytest.mark.parametrize("value, meant", [("true", True), ("false", False), (1, True), (0, False)])
def test_quoted_boolean_is_read_as_a_boolean(value: Any, meant: bool) -> None:
    assert read("sessionStart", is_background_agent=value).is_background_agent is meant


ODD: list[Any] = [None, True, 0, 3.5, "", "7", "text", [], ["a", 1], {}, {"a": []}, 2**70, "\ud83d", [{"type": 5}]]


@pytest.mark.parametrize("name", EVENTS)
def test_both_readers_of_an_event_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every odd value in every field."""
    bodies = [{**payload(name), field: odd} for field in EVENTS[name].__struct_fields__ for odd in ODD]
    at_once = [read_or_error(body) for body in bodies]
    monkeypatch.setattr(payloads, "msgspec", FieldByField)
    assert at_once == [read_or_error(body) for body in bodies]


def read_or_error(body: dict[str, Any]) -> Event | str:
    try:
        return read_event(json.dumps(body))
    except UnreadablePayload as error:
        return error.message


class FieldByField:
    """A msgspec that cannot decode a whole event, so that each field is read separately."""

    ValidationError = msgspec.ValidationError
    structs = msgspec.structs

    @staticmethod
    def convert(value: Any, type_: Any, *, strict: bool) -> Any:
        if isinstance(type_, type) and issubclass(type_, Event):
            raise msgspec.ValidationError
        return msgspec.convert(value, type_, strict=strict)


def test_lone_surrogates_are_preserved() -> None:
    event = read_event(b'{"hook_event_name":"beforeShellExecution","command":"echo \\ud83d","x":{"\\ude00":"\\ud83d"}}')
    assert event.subject == "echo \ud83d"
    assert event.raw == {"x": {"\ude00": "\ud83d"}}


def test_edits_are_read_in_order_and_with_ranges() -> None:
    place = {"start_line_number": 10, "start_column": 5, "end_line_number": 11, "end_column": 20}
    edit = {"old_string": "a", "new_string": "b", "range": place, "old_line": "x = a", "new_line": "x = b"}
    assert read("afterTabFileEdit", edits=[edit]).edits == (TabEdit("a", "b", Range(10, 5, 11, 20), "x = a", "x = b"),)
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "c"}]
    assert read("afterFileEdit", edits=edits).edits == (Edit("a", "b"), Edit("", "c"))


def test_token_counts_are_read_on_the_events_that_report_them() -> None:
    tokens = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    for name in ("beforeSubmitPrompt", "afterAgentResponse", "stop"):
        event = read(name, **tokens)
        assert {key: getattr(event, key) for key in tokens} == tokens
    assert read("sessionEnd", **tokens).raw == tokens


# -- unreadable payloads


@pytest.mark.parametrize("name, field", [(name, next(iter(fields))) for name, fields in REQUIRED.items()])
@pytest.mark.parametrize("value", [5, ["x"], {"a": 1}], ids=["number", "list", "object"])
def test_required_field_of_the_wrong_type_is_unreadable(name: str, field: str, value: Any) -> None:
    error = read_error(json.dumps({"hook_event_name": name, field: value}))
    assert f"`{field}` cannot be read" in error.message


@pytest.mark.parametrize("name, field", [(name, next(iter(fields))) for name, fields in REQUIRED.items()])
@pytest.mark.parametrize("fields", ["{}", "null"])
def test_payload_without_its_required_field_is_unreadable(name: str, field: str, fields: str) -> None:
    body = {"hook_event_name": name} | ({field: None} if fields == "null" else {})
    assert read_error(json.dumps(body)).message == f"a {name} payload needs `{field}`"


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_unreadable(word: str) -> None:
    error = read_error(f'{{"hook_event_name": "stop", "loop_count": {word}}}')
    assert error.message == f"the payload is not JSON: `{word}` is not JSON"


def test_bytes_that_are_not_utf_8_are_unreadable() -> None:
    assert read_error(b'{"a": "\xff"}').message == "the payload is not UTF-8: byte 7 is `0xff`"
    assert "not UTF-8" in read_error(json.dumps(payload("stop")).encode("utf-16")).message


@pytest.mark.parametrize("text, kind", read_rows("events", "json_that_is_no_object_is_unreadable"))
def test_json_that_is_not_an_object_is_unreadable(text: str, kind: str) -> None:
    assert read_error(text).message == f"the payload is {kind}, not an object"


@pytest.mark.parametrize("text", ["", "  ", "{", "hello", '{"a": 1} {"b": 2}', "{'a': 1}"])
def test_text_that_is_not_json_is_unreadable(text: str) -> None:
    assert read_error(text).message.startswith("the payload is not JSON: ")


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_deeply_nested_payload_is_unreadable(opening: str, closing: str) -> None:
    deep = opening * 100_000 + "1" + closing * 100_000
    error = read_error(f'{{"hook_event_name": "stop", "x": {deep}}}')
    assert error.message == "the payload is nested too deeply"


@pytest.mark.parametrize("name", [None, "", 5, ["stop"], {"a": 1}])
def test_payload_without_an_event_name_is_unreadable(name: Any) -> None:
    error = read_error(json.dumps({"hook_event_name": name, "command": "make"}))
    assert error.message == "the payload has no `hook_event_name`"
    assert error.hint == "is this a hook payload at all?"


def test_unreadable_payload_has_exit_code_1() -> None:
    assert read_error("[]").exit_code == 1


# -- writing is strict


@pytest.mark.parametrize("name", EVENTS)
def test_null_is_written_only_for_nullable_fields(name: str) -> None:
    body = write(read(name))
    nulls = {key for key, value in body.items() if value is None}
    documented = {"user_email", "transcript_path", "agent_transcript_path"}
    assert nulls == documented & set(EVENTS[name].__struct_fields__)


def test_nullable_fields_are_the_documented_ones() -> None:
    assert {"user_email", "transcript_path", "agent_transcript_path"} == NULLABLE


@pytest.mark.parametrize("name", ["beforeMCPExecution", "afterMCPExecution"])
@pytest.mark.parametrize("value", [{"id": 42, "ö": [1]}, '{"id": 42, "ö": [1]}'])
def test_input_of_an_mcp_tool_is_written_as_json_text(name: str, value: Any) -> None:
    text = write(read(name, tool_input=value))["tool_input"]
    assert text == '{"id":42,"ö":[1]}'


def test_input_of_an_mcp_tool_that_is_not_json_is_written_unchanged() -> None:
    assert write(read("beforeMCPExecution", tool_input="not json"))["tool_input"] == "not json"


@pytest.mark.parametrize("name", ["preToolUse", "postToolUse", "postToolUseFailure"])
@pytest.mark.parametrize("value", [{"id": 42}, '{"id": 42}'])
def test_input_of_other_tools_is_written_as_an_object(name: str, value: Any) -> None:
    assert write(read(name, tool_input=value))["tool_input"] == {"id": 42}


@pytest.mark.parametrize("name", EVENTS)
def test_output_ends_with_the_closing_brace(name: str) -> None:
    assert write_event(read(name)).endswith(b"}")


def test_output_is_utf_8_with_escaped_surrogates() -> None:
    assert "größer 😀".encode() in write_event(read("beforeShellExecution", command="größer 😀"))
    data = write_event(read("beforeShellExecution", command="ö\ud83d"))
    assert b'"command":"\\u00f6\\ud83d"' in data
    assert data.isascii()


def test_older_spellings_are_written_in_the_newest() -> None:
    body = write(read("beforeReadFile", attachments=[{"type": "file", "filePath": "/a"}]))
    assert body["attachments"] == [{"type": "file", "file_path": "/a"}]
    body = write(read("subagentStop", result="r", duration=5))
    assert (body["summary"], body["duration_ms"]) == ("r", 5)
    assert not {"result", "duration", "raw"} & body.keys()


@pytest.mark.parametrize("name", EVENTS)
def test_sample_payload_survives_a_round_trip(name: str) -> None:
    event = read_event(json.dumps(build_sample(name)))
    assert event.raw == {}
    body, sample = write(event), build_sample(name)
    sample.pop("tool_input", None)
    assert {key: body[key] for key in sample} == sample


# -- contracts: cursor-protocol.md 1.1, 1.3 and 8.2, written out a second time

IDE, CLI, PRINT, CLOUD, TAB = "ide", "cli", "print", "cloud", "tab"
TOOL = "field tool_name"


class ContractRow(NamedTuple):
    family: str
    subject: str
    answers: str
    refuses: str = ""  # "", "gate", or "yes": refusable, and not a permission event
    ask: str = "none"
    fires: str = ""
    unverified: str = ""


CONTRACTS = {name: ContractRow(*row) for name, row in read_corpus("events")["contracts"].items()}


def test_events_are_the_21_documented_ones_in_order() -> None:
    assert list(EVENTS) == list(CONTRACTS)
    assert len(EVENTS) == 21


@pytest.mark.parametrize("name", CONTRACTS)
def test_contract_equals_the_protocol(name: str) -> None:
    contract, row = EVENTS[name].contract, CONTRACTS[name]
    kind, _, value = row.subject.partition(" ")
    assert contract.name == name
    assert contract.family.value == row.family
    assert contract.subject == (Subject(**{kind: value}) if kind else Subject())
    assert contract.answers == tuple(row.answers.split())
    assert (contract.refusable, contract.gate) == (bool(row.refuses), row.refuses == "gate")
    assert contract.ask.value == row.ask
    assert len(contract.when.split()) >= 3


@pytest.mark.parametrize("surface", Surface)
@pytest.mark.parametrize("name", CONTRACTS)
def test_event_fires_on_the_surfaces_of_the_protocol(name: str, surface: Surface) -> None:
    row = CONTRACTS[name]
    expected = Fires.YES if surface.value in row.fires.split() else Fires.NO
    if surface.value in row.unverified.split():
        expected = Fires.UNVERIFIED
    assert EVENTS[name].contract.fires(surface) is expected


def test_only_generic_tool_events_are_paired() -> None:
    pairs = {name: set(cls.contract.pairs_with) for name, cls in EVENTS.items() if cls.contract.generic}
    assert pairs == {
        "preToolUse": {"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"},
        "postToolUse": {"afterShellExecution", "afterMCPExecution", "afterFileEdit"},
        "postToolUseFailure": set(),
    }
    assert not any(cls.contract.pairs_with for cls in EVENTS.values() if not cls.contract.generic)


def test_refused_session_start_is_not_enforced_in_the_ide() -> None:
    unenforced = {name: cls.contract.unenforced_on for name, cls in EVENTS.items() if cls.contract.unenforced_on}
    assert unenforced == {"sessionStart": (Surface.IDE,)}


def test_only_refusable_events_have_a_reply_key_to_refuse() -> None:
    for cls in EVENTS.values():
        contract = cls.contract
        assert contract.refusable == bool({"permission", "continue"} & set(contract.answers))
        assert contract.gate == ("permission" in contract.answers)
        assert (contract.ask is Ask.NONE) == (not contract.gate)


@pytest.mark.parametrize(
    "name, fields, subject", read_rows("events", "the_subject_of_an_event_is_what_matchers_look_at")
)
def test_subject_of_an_event_is_what_matchers_see(name: str, fields: dict[str, Any], subject: str | None) -> None:
    assert read(name, **fields).subject == subject


@pytest.mark.parametrize(
    "subject, words, exists",
    [
        (Subject(), "nothing", False),
        (Subject(field="command"), "`command`", True),
        (Subject(word="Stop"), "the word `Stop`", True),
    ],
)
def test_subject_has_a_description(subject: Subject, words: str, exists: bool) -> None:
    assert (str(subject), subject.exists) == (words, exists)


def test_contract_has_defaults() -> None:
    plain = Contract(name="x", when="never")
    assert (plain.family, plain.subject, plain.answers, plain.ask) == (Family.AGENT, Subject(), (), Ask.NONE)
    assert (plain.refusable, plain.gate, plain.generic) == (False, False, False)
    assert plain.fires_on == (Surface.IDE, Surface.CLI, Surface.PRINT, Surface.CLOUD)
    assert plain.unverified_on == plain.unenforced_on == plain.pairs_with == ()


# -- recorded payloads, where they are at hand


def list_recorded_payloads() -> Iterator[dict[str, Any]]:
    for file in sorted((SHARED / "corpora" / "payloads").glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            yield json.loads(line)["payload"]
    for file in sorted((SHARED / "clients" / "agents").glob("*/payloads.json")):
        yield from find_payloads(json.loads(file.read_text("utf-8")))


def find_payloads(value: Any) -> Iterator[dict[str, Any]]:
    """Return every object with an event name, at any depth."""
    if isinstance(value, dict):
        if "hook_event_name" in value:
            yield value
        for inner in value.values():
            yield from find_payloads(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from find_payloads(inner)


RECORDED = [recorded for recorded in list_recorded_payloads() if recorded.get("hook_event_name") in EVENTS]
needs_recordings = pytest.mark.skipif(not RECORDED, reason="no recorded payloads beside this repository")


@needs_recordings
@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_recorded_payload_survives_a_round_trip(number: int) -> None:
    event = read_event(json.dumps(RECORDED[number]))
    assert event.wire_name == RECORDED[number]["hook_event_name"]
    assert read_event(write_event(event)) == event


@needs_recordings
@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_recorded_and_written_payloads_match_the_schema(number: int) -> None:
    recorded = RECORDED[number]
    validator = jsonschema_rs.Draft202012Validator(build_payload_schema(recorded["hook_event_name"]))
    assert [error.message for error in validator.iter_errors(recorded)] == []
    again = json.loads(write_event(read_event(json.dumps(recorded))))
    assert [error.message for error in validator.iter_errors(again)] == []


@needs_recordings
def test_no_value_of_a_recorded_cursor_payload_is_lost() -> None:
    for recorded in RECORDED:
        if recorded.get("cursor_version"):
            again = json.loads(write_event(read_event(json.dumps(recorded))))
            assert again.items() >= {key: value for key, value in recorded.items() if value is not None}.items()
