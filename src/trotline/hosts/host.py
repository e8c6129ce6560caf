"""Host: a product that raises events, as data. What it calls things, what it hears, and how it wants to be answered.

A verdict is first settled: what the host cannot hear at this event becomes a Loss, and never something weaker. What is
left is put into the host's own words.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from trotline.contracts import Contract
from trotline.outcomes import Loss
from trotline.verdicts import Permission, Verdict


class Power(StrEnum):
    """Something that a host hears when it is said."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"
    EDIT = "edited_input"
    CONTEXT = "context"
    FOLLOW_UP = "follow_up"
    ENV = "env"
    REPLACE = "replaced_output"
    PLUGINS = "plugin_paths"


class Answer(NamedTuple):
    """What our process gives back to the host."""

    stdout: str = "{}"
    exit_code: int = 0
    stderr: str = ""
    losses: tuple[Loss, ...] = ()


class Tool(NamedTuple):
    """One of the host's tools under our name; `fields` are ours and theirs, `when` tells apart what one tool does."""

    theirs: str
    ours: str
    fields: Mapping[str, str] = MappingProxyType({})
    when: tuple[str, str] | None = None


class Quirk(NamedTuple):
    """What a product does in some of its versions, and who says so. `works` is whether the power is heard there."""

    event: str
    power: Power
    works: bool
    what: str
    source: str
    since: str = ""
    until: str = ""  # the first version that it is no longer true of
    date: str = ""

    def applies(self, version: str) -> bool:
        """Whether it is true of this version; of a version that cannot be read, whatever is stricter is."""
        known = version_key(version)
        if not known:
            return not self.works
        bounds = (version_key(self.since), version_key(self.until))
        if any(bound and bound[0] != known[0] for bound in bounds):
            return False  # the desktop's versions and the dated builds of the command line are two scales
        return (not bounds[0] or bounds[0] <= known) and (not bounds[1] or known < bounds[1])


def version_key(version: str) -> tuple[int, ...]:
    """A version as numbers to compare, led by its scale: 0 for releases, 1 for dated builds. Empty if it is neither."""
    digits = re.match(r"v?(\d{1,6}(?:\.\d{1,6}){0,4})", version)
    if digits is None:
        return ()
    numbers = tuple(int(part) for part in digits[1].split("."))
    return (1 if numbers[0] >= FIRST_DATED else 0, *numbers)


FIRST_DATED = 2000

Body = dict[str, Any]
Form = Callable[["Host", str, str, Verdict], Answer]
"""Puts a settled verdict into words: the host, its event, ours, the verdict."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A product. `events` maps its names to ours; `fields` says where ours stand in its payloads, `*` for all."""

    name: str
    title: str
    events: dict[str, str]
    powers: dict[str, frozenset[Power]]
    form: Form
    fields: dict[str, dict[str, str]] = {}
    tools: tuple[Tool, ...] = ()
    mcp: str = ""  # a pattern with `{server}` and `{tool}`
    event_key: str = "hook_event_name"
    constants: dict[str, dict[str, Any]] = {}  # what the event itself says and its payload does not
    tells: tuple[str, ...] = ()  # variables that only this product sets
    marks: tuple[str, ...] = ()  # keys that only its payloads have
    why_not: dict[Power, str] = {}
    loop_limit: int | None = None  # its own; None when it would go on forever
    quirks: tuple[Quirk, ...] = ()
    both: bool = False  # whether it raises the specific event beside the generic one

    def at(self, version: str, *, believing: frozenset[Power] = frozenset()) -> "Host":
        """The same in this version. A person who knows better may say which powers to believe in all the same."""
        heard = dict(self.powers)
        for quirk in self.quirks:
            if quirk.applies(version) and not (quirk.power in believing and not quirk.works):
                known = heard.get(quirk.event, frozenset())
                heard[quirk.event] = known | {quirk.power} if quirk.works else known - {quirk.power}
        return msgspec.structs.replace(self, powers=heard)

    def hears(self, event: str, power: Power) -> bool:
        return power in self.powers.get(event, frozenset())


def settled(host: Host, contract: Contract, verdict: Verdict) -> tuple[Verdict, tuple[Loss, ...]]:
    """The part of a verdict that this host hears at this event, and what is lost of it."""
    losses: list[Loss] = []
    permission, follow_up = _permission(host, contract, verdict, losses)
    refused = permission is Permission.DENY
    kept: Body = {}
    for power in (Power.EDIT, Power.CONTEXT, Power.ENV, Power.REPLACE, Power.PLUGINS):
        value = getattr(verdict, power.value)
        if value in (None, "", (), {}) and not (power is Power.REPLACE and value == {}):
            continue
        if host.hears(contract.name, power):
            kept[power.value] = value
        elif not (refused and power is Power.EDIT):  # nobody runs the input of a refused action
            losses.append(_loss(host, contract, power))
    if follow_up and not host.hears(contract.name, Power.FOLLOW_UP):
        losses.append(_loss(host, contract, Power.FOLLOW_UP))
        follow_up = ""
    said = Verdict(
        permission=permission,
        user_message=verdict.user_message,
        agent_message=verdict.agent_message,
        follow_up=follow_up,
        **kept,
    )
    return said, tuple(losses)


def _permission(host: Host, contract: Contract, verdict: Verdict, losses: list[Loss]) -> tuple[Permission, str]:
    """The permission that can be said, and the follow-up, which is how an event that is over is refused."""
    wanted = verdict.permission
    if wanted is Permission.SILENT or host.hears(contract.name, Power(wanted.word)):
        return wanted, verdict.follow_up
    if wanted is Permission.ASK and host.hears(contract.name, Power.DENY):
        why = host.why_not.get(Power.ASK, f"{host.title} does not ask at {contract.name}")
        losses.append(Loss(host.name, "ask", f"{why}; sent as deny"))
        return Permission.DENY, verdict.follow_up
    if wanted is not Permission.ALLOW and host.hears(contract.name, Power.FOLLOW_UP):
        return Permission.SILENT, verdict.follow_up or reason_of(verdict)
    if wanted is not Permission.ALLOW or contract.refusable:
        losses.append(_loss(host, contract, Power(wanted.word)))
    return Permission.SILENT, verdict.follow_up


def _loss(host: Host, contract: Contract, power: Power) -> Loss:
    why = host.why_not.get(power) or f"{host.title} does not hear it at {contract.name}"
    return Loss(host.name, power.value, why)


def reason_of(verdict: Verdict) -> str:
    """What the model reads about a refusal; some hosts let an action run that was refused without a word."""
    return verdict.agent_message or verdict.user_message or "A hook refused this and gave no reason."
