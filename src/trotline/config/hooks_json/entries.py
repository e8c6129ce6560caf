"""One entry of hooks.json: every rule that it must keep is a small function here, and all of them always speak."""

from collections.abc import Callable
from typing import NamedTuple

from trotline.config.hooks_json import cursor_tools, foreign_names
from trotline.config.hooks_json.layer_file import Sheet
from trotline.domain.contracts import Contract
from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook, Matcher
from trotline.formats import js_regex
from trotline.formats.jsonc import JsonKind, JsonNode

MILLISECONDS_FROM = 1000
"""No hook is meant to take a quarter of an hour; from here on a timeout was written in milliseconds."""

CURSOR_KEYS = frozenset({"command", "type", "prompt", "model", "timeout", "matcher", "loop_limit", "failClosed"})

LOOPING = frozenset({"stop", "subagentStop"})

TYPES: dict[str, tuple[frozenset[JsonKind], str]] = {
    "command": (frozenset({JsonKind.STRING}), "a string"),
    "prompt": (frozenset({JsonKind.STRING}), "a string"),
    "model": (frozenset({JsonKind.STRING}), "a string"),
    "type": (frozenset({JsonKind.STRING}), "`command` or `prompt`"),
    "matcher": (frozenset({JsonKind.STRING}), "a string: a JavaScript regular expression"),
    "timeout": (frozenset({JsonKind.NUMBER}), "a number of seconds, not in quotes"),
    "failClosed": (frozenset({JsonKind.BOOLEAN}), "true or false, not in quotes"),
    "loop_limit": (frozenset({JsonKind.NUMBER, JsonKind.NULL}), "a whole number, or null for no limit"),
}


class HookEntry(NamedTuple):
    """An entry on the sheet, with its event's contract and the name a person would call it by."""

    sheet: Sheet
    contract: Contract
    name: str
    node: JsonNode

    def report(self, code: str, node: JsonNode, message: str, hint: str = "") -> None:
        self.sheet.report(code, node, message, hint, entry=self.name)

    def head(self) -> JsonNode:
        """The opening brace: where a complaint about something absent is shown."""
        return JsonNode(self.node.kind, self.node.start, self.node.start + 1)

    def of_kind(self, key: str) -> JsonNode | None:
        """The value under this key, if it has a type that the key accepts and the edition knows the key."""
        value = self.node.get(key)
        known = key in self.sheet.edition.entry_keys
        return value if value is not None and known and value.kind in TYPES[key][0] else None

    def text(self, key: str) -> str:
        value = self.of_kind(key)
        return str(value.value) if value is not None else ""


def read_entries(sheet: Sheet, event: str, items: list[JsonNode]) -> list[Hook]:
    contract = EVENTS[event].contract
    hooks = []
    for index, node in enumerate(items):
        entry = HookEntry(sheet, contract, f"{event}[{index}]", node)
        if node.kind is not JsonKind.OBJECT:
            entry.report("TL210", node, f"`{entry.name}` is {node.kind.value}, not an object")
            continue
        for rule in RULES:
            rule(entry)
        hook = build(entry)
        if hook is not None:
            hooks.append(hook)
    return hooks


def build(entry: HookEntry) -> Hook | None:
    """The hook that this entry configures, as far as it makes sense; a key that cannot be used has its default."""
    prompt = entry.text("prompt") if entry.text("type") == "prompt" else ""
    command = "" if prompt or entry.text("type") == "prompt" else entry.text("command")
    if not command.strip() and not prompt.strip():
        return None
    matcher, timeout = entry.of_kind("matcher"), entry.of_kind("timeout")
    loop_limit, fail_closed = entry.of_kind("loop_limit"), entry.of_kind("failClosed")
    source = str(matcher.value) if matcher is not None else ""
    identity = entry.sheet.hook_id(entry.contract.name, command or prompt, source)
    entry.sheet.commands[identity] = (entry.node.members["command" if command else "prompt"].value, entry.name)
    return Hook(
        id=identity,
        event=entry.contract.name,
        layer=entry.sheet.layer,
        place=entry.sheet.get_place(entry.node),
        command=command,
        prompt=prompt,
        model=entry.text("model") or None,
        matcher=Matcher(source) if matcher is not None else None,
        timeout=seconds(timeout.value) if timeout is not None and timeout.value > 0 else TIMEOUT_SECONDS,
        fail_closed=bool(fail_closed.value) if fail_closed is not None else False,
        loop_limit=LOOP_LIMIT if loop_limit is None else _limit(loop_limit),
    )


MAX_SECONDS = 2_147_483.0
"""The longest time that Node's timers know; nothing waits longer."""


def seconds(value: float) -> float:
    return float(min(value, MAX_SECONDS))


def _limit(node: JsonNode) -> int | None:
    if node.kind is JsonKind.NULL:
        return None
    return node.value if isinstance(node.value, int) and node.value > 0 else LOOP_LIMIT


def has_something_to_run(entry: HookEntry) -> None:
    if "hooks" in entry.node.members:
        message = "this is a group as Claude Code writes them; Cursor's entries are flat"
        hint = "move `command` and `matcher` side by side into the entry"
        entry.report("TL208", entry.node.members["hooks"].key, message, hint)
        return
    kind = entry.text("type") or "command"
    wanted = "prompt" if kind == "prompt" else "command"
    if wanted not in entry.node.members:
        entry.report("TL211", entry.head(), f"`{entry.name}` has no `{wanted}`", f"add `{wanted}`, or remove the entry")
    elif entry.of_kind(wanted) and not entry.text(wanted).strip():
        entry.report("TL211", entry.node.members[wanted].value, f"`{wanted}` is empty", "say what to run")
    elif {"command", "prompt"} <= entry.node.members.keys():
        other = "command" if wanted == "prompt" else "prompt"
        entry.report("TL212", entry.node.members[other].key, f"`{other}` is not looked at beside `{wanted}`")


def has_the_right_types(entry: HookEntry) -> None:
    for key, (kinds, words) in TYPES.items():
        value = entry.node.get(key)
        if value is not None and value.kind not in kinds and value.kind is not JsonKind.BROKEN:
            entry.report("TL213", value, f"`{key}` is {value.kind.value}; it must be {words}")
    kind = entry.of_kind("type")
    if kind is not None and kind.value not in {"command", "prompt"}:
        hint = "write `command` or `prompt`"
        entry.report("TL219", kind, f"there is no hook of type `{kind.value}`", hint)


def has_known_keys(entry: HookEntry) -> None:
    for key, member in entry.node.members.items():
        if key in CURSOR_KEYS:
            if key not in entry.sheet.edition.entry_keys:
                message = f"edition {entry.sheet.edition.name} did not have `{key}` yet"
                entry.report("TL222", member.key, message, "leave it out for such old clients")
        elif key != "hooks":
            whose = foreign_names.KEYS_ELSEWHERE.get(key, "")
            harmless = key in foreign_names.COMMENTS_TO_PEOPLE
            message = f"Cursor does not know `{key}` and ignores it"
            entry.report("TL215" if harmless else "TL214", member.key, message, f"`{key}` is {whose}" if whose else "")


def waits_sensibly(entry: HookEntry) -> None:
    timeout = entry.of_kind("timeout")
    if timeout is None:
        return
    if timeout.value <= 0:
        message = f"`timeout` is {timeout.value:g}; it must be more than 0 seconds"
        entry.report("TL216", timeout, message, f"leave it out for the default of {TIMEOUT_SECONDS:g} seconds")
    elif timeout.value >= MILLISECONDS_FROM:
        wait = seconds(timeout.value)
        message = f"`timeout` is in seconds: {wait:g} is {_span(wait)}"
        entry.report("TL217", timeout, message, f"did you mean {wait / 1000:g}?")


def _span(seconds: float) -> str:
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def loops_sensibly(entry: HookEntry) -> None:
    limit = entry.of_kind("loop_limit")
    if limit is None:
        return
    if limit.kind is JsonKind.NUMBER and (not isinstance(limit.value, int) or limit.value < 1):
        entry.report("TL218", limit, f"`loop_limit` is {limit.value:g}; it must be 1 or more", "null means no limit")
    if entry.contract.name not in LOOPING:
        message = f"`loop_limit` has no effect on {entry.contract.name}"
        entry.report("TL221", entry.node.members["loop_limit"].key, message, "it belongs to stop and subagentStop")


def can_refuse_if_it_fails_closed(entry: HookEntry) -> None:
    closed = entry.of_kind("failClosed")
    refuses = entry.sheet.edition.refuses(entry.contract.name, refusable=entry.contract.refusable)
    if closed is not None and closed.value and not refuses:
        message = f"{entry.contract.name} cannot block, so failing closed does nothing"
        entry.report("TL220", entry.node.members["failClosed"].key, message, "remove it, or guard an earlier event")


def names_a_model_only_for_prompts(entry: HookEntry) -> None:
    if "model" in entry.node.members and entry.text("type") != "prompt":
        entry.report("TL221", entry.node.members["model"].key, "`model` has no effect on a command hook")


def matches_something(entry: HookEntry) -> None:
    node = entry.of_kind("matcher")
    if node is None:
        return
    matcher = Matcher(str(node.value))
    if not matcher.takes_all and not _is_regular_expression(entry, node):
        return
    subject = entry.contract.subject
    if not subject.exists:
        if not matcher.takes_all:
            message = f"{entry.contract.name} offers nothing to match; the hook runs every time"
            entry.report("TL302", node, message, "remove the matcher")
        return
    known = _known_subjects(entry.contract)
    if known and "mcp" not in matcher.source.lower() and not any(matcher.fit((name,)).applies for name in known):
        _never(entry, node, matcher, subject.word)


def _known_subjects(contract: Contract) -> tuple[str, ...]:
    """All that a matcher of this event can meet; empty when that is anything, such as a command or an MCP tool."""
    if contract.subject.word:
        return (contract.subject.word,)
    return (*cursor_tools.SEEN, *cursor_tools.UNVERIFIED) if contract.generic else ()


def _is_regular_expression(entry: HookEntry, node: JsonNode) -> bool:
    try:
        pattern = js_regex.parse_js_regex(str(node.value))
    except js_regex.PatternError as error:
        message = f"the matcher is not a JavaScript regular expression: {error.message}"
        at = entry.sheet.document.offset_in_string(node, error.offset)
        entry.report("TL301", JsonNode(JsonKind.STRING, at, at + 1), message)
        return False
    if pattern.re2 is None:
        message = f"the matcher uses a {pattern.unsupported}, which runs in a bounded child process"
        entry.report("TL304", node, message, "a plainer pattern is quicker, and always decided")
    return True


def _never(entry: HookEntry, node: JsonNode, matcher: Matcher, word: str) -> None:
    if word:
        message = f"{entry.contract.name} is matched against the word `{word}`, which `{matcher.source}` does not fit"
        entry.report("TL303", node, message, f"remove the matcher, or write `{word}`")
        return
    renamed = next((ours for theirs, ours in cursor_tools.CALLED_ELSEWHERE.items() if theirs in matcher.source), "")
    hint = (
        f"Cursor calls that tool `{renamed}`"
        if renamed
        else f"known tools: {', '.join(cursor_tools.SEEN[:7])}, MCP:<tool>"
    )
    entry.report("TL303", node, f"`{matcher.source}` matches no tool that Cursor is known to have", hint)


RULES: tuple[Callable[[HookEntry], None], ...] = (
    has_something_to_run,
    has_the_right_types,
    has_known_keys,
    waits_sensibly,
    loops_sensibly,
    can_refuse_if_it_fails_closed,
    names_a_model_only_for_prompts,
    matches_something,
)
