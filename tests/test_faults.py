"""Every row of the table of bad hooks, as one test each; the table is played once, by a program of its own."""

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
    """What the program saw, by row. Workers of one test run share it: the first plays, the others wait for its file."""
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
def test_a_bad_hook_is_dealt_with_in_bounded_time_and_memory_and_leaves_nobody(
    row: str, played: dict[str, dict[str, Any]]
) -> None:
    assert played[row]["problems"] == []


def test_nothing_was_played_but_the_table(played: dict[str, dict[str, Any]]) -> None:
    assert played.keys() == faults.ROWS.keys()


def test_there_are_at_least_25_kinds_of_bad_hook_and_no_two_have_the_same_name() -> None:
    names = {kind.name for kind in faults.KINDS}
    assert len(names) == len(faults.KINDS) >= 25


@pytest.mark.parametrize("kind", faults.KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_played_in_the_newest_edition_failing_open_and_closed(kind: faults.Kind) -> None:
    rows = [row for row in faults.ROWS.values() if row.kind == kind and row.edition == "2026-09"]
    assert {row.closed for row in rows} == {False, True}


@pytest.mark.parametrize("edition", faults.EDITIONS)
def test_every_edition_sees_hooks_that_hang_on_some_event(edition: str) -> None:
    assert {row.kind for row in faults.ROWS.values() if row.edition == edition} >= {
        kind for kind in faults.KINDS if kind.hasty
    }


def test_every_name_in_the_selection_is_a_kind() -> None:
    assert {kind.name for kind in faults.KINDS} >= faults.EVERYWHERE


def test_the_program_knows_the_command_and_not_the_package() -> None:
    tree = ast.parse(Path(faults.__file__).read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    taken_from = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported | taken_from} <= sys.stdlib_module_names
