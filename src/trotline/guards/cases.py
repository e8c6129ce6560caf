"""Read the cases of guards: for tests, benchmarks and `trotline guards`, never for a decision."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

Case = str | dict[str, Any] | list[str | dict[str, Any]]
"""A command, an effect, or a conversation of several steps of which the last one counts."""


class GuardCases(NamedTuple):
    """Commands that preset standard lets pass, and cases by the rule that they match."""

    passes: list[str]
    rules: dict[str, list[Case]]

    @property
    def commands(self) -> list[str]:
        """Return the commands that match a rule."""
        return [case for cases in self.rules.values() for case in cases if isinstance(case, str)]


@cache
def load_cases(guard: str) -> GuardCases:
    """Read the TOML file of the guard."""
    data = tomllib.loads(files("trotline.guards").joinpath(f"{guard}.toml").read_text("utf-8"))
    return GuardCases(data.get("passes", []), data["rules"])
