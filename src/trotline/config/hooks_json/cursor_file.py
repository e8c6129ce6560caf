"""Read Cursor's hooks.json: a version, and for each event a flat list of entries.

Every rule about an entry is a small function in RULES. All rules are applied to every entry.
"""

from collections.abc import Callable
from typing import NamedTuple

from trotline.config.hooks_json.hooks_file import HooksFile
from trotline.config.hooks_json.known_names import (
    ALL_FOREIGN_EVENTS,
    COMMENT_KEYS,
    CONFIRMED_TOOLS,
    FOREIGN_KEYS,
    FOREIGN_TOOLS,
    INVENTED_EVENTS,
    UNVERIFIED_TOOLS,
)
from trotline.domain.contracts import Contract
from trotline.domain.editions import LOOP_LIMIT, TIMEOUT_SECONDS
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook, Matcher
from trotline.formats import js_regex
from trotline.formats.jsonc import JsonKind, JsonNode

TOP_LEVEL_KEYS = frozenset({"version", "hooks"})

MAX_TIMEOUT = 2_147_483.0
"""The longest timeout in seconds: the greatest that Node's timers support."""

MIN_MILLISECONDS = 1000
"""The timeout from which it was probably written in milliseconds, because no hook should take a quarter of an hour."""

LOOPING_EVENTS = frozenset({"stop", "subagentStop"})

STRING = (JsonKind.STRING,)
TYPES: dict[str, tuple[tuple[JsonKind, ...], str]] = {
    "command": (STRING, "a string"),
    "prompt": (STRING, "a string"),
    "model": (STRING, "a string"),
    "type": (STRING, "`command` or `prompt`"),
    "matcher": (STRING, "a string: a JavaScript regular expression"),
    "timeout": ((JsonKind.NUMBER,), "a number of seconds, not in quotes"),
    "failClosed": ((JsonKind.BOOLEAN,), "true or false, not in quotes"),
    "loop_limit": ((JsonKind.NUMBER, JsonKind.NULL), "a whole number, or null for no limit"),
}
"""The keys of an entry, each with the kinds of its values and their description."""


def read_cursor_hooks(file: HooksFile, root: JsonNode | None, *, version_required: bool) -> list[Hook]:
    """Return the hooks that can be read; everything else is reported."""
    if root is None:
        return []
    if root.kind is not JsonKind.OBJECT:
        file.report("TL201", root, f"the file holds {root.kind.value}, not an object")
        return []
    _check_version(file, root, required=version_required)
    for key, member in root.members.items():
        if key not in TOP_LEVEL_KEYS and not key.startswith("$"):
            file.report("TL215", member.key, f"`{key}` means nothing at the top of hooks.json")
    hooks = root.get("hooks")
    if hooks is None or hooks.kind is not JsonKind.OBJECT:
        message = f"`hooks` is {hooks.kind.value}, not an object" if hooks else "there is no `hooks` object"
        file.report("TL205", hooks or (root.start, root.start + 1), message, 'write `"hooks": {"stop": [...]}`')
        return []
    if not hooks.members:
        file.report("TL223", hooks, "no event is configured here")
    return [hook for event in hooks.members for hook in _read_event(file, hooks, event)]


def _check_version(file: HooksFile, root: JsonNode, *, required: bool) -> None:
    version = root.get("version")
    hint = 'write `"version": 1`'
    if version is None:
        if required:
            file.report("TL202", (root.start, root.start + 1), "there is no `version`", f"{hint} at the top")
    elif version.kind is not JsonKind.NUMBER or not isinstance(version.value, int) or version.value < 1:
        shown = file.document.text[version.start : version.end][:40]
        file.report("TL203", version, f"`version` is `{shown}`, not a whole number from 1", hint)
    elif version.value != 1:
        file.report("TL204", version, f"the documentation knows no version {version.value}", hint)


def _read_event(file: HooksFile, hooks: JsonNode, event: str) -> list[Hook]:
    member = hooks.members[event]
    if event not in file.edition.events:
        code, message, hint = _describe_unknown_event(file, event)
        file.report(code, member.key, message, hint)
        if event not in EVENTS:
            return []
    if member.value.kind is not JsonKind.ARRAY:
        hint = "put it in a list: `[...]`"
        file.report("TL209", member.value, f"`{event}` is {member.value.kind.value}, not a list of entries", hint)
        return []
    entries = (_read_entry(file, event, index, node) for index, node in enumerate(member.value.items))
    return [hook for hook in entries if hook is not None]


def _describe_unknown_event(file: HooksFile, event: str) -> tuple[str, str, str]:
    if event in EVENTS:
        return "TL206", f"edition {file.edition.name} does not know the event `{event}`", ""
    if event in INVENTED_EVENTS:
        return "TL206", f"there is no event `{event}`", INVENTED_EVENTS[event]
    if event in ALL_FOREIGN_EVENTS:
        product, nearest = ALL_FOREIGN_EVENTS[event]
        hint = f"Cursor's event is `{nearest}`" if nearest else "Cursor has none like it; remove the entry"
        return "TL207", f"`{event}` is an event of {product}, not of Cursor", hint
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for an unknown name

    names = {name.lower(): name for name in file.edition.events}
    near = get_close_matches(event.lower(), names, n=1, cutoff=0.6)
    hint = f"did you mean `{names[near[0]]}`?" if near else "`trotline events` lists them"
    return "TL206", f"there is no event `{event}`", hint


# Entries


class HookEntry(NamedTuple):
    """An entry of a hooks file, with the contract of its event and its name for messages."""

    file: HooksFile
    contract: Contract
    name: str
    node: JsonNode

    def report(self, code: str, node: JsonNode, message: str, hint: str = "") -> None:
        """Add a problem of this entry to those of its file."""
        self.file.report(code, node, message, hint, entry=self.name)

    def get_value(self, key: str) -> JsonNode | None:
        """Return the value of a key if the edition knows the key and the value has an allowed type."""
        value = self.node.get(key)
        is_known = key in self.file.edition.entry_keys
        return value if value is not None and is_known and value.kind in TYPES[key][0] else None

    def get_text(self, key: str) -> str:
        """Return the value of a key that takes a string, or ""."""
        value = self.get_value(key)
        return str(value.value) if value is not None else ""


def _read_entry(file: HooksFile, event: str, index: int, node: JsonNode) -> Hook | None:
    entry = HookEntry(file, EVENTS[event].contract, f"{event}[{index}]", node)
    if node.kind is not JsonKind.OBJECT:
        entry.report("TL210", node, f"`{entry.name}` is {node.kind.value}, not an object")
        return None
    for rule in RULES:
        rule(entry)
    return _build_hook(entry)


def _build_hook(entry: HookEntry) -> Hook | None:
    """Build the hook of an entry; keys with invalid values get their defaults."""
    key = "prompt" if entry.get_text("type") == "prompt" else "command"
    line = entry.get_text(key)
    if not line.strip():
        return None
    matcher, timeout = entry.get_value("matcher"), entry.get_value("timeout")
    loop_limit, fail_closed = entry.get_value("loop_limit"), entry.get_value("failClosed")
    source = str(matcher.value) if matcher is not None else ""
    event = entry.contract.name
    return Hook(
        id=entry.file.register_hook(event, entry.node.members[key].value, source, entry.name),
        event=event,
        layer=entry.file.layer,
        place=entry.file.get_place(entry.node),
        command=line if key == "command" else "",
        prompt=line if key == "prompt" else "",
        model=entry.get_text("model") or None,
        matcher=Matcher(source) if matcher is not None else None,
        timeout=limit_timeout(timeout.value) if timeout is not None and timeout.value > 0 else TIMEOUT_SECONDS,
        fail_closed=bool(fail_closed.value) if fail_closed is not None else False,
        loop_limit=LOOP_LIMIT if loop_limit is None else _read_loop_limit(loop_limit),
    )


def limit_timeout(seconds: float) -> float:
    """Return a timeout of at most MAX_TIMEOUT."""
    return float(min(seconds, MAX_TIMEOUT))


def _read_loop_limit(node: JsonNode) -> int | None:
    if node.kind is JsonKind.NULL:
        return None
    return node.value if isinstance(node.value, int) and node.value > 0 else LOOP_LIMIT


# Rules about entries


def check_line(entry: HookEntry) -> None:
    """Check that the entry has a command or a prompt to run."""
    if "hooks" in entry.node.members:
        message = "this is a group as Claude Code writes them; Cursor's entries are flat"
        hint = "move `command` and `matcher` side by side into the entry"
        entry.report("TL208", entry.node.members["hooks"].key, message, hint)
        return
    is_prompt = entry.get_text("type") == "prompt"
    key, other = ("prompt", "command") if is_prompt else ("command", "prompt")
    if key not in entry.node.members:
        brace = JsonNode(entry.node.kind, entry.node.start, entry.node.start + 1)
        entry.report("TL211", brace, f"`{entry.name}` has no `{key}`", f"add `{key}`, or remove the entry")
    elif entry.get_value(key) and not entry.get_text(key).strip():
        entry.report("TL211", entry.node.members[key].value, f"`{key}` is empty", "say what to run")
    elif other in entry.node.members:
        entry.report("TL212", entry.node.members[other].key, f"`{other}` is not looked at beside `{key}`")


def check_types(entry: HookEntry) -> None:
    """Check the types of the values, and the value of `type`."""
    for key, (kinds, description) in TYPES.items():
        value = entry.node.get(key)
        if value is not None and value.kind not in kinds and value.kind is not JsonKind.BROKEN:
            entry.report("TL213", value, f"`{key}` is {value.kind.value}; it must be {description}")
    kind = entry.get_value("type")
    if kind is not None and kind.value not in {"command", "prompt"}:
        hint = "write `command` or `prompt`"
        entry.report("TL219", kind, f"there is no hook of type `{kind.value}`", hint)


def check_keys(entry: HookEntry) -> None:
    """Check that Cursor knows the keys."""
    for key, member in entry.node.members.items():
        if key in TYPES:
            if key not in entry.file.edition.entry_keys:
                message = f"edition {entry.file.edition.name} did not have `{key}` yet"
                entry.report("TL222", member.key, message, "leave it out for such old clients")
        elif key != "hooks":
            message = f"Cursor does not know `{key}` and ignores it"
            hint = f"`{key}` is {FOREIGN_KEYS[key]}" if key in FOREIGN_KEYS else ""
            entry.report("TL215" if key in COMMENT_KEYS else "TL214", member.key, message, hint)


def check_timeout(entry: HookEntry) -> None:
    """Check that the timeout is positive and in seconds."""
    timeout = entry.get_value("timeout")
    if timeout is None:
        return
    if timeout.value <= 0:
        message = f"`timeout` is {timeout.value:g}; it must be more than 0 seconds"
        entry.report("TL216", timeout, message, f"leave it out for the default of {TIMEOUT_SECONDS:g} seconds")
    elif timeout.value >= MIN_MILLISECONDS:
        wait = limit_timeout(timeout.value)
        message = f"`timeout` is in seconds: {wait:g} is {_format_time(wait)}"
        entry.report("TL217", timeout, message, f"did you mean {wait / 1000:g}?")


def _format_time(seconds: float) -> str:
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def check_loop_limit(entry: HookEntry) -> None:
    """Check the limit of follow-ups, and that the event has follow-ups."""
    limit = entry.get_value("loop_limit")
    if limit is None:
        return
    if limit.kind is JsonKind.NUMBER and (not isinstance(limit.value, int) or limit.value < 1):
        entry.report("TL218", limit, f"`loop_limit` is {limit.value:g}; it must be 1 or more", "null means no limit")
    if entry.contract.name not in LOOPING_EVENTS:
        message = f"`loop_limit` has no effect on {entry.contract.name}"
        entry.report("TL221", entry.node.members["loop_limit"].key, message, "it belongs to stop and subagentStop")


def check_fail_closed(entry: HookEntry) -> None:
    """Check that a hook that fails closed can refuse the event."""
    closed = entry.get_value("failClosed")
    refuses = entry.file.edition.refuses(entry.contract.name, refusable=entry.contract.refusable)
    if closed is not None and closed.value and not refuses:
        message = f"{entry.contract.name} cannot block, so failing closed does nothing"
        entry.report("TL220", entry.node.members["failClosed"].key, message, "remove it, or guard an earlier event")


def check_model(entry: HookEntry) -> None:
    """Check that only prompt hooks name a model."""
    if "model" in entry.node.members and entry.get_text("type") != "prompt":
        entry.report("TL221", entry.node.members["model"].key, "`model` has no effect on a command hook")


def check_matcher(entry: HookEntry) -> None:
    """Check that the matcher is a regular expression and can match."""
    node = entry.get_value("matcher")
    if node is None:
        return
    matcher = Matcher(str(node.value))
    if not matcher.takes_all and not _check_pattern(entry, node):
        return
    subject = entry.contract.subject
    if not subject.exists:
        if not matcher.takes_all:
            message = f"{entry.contract.name} offers nothing to match; the hook runs every time"
            entry.report("TL302", node, message, "remove the matcher")
        return
    known = _list_subjects(entry.contract)
    if known and "mcp" not in matcher.source.lower() and not any(matcher.fit((name,)).applies for name in known):
        _report_no_match(entry, node, matcher, subject.word)


def _list_subjects(contract: Contract) -> tuple[str, ...]:
    """Return all texts that a matcher of this event is applied to; empty if it can be any, such as a command."""
    if contract.subject.word:
        return (contract.subject.word,)
    return (*CONFIRMED_TOOLS, *UNVERIFIED_TOOLS) if contract.generic else ()


def _check_pattern(entry: HookEntry, node: JsonNode) -> bool:
    try:
        pattern = js_regex.parse_js_regex(str(node.value))
    except js_regex.PatternError as error:
        message = f"the matcher is not a JavaScript regular expression: {error.message}"
        at = entry.file.document.offset_in_string(node, error.offset)
        entry.report("TL301", JsonNode(JsonKind.STRING, at, at + 1), message)
        return False
    if pattern.re2 is None:
        message = f"the matcher uses a {pattern.unsupported}, which runs in a bounded child process"
        entry.report("TL304", node, message, "a plainer pattern is quicker, and always decided")
    return True


def _report_no_match(entry: HookEntry, node: JsonNode, matcher: Matcher, word: str) -> None:
    if word:
        message = f"{entry.contract.name} is matched against the word `{word}`, which `{matcher.source}` does not fit"
        entry.report("TL303", node, message, f"remove the matcher, or write `{word}`")
        return
    cursor_name = next((name for foreign, name in FOREIGN_TOOLS.items() if foreign in matcher.source), "")
    hint = f"known tools: {', '.join(CONFIRMED_TOOLS[:7])}, MCP:<tool>"
    if cursor_name:
        hint = f"Cursor calls that tool `{cursor_name}`"
    entry.report("TL303", node, f"`{matcher.source}` matches no tool that Cursor is known to have", hint)


RULES: tuple[Callable[[HookEntry], None], ...] = (
    check_line,
    check_types,
    check_keys,
    check_timeout,
    check_loop_limit,
    check_fail_closed,
    check_model,
    check_matcher,
)
