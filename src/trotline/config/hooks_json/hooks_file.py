"""The state of a hooks file while it is read."""

from collections.abc import Iterator
from pathlib import Path

from trotline.config.problems import Severity
from trotline.config.text_report import TextReport
from trotline.domain.editions import Edition
from trotline.domain.hooks import Layer, build_hook_id
from trotline.formats.jsonc import JsonDocument, JsonNode

UNPARSABLE_CODES = frozenset({"TL101", "TL104", "TL108", "TL110"})
"""Codes of files that no agent can parse."""


class HooksFile(TextReport):
    """The hooks file of a layer, with its problems so far and the places of its commands."""

    def __init__(self, layer: Layer, document: JsonDocument, edition: Edition) -> None:
        super().__init__(layer.file, document, UNPARSABLE_CODES if layer.kind.from_claude else edition.fatal_codes)
        self.layer = layer
        self.edition = edition
        self.commands: dict[str, tuple[JsonNode, str]] = {}  # hook id -> its command, and the name of its entry
        self._ordinals: dict[tuple[str, str, str], int] = {}
        # Cursor strips comments inside strings of hooks.json; this is not known of other files
        has_foreign_syntax = layer.kind.from_claude or Path(layer.file).name == "plugin.json"
        self.report_faults({"TL107"} if has_foreign_syntax else ())
        if document.comments:
            self.report("TL106", document.comments[0], "comments are fine here, unlike in plain JSON")

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


def iterate_entries(document: JsonDocument) -> Iterator[tuple[str, JsonNode]]:
    """Yield the event and the node of every entry in a hooks file of any agent, inside or outside of a group."""
    hooks = document.root.get("hooks") if document.root is not None else None
    for event, member in hooks.members.items() if hooks is not None else ():
        for item in member.value.items:
            group = item.get("hooks")
            yield from ((event, entry) for entry in (group.items if group is not None else [item]))
