"""What hooks say, and the one place where many voices become one.

Permission is ordered by strictness, so the strictest voice is simply the greatest, and the order in which hooks were
configured cannot change it. Nothing is dropped in silence: a field that lost against another hook's is recorded.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import msgspec


class Permission(IntEnum):
    """Silence is weaker than allow: it leaves the decision to others."""

    SILENT = 0
    ALLOW = 1
    ASK = 2
    DENY = 3

    @property
    def word(self) -> str:
        return WORDS[self]


WORDS = tuple(permission.name.lower() for permission in Permission)


class MergeRule(StrEnum):
    """How the voices of several layers become one; it changed with the years."""

    STRICTEST = "strictest"
    HIGHEST_LAYER = "highest layer"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one hook, guard or rule says about an event. Every field but permission may stay empty."""

    permission: Permission = Permission.SILENT
    user_message: str = ""
    agent_message: str = ""
    edited_input: dict[str, Any] | None = None
    context: str = ""
    follow_up: str = ""
    env: dict[str, str] = {}
    replaced_output: dict[str, Any] | None = None
    plugin_paths: tuple[str, ...] = ()


SILENCE = Verdict()

SEPARATOR = "\n\n---\n\n"
"""What stands between the messages of several hooks."""

ONE_WINS = ("edited_input", "context", "follow_up", "replaced_output", "plugin_paths")
"""Fields of which a decision has one: the last answer, or the highest layer's, by the edition's rule."""


EMPTY: tuple[object, ...] = (None, "", ())
"""A field that was not said; an empty object was, and blanks what it replaces."""


class Spoken(NamedTuple):
    """A verdict with its author, and the rank of the layer it came from (1 is the highest)."""

    author: str
    rank: int
    verdict: Verdict


class Overruled(msgspec.Struct, frozen=True):
    """A field that two hooks wanted, and who got it."""

    field: str
    kept: str
    lost: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The merged verdict, whose voice it was, and what was overruled on the way."""

    verdict: Verdict = SILENCE
    deciders: tuple[str, ...] = ()
    overruled: tuple[Overruled, ...] = ()

    @property
    def permission(self) -> Permission:
        return self.verdict.permission


def merge(voices: Iterable[Spoken], *, rule: MergeRule = MergeRule.STRICTEST, refusable: bool = True) -> Decision:
    """The decision of many voices, given in configured order; silence if none spoke."""
    spoken = list(voices)
    counted = spoken if rule is MergeRule.STRICTEST else _of_the_highest_layer(spoken)
    permission = max((voice.verdict.permission for voice in counted), default=Permission.SILENT)
    deciders = [voice for voice in counted if voice.verdict.permission is permission]
    heard = _heard(counted, permission) if refusable else spoken
    weakest_first = spoken if rule is MergeRule.STRICTEST else spoken[::-1]
    fields, overruled = _single_fields(weakest_first)
    return Decision(
        verdict=Verdict(
            permission=permission,
            user_message=_joined(voice.verdict.user_message for voice in heard),
            agent_message=_joined(voice.verdict.agent_message for voice in heard),
            env={key: value for voice in weakest_first for key, value in voice.verdict.env.items()},
            **fields,
        ),
        deciders=tuple(voice.author for voice in deciders) if permission else (),
        overruled=(*_unheard(spoken, deciders), *overruled, *_env_conflicts(weakest_first)),
    )


def _of_the_highest_layer(spoken: Sequence[Spoken]) -> list[Spoken]:
    opinions = [voice for voice in spoken if voice.verdict.permission]
    top = min((voice.rank for voice in opinions), default=0)
    return [voice for voice in opinions if voice.rank == top]


def _unheard(spoken: Sequence[Spoken], deciders: Sequence[Spoken]) -> list[Overruled]:
    """A stricter word that the highest layer's overruled; under the strictest rule there is none."""
    if not deciders:
        return []
    decided = deciders[0]
    stricter = [voice for voice in spoken if voice.verdict.permission > decided.verdict.permission]
    return [Overruled("permission", decided.author, voice.author) for voice in stricter]


def _heard(counted: Sequence[Spoken], permission: Permission) -> list[Spoken]:
    """Only hooks that refused or asked have their messages shown; an allow adds nothing to a refusal."""
    if permission < Permission.ASK:
        return []
    return [voice for voice in counted if voice.verdict.permission >= Permission.ASK]


def _joined(messages: Iterable[str]) -> str:
    return SEPARATOR.join(message for message in messages if message)


def _single_fields(weakest_first: Sequence[Spoken]) -> tuple[dict[str, Any], list[Overruled]]:
    kept: dict[str, Any] = {}
    overruled = []
    for field in ONE_WINS:
        wanted = [
            (voice.author, value) for voice in weakest_first if (value := getattr(voice.verdict, field)) not in EMPTY
        ]
        if wanted:
            winner, kept[field] = wanted[-1]
            overruled += [Overruled(field, winner, author) for author, value in wanted[:-1] if value != kept[field]]
    return kept, overruled


def _env_conflicts(weakest_first: Sequence[Spoken]) -> list[Overruled]:
    owner: dict[str, tuple[str, str]] = {}
    conflicts = []
    for voice in weakest_first:
        for key, value in voice.verdict.env.items():
            if key in owner and owner[key][1] != value:
                conflicts.append(Overruled(f"env.{key}", voice.author, owner[key][0]))
            owner[key] = (voice.author, value)
    return conflicts
