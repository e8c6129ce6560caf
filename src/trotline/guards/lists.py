"""Lists: packages, hosts, MCP tools and sub-agents that a layer refuses, or the only ones that it wants."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trotline.analysis.step import GAP
from trotline.effects import Effect
from trotline.guards.guard import Opinion, Says
from trotline.guards.rules import opinion

_HERE = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - a name to recognise
_GOES_IN = frozenset({"install", "fetch-and-run"})
_NETWORK = frozenset("fetch send connect git install sql data".split())
"""Effects whose host is one; a cluster or an account is none."""

_VERSION = re.compile(r"@[^/]*$")


def _package(effect: Effect) -> str:
    comes = effect.kind == "install" and effect.verb in _GOES_IN
    return effect.package.lower() if comes else ""


def _host(effect: Effect) -> str:
    if effect.kind not in _NETWORK:
        return ""
    name = effect.host.rpartition("@")[2].lower().rstrip(".")
    return re.sub(r":\d+$", "", name) if name.count(":") == 1 else name


def _tool(effect: Effect) -> str:
    return effect.target if effect.kind == "mcp" else ""


def _subagent(effect: Effect) -> str:
    return effect.target.lower() if effect.kind == "delegate" else ""


class Kind(NamedTuple):
    """What a list of this name is about, and whether it says what is wanted or what is not."""

    of: Callable[[Effect], str]
    noun: str
    allows: bool


KINDS: dict[str, Kind] = {
    "deny_packages": Kind(_package, "package", allows=False),
    "allow_hosts": Kind(_host, "host", allows=True),
    "deny_hosts": Kind(_host, "host", allows=False),
    "allow_mcp": Kind(_tool, "MCP tool", allows=True),
    "deny_mcp": Kind(_tool, "MCP tool", allows=False),
    "allow_subagents": Kind(_subagent, "sub-agent", allows=True),
    "deny_subagents": Kind(_subagent, "sub-agent", allows=False),
}


class Listing(NamedTuple):
    """One list of one layer: names, and patterns in which `*` stands for anything."""

    name: str
    layer: str
    exact: frozenset[str] = frozenset()
    patterns: tuple[tuple[str, ...], ...] = ()  # what stands between the stars

    def __contains__(self, name: object) -> bool:
        given = str(name)
        bare = _VERSION.sub("", given)
        return not self.exact.isdisjoint((given, bare)) or any(_fits(one, given) for one in self.patterns)

    @property
    def entries(self) -> int:
        return len(self.exact) + len(self.patterns)


def listing(name: str, layer: str, wanted: Sequence[str]) -> Listing:
    names = [one if name.endswith("_mcp") else one.lower() for one in wanted]
    open_ones = tuple(tuple(one.split("*")) for one in names if "*" in one)
    return Listing(name, layer, frozenset(one for one in names if "*" not in one), open_ones)


def _may_be(listing: Listing, tool: str) -> bool:
    """Whether a tool whose server is not told is one of the list, if its server is the right one."""
    if ":" in tool:
        return False
    entries = [*(name.split("*") for name in listing.exact), *listing.patterns]
    parts = ["*".join(entry).partition(":")[2] for entry in entries]
    return any(_fits(part.split("*"), tool) if "*" in part else part == tool for part in parts)


def _fits(parts: Sequence[str], name: str) -> bool:
    """In one pass, because a project may write these."""
    first, *between, last = parts
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    at, end = len(first), len(name) - len(last)
    for part in between:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def listed(listings: Sequence[Listing], effects: Sequence[Effect], *, named_later: bool = False) -> list[Opinion]:
    """What the lists of all layers say; each stands for itself, so that a lower one never widens a higher."""
    return [one for each in listings for effect in effects for one in _said(each, effect, named_later=named_later)]


def _said(listing: Listing, effect: Effect, *, named_later: bool) -> Iterator[Opinion]:
    kind = KINDS[listing.name]
    name = kind.of(effect)
    if not name:
        return
    found = name in listing
    may_be = not found and kind.of is _tool and _may_be(listing, name)
    if may_be and named_later:
        return
    unknown = GAP in name or (may_be and not kind.allows)
    reason = ""
    if kind.allows and not found and name not in _HERE:
        reason = f"the {kind.noun} {name} is not among those that `{listing.name}` names"
    elif not kind.allows and found:
        reason = f"the {kind.noun} {name} is refused by `{listing.name}`"
    elif not kind.allows and unknown:
        reason = f"which {kind.noun} {name} is cannot be known, and `{listing.name}` refuses some"
    if reason:
        says = Says.ASK if unknown and not found else Says.DENY
        yield opinion(f"list {listing.name}", says, effect, layer=listing.layer, reason=reason)
