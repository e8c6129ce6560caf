"""Characters that a reader does not see, or takes for others: what a person reviews is not what a machine reads."""

from trotline.effects import Certainty
from trotline.scanners.confusables import LOOKS_LIKE
from trotline.scanners.patterned import Kind, Patterned

NAME = "invisible"

ZERO_WIDTH = r"\x{200B}-\x{200D}\x{2060}-\x{2064}\x{FEFF}\x{AD}\x{180E}\x{34F}\x{115F}\x{1160}\x{3164}\x{FFA0}"
FLAG, FLAG_END = "\U0001f3f4".encode(), "\U000e007f".encode()
LONGEST_FLAG = 8
BYTE_ORDER_MARK = "\ufeff".encode()


def _is_no_flag(data: bytes, start: int, end: int) -> bool:
    """The flags of England, Scotland and Wales are written in tags behind a black flag, and end in their own."""
    flag = data[:start].endswith(FLAG) and data[:end].endswith(FLAG_END) and end - start <= 4 * LONGEST_FLAG
    return not flag


def _is_no_mark_of_order(data: bytes, start: int, end: int) -> bool:
    """A byte order mark may stand at the beginning of a text, and nowhere else."""
    return (start, data[start:end]) != (0, BYTE_ORDER_MARK)


def _passes_for_latin(data: bytes, start: int, end: int) -> bool:
    """Latin and foreign letters in one word, of which every foreign one has a Latin double."""
    word = data[start:end].decode("utf-8", "replace")
    foreign = [char for char in word if not char.isascii() and char.isalpha()]
    latin = sum(char.isascii() and char.isalpha() for char in word)
    return len(word) >= SHORTEST_WORD and latin > 0 and all(char in LOOKS_LIKE for char in foreign)


SHORTEST_WORD = 3

_KINDS: dict[str, Kind] = {
    "tag-characters": Kind(
        r"([\x{E0000}-\x{E007F}]+)", "text in tag characters, which nothing shows", holds=_is_no_flag
    ),
    "bidi-control": Kind(
        r"([\x{202A}-\x{202E}\x{2066}-\x{2069}]+)", "controls of direction, which show text in another order"
    ),
    "zero-width": Kind(
        rf"[0-9A-Za-z_\-./$:=]([{ZERO_WIDTH}]+)|([{ZERO_WIDTH}]+)[0-9A-Za-z_\-./$:=]|([{ZERO_WIDTH}]{{4,}})",
        "characters without width in words and commands, or many in a row",
        holds=_is_no_mark_of_order,
    ),
    "variation-selectors": Kind(
        r"([\x{FE00}-\x{FE0F}\x{E0100}-\x{E01EF}]{3,})", "variation selectors in a row, which can carry any text"
    ),
    "homoglyphs": Kind(
        r"\b?([0-9A-Za-z_]*(?:[A-Za-z][0-9_]*[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]|"
        r"[\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}][0-9_]*[A-Za-z])"
        r"[0-9A-Za-z_\p{Cyrillic}\p{Greek}\p{Armenian}\p{Cherokee}]*)",
        "letters of two scripts in one word, which look like one",
        Certainty.GUESSED,
        _passes_for_latin,
    ),
    "styled-letters": Kind(
        r"((?:[\x{1D400}-\x{1D7FF}] ?){4,})",
        "letters of mathematics as words, which filters do not read",
        Certainty.GUESSED,
    ),
    "concealed-text": Kind(r"(\x1b\[(?:[0-9;]*;)?8m)", "a terminal is told not to show what follows"),
}
IN_ASCII = frozenset({"concealed-text"})
"""What a text without any other characters can hold."""

KINDS = {kind: one._replace(in_ascii=kind in IN_ASCII) for kind, one in _KINDS.items()}


class Invisible(Patterned):
    def __init__(self) -> None:
        super().__init__(NAME, KINDS)
