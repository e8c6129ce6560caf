"""Read patches in the format of `apply_patch`."""

from collections.abc import Iterator
from typing import NamedTuple

from trotline.domain.event_records import Edit
from trotline.domain.event_texts import PATCHED


class PatchedFile(NamedTuple):
    """A file of a patch. A moved file counts twice: its edits are listed under the new name."""

    path: str
    edits: tuple[Edit, ...]


def parse_patch(text: str) -> list[PatchedFile]:
    """Return the files of a patch in order. The patch does not contain the lines of a deleted file."""
    heads = list(PATCHED.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        PatchedFile(head[1].strip(), tuple(_parse_edits(text[head.end() : end])))
        for head, end in zip(heads, ends, strict=False)
    ]


def _parse_edits(body: str) -> Iterator[Edit]:
    """Yield one edit per hunk, with its context lines."""
    old: list[str] = []
    new: list[str] = []
    for line in [*body.removesuffix("\n").split("\n")[1:], "@@"]:  # the first line is the rest of the heading
        if line.startswith(("@@", "*** ")):
            if old != new:
                yield Edit("\n".join(old), "\n".join(new))
            old, new = [], []
            continue
        old += [] if line.startswith("+") else [line[1:]]
        new += [] if line.startswith("-") else [line[1:]]
