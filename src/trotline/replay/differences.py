"""What two states of hooks and policy say differently: entries by event, and rows of the policy."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trotline.config import claude_settings, hooks_json
from trotline.config.jsonc_reader import read
from trotline.config.policies import parsed
from trotline.config.problems import Problem, Severity
from trotline.config.sheet import Sheet
from trotline.editions import Edition
from trotline.guards.lists import Listing
from trotline.guards.policy import Policy, Wish, resolved
from trotline.guards.rules import Rule
from trotline.guards.waivers import Waiver
from trotline.hooks import Hook, Layer, LayerKind

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
NOTHING = ""
NO_EFFECT = "it has no effect: what holds without the project is as strict or stricter"

Scripts = Mapping[str, frozenset[str]]
"""Files by their paths, each with the names by which its content is known."""


class Difference(NamedTuple):
    """One entry or row: what became of it, and every field that is another, as it was and as it is."""

    change: str
    what: str  # hook, rule, level, ...
    where: str  # the event of a hook, the layer of a row
    name: str
    fields: tuple[tuple[str, str, str], ...] = ()
    hooks: tuple[Hook, ...] = ()  # the entries it is about, as they were and as they are
    note: str = ""  # why it does not mean what it says


# Policies


def policy_differences(old: Wish, new: Wish, above: Policy | None = None) -> Iterator[Difference]:
    """`above` is what holds without the project whose policy it is: a project may only be stricter."""
    before, after = _numbered(_rows(old)), _numbered(_rows(new))
    idle = _without_effect(new, above) if above is not None else frozenset()
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was == now:
            continue
        change = ADDED if was is None else REMOVED if now is None else CHANGED
        note = NO_EFFECT if key in idle else ""
        yield Difference(change, key[0], new.layer, key[1], _fields(was or {}, now or {}), note=note)


def _without_effect(wish: Wish, above: Policy) -> frozenset[tuple[str, str]]:
    """Rows that change nothing, because what is above is as strict without them."""
    levels, tab = ({guard: held.level for guard, held in some.items()} for some in (above.levels, above.tab))
    both = resolved([Wish(above.preset_layer, above.preset, levels, tab), wish])
    kinds = (("level", wish.levels, both.levels), ("level in Tab", wish.tab, both.tab))
    idle = {
        (kind, guard)
        for kind, wanted, held in kinds
        for guard in wanted
        if guard not in held or held[guard].layer != wish.layer
    }
    return frozenset(idle | ({("preset", "preset")} if both.preset_layer != wish.layer else set()))


def _numbered(rows: Iterator[tuple[tuple[str, str], dict[str, str]]]) -> dict[tuple[str, str], dict[str, str]]:
    """By kind and name; two that have the same one are told apart by their order."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, name), said in rows:
        again = sum(1 for key in found if key[0] == kind and key[1].partition(" #")[0] == name)
        found[kind, f"{name} #{again + 1}" if again else name] = said
    return found


def wish_of(layer: str, place: str, data: bytes | None, today: str) -> tuple[Wish, tuple[Problem, ...]]:
    return parsed(layer, place, data or b"", today)


def _rows(wish: Wish) -> Iterator[tuple[tuple[str, str], dict[str, str]]]:
    if wish.preset:
        yield ("preset", "preset"), {"preset": wish.preset}
    yield from ((("level", guard), {"level": str(level)}) for guard, level in wish.levels.items())
    yield from ((("level in Tab", guard), {"level": str(level)}) for guard, level in wish.tab.items())
    yield from ((("rule", rule.name), _rule(rule)) for rule in wish.rules)
    yield from ((("list", listing.name), {"names": _listed(listing)}) for listing in wish.lists)
    yield from ((("waiver", f"{one.guard}, {one.row}"), _waiver(one)) for one in wish.waivers)


def _rule(rule: Rule) -> dict[str, str]:
    said = {str(rule.says): rule.message, "when": rule.when, "instead": rule.instead, "events": ", ".join(rule.events)}
    return {name: text for name, text in said.items() if text}


def _listed(listing: Listing) -> str:
    return ", ".join(sorted([*listing.exact, *("*".join(parts) for parts in listing.patterns)]))


def _waiver(waiver: Waiver) -> dict[str, str]:
    return {"until": waiver.until, "owner": waiver.owner, "reason": waiver.reason}


def _fields(was: Mapping[str, str], now: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    names = dict.fromkeys([*was, *now])
    return tuple(
        (name, was.get(name, NOTHING), now.get(name, NOTHING)) for name in names if was.get(name) != now.get(name)
    )


# Hooks


class Entries(NamedTuple):
    """The hooks of a file, why the product would load none of them, and what is wrong with it."""

    hooks: tuple[Hook, ...] = ()
    void: str = ""
    problems: tuple[Problem, ...] = ()


def entries_of(kind: LayerKind, place: str, data: bytes | None, edition: Edition) -> Entries:
    """As they are configured. Nothing of the disk is looked at, because the file may be of another one."""
    if data is None:
        return Entries()
    document = read(data)
    sheet = Sheet(Layer(kind=kind, file=place, root="", cwd=""), document, edition)
    if kind.from_claude:
        hooks = claude_settings.read_settings(sheet, document.root)
    else:
        hooks = hooks_json.read_hooks(sheet, document.root, version_required=edition.version_required)
    wrong = [problem for problem in sheet.problems if problem.severity is not Severity.NOTE]
    return Entries(tuple(hooks), sheet.void_because(), tuple(wrong))


def hook_differences(old: Entries, new: Entries) -> Iterator[Difference]:
    """Entries that are the same are paired first, then those that run the same; what is left came or went."""
    if old.void != new.void:
        yield Difference(CHANGED, "file", "all events", "whether it is loaded", (("void", old.void, new.void),))
    left = list(old.hooks)
    rest = [hook for hook in new.hooks if not _taken(left, hook, _whole)]
    for hook in rest:
        before = _taken(left, hook, _line)
        if before is None:
            yield Difference(ADDED, "hook", hook.event, hook.line, _fields({}, _settings(hook)), (hook,))
        else:
            fields = _fields(_settings(before), _settings(hook))
            yield Difference(CHANGED, "hook", hook.event, hook.line, fields, (before, hook))
    for hook in left:
        yield Difference(REMOVED, "hook", hook.event, hook.line, _fields(_settings(hook), {}), (hook,))


def script_differences(old: Scripts, new: Scripts) -> Iterator[Difference]:
    """Files that hooks run: what they say is another, whether or not any entry is."""
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was is None or now is None:
            yield Difference(ADDED if was is None else REMOVED, "script", "beside hooks.json", name)
        elif was.isdisjoint(now):
            yield Difference(CHANGED, "script", "beside hooks.json", name)


def _taken(left: list[Hook], like: Hook, by: Any) -> Hook | None:
    """The first that is alike, taken out of those that are left."""
    found = next((hook for hook in left if by(hook) == by(like)), None)
    if found is not None:
        left.remove(found)
    return found


def _line(hook: Hook) -> tuple[str, str]:
    return hook.event, hook.line


def _whole(hook: Hook) -> tuple[Any, ...]:
    return *_line(hook), _settings(hook)


def _settings(hook: Hook) -> dict[str, str]:
    said = {
        "matcher": hook.matcher.source if hook.matcher else "",
        "model": hook.model or "",
        "timeout": f"{hook.timeout:g}",
        "failClosed": "true" if hook.fail_closed else "",
        "loop_limit": "null" if hook.loop_limit is None else str(hook.loop_limit),
    }
    if hook.event not in LOOPS:
        del said["loop_limit"]
    return {name: text for name, text in said.items() if text}


LOOPS = frozenset({"stop", "subagentStop"})
