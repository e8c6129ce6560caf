"""Check hooks against the other hooks, the models and the surface."""

from collections.abc import Iterator, Sequence

from trotline.config.hooks_json.known_names import SPECIFIC_EVENTS
from trotline.config.models import Models
from trotline.config.paths import CONFIG_FILE
from trotline.config.problems import HookFinding
from trotline.domain.contracts import Fires, Surface
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook, LayerKind, Matcher

NOT_LOADED: dict[Surface, frozenset[LayerKind]] = {
    Surface.CLOUD: frozenset({LayerKind.USER, LayerKind.CLAUDE_USER}),
}
"""The layers that a surface does not load."""

MAX_EQUAL_COMMANDS = 32
"""The limit of equal commands that are compared with each other, so that the work stays linear."""


class RepetitionCheck:
    """Finds hooks that run more than once for one action: across events, layers, products or within a list."""

    def __init__(self) -> None:
        self._by_words: dict[tuple[str, ...], list[Hook]] = {}

    def check(self, hook: Hook) -> Iterator[HookFinding]:
        """Yield the findings of a hook. It is compared with the hooks of earlier calls."""
        equal = self._by_words.setdefault(tuple(hook.label.split()), [])
        yield from _compare(hook, [other for other in equal if _is_same_command(hook, other)])
        if len(equal) < MAX_EQUAL_COMMANDS:
            equal.append(hook)


def _compare(hook: Hook, same: Sequence[Hook]) -> Iterator[HookFinding]:
    for other in same:
        if other.event == hook.event and _get_source(other) == _get_source(hook):
            yield _report_same_event(hook, other)
            break
    for other in same:
        if other.layer.file == hook.layer.file and _are_paired(hook, other):
            message = f"the same command also runs on {other.event} (line {other.place.line}), for the same tool call"
            yield HookFinding("TL501", message, "keep the specific event, or give the generic one a matcher")
            break


def _report_same_event(hook: Hook, other: Hook) -> HookFinding:
    if other.layer.file == hook.layer.file:
        return HookFinding(
            "TL507", f"this repeats the entry on line {other.place.line}; both run", "remove one of them"
        )
    if other.layer.kind.from_claude != hook.layer.kind.from_claude:
        message = f"the same command is in {other.place}; both products' files are read"
        return HookFinding("TL503", message, "keep one of them")
    return HookFinding("TL502", f"the same command is in {other.place}; hooks of all layers run", "keep one of them")


def _get_source(hook: Hook) -> str:
    return hook.matcher.source if hook.matcher else ""


def _is_same_command(hook: Hook, other: Hook) -> bool:
    """Return whether two commands with equal words are equal: relative paths depend on the working directory."""
    return hook.layer.cwd == other.layer.cwd or not _has_relative_path(hook.command)


def _has_relative_path(command: str) -> bool:
    return any("/" in word and not word.startswith(("/", "~", "$", '"$', "-")) for word in command.split())


def _are_paired(hook: Hook, other: Hook) -> bool:
    """Return whether one event is generic, the other is specific, and both fire for a tool that the matcher accepts."""
    for generic, specific in ((hook, other), (other, hook)):
        if specific.event in EVENTS[generic.event].contract.pairs_with:
            matcher = generic.matcher or Matcher("")
            return matcher.fit((SPECIFIC_EVENTS[specific.event],)).applies
    return False


def check_model(hook: Hook, models: Models) -> Iterator[HookFinding]:
    """Yield a finding if no provider would answer a prompt hook."""
    if hook.prompt and models.choose(hook.model) is None:
        hint = f"name a provider in ~/.config/trotline/{CONFIG_FILE}: docs/prompt-hooks.md"
        message = "no model is configured that would answer this prompt hook; it fails every time"
        yield HookFinding("TL411", message, hint)


def check_surface(hook: Hook, surface: Surface) -> Iterator[HookFinding]:
    """Yield everything that keeps a hook from running on a surface."""
    contract = EVENTS[hook.event].contract
    if hook.layer.kind in NOT_LOADED.get(surface, ()):
        message = f"{surface} agents do not load the {hook.layer.kind} layer"
        yield HookFinding("TL603", message, "put it into the project")
    if contract.fires(surface) is Fires.NO:
        hint = "sessionEnd or postToolUse may do"
        if contract.refusable:
            hint = "guard preToolUse as well, which fires everywhere"
        yield HookFinding("TL601", f"{hook.event} never fires on the {surface} surface", hint)
    elif contract.fires(surface) is Fires.UNVERIFIED:
        yield HookFinding("TL604", f"nobody has shown that {hook.event} fires on the {surface} surface")
    if hook.prompt and surface is Surface.CLOUD:
        yield HookFinding("TL602", "cloud agents run command hooks only", "write it as a command")
