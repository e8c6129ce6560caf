"""A review: what two sides say differently, which recorded decisions would change, and which calls who would see.

No hook is run. What an entry that came, went or changed would say is not known; how often it would be asked is.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from trotline.answer import all_of
from trotline.config.places import Roots, policy_files
from trotline.config.policies import Given, read_policies
from trotline.config.problems import Problem
from trotline.errors import UnreadablePayload, UsageError
from trotline.events import Event
from trotline.hooks import Hook
from trotline.hosts import host_named
from trotline.hosts.claude_code import HOST as CLAUDE_CODE
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.hosts.cursor_host import HOST as CURSOR
from trotline.replay.abroad import event_of
from trotline.replay.comparison import Kind, Row, compared
from trotline.replay.differences import (
    Difference,
    entries_of,
    hook_differences,
    policy_differences,
    script_differences,
    wish_of,
)
from trotline.replay.recalled import Recalled
from trotline.replay.removal import is_here
from trotline.replay.sides import KINDS, POLICY, PROJECT, USER, Side
from trotline.replay.sources import Calls
from trotline.replay.trials import State, Trial
from trotline.verdicts import Permission


class Reviewed(NamedTuple):
    """Everything that a pull request should say about itself."""

    old: str
    new: str
    differences: tuple[Difference, ...]
    asked: tuple[int, ...]  # for each difference, of how many recorded calls its hooks would be asked
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()  # of the new side, which the old one does not have
    elsewhere: int = 0  # calls in other workspaces, which a project's policy does not reach

    @property
    def stricter(self) -> int:
        return sum(_strictness(row.would) > _strictness(row.was) for row in self.rows if row.kind is Kind.CHANGED)

    @property
    def milder(self) -> int:
        return sum(_strictness(row.would) < _strictness(row.was) for row in self.rows if row.kind is Kind.CHANGED)


def _strictness(said: str) -> Permission:
    return Permission[said.partition(",")[0].upper()]


class Place(NamedTuple):
    """Where a review is made: these roots, on this day, with this directory for what trials remember."""

    roots: Roots
    today: str
    directory: Path


def reviewed(old: Side, new: Side, calls: Calls, place: Place, layer: str = "") -> Reviewed:
    """Only what both sides have is compared: a policy file says nothing about hooks."""
    parts = [part for part in new.files if part in old.files]
    if not parts:
        raise UsageError(f"`{old.name}` and `{new.name}` have nothing in common", hint="name two of the same kind")
    layer = layer or new.layer or old.layer or USER
    differences, problems = _differences(old, new, parts, layer, place)
    again = [one._replace(said=None) for one in calls.every]
    before, after = (
        Trial(_state(side, layer, place.roots), place.roots, place.directory, place.today) for side in (old, new)
    )
    rows = tuple(compared(again, before, after, calls.wanted))
    counted = tuple(_asked(difference, [row.one for row in rows], place.roots) for difference in differences)
    far = sum(not is_here(row.one, place.roots) for row in rows) if layer == PROJECT else 0
    return Reviewed(old.name, new.name, tuple(differences), counted, rows, tuple(problems), far)


def _differences(
    old: Side, new: Side, parts: Iterable[str], layer: str, place: Place
) -> tuple[list[Difference], list[Problem]]:
    found: list[Difference] = []
    problems: list[Problem] = []
    for part in parts:
        if part == POLICY:
            before, known = wish_of(layer, old.place(part), old.files[part], place.today)
            after, now = wish_of(layer, new.place(part), new.files[part], place.today)
            above = read_policies(place.roots, [], today=place.today).policy if layer == PROJECT else None
            found += policy_differences(before, after, above)
        else:
            kind = KINDS[layer if (layer, part) in KINDS else PROJECT, part]
            entries = [entries_of(kind, side.place(part), side.files[part], edition(NEWEST)) for side in (old, new)]
            found += hook_differences(*entries)
            known, now = (one.problems for one in entries)
        said = {problem.message for problem in known}
        problems += [problem for problem in now if problem.message not in said]
    if old.scripts is not None and new.scripts is not None:
        found += script_differences(old.scripts, new.scripts)
    return found, problems


def _state(side: Side, layer: str, roots: Roots) -> State:
    """What is in force, with this side's policy in the place of the one of its layer."""
    if POLICY not in side.files:
        return State()
    given = Given(side.place(POLICY), side.files[POLICY])
    places = policy_files(roots, map(str, roots.projects[:1]))
    return State({os.path.realpath(file): given for name, file in places if name == layer})


def _asked(difference: Difference, calls: Iterable[Recalled], roots: Roots) -> int:
    """Of how many calls a hook of this difference would be asked; no stranger's pattern is run at length."""
    return sum(any(_asks(hook, one, roots) for hook in difference.hooks) for one in calls)


def _asks(hook: Hook, one: Recalled, roots: Roots) -> bool:
    """Only of calls that the file reaches: of the product whose file it is, and of a project's in this project. Cursor
    loads Claude Code's as well, and so does an agent of one's own."""
    kind = hook.layer.kind
    reached = one.own or one.host == CURSOR.name or (kind.from_claude and one.host == CLAUDE_CODE.name)
    if not reached or not any(hook.fit(event).applies for event in _events(one)):
        return False
    return not kind.needs_trust or is_here(one, roots)


def _events(one: Recalled) -> Iterator[Event]:
    if one.missing:
        return iter(())
    try:
        return iter(all_of(event_of(one), host_named(one.wire)))
    except UnreadablePayload:
        return iter(())
