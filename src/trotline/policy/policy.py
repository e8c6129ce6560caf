"""The effective policy: a preset and a level for each guard, merged from the layers.

Mandatory rules of guards hold in every policy. A lower layer may only be stricter than a higher one, and a project
never milder than the policy without it.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from trotline.guards.guard import PRESETS, STANDARD, GuardLevel

if TYPE_CHECKING:  # not imported for users without rules, lists and waivers
    from trotline.policy.lists import PolicyList
    from trotline.policy.policy_rules import PolicyRule
    from trotline.policy.waivers import Waiver

LEVEL_ORDER = tuple(GuardLevel)
BUILT_IN_LAYER = "built in"
POLICY_LAYERS = ("enterprise", "team", "user", "project")
"""The layers from the highest authority to the lowest."""


class PolicyLayer(NamedTuple):
    """The policy of one layer, before it is merged with the others."""

    layer: str
    preset: str = ""
    levels: Mapping[str, GuardLevel] = {}
    tab: Mapping[str, GuardLevel] = {}
    rules: "tuple[PolicyRule, ...]" = ()
    lists: "tuple[PolicyList, ...]" = ()
    waivers: "tuple[Waiver, ...]" = ()


class LevelSetting(NamedTuple):
    """The level of a guard and the layer that set it."""

    level: GuardLevel = GuardLevel.ENFORCE
    layer: str = BUILT_IN_LAYER


class Policy(NamedTuple):
    """The policy that is in force."""

    preset: str = STANDARD
    preset_layer: str = BUILT_IN_LAYER
    levels: Mapping[str, LevelSetting] = {}
    tab: Mapping[str, LevelSetting] = {}
    rules: "tuple[PolicyRule, ...]" = ()
    lists: "tuple[PolicyList, ...]" = ()
    waivers: "tuple[Waiver, ...]" = ()

    def get_setting(self, guard: str, *, tab: bool = False) -> LevelSetting:
        """Return the level of a guard; Tab may have a separate one."""
        if tab and guard in self.tab:
            return self.tab[guard]
        return self.levels.get(guard, LevelSetting())


DEFAULT_POLICY = Policy()


def merge_layers(layers: Iterable[PolicyLayer]) -> Policy:
    """Merge layers, given from the highest authority to the lowest. Rules and lists of all layers apply."""
    layers = tuple(layers)
    preset, preset_layer = "", BUILT_IN_LAYER
    levels: dict[str, LevelSetting] = {}
    tab: dict[str, LevelSetting] = {}
    for layer in layers:
        may_lower = layer.layer != "project"
        if layer.preset and (_is_stricter(layer.preset, preset or STANDARD) or (may_lower and not preset)):
            preset, preset_layer = layer.preset, layer.layer
        _merge_levels(levels, layer.levels, layer.layer, may_lower=may_lower)
        _merge_levels(tab, layer.tab, layer.layer, may_lower=may_lower)
    policy = Policy(preset or STANDARD, preset_layer, levels, tab)
    return policy._replace(
        rules=tuple(rule for layer in layers for rule in layer.rules),
        lists=tuple(entries for layer in layers for entries in layer.lists),
        waivers=tuple(
            waiver for layer in layers for waiver in layer.waivers if not find_overruling_layer(policy, waiver)
        ),
    )


def find_overruling_layer(policy: Policy, waiver: "Waiver") -> str:
    """Return the layer that forbids a waiver, or "". A layer cannot waive what a higher layer has set."""
    if waiver.layer == POLICY_LAYERS[-1]:
        return waiver.layer
    agent, tab = policy.get_setting(waiver.guard), policy.get_setting(waiver.guard, tab=True)
    higher = POLICY_LAYERS[: POLICY_LAYERS.index(waiver.layer)]
    return next((layer for layer in (policy.preset_layer, agent.layer, tab.layer) if layer in higher), "")


def _is_stricter(preset: str, other: str) -> bool:
    return PRESETS.index(preset) > PRESETS.index(other)


def _merge_levels(
    levels: dict[str, LevelSetting], wanted: Mapping[str, GuardLevel], layer: str, *, may_lower: bool
) -> None:
    for guard, level in wanted.items():
        current = levels.get(guard)
        if current is None:
            applies = may_lower or level is GuardLevel.ENFORCE
        else:
            applies = LEVEL_ORDER.index(level) > LEVEL_ORDER.index(current.level)
        if applies:
            levels[guard] = LevelSetting(level, layer)
