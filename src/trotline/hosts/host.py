"""Host: a product that raises events, as data. What it calls things, what it hears, and how it wants to be answered.

A verdict is first settled: what the host cannot hear at this event becomes a Loss, and never something weaker. What is
left is put into the host's own words.
"""

import functools
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from trotline.contracts import Contract
from trotline.hosts.wiring import Wiring
from trotline.outcomes import Loss
from trotline.pattern import pattern
from trotline.verdicts import EMPTY, SILENCE, Permission, Verdict


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


class Told(StrEnum):
    """How a person can be told something else than the model."""

    APART = "apart"  # at any event, in a text of its own
    ALONG = "along"  # in the one text of a refusal
    NEVER = "never"


class Answer(NamedTuple):
    """What our process gives back to the host."""

    stdout: str = "{}"
    exit_code: int = 0
    stderr: str = ""
    losses: tuple[Loss, ...] = ()


class Tool(NamedTuple):
    """One of the host's tools under our name; `fields` are ours and theirs, `when` tells apart what one tool does.

    A `*` is any name, and stands for it in ours. Of several rows the one counts whose fields the input has.
    """

    theirs: str
    ours: str
    fields: Mapping[str, str] = MappingProxyType({})
    when: tuple[str, str] | None = None
    inside: str = ""  # the key under which the input stands, where it is wrapped
    many: str | None = None  # the fields hold lists: of texts, or of objects with the text at this key


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
    digits = VERSION.match(version)
    if digits is None:
        return ()
    numbers = tuple(int(part) for part in digits[1].split("."))
    return (1 if numbers[0] >= FIRST_DATED else 0, *numbers)


def known_events(wiring: Wiring, version: str) -> tuple[str, ...]:
    """The events that this version knows; some load nothing of a file that names another. Of none we know, all."""
    found = version_key(version)
    rows = [events for since, events in wiring.since if version_key(since) <= found]
    if not rows:
        return wiring.events
    return tuple(event for event in wiring.events if event in rows[-1])


VERSION = pattern(r"v?(\d{1,6}(?:\.\d{1,6}){0,4})")
LONGEST_VERSION = 35
"""Characters that are ever looked at; what a payload says besides must not stay in memory."""

FIRST_DATED = 2000

Body = dict[str, Any]
Form = Callable[["Host", str, str, Verdict], Answer]
"""Puts a settled verdict into words: the host, its event, ours, the verdict."""


class Host(msgspec.Struct, frozen=True, kw_only=True, eq=False):  # one of a kind, which is how it can be a key
    """A product. `events` maps its names to ours; `fields` says where ours stand in its payloads, `*` for all.

    A place is a dotted path; several are separated by `|`, and the first that holds something counts. A mark is keys
    that stand together: `!key` is one that does not, `key=part` one whose text has the part.
    """

    name: str
    title: str
    events: dict[str, str]
    powers: dict[str, frozenset[Power]]
    form: Form
    fields: dict[str, dict[str, str]] = {}
    tools: tuple[Tool, ...] = ()
    mcp: str = ""  # a pattern with `{server}` and `{tool}`
    server: tuple[str, str] = ("", "")  # where the payload names the server and its tool, if it does
    texts: tuple[str, ...] = ()  # keys under which a structured result has its text
    event_key: str = "hook_event_name"  # an empty first place: it does not always say
    constants: dict[str, dict[str, Any]] = {}  # what the event itself says and its payload does not
    tells: tuple[str, ...] = ()  # variables that only this product sets
    marks: tuple[str, ...] = ()  # what only its payloads have
    why_not: dict[Power, str] = {}
    doubts: dict[str, str] = {}  # events where a refusal is said and may not be acted on, and why
    person: Told = Told.APART
    unshown: str = ""  # why the person does not read what is said beside an allow
    edit_is_allow: bool = False  # whether a changed input is taken only beside an allow
    silence: str = "{}"
    loop_limit: int | None = None  # its own; None when it would go on forever
    quirks: tuple[Quirk, ...] = ()
    wiring: Wiring | None = None
    untold: frozenset[str] = frozenset()  # actions (audit/actions.py) that it may do without telling of it
    unpaired: frozenset[str] = frozenset()  # actions whose events before and after are about different tools
    unsent: frozenset[str] = frozenset()  # fields that its kin send, and it does not
    both: bool = False  # whether it raises the specific event beside the generic one

    def at(self, version: str, *, believing: frozenset[Power] = frozenset()) -> "Host":
        """The same in this version. A person who knows better may say which powers to believe in all the same."""
        return _at(self, version[:LONGEST_VERSION], believing)

    def hears(self, event: str, power: Power) -> bool:
        return power in self.powers.get(event, frozenset())


@functools.lru_cache(maxsize=64)
def _at(host: Host, version: str, believing: frozenset[Power]) -> Host:
    """Found once: a product has the same version for a long time."""
    heard = dict(host.powers)
    for quirk in host.quirks:
        if quirk.applies(version) and not (quirk.power in believing and not quirk.works):
            known = heard.get(quirk.event, frozenset())
            heard[quirk.event] = known | {quirk.power} if quirk.works else known - {quirk.power}
    return msgspec.structs.replace(host, powers=heard)


def settled(host: Host, contract: Contract, verdict: Verdict) -> tuple[Verdict, tuple[Loss, ...]]:
    """The part of a verdict that this host hears at this event, and what is lost of it."""
    if verdict is SILENCE:
        return SILENCE, ()
    losses: list[Loss] = []
    permission, follow_up = _permission(host, contract, verdict, losses)
    refused = permission is Permission.DENY
    if refused and contract.name in host.doubts:
        losses.append(Loss(host.name, "deny", host.doubts[contract.name]))
    kept: Body = {}
    for power in (Power.EDIT, Power.CONTEXT, Power.ENV, Power.REPLACE, Power.PLUGINS):
        value = getattr(verdict, power.value)
        if value in EMPTY or (power is Power.ENV and not value) or (power is Power.EDIT and refused):
            continue  # nobody runs the input of a refused action
        if host.hears(contract.name, power):
            kept[power.value] = value
        else:
            losses.append(_loss(host, contract, power))
    if follow_up and not host.hears(contract.name, Power.FOLLOW_UP):
        losses.append(_loss(host, contract, Power.FOLLOW_UP))
        follow_up = ""
    said = Verdict(
        permission=permission,
        user_message=_for_the_person(host, verdict, losses, spoken=permission > Permission.ALLOW or bool(follow_up)),
        agent_message=verdict.agent_message,
        follow_up=follow_up,
        **kept,
    )
    return said, tuple(losses)


def _permission(host: Host, contract: Contract, verdict: Verdict, losses: list[Loss]) -> tuple[Permission, str]:
    """The permission that can be said, and the follow-up, which is how an event that is over is refused."""
    wanted, follow_up = verdict.permission, verdict.follow_up if verdict.follow_up.strip() else ""
    if wanted is Permission.SILENT or host.hears(contract.name, Power(wanted.word)):
        return wanted, follow_up
    if wanted is Permission.ASK and host.hears(contract.name, Power.DENY):
        why = host.why_not.get(Power.ASK, f"{host.title} does not ask at {contract.name}")
        losses.append(Loss(host.name, "ask", f"{why}; sent as deny"))
        return Permission.DENY, follow_up
    if wanted is not Permission.ALLOW and host.hears(contract.name, Power.FOLLOW_UP):
        return Permission.SILENT, follow_up or reason_of(verdict)
    edits = host.hears(contract.name, Power.EDIT) and verdict.edited_input is not None
    implied = host.edit_is_allow and edits
    if wanted is not Permission.ALLOW or (contract.refusable and not implied):
        losses.append(_loss(host, contract, Power(wanted.word)))
    return Permission.SILENT, follow_up


def _for_the_person(host: Host, verdict: Verdict, losses: list[Loss], *, spoken: bool) -> str:
    """What the person reads beside the model. A refusal that is lost takes its texts along."""
    told, model = verdict.user_message, verdict.agent_message
    along = spoken and (host.person is Told.ALONG or not model.strip() or told == model)
    if host.person is Told.APART or along or not told:
        return told
    if spoken or verdict.permission < Permission.ASK:
        losses.append(
            Loss(host.name, "user_message", f"{host.title} tells the person nothing but what the model reads")
        )
    return ""


def _loss(host: Host, contract: Contract, power: Power) -> Loss:
    why = host.why_not.get(power) or f"{host.title} does not hear it at {contract.name}"
    return Loss(host.name, power.value, why)


def reason_of(verdict: Verdict) -> str:
    """What the model reads about a refusal; some hosts let an action run that was refused without a word."""
    said = (verdict.agent_message, verdict.user_message, "A hook refused this and gave no reason.")
    return next(text for text in said if text.strip())
