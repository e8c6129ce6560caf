"""Split conditions into tokens and derive facts from them: fields, loops, required kinds of effects and texts."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from trotline.policy.condition_variables import MACROS

MAX_CONDITION = 4000
"""The limit of a condition, in characters."""

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[rRbB]{0,2}(?:'''(?s:.)*?'''|\"\"\"(?s:.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    |(?P<number>\d[\w.]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|(?s:.))""",
    re.VERBOSE,
)
_CONJUNCTIVE_SIGNS = frozenset({".", "(", ")", ",", "&&", "]"})
_SEARCHES = frozenset({"contains", "startsWith", "endsWith"})
_INVERTING_NAMES = frozenset({"false", "true", "all", "exists_one", "filter", "map"})
"""Names with which a false part may make the whole condition true."""


class ConditionToken(NamedTuple):
    """A token of a condition; `kind` is text, number, name or sign."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)


def tokenize(condition: str) -> list[ConditionToken]:
    """Split a condition into tokens, without space and comments."""
    return [
        ConditionToken(match.lastgroup or "", match[0], match.start())
        for match in _TOKEN.finditer(condition)
        if match.lastgroup != "space"
    ]


def find_members(tokens: Sequence[ConditionToken], *, called: bool) -> Iterator[ConditionToken]:
    """Yield the names after a dot: functions if `called`, otherwise fields."""
    for before, dot, name, after in zip(tokens, tokens[1:], tokens[2:], [*tokens[3:], None], strict=False):
        has_operand = before.kind in {"name", "text"} or before.text in {")", "]"}
        is_call = after is not None and after.text == "("
        if has_operand and dot.text == "." and name.kind == "name" and is_call is called:
            yield name


def find_patterns(tokens: Sequence[ConditionToken]) -> Iterator[ConditionToken]:
    """Yield the literal arguments of `matches`."""
    for name, opening, text, closing in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if (name.text, opening.text, text.kind, closing.text) == ("matches", "(", "text", ")"):
            yield text


def get_loop_depth(tokens: Sequence[ConditionToken]) -> int:
    """Return how many loops are nested."""
    deepest, loops = 0, [False]
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.text in {"(", "[", "{"} and token.kind == "sign":
            loops.append(before is not None and before.text in MACROS)
            deepest = max(deepest, sum(loops))
        elif token.text in {")", "]", "}"} and token.kind == "sign" and len(loops) > 1:
            loops.pop()
    return deepest


def find_required_kinds(tokens: Sequence[ConditionToken]) -> frozenset[str]:
    """Return the kinds of effects without which the condition is certainly false; empty if unknown.

    Only the form of most rules is understood: `effects.exists(e, e.kind == "sql" && ...) && ...`.
    """
    if [token.text for token in tokens[:4]] != ["effects", ".", "exists", "("] or len(tokens) < 12:
        return frozenset()
    variable = tokens[4].text
    if [token.text for token in tokens[5:9]] != [",", variable, ".", "kind"]:
        return frozenset()
    kinds, end = _read_kinds(tokens)
    if not kinds or tokens[end].text not in {"&&", ")"} or _has_alternative(tokens[4:]):
        return frozenset()
    return kinds


def _read_kinds(tokens: Sequence[ConditionToken]) -> tuple[frozenset[str], int]:
    """Return the texts that `e.kind` is compared with, and the index of the next token."""
    if tokens[9].text == "==" and tokens[10].kind == "text":
        return frozenset(filter(None, [_read_word(tokens[10])])), 11
    if tokens[9].text == "in" and tokens[10].text == "[":
        end = next((index for index, token in enumerate(tokens) if index > 10 and token.text == "]"), 0)
        inside = tokens[11:end]
        texts = [_read_word(token) for token in inside[::2]]
        if end and end + 1 < len(tokens) and all(texts) and all(token.text == "," for token in inside[1::2]):
            return frozenset(texts), end + 1
    return frozenset(), 0


def _has_alternative(tokens: Sequence[ConditionToken]) -> bool:
    """Return whether a top-level `||` or `?` can make the condition true when the kind test is false."""
    level = 1  # inside of `exists(`
    for before, token in pairwise(tokens):
        closed = level == 0 and before.text == ")"
        if token.kind == "sign":
            level += (token.text in {"(", "[", "{"}) - (token.text in {")", "]", "}"})
        if (token.text in {"||", "?"} and level <= 1) or (closed and token.text != "&&"):
            return True
    return False


def find_required_texts(tokens: Sequence[ConditionToken]) -> tuple[str, ...]:
    """Return texts that must occur in the event or its effects, or else the condition is certainly false.

    They are known only if all parts are joined by `&&`, inside of `exists` or not; otherwise the result is empty.
    """
    found = []
    for index, token in enumerate(tokens):
        before, after = tokens[:index][-2:], tokens[index + 1 : index + 5]
        if not _is_conjunctive(token, before, after):
            return ()
        if token.text == "==" and after[0].kind == "text":
            found.append(after[0])
        elif token.text in _SEARCHES and [part.text for part in (*before[1:], *after[:1])] == [".", "("]:
            found += [after[1]] if [before[0].kind, after[1].kind, after[2].text] == ["name", "text", ")"] else []
    return tuple(dict.fromkeys(filter(None, map(_read_literal, found))))


def _is_conjunctive(token: ConditionToken, before: Sequence[ConditionToken], after: Sequence[ConditionToken]) -> bool:
    """Return whether the parts around this token must still be true for the whole condition to be true."""
    follows_name = bool(before) and before[-1].kind == "name"
    if token.text == "in" and token.kind == "name":
        return follows_name and bool(after) and after[0].text == "["
    if token.text == "[":
        return follows_name and before[-1].text == "in" and bool(after) and after[0].kind == "text"
    if token.text == "==":
        return follows_name and bool(after) and after[0].kind in {"text", "number"}
    if token.kind == "name":
        return token.text not in _INVERTING_NAMES
    return token.kind != "sign" or token.text in _CONJUNCTIVE_SIGNS


def _read_literal(token: ConditionToken) -> str:
    """Return the value of a text literal without prefix and escapes, or ""."""
    inside = token.text[1:-1]
    return inside if token.text[0] in "'\"" and "\\" not in inside and token.text[0] not in inside else ""


def _read_word(token: ConditionToken) -> str:
    """Return the value of a text literal that is one plain word, or ""."""
    text = token.text[1:-1]
    return text if token.kind == "text" and token.text[0] in "'\"" and re.fullmatch(r"[\w-]+", text) else ""
