"""Find characters that a reader does not see or takes for others, so that a reviewer reads something else."""

import unicodedata
from functools import cache

from trotline.domain.effects import Certainty
from trotline.scanners.matching import PatternKind, PatternScanner

INVISIBLE = "invisible"

LOOKS_LIKE: dict[str, str] = dict(
    zip(
        "аеорсухіјѕһԁԛԝвкмнтзьАВЕКМНОРСТУХІЈЅԌԚԜЗαβεικνορτυχγωηΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհԼՕՏᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ",
        "aeopcyxijshdqwbkmhtzbABEKMHOPCTYXIJSGQWZabeikvoptuxywnABEZHIKMNOPTYXonughLOSABCDEHJKLMPRSTVWZ",
        strict=True,
    )
)
"""Cyrillic, Greek, Armenian and Cherokee letters and the Latin letters that they look like."""


@cache
def fold_character(char: str) -> str:
    """Return the ASCII letter or digit that a character looks like, or an empty string."""
    if char in LOOKS_LIKE:
        return LOOKS_LIKE[char]
    bare = unicodedata.normalize("NFKD", char)[:1]
    return bare if bare.isascii() and bare.isalnum() else LOOKS_LIKE.get(bare, "")


ZERO_WIDTH = r"\x{200B}-\x{200D}\x{2060}-\x{2064}\x{FEFF}\x{AD}\x{180E}\x{34F}\x{115F}\x{1160}\x{3164}\x{FFA0}"
FLAG, FLAG_END = "\U0001f3f4".encode(), "\U000e007f".encode()
MAX_FLAG = 8
BYTE_ORDER_MARK = "\ufeff".encode()
MIN_WORD = 3


def _is_not_flag(data: bytes, start: int, end: int) -> bool:
    """Accept tag characters except in the flags of England, Scotland and Wales: a black flag followed by tags."""
    is_flag = data[:start].endswith(FLAG) and data[:end].endswith(FLAG_END) and end - start <= 4 * MAX_FLAG
    return not is_flag


def _is_not_leading_bom(data: bytes, start: int, end: int) -> bool:
    """Accept zero-width characters except a byte order mark at the beginning of a text."""
    return (start, data[start:end]) != (0, BYTE_ORDER_MARK)


def _looks_latin(data: bytes, start: int, end: int) -> bool:
    """Accept words that mix Latin letters with others that all look Latin."""
    word = data[start:end].decode("utf-8", "replace")
    foreign = [char for char in word if not char.isascii() and char.isalpha()]
    latin = sum(char.isascii() and char.isalpha() for char in word)
    return len(word) >= MIN_WORD and latin > 0 and all(char in LOOKS_LIKE for char in foreign)


KINDS: dict[str, PatternKind] = {
    "tag-characters": PatternKind(
        r"([\x{E0000}-\x{E007F}]+)", "text in tag characters, which nothing shows", accepts=_is_not_flag, in_ascii=False
    ),
    "bidi-control": PatternKind(
        r"([\x{202A}-\x{202E}\x{2066}-\x{2069}]+)",
        "controls of direction, which show text in another order",
        in_ascii=False,
    ),
    "zero-width": PatternKind(
        rf"[0-9A-Za-z_\-./$:=]([{ZERO_WIDTH}]+)|([{ZERO_WIDTH}]+)[0-9A-Za-z_\-./$:=]|([{ZERO_WIDTH}]{{4,}})",
        "characters without width in words and commands, or many in a row",
        accepts=_is_not_leading_bom,
        in_ascii=False,
    ),
    "variation-selectors": PatternKind(
        r"([\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]{3,})",
        "variation selectors in a row, which can carry any text",
        in_ascii=False,
    ),
    "homoglyphs": PatternKind(
        r"\b?([0-9A-Za-z_]*(?:[A-Za-z][0-9_]*[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]|"
        r"[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}][0-9_]*[A-Za-z])"
        r"[0-9A-Za-z_\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]*)",
        "letters of two scripts in one word, which look like one",
        Certainty.GUESSED,
        _looks_latin,
        in_ascii=False,
    ),
    "styled-letters": PatternKind(
        r"((?:[\x{1D400}-\x{1D7FF}] ?){4,})",
        "letters of mathematics as words, which filters do not read",
        Certainty.GUESSED,
        in_ascii=False,
    ),
    "concealed-text": PatternKind(r"(\x1b\[(?:[0-9;]*;)?8m)", "a terminal is told not to show what follows"),
}


class InvisibleScanner(PatternScanner):
    """Finds invisible and misleading characters."""

    def __init__(self) -> None:
        super().__init__(INVISIBLE, KINDS)
