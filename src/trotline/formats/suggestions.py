"""Hints for unknown words."""

from collections.abc import Iterable


def suggest(word: str, words: Iterable[str]) -> str:
    """Return a hint with the closest known word, or with all known words."""
    import difflib  # noqa: PLC0415 - imported only for an error

    known = list(words)
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"
