"""Find package names that resemble popular ones (typosquatting)."""

from functools import cache, lru_cache
from pathlib import Path

_NAMES_FILE = Path(__file__).with_name("popular_names.txt")
_LOOKALIKES = str.maketrans("01\u0456\u0430\u0435\u043e\u0440\u0441\u0455", "oliaeopcs")
_MIN_LENGTH = 5
"""Shorter names resemble each other by chance."""


class _NameIndex:
    """Popular names by first and last letter, one of which a single typo leaves intact, and by appearance."""

    def __init__(self, names: str) -> None:
        self.names = frozenset(names.split())
        self.by_end: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if len(name) >= _MIN_LENGTH:
                self.by_end.setdefault(name[0] + ".", []).append(name)
                self.by_end.setdefault("." + name[-1], []).append(name)
        self.by_appearance = {_fold_lookalikes(name): name for name in self.names}

    def find_similar(self, name: str) -> str:
        """Return the popular name that this one resembles, or an empty string."""
        if name in self.names or len(name) < _MIN_LENGTH - 1:
            return ""
        near = self.by_end.get(name[0] + ".", []) + self.by_end.get("." + name[-1], [])
        typos = (other for other in near if abs(len(other) - len(name)) < 2 and is_one_typo(name, other))
        return next(typos, "") or self.by_appearance.get(_fold_lookalikes(name), "")


@cache
def _get_index(kind: str) -> _NameIndex:
    """Return the index of the names below the heading `[kind]`."""
    names = _NAMES_FILE.read_text("utf-8").partition(f"\n[{kind}]\n")[2].partition("\n[")[0]
    return _NameIndex(names)


@lru_cache(1024)
def find_similar_name(kind: str, name: str) -> str:
    """Return the popular package name or scope that this name resembles; empty if there is none or it is popular."""
    name = name.lower()
    if kind == "npm" and name.startswith("@"):
        scope = _get_index("scope").find_similar(name[1:].partition("/")[0])
        return f"@{scope}" if scope else ""
    return _get_index(kind).find_similar(name.replace("_", "-") if kind == "pypi" else name)


def _fold_lookalikes(name: str) -> str:
    """Return a name without separators and with look-alike characters replaced."""
    return name.translate(_LOOKALIKES).replace("rn", "m").replace("-", "").replace("_", "").replace(".", "")


def is_one_typo(left: str, right: str) -> bool:
    """Return whether the names differ by one letter: omitted, inserted, changed, or swapped with its neighbour."""
    if left == right:
        return False
    start = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = left[start:], right[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) == len(b) + 1 else len(b) == len(a) + 1 and b[1:] == a
