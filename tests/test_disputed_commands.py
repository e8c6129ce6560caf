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


class Decision(NamedTuple):
    verdicts: tuple[str, ...]
    rule: str


def decide(line: str) -> Decision:
    """Return the verdict of each preset, and the one rule that decides, if any."""
    decisions = [
        evaluate(analyze_command(line, ENVIRONMENT).effects, ENVIRONMENT, Policy(preset)) for preset in PRESETS
    ]
    rules = {f"{match.guard}, {match.rule.name}" for evaluation in decisions for match in evaluation.matches[:1]}
    assert len(rules) < 2
    return Decision(tuple(evaluation.permission.word for evaluation in decisions), "".join(rules))


def read_table() -> dict[str, tuple[Decision, str]]:
    """Return the decision and the reason for each command in the table."""
    section = PAGE.read_text("utf-8").partition("## Disputed commands")[2].partition("\n## ")[0]
    decisions = {}
    for text in section.splitlines():
        if text.startswith("| `") and not text.startswith("| line"):
            cells = [cell.strip() for cell in text.replace("\\|", "\0").strip("|").split("|")]
            line, *verdicts, rule, why = (cell.replace("\0", "|") for cell in cells)
            decisions[line.strip("`")] = (Decision(tuple(verdicts), rule), why)
    return decisions


TABLE = read_table()


@pytest.mark.parametrize("line", TABLE)
def test_page_gives_the_current_decision_and_a_reason(line: str) -> None:
    decision, why = TABLE[line]
    assert decide(line) == decision
    assert why


@pytest.mark.skipif(not CORPUS.exists(), reason="../shared/corpora is not here")
def test_every_disagreement_is_decided_by_a_rule_on_the_page() -> None:
    lines = json.loads(CORPUS.read_text("utf-8"))
    known = {decision for decision, _ in TABLE.values()}
    assert [line for line in lines if decide(line) not in known] == []
    assert len(TABLE) >= len(lines)
