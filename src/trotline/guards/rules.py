"""Rules: what people say about actions in their own words, each a condition, a word and a message."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trotline.effects import Effect
from trotline.guards.conditions import Facts, Unjudged, all_texts
from trotline.guards.guard import PRESETS, Opinion, Row, Says
from trotline.guards.vocabulary import About
from trotline.guards.words import depth, kinds, needed, words_of

MOST_RULES = 2000
"""Of one file."""

MOST_ROUNDS = 10_000
"""Of all loops of one condition: the library ends it there."""

MOST_WORK = 200_000
"""Rounds of all rules about one action, as estimated before: what is not asked any more becomes a question."""

TOGETHER = 25
"""Rules that are asked at once whether any of them speaks: it costs a quarter of asking each."""

MOST_BLAMED = 16
PROJECT = "project"
NO_EFFECT = Effect(kind="event")
"""Stands where a rule speaks about the event itself."""


EVENT = "event"
Test = str | Mapping[str, Any]
"""A command line; or an event by its name, with its fields."""


class Rule(NamedTuple):
    """One rule of a layer; `stop` and `let_pass` are what it was written for."""

    name: str
    when: str
    says: Says
    message: str
    instead: str = ""
    events: tuple[str, ...] = ()
    stop: tuple[Test, ...] = ()
    let_pass: tuple[Test, ...] = ()
    layer: str = ""
    file: str = ""
    line: int = 0
    kinds: frozenset[str] = frozenset()  # effects without which it says nothing
    needs: tuple[str, ...] = ()  # texts without which it says nothing
    loops: int = 0
    weight: int = 1  # words: what a list in the condition can at most have

    @property
    def author(self) -> str:
        return f"rule {self.name}"

    def measured(self) -> "Rule":
        """With what can be known of the condition without asking it."""
        words = words_of(self.when)
        its = kinds(words)
        texts = tuple(text for text in needed(words) if text not in its)
        return self._replace(kinds=its, needs=texts, loops=depth(words), weight=len(words))

    def concerns(self, about: About, present: frozenset[str], texts: str) -> bool:
        if self.kinds and self.kinds.isdisjoint(present):
            return False
        return all(text in texts for text in self.needs) and (not self.events or about.name in self.events)

    def work(self, effects: int) -> int:
        return int(min(MOST_ROUNDS, max(effects, self.weight) ** self.loops))


def spoken(rules: Sequence[Rule], about: About, effects: Sequence[Effect]) -> list[Opinion]:
    """What the rules say about an action; those of a higher authority are asked first."""
    present = frozenset(effect.kind for effect in effects)
    texts = all_texts(about, effects)
    near = [rule for rule in rules if not rule.needs or rule.needs[0] in texts]  # of a thousand, few
    concerned = [rule for rule in near if rule.concerns(about, present, texts)]
    if not concerned:
        return []
    affordable = _affordable(concerned, len(effects))
    facts = Facts(about, effects)
    said: list[Opinion] = []
    for begin in range(0, affordable, TOGETHER):
        some = concerned[begin : min(begin + TOGETHER, affordable)]
        if facts.may_hold(tuple(rule.when for rule in some)):
            said += [opinion for rule in some for opinion in _asked(rule, facts, effects)]
    if affordable < len(concerned):
        why = "there are more rules, and more to ask them about, than Trotline does for one action"
        said.append(_opinion(concerned[affordable], Says.ASK, why, NO_EFFECT))
    return said


def _affordable(rules: Sequence[Rule], effects: int) -> int:
    """How many of the rules can be asked."""
    left = MOST_WORK
    for count, rule in enumerate(rules):
        left -= rule.work(effects)
        if left < 0:
            return count
    return len(rules)


def _asked(rule: Rule, facts: Facts, effects: Sequence[Effect]) -> list[Opinion]:
    try:
        if not facts.hold(rule.when):
            return []
    except Unjudged as error:
        return [_opinion(rule, Says.ASK, f"this rule could not be asked: {error}", NO_EFFECT)]
    return [_opinion(rule, rule.says, rule.message, effect) for effect in _blamed(rule, facts, effects)]


def _blamed(rule: Rule, facts: Facts, effects: Sequence[Effect]) -> list[Effect]:
    """The effects for which the rule would have spoken alone; if there are none, it is about the whole."""
    few = range(min(len(effects), MOST_BLAMED))
    return [effects[at] for at in few if facts.hold_for(rule.when, at)] or [NO_EFFECT]


def _opinion(rule: Rule, says: Says, message: str, effect: Effect) -> Opinion:
    return opinion(rule.author, says, effect, layer=rule.layer, reason=message, instead=rule.instead)


def opinion(author: str, says: Says, effect: Effect, *, layer: str, reason: str, instead: str = "") -> Opinion:
    """What somebody says who is no guard. A project's words are marked, because a model will read them."""
    marked = f"this project says: {reason}" if layer == PROJECT else reason
    row = Row(layer, lambda _effect, _sight: True, " ".join([says] * len(PRESETS)), plain(marked), instead)
    return Opinion(author, row, says, effect, layer)


def plain(text: str) -> str:
    """A text that is not a form to be filled."""
    return text.replace("{", "{{").replace("}", "}}")
