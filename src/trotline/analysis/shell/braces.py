"""Brace expansion: `{a,b}` and `{1..3}`, on the pieces of a word, before anything else is expanded."""

from trotline.analysis.shell.syntax import Piece, Text
from trotline.pattern import pattern

MOST_WORDS = 256

_LETTER = pattern(r"[A-Za-z]")
_NUMBER = pattern(r"[-+]?[0-9]+")

Atom = str | Piece
"""One unquoted character, or a piece that braces do not look into."""


def expanded(pieces: tuple[Piece, ...]) -> list[tuple[Piece, ...]]:
    """The words that a word with braces is; the word itself if it has none."""
    atoms: list[Atom] = []
    for piece in pieces:
        if isinstance(piece, Text) and not piece.quoted:
            atoms += piece.value
        else:
            atoms.append(piece)
    return [_pieces(word) for word in _words(atoms, 0)]


def _pieces(atoms: list[Atom]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for atom in atoms:
        last = pieces[-1] if pieces else None
        if not isinstance(atom, str):
            pieces.append(atom)
        elif isinstance(last, Text) and not last.quoted:
            pieces[-1] = Text(last.value + atom, quoted=False)
        else:
            pieces.append(Text(atom, quoted=False))
    return tuple(pieces)


def _words(atoms: list[Atom], begin: int) -> list[list[Atom]]:
    """All words of these atoms; only the first group that is one is opened, what follows it is asked again."""
    for at in range(begin, len(atoms)):
        if atoms[at] != "{" or (at and atoms[at - 1] == "$"):
            continue
        found = _group(atoms, at)
        if found is None:
            continue
        options, end = found
        heads = [[*atoms[:at], *inner] for option in options for inner in _words(option, 0)]
        tails = [tail[0:] for tail in _words(atoms[end:], 0)]
        return [[*head, *tail] for head in heads[:MOST_WORDS] for tail in tails[:MOST_WORDS]][:MOST_WORDS]
    return [atoms]


def _group(atoms: list[Atom], at: int) -> tuple[list[list[Atom]], int] | None:
    """The options between the brace at `at` and its closing one, and where it ends."""
    depth = 0
    options: list[list[Atom]] = [[]]
    for index in range(at + 1, len(atoms)):
        atom = atoms[index]
        if atom == "}" and not depth:
            options = options if len(options) > 1 else _range(options[0])
            return (options, index + 1) if options else None
        if atom == "," and not depth:
            options.append([])
            continue
        depth += {"{": 1, "}": -1}.get(atom, 0) if isinstance(atom, str) else 0
        options[-1].append(atom)
    return None


def _range(atoms: list[Atom]) -> list[list[Atom]]:
    text = "".join(atom if isinstance(atom, str) else "?" for atom in atoms)
    first, dots, rest = text.partition("..")
    last, _, step = rest.partition("..")
    if not dots:
        return []
    if _LETTER.fullmatch(first) and _LETTER.fullmatch(last):
        low, high = sorted((ord(first), ord(last)))
        return [[chr(code)] for code in range(low, high + 1)]
    if _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last) and len(first + last + step) < 16:
        low, high = sorted((int(first), int(last)))
        return [[*str(number)] for number in range(low, min(high, low + MOST_WORDS) + 1)]
    return []
