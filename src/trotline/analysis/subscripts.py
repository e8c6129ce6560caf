"""`a[$(...)]`: bash works out what stands in the brackets wherever it takes a word for a variable, quoted or not."""

from trotline.analysis.scene import Argument
from trotline.pattern import pattern

_SUBSCRIPTED = pattern(r"(?s)[A-Za-z_]\w*\[(.*)\]\+?(?:=.*)?")


def subscript(word: Argument) -> Argument | None:
    """The script that would run on the way to the variable of this name."""
    return reckoned(word) if _SUBSCRIPTED.fullmatch(word.text) else None


def reckoned(word: Argument) -> Argument | None:
    """The script that would run to work out an expression."""
    if "$(" not in word.text and "`" not in word.text:
        return None
    return word._replace(text=f": {word.text}")
