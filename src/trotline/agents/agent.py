"""Describe a coding agent as data: its events, fields, tools and capabilities, and the form of its replies.

`fit_verdict` reduces a verdict to what an agent supports at an event. Everything else becomes a Loss; a verdict never
becomes weaker without one. A reply form then writes the rest as the agent expects it.
"""

import functools
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from trotline.domain.contracts import Contract
from trotline.domain.outcomes import Loss
from trotline.domain.verdicts import EMPTY, NO_OPINION, Permission, Verdict
from trotline.formats.lazy_regex import lazy_regex


class Capability(StrEnum):
    """A part of a verdict that an agent can act on."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"
    EDIT = "edited_input"
    CONTEXT = "context"
    FOLLOW_UP = "follow_up"
    ENV = "env"
    REPLACE = "replaced_output"
    PLUGINS = "plugin_paths"


class PersonChannel(StrEnum):
    """The way in which an agent shows a message to the person."""

    SEPARATE = "separate"  # at any event, apart from the message to the model
    WITH_REFUSAL = "with refusal"  # only in the text of a refusal, which the model reads too
    NEVER = "never"


class AgentReply(NamedTuple):
    """The output of the hook process that the agent reads."""

    stdout: str = "{}"
    exit_code: int = 0
    stderr: str = ""
    losses: tuple[Loss, ...] = ()

    def encode(self) -> tuple[bytes, bytes]:
        """Return standard output and standard error as the process writes them."""
        stderr = self.stderr.encode("utf-8", "backslashreplace")
        return self.stdout.encode("utf-8", "surrogateescape"), stderr + b"\n" if stderr else b""


class Tool(NamedTuple):
    """A tool of an agent (`theirs`) and Cursor's tool that means the same (`ours`).

    `fields` maps Cursor's input fields to the agent's. `when` is a key and value of the input that select this row.
    `*` matches any name and is replaced by it. If several rows match, the one whose fields fit the input best wins.
    """

    theirs: str
    ours: str
    fields: Mapping[str, str] = MappingProxyType({})
    when: tuple[str, str] | None = None
    inside: str = ""  # the key that wraps the input, if there is one
    many: str | None = None  # the fields hold lists: of texts, or of objects with the text at this key


class VersionQuirk(NamedTuple):
    """A capability that differs by version, with its source. `works` tells whether these versions support it."""

    event: str
    capability: Capability
    works: bool
    description: str
    source: str
    since: str = ""
    until: str = ""  # the first version to which it no longer applies
    date: str = ""

    def applies(self, version: str) -> bool:
        """Return whether it applies to a version. An unreadable version gets the stricter answer."""
        known = parse_version(version)
        if not known:
            return not self.works
        bounds = (parse_version(self.since), parse_version(self.until))
        if any(bound and bound[0] != known[0] for bound in bounds):
            return False  # the desktop's versions and the dated builds of the command line are two scales
        return (not bounds[0] or bounds[0] <= known) and (not bounds[1] or known < bounds[1])


def parse_version(version: str) -> tuple[int, ...]:
    """Return a comparable version: its scale (0 for releases, 1 for dated builds) and its numbers; () if unreadable."""
    digits = _VERSION_PATTERN.match(version)
    if digits is None:
        return ()
    numbers = tuple(int(part) for part in digits[1].split("."))
    return (1 if numbers[0] >= FIRST_DATED else 0, *numbers)


_VERSION_PATTERN = lazy_regex(r"v?(\d{1,6}(?:\.\d{1,6}){0,4})")
MAX_VERSION_LENGTH = 35
"""Characters of a version that are read; it is a cache key, and payloads are untrusted."""

FIRST_DATED = 2000


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """The hook configuration of an agent.

    `files` maps a layer to a path below the home, the project or the system root. With `owns_file`, Trotline owns the
    whole file (a program or a plugin), and `{event}` in its name makes one file per event.
    """

    files: dict[str, str]
    events: tuple[str, ...]  # the agent's names, in the order in which they are written
    since: tuple[tuple[str, frozenset[str]], ...] = ()  # version -> events it supports from then on; oldest first
    grouped: bool = False  # entries are in groups that have the matcher
    version: int | None = None
    matchers: dict[str, str] = {}
    entry: dict[str, Any] = {}  # further keys of every entry
    command_key: str = "command"
    timeout_key: str = "timeout"
    seconds: int = 60  # timeout of the hook; Trotline's own deadline is shorter
    timeouts_per_second: int = 1  # 1000 if its timeouts are in milliseconds
    fail_closed: dict[str, Any] = {}  # what makes the agent block when a hook fails; empty if nothing does
    programs: tuple[str, ...] = ()  # its executables
    directories: tuple[str, ...] = ()  # below the home; they exist only if the agent was used
    owns_file: bool = False
    plugin: bool = False
    conflict_hint: str = ""  # what to do if another file has the name of ours
    graphical: bool = False  # people start it from a menu, with a short search path
    note: str = ""  # what a person has to do in addition

    def get_known_events(self, version: str) -> tuple[str, ...]:
        """Return the events that a version supports, because some versions ignore a file that names another event.

        An unknown version gets all events.
        """
        known = parse_version(version)
        rows = [events for since, events in self.since if parse_version(since) <= known]
        return tuple(event for event in self.events if event in rows[-1]) if rows else self.events

    def is_called_for(self, event: str, tool: str) -> bool:
        """Return whether the hook of an event runs for a tool; both are the agent's names."""
        matcher = self.matchers.get(event, "")
        return matcher in MATCH_ALL or re.search(matcher, tool) is not None


MATCH_ALL = frozenset({"", "*"})
"""Matchers that match everything and are not regular expressions."""


class CommandLine(NamedTuple):
    """The command line of an agent, in the phrase language of analysis/programs/phrases.py."""

    names: str
    unattended: str  # options that disable its confirmations
    options_with_value: str
    settings: str = "mcp add|add-json; config set"  # commands that change its settings


Body = dict[str, Any]
ReplyForm = Callable[["Agent", str, str, Verdict], AgentReply]
"""Writes the reply for an agent, its event name, Cursor's event name and a verdict that fits."""


class Agent(msgspec.Struct, frozen=True, kw_only=True, eq=False):  # identity comparison makes it a cache key
    """A coding agent.

    `events` maps its event names to Cursor's. `fields` maps, per Cursor event or `*` for all, Cursor's fields to places
    in the payload: a dotted path, or several separated by `|`, of which the first with a value counts. A payload mark
    is a list of keys that occur together; `!key` must be absent, `key=part` must contain the part.
    """

    name: str
    title: str
    events: dict[str, str]
    capabilities: dict[str, frozenset[Capability]]
    reply_form: ReplyForm
    fields: dict[str, dict[str, str]] = {}
    tools: tuple[Tool, ...] = ()
    mcp: str = ""  # its names of MCP tools: a pattern with `{server}` and `{tool}`
    server: tuple[str, str] = ("", "")  # places in the payload of the MCP server and its tool
    text_keys: tuple[str, ...] = ()  # keys that hold the text of a structured result
    event_key: str = "hook_event_name"  # place of the event name; an empty first place means that it may be missing
    constants: dict[str, dict[str, Any]] = {}  # fields that the event implies and the payload lacks
    variables: tuple[str, ...] = ()  # environment variables that only this agent sets
    payload_marks: tuple[str, ...] = ()  # marks that only its payloads have
    unsupported_reasons: dict[Capability, str] = {}
    unreliable_denials: dict[str, str] = {}  # events at which it may ignore a refusal -> the reason
    person_channel: PersonChannel = PersonChannel.SEPARATE
    hidden_message_reason: str = ""  # why the person does not see a message that comes with an allow
    edit_implies_allow: bool = False  # it accepts a changed input only with an allow
    empty_reply: str = "{}"
    loop_limit: int | None = None  # its own limit of follow-ups; None if it has none
    version_quirks: tuple[VersionQuirk, ...] = ()
    wiring: Wiring | None = None
    control: tuple[str, ...] = ()  # further files that decide what it runs: `*` matches any text, `/` ends a directory
    credentials: tuple[str, ...] = ()  # files with its tokens
    instructions: tuple[str, ...] = ()  # files that its model reads as instructions
    mcp_files: dict[str, dict[str, str]] = {}  # layer -> file -> the key that holds its MCP servers
    command_line: CommandLine | None = None
    other_events: dict[str, str] = {}  # its events that Trotline does not handle -> Cursor's nearest event, or ""
    unreported_actions: frozenset[str] = frozenset()  # actions that it may perform without an event after them
    unpaired_actions: frozenset[str] = frozenset()  # actions whose events before and after name different tools
    missing_fields: frozenset[str] = frozenset()  # fields that similar agents send and this one does not
    raises_paired_events: bool = False  # it raises both the specific and the generic event

    def for_version(self, version: str, *, trusted: frozenset[Capability] = frozenset()) -> "Agent":
        """Return the agent with the capabilities of a version; `trusted` overrides quirks that a setting trusts."""
        return _apply_quirks(self, version[:MAX_VERSION_LENGTH], trusted)

    def supports(self, event: str, capability: Capability) -> bool:
        """Return whether the agent acts on a part of a verdict at an event."""
        return capability in self.capabilities.get(event, frozenset())


@functools.lru_cache(maxsize=64)
def _apply_quirks(agent: Agent, version: str, trusted: frozenset[Capability]) -> Agent:
    capabilities = dict(agent.capabilities)
    for quirk in agent.version_quirks:
        if quirk.applies(version) and not (quirk.capability in trusted and not quirk.works):
            known = capabilities.get(quirk.event, frozenset())
            capabilities[quirk.event] = known | {quirk.capability} if quirk.works else known - {quirk.capability}
    return msgspec.structs.replace(agent, capabilities=capabilities)


def fit_verdict(agent: Agent, contract: Contract, verdict: Verdict) -> tuple[Verdict, tuple[Loss, ...]]:
    """Return the part of a verdict that the agent supports at an event, and a Loss for every other part."""
    if verdict is NO_OPINION:
        return NO_OPINION, ()
    losses: list[Loss] = []
    permission, follow_up = _fit_permission(agent, contract, verdict, losses)
    refused = permission is Permission.DENY
    if refused and contract.name in agent.unreliable_denials:
        losses.append(Loss(agent.name, "deny", agent.unreliable_denials[contract.name]))
    supported: Body = {}
    for capability in (Capability.EDIT, Capability.CONTEXT, Capability.ENV, Capability.REPLACE, Capability.PLUGINS):
        value = getattr(verdict, capability.value)
        if (
            value in EMPTY
            or (capability is Capability.ENV and not value)
            or (capability is Capability.EDIT and refused)
        ):
            continue  # the input of a refused action is never used
        if agent.supports(contract.name, capability):
            supported[capability.value] = value
        else:
            losses.append(_build_loss(agent, contract, capability))
    if follow_up and not agent.supports(contract.name, Capability.FOLLOW_UP):
        losses.append(_build_loss(agent, contract, Capability.FOLLOW_UP))
        follow_up = ""
    stops = permission > Permission.ALLOW or bool(follow_up)
    fitted = Verdict(
        permission=permission,
        user_message=_get_person_message(agent, verdict, losses, stops=stops),
        agent_message=verdict.agent_message,
        follow_up=follow_up,
        **supported,
    )
    return fitted, tuple(losses)


def _fit_permission(agent: Agent, contract: Contract, verdict: Verdict, losses: list[Loss]) -> tuple[Permission, str]:
    """Return the permission that the agent supports, and the follow-up, which refuses an event that is over."""
    wanted, follow_up = verdict.permission, verdict.follow_up if verdict.follow_up.strip() else ""
    if wanted is Permission.NONE or agent.supports(contract.name, Capability(wanted.word)):
        return wanted, follow_up
    if wanted is Permission.ASK and agent.supports(contract.name, Capability.DENY):
        why = agent.unsupported_reasons.get(Capability.ASK, f"{agent.title} does not ask at {contract.name}")
        losses.append(Loss(agent.name, "ask", f"{why}; sent as deny"))
        return Permission.DENY, follow_up
    if wanted is not Permission.ALLOW and agent.supports(contract.name, Capability.FOLLOW_UP):
        return Permission.NONE, follow_up or get_reason(verdict)
    edits = agent.supports(contract.name, Capability.EDIT) and verdict.edited_input is not None
    implied = agent.edit_implies_allow and edits
    if wanted is not Permission.ALLOW or (contract.refusable and not implied):
        losses.append(_build_loss(agent, contract, Capability(wanted.word)))
    return Permission.NONE, follow_up


def _get_person_message(agent: Agent, verdict: Verdict, losses: list[Loss], *, stops: bool) -> str:
    """Return the message for the person. A refusal that is lost loses its texts as well."""
    message, for_model = verdict.user_message, verdict.agent_message
    is_in_refusal = stops and (
        agent.person_channel is PersonChannel.WITH_REFUSAL or not for_model.strip() or message == for_model
    )
    if agent.person_channel is PersonChannel.SEPARATE or is_in_refusal or not message:
        return message
    if stops or verdict.permission < Permission.ASK:
        losses.append(
            Loss(agent.name, "user_message", f"{agent.title} tells the person nothing but what the model reads")
        )
    return ""


def _build_loss(agent: Agent, contract: Contract, capability: Capability) -> Loss:
    why = agent.unsupported_reasons.get(capability) or f"{agent.title} does not hear it at {contract.name}"
    return Loss(agent.name, capability.value, why)


def get_reason(verdict: Verdict) -> str:
    """Return the reason of a refusal for the model; some agents ignore a refusal without a reason."""
    texts = (verdict.agent_message, verdict.user_message, "A hook refused this and gave no reason.")
    return next(text for text in texts if text.strip())
