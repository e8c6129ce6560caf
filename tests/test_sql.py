"""SQL by what it would do."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trotline.analysis.sql import statements
from trotline.analysis.sqltext import split

CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "sql.jsonl"
GROUPS = {
    "schema_create": {"ddl-create"},
    "schema_alter": {"ddl-alter"},
    "schema_destroy": {"ddl-drop", "truncate"},
    "unsafe_io": {"unsafe-io"},
    "bulk_export": {"export", "send"},
    "bulk_load": {"load"},
}


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("select a from t", "read"),
        ("SELECT 'DROP TABLE t; --'", "read"),
        ("show tables", "read"),
        ("explain delete from t", "read"),
        ("explain analyze delete from t where a = 1", "delete"),
        ("EXPLAIN (ANALYZE, BUFFERS) UPDATE t SET a = 1 WHERE b = 2", "modify"),
        ("insert into t values (1)", "write"),
        ("update t set a = 1", "modify whole"),
        ("update t set a = 1 where b = 2", "modify"),
        ("delete from t", "delete whole"),
        ("delete from t where true", "delete whole"),
        ("delete from t where 2 = 2", "delete whole"),
        ("delete from t where (1 = 1)", "delete whole"),
        ("delete from t where a = 1", "delete"),
        ("with d as (delete from t returning *) select * from d", "delete whole"),
        ("drop table if exists t cascade", "ddl-drop whole"),
        ("drop index i", "ddl-drop"),
        ("/* a note */ drop -- another\n database d", "ddl-drop whole"),
        ("/*!50100 drop table t */", "ddl-drop whole"),
        ("truncate t", "truncate whole"),
        ("select * into u from t", "ddl-create"),
        ("grant all on t to bob", "privilege"),
        ("alter user bob password 'x'", "privilege"),
        ("copy t to program 'sh'", "unsafe-io"),
        ("copy t to stdout", "export"),
        ("select * from t into outfile '/tmp/x'", "unsafe-io"),
        ("load data infile 'x' into table t", "unsafe-io"),
        ("select pg_read_file('x')", "unsafe-io"),
        ("exec xp_cmdshell 'dir'", "unsafe-io"),
        ("select pg_terminate_backend(7)", "stop"),
        ("select pg_reload_conf()", "maintenance"),
        ("shutdown", "stop whole"),
        ("kill 7", "stop"),
        ("stop replica", "stop"),
        ("purge binary logs to 'x'", "erase whole"),
        ("reset master", "erase whole"),
        ("reset search_path", "session"),
        ("copy t to 's3://bucket/t'", "send"),
        ("copy into 's3://bucket/t' from t", "send"),
        ("copy into t from 's3://bucket/t'", "load"),
        ("copy into @stage from t", "export"),
        ("unload ('select 1') to 's3://bucket/t'", "send"),
        ("export data options(uri='gs://bucket/*') as select 1", "send"),
        ("select $$; drop table t; $$", "read"),
        ("begin; delete from t; commit", "transaction;delete whole;transaction"),
        ("wibble wobble", "unknown"),
        ("alter table t add column a int", "ddl-alter"),
        ("alter table t alter column a drop not null", "ddl-alter"),
        ("alter table t drop constraint c, drop index i", "ddl-alter"),
        ("alter table only t drop column if exists a", "ddl-alter whole"),
        ("alter table t add a int, drop b", "ddl-alter whole"),
        ("alter table t truncate partition p", "ddl-alter whole"),
        ("alter table t discard tablespace", "ddl-alter whole"),
        ("alter table t on cluster c delete where 1", "delete whole"),
        ("alter table t delete where a = 7", "delete"),
        ("alter table t update a = 1 where true", "modify whole"),
        ("create or replace table t (a int)", "ddl-drop whole"),
        ("create or replace table t as select 1", "ddl-alter"),
        ("create or replace temp table t (a int)", "ddl-create"),
        ("create or replace view v as select 1", "ddl-create"),
        ("create function f() returns int as 'x', 'y' language c", "unsafe-io"),
        ("create function f() returns int language 'plpython3u' as $$ 1 $$", "unsafe-io"),
        ("create function f() returns text language sql as $$ select 'language c' $$", "ddl-create"),
        ("create function f returns string soname 'x.so'", "unsafe-io"),
        ("insert into function url('https://x', 'CSV') select 1", "unsafe-io"),
        ("insert into table function s3('https://x', 'CSV') select 1", "send"),
        ("merge into t using u on t.a = u.a when matched then update set b = 1", "modify"),
        ("merge into t using u on t.a = u.a when matched then delete", "delete"),
        ("merge into t using u on true when matched then delete", "delete whole"),
        ("merge into t using u on t.a = u.a when not matched by source then delete", "delete whole"),
    ],
)
def test_a_statement_is_known_by_what_it_does(text: str, kinds: str) -> None:
    found = [f"{each.kind} whole" if each.whole else each.kind for each in statements(text, "postgres")]
    assert found == kinds.split(";")


@pytest.mark.parametrize(
    "condition",
    [
        *("id = id", "not false", "id is not null", "not (id is null)", "1 = 1 or a = 2", "1 < 2", "'a' <> 'b'"),
        *("true and 1 = 1", "exists (select 1)", "name like '%'", "id > 0", "id >= 1", "id <> -1", "(1 = 1) is true"),
    ],
)
def test_a_condition_that_holds_for_every_row_is_none(condition: str) -> None:
    assert statements(f"delete from t where {condition}", "postgres")[0].whole


@pytest.mark.parametrize(
    "condition",
    [
        *("a = b", "deleted_at is not null", "false", "1 = 2", "id is null", "id > 100", "a > 0", "name like 'x%'"),
        *("1 = 1 and a = 2", "not a", "a <> a", "exists (select 1 from u where u.a = t.a)", "1 = '1' and a = 2"),
    ],
)
def test_a_condition_that_chooses_rows_is_one(condition: str) -> None:
    assert not statements(f"delete from t where {condition}", "postgres")[0].whole


def test_a_condition_of_thousands_of_parts_is_read_to_its_end() -> None:
    chain = " or ".join(["a = 1"] * 2000)
    assert not statements(f"delete from t where {chain}", "postgres")[0].whole
    assert statements(f"delete from t where {chain} or true", "postgres")[0].whole


def test_the_column_that_would_be_gone_is_told() -> None:
    assert statements("alter table shop.orders drop column total")[0].targets == ("shop.orders.total",)


def test_a_backslash_hides_a_quote_only_where_the_database_says_so() -> None:
    text = r"select '\'; drop table t; --'"
    assert [each.kind for each in statements(text, "postgres")] == ["read", "ddl-drop"]
    assert [each.kind for each in statements(text, "mysql")] == ["read"]
    assert [each.kind for each in statements(r"select e'\''; drop table t; --'", "postgres")] == ["read", "ddl-drop"]


def test_what_cannot_be_parsed_is_judged_by_its_first_word() -> None:
    assert [each.kind for each in statements("delete from from where ((", "postgres")] == ["delete"]
    assert statements("update " + "x" * 30_000, "postgres")[0].whole
    assert [each.kind for each in statements("with a as (delete from ((", "postgres")] == ["unknown"]
    assert [each.kind for each in statements("select a from ((", "postgres")] == ["read"]


@pytest.mark.parametrize(
    "text", ["delete from", "delete", "update", "update t set", "delete from t where", "insert into"]
)
def test_half_a_statement_writes_too(text: str) -> None:
    for dialect in ("", "postgres", "mysql", "sqlite"):
        assert all(one.kind != "read" for one in statements(text, dialect))


def test_names_of_what_is_taken_are_told() -> None:
    assert statements('delete from shop."Orders"')[0].targets == ("shop.Orders",)
    assert statements("drop table `orders`", "mysql")[0].targets == ("orders",)


@settings(deadline=None)  # the first example imports the parser
@given(st.text(alphabet="ab;'\"`$-/*!\\ \nE", max_size=60))
def test_parting_statements_loses_no_letter_outside_comments_and_never_fails(text: str) -> None:
    for dialect in ("postgres", "mysql"):
        parts = split(text, dialect)
        assert all(part.strip() == part and part for part in parts)
        assert "".join(parts).count("b") <= text.count("b")
        statements(text, dialect)


@pytest.mark.skipif(not CORPUS.exists(), reason="the public corpora are not on this machine")
def test_statements_of_others_fall_into_the_groups_that_they_say() -> None:
    cases = [json.loads(line)["case"] for line in CORPUS.read_text("utf-8").splitlines()]
    right = 0
    for case in cases:
        wanted = [
            GROUPS.get(each["primary_group"], {each["primary_group"]}) for each in case["expected_classification"]
        ]
        found = [each.kind for each in statements(case["sql"], case.get("dialect", "postgres"))]
        right += len(found) == len(wanted) and all(kind in group for kind, group in zip(found, wanted, strict=True))
    assert right / len(cases) >= 0.95


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("do $$ begin execute 'drop table t'; end $$", ["procedural", "procedural", "ddl-drop", "transaction"]),
        ("exec sp_MSforeachtable 'drop table ?'", ["procedural", "ddl-drop"]),
        ("prepare s from 'truncate t'", ["session", "truncate"]),
        ("do $$ begin for r in (select 1) loop execute 'drop table ' || r; end loop; end $$", None),
        ("select 'drop table t'", ["read"]),
    ],
)
def test_what_a_statement_runs_out_of_a_string_is_read(text: str, kinds: list[str] | None) -> None:
    found = [each.kind for each in statements(text, "postgres")]
    assert found == kinds if kinds is not None else "ddl-drop" in found


def test_a_statement_that_the_parser_gives_up_on_is_written_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """Its logger would say it to standard error, with the passwords that are in it."""
    assert [each.kind for each in statements("replace into t values ('hunter2')", "mysql")] == ["write"]
    assert "hunter2" not in caplog.text
    assert logging.getLogger("sqlglot").handlers
