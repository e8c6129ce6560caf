"""User-defined rules for secrets: `secrets.toml` of the user and of the machine, and files given by name."""

from collections.abc import Sequence
from pathlib import Path

from trotline.config.paths import OWN_RULES, Roots
from trotline.config.problems import Problem, build_problem
from trotline.domain.errors import UsageError, describe_os_error
from trotline.domain.hooks import Place
from trotline.scanners.secret_rules import RulePack, read_pack
from trotline.system.files import read_file


def read_packs(roots: Roots, named: Sequence[Path] = ()) -> tuple[list[RulePack], list[Problem]]:
    """Read all rule packs, lowest authority first. Return them, and a Problem for each invalid rule."""
    packs: list[RulePack] = []
    problems: list[Problem] = []
    for file in (roots.config / OWN_RULES, *named, roots.managed_config / OWN_RULES):
        try:
            data = read_file(file)
        except OSError as error:
            if file in named:
                raise UsageError(f"`{file}` cannot be read: {describe_os_error(error)}") from None
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                problems.append(_report(file, 0, f"the file cannot be read: {describe_os_error(error)}"))
            continue
        pack, broken = read_pack(data.decode("utf-8", "replace"))
        packs.append(pack)
        problems += [
            _report(file, rule.line, f"`{rule.rule}`: {rule.message}" if rule.rule else rule.message) for rule in broken
        ]
    return packs, problems


def _report(file: Path, line: int, message: str) -> Problem:
    hint = "put it right; until then this rule finds nothing, and the others do"
    return build_problem("TL257", message, hint, place=Place(str(file), line, 1))
