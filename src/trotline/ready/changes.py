"""Which lines of a file an agent has changed: those that the file did not have before its first edit.

What is remembered of a file is a keyed digest of each line, so that no text of it is kept anywhere.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from trotline.config.files import content
from trotline.parts import Edit, TabEdit

MOST_BYTES = 2_000_000
DIGEST = 6


def text_of(path: Path) -> str | None:
    """What stands in a file now; None when that is too much, or nothing that can be read."""
    try:
        return content(path, MOST_BYTES)[0].decode("utf-8", "replace")
    except OSError:
        return None


def digests(text: str, key: bytes) -> list[str]:
    """One for each line, whatever white space it ends with."""
    return [
        hashlib.blake2b(line.rstrip().encode("utf-8", "surrogatepass"), digest_size=DIGEST, key=key).hexdigest()
        for line in text.split("\n")
    ]


def changed_lines(before: Sequence[str] | None, text: str, key: bytes) -> set[int]:
    """Numbers, from 1, of the lines that were not there before; of a file that nobody knew before, all."""
    now = digests(text, key)
    if before is None:
        return set(range(1, len(now) + 1))
    left = Counter(before)
    changed = set()
    for number, digest in enumerate(now, 1):
        if left[digest] > 0:
            left[digest] -= 1
        else:
            changed.add(number)
    return changed


def before_edits(text: str, edits: Iterable[Edit | TabEdit]) -> str | None:
    """The text as it was before these edits; None when one of them cannot be found in it."""
    for edit in reversed([*edits]):
        at = text.find(edit.new_string) if edit.new_string else -1
        if at < 0:
            return None
        text = text[:at] + edit.old_string + text[at + len(edit.new_string) :]
    return text
