"""Commands about which other projects disagree: one rule decides each, and the table in the docs says how."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment
from trotline.evaluation.evaluate import evaluate
from trotline.guards.guard import PRESETS
from trotline.policy.policy import Policy

ENVIRONMENT = Environment("/home/user/project", ("/home/user/project",), "/home/user", "user")
PAGE = Path(__file__).parents[1] / "docs" / "guards.md"
CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "disagreements.json"


class Decided(NamedTuple):
    verdicts: tuple[str, ...]
    rule: str


def decide(line: str) -> Decided:
    """Return the verdict of each preset, and the one rule that decides, if any."""
    found = [evaluate(analyze_command(line, ENVIRONMENT).effects, ENVIRONMENT, Policy(preset)) for preset in PRESETS]
    rules = {f"{one.guard}, {one.rule.name}" for evaluation in found for one in evaluation.matches[:1]}
    assert len(rules) < 2
    return Decided(tuple(evaluation.permission.word for evaluation in found), "".join(rules))


def read_table() -> dict[str, tuple[Decided, str]]:
    """Return the decision and the reason for each command in the table."""
    section = PAGE.read_text("utf-8").partition("## Disputed commands")[2].partition("\n## ")[0]
    found = {}
    for text in section.splitlines():
        if text.startswith("| `") and not text.startswith("| line"):
            cells = [cell.strip() for cell in text.replace("\\|", "\0").strip("|").split("|")]
            line, *verdicts, rule, why = (cell.replace("\0", "|") for cell in cells)
            found[line.strip("`")] = (Decided(tuple(verdicts), rule), why)
    return found


TABLE = read_table()


@pytest.mark.parametrize("line", TABLE)
def test_the_page_says_what_holds_and_why(line: str) -> None:
    said, why = TABLE[line]
    assert decide(line) == said
    assert why


@pytest.mark.skipif(not CORPUS.exists(), reason="../shared/corpora is not here")
def test_every_disagreement_is_decided_by_a_rule_on_the_page() -> None:
    lines = json.loads(CORPUS.read_text("utf-8"))
    known = {said for said, _ in TABLE.values()}
    assert [line for line in lines if decide(line) not in known] == []
    assert len(TABLE) >= len(lines)
