"""Where things stand in a TOML file: the library that reads them does not say."""

import re
from collections import Counter

Span = tuple[int, int]

_PART = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<text>'''(?s:.)*?'''+|\"\"\"(?:[^\\]|\\(?s:.))*?\"\"\"+|'[^'\n]*'|"(?:[^"\\\n]|\\.)*")
    |(?P<line>\n)
    |(?P<open>[\[{(])
    |(?P<close>[\]})])
    |(?P<other>[^\#'"\n\[\]{}()]+|(?s:.))""",
    re.VERBOSE,
)
_HEADER = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\]\n]+?)[ \t]*\]")
_KEY = re.compile(r"[ \t]*([A-Za-z0-9_.-]+|'[^'\n]*'|\"[^\"\n]*\")[ \t]*=[ \t]*")


def places(text: str) -> dict[str, Span]:
    """Headers and keys by their whole names: `guards.deletion`, `rule.0.when`; of several with one name, the first."""
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
            found.setdefault(table, header.span(2))
        elif key:
            found.setdefault(f"{table}.{_bare(key[1])}" if table else _bare(key[1]), key.span(1))
    return found


def value_start(text: str, key: Span, value: str) -> int | None:
    """Where the text of a value begins, if it is written there as it reads: without escapes."""
    match = re.compile(r"[ \t\"']*=[ \t]*(?:'''\n?|\"\"\"\n?|'|\")").match(text, key[1])
    return match.end() if match and text.startswith(value, match.end()) else None


def _lines(text: str) -> list[int]:
    """The beginnings of lines that are inside of no value."""
    starts, depth = [0], 0
    for part in _PART.finditer(text):
        if part.lastgroup == "open":
            depth += 1
        elif part.lastgroup == "close":
            depth = max(0, depth - 1)
        elif part.lastgroup == "line" and not depth:
            starts.append(part.end())
    return starts


def _bare(name: str) -> str:
    return name.strip().strip("\"'")
