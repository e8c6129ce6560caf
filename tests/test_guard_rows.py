"""What the analysis says and no guard hears is lost: every verb of the dangerous kinds has a row, or is named here."""

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import trotline.analysis
from trotline.analysis import sql
from trotline.analysis.scene import World
from trotline.effects import Effect
from trotline.guards import guards
from trotline.guards.guard import Says, Sight

SIGHT = Sight(World("/home/dev/project", ("/home/dev/project",), "/home/dev", "dev"))
KINDS = frozenset("container data disk persist privilege process sql system".split())
CALLS = {"effect": ("", ""), "_noted": ("", ""), "_system": ("system", ""), "Meaning": ("container", "")}
"""What notes an effect, with the kind that it stands for where it does not say one."""

HARMLESS = {
    "container": {"build", "exec", "login", "prune cache", "pull", "remove network", "run", "up", "write inside"},
    "process": {"kill", "probe"},
    "sql": {*"ddl-create export file load maintenance notify pipe procedural read session transaction write".split()},
    "system": {"start service"},
}
"""Passed in `strict`: what they do is undone by doing it again, or it is the everyday work of the program."""


def _emitted() -> Iterator[tuple[str, str]]:
    for file in Path(trotline.analysis.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (name := _name(node.func)) in CALLS:
                words = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                kind = CALLS[name][0]
                if kind and words:
                    yield (words[1], words[0]) if len(words) > 1 and words[1] in KINDS else (kind, words[0])
                elif len(words) > 1:
                    yield words[0], words[1]
    yield from (("sql", kind) for kind in {*sql._KINDS.values(), *(kind for _, kind in sql._OPENINGS)})


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


EMITTED = sorted({(kind, verb) for kind, verb in _emitted() if kind in KINDS})


def _heard(kind: str, verb: str) -> bool:
    deep = (False,) if kind == "sql" else (False, True)  # a row is about all that takes every row of a table
    whole = kind == "sql" and verb in {"modify", "delete", "truncate", "erase"}
    for path, recursive in product(("", "/etc/x"), (*deep, whole)):
        effect = Effect(kind=kind, verb=verb, path=path, target="x", writes=True, recursive=recursive)
        sight = SIGHT._replace(effects=(effect,))
        for guard in guards():
            row = next((row for row in guard.rows if kind in guard.kinds and row.when(effect, sight)), None)
            if row is not None and row.under("strict") is not Says.PASS:
                return True
    return False


@pytest.mark.parametrize("kind,verb", EMITTED)
def test_every_verb_that_is_told_is_heard_by_a_guard(kind: str, verb: str) -> None:
    assert _heard(kind, verb) or verb in HARMLESS.get(kind, ()), f"{kind} {verb} is told, and no row stops it"


def test_the_scan_for_verbs_finds_them() -> None:
    assert {("system", "power"), ("container", "remove volume"), ("sql", "stop"), ("disk", "format")} <= {*EMITTED}
