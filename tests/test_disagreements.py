"""Lines that other projects judge in opposite ways: each is decided by a row, and the table in the docs says how."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from trotline.analysis.action import of_command
from trotline.analysis.scene import World
from trotline.guards.guard import PRESETS
from trotline.guards.judgement import judged
from trotline.guards.policy import Policy

WORLD = World("/home/user/project", ("/home/user/project",), "/home/user", "user")
PAGE = Path(__file__).parents[1] / "docs" / "guards.md"
CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "disagreements.json"


class Decided(NamedTuple):
    verdicts: tuple[str, ...]
    row: str


def decided(line: str) -> Decided:
    """What each preset says, and the one row that says it; none where nothing has an effect."""
    said = [judged(of_command(line, WORLD).effects, WORLD, Policy(preset)) for preset in PRESETS]
    rows = {f"{one.guard}, {one.row.name}" for judgement in said for one in judgement.opinions[:1]}
    assert len(rows) < 2
    return Decided(tuple(judgement.permission.word for judgement in said), "".join(rows))


def table() -> dict[str, tuple[Decided, str]]:
    """The lines of the page, what it says of them, and why."""
    section = PAGE.read_text("utf-8").partition("## Where projects disagree")[2].partition("\n## ")[0]
    found = {}
    for text in section.splitlines():
        if text.startswith("| `") and not text.startswith("| line"):
            cells = [cell.strip() for cell in text.replace("\\|", "\0").strip("|").split("|")]
            line, *verdicts, row, why = (cell.replace("\0", "|") for cell in cells)
            found[line.strip("`")] = (Decided(tuple(verdicts), row), why)
    return found


TABLE = table()


@pytest.mark.parametrize("line", TABLE)
def test_the_page_says_what_holds_and_why(line: str) -> None:
    said, why = TABLE[line]
    assert decided(line) == said
    assert why


@pytest.mark.skipif(not CORPUS.exists(), reason="../shared/corpora is not here")
def test_every_disagreement_is_decided_by_a_row_of_the_page() -> None:
    lines = json.loads(CORPUS.read_text("utf-8"))
    known = {said for said, _ in TABLE.values()}
    assert [line for line in lines if decided(line) not in known] == []
    assert len(TABLE) >= len(lines)
