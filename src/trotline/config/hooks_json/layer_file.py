"""The state of a layer's file while it is read: its layer, its edition, and the problems so far."""

from pathlib import Path

from trotline.config.problems import Severity, get_severity
from trotline.config.text_report import TextReport
from trotline.domain.editions import Edition
from trotline.domain.hooks import Layer, build_hook_id
from trotline.formats.jsonc import JsonDocument, JsonFault, JsonNode

UNPARSABLE_ANYWHERE = frozenset({"TL101", "TL104", "TL108", "TL110"})

MAX_SYNTAX_PROBLEMS = 5
"""One slip of the pen makes a parser stumble many times; a person needs the first few."""


class Sheet(TextReport):
    """The report on a layer's file, with the layer, the edition and the places of its commands."""

    def __init__(self, layer: Layer, document: JsonDocument, edition: Edition) -> None:
        super().__init__(layer.file, document)
        self.layer = layer
        self.edition = edition
        self.commands: dict[str, tuple[JsonNode, str]] = {}  # hook id -> where its command stands, and its entry's name
        self._ordinals: dict[tuple[str, str, str], int] = {}
        self._report_faults()

    @property
    def voids(self) -> frozenset[str]:
        """The codes for which nothing is loaded. Claude Code's files are void only when they cannot be parsed."""
        return UNPARSABLE_ANYWHERE if self.layer.kind.from_claude else self.edition.voids

    def get_severity(self, code: str) -> Severity:
        """Return the severity of a problem code in this file."""
        return get_severity(code, self.voids)

    def hook_id(self, event: str, command: str, matcher: str) -> str:
        """Return the id of a hook; equal hooks in one file are numbered."""
        key = (event, command, matcher)
        ordinal = self._ordinals[key] = self._ordinals.get(key, -1) + 1
        return build_hook_id(
            layer=self.layer.kind,
            file=self.layer.file,
            event=event,
            command=command,
            matcher=matcher,
            ordinal=ordinal,
        )

    def void_because(self) -> str:
        """Return why nothing from this file is loaded; empty if it is loaded."""
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
                if line in lines_with_syntax or len(lines_with_syntax) >= MAX_SYNTAX_PROBLEMS:
                    continue
                lines_with_syntax.add(line)
            self.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
        if self.document.comments:
            self.report("TL106", self.document.comments[0], "comments are fine here, unlike in plain JSON")

    def _concerns(self, fault: JsonFault) -> bool:
        """That comments are stripped inside strings was measured on hooks.json, not on other products' files."""
        foreign = self.layer.kind.from_claude or Path(self.layer.file).name == "plugin.json"
        return not (fault.code == "TL107" and foreign)
