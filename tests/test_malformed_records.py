"""Malformed records: every reader accepts them, and no value is lost."""

import contextlib
import io
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Workspace, make_workspace, read_rows
from store_behaviour import detail, record
from strategies import json_values
from trotline.audit.query.query import Query
from trotline.audit.record.detail_policy import DetailPolicy
from trotline.audit.record.details import build_detail
from trotline.audit.record.record import Detail, Record
from trotline.audit.record.record_builder import build_record
from trotline.audit.record.record_reader import convert_record, decode_record, encode_body
from trotline.audit.record.record_schema import record_schema
from trotline.audit.store.audit_log import get_spool, open_audit_log
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.cli import run
from trotline.domain.events import Stop
from trotline.domain.outcomes import Call, Outcome
from trotline.domain.verdicts import Decision, Verdict

HALF = "\ud83d"
"""Half of a surrogate pair: valid in JSON, and not printable."""

ODD: list[dict[str, Any]] = [
    *read_rows("malformed_records", "odd_values"),
    {"responses": [{}], "losses": [["a", "b", "c"]], "micros": 1 << 2000},
]
WORDED: dict[str, Any] = {
    "payload": ["x"],
    "hooks": 5,
    "effects": [
        1,
        [1, 2, 3],
        [None, None, None],
        ["mcp"],
        ["a", "b", "c", 4],
        ["a", "b", "c", {"agent": [1], "writes": 2}],
    ],
    "diffs": [1, ["a"], [None, 3]],
    "reasons": [3, [1], ["a", "b", "c"]],
    "missing": ["x"],
    "sizes": [1],
    "measures": [1],
    "attachments": 3,
    "reply": 7,
    "redacted": 5,
    "lines": 4,
    "not_run": {"a": 1},
    "warnings": "none",
    "version": HALF,
    "level": [],
    "action": ["q"],
}
READERS = read_rows("malformed_records", "readers")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return every shape as a record alone, with detail, and with odd detail."""
    workspace = make_workspace(tmp_path_factory.mktemp("odd"))
    spool = get_spool(workspace.roots().state)
    for number, odd in enumerate(ODD):
        for turn, words in enumerate(({}, {"level": "standard"}, WORDED, {**WORDED, "payload": {"command": HALF}})):
            id_ = 10 * number + turn
            assert spool.append(record(id_, **odd)) == ""
            assert not words or spool.append({**detail(id_), **words}) == ""
    open_audit_log(workspace.roots().state).close()
    return workspace


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run_command(workspace: Workspace, *words: str, to: type[io.TextIOWrapper] = io.TextIOWrapper) -> tuple[int, str]:
    """Run a command with output as bytes, so that invalid text is visible."""
    written = io.BytesIO()
    out = to(written, "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run([*words, *workspace.options])
        out.flush()
    return code, written.getvalue().decode()


@pytest.mark.parametrize("to", [io.TextIOWrapper, Terminal])
@pytest.mark.parametrize("line", READERS)
def test_no_reader_stumbles_over_a_record_of_an_odd_shape(
    workspace: Workspace, line: str, to: type[io.TextIOWrapper]
) -> None:
    code, out = run_command(workspace, *line.split(), to=to)
    assert code in {0, 1}, out[-2000:]


@pytest.mark.parametrize("to", [io.TextIOWrapper, Terminal])
def test_each_is_shown_whole(workspace: Workspace, to: type[io.TextIOWrapper]) -> None:
    with SqliteStore(workspace.roots().state / "audit_log.db") as store:
        numbers = [str(found.seq) for found in store.search(Query())]
    for number in numbers:
        code, out = run_command(workspace, "log", "show", number, to=to)
        assert code == 0, out[-2000:]


def test_odd_values_are_replaced_and_preserved(workspace: Workspace) -> None:
    _, out = run_command(workspace, "log", "export")
    found = {one["id"]: one for one in map(json.loads, out.splitlines())}
    assert (found["id-0"]["at_us"], found["id-0"]["invalid"]) == (0, {"at_us": "yesterday"})
    assert found["id-2"]["detail"]["invalid"]["hooks"] == 5
    assert found["id-71"]["agent"] == HALF


def test_exported_lines_are_json_for_everybody_and_answer_to_their_schema(workspace: Workspace) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    validator = jsonschema_rs.Draft202012Validator(shape_alone(record_schema()))
    for line in run_command(workspace, "log", "export")[1].splitlines():
        one = json.loads(line, parse_constant=refuse)
        assert [error.message for error in validator.iter_errors({**one, "invalid": {}})] == []


def shape_alone(schema: Any) -> Any:
    """Return the schema without its enumerations, because readers accept future words."""
    if isinstance(schema, dict):
        words = {name: shape_alone(inner) for name, inner in schema.items() if name != "enum"}
        return {**words, **({"type": "string"} if "enum" in schema else {})}
    return [shape_alone(one) for one in schema] if isinstance(schema, list) else schema


def test_a_valid_record_is_not_changed() -> None:
    whole = {**record(1, novelty=[1]), "seq": 1, "detail": {**detail(1, command="make"), "news": {}}}
    assert convert_record(whole).to_dict() == whole


SET_BY_THE_LOG = {"schema", "seq", "id", "detail", "observed", "invalid"}
record_fields = st.dictionaries(
    st.sampled_from(sorted({*Record.__struct_fields__} - SET_BY_THE_LOG)), json_values, max_size=4
)
detail_fields = st.dictionaries(
    st.sampled_from(sorted({*Detail.__struct_fields__} - SET_BY_THE_LOG)), json_values, max_size=4
)


@given(record_fields, detail_fields)
def test_any_record_is_valid_when_it_is_read_and_keeps_the_original_values(
    fields: dict[str, Any], details: dict[str, Any]
) -> None:
    written = {**record(1, **fields), "seq": 1, "detail": {**detail(1), **details}}
    shown = convert_record(written).to_dict()
    validator = jsonschema_rs.Draft202012Validator(shape_alone(record_schema()))
    assert [error.message for error in validator.iter_errors(shown)] == []
    assert convert_record(shown).to_dict() == shown
    assert restore(shown) == written


@given(record_fields, detail_fields)
def test_stored_text_and_decoded_body_give_the_same_record(fields: dict[str, Any], details: dict[str, Any]) -> None:
    bodies = record(1, **fields), {**detail(1), **details}
    found = decode_record(1, *map(encode_body, bodies))
    joined = convert_record({**bodies[0], "seq": 1, "detail": bodies[1]})
    assert ascii(found) == ascii(joined)
    assert found.to_dict() == joined.to_dict()


def restore(shown: dict[str, Any]) -> dict[str, Any]:
    detail_ = {**shown["detail"], **shown["detail"].get("invalid", {})}
    detail_.pop("invalid", None)
    outer = {**shown, "detail": detail_, **shown.get("invalid", {})}
    outer.pop("invalid", None)
    return outer


def test_an_invalid_text_of_a_detail_stays_in_the_detail() -> None:
    shown = convert_record({**record(1), "detail": {**detail(1), "reply": ["secret"]}}).to_dict()
    assert "secret" not in json.dumps({name: value for name, value in shown.items() if name != "detail"})


def test_the_fields_that_are_built_are_the_fields_that_are_declared() -> None:
    outcome = Outcome(call=Call(id="1"), event=Stop(), decision=Decision(verdict=Verdict()))
    built = build_record(outcome, "cursor", 5, str)
    assert {*Record.__struct_fields__} - {*built} == {"seq", "detail", "observed", "invalid"}
    assert {*built} <= {*Record.__struct_fields__}
    assert {*build_detail(outcome, DetailPolicy(b""))} <= {*Detail.__struct_fields__}
