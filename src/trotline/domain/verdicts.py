"""Verdicts of hooks, and the function that merges them into one decision.

Permissions are ordered by strictness, so the strictest one is the maximum and does not depend on the order of hooks. A
field that is overruled by another hook is recorded.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import msgspec


class Permission(IntEnum):
    """A permission, ordered by strictness. NONE is weaker than ALLOW: it leaves the decision to others."""

    NONE = 0
    ALLOW = 1
    ASK = 2
    DENY = 3

    @property
    def word(self) -> str:
        """The permission in lower case, as replies and records have it."""
        return PERMISSION_WORDS[self]


PERMISSION_WORDS = tuple(permission.name.lower() for permission in Permission)


class MergeRule(StrEnum):
    """The way to merge responses of several layers, which changed between versions of Cursor."""

    STRICTEST = "strictest"
    HIGHEST_LAYER = "highest layer"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one hook, guard or rule on an event. Empty fields express no opinion."""

    permission: Permission = Permission.NONE
    user_message: str = ""
    agent_message: str = ""
    edited_input: dict[str, Any] | None = None
    context: str = ""
    follow_up: str = ""
    env: dict[str, str] = {}
    replaced_output: dict[str, Any] | None = None
    plugin_paths: tuple[str, ...] = ()


NO_OPINION = Verdict()

SEPARATOR = "\n\n---\n\n"
"""The separator between the messages of several hooks."""

SINGLE_FIELDS = ("edited_input", "context", "follow_up", "replaced_output", "plugin_paths")
"""Fields with a single value in a decision: the last one or that of the highest layer, by the merge rule."""


EMPTY: tuple[object, ...] = (None, "", ())
"""Values of an unset field. An empty object is a value: it replaces the input or output by an empty one."""


class RankedVerdict(NamedTuple):
    """A verdict with its author and the rank of its layer (1 is the highest)."""

    author: str
    rank: int
    verdict: Verdict


class OverruledField(msgspec.Struct, frozen=True):
    """A field that several hooks set, with the authors of the remaining and of the lost value."""

    field: str
    winner: str
    loser: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The merged verdict, its authors, and the fields that were overruled."""

    verdict: Verdict = NO_OPINION
    deciders: tuple[str, ...] = ()
    overruled: tuple[OverruledField, ...] = ()

    @property
    def permission(self) -> Permission:
        """The permission of the merged verdict."""
        return self.verdict.permission


NO_DECISION = Decision()


def merge(
    verdicts: Iterable[RankedVerdict], *, rule: MergeRule = MergeRule.STRICTEST, refusable: bool = True
) -> Decision:
    """Merge verdicts, given in configured order, into one decision."""
    verdicts = list(verdicts)
    is_strictest = rule is MergeRule.STRICTEST
    counted = verdicts if is_strictest else _select_highest_layer(verdicts)
    permission = max((ranked.verdict.permission for ranked in counted), default=Permission.NONE)
    deciders = [ranked for ranked in counted if ranked.verdict.permission is permission]
    shown = _select_messages(counted, permission) if refusable else verdicts
    weakest_first = verdicts if is_strictest else verdicts[::-1]
    fields, overruled = _merge_fields(weakest_first)
    return Decision(
        verdict=Verdict(
            permission=permission,
            user_message=_join_texts(ranked.verdict.user_message for ranked in shown),
            agent_message=_join_texts(ranked.verdict.agent_message for ranked in shown),
            env={key: value for ranked in weakest_first for key, value in ranked.verdict.env.items()},
            **fields,
        ),
        deciders=tuple(ranked.author for ranked in deciders) if permission else (),
        overruled=(*_find_overruled_permissions(verdicts, deciders), *overruled),
    )


def _select_highest_layer(verdicts: Sequence[RankedVerdict]) -> list[RankedVerdict]:
    opinions = [ranked for ranked in verdicts if ranked.verdict.permission]
    top = min((ranked.rank for ranked in opinions), default=0)
    return [ranked for ranked in opinions if ranked.rank == top]


def _find_overruled_permissions(
    verdicts: Sequence[RankedVerdict], deciders: Sequence[RankedVerdict]
) -> list[OverruledField]:
    """Return stricter permissions that the highest layer overruled. The strictest rule overrules none."""
    if not deciders:
        return []
    winner = deciders[0]
    stricter = [ranked for ranked in verdicts if ranked.verdict.permission > winner.verdict.permission]
    return [OverruledField("permission", winner.author, ranked.author) for ranked in stricter]


def _select_messages(counted: Sequence[RankedVerdict], permission: Permission) -> list[RankedVerdict]:
    """Return the verdicts whose messages are shown: those that refuse or ask."""
    if permission < Permission.ASK:
        return []
    return [ranked for ranked in counted if ranked.verdict.permission >= Permission.ASK]


def _join_texts(messages: Iterable[str]) -> str:
    return SEPARATOR.join(message for message in messages if message)


def _merge_fields(weakest_first: Sequence[RankedVerdict]) -> tuple[dict[str, Any], list[OverruledField]]:
    """Return the last value of each single field, and the other values of these fields and of variables."""
    values: dict[str, list[tuple[str, Any]]] = {}
    for author, _, verdict in weakest_first:
        fields = {field: getattr(verdict, field) for field in SINGLE_FIELDS}
        for field, value in {**fields, **{f"env.{key}": value for key, value in verdict.env.items()}}.items():
            if field not in SINGLE_FIELDS or value not in EMPTY:
                values.setdefault(field, []).append((author, value))
    overruled = [
        OverruledField(field, listed[-1][0], author)
        for field, listed in values.items()
        for author, value in listed[:-1]
        if value != listed[-1][1]
    ]
    return {field: values[field][-1][1] for field in SINGLE_FIELDS if field in values}, overruled
