"""Languages that Trotline reads in command lines, from `languages.toml`: their syntax and the actions of functions."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from trotline.analysis.code.call_actions import ACTIONS, CallAction
from trotline.analysis.code.code_tokens import LanguageSyntax
from trotline.analysis.code.python_calls import PYTHON_ACTIONS

_FILE = Path(__file__).parent / "languages.toml"


class CodeLanguage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language that the scanner reads."""

    syntax: LanguageSyntax
    functions: dict[str, str]  # the action of each function
    concat_operators: frozenset[str] = frozenset({"+"})
    member_operators: frozenset[str] = frozenset({"."})
    bare_calls: frozenset[str] = frozenset()  # calls without parentheses
    import_calls: frozenset[str] = frozenset()  # calls that return a module by its name
    environment_names: frozenset[str] = frozenset()
    aliases: dict[str, str] = {}  # prefixes of names and their replacements
    calls_without_parens: bool = False
    calls_by_string: bool = False  # `$f(...)`, where `$f` holds the name of a function
    callback_functions: frozenset[str] = frozenset()  # functions that accept a function by its name
    has_imports: bool = False  # has `import ... from "module"`

    def canonicalize(self, name: str) -> str:
        """Return the name in the form that `functions` uses."""
        for long, short in self.aliases.items():
            if name.startswith(long):
                name = short + name[len(long) :]
        return name

    def find_action(self, name: str) -> CallAction | None:
        """Return the action of a function, or None if the function is unknown."""
        action = self.functions.get(name)
        return ALL_ACTIONS[action] if action is not None else None


ALL_ACTIONS = {**ACTIONS, **PYTHON_ACTIONS}


@cache
def load_languages() -> dict[str, CodeLanguage]:
    """Return all languages by name."""
    return {name: _read_language(table) for name, table in tomllib.loads(_FILE.read_text("utf-8")).items()}


def _read_language(table: dict[str, object]) -> CodeLanguage:
    rows = msgspec.convert(table["functions"], dict[str, str])
    functions = {function: action for action, names in rows.items() for function in names.split()}
    sets = {key: value.split() for key, value in table.items() if isinstance(value, str)}
    return msgspec.convert({**table, **sets, "functions": functions}, CodeLanguage)
