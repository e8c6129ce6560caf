"""Where things stand in a TOML file: the library that reads them does not say."""

import re
from collections import Counter

from trotline.toml_bounds import PART, STEPS, Span

LONGEST_NAME = 200
"""Of a name by which a place is known, so that many keys under a long header do not cost their product."""

_HEADER = re.compile(r"[ \t]*+(\[\[?)[ \t]*+([^\]\n]++)\]")
_KEY = re.compile(r"[ \t]*+([A-Za-z0-9_.-]++|'[^'\n]*+'|\"[^\"\n]*+\")[ \t]*+=")


def places(text: str) -> dict[str, Span]:
    """Headers and keys by their whole names: `guards.deletion`, `rule.0.when`; of several with one name, the first.
    A name ends at its longest.
    """
    found: dict[str, Span] = {}
    tables: Counter[str] = Counter()
    table = ""
    for start in _lines(text):
        header, key = _HEADER.match(text, start), _KEY.match(text, start)
        if header:
            table = _bare(header[2])
            if header[1] == "[[":
                tables[table] += 1
                table = f"{table}.{tables[table] - 1}"
            found.setdefault(table[:LONGEST_NAME], (header.start(2), header.start(2) + len(header[2].rstrip())))
        elif key:
            name = f"{table}.{_bare(key[1])}" if table else _bare(key[1])
            found.setdefault(name[:LONGEST_NAME], key.span(1))
    return found


def value_start(text: str, key: Span, value: str) -> int | None:
    """Where the text of a value begins, if it is written there as it reads: without escapes."""
    match = re.compile(r"[ \t\"']*=[ \t]*(?:'''\n?|\"\"\"\n?|'|\")").match(text, key[1])
    return match.end() if match and text.startswith(value, match.end()) else None


def _lines(text: str) -> list[int]:
    """The beginnings of lines that are inside of no value."""
    starts, depth = [0], 0
    for part in PART.finditer(text):
        depth = max(0, depth + STEPS.get(part.lastgroup or "", 0))
        if part.lastgroup == "line" and not depth:
            starts.append(part.end())
    return starts


def _bare(name: str) -> str:
    return name[:LONGEST_NAME].strip().strip("\"'")
