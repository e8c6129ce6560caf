"""The state of a hooks file while it is read."""

from collections.abc import Iterator
from pathlib import Path

from trotline.config.problems import Severity, get_severity
from trotline.config.text_report import TextReport
from trotline.domain.editions import Edition
from trotline.domain.hooks import Layer, build_hook_id
from trotline.formats.jsonc import JsonDocument, JsonFault, JsonNode

UNPARSABLE_CODES = frozenset({"TL101", "TL104", "TL108", "TL110"})
"""Codes of files that no agent can parse."""

MAX_SYNTAX_PROBLEMS = 5
"""The limit of syntax errors that are reported: one mistake causes many, and the first few are enough to find it."""


class HooksFile(TextReport):
    """The hooks file of a layer, with its problems so far and the places of its commands."""

    def __init__(self, layer: Layer, document: JsonDocument, edition: Edition) -> None:
        super().__init__(layer.file, document)
        self.layer = layer
        self.edition = edition
        self.commands: dict[str, tuple[JsonNode, str]] = {}  # hook id -> its command, and the name of its entry
        self._ordinals: dict[tuple[str, str, str], int] = {}
        self._report_faults()

    @property
    def fatal_codes(self) -> frozenset[str]:
        """The codes for which Cursor loads nothing from this file."""
        return UNPARSABLE_CODES if self.layer.kind.from_claude else self.edition.fatal_codes

    def get_severity(self, code: str) -> Severity:
        """Return the severity of a problem code in this file."""
        return get_severity(code, self.fatal_codes)

    def register_hook(self, event: str, command: JsonNode, matcher: str, entry: str) -> str:
        """Remember the place of a command and return the id of its hook; equal hooks in one file are numbered."""
        key = (event, str(command.value), matcher)
        ordinal = self._ordinals[key] = self._ordinals.get(key, -1) + 1
        identity = build_hook_id(
            layer=self.layer.kind,
            file=self.layer.file,
            event=event,
            command=str(command.value),
            matcher=matcher,
            ordinal=ordinal,
        )
        self.commands[identity] = (command, entry)
        return identity

    def find_fatal_reason(self) -> str:
        """Return why Cursor loads nothing from this file, or ""."""
        fatal = [problem for problem in self.problems if problem.severity is Severity.FATAL]
        if not fatal:
            return ""
        first = min(fatal, key=lambda problem: problem.place)
        where = f"line {first.place.line}: " if first.place.line else ""
        more = f" (and {len(fatal) - 1} more)" if len(fatal) > 1 else ""
        return f"{where}{first.message}{more}"

    def _report_faults(self) -> None:
        lines_with_syntax: set[int] = set()
        for fault in filter(self._is_relevant, self.document.faults):
            line, _ = self.document.position(fault.start)
            if fault.code == "TL101":
                if line in lines_with_syntax or len(lines_with_syntax) >= MAX_SYNTAX_PROBLEMS:
                    continue
                lines_with_syntax.add(line)
            self.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
        if self.document.comments:
            self.report("TL106", self.document.comments[0], "comments are fine here, unlike in plain JSON")

    def _is_relevant(self, fault: JsonFault) -> bool:
        """Return whether a fault matters here: Cursor strips comments inside strings of hooks.json, not of others."""
        is_foreign = self.layer.kind.from_claude or Path(self.layer.file).name == "plugin.json"
        return not (fault.code == "TL107" and is_foreign)


def iterate_entries(document: JsonDocument) -> Iterator[tuple[str, JsonNode]]:
    """Yield the event and the node of every entry in a hooks file of any agent, inside or outside of a group."""
    hooks = document.root.get("hooks") if document.root is not None else None
    for event, member in hooks.members.items() if hooks is not None else ():
        for item in member.value.items:
            group = item.get("hooks")
            yield from ((event, entry) for entry in (group.items if group is not None else [item]))
