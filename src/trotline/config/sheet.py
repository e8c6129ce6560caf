"""A layer's file while it is being read: its layer, its edition, and what has been found wrong so far."""

from pathlib import Path

from trotline.config.jsonc import Document, Fault, Node
from trotline.config.page import Page
from trotline.config.problems import Severity, severity_of
from trotline.editions import Edition
from trotline.hooks import Layer, hook_id

UNPARSABLE_ANYWHERE = frozenset({"TL101", "TL104", "TL108", "TL110"})

MOST_SYNTAX_PROBLEMS = 5
"""One slip of the pen makes a parser stumble many times; a person needs the first few."""


class Sheet(Page):
    """Collects Problems with their places. Only files in Cursor's own format can be void."""

    def __init__(self, layer: Layer, document: Document, edition: Edition) -> None:
        super().__init__(layer.file, document)
        self.layer = layer
        self.edition = edition
        self.commands: dict[str, tuple[Node, str]] = {}  # hook id -> where its command stands, and its entry's name
        self._ordinals: dict[tuple[str, str, str], int] = {}
        self._report_faults()

    @property
    def voids(self) -> frozenset[str]:
        """Another product's file is not loaded either when it cannot be parsed; its other rules are its own."""
        return UNPARSABLE_ANYWHERE if self.layer.kind.from_claude else self.edition.voids

    def severity(self, code: str) -> Severity:
        return severity_of(code, self.voids)

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
