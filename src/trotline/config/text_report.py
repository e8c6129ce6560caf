"""Collect the problems of a text with their positions."""

import re
from collections.abc import Container

from trotline.config.problems import Problem, get_severity
from trotline.domain.hooks import Place
from trotline.formats.jsonc import JsonDocument, JsonNode

MAX_SOURCE = 120
"""The limit of source characters in a Problem: one long line with many problems must not take quadratic memory."""

MAX_SYNTAX_PROBLEMS = 5
"""The limit of lines with reported syntax errors: one mistake causes many, and the first few are enough to find it."""


class TextReport:
    """The problems of one file."""

    def __init__(self, file: str, document: JsonDocument, fatal_codes: frozenset[str] = frozenset()) -> None:
        self.file = file
        self.document = document
        self.fatal_codes = fatal_codes  # problems because of which the agent loads nothing from the file
        self.problems: list[Problem] = []

    def report_faults(self, ignored: Container[str] = ()) -> None:
        """Report the syntax errors of the document, except those with an ignored code."""
        lines: set[int] = set()
        for fault in self.document.faults:
            line, _ = self.document.position(fault.start)
            is_repeated = fault.code == "TL101" and (line in lines or len(lines) >= MAX_SYNTAX_PROBLEMS)
            if fault.code not in ignored and not is_repeated:
                self.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
                lines |= {line} if fault.code == "TL101" else set()

    def report(
        self, code: str, node: JsonNode | tuple[int, int], message: str, hint: str = "", *, entry: str = ""
    ) -> None:
        """Add a problem at a node or span."""
        start, end = (node.start, node.end) if isinstance(node, JsonNode) else node
        line, column = self.document.position(start)
        source, source_column = self._cut_line(line, column)
        self.problems.append(
            Problem(
                code=code,
                severity=get_severity(code, self.fatal_codes),
                place=Place(self.file, line, column),
                message=message,
                hint=hint,
                source=source,
                source_column=source_column,
                width=max(1, min(end - start, len(source) - source_column + 1)),
                entry=entry,
            )
        )

    def get_place(self, node: JsonNode) -> Place:
        """Return the file, line and column of a node."""
        return Place(self.file, *self.document.position(node.start))

    def _cut_line(self, line: int, column: int) -> tuple[str, int]:
        """Return the line, or the part of a long line around the column, and the column in that part."""
        starts = self.document.line_starts
        begin, end = starts[line - 1], starts[line] if line < len(starts) else len(self.document.text)
        skipped = max(0, column - MAX_SOURCE // 3) if end - begin > MAX_SOURCE else 0
        part = self.document.text[begin + skipped : begin + skipped + MAX_SOURCE]
        return re.split(r"[\r\n]", part, maxsplit=1)[0], column - skipped
