"""Guards, their rules and the matches of rules. A guard watches for one danger.

The cases of each guard are in the TOML file next to it. Tests, docs and `trotline guards` read them; a hook never does.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import msgspec

from trotline.analysis.locations import Location, locate
from trotline.analysis.network_addresses import is_local
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect
from trotline.domain.history import History
from trotline.domain.verdicts import Permission


class GuardLevel(StrEnum):
    """The level of a guard: disabled, only recorded, only warning, or enforced."""

    OFF = "off"
    MONITOR = "monitor"
    WARN = "warn"
    ENFORCE = "enforce"


class RuleAction(StrEnum):
    """The action of a rule in a preset, from mild to strict. `warn` lets the agent go on and tells the person.

    No rule has `note`: matches of a guard that only monitors get it.
    """

    PASS = "pass"  # noqa: S105 - no password
    NOTE = "note"
    WARN = "warn"
    ASK = "ask"
    DENY = "deny"

    @property
    def permission(self) -> Permission:
        """The permission that the action gives."""
        return _PERMISSIONS.get(self, Permission.NONE)


_PERMISSIONS = {RuleAction.ASK: Permission.ASK, RuleAction.DENY: Permission.DENY}
PASS, WARN, ASK, DENY = RuleAction.PASS, RuleAction.WARN, RuleAction.ASK, RuleAction.DENY
PRESETS = ("standard", "strict", "paranoid")
STANDARD = PRESETS[0]
CRITICAL, HIGH, MEDIUM, LOW = (DENY, DENY, DENY), (ASK, DENY, DENY), (PASS, ASK, DENY), (PASS, PASS, ASK)
"""The usual actions of a rule in the presets standard, strict and paranoid, by severity."""

_DANGER_ORDER = {location: number for number, location in enumerate(Location)}
_ANY: frozenset[str] = frozenset()


class GuardContext(msgspec.Struct):
    """The facts that a rule may use in addition to the effect."""

    environment: Environment
    effects: Sequence[Effect] = ()
    history: History = History()
    stopped: frozenset[Effect] = frozenset()  # effects that another guard stops
    known_locations: dict[tuple[str, str], Location] = {}

    def locate(self, effect: Effect) -> Location:
        """Return the location of the path or of what it points to on disk, whichever is more dangerous."""
        key = (effect.path, effect.target)
        if key not in self.known_locations:
            locations = [locate(path, self.environment) for path in key if path.startswith(("/", "…"))]
            self.known_locations[key] = min(locations, key=_DANGER_ORDER.__getitem__, default=Location.UNKNOWN)
        return self.known_locations[key]


Predicate = Callable[[Effect, GuardContext], bool]


class Filter(NamedTuple):
    """Selects effects by kind and verb, as in `disk: format|wipe` or `read|link: *`, and by further fields.

    `when` is for what the fields cannot express.
    """

    effects: str = "*: *"
    sources: AbstractSet[str] = _ANY
    targets: AbstractSet[str] = _ANY
    recursive: bool = False  # only recursive effects
    writes: bool = False  # only effects that write
    certainty: Certainty | None = None
    locations: AbstractSet[Location] = frozenset()
    when: Predicate | None = None

    def accepts(self, effect: Effect, context: GuardContext) -> bool:
        """Return whether the filter selects the effect."""
        kinds, verbs = parse_effects(self.effects)
        return (
            (not verbs or effect.verb in verbs)
            and (not kinds or effect.kind in kinds)
            and (not self.sources or effect.source in self.sources)
            and (not self.targets or effect.target in self.targets)
            and (effect.recursive or not self.recursive)
            and (effect.writes or not self.writes)
            and (self.certainty is None or effect.certainty is self.certainty)
            and (not self.locations or context.locate(effect) in self.locations)
            and (self.when is None or self.when(effect, context))
        )


@cache
def parse_effects(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds and the verbs of `kind|kind: verb|verb`; empty for `*`, which is any."""
    kinds, _, verbs = text.partition(": ")
    return frozenset(kinds.split("|")) - {"*"}, frozenset(verbs.split("|")) - {"*"}


class GuardRule(NamedTuple):
    """A rule of a guard. It has one action for each preset.

    `reason` may name fields of the effect in braces; `instead` is advice. No policy can weaken a mandatory rule.
    """

    filter: Filter
    actions: tuple[RuleAction, RuleAction, RuleAction]
    reason: str
    instead: str = ""
    mandatory: bool = False
    name: str = ""  # the key of the rule in its guard

    def get_action(self, preset: str) -> RuleAction:
        """Return what the rule does in a preset."""
        return self.actions[PRESETS.index(preset)]


def rule(
    effects: Filter | str,
    actions: tuple[RuleAction, RuleAction, RuleAction],
    reason: str,
    instead: str = "",
    *,
    mandatory: bool = False,
) -> GuardRule:
    """Return a rule about effects. A text such as `disk: format|wipe` is enough if their kind and verb decide."""
    selected = Filter(effects) if isinstance(effects, str) else effects
    return GuardRule(selected, actions, reason, instead, mandatory)


class Guard(NamedTuple):
    """One danger, the kinds of effects in which it occurs, and the rules for it."""

    name: str
    danger: str
    kinds: AbstractSet[str]
    rules: tuple[GuardRule, ...]
    runs_last: bool = False  # after the other guards, whose matches it uses

    def find_matches(self, context: GuardContext, preset: str) -> "list[RuleMatch]":
        """Return the matches of all effects; the first rule that matches an effect decides about it."""
        matches = []
        for effect in context.effects:
            if effect.kind not in self.kinds:
                continue
            rule = next((rule for rule in self.rules if rule.filter.accepts(effect, context)), None)
            if rule is not None and (action := rule.get_action(preset)) is not RuleAction.PASS:
                matches.append(RuleMatch(self.name, rule, action, effect))
        return matches


def build_guard(name: str, danger: str, rules: Mapping[str, GuardRule], *, runs_last: bool = False) -> Guard:
    """Return the guard of a danger. The kinds of effects that it looks at are those of its rules."""
    kinds = frozenset(kind for rule in rules.values() for kind in parse_effects(rule.filter.effects)[0])
    return Guard(name, danger, kinds, tuple(rule._replace(name=name) for name, rule in rules.items()), runs_last)


class RuleMatch(NamedTuple):
    """A rule of a guard, a list or a policy that matched an effect, and the action that follows."""

    guard: str
    rule: GuardRule
    action: RuleAction
    effect: Effect
    layer: str = ""  # the policy layer that has the rule
    enforced_action: RuleAction = RuleAction.PASS  # the action if the guard did more than monitor

    @property
    def reason(self) -> str:
        """Return the reason of the rule, filled with values of the effect."""
        return self.rule.reason.format(
            path=self.effect.path,
            verb=self.effect.verb,
            target=self.effect.target or self.effect.path,
            host=self.effect.host,
            source=self.effect.source,
            package=self.effect.package,
            why=self.effect.why,
        )


def is_remote(effect: Effect, _: GuardContext) -> bool:
    """Match effects whose host is another machine."""
    return not is_local(effect.host)
