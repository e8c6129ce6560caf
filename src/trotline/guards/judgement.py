"""All guards over all effects of one action: what they say, and what that comes to under a policy."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from trotline.analysis.scene import World
from trotline.effects import Effect
from trotline.guards import guards
from trotline.guards.guard import Guard, Level, Opinion, Says, Sight, opinions
from trotline.guards.policy import DEFAULT, Policy
from trotline.guards.vocabulary import About
from trotline.memory import Memory
from trotline.verdicts import Permission

NOTHING = Memory()
NOBODY = About()


class Judgement(NamedTuple):
    """What was said, strictest first."""

    opinions: tuple[Opinion, ...] = ()

    @property
    def permission(self) -> Permission:
        return max((opinion.says.permission for opinion in self.opinions), default=Permission.SILENT)


def judged(
    effects: Sequence[Effect],
    world: World,
    policy: Policy = DEFAULT,
    *,
    tab: bool = False,
    about: About = NOBODY,
    memory: Memory = NOTHING,
    named_later: bool = False,
) -> Judgement:
    """What guards, lists and rules say. Lists and rules only add: none of them lifts what a guard says."""
    said = _guards(effects, world, policy, tab=tab, memory=memory) if effects else []
    if policy.waivers:
        from trotline.guards.waivers import waived  # noqa: PLC0415 - few have any

        said = [waived(policy.waivers, opinion) for opinion in said]
    if policy.lists:
        from trotline.guards.lists import listed  # noqa: PLC0415 - as above

        said += listed(policy.lists, effects, named_later=named_later)
    if policy.rules:
        from trotline.guards.rules import spoken  # noqa: PLC0415 - as above, and it brings a library

        said += spoken(policy.rules, about, effects)
    return Judgement(tuple(sorted(said, key=lambda opinion: -opinion.says.permission)))


def _guards(effects: Sequence[Effect], world: World, policy: Policy, *, tab: bool, memory: Memory) -> list[Opinion]:
    """Below `enforce` nothing is refused but what is on the floor: it is told, or only written down."""
    sight = Sight(world, effects, memory)
    kinds = {effect.kind for effect in effects}
    said: list[Opinion] = []
    for guard in _in_turn():
        if kinds.isdisjoint(guard.kinds):
            continue
        if guard.last:
            sight = sight._replace(questioned=frozenset(one.effect for one in said if one.says.permission))
        level = policy.setting(guard.name, tab=tab).level
        spoken = [_at(level, opinion) for opinion in opinions(guard, sight, policy.preset)]
        said += [opinion for opinion in spoken if opinion.says is not Says.PASS]
    return said


@cache
def _in_turn() -> tuple[Guard, ...]:
    """Those that hear the others come last."""
    return tuple(sorted(guards(), key=lambda guard: guard.last))


def _at(level: Level, opinion: Opinion) -> Opinion:
    if level is Level.ENFORCE or opinion.row.floor:
        return opinion
    if level is Level.OFF:
        return opinion._replace(says=Says.PASS)
    if level is Level.MONITOR:
        return opinion._replace(says=Says.NOTE, would=opinion.says)
    return opinion._replace(says=Says.WARN)
