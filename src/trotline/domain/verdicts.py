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
    """A field that several hooks set, with the hook that was kept and the one that lost."""

    field: str
    kept: str
    lost: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The merged verdict, its authors, and the fields that were overruled."""

    verdict: Verdict = NO_OPINION
    deciders: tuple[str, ...] = ()
    overruled: tuple[OverruledField, ...] = ()

    @property
    def permission(self) -> Permission:
        return self.verdict.permission


NO_DECISION = Decision()


def merge(
    responses: Iterable[RankedVerdict], *, rule: MergeRule = MergeRule.STRICTEST, refusable: bool = True
) -> Decision:
    """Merge responses, given in configured order, into one decision."""
    spoken = list(responses)
    counted = spoken if rule is MergeRule.STRICTEST else _of_the_highest_layer(spoken)
    permission = max((response.verdict.permission for response in counted), default=Permission.NONE)
    deciders = [response for response in counted if response.verdict.permission is permission]
    heard = _collect_messages(counted, permission) if refusable else spoken
    weakest_first = spoken if rule is MergeRule.STRICTEST else spoken[::-1]
    fields, overruled = _single_fields(weakest_first)
    return Decision(
        verdict=Verdict(
            permission=permission,
            user_message=_join_texts(response.verdict.user_message for response in heard),
            agent_message=_join_texts(response.verdict.agent_message for response in heard),
            env={key: value for response in weakest_first for key, value in response.verdict.env.items()},
            **fields,
        ),
        deciders=tuple(response.author for response in deciders) if permission else (),
        overruled=(*_unheard(spoken, deciders), *overruled, *_env_conflicts(weakest_first)),
    )


def _of_the_highest_layer(spoken: Sequence[RankedVerdict]) -> list[RankedVerdict]:
    opinions = [response for response in spoken if response.verdict.permission]
    top = min((response.rank for response in opinions), default=0)
    return [response for response in opinions if response.rank == top]


def _unheard(spoken: Sequence[RankedVerdict], deciders: Sequence[RankedVerdict]) -> list[OverruledField]:
    """Return stricter permissions that the highest layer overruled. The strictest rule overrules none."""
    if not deciders:
        return []
    decided = deciders[0]
    stricter = [response for response in spoken if response.verdict.permission > decided.verdict.permission]
    return [OverruledField("permission", decided.author, response.author) for response in stricter]


def _collect_messages(counted: Sequence[RankedVerdict], permission: Permission) -> list[RankedVerdict]:
    """Return the responses whose messages are shown: those that refuse or ask."""
    if permission < Permission.ASK:
        return []
    return [response for response in counted if response.verdict.permission >= Permission.ASK]


def _join_texts(messages: Iterable[str]) -> str:
    return SEPARATOR.join(message for message in messages if message)


def _single_fields(weakest_first: Sequence[RankedVerdict]) -> tuple[dict[str, Any], list[OverruledField]]:
    kept: dict[str, Any] = {}
    overruled = []
    for field in SINGLE_FIELDS:
        wanted = [
            (response.author, value)
            for response in weakest_first
            if (value := getattr(response.verdict, field)) not in EMPTY
        ]
        if wanted:
            winner, kept[field] = wanted[-1]
            overruled += [
                OverruledField(field, winner, author) for author, value in wanted[:-1] if value != kept[field]
            ]
    return kept, overruled


def _env_conflicts(weakest_first: Sequence[RankedVerdict]) -> list[OverruledField]:
    owner: dict[str, tuple[str, str]] = {}
    conflicts = []
    for response in weakest_first:
        for key, value in response.verdict.env.items():
            if key in owner and owner[key][1] != value:
                conflicts.append(OverruledField(f"env.{key}", response.author, owner[key][0]))
            owner[key] = (response.author, value)
    return conflicts
