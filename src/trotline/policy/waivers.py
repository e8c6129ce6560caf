"""Waivers: rules of guards that are not enforced until a day, with owner and reason."""

from collections.abc import Sequence
from typing import NamedTuple

from trotline.guards.guard import RuleAction, RuleMatch
from trotline.policy.policy_rules import escape_braces


class Waiver(NamedTuple):
    """An exception from one rule of a guard. `until` is its last day as an ISO date."""

    guard: str
    rule: str
    until: str
    owner: str
    reason: str
    layer: str = ""
    line: int = 0

    def covers(self, match: RuleMatch) -> bool:
        """Return whether the waiver is about the rule of this match; mandatory rules cannot be waived."""
        return (self.guard, self.rule) == (match.guard, match.rule.name) and not match.rule.mandatory


def apply_waivers(waivers: Sequence[Waiver], match: RuleMatch) -> RuleMatch:
    """Turn a match that stops into a warning that names the owner of the waiver, if one covers it."""
    waiver = next((waiver for waiver in waivers if waiver.covers(match)), None)
    if waiver is None or not match.action.permission:
        return match
    note = escape_braces(f" (waived until {waiver.until} by {waiver.owner}, {waiver.layer}: {waiver.reason})")
    return match._replace(action=RuleAction.WARN, rule=match.rule._replace(reason=match.rule.reason + note))
