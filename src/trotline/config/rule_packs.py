"""Rules for secrets that people load beside ours: `secrets.toml` of the person and of the machine, and named files."""

from collections.abc import Sequence
from pathlib import Path

from trotline.config.files import content
from trotline.config.places import OWN_RULES, Roots
from trotline.config.problems import CODES, Problem
from trotline.errors import UsageError
from trotline.hooks import Place
from trotline.scanners.rules import Pack, read_pack


def read_packs(roots: Roots, named: Sequence[Path] = ()) -> tuple[list[Pack], list[Problem]]:
    """All of them, weakest first, and every rule that is not in force because something is wrong with it."""
    packs: list[Pack] = []
    problems: list[Problem] = []
    for file in (roots.config / OWN_RULES, *named, roots.managed_config / OWN_RULES):
        try:
            data, _ = content(file)
        except OSError as error:
            if file in named:
                raise UsageError(f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}") from None
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                problems.append(_problem(file, 0, f"the file cannot be read: {(error.strerror or str(error)).lower()}"))
            continue
        pack, broken = read_pack(data.decode("utf-8", "replace"))
        packs.append(pack)
        problems += [
            _problem(file, rule.line, f"`{rule.rule}`: {rule.message}" if rule.rule else rule.message)
            for rule in broken
        ]
    return packs, problems


def _problem(file: Path, line: int, message: str) -> Problem:
    hint = "put it right; until then this rule finds nothing, and the others do"
    return Problem(
        code="TL257", severity=CODES["TL257"].severity, place=Place(str(file), line, 1), message=message, hint=hint
    )
