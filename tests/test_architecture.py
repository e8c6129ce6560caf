"""docs/architecture.md names only files and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "trotline"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and ".py`" in line]


def list_names(file: Path) -> set[str]:
    """Return the functions, classes and `Class.method` names of a module."""
    names = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{item.name}" for item in ast.walk(node) if isinstance(item, ast.FunctionDef)}
    return names


def list_references() -> list[tuple[str, str]]:
    """Return each file of the page with each function that the page names after it."""
    references = []
    for row in ROWS:
        file = ""
        for word in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1]):
            if word.endswith((".py", ".c")):
                file = word
                references.append((file, ""))
            elif file and not word.endswith("/"):
                references.append((file, word))
    return references


@pytest.mark.parametrize("file, name", list_references())
def test_named_function_exists(file: str, name: str) -> None:
    path = ROOT / file if file.startswith("client/") else SOURCE / file
    assert path.is_file()
    assert not name or name in list_names(path)


def test_page_names_the_functions_of_both_sides() -> None:
    names = {name for _, name in list_references()}
    assert {"handle_call", "answer", "Dispatcher.dispatch", "decide", "GuardPanel.__call__"} <= names
