"""Evaluate the effects of an action with guards, lists and policy rules, and update the history of its conversation."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from trotline.analysis.secret_files import classify_secret_file
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.effects import Certainty, Effect
from trotline.domain.history import MAX_REMEMBERED, History, digest_effect, digest_path
from trotline.domain.verdicts import Permission
from trotline.guards import load_guards
from trotline.guards.guard import Guard, GuardContext, GuardLevel, RuleAction, RuleMatch
from trotline.policy.condition_variables import EventFacts
from trotline.policy.policy import DEFAULT_POLICY, Policy

NO_HISTORY = History()
NO_FACTS = EventFacts()


class Evaluation(NamedTuple):
    """All matches of one action, strictest first."""

    matches: tuple[RuleMatch, ...] = ()

    @property
    def permission(self) -> Permission:
        """The strictest permission of all matches."""
        return max((match.action.permission for match in self.matches), default=Permission.NONE)


def evaluate(
    effects: Sequence[Effect],
    environment: Environment,
    policy: Policy = DEFAULT_POLICY,
    *,
    tab: bool = False,
    facts: EventFacts = NO_FACTS,
    history: History = NO_HISTORY,
    server_named_later: bool = False,
) -> Evaluation:
    """Return the matches of guards, lists and policy rules. Lists and rules never weaken a guard."""
    matches = _match_guards(effects, environment, policy, tab=tab, history=history) if effects else []
    if policy.waivers:
        from trotline.policy.waivers import apply_waivers  # noqa: PLC0415 - few have any

        matches = [apply_waivers(policy.waivers, match) for match in matches]
    if policy.lists:
        from trotline.policy.lists import match_lists  # noqa: PLC0415 - few have any

        matches += match_lists(policy.lists, effects, server_named_later=server_named_later)
    if policy.rules:
        from trotline.policy.policy_rules import match_rules  # noqa: PLC0415 - few have any, and it loads a library

        matches += match_rules(policy.rules, facts, effects)
    return Evaluation(tuple(sorted(matches, key=lambda match: -match.action.permission)))


def _match_guards(
    effects: Sequence[Effect], environment: Environment, policy: Policy, *, tab: bool, history: History
) -> list[RuleMatch]:
    context = GuardContext(environment, effects, history)
    kinds = {effect.kind for effect in effects}
    levels = {**policy.levels, **policy.tab} if tab else policy.levels
    matches: list[RuleMatch] = []
    for guard in _sort_guards():
        if kinds.isdisjoint(guard.kinds):
            continue
        if guard.runs_last:
            context.stopped = frozenset(match.effect for match in matches if match.action.permission)
        level = levels[guard.name].level if guard.name in levels else GuardLevel.ENFORCE
        limited = [_limit_action(match, level) for match in guard.find_matches(context, policy.preset)]
        matches += [match for match in limited if match.action is not RuleAction.PASS]
    return matches


@cache
def _sort_guards() -> tuple[Guard, ...]:
    return tuple(sorted(load_guards(), key=lambda guard: guard.runs_last))


def _limit_action(match: RuleMatch, level: GuardLevel) -> RuleMatch:
    """Reduce the action to what the level of the guard allows; mandatory rules are always enforced."""
    if level is GuardLevel.ENFORCE or match.rule.mandatory:
        return match
    if level is GuardLevel.OFF:
        return match._replace(action=RuleAction.PASS)
    if level is GuardLevel.MONITOR:
        return match._replace(action=RuleAction.NOTE, enforced_action=match.action)
    return match._replace(action=RuleAction.WARN)


def update_history(
    history: History, effects: tuple[Effect, ...], permission: Permission, refused: tuple[Effect, ...]
) -> History:
    """Return the history after an action was answered."""
    if permission is Permission.DENY:
        new = [key for key in map(digest_effect, refused) if key not in history.denied]
        denied = (*history.denied, *new)[-MAX_REMEMBERED:]
        return History(history.secrets, denied, history.written, history.injected) if new else history
    secrets = history.secrets + any(_reads_secret(effect) for effect in effects)
    written = history.written
    if history.denied:
        files = [digest_path(effect.path) for effect in effects if effect.kind == "write"]
        written = (*written, *(key for key in files if key not in written))[-MAX_REMEMBERED:]
    injected = history.injected + any(_brings_injection(effect) for effect in effects)
    return History(min(secrets, MAX_REMEMBERED), history.denied, written, min(injected, MAX_REMEMBERED))


def _brings_injection(effect: Effect) -> bool:
    return effect.kind == "content" and effect.verb == "injection" and effect.source in {"output", "read"}


def _reads_secret(effect: Effect) -> bool:
    if effect.kind == "content":
        return (effect.verb, effect.source, effect.certainty) == ("secrets", "output", Certainty.KNOWN)
    if effect.kind != "read" or effect.verb in {"look", "authenticate"}:
        return False
    return effect.verb in {"environment", "secret"} or classify_secret_file(effect.path) != ""
