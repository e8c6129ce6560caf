"""What a surface does not do: events it never raises, hooks it does not run, layers it does not load."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trotline.config.problems import CODES, Problem
from trotline.domain.contracts import Fires, Surface
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook, LayerKind

if TYPE_CHECKING:
    from trotline.config.hooks_json.configuration import LayerRead

NOT_LOADED: dict[Surface, frozenset[LayerKind]] = {
    Surface.CLOUD: frozenset({LayerKind.USER, LayerKind.CLAUDE_USER}),
}


def report(layers: "Iterable[LayerRead]", surface: Surface) -> None:
    """Say of every hook what keeps it from running on this surface."""
    for layer in layers:
        for hook in layer.hooks:
            for code, message, hint in _check_hook(hook, surface):
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


def _check_hook(hook: Hook, surface: Surface) -> list[tuple[str, str, str]]:
    fires = EVENTS[hook.event].contract.fires(surface)
    found = []
    if hook.layer.kind in NOT_LOADED.get(surface, frozenset()):
        found.append(("TL603", f"{surface} agents do not load the {hook.layer.kind} layer", "put it into the project"))
    if fires is Fires.NO:
        found.append(("TL601", f"{hook.event} never fires on the {surface} surface", _instead(hook.event)))
    elif fires is Fires.UNVERIFIED:
        found.append(("TL604", f"nobody has shown that {hook.event} fires on the {surface} surface", ""))
    if hook.prompt and surface is Surface.CLOUD:
        found.append(("TL602", "cloud agents run command hooks only", "write it as a command"))
    return found


def _instead(event: str) -> str:
    refusable = EVENTS[event].contract.refusable
    return "guard preToolUse as well, which fires everywhere" if refusable else "sessionEnd or postToolUse may do"
