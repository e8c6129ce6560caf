"""Patches in the format of `apply_patch`: files, and under each the lines that stay, go and come."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.parts import Edit
from trotline.texts import PATCHED


class Patched(NamedTuple):
    """A file of a patch. One that is moved is two: its edits stand under the name that it gets."""

    path: str
    edits: tuple[Edit, ...]


def patched(text: str) -> list[Patched]:
    """The files of a patch, in its order; what was in a file that is deleted nobody says."""
    heads = list(PATCHED.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        Patched(head[1].strip(), tuple(_edits(text[head.end() : end]))) for head, end in zip(heads, ends, strict=False)
    ]


def _edits(body: str) -> Iterator[Edit]:
    """One for each place in the file, with the lines around it that stay."""
    old: list[str] = []
    new: list[str] = []
    for line in [*body.removesuffix("\n").split("\n")[1:], "@@"]:  # the first is what is left of the head
        if line.startswith(("@@", "*** ")):
            if old != new:
                yield Edit("\n".join(old), "\n".join(new))
            old, new = [], []
            continue
        old += [] if line.startswith("+") else [line[1:]]
        new += [] if line.startswith("-") else [line[1:]]


def as_patch(given: dict[str, Any]) -> dict[str, Any]:
    """The input of a tool that writes a file, or a piece of one, as the patch that does the same."""
    path, content, old, new = (given.get(name) for name in ("file_path", "content", "old_string", "new_string"))
    if isinstance(content, str):
        lines = [f"*** Add File: {path}", *(f"+{line}" for line in content.split("\n"))]
    elif isinstance(old, str) and isinstance(new, str):
        pieces = [*(f"-{line}" for line in old.split("\n")), *(f"+{line}" for line in new.split("\n"))]
        lines = [f"*** Update File: {path}", "@@", *pieces]
    else:
        return given
    return {**given, "patch": "\n".join(["*** Begin Patch", *lines, "*** End Patch"])}
