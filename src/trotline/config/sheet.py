"""A configuration file while it is being read: its text, its layer, and what has been found wrong so far."""

import re
from pathlib import Path

from trotline.config.jsonc import Document, Fault, Node
from trotline.config.problems import Problem, Severity, severity_of
from trotline.editions import Edition
from trotline.hooks import Layer, Place, hook_id

WINDOW = 120
"""How much of a line a Problem carries: one long line with many problems must not cost its square."""

UNPARSABLE_ANYWHERE = frozenset({"TL101", "TL104", "TL108", "TL110"})

MOST_SYNTAX_PROBLEMS = 5
"""One slip of the pen makes a parser stumble many times; a person needs the first few."""


class Sheet:
    """Collects Problems with their places. Only files in Cursor's own format can be void."""

    def __init__(self, layer: Layer, document: Document, edition: Edition) -> None:
        self.layer = layer
        self.document = document
        self.edition = edition
        self.problems: list[Problem] = []
        self.commands: dict[str, tuple[Node, str]] = {}  # hook id -> where its command stands, and its entry's name
        self._ordinals: dict[tuple[str, str, str], int] = {}
        self._report_faults()

    @property
    def voids(self) -> frozenset[str]:
        """Another product's file is not loaded either when it cannot be parsed; its other rules are its own."""
        return UNPARSABLE_ANYWHERE if self.layer.kind.from_claude else self.edition.voids

    def report(self, code: str, node: Node | tuple[int, int], message: str, hint: str = "", *, entry: str = "") -> None:
        start, end = (node.start, node.end) if isinstance(node, Node) else node
        line, column = self.document.position(start)
        source, shown_at = self._window(line, column)
        self.problems.append(
            Problem(
                code=code,
                severity=severity_of(code, self.voids),
                place=Place(self.layer.file, line, column),
                message=message,
                hint=hint,
                source=source,
                source_column=shown_at,
                width=max(1, min(end - start, len(source) - shown_at + 1)),
                entry=entry,
            )
        )

    def _window(self, line: int, column: int) -> tuple[str, int]:
        """The line, or of a long one the part around the column, and the column in that part."""
        starts = self.document.line_starts
        begin, end = starts[line - 1], starts[line] if line < len(starts) else len(self.document.text)
        skipped = max(0, column - WINDOW // 3) if end - begin > WINDOW else 0
        part = self.document.text[begin + skipped : begin + skipped + WINDOW]
        return re.split(r"[\r\n]", part, maxsplit=1)[0], column - skipped

    def place(self, node: Node) -> Place:
        return Place(self.layer.file, *self.document.position(node.start))

    def hook_id(self, event: str, command: str, matcher: str) -> str:
        key = (event, command, matcher)
        ordinal = self._ordinals[key] = self._ordinals.get(key, -1) + 1
        return hook_id(
            layer=self.layer.kind,
            file=self.layer.file,
            event=event,
            command=command,
            matcher=matcher,
            ordinal=ordinal,
        )

    def void_because(self) -> str:
        """Why nothing of this file is loaded; empty when it is."""
        voiding = [problem for problem in self.problems if problem.severity is Severity.VOID]
        if not voiding:
            return ""
        first = min(voiding, key=lambda problem: problem.place)
        where = f"line {first.place.line}: " if first.place.line else ""
        more = f" (and {len(voiding) - 1} more)" if len(voiding) > 1 else ""
        return f"{where}{first.message}{more}"

    def _report_faults(self) -> None:
        lines_with_syntax: set[int] = set()
        for fault in filter(self._concerns, self.document.faults):
            line, _ = self.document.position(fault.start)
            if fault.code == "TL101":
                if line in lines_with_syntax or len(lines_with_syntax) >= MOST_SYNTAX_PROBLEMS:
                    continue
                lines_with_syntax.add(line)
            self.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
        if self.document.comments:
            self.report("TL106", self.document.comments[0], "comments are fine here, unlike in plain JSON")

    def _concerns(self, fault: Fault) -> bool:
        """That comments are stripped inside strings was measured on hooks.json, not on other products' files."""
        foreign = self.layer.kind.from_claude or Path(self.layer.file).name == "plugin.json"
        return not (fault.code == "TL107" and foreign)
