"""Events: what of the wire is read, in which spellings, what is written, and the contract of each event."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest

from kit import read_rows
from trotline.agents.cursor import payloads
from trotline.agents.cursor.payloads import read_event, write_event
from trotline.cli.schema import build_payload_schema
from trotline.domain.contracts import Ask, Contract, Family, Fires, Subject, Surface
from trotline.domain.errors import UnreadablePayload
from trotline.domain.event_fields import build_sample
from trotline.domain.event_records import Attachment, Edit, ModelParam, Range, TabEdit
from trotline.domain.events import EVENTS, NULLABLE, Event, OtherEvent

SHARED = Path(__file__).parents[2] / "shared"

REQUIRED = {
    "beforeSubmitPrompt": {"prompt": "hello"},
    "preToolUse": {"tool_name": "Shell"},
    "postToolUse": {"tool_name": "Shell"},
    "postToolUseFailure": {"tool_name": "Shell"},
    "beforeShellExecution": {"command": "make"},
    "afterShellExecution": {"command": "make"},
    "beforeMCPExecution": {"tool_name": "close"},
    "afterMCPExecution": {"tool_name": "close"},
    "beforeReadFile": {"file_path": "/a"},
    "afterFileEdit": {"file_path": "/a"},
    "subagentStart": {"subagent_type": "explore"},
    "subagentStop": {"subagent_type": "explore"},
    "beforeTabFileRead": {"file_path": "/a"},
    "afterTabFileEdit": {"file_path": "/a"},
}
"""The one field that a judgement of the event is about, where there is one."""


def payload(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, **REQUIRED.get(name, {}), **fields}


def read(name: str, **fields: Any) -> Any:
    """The event in a payload with these fields; Any, so that tests can name the fields of its class."""
    return read_event(json.dumps(payload(name, **fields)))


def written(event: Event) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(write_event(event))
    return body


def unreadable(data: bytes | str) -> UnreadablePayload:
    with pytest.raises(UnreadablePayload) as caught:
        read_event(data)
    return caught.value


# -- reading is liberal


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_is_read_from_its_name_and_the_one_field_it_is_about(name: str) -> None:
    event = read(name)
    assert type(event) is EVENTS[name]
    assert event.wire_name == name
    assert event.raw == {}


@pytest.mark.parametrize("name", EVENTS)
def test_the_common_fields_are_read_on_every_event(name: str) -> None:
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


def test_of_two_spellings_in_one_attachment_the_newer_wins() -> None:
    event = read("beforeSubmitPrompt", attachments=[{"filePath": "/old", "file_path": "/new", "type": "file"}])
    assert event.attachments == (Attachment("file", "/new"),)


def test_attachments_that_are_no_objects_are_kept_as_they_came() -> None:
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
def test_a_tool_input_that_holds_no_object_stays_the_text_it_is(text: str) -> None:
    assert read("beforeMCPExecution", tool_input=text).tool_input == text


@pytest.mark.parametrize("value", [5, True, 1.5])
def test_a_tool_input_of_any_other_type_goes_to_raw(value: Any) -> None:
    event = read("preToolUse", tool_input=value)
    assert event.tool_input == {}
    assert event.raw == {"tool_input": value}


@pytest.mark.parametrize("as_bytes", [True, False])
def test_a_byte_order_mark_before_the_json_is_skipped(*, as_bytes: bool) -> None:
    text = "\ufeff" + json.dumps(payload("stop", status="completed"))
    assert read_event(text.encode() if as_bytes else text) == read("stop", status="completed")


def test_only_one_byte_order_mark_is_skipped() -> None:
    assert "not JSON" in unreadable("\ufeff\ufeff" + json.dumps(payload("stop"))).message


UNKNOWN: dict[str, Any] = {"future": {"deep": [1, None, {"x": "\ud83d"}]}, "empty": None, "list": [], "": 0, "Ünï": "ö"}


@pytest.mark.parametrize("name", EVENTS)
def test_unknown_fields_are_kept_verbatim_and_written_again(name: str) -> None:
    event = read(name, **UNKNOWN)
    assert event.raw == UNKNOWN
    assert {key: written(event)[key] for key in UNKNOWN} == UNKNOWN


def test_an_unknown_event_is_kept_with_all_its_fields() -> None:
    event = read(
        "afterTheHeatDeath", conversation_id="c", command="make", tool_input="{}", attachments=[{"filePath": 1}]
    )
    assert isinstance(event, OtherEvent)
    assert (event.wire_name, event.hook_event_name, event.conversation_id) == ("afterTheHeatDeath",) * 2 + ("c",)
    assert event.raw == {"command": "make", "tool_input": "{}", "attachments": [{"filePath": 1}]}
    assert written(event)["hook_event_name"] == "afterTheHeatDeath"


def test_an_unknown_event_offers_nothing_to_match_and_cannot_be_refused() -> None:
    event = read("afterTheHeatDeath")
    assert event.subject is None
    assert event.contract == Contract(name="", when="unknown to this version", fires_on=())


def test_the_older_fields_of_a_subagent_that_starts_are_read_under_their_newer_names() -> None:
    event = read("subagentStart", prompt="look around", model="m")
    assert (event.task, event.model, event.raw) == ("look around", "m", {})


def test_the_newer_fields_of_a_subagent_that_starts_are_read() -> None:
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


def test_the_older_fields_of_a_subagent_that_stops_are_read_under_their_newer_names() -> None:
    event = read("subagentStop", prompt="look", result="found", duration=45000, status="completed")
    assert (event.task, event.summary, event.duration_ms, event.raw) == ("look", "found", 45000, {})


def test_the_newer_fields_of_a_subagent_that_stops_are_read() -> None:
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


def test_the_newer_spelling_wins_where_a_payload_has_both_and_the_older_is_kept() -> None:
    event = read("subagentStop", task="new", prompt="old", summary="new", result="old", duration_ms=2, duration=1)
    assert (event.task, event.summary, event.duration_ms) == ("new", "new", 2)
    assert event.raw == {"prompt": "old", "result": "old", "duration": 1}


def test_the_older_spelling_serves_where_the_newer_is_null() -> None:
    assert read("subagentStart", task=None, prompt="old").task == "old"


@pytest.mark.parametrize("name", ["beforeMCPExecution", "afterMCPExecution"])
def test_server_is_read_as_mcp_server_name(name: str) -> None:
    event = read(name, server="tickets")
    assert (event.mcp_server_name, event.raw) == ("tickets", {})


@pytest.mark.parametrize("name", ["beforeMCPExecution", "afterMCPExecution"])
@pytest.mark.parametrize(
    "tool_name, tool, server", read_rows("events", "an_mcp_event_names_the_bare_tool_however_it_was_spelt_tool_name")
)
def test_an_mcp_event_names_the_bare_tool_however_it_was_spelt(
    name: str, tool_name: str, tool: str, server: str | None
) -> None:
    event = read(name, tool_name=tool_name)
    assert (event.tool_name, event.mcp_server_name, event.subject) == (tool, server, tool)


def test_a_server_that_the_payload_names_is_not_replaced_by_the_one_in_the_tool_name() -> None:
    event = read("beforeMCPExecution", tool_name="MCP:theirs:close", mcp_server_name="ours")
    assert (event.tool_name, event.mcp_server_name) == ("close", "ours")


def test_an_empty_server_name_is_filled_from_the_tool_name() -> None:
    assert read("beforeMCPExecution", tool_name="MCP:tickets:close", mcp_server_name="").mcp_server_name == "tickets"


@pytest.mark.parametrize("tool_name", ["MCP:close", "MCP:tickets:close"])
def test_a_generic_event_keeps_the_tool_name_as_matchers_know_it(tool_name: str) -> None:
    assert read("preToolUse", tool_name=tool_name).subject == tool_name


@pytest.mark.parametrize("name, field", [("postToolUse", "tool_output"), ("afterMCPExecution", "result_json")])
@pytest.mark.parametrize("value, text", read_rows("events", "a_result_is_read_as_text_and_as_the_object_itself_value"))
def test_a_result_is_read_as_text_and_as_the_object_itself(name: str, field: str, value: Any, text: str) -> None:
    assert getattr(read(name, **{field: value}), field) == text


def test_the_working_directory_of_a_finished_command_is_read_where_a_client_sends_it() -> None:
    assert read("afterShellExecution", cwd="/work").cwd == "/work"
    assert read("afterShellExecution").cwd is None


@pytest.mark.parametrize("name, field", read_rows("events", "durations_and_shares_may_be_fractions"))
def test_durations_and_shares_may_be_fractions(name: str, field: str) -> None:
    assert getattr(read(name, **{field: 1234.5678}), field) == 1234.5678
    assert getattr(read(name, **{field: 1234}), field) == 1234


@pytest.mark.parametrize("name", ["preToolUse", "postToolUse", "postToolUseFailure"])
def test_a_newline_in_the_tool_use_id_is_kept(name: str) -> None:
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
def test_a_value_of_the_wrong_type_goes_to_raw_and_the_event_is_read_without_it(field: str, value: Any) -> None:
    event = read("stop", **{field: value})
    assert event.raw == {field: value}
    assert getattr(event, field) == getattr(read("stop"), field)


@pytest.mark.parametrize(
    "field, value, meant", [("loop_count", "3", 3), ("loop_count", 3.0, 3), ("input_tokens", "12", 12)]
)
def test_a_number_in_quotes_is_still_a_number(field: str, value: Any, meant: int) -> None:
    assert getattr(read("stop", **{field: value}), field) == meant


@pytest.mark.parametrize("value, meant", [("true", True), ("false", False), (1, True), (0, False)])
def test_a_truth_in_quotes_is_still_a_truth(value: Any, meant: bool) -> None:
    assert read("sessionStart", is_background_agent=value).is_background_agent is meant


ODD: list[Any] = [None, True, 0, 3.5, "", "7", "text", [], ["a", 1], {}, {"a": []}, 2**70, "\ud83d", [{"type": 5}]]


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_read_at_once_as_it_is_read_field_by_field(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands in any one of its fields."""
    bodies = [{**payload(name), field: odd} for field in EVENTS[name].__struct_fields__ for odd in ODD]
    at_once = [outcome_of(body) for body in bodies]
    monkeypatch.setattr(payloads, "msgspec", ByField)
    assert at_once == [outcome_of(body) for body in bodies]


def outcome_of(body: dict[str, Any]) -> Event | str:
    try:
        return read_event(json.dumps(body))
    except UnreadablePayload as error:
        return error.message


class ByField:
    """msgspec that reads no event at once."""

    ValidationError = msgspec.ValidationError
    structs = msgspec.structs

    @staticmethod
    def convert(value: Any, type_: Any, *, strict: bool) -> Any:
        if isinstance(type_, type) and issubclass(type_, Event):
            raise msgspec.ValidationError
        return msgspec.convert(value, type_, strict=strict)


def test_half_an_emoji_is_kept_wherever_it_stands() -> None:
    event = read_event(b'{"hook_event_name":"beforeShellExecution","command":"echo \\ud83d","x":{"\\ude00":"\\ud83d"}}')
    assert event.subject == "echo \ud83d"
    assert event.raw == {"x": {"\ude00": "\ud83d"}}


def test_tab_edits_are_read_with_their_ranges() -> None:
    place = {"start_line_number": 10, "start_column": 5, "end_line_number": 11, "end_column": 20}
    edit = {"old_string": "a", "new_string": "b", "range": place, "old_line": "x = a", "new_line": "x = b"}
    assert read("afterTabFileEdit", edits=[edit]).edits == (TabEdit("a", "b", Range(10, 5, 11, 20), "x = a", "x = b"),)


def test_edits_of_a_file_are_read_in_order() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "c"}]
    assert read("afterFileEdit", edits=edits).edits == (Edit("a", "b"), Edit("", "c"))


def test_the_tokens_spent_are_read_on_the_events_that_report_them() -> None:
    tokens = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    for name in ("beforeSubmitPrompt", "afterAgentResponse", "stop"):
        event = read(name, **tokens)
        assert {key: getattr(event, key) for key in tokens} == tokens
    assert read("sessionEnd", **tokens).raw == tokens


# -- what makes a payload unreadable


@pytest.mark.parametrize("name, field", [(name, next(iter(fields))) for name, fields in REQUIRED.items()])
@pytest.mark.parametrize("value", [5, ["x"], {"a": 1}], ids=["number", "list", "object"])
def test_a_required_field_of_the_wrong_type_is_unreadable_and_named(name: str, field: str, value: Any) -> None:
    error = unreadable(json.dumps({"hook_event_name": name, field: value}))
    assert f"`{field}` cannot be read" in error.message


@pytest.mark.parametrize("name, field", [(name, next(iter(fields))) for name, fields in REQUIRED.items()])
@pytest.mark.parametrize("fields", ["{}", "null"])
def test_a_payload_without_its_required_field_is_unreadable_and_says_which(name: str, field: str, fields: str) -> None:
    body = {"hook_event_name": name} | ({field: None} if fields == "null" else {})
    assert unreadable(json.dumps(body)).message == f"a {name} payload needs `{field}`"


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_that_only_python_takes_for_numbers_are_unreadable(word: str) -> None:
    error = unreadable(f'{{"hook_event_name": "stop", "loop_count": {word}}}')
    assert error.message == f"the payload is not JSON: `{word}` is not JSON"


def test_bytes_that_are_not_utf_8_are_unreadable_and_placed() -> None:
    assert unreadable(b'{"a": "\xff"}').message == "the payload is not UTF-8: byte 7 is `0xff`"


def test_utf_16_is_unreadable() -> None:
    assert "not UTF-8" in unreadable(json.dumps(payload("stop")).encode("utf-16")).message


@pytest.mark.parametrize("text, kind", read_rows("events", "json_that_is_no_object_is_unreadable"))
def test_json_that_is_no_object_is_unreadable(text: str, kind: str) -> None:
    assert unreadable(text).message == f"the payload is {kind}, not an object"


@pytest.mark.parametrize("text", ["", "  ", "{", "hello", '{"a": 1} {"b": 2}', "{'a': 1}"])
def test_text_that_is_no_json_is_unreadable(text: str) -> None:
    assert unreadable(text).message.startswith("the payload is not JSON: ")


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_a_payload_nested_a_hundred_thousand_levels_deep_is_unreadable(opening: str, closing: str) -> None:
    deep = opening * 100_000 + "1" + closing * 100_000
    error = unreadable(f'{{"hook_event_name": "stop", "x": {deep}}}')
    assert error.message == "the payload is nested too deeply"


@pytest.mark.parametrize("name", [None, "", 5, ["stop"], {"a": 1}])
def test_a_payload_without_an_event_name_is_unreadable(name: Any) -> None:
    error = unreadable(json.dumps({"hook_event_name": name, "command": "make"}))
    assert error.message == "the payload has no `hook_event_name`"
    assert error.hint == "is this a hook payload at all?"


def test_an_unreadable_payload_is_something_a_person_can_put_right() -> None:
    assert unreadable("[]").exit_code == 1


# -- writing is strict


@pytest.mark.parametrize("name", EVENTS)
def test_null_is_written_for_fields_that_may_be_null_and_for_no_others(name: str) -> None:
    body = written(read(name))
    nulls = {key for key, value in body.items() if value is None}
    documented = {"user_email", "transcript_path", "agent_transcript_path"}
    assert nulls == documented & set(EVENTS[name].__struct_fields__)


def test_the_fields_that_may_be_null_are_the_documented_ones() -> None:
    assert {"user_email", "transcript_path", "agent_transcript_path"} == NULLABLE


@pytest.mark.parametrize("name", ["beforeMCPExecution", "afterMCPExecution"])
@pytest.mark.parametrize("value", [{"id": 42, "ö": [1]}, '{"id": 42, "ö": [1]}'])
def test_the_input_of_an_mcp_tool_is_written_as_json_text(name: str, value: Any) -> None:
    text = written(read(name, tool_input=value))["tool_input"]
    assert text == '{"id":42,"ö":[1]}'


def test_the_input_of_an_mcp_tool_that_was_no_json_is_written_as_it_came() -> None:
    assert written(read("beforeMCPExecution", tool_input="not json"))["tool_input"] == "not json"


@pytest.mark.parametrize("name", ["preToolUse", "postToolUse", "postToolUseFailure"])
@pytest.mark.parametrize("value", [{"id": 42}, '{"id": 42}'])
def test_the_input_of_any_other_tool_is_written_as_an_object(name: str, value: Any) -> None:
    assert written(read(name, tool_input=value))["tool_input"] == {"id": 42}


@pytest.mark.parametrize("name", EVENTS)
def test_nothing_follows_the_closing_brace(name: str) -> None:
    assert write_event(read(name)).endswith(b"}")


def test_what_is_written_is_utf_8_and_not_escaped() -> None:
    assert "größer 😀".encode() in write_event(read("beforeShellExecution", command="größer 😀"))


def test_half_an_emoji_is_written_as_an_escape_as_node_does() -> None:
    data = write_event(read("beforeShellExecution", command="ö\ud83d"))
    assert b'"command":"\\u00f6\\ud83d"' in data
    assert data.isascii()


def test_older_spellings_are_written_in_the_newest() -> None:
    body = written(read("beforeReadFile", attachments=[{"type": "file", "filePath": "/a"}]))
    assert body["attachments"] == [{"type": "file", "file_path": "/a"}]
    body = written(read("subagentStop", result="r", duration=5))
    assert (body["summary"], body["duration_ms"]) == ("r", 5)
    assert not {"result", "duration", "raw"} & body.keys()


@pytest.mark.parametrize("name", EVENTS)
def test_a_sample_payload_is_read_whole_and_written_with_the_same_fields(name: str) -> None:
    event = read_event(json.dumps(build_sample(name)))
    assert event.raw == {}
    body = written(event)
    given = build_sample(name)
    assert {key: body[key] for key in given if key != "tool_input"} == {
        key: value for key, value in given.items() if key != "tool_input"
    }


# -- contracts: cursor-protocol.md 1.1, 1.3 and 8.2, written out a second time

IDE, CLI, PRINT, CLOUD, TAB = "ide", "cli", "print", "cloud", "tab"
TOOL = "field tool_name"


class Row(NamedTuple):
    family: str
    subject: str
    answers: str
    refuses: str = ""  # "", "gate", or "yes": refusable, and not a permission event
    ask: str = "none"
    fires: str = ""
    unverified: str = ""


CONTRACTS = {
    "sessionStart": Row("agent", "", "env additional_context continue user_message", "yes", "none", "ide cli print"),
    "sessionEnd": Row("agent", "", "", "", "none", "ide print", "cli"),
    "beforeSubmitPrompt": Row(
        "agent",
        "word UserPromptSubmit",
        "continue user_message additional_context",
        "yes",
        "none",
        "ide cli cloud",
    ),
    "preToolUse": Row(
        "agent",
        TOOL,
        "permission user_message agent_message updated_input additional_context",
        "gate",
        "unheard",
        "ide cli print cloud",
    ),
    "postToolUse": Row("agent", TOOL, "additional_context updated_mcp_tool_output", "", "none", "ide cli print cloud"),
    "postToolUseFailure": Row("agent", TOOL, "additional_context", "", "none", "ide cli print cloud"),
    "beforeShellExecution": Row(
        "agent", "field command", "permission user_message agent_message", "gate", "asked", "ide cli print cloud"
    ),
    "afterShellExecution": Row("agent", "field command", "", "", "none", "ide cli print cloud"),
    "beforeMCPExecution": Row(
        "agent", TOOL, "permission user_message agent_message", "gate", "asked", "ide", "cli print"
    ),
    "afterMCPExecution": Row("agent", TOOL, "", "", "none", "ide", "cli print"),
    "beforeReadFile": Row("agent", "word Read", "permission user_message", "gate", "denied", "ide print cloud", "cli"),
    "afterFileEdit": Row("agent", "word Write", "", "", "none", "ide print cloud", "cli"),
    "subagentStart": Row(
        "agent", "field subagent_type", "permission user_message", "gate", "denied", "ide cloud", "cli"
    ),
    "subagentStop": Row("agent", "field subagent_type", "followup_message", "", "none", "ide cloud", "cli"),
    "preCompact": Row("agent", "", "user_message", "", "none", "ide cloud", "cli print"),
    "afterAgentResponse": Row("agent", "word AgentResponse", "", "", "none", "ide cli cloud"),
    "afterAgentThought": Row("agent", "word AgentThought", "", "", "none", "ide cli cloud", "print"),
    "stop": Row("agent", "word Stop", "followup_message", "", "none", "ide cli cloud"),
    "beforeTabFileRead": Row("tab", "word TabRead", "permission", "gate", "denied", "ide tab"),
    "afterTabFileEdit": Row("tab", "word TabWrite", "", "", "none", "ide tab"),
    "workspaceOpen": Row("app", "", "pluginPaths", "", "none", "ide cli", "print"),
}


def test_there_are_the_21_events_of_the_newest_documentation_in_its_order() -> None:
    assert list(EVENTS) == list(CONTRACTS)
    assert len(EVENTS) == 21


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_contract_says_what_the_protocol_says(name: str) -> None:
    contract, row = EVENTS[name].contract, CONTRACTS[name]
    kind, _, what = row.subject.partition(" ")
    assert contract.name == name
    assert contract.family.value == row.family
    assert contract.subject == (Subject(**{kind: what}) if kind else Subject())
    assert contract.answers == tuple(row.answers.split())
    assert (contract.refusable, contract.gate) == (bool(row.refuses), row.refuses == "gate")
    assert contract.ask.value == row.ask
    assert len(contract.when.split()) >= 3


@pytest.mark.parametrize("surface", Surface)
@pytest.mark.parametrize("name", CONTRACTS)
def test_the_event_fires_where_the_protocol_says_it_does(name: str, surface: Surface) -> None:
    row = CONTRACTS[name]
    wanted = Fires.YES if surface.value in row.fires.split() else Fires.NO
    if surface.value in row.unverified.split():
        wanted = Fires.UNVERIFIED
    assert EVENTS[name].contract.fires(surface) is wanted


def test_only_the_generic_tool_events_fire_beside_another() -> None:
    pairs = {name: set(cls.contract.pairs_with) for name, cls in EVENTS.items() if cls.contract.generic}
    assert pairs == {
        "preToolUse": {"beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"},
        "postToolUse": {"afterShellExecution", "afterMCPExecution", "afterFileEdit"},
        "postToolUseFailure": set(),
    }
    assert not any(cls.contract.pairs_with for cls in EVENTS.values() if not cls.contract.generic)


def test_a_refused_session_start_is_not_enforced_in_the_ide() -> None:
    unenforced = {name: cls.contract.unenforced_on for name, cls in EVENTS.items() if cls.contract.unenforced_on}
    assert unenforced == {"sessionStart": (Surface.IDE,)}


def test_an_event_that_nobody_may_refuse_has_no_answer_to_refuse_with() -> None:
    for cls in EVENTS.values():
        contract = cls.contract
        assert contract.refusable == bool({"permission", "continue"} & set(contract.answers))
        assert contract.gate == ("permission" in contract.answers)
        assert (contract.ask is Ask.NONE) == (not contract.gate)


@pytest.mark.parametrize(
    "name, fields, subject", read_rows("events", "the_subject_of_an_event_is_what_matchers_look_at")
)
def test_the_subject_of_an_event_is_what_matchers_look_at(
    name: str, fields: dict[str, Any], subject: str | None
) -> None:
    assert read(name, **fields).subject == subject


@pytest.mark.parametrize(
    "subject, words, exists",
    [
        (Subject(), "nothing", False),
        (Subject(field="command"), "`command`", True),
        (Subject(word="Stop"), "the word `Stop`", True),
    ],
)
def test_a_subject_says_in_words_what_it_is(subject: Subject, words: str, exists: bool) -> None:
    assert (str(subject), subject.exists) == (words, exists)


def test_what_a_contract_leaves_out_is_the_common_case() -> None:
    plain = Contract(name="x", when="never")
    assert (plain.family, plain.subject, plain.answers, plain.ask) == (Family.AGENT, Subject(), (), Ask.NONE)
    assert (plain.refusable, plain.gate, plain.generic) == (False, False, False)
    assert plain.fires_on == (Surface.IDE, Surface.CLI, Surface.PRINT, Surface.CLOUD)
    assert plain.unverified_on == plain.unenforced_on == plain.pairs_with == ()


# -- recorded payloads, where they are at hand


def _recorded() -> Iterator[dict[str, Any]]:
    for file in sorted((SHARED / "corpora" / "payloads").glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            yield json.loads(line)["payload"]
    for file in sorted((SHARED / "clients" / "agents").glob("*/payloads.json")):
        yield from _payloads_in(json.loads(file.read_text("utf-8")))


def _payloads_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object that names an event, however deep a recording keeps it."""
    if isinstance(value, dict):
        if "hook_event_name" in value:
            yield value
        for inner in value.values():
            yield from _payloads_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _payloads_in(inner)


RECORDED = [one for one in _recorded() if one.get("hook_event_name") in EVENTS]
needs_recordings = pytest.mark.skipif(not RECORDED, reason="no recorded payloads beside this repository")


@needs_recordings
@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_a_recorded_payload_is_read_and_what_was_written_reads_the_same(number: int) -> None:
    event = read_event(json.dumps(RECORDED[number]))
    assert event.wire_name == RECORDED[number]["hook_event_name"]
    assert read_event(write_event(event)) == event


@needs_recordings
@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_a_recorded_payload_and_what_is_written_for_it_are_valid_by_our_schema(number: int) -> None:
    recorded = RECORDED[number]
    validator = jsonschema_rs.Draft202012Validator(build_payload_schema(recorded["hook_event_name"]))
    assert [error.message for error in validator.iter_errors(recorded)] == []
    again = json.loads(write_event(read_event(json.dumps(recorded))))
    assert [error.message for error in validator.iter_errors(again)] == []


@needs_recordings
def test_nothing_of_a_recorded_cursor_payload_is_lost() -> None:
    for recorded in RECORDED:
        if recorded.get("cursor_version"):
            again = json.loads(write_event(read_event(json.dumps(recorded))))
            assert again.items() >= {key: value for key, value in recorded.items() if value is not None}.items()
