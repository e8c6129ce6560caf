"""The beginning of a project with hooks: hooks.json, hooks, their tests, and a page that says what they do."""

from pathlib import Path

from trotline.starters.hooks import launcher_in
from trotline.starters.sheets import TEMPLATES, Sheet, filled

HIDDEN = "dot_"
"""Begins names that are to begin with a dot: some who pack and copy leave those out."""


def sheets_in(directory: Path) -> list[Sheet]:
    """Everything that the project begins with."""
    root = TEMPLATES / "project"
    found = sorted(path.relative_to(root) for path in root.rglob("*.txt"))
    sheets = [Sheet(directory / _place(path), filled(f"project/{path.as_posix()}")) for path in found]
    return [*sheets, launcher_in(directory / ".cursor" / "hooks")]


def _place(path: Path) -> Path:
    parts = path.with_suffix("").parts
    return Path(*(f".{part.removeprefix(HIDDEN)}" if part.startswith(HIDDEN) else part for part in parts))
