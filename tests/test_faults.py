"""Bad hooks: one test for each row of the table; a separate program runs the whole table once."""

import ast
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import faults

pytestmark = pytest.mark.timeout(300)  # one of them waits for the whole table, perhaps on a busy machine


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the results by row; workers of a test run share them: the first runs the program, the others wait."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    shared = tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent
    result = shared / "faults.json"
    with (shared / "faults.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            done = subprocess.run([sys.executable, faults.__file__, "--json"], capture_output=True, check=False)
            assert done.returncode in {0, 1}, done.stderr.decode()
            result.write_bytes(done.stdout)
    return {row["id"]: row for row in json.loads(result.read_bytes())}


@pytest.mark.parametrize("row", faults.ROWS)
def test_bad_hook_is_handled_in_bounded_time_and_memory(row: str, played: dict[str, dict[str, Any]]) -> None:
    assert played[row]["problems"] == []


def test_only_the_rows_of_the_table_ran(played: dict[str, dict[str, Any]]) -> None:
    assert played.keys() == faults.ROWS.keys()


def test_at_least_25_kinds_of_bad_hooks_have_unique_names() -> None:
    names = {kind.name for kind in faults.KINDS}
    assert len(names) == len(faults.KINDS) >= 25


@pytest.mark.parametrize("kind", faults.KINDS, ids=lambda kind: kind.name)
def test_every_kind_fails_open_and_closed_in_the_newest_edition(kind: faults.Kind) -> None:
    rows = [row for row in faults.ROWS.values() if row.kind == kind and row.edition == "2026-09"]
    assert {row.closed for row in rows} == {False, True}


@pytest.mark.parametrize("edition", faults.EDITIONS)
def test_every_edition_has_hanging_hooks(edition: str) -> None:
    assert {row.kind for row in faults.ROWS.values() if row.edition == edition} >= {
        kind for kind in faults.KINDS if kind.hasty
    }


def test_every_selected_name_is_a_kind() -> None:
    assert {kind.name for kind in faults.KINDS} >= faults.EVERYWHERE


def test_program_imports_only_the_standard_library() -> None:
    tree = ast.parse(Path(faults.__file__).read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    taken_from = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported | taken_from} <= sys.stdlib_module_names
