"""Check a TOML text against limits and find the offsets of its keys.

`tomllib` recurses, takes quadratic time on some texts, and does not report the position of a key.
"""

import re
from collections import Counter

Span = tuple[int, int]

MAX_TOML_DEPTH = 20
"""The greatest depth of brackets, because tomllib recurses."""

MAX_DOTS = 20
"""The greatest number of dots in a key, because tomllib takes quadratic time."""

MAX_WORD = 200
"""The greatest length of an unquoted word. No key is that long, and Python refuses to print such numbers."""

TOML_TOKEN = re.compile(
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
"""The tokens of TOML. Every character belongs to one, also in an unterminated string, so none is scanned twice."""

DEPTH_STEPS = {"open": 1, "close": -1}
_KEY_TOKENS = frozenset({"word", "short", "space"})


def find_excess(text: str) -> tuple[Span, str] | None:
    """Return the span and a description of the first part that exceeds a limit, in linear time."""
    depth = dots = 0
    for part in TOML_TOKEN.finditer(text):
        kind = part.lastgroup or ""
        depth = max(0, depth + DEPTH_STEPS.get(kind, 0))
        if kind == "dot":
            dots += 1
        elif kind not in _KEY_TOKENS:
            dots = 0
        if depth > MAX_TOML_DEPTH:
            return part.span(), f"more than {MAX_TOML_DEPTH} brackets stand inside of each other"
        if dots > MAX_DOTS:
            return part.span(), f"the key has more than {MAX_DOTS} dots"
        if kind == "word" and part.end() - part.start() > MAX_WORD:
            return part.span(), f"the word has more than {MAX_WORD} characters"
    return None


MAX_NAME = 200
"""The greatest length of a dotted name. Without it, many keys under a long header take quadratic memory."""

_HEADER = re.compile(r"[ \t]*+(\[\[?)[ \t]*+([^\]\n]++)\]")
_KEY = re.compile(r"[ \t]*+([A-Za-z0-9_.-]++|'[^'\n]*+'|\"[^\"\n]*+\")[ \t]*+=")


def find_positions(text: str) -> dict[str, Span]:
    """Return the spans of headers and keys by dotted name, such as `guards.deletion` or `rule.0.when`.

    If a name occurs several times, the first occurrence counts. Names are cut at MAX_NAME.
    """
    found: dict[str, Span] = {}
    tables: Counter[str] = Counter()
    table = ""
    for start in _find_line_starts(text):
        header, key = _HEADER.match(text, start), _KEY.match(text, start)
        if header:
            table = _strip_quotes(header[2])
            if header[1] == "[[":
                tables[table] += 1
                table = f"{table}.{tables[table] - 1}"
            found.setdefault(table[:MAX_NAME], (header.start(2), header.start(2) + len(header[2].rstrip())))
        elif key:
            name = f"{table}.{_strip_quotes(key[1])}" if table else _strip_quotes(key[1])
            found.setdefault(name[:MAX_NAME], key.span(1))
    return found


def find_value_start(text: str, key: Span, value: str) -> int | None:
    """Return the offset of a string value after its key, or None if the value is written with escapes."""
    match = re.compile(r"[ \t\"']*=[ \t]*(?:'''\n?|\"\"\"\n?|'|\")").match(text, key[1])
    return match.end() if match and text.startswith(value, match.end()) else None


def _find_line_starts(text: str) -> list[int]:
    """Return the offsets of lines that do not begin inside a value."""
    starts, depth = [0], 0
    for part in TOML_TOKEN.finditer(text):
        depth = max(0, depth + DEPTH_STEPS.get(part.lastgroup or "", 0))
        if part.lastgroup == "line" and not depth:
            starts.append(part.end())
    return starts


def _strip_quotes(name: str) -> str:
    return name[:MAX_NAME].strip().strip("\"'")
