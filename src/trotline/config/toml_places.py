"""Where things stand in a TOML file: the library that reads them does not say. And what it must not be given."""

import re
from collections import Counter

Span = tuple[int, int]

MOST_DEPTH = 20
"""Brackets inside of each other: the library recurses."""

MOST_DOTS = 20
"""In one key: the library takes their square."""

LONGEST_WORD = 200
"""Without quotes. There are no such keys, and Python refuses to write out such numbers."""

LONGEST_NAME = 200
"""Of a name by which a place is known, so that many keys under a long header do not cost their product."""

_PART = re.compile(
    r"""(?P<comment>\#[^\n]*+)
    |(?P<text>'''(?:[^']|'(?!''))*+(?:'''+)?|\"\"\"(?:[^"\\]|\\(?s:.)|"(?!""))*+(?:\"\"\"+)?)
    |(?P<short>'[^'\n]*+'?|"(?:[^"\\\n]|\\.)*+"?)
    |(?P<line>\n)
    |(?P<open>[\[{])
    |(?P<close>[\]}])
    |(?P<dot>\.)
    |(?P<word>[^\#'"\[\]{}.=,\s]++)
    |(?P<space>[^\S\n]++)
    |(?P<other>[=,])""",
    re.VERBOSE,
)
"""Every character belongs to one part, also where a text never ends: nothing is looked at twice."""

_STEPS = {"open": 1, "close": -1}
_IN_A_KEY = frozenset({"word", "short", "space"})
_HEADER = re.compile(r"[ \t]*+(\[\[?)[ \t]*+([^\]\n]++)\]")
_KEY = re.compile(r"[ \t]*+([A-Za-z0-9_.-]++|'[^'\n]*+'|\"[^\"\n]*+\")[ \t]*+=")


def beyond_reading(text: str) -> tuple[Span, str] | None:
    """What nobody writes and the library would not bear, and where it stands. The work is linear in the text."""
    depth = dots = 0
    for part in _PART.finditer(text):
        kind = part.lastgroup or ""
        depth = max(0, depth + _STEPS.get(kind, 0))
        if kind == "dot":
            dots += 1
        elif kind not in _IN_A_KEY:
            dots = 0
        if depth > MOST_DEPTH:
            return part.span(), f"more than {MOST_DEPTH} brackets stand inside of each other"
        if dots > MOST_DOTS:
            return part.span(), f"the key has more than {MOST_DOTS} dots"
        if kind == "word" and part.end() - part.start() > LONGEST_WORD:
            return part.span(), f"the word has more than {LONGEST_WORD} characters"
    return None


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
    for part in _PART.finditer(text):
        depth = max(0, depth + _STEPS.get(part.lastgroup or "", 0))
        if part.lastgroup == "line" and not depth:
            starts.append(part.end())
    return starts


def _bare(name: str) -> str:
    return name[:LONGEST_NAME].strip().strip("\"'")
