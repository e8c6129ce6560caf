"""SQL statements are split and classified."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import read_corpus, read_rows
from trotline.analysis.sql import sql_text
from trotline.analysis.sql.sql_text import split_statements
from trotline.analysis.sql.statements import parse_statements

CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "sql.jsonl"
GROUPS = read_corpus("sql")["groups"]


@pytest.mark.parametrize("text, kinds", read_rows("sql", "statements_are_classified_by_what_they_do"))
def test_statements_are_classified_by_effect(text: str, kinds: str) -> None:
    found = [f"{each.kind} whole" if each.affects_all else each.kind for each in parse_statements(text, "postgres")]
    assert found == kinds.split(";")


@pytest.mark.parametrize(
    "condition",
    [
        *("id = id", "not false", "id is not null", "not (id is null)", "1 = 1 or a = 2", "1 < 2", "'a' <> 'b'"),
        *("true and 1 = 1", "exists (select 1)", "name like '%'", "id > 0", "id >= 1", "id <> -1", "(1 = 1) is true"),
    ],
)
def test_conditions_that_are_always_true_affect_all_rows(condition: str) -> None:
    assert parse_statements(f"delete from t where {condition}", "postgres")[0].affects_all


@pytest.mark.parametrize(
    "condition",
    [
        *("a = b", "deleted_at is not null", "false", "1 = 2", "id is null", "id > 100", "a > 0", "name like 'x%'"),
        *("1 = 1 and a = 2", "not a", "a <> a", "exists (select 1 from u where u.a = t.a)", "1 = '1' and a = 2"),
    ],
)
def test_conditions_that_select_rows_do_not_affect_all(condition: str) -> None:
    assert not parse_statements(f"delete from t where {condition}", "postgres")[0].affects_all


def test_conditions_with_thousands_of_parts_are_evaluated() -> None:
    chain = " or ".join(["a = 1"] * 2000)
    assert not parse_statements(f"delete from t where {chain}", "postgres")[0].affects_all
    assert parse_statements(f"delete from t where {chain} or true", "postgres")[0].affects_all


def test_the_target_names_the_dropped_column() -> None:
    assert parse_statements("alter table shop.orders drop column total")[0].targets == ("shop.orders.total",)


def test_backslashes_escape_quotes_only_in_some_dialects() -> None:
    text = r"select '\'; drop table t; --'"
    assert [each.kind for each in parse_statements(text, "postgres")] == ["read", "ddl-drop"]
    assert [each.kind for each in parse_statements(text, "mysql")] == ["read"]
    assert [each.kind for each in parse_statements(r"select e'\''; drop table t; --'", "postgres")] == [
        "read",
        "ddl-drop",
    ]


@pytest.mark.parametrize("text, dialect", read_rows("sql", "comments_and_quotes_of_a_dialect_hide_no_statement"))
def test_comments_and_quotes_of_a_dialect_hide_no_statement(text: str, dialect: str) -> None:
    assert "ddl-drop" in [each.kind for each in parse_statements(text, dialect)]


@pytest.mark.parametrize("text, dialect", read_rows("sql", "comments_and_strings_of_a_dialect_are_no_statements"))
def test_comments_and_strings_of_a_dialect_are_no_statements(text: str, dialect: str) -> None:
    assert [each.kind for each in parse_statements(text, dialect)] == ["read"]


def test_simple_statements_need_no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_text, "_tokenize", None)
    text = "select a - 1 from t where b = 'it''s; #1 -- \"x\"' and c = 2 / 3; drop table t;"
    assert [each.kind for each in parse_statements(text, "mysql")] == ["read", "ddl-drop"]


def test_unparsable_statements_are_classified_by_their_first_word() -> None:
    assert [each.kind for each in parse_statements("delete from from where ((", "postgres")] == ["delete"]
    assert parse_statements("update " + "x" * 30_000, "postgres")[0].affects_all
    assert [each.kind for each in parse_statements("with a as (delete from ((", "postgres")] == ["unknown"]
    assert [each.kind for each in parse_statements("select a from ((", "postgres")] == ["read"]


@pytest.mark.parametrize(
    "text", ["delete from", "delete", "update", "update t set", "delete from t where", "insert into"]
)
def test_truncated_statements_still_write(text: str) -> None:
    for dialect in ("", "postgres", "mysql", "sqlite"):
        assert all(one.kind != "read" for one in parse_statements(text, dialect))


def test_targets_name_tables_without_quotes() -> None:
    assert parse_statements('delete from shop."Orders"')[0].targets == ("shop.Orders",)
    assert parse_statements("drop table `orders`", "mysql")[0].targets == ("orders",)


@settings(deadline=None)  # the first example imports the parser
@given(st.text(alphabet="ab;'\"`$-/*!\\ \nE", max_size=60))
def test_splitting_never_fails_and_invents_no_text(text: str) -> None:
    for dialect in ("", "postgres", "mysql"):
        parts = [part.source for part in split_statements(text, dialect)]
        assert all(part.strip() == part and part for part in parts)
        assert all(part.count("b") <= text.count("b") for part in parts)
        parse_statements(text, dialect)


@pytest.mark.skipif(not CORPUS.exists(), reason="the public corpora are not on this machine")
def test_the_public_corpus_is_classified_as_labelled() -> None:
    cases = [json.loads(line)["case"] for line in CORPUS.read_text("utf-8").splitlines()]
    right = 0
    for case in cases:
        wanted = [
            GROUPS.get(each["primary_group"], {each["primary_group"]}) for each in case["expected_classification"]
        ]
        found = [each.kind for each in parse_statements(case["sql"], case.get("dialect", "postgres"))]
        right += len(found) == len(wanted) and all(kind in group for kind, group in zip(found, wanted, strict=True))
    assert right / len(cases) >= 0.95


@pytest.mark.parametrize("text, kinds", read_rows("sql", "statements_in_strings_are_classified"))
def test_statements_in_strings_are_classified(text: str, kinds: list[str] | None) -> None:
    found = [each.kind for each in parse_statements(text, "postgres")]
    assert found == kinds if kinds is not None else "ddl-drop" in found


def test_unknown_statements_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The logger of the parser would print statements with passwords."""
    assert [each.kind for each in parse_statements("replace into t values ('hunter2')", "mysql")] == ["write"]
    assert "hunter2" not in caplog.text
    assert logging.getLogger("sqlglot").handlers
