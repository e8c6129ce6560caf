"""What a parser of TOML must not be given: it recurses, and takes the square of what nobody writes."""

import re

Span = tuple[int, int]

MOST_DEPTH = 20
"""Brackets inside of each other: the library recurses."""

MOST_DOTS = 20
"""In one key: the library takes their square."""

LONGEST_WORD = 200
"""Without quotes. There are no such keys, and Python refuses to write out such numbers."""

PART = re.compile(
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

STEPS = {"open": 1, "close": -1}
_IN_A_KEY = frozenset({"word", "short", "space"})


def beyond_reading(text: str) -> tuple[Span, str] | None:
    """What nobody writes and the library would not bear, and where it stands. The work is linear in the text."""
    depth = dots = 0
    for part in PART.finditer(text):
        kind = part.lastgroup or ""
        depth = max(0, depth + STEPS.get(kind, 0))
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
