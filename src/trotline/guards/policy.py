"""What is in force: a preset, and a level for each guard, as the layers with authority have set them.

The built-in floor stands above all. Below it, whoever is higher decides; one that is lower may only be stricter. A
project may never be milder than what holds without it.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from trotline.guards.guard import PRESETS, STANDARD, Level

if TYPE_CHECKING:  # who has no rules wakes nothing of them
    from trotline.guards.lists import Listing
    from trotline.guards.rules import Rule
    from trotline.guards.waivers import Waiver

STRICTNESS = tuple(Level)
BUILT_IN = "built in"
AUTHORITY = ("enterprise", "team", "user", "project")
"""From the highest to the lowest."""


class Wish(NamedTuple):
    """What one layer asks for. Layers are given from the highest authority to the lowest."""

    layer: str
    preset: str = ""
    levels: Mapping[str, Level] = {}
    tab: Mapping[str, Level] = {}
    rules: "tuple[Rule, ...]" = ()
    lists: "tuple[Listing, ...]" = ()
    waivers: "tuple[Waiver, ...]" = ()


class Setting(NamedTuple):
    """A level, and the layer it comes from."""

    level: Level = Level.ENFORCE
    layer: str = BUILT_IN


class Policy(NamedTuple):
    preset: str = STANDARD
    preset_layer: str = BUILT_IN
    levels: Mapping[str, Setting] = {}
    tab: Mapping[str, Setting] = {}
    rules: "tuple[Rule, ...]" = ()
    lists: "tuple[Listing, ...]" = ()
    waivers: "tuple[Waiver, ...]" = ()

    def setting(self, guard: str, *, tab: bool = False) -> Setting:
        """For the agent, or for Tab where somebody said something else about it."""
        if tab and guard in self.tab:
            return self.tab[guard]
        return self.levels.get(guard, Setting())


DEFAULT = Policy()


def resolved(wishes: Iterable[Wish]) -> Policy:
    """One policy of many wishes. Rules and lists of all layers hold beside each other."""
    wishes = tuple(wishes)
    preset, preset_layer = "", BUILT_IN
    levels: dict[str, Setting] = {}
    tab: dict[str, Setting] = {}
    for wish in wishes:
        free = wish.layer != "project"
        if wish.preset and (_stricter(wish.preset, preset or STANDARD) or (free and not preset)):
            preset, preset_layer = wish.preset, wish.layer
        _raise(levels, wish.levels, wish.layer, free=free)
        _raise(tab, wish.tab, wish.layer, free=free)
    policy = Policy(preset or STANDARD, preset_layer, levels, tab)
    return policy._replace(
        rules=tuple(rule for wish in wishes for rule in wish.rules),
        lists=tuple(listing for wish in wishes for listing in wish.lists),
        waivers=tuple(one for wish in wishes for one in wish.waivers if not overruled(policy, one)),
    )


def overruled(policy: Policy, waiver: "Waiver") -> str:
    """The layer that forbids a waiver: what somebody higher has set, nobody lower may waive. Empty if none does."""
    setters = (policy.preset_layer, policy.setting(waiver.guard).layer, policy.setting(waiver.guard, tab=True).layer)
    rank = AUTHORITY.index(waiver.layer)
    if waiver.layer == AUTHORITY[-1]:
        return waiver.layer
    return next((layer for layer in setters if layer in AUTHORITY and AUTHORITY.index(layer) < rank), "")


def _stricter(preset: str, than: str) -> bool:
    return PRESETS.index(preset) > PRESETS.index(than)


def _raise(levels: dict[str, Setting], wanted: Mapping[str, Level], layer: str, *, free: bool) -> None:
    for guard, level in wanted.items():
        held = levels.get(guard)
        raises = free or level is Level.ENFORCE if held is None else _above(level, held.level)
        if raises:
            levels[guard] = Setting(level, layer)


def _above(level: Level, than: Level) -> bool:
    return STRICTNESS.index(level) > STRICTNESS.index(than)
