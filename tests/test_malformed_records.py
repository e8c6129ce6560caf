"""Records of an odd shape: whoever reads the trail bears them, and nothing of them is lost."""

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
from trotline.audit.record.bodies import encode_body, join_bodies
from trotline.audit.record.record_repair import ELSEWHERE, decode_record, repair_record
from trotline.audit.record.record_schema import DETAIL, RECORD, record_schema
from trotline.audit.store.audit_log import get_spool, open_audit_log
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.cli import run

HALF = "\ud83d"
"""Of a surrogate pair: JSON may hold it, and nobody can print it."""

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
    """Every shape as a record alone, with words of its own, and beside words that are odd."""
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


def said(workspace: Workspace, *words: str, to: type[io.TextIOWrapper] = io.TextIOWrapper) -> tuple[int, str]:
    """What somebody gets who reads bytes: a text that is none is seen here."""
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
    code, out = said(workspace, *line.split(), to=to)
    assert code in {0, 1}, out[-2000:]


@pytest.mark.parametrize("to", [io.TextIOWrapper, Terminal])
def test_each_is_shown_whole(workspace: Workspace, to: type[io.TextIOWrapper]) -> None:
    with SqliteStore(workspace.roots().state / "trail.db") as store:
        numbers = [str(one["seq"]) for one in store.search(Query())]
    for number in numbers:
        code, out = said(workspace, "log", "show", number, to=to)
        assert code == 0, out[-2000:]


def test_odd_values_are_replaced_and_preserved(workspace: Workspace) -> None:
    _, out = said(workspace, "log", "export")
    found = {one["id"]: one for one in map(json.loads, out.splitlines())}
    assert (found["id-0"]["at_us"], found["id-0"]["odd"]) == (0, {"at_us": "yesterday"})
    assert found["id-2"]["detail"]["odd"]["hooks"] == 5
    assert found["id-71"]["odd"] == {"agent": HALF, "event": HALF, "tool": HALF, "conversation": HALF}


def test_exported_lines_are_json_for_everybody_and_answer_to_their_schema(workspace: Workspace) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    validator = jsonschema_rs.Draft202012Validator(shape_alone(record_schema()))
    for line in said(workspace, "log", "export")[1].splitlines():
        one = json.loads(line, parse_constant=refuse)
        assert [error.message for error in validator.iter_errors({**one, "odd": {}})] == []


def shape_alone(schema: Any) -> Any:
    """The schema without the words that exist today: one of tomorrow's is read like them."""
    if isinstance(schema, dict):
        words = {name: shape_alone(inner) for name, inner in schema.items() if name != "enum"}
        return {**words, **({"type": "string"} if "enum" in schema else {})}
    return [shape_alone(one) for one in schema] if isinstance(schema, list) else schema


def test_a_record_as_it_ought_to_be_stays_as_it_is() -> None:
    whole = {**record(1, novelty=[1]), "seq": 1, "detail": {**detail(1, command="make"), "news": {}}}
    assert repair_record(whole) == whole


fields = st.dictionaries(st.sampled_from(sorted({*RECORD} - ELSEWHERE - {"id"})), json_values, max_size=4)
words = st.dictionaries(st.sampled_from(sorted({*DETAIL} - ELSEWHERE - {"id"})), json_values, max_size=4)


@given(fields, words)
def test_whatever_was_written_has_its_shape_when_it_is_read_and_can_be_had_back(
    odd: dict[str, Any], told: dict[str, Any]
) -> None:
    written = {**record(1, **odd), "seq": 1, "detail": {**detail(1), **told}}
    found = repair_record(written)
    validator = jsonschema_rs.Draft202012Validator(shape_alone(record_schema()))
    assert [error.message for error in validator.iter_errors(found)] == []
    assert repair_record(found) == found
    assert had_back(found) == written


@given(fields, words)
def test_what_is_not_looked_at_twice_needed_no_second_look(odd: dict[str, Any], told: dict[str, Any]) -> None:
    bodies = encode_body(record(1, **odd)), encode_body({**detail(1), **told})
    assert ascii(decode_record(1, *bodies)) == ascii(repair_record(join_bodies(1, *bodies)))


def had_back(found: dict[str, Any]) -> dict[str, Any]:
    outer = {**found, "detail": {**found["detail"], **found["detail"].get("odd", {})}, **found.get("odd", {})}
    outer.pop("odd", None)
    outer["detail"].pop("odd", None)
    return outer


def test_words_that_may_not_leave_do_not_leave_as_odd_ones() -> None:
    found = repair_record({**record(1), "seq": 1, "detail": {**detail(1), "reply": ["secret"]}})
    assert "secret" not in json.dumps({name: value for name, value in found.items() if name != "detail"})
