"""Policy rules: a condition, an action and a message, written by users."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trotline.domain.effects import Effect
from trotline.guards.guard import Filter, GuardRule, RuleAction, RuleMatch
from trotline.policy.condition_tokens import find_required_kinds, find_required_texts, get_loop_depth, tokenize
from trotline.policy.condition_variables import EventFacts
from trotline.policy.conditions import ConditionError, ConditionInput, join_texts

MAX_ITERATIONS = 10_000
"""The limit for all loops of one condition, enforced by the library."""

MAX_TOTAL_ITERATIONS = 200_000
"""The limit for all rules of one action, estimated in advance; if rules are left out, the result is `ask`."""

BATCH_SIZE = 25
"""The number of conditions that are evaluated at once, joined by `||`; that takes a quarter of the time."""

MAX_REPORTED_EFFECTS = 16
PROJECT = "project"
NO_EFFECT = Effect(kind="event")
"""The effect of a match that is about the event itself."""

EVENT_KEY = "event"
RuleTest = str | Mapping[str, Any]
"""A command, or the name of an event with its fields."""


class PolicyRule(NamedTuple):
    """A rule of a policy layer. `stop` and `let_pass` are its tests."""

    name: str
    when: str
    action: RuleAction
    message: str
    instead: str = ""
    events: tuple[str, ...] = ()
    stop: tuple[RuleTest, ...] = ()
    let_pass: tuple[RuleTest, ...] = ()
    layer: str = ""
    file: str = ""
    line: int = 0
    required_kinds: frozenset[str] = frozenset()  # the condition needs an effect of one of these kinds
    required_texts: tuple[str, ...] = ()  # the condition needs each of these texts
    loop_depth: int = 0
    token_count: int = 1  # no list literal in the condition is longer

    @property
    def author(self) -> str:
        """The name of the rule in responses and records."""
        return f"rule {self.name}"

    def with_requirements(self) -> "PolicyRule":
        """Return the rule with the facts that its condition implies, so that it is evaluated only if needed."""
        tokens = tokenize(self.when)
        kinds = find_required_kinds(tokens)
        texts = tuple(text for text in find_required_texts(tokens) if text not in kinds)
        return self._replace(
            required_kinds=kinds, required_texts=texts, loop_depth=get_loop_depth(tokens), token_count=len(tokens)
        )

    def may_match(self, event: EventFacts, kinds: frozenset[str], texts: str) -> bool:
        """Return whether the condition has to be evaluated for an event with these kinds of effects and texts."""
        if self.required_kinds and self.required_kinds.isdisjoint(kinds):
            return False
        return all(text in texts for text in self.required_texts) and (not self.events or event.name in self.events)

    def estimate_iterations(self, effects: int) -> int:
        """Return the maximum number of loop iterations for this number of effects."""
        return int(min(MAX_ITERATIONS, max(effects, self.token_count) ** self.loop_depth))


def match_rules(rules: Sequence[PolicyRule], event: EventFacts, effects: Sequence[Effect]) -> list[RuleMatch]:
    """Return the matches of policy rules; rules of higher layers come first."""
    kinds = frozenset(effect.kind for effect in effects)
    texts = join_texts(event, effects)
    likely = [rule for rule in rules if not rule.required_texts or rule.required_texts[0] in texts]  # few of thousands
    candidates = [rule for rule in likely if rule.may_match(event, kinds, texts)]
    if not candidates:
        return []
    affordable = _count_affordable(candidates, len(effects))
    values = ConditionInput(event, effects)
    matches: list[RuleMatch] = []
    for begin in range(0, affordable, BATCH_SIZE):
        batch = candidates[begin : min(begin + BATCH_SIZE, affordable)]
        if values.may_hold(tuple(rule.when for rule in batch)):
            matches += [match for rule in batch for match in _match_rule(rule, values, effects)]
    if affordable < len(candidates):
        reason = "there are more rules, and more to ask them about, than Trotline does for one action"
        matches.append(_build_rule_match(candidates[affordable], RuleAction.ASK, reason, NO_EFFECT))
    return matches


def _count_affordable(rules: Sequence[PolicyRule], effects: int) -> int:
    """Return how many of the rules can be evaluated within MAX_TOTAL_ITERATIONS."""
    remaining = MAX_TOTAL_ITERATIONS
    for count, rule in enumerate(rules):
        remaining -= rule.estimate_iterations(effects)
        if remaining < 0:
            return count
    return len(rules)


def _match_rule(rule: PolicyRule, values: ConditionInput, effects: Sequence[Effect]) -> list[RuleMatch]:
    try:
        if not values.holds(rule.when):
            return []
    except ConditionError as error:
        return [_build_rule_match(rule, RuleAction.ASK, f"this rule could not be asked: {error}", NO_EFFECT)]
    indexes = range(min(len(effects), MAX_REPORTED_EFFECTS))
    causes = [effects[index] for index in indexes if values.holds_for(rule.when, index)]
    return [_build_rule_match(rule, rule.action, rule.message, effect) for effect in causes or [NO_EFFECT]]


def _build_rule_match(rule: PolicyRule, action: RuleAction, reason: str, effect: Effect) -> RuleMatch:
    return build_match(rule.author, action, effect, layer=rule.layer, reason=reason, instead=rule.instead)


def build_match(
    author: str, action: RuleAction, effect: Effect, *, layer: str, reason: str, instead: str = ""
) -> RuleMatch:
    """Return a match of a policy rule or list. The reason of a project is marked, because a model will read it."""
    marked = f"this project says: {reason}" if layer == PROJECT else reason
    rule = GuardRule(Filter(), (action, action, action), escape_braces(marked), instead, name=layer)
    return RuleMatch(author, rule, action, effect, layer)


def escape_braces(text: str) -> str:
    """Escape a text so that `str.format` returns it unchanged."""
    return text.replace("{", "{{").replace("}", "}}")
