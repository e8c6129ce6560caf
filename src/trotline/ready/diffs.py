"""An edit as a unified diff, in linear time: all from the first to the last line that changed is one hunk."""

import json
from collections.abc import Iterable, Sequence

from trotline.parts import Edit, TabEdit
from trotline.ready.changes import before_edits

AROUND = 3
NO_END = "\\ No newline at end of file\n"


Sides = tuple[str, str]
"""A text before and after."""


def sides_of(text: str | None, edits: Sequence[Edit | TabEdit]) -> list[Sides]:
    """The file before these edits and as it is now. Where they cannot be found in it, each has sides of its own."""
    before = None if text is None else before_edits(text, edits)
    if before is not None and text is not None:
        return [(before, text)]
    return [(edit.old_string, edit.new_string) for edit in edits]


def diff_of(name: str, sides: Iterable[Sequence[str]]) -> str:
    """One hunk for each two sides; where there is more than one, they have no place in the file."""
    hunks = "".join(_hunk(old, new) for old, new in sides)
    return f"--- {_named('a/' + name)}\n+++ {_named('b/' + name)}\n{hunks}" if hunks else ""


def _named(name: str) -> str:
    return name if name.isprintable() and '"' not in name and "\\" not in name else json.dumps(name)


def _hunk(old: str, new: str) -> str:
    if old == new:
        return ""
    ours, theirs = _lines(old), _lines(new)
    same = _common(ours, theirs)
    shorter = min(len(ours), len(theirs)) - same
    ends = min(_common(ours[::-1], theirs[::-1]), shorter)
    begin, around = max(0, same - AROUND), min(ends, AROUND)
    taken, put = ours[same : len(ours) - ends], theirs[same : len(theirs) - ends]
    after = ours[len(ours) - ends :][:around]
    body = [*_marked(" ", ours[begin:same]), *_marked("-", taken), *_marked("+", put), *_marked(" ", after)]
    sizes = (same - begin + len(taken) + len(after), same - begin + len(put) + len(after))
    places = [f"{begin + 1 if size else begin},{size}" for size in sizes]
    return f"@@ -{places[0]} +{places[1]} @@\n{''.join(body)}"


def _lines(text: str) -> list[str]:
    """As git counts them: only a line feed ends one."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def _common(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many lines are the same from the beginning on."""
    return next(
        (at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]),
        min(len(ours), len(theirs)),
    )


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    return [f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_END}" for line in lines]
