"""Waivers: a row of a guard that somebody with authority does not want enforced for a while, with owner and reason."""

from collections.abc import Sequence
from typing import NamedTuple

from trotline.guards.guard import Opinion, Says
from trotline.guards.rules import plain


class Waiver(NamedTuple):
    """`until` is the last day, as a date is written in a file."""

    guard: str
    row: str
    until: str
    owner: str
    reason: str
    layer: str = ""
    line: int = 0

    def covers(self, opinion: Opinion) -> bool:
        return (self.guard, self.row) == (opinion.guard, opinion.row.name) and not opinion.row.floor


def waived(waivers: Sequence[Waiver], opinion: Opinion) -> Opinion:
    """A stop becomes a warning that names who wanted it so; the floor stays."""
    found = next((waiver for waiver in waivers if waiver.covers(opinion)), None)
    if found is None or not opinion.says.permission:
        return opinion
    note = plain(f" (waived until {found.until} by {found.owner}, {found.layer}: {found.reason})")
    return opinion._replace(says=Says.WARN, row=opinion.row._replace(reason=opinion.row.reason + note))
