"""What the scanner must know about a language."""

from typing import NamedTuple

from trotline.analysis.code.acts import Act
from trotline.analysis.code.tokens import Spelling


class Language(NamedTuple):
    """Its spelling, its signs, and its calls by name (parts joined by full stops, whatever sign the language uses)."""

    spelling: Spelling
    calls: dict[str, Act]
    joins: frozenset[str] = frozenset({"+"})
    members: frozenset[str] = frozenset({"."})
    bare: frozenset[str] = frozenset()  # calls that need no brackets
    loads: frozenset[str] = frozenset()  # calls that give a module by its name
    environment: frozenset[str] = frozenset()
    aliases: tuple[tuple[str, str], ...] = ()  # beginnings of names, and what they are called here
    calls_alone: bool = False
    by_text: bool = False  # `$f(...)`, where `$f` is the name of a function
    hands: frozenset[str] = frozenset()  # calls that take a function by its name, as a text
    imports: bool = False  # `import ... from "module"`

    def module(self, name: str) -> str:
        """A name as the table has it."""
        for long, short in self.aliases:
            if name.startswith(long):
                name = short + name[len(long) :]
        return name
