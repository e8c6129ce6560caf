"""Claude Code's settings files, read as Cursor reads them: mapped events, mapped tools, no limit on follow-ups."""

from trotline.agents.claude_code import EVENT_MAP, OTHER_EVENTS, UNMAPPED_TOOLS, VOCABULARY, list_plain_names
from trotline.config.hooks_json.entries import seconds
from trotline.config.hooks_json.layer_file import Sheet
from trotline.domain.editions import LOOP_LIMIT
from trotline.domain.hooks import Hook, Matcher
from trotline.formats import js_regex
from trotline.formats.jsonc import JsonKind, JsonNode

CLAUDE_TIMEOUT = 600.0
PROMPT_TIMEOUT = 30.0


def read_settings(sheet: Sheet, root: JsonNode | None) -> list[Hook]:
    """The hooks in a settings file; the rest of the file is none of our business."""
    if root is None or root.kind is not JsonKind.OBJECT:
        return []
    disabled = root.get("disableAllHooks")
    if disabled is not None and disabled.value is True:
        sheet.report(
            "TL508", root.members["disableAllHooks"].key, "`disableAllHooks` turns every hook of this file off"
        )
        return []
    hooks = root.get("hooks")
    if hooks is None:
        return []
    if hooks.kind is not JsonKind.OBJECT:
        sheet.report("TL205", hooks, f"`hooks` is {hooks.kind.value}, not an object")
        return []
    found = []
    for event, member in hooks.members.items():
        if event not in EVENT_MAP:
            _not_taken(sheet, event, member.key)
        elif member.value.kind is not JsonKind.ARRAY:
            sheet.report("TL209", member.value, f"`{event}` is {member.value.kind.value}, not a list of groups")
        else:
            for index, group in enumerate(member.value.items):
                found += _group(sheet, event, f"{event}[{index}]", group)
    return found


def _not_taken(sheet: Sheet, event: str, key: JsonNode) -> None:
    if event in OTHER_EVENTS:
        sheet.report("TL509", key, f"Cursor does not take `{event}` from Claude Code's files")
    else:
        sheet.report("TL206", key, f"neither Claude Code nor Cursor knows an event `{event}`")


def _group(sheet: Sheet, event: str, name: str, group: JsonNode) -> list[Hook]:
    inner = group.get("hooks") if group.kind is JsonKind.OBJECT else None
    if inner is None or inner.kind is not JsonKind.ARRAY:
        hint = "Claude Code writes `{matcher, hooks: [...]}`"
        sheet.report("TL210", group, f"`{name}` is not a group with a list of `hooks`", hint, entry=name)
        return []
    matcher = _matcher(sheet, name, group)
    found = []
    for index, node in enumerate(inner.items):
        hook = _hook(sheet, event, f"{name}.hooks[{index}]", node, matcher)
        if hook is not None:
            found.append(hook)
    return found


def _matcher(sheet: Sheet, name: str, group: JsonNode) -> Matcher | None:
    node = group.get("matcher")
    if node is None:
        return None
    if node.kind is not JsonKind.STRING:
        sheet.report("TL213", node, f"`matcher` is {node.kind.value}; it must be a string", entry=name)
        return None
    names = list_plain_names(str(node.value))
    for tool in names:
        if tool in UNMAPPED_TOOLS:
            sheet.report("TL510", node, f"Cursor has no tool for Claude Code's `{tool}`", entry=name)
    if not names and str(node.value) not in {"", "*"}:
        try:
            js_regex.parse_js_regex(str(node.value))
        except js_regex.PatternError as error:
            at = sheet.document.offset_in_string(node, error.offset)
            sheet.report("TL301", (at, at + 1), f"the matcher is not a regular expression: {error.message}", entry=name)
            return None
    return Matcher(str(node.value), names)


def _hook(sheet: Sheet, event: str, name: str, node: JsonNode, matcher: Matcher | None) -> Hook | None:
    if node.kind is not JsonKind.OBJECT:
        sheet.report("TL210", node, f"`{name}` is {node.kind.value}, not an object", entry=name)
        return None
    kind = _text(node, "type") or "command"
    if kind not in {"command", "prompt"}:
        sheet.report("TL512", node.members["type"].value, f"Cursor runs no hooks of type `{kind}`", entry=name)
        return None
    line = _text(node, kind)
    if not line.strip():
        sheet.report("TL211", (node.start, node.start + 1), f"`{name}` has no `{kind}`", entry=name)
        return None
    ours = EVENT_MAP[event]
    timeout = node.get("timeout")
    usable = timeout is not None and timeout.kind is JsonKind.NUMBER and timeout.value > 0
    default = PROMPT_TIMEOUT if ours == "beforeSubmitPrompt" else CLAUDE_TIMEOUT
    identity = sheet.hook_id(ours, line, matcher.source if matcher else "")
    sheet.commands[identity] = (node.members[kind].value, name)
    return Hook(
        id=identity,
        event=ours,
        layer=sheet.layer,
        place=sheet.get_place(node),
        command=line if kind == "command" else "",
        prompt=line if kind == "prompt" else "",
        model=_text(node, "model") or None,
        matcher=matcher,
        timeout=seconds(timeout.value) if usable and timeout is not None else default,
        fail_closed=_text(node, "onFailure") == "block",
        loop_limit=LOOP_LIMIT if sheet.edition.loop_limit_fixed else None,
        vocabulary=VOCABULARY,
    )


def _text(node: JsonNode, key: str) -> str:
    value = node.get(key)
    return str(value.value) if value is not None and value.kind is JsonKind.STRING else ""
