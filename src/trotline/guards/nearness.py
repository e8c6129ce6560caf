"""What was probably meant by a word that means nothing."""

from collections.abc import Iterable


def near(word: str, words: Iterable[str]) -> str:
    """The word that is closest, or all there are."""
    import difflib  # noqa: PLC0415 - only when something is wrong

    known = list(words)
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"
