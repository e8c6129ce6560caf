"""Schemas are valid, current on disk, and accept samples, recordings and public files."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies as our
from kit import read_rows
from trotline.agents.cursor.payloads import write_event
from trotline.cli.schema import (
    DRAFT,
    REPLY_FIELDS,
    build_all_schemas,
    build_hooks_schema,
    build_payload_schema,
    build_reply_schema,
)
from trotline.domain.contracts import Ask
from trotline.domain.event_fields import FIELDS, build_sample
from trotline.domain.events import EVENTS
from trotline.formats.jsonc import JsonKind, JsonNode, parse_jsonc

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpora" / "hooks_json"
SCHEMAS = build_all_schemas()


def errors_of(schema: dict[str, Any], instance: Any) -> list[str]:
    return [error.message for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(instance)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_valid_schema_of_draft_2020_12(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema["$schema"] == DRAFT == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)
    assert schema["title"]


def test_every_user_file_has_a_schema_and_every_event_has_two() -> None:
    wanted = {"hooks.schema.json", "trotline.schema.json"}
    wanted |= {f"record{form}.schema.json" for form in ("", "-csv", "-ocsf")} | {"alert.schema.json"}
    wanted |= {f"{name}.{what}.schema.json" for name in EVENTS for what in ("payload", "reply")}
    assert set(SCHEMAS) == wanted


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_the_one_that_the_declarations_make(name: str) -> None:
    text = json.dumps(SCHEMAS[name], indent=2, ensure_ascii=False) + "\n"
    assert (ROOT / "schemas" / name).read_text("utf-8") == text, "run `make schemas`"


def test_no_other_file_lies_among_the_committed_schemas() -> None:
    assert {path.name for path in (ROOT / "schemas").iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", EVENTS)
def test_a_sample_payload_is_valid_and_is_the_schemas_example(name: str) -> None:
    schema = build_payload_schema(name)
    assert errors_of(schema, build_sample(name)) == []
    assert schema["examples"] == [build_sample(name)]


@pytest.mark.parametrize("name", EVENTS)
def test_every_property_of_a_payload_is_described_and_none_is_ours_alone(name: str) -> None:
    properties = build_payload_schema(name)["properties"]
    assert set(properties) == {"hook_event_name", *EVENTS[name].__struct_fields__} - {"raw"}
    for field, about in properties.items():
        assert field == "hook_event_name" or about["description"]
        assert "default" not in about


@pytest.mark.parametrize("name", EVENTS)
def test_a_payload_may_have_unknown_fields(name: str) -> None:
    assert errors_of(build_payload_schema(name), {**build_sample(name), "future": {"x": 1}}) == []


@pytest.mark.parametrize("name", EVENTS)
def test_a_payload_of_another_event_is_not_valid(name: str) -> None:
    other = "stop" if name != "stop" else "sessionEnd"
    assert errors_of(build_payload_schema(name), {**build_sample(name), "hook_event_name": other})


@pytest.mark.parametrize("name", EVENTS)
def test_a_payload_without_its_subject_is_invalid(name: str) -> None:
    schema = build_payload_schema(name)
    for field in schema["required"]:
        assert errors_of(schema, {key: value for key, value in build_sample(name).items() if key != field})


@pytest.mark.parametrize("name", EVENTS)
@settings(max_examples=15)
@given(data=st.data())
def test_every_written_record_is_valid(name: str, data: st.DataObject) -> None:
    event = data.draw(our.events_named(name))
    if isinstance(getattr(event, "tool_input", None), list):
        return
    body = json.loads(write_event(event))
    clean = json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
    assert errors_of(build_payload_schema(name), clean) == []


def test_every_field_that_is_described_belongs_to_some_event() -> None:
    known = {field for cls in EVENTS.values() for field in cls.__struct_fields__}
    assert set(FIELDS) <= known | {"hook_event_name"}


@pytest.mark.parametrize("name", EVENTS)
def test_a_reply_may_have_the_answers_of_its_event_and_nothing_else(name: str) -> None:
    schema, contract = build_reply_schema(name), EVENTS[name].contract
    assert tuple(schema["properties"]) == contract.answers
    assert errors_of(schema, {}) == []
    assert errors_of(schema, {"zzz": 1})
    assert errors_of(schema, [])


@pytest.mark.parametrize("name", [name for name, cls in EVENTS.items() if cls.contract.gate])
def test_a_reply_may_ask_only_where_asking_is_not_a_refusal(name: str) -> None:
    schema = build_reply_schema(name)
    assert not errors_of(schema, {"permission": "allow"})
    assert not errors_of(schema, {"permission": "deny"})
    assert errors_of(schema, {"permission": "maybe"})
    asks = EVENTS[name].contract.ask in {Ask.ASKED, Ask.UNHEARD}
    assert bool(errors_of(schema, {"permission": "ask"})) is not asks


@pytest.mark.parametrize("name, reply", read_rows("schemas", "a_reply_with_a_value_of_the_wrong_type_is_not_valid"))
def test_a_reply_with_a_value_of_the_wrong_type_is_not_valid(name: str, reply: dict[str, Any]) -> None:
    assert errors_of(build_reply_schema(name), reply)


def test_every_reply_key_belongs_to_some_event() -> None:
    assert set(REPLY_FIELDS) == {key for cls in EVENTS.values() for key in cls.contract.answers}


def hooks(*entries: Any, event: str = "stop", **top: Any) -> dict[str, Any]:
    return {"version": 1, "hooks": {event: list(entries)}, **top}


@pytest.mark.parametrize(
    "file",
    [
        *read_rows("schemas", "valid_hooks_files"),
        {"version": 1, "hooks": {name: [{"command": "x"}] for name in EVENTS}},
    ],
)
def test_a_hooks_file_that_cursor_loads_is_valid(file: Any) -> None:
    assert errors_of(build_hooks_schema(), file) == []


@pytest.mark.parametrize("file", read_rows("schemas", "invalid_hooks_files"))
def test_a_hooks_file_that_cursor_ignores_is_invalid(file: Any) -> None:
    assert errors_of(build_hooks_schema(), file)


def value_of(node: JsonNode) -> Any:
    """Return the value of a node as json.loads would."""
    if node.kind is JsonKind.OBJECT:
        return {key: value_of(member.value) for key, member in node.members.items()}
    return [value_of(item) for item in node.items] if node.kind is JsonKind.ARRAY else node.value


FILES = sorted(path.name for path in CORPUS.glob("*.json"))
NOT_VALID = {
    # an entry of type `prompt` that has a command and no prompt
    "paultyng__testagent__cmd_cursor_testdata_hooks.json": '"type":"prompt"} is not valid under any of the schemas'
}
"""Corpus files that Cursor would not load, with the error of the schema."""


@pytest.mark.skipif(not FILES, reason="no corpus of hooks.json files beside this repository")
@pytest.mark.parametrize("name", FILES)
def test_a_hooks_file_of_the_corpus_is_valid_unless_it_is_a_known_exception(name: str) -> None:
    root = parse_jsonc((CORPUS / name).read_bytes()).root
    assert root is not None
    found = errors_of(build_hooks_schema(), value_of(root))
    if name in NOT_VALID:
        assert any(NOT_VALID[name] in message for message in found), found
    else:
        assert found == []
