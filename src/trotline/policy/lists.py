"""Lists of packages, hosts, MCP tools and sub-agents that a layer denies, or exclusively allows."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.domain.effects import Effect
from trotline.guards.guard import RuleAction, RuleMatch
from trotline.policy.policy_rules import build_match

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - a name to recognise
_INSTALLS = frozenset({"install", "fetch-and-run"})
_NETWORK_KINDS = frozenset("fetch send connect git install sql data".split())
"""Effects whose `host` is a network host, and not a cluster or an account."""

_VERSION = re.compile(r"@[^/]*$")


def _get_package(effect: Effect) -> str:
    is_install = effect.kind == "install" and effect.verb in _INSTALLS
    return effect.package.lower() if is_install else ""


def _get_host(effect: Effect) -> str:
    if effect.kind not in _NETWORK_KINDS:
        return ""
    name = effect.host.rpartition("@")[2].lower().rstrip(".")
    return re.sub(r":\d+$", "", name) if name.count(":") == 1 else name


def _get_tool(effect: Effect) -> str:
    return effect.target if effect.kind == "mcp" else ""


def _get_subagent(effect: Effect) -> str:
    return effect.target.lower() if effect.kind == "delegate" else ""


class ListKind(NamedTuple):
    """The kind of entries in a list, and whether they are allowed or denied."""

    get_name: Callable[[Effect], str]
    noun: str
    allows: bool


LIST_KINDS: dict[str, ListKind] = {
    "deny_packages": ListKind(_get_package, "package", allows=False),
    "allow_hosts": ListKind(_get_host, "host", allows=True),
    "deny_hosts": ListKind(_get_host, "host", allows=False),
    "allow_mcp": ListKind(_get_tool, "MCP tool", allows=True),
    "deny_mcp": ListKind(_get_tool, "MCP tool", allows=False),
    "allow_subagents": ListKind(_get_subagent, "sub-agent", allows=True),
    "deny_subagents": ListKind(_get_subagent, "sub-agent", allows=False),
}


class PolicyList(NamedTuple):
    """One list of one layer: names, and patterns in which `*` stands for anything."""

    name: str
    layer: str
    exact: frozenset[str] = frozenset()
    patterns: tuple[tuple[str, ...], ...] = ()  # the parts between the stars

    def __contains__(self, name: object) -> bool:
        full = str(name)
        without_version = _VERSION.sub("", full)
        return not self.exact.isdisjoint((full, without_version)) or any(
            _matches_pattern(parts, full) for parts in self.patterns
        )

    @property
    def entries(self) -> int:
        """The number of names and patterns."""
        return len(self.exact) + len(self.patterns)


def build_list(name: str, layer: str, entries: Sequence[str]) -> PolicyList:
    """Build a list; only names of MCP tools are case-sensitive."""
    names = [entry if name.endswith("_mcp") else entry.lower() for entry in entries]
    patterns = tuple(tuple(entry.split("*")) for entry in names if "*" in entry)
    return PolicyList(name, layer, frozenset(entry for entry in names if "*" not in entry), patterns)


def _may_contain_tool(entries: PolicyList, tool: str) -> bool:
    """Return whether a tool without server name is on the list for some server."""
    if ":" in tool:
        return False
    names = [*entries.exact, *("*".join(parts) for parts in entries.patterns)]
    tools = [name.partition(":")[2] for name in names]
    return any(_matches_pattern(name.split("*"), tool) if "*" in name else name == tool for name in tools)


def _matches_pattern(parts: Sequence[str], name: str) -> bool:
    """Match a pattern in linear time, because projects may write patterns."""
    first, *between, last = parts
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    position, end = len(first), len(name) - len(last)
    for part in between:
        position = name.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


def match_lists(
    lists: Sequence[PolicyList], effects: Sequence[Effect], *, server_named_later: bool = False
) -> list[RuleMatch]:
    """Return the matches of all lists. Each list is applied by itself, so that a lower one never widens a higher one.

    With `server_named_later`, another event of the same action will name the server of a tool.
    """
    return [
        match
        for entries in lists
        for effect in effects
        for match in _match_list(entries, effect, server_named_later=server_named_later)
    ]


def _match_list(entries: PolicyList, effect: Effect, *, server_named_later: bool) -> Iterator[RuleMatch]:
    kind = LIST_KINDS[entries.name]
    name = kind.get_name(effect)
    if not name:
        return
    is_listed = name in entries
    may_be_listed = not is_listed and kind.get_name is _get_tool and _may_contain_tool(entries, name)
    if may_be_listed and server_named_later:
        return
    is_unknown = UNKNOWN_TEXT in name or (may_be_listed and not kind.allows)
    reason = ""
    if kind.allows and not is_listed and name not in _LOCAL_HOSTS:
        reason = f"the {kind.noun} {name} is not among those that `{entries.name}` names"
    elif not kind.allows and is_listed:
        reason = f"the {kind.noun} {name} is refused by `{entries.name}`"
    elif not kind.allows and is_unknown:
        reason = f"which {kind.noun} {name} is cannot be known, and `{entries.name}` refuses some"
    if reason:
        action = RuleAction.ASK if is_unknown and not is_listed else RuleAction.DENY
        yield build_match(f"list {entries.name}", action, effect, layer=entries.layer, reason=reason)
