"""A text while it is being read: what has been found wrong with it so far, each with its place."""

import re

from trotline.config.jsonc import Document, Node
from trotline.config.problems import CODES, Problem, Severity
from trotline.hooks import Place

WINDOW = 120
"""How much of a line a Problem carries: one long line with many problems must not cost its square."""


class Page:
    """Collects Problems with their places."""

    def __init__(self, file: str, document: Document) -> None:
        self.file = file
        self.document = document
        self.problems: list[Problem] = []

    def severity(self, code: str) -> Severity:
        return CODES[code].severity

    def report(self, code: str, node: Node | tuple[int, int], message: str, hint: str = "", *, entry: str = "") -> None:
        start, end = (node.start, node.end) if isinstance(node, Node) else node
        line, column = self.document.position(start)
        source, shown_at = self._window(line, column)
        self.problems.append(
            Problem(
                code=code,
                severity=self.severity(code),
                place=Place(self.file, line, column),
                message=message,
                hint=hint,
                source=source,
                source_column=shown_at,
                width=max(1, min(end - start, len(source) - shown_at + 1)),
                entry=entry,
            )
        )

    def place(self, node: Node) -> Place:
        return Place(self.file, *self.document.position(node.start))

    def _window(self, line: int, column: int) -> tuple[str, int]:
        """The line, or of a long one the part around the column, and the column in that part."""
        starts = self.document.line_starts
        begin, end = starts[line - 1], starts[line] if line < len(starts) else len(self.document.text)
        skipped = max(0, column - WINDOW // 3) if end - begin > WINDOW else 0
        part = self.document.text[begin + skipped : begin + skipped + WINDOW]
        return re.split(r"[\r\n]", part, maxsplit=1)[0], column - skipped
