"""Hooks that run more than once for one action: across events, across layers, across products, within a list."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trotline.config.hooks_json import cursor_tools
from trotline.config.problems import CODES, Problem
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook, Matcher

if TYPE_CHECKING:
    from trotline.config.hooks_json.configuration import LayerRead


def report(layers: "Iterable[LayerRead]") -> None:
    """Add a Problem to the later of two hooks wherever one action would run both."""
    seen: dict[tuple[str, ...], list[Hook]] = {}
    for layer in layers:
        for hook in layer.hooks:
            twins = seen.setdefault(tuple(hook.line.split()), [])
            for code, message, hint in _clashes(hook, twins):
                layer.problems.append(
                    Problem(
                        code=code,
                        severity=CODES[code].severity,
                        place=hook.place,
                        message=message,
                        hint=hint,
                        entry=hook.event,
                    )
                )
            if len(twins) < MAX_TWINS:
                twins.append(hook)


MAX_TWINS = 32
"""How many equal commands are compared with each other; a file of nothing else must not cost its square."""


def _clashes(hook: Hook, candidates: Iterable[Hook]) -> list[tuple[str, str, str]]:
    twins = [other for other in candidates if _means_the_same(hook, other)]
    same_event = [other for other in twins if other.event == hook.event and _source(other) == _source(hook)]
    found = [_on_the_same_event(hook, other) for other in same_event[:1]]
    pairs = [other for other in twins if other.layer.file == hook.layer.file and _pair(hook, other)]
    for other in pairs[:1]:
        message = f"the same command also runs on {other.event} (line {other.place.line}), for the same tool call"
        found.append(("TL501", message, "keep the specific event, or give the generic one a matcher"))
    return found


def _on_the_same_event(hook: Hook, other: Hook) -> tuple[str, str, str]:
    if other.layer.file == hook.layer.file:
        return "TL507", f"this repeats the entry on line {other.place.line}; both run", "remove one of them"
    if other.layer.kind.from_claude != hook.layer.kind.from_claude:
        return "TL503", f"the same command is in {other.place}; both products' files are read", "keep one of them"
    return "TL502", f"the same command is in {other.place}; hooks of all layers run", "keep one of them"


def _source(hook: Hook) -> str:
    return hook.matcher.source if hook.matcher else ""


def _means_the_same(hook: Hook, other: Hook) -> bool:
    """Equal words are equal hooks only if a relative path in them means the same file."""
    return hook.layer.cwd == other.layer.cwd or not _has_relative_path(hook.command)


def _has_relative_path(command: str) -> bool:
    return any("/" in word and not word.startswith(("/", "~", "$", '"$', "-")) for word in command.split())


def _pair(hook: Hook, other: Hook) -> bool:
    """Whether one of the two events is generic, the other its specific twin, and the matcher lets the tool through."""
    for generic, specific in ((hook, other), (other, hook)):
        contract = EVENTS[generic.event].contract
        if specific.event in contract.pairs_with:
            matcher = generic.matcher or Matcher("")
            return matcher.fit((cursor_tools.SPECIFIC_EVENTS[specific.event],)).applies
    return False
