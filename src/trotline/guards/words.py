"""The text of a condition, word by word: enough to see its fields, its loops and what kind of effect it needs."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from trotline.guards.vocabulary import MACROS

LONGEST = 4000
"""Characters of a condition; who has more to say writes two rules."""

_WORD = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[rRbB]{0,2}(?:'''(?s:.)*?'''|\"\"\"(?s:.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    |(?P<number>\d[\w.]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|(?s:.))""",
    re.VERBOSE,
)


class Word(NamedTuple):
    kind: str  # text, number, name, sign
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def words_of(condition: str) -> list[Word]:
    return [
        Word(match.lastgroup or "", match[0], match.start())
        for match in _WORD.finditer(condition)
        if match.lastgroup != "space"
    ]


def members(words: Sequence[Word], *, called: bool) -> Iterator[Word]:
    """Names after a dot: functions that are called, or fields."""
    for before, dot, name, after in zip(words, words[1:], words[2:], [*words[3:], None], strict=False):
        operand = before.kind in {"name", "text"} or before.text in {")", "]"}
        calls = after is not None and after.text == "("
        if operand and dot.text == "." and name.kind == "name" and calls is called:
            yield name


def patterns(words: Sequence[Word]) -> Iterator[Word]:
    """The texts that `matches` is given as they stand."""
    for name, opens, text, closes in zip(words, words[1:], words[2:], words[3:], strict=False):
        if (name.text, opens.text, text.kind, closes.text) == ("matches", "(", "text", ")"):
            yield text


def depth(words: Sequence[Word]) -> int:
    """How many loops stand inside each other."""
    deepest, loops = 0, [False]
    for before, word in zip([None, *words], words, strict=False):
        if word.text in {"(", "[", "{"} and word.kind == "sign":
            loops.append(before is not None and before.text in MACROS)
            deepest = max(deepest, sum(loops))
        elif word.text in {")", "]", "}"} and word.kind == "sign" and len(loops) > 1:
            loops.pop()
    return deepest


def kinds(words: Sequence[Word]) -> frozenset[str]:
    """The kinds of effects without which the condition is false for certain; nothing when that cannot be said.

    Only one form is understood, the one that most rules have: `effects.exists(e, e.kind == "sql" && ...) && ...`.
    """
    if [word.text for word in words[:4]] != ["effects", ".", "exists", "("] or len(words) < 12:
        return frozenset()
    one = words[4].text
    if [word.text for word in words[5:9]] != [",", one, ".", "kind"]:
        return frozenset()
    named, at = _named(words)
    if not named or words[at].text not in {"&&", ")"} or _splits(words[4:]):
        return frozenset()
    return named


def _named(words: Sequence[Word]) -> tuple[frozenset[str], int]:
    """The texts that the kind is compared with, and where the next word is."""
    if words[9].text == "==" and words[10].kind == "text":
        return frozenset(filter(None, [_plain(words[10])])), 11
    if words[9].text == "in" and words[10].text == "[":
        end = next((at for at, word in enumerate(words) if at > 10 and word.text == "]"), 0)
        inside = words[11:end]
        texts = [_plain(word) for word in inside[::2]]
        if end and end + 1 < len(words) and all(texts) and all(word.text == "," for word in inside[1::2]):
            return frozenset(texts), end + 1
    return frozenset(), 0


def _splits(words: Sequence[Word]) -> bool:
    """Whether something stands where it could make the whole true without its first part."""
    level = 1  # inside of `exists(`
    for before, word in pairwise(words):
        closed = level == 0 and before.text == ")"
        if word.kind == "sign":
            level += (word.text in {"(", "[", "{"}) - (word.text in {")", "]", "}"})
        if (word.text in {"||", "?"} and level <= 1) or (closed and word.text != "&&"):
            return True
    return False


_SIGNS = frozenset({".", "(", ")", ",", "&&", "]"})
_SEARCHES = frozenset({"contains", "startsWith", "endsWith"})
_TURNING = frozenset({"false", "true", "all", "exists_one", "filter", "map"})
"""Names with which a part that is false may make the whole true."""


def needed(words: Sequence[Word]) -> tuple[str, ...]:
    """Texts that must stand somewhere in what is asked about: without one of them the condition is false for certain.

    Known only where all parts are joined by `&&`, inside of `exists` or not; where anything else stands, nothing is.
    """
    found = []
    for at, word in enumerate(words):
        before, after = words[:at][-2:], words[at + 1 : at + 5]
        if not _is_joined(word, before, after):
            return ()
        if word.text == "==" and after[0].kind == "text":
            found.append(after[0])
        elif word.text in _SEARCHES and [one.text for one in (*before[1:], *after[:1])] == [".", "("]:
            found += [after[1]] if [before[0].kind, after[1].kind, after[2].text] == ["name", "text", ")"] else []
    return tuple(dict.fromkeys(filter(None, map(_literal, found))))


def _is_joined(word: Word, before: Sequence[Word], after: Sequence[Word]) -> bool:
    """Whether this word leaves what stands beside it a part without which the whole is false."""
    field = bool(before) and before[-1].kind == "name"
    if word.text == "in" and word.kind == "name":
        return field and bool(after) and after[0].text == "["
    if word.text == "[":
        return field and before[-1].text == "in" and bool(after) and after[0].kind == "text"
    if word.text == "==":
        return field and bool(after) and after[0].kind in {"text", "number"}
    return word.text not in _TURNING if word.kind == "name" else word.kind != "sign" or word.text in _SIGNS


def _literal(word: Word) -> str:
    """What a text says; nothing when it is written in a way that would have to be read first."""
    inside = word.text[1:-1]
    return inside if word.text[0] in "'\"" and "\\" not in inside and word.text[0] not in inside else ""


def _plain(word: Word) -> str:
    """A text without escapes; anything else is nothing."""
    text = word.text[1:-1]
    return text if word.kind == "text" and word.text[0] in "'\"" and re.fullmatch(r"[\w-]+", text) else ""
