"""Changed lines and unified diffs of edits.

Hooks remember a file as one keyed digest per line, so that no text of it is stored.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence

from trotline.domain.event_records import Edit, TabEdit

DIGEST_BYTES = 6
CONTEXT_LINES = 3
NO_NEWLINE = "\\ No newline at end of file\n"

TextPair = tuple[str, str]
"""A text before and after."""


def hash_lines(text: str, key: bytes) -> list[str]:
    """Return a digest of each line without its trailing white space."""
    return [
        hashlib.blake2b(line.rstrip().encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES, key=key).hexdigest()
        for line in text.split("\n")
    ]


def find_changed_lines(before: Sequence[str] | None, text: str, key: bytes) -> set[int]:
    """Return the numbers, from 1, of lines whose digests are not in `before`; all lines if `before` is None."""
    digests = hash_lines(text, key)
    if before is None:
        return set(range(1, len(digests) + 1))
    unmatched = Counter(before)
    changed = set()
    for number, digest in enumerate(digests, 1):
        if unmatched[digest] > 0:
            unmatched[digest] -= 1
        else:
            changed.add(number)
    return changed


def revert_edits(text: str, edits: Iterable[Edit | TabEdit]) -> str | None:
    """Return the text before these edits; None if one of them is not found in it."""
    for edit in reversed([*edits]):
        at = text.find(edit.new_string) if edit.new_string else -1
        if at < 0:
            return None
        text = text[:at] + edit.old_string + text[at + len(edit.new_string) :]
    return text


def pair_texts(text: str | None, edits: Sequence[Edit | TabEdit]) -> list[TextPair]:
    """Return the file before and after these edits; one pair per edit if they are not found in the file."""
    before = None if text is None else revert_edits(text, edits)
    if before is not None and text is not None:
        return [(before, text)]
    return [(edit.old_string, edit.new_string) for edit in edits]


def build_diff(name: str, pairs: Iterable[Sequence[str]]) -> str:
    """Build a unified diff with one hunk per pair. The line numbers of several pairs are not those of the file."""
    hunks = "".join(_build_hunk(old, new) for old, new in pairs)
    return f"--- {_quote_name('a/' + name)}\n+++ {_quote_name('b/' + name)}\n{hunks}" if hunks else ""


def _quote_name(name: str) -> str:
    return name if name.isprintable() and '"' not in name and "\\" not in name else json.dumps(name)


def _build_hunk(old: str, new: str) -> str:
    """Build one hunk from the first to the last changed line, in linear time."""
    if old == new:
        return ""
    old_lines, new_lines = _split_lines(old), _split_lines(new)
    head = _count_common(old_lines, new_lines)
    shorter = min(len(old_lines), len(new_lines)) - head
    foot = min(_count_common(old_lines[::-1], new_lines[::-1]), shorter)
    begin = max(0, head - CONTEXT_LINES)
    removed, added = old_lines[head : len(old_lines) - foot], new_lines[head : len(new_lines) - foot]
    after = old_lines[len(old_lines) - foot :][: min(foot, CONTEXT_LINES)]
    body = [*_mark(" ", old_lines[begin:head]), *_mark("-", removed), *_mark("+", added), *_mark(" ", after)]
    sizes = (head - begin + len(removed) + len(after), head - begin + len(added) + len(after))
    ranges = [f"{begin + 1 if size else begin},{size}" for size in sizes]
    return f"@@ -{ranges[0]} +{ranges[1]} @@\n{''.join(body)}"


def _split_lines(text: str) -> list[str]:
    """Split at line feeds only, as git does."""
    *lines, rest = text.split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def _count_common(old_lines: Sequence[str], new_lines: Sequence[str]) -> int:
    """Return how many lines are equal from the beginning."""
    return next(
        (at for at, pair in enumerate(zip(old_lines, new_lines, strict=False)) if pair[0] != pair[1]),
        min(len(old_lines), len(new_lines)),
    )


def _mark(mark: str, lines: Sequence[str]) -> list[str]:
    return [f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}" for line in lines]
