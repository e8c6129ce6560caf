"""Find dangerous settings in control files, by the patterns of `control.toml`."""

import tomllib
from pathlib import Path

from trotline.domain.effects import Certainty
from trotline.scanners.matching import PatternKind, PatternScanner

CONTROL = "control"
HOOK_COMMAND = "hook-command"
"""A command that an agent would run. It is always listed, and a finding only if a baseline exists without it."""


class ControlFileScanner(PatternScanner):
    """Finds dangerous settings in control files."""

    def __init__(self) -> None:
        tables = tomllib.loads((Path(__file__).parent / "control.toml").read_text("utf-8"))
        super().__init__(CONTROL, {kind: _read_kind(table) for kind, table in tables.items()})
        self.kinds[HOOK_COMMAND] = "a command that an agent runs"


def _read_kind(table: dict[str, str]) -> PatternKind:
    certainty = Certainty.GUESSED if "guessed" in table else Certainty.KNOWN
    return PatternKind(table["pattern"], table["description"], certainty)
