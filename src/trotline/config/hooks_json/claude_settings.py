"""Read the hooks in Claude Code's settings files as Cursor does: with mapped events and tools."""

from collections.abc import Iterator

from trotline.agents.claude_code import EVENT_MAP, OTHER_EVENTS, UNMAPPED_TOOLS, VOCABULARY, list_plain_names
from trotline.config.hooks_json.cursor_file import limit_timeout
from trotline.config.hooks_json.hooks_file import HooksFile
from trotline.domain.editions import LOOP_LIMIT
from trotline.domain.hooks import Hook, Matcher
from trotline.formats import js_regex
from trotline.formats.jsonc import JsonKind, JsonNode

CLAUDE_TIMEOUT = 600.0
CLAUDE_PROMPT_TIMEOUT = 30.0
"""The default timeouts in seconds: of hooks, and of hooks on submitted prompts."""


def read_claude_hooks(file: HooksFile, root: JsonNode | None) -> list[Hook]:
    """Return the hooks of a settings file; other settings in it are ignored."""
    if root is None or root.kind is not JsonKind.OBJECT:
        return []
    disabled = root.get("disableAllHooks")
    if disabled is not None and disabled.value is True:
        key = root.members["disableAllHooks"].key
        file.report("TL508", key, "`disableAllHooks` turns every hook of this file off")
        return []
    hooks = root.get("hooks")
    if hooks is None:
        return []
    if hooks.kind is not JsonKind.OBJECT:
        file.report("TL205", hooks, f"`hooks` is {hooks.kind.value}, not an object")
        return []
    return [hook for event in hooks.members for hook in _read_event(file, hooks, event)]


def _read_event(file: HooksFile, hooks: JsonNode, event: str) -> Iterator[Hook]:
    key, value = hooks.members[event].key, hooks.members[event].value
    if event in OTHER_EVENTS:
        file.report("TL509", key, f"Cursor does not take `{event}` from Claude Code's files")
    elif event not in EVENT_MAP:
        file.report("TL206", key, f"neither Claude Code nor Cursor knows an event `{event}`")
    elif value.kind is not JsonKind.ARRAY:
        file.report("TL209", value, f"`{event}` is {value.kind.value}, not a list of groups")
    else:
        for index, group in enumerate(value.items):
            yield from _read_group(file, event, f"{event}[{index}]", group)


def _read_group(file: HooksFile, event: str, name: str, group: JsonNode) -> Iterator[Hook]:
    inner = group.get("hooks") if group.kind is JsonKind.OBJECT else None
    if inner is None or inner.kind is not JsonKind.ARRAY:
        hint = "Claude Code writes `{matcher, hooks: [...]}`"
        file.report("TL210", group, f"`{name}` is not a group with a list of `hooks`", hint, entry=name)
        return
    matcher = _read_matcher(file, name, group)
    for index, node in enumerate(inner.items):
        hook = _read_hook(file, event, f"{name}.hooks[{index}]", node, matcher)
        if hook is not None:
            yield hook


def _read_matcher(file: HooksFile, name: str, group: JsonNode) -> Matcher | None:
    node = group.get("matcher")
    if node is None:
        return None
    if node.kind is not JsonKind.STRING:
        file.report("TL213", node, f"`matcher` is {node.kind.value}; it must be a string", entry=name)
        return None
    names = list_plain_names(str(node.value))
    for tool in names:
        if tool in UNMAPPED_TOOLS:
            file.report("TL510", node, f"Cursor has no tool for Claude Code's `{tool}`", entry=name)
    if not names and str(node.value) not in {"", "*"}:
        try:
            js_regex.parse_js_regex(str(node.value))
        except js_regex.PatternError as error:
            at = file.document.offset_in_string(node, error.offset)
            file.report("TL301", (at, at + 1), f"the matcher is not a regular expression: {error.message}", entry=name)
            return None
    return Matcher(str(node.value), names)


def _read_hook(file: HooksFile, event: str, name: str, node: JsonNode, matcher: Matcher | None) -> Hook | None:
    if node.kind is not JsonKind.OBJECT:
        file.report("TL210", node, f"`{name}` is {node.kind.value}, not an object", entry=name)
        return None
    kind = _get_text(node, "type") or "command"
    if kind not in {"command", "prompt"}:
        file.report("TL512", node.members["type"].value, f"Cursor runs no hooks of type `{kind}`", entry=name)
        return None
    line = _get_text(node, kind)
    if not line.strip():
        file.report("TL211", (node.start, node.start + 1), f"`{name}` has no `{kind}`", entry=name)
        return None
    cursor_event = EVENT_MAP[event]
    return Hook(
        id=file.register_hook(cursor_event, node.members[kind].value, matcher.source if matcher else "", name),
        event=cursor_event,
        layer=file.layer,
        place=file.get_place(node),
        command=line if kind == "command" else "",
        prompt=line if kind == "prompt" else "",
        model=_get_text(node, "model") or None,
        matcher=matcher,
        timeout=_read_timeout(node, cursor_event),
        fail_closed=_get_text(node, "onFailure") == "block",
        loop_limit=LOOP_LIMIT if file.edition.loop_limit_fixed else None,
        vocabulary=VOCABULARY,
    )


def _read_timeout(node: JsonNode, cursor_event: str) -> float:
    timeout = node.get("timeout")
    if timeout is not None and timeout.kind is JsonKind.NUMBER and timeout.value > 0:
        return limit_timeout(timeout.value)
    return CLAUDE_PROMPT_TIMEOUT if cursor_event == "beforeSubmitPrompt" else CLAUDE_TIMEOUT


def _get_text(node: JsonNode, key: str) -> str:
    value = node.get(key)
    return str(value.value) if value is not None and value.kind is JsonKind.STRING else ""
