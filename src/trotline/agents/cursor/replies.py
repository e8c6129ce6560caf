"""Read hook output as Cursor does, and write verdicts as Cursor's replies.

Nothing that a hook prints is dropped silently: a misspelt, unknown or unsupported key becomes a warning.
"""

import functools
import json
import re
from typing import Any, NamedTuple

import msgspec

from trotline.agents import claude_code
from trotline.agents.agent_json import get_json_kind, refuse_constant
from trotline.domain.contracts import Ask, Contract
from trotline.domain.editions import Edition
from trotline.domain.outcomes import Failure, FailureKind, Loss
from trotline.domain.verdicts import EMPTY, NO_OPINION, Permission, Verdict
from trotline.formats.lazy_regex import lazy_regex


class HookOutput(NamedTuple):
    """The exit code and output of a hook process."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


class ParsedReply(NamedTuple):
    """The verdict of a hook output, or its failure, with warnings."""

    verdict: Verdict = NO_OPINION
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()


class CursorReply(NamedTuple):
    """A reply body, and the parts of the verdict that it cannot express."""

    body: dict[str, Any]
    losses: tuple[Loss, ...] = ()
    exit_code: int = 0


Texts = dict[str, str]

FIELDS: dict[str, tuple[str, Any, str]] = {
    "user_message": ("user_message", str, "a string"),
    "agent_message": ("agent_message", str, "a string"),
    "updated_input": ("edited_input", dict[str, Any], "an object"),
    "additional_context": ("context", str, "a string"),
    "updated_mcp_tool_output": ("replaced_output", dict[str, Any], "an object"),
    "env": ("env", Texts, "an object of strings"),
    "followup_message": ("follow_up", str, "a string"),
    "pluginPaths": ("plugin_paths", tuple[str, ...], "a list of strings"),
}
"""Reply key -> the verdict's field, its type, and a description of the type."""

PERMISSION_KEYS: dict[str, tuple[Any, str]] = {
    "permission": (str, "one of allow, deny, ask"),
    "decision": (str, "one of allow, deny, ask"),
    "continue": (bool, "true or false"),
    "reason": (str, "a string"),
    "question": (str, "a string"),
}
PERMISSIONS = {"allow": Permission.ALLOW, "ask": Permission.ASK, "deny": Permission.DENY}
LEGACY_PERMISSIONS = {**PERMISSIONS, "approve": Permission.ALLOW, "block": Permission.DENY}

BLOCKED = "Hook blocked with message: "
NO_REASON = "The hook blocked this and gave no reason."


class _InvalidReply(Exception):  # noqa: N818 - control flow inside this file only
    pass


def read_reply(
    contract: Contract,
    answer: HookOutput,
    edition: Edition,
    *,
    command: str = "",
    fail_closed: bool = False,
    from_claude: bool = False,
) -> ParsedReply:
    """Return what hook output means for an event in an edition."""
    refusable = edition.refuses(contract.name, refusable=contract.refusable)
    if answer.exit_code == 2:
        return _read_exit_2(answer, refusable=refusable)
    if answer.exit_code != 0:
        detail = f'Hook "{command}" failed with exit code {answer.exit_code}: {_decode(answer.stderr).strip()}'
        return ParsedReply(failure=Failure(kind=FailureKind.CRASHED, detail=detail, code=answer.exit_code))
    text = _decode(answer.stdout).removeprefix("\ufeff").strip()
    if not text:
        empty = Failure(kind=FailureKind.EMPTY, detail=f'Hook "{command}" returned no output.')
        return ParsedReply(failure=empty if fail_closed and refusable else None)
    reply, noisy = find_last_document(text)
    if reply is NO_DOCUMENT:
        return ParsedReply(
            failure=Failure(kind=FailureKind.UNREADABLE_OUTPUT, detail=f'Hook "{command}" returned invalid JSON.')
        )
    if not isinstance(reply, dict):
        return _build_misfit_reply(command, f"{get_json_kind(reply)} is not an object")
    try:
        parsed = _parse_reply_object(contract, reply, edition, from_claude=from_claude)
    except _InvalidReply as misfit:
        return _build_misfit_reply(command, str(misfit))
    extra = ("output besides the JSON was ignored",) if noisy else ()
    return parsed._replace(warnings=(*extra, *parsed.warnings))


def _build_misfit_reply(command: str, why: str) -> ParsedReply:
    return ParsedReply(
        failure=Failure(
            kind=FailureKind.MISFIT, detail=f'Hook "{command}" returned an invalid response for this hook step.'
        ),
        warnings=(why,),
    )


def _read_exit_2(answer: HookOutput, *, refusable: bool) -> ParsedReply:
    """Return the refusal of exit code 2; its text is the JSON's message, else stdout, else stderr."""
    if not refusable:
        return ParsedReply(warnings=("exit 2 has no effect on this event",))
    stdout, stderr = _decode(answer.stdout).removeprefix("\ufeff").strip(), _decode(answer.stderr).strip()
    reply, _ = find_last_document(stdout) if stdout else (NO_DOCUMENT, False)
    translated = claude_code.translate_reply(reply, "") if isinstance(reply, dict) else {}
    messages = {key: str(translated[key]) for key in ("user_message", "agent_message", "reason") if translated.get(key)}
    fallback = messages.get("reason") or (stdout if not messages else "") or (f"{BLOCKED}{stderr}" if stderr else "")
    text = messages.get("user_message") or messages.get("agent_message") or fallback or NO_REASON
    return ParsedReply(
        Verdict(
            permission=Permission.DENY,
            user_message=messages.get("user_message") or text,
            agent_message=messages.get("agent_message") or text,
        )
    )


def find_last_document(text: str) -> tuple[Any, bool]:
    """Return the last JSON document in hook output (or NO_DOCUMENT), and whether there was other output.

    Leading log lines are ignored, and the last of several documents counts, as measured on Cursor's engine. An object
    that cannot be parsed makes all output unreadable, because an object inside it is not the reply.
    """
    try:
        return _get_decoder().decode(text), False
    except (ValueError, RecursionError):
        pass
    document: Any = NO_DOCUMENT
    start = _find_next_object(text, 0, OBJECT_ON_ITS_LINE)
    if start is None:
        start = _find_next_object(text, 0, OBJECT_AFTER_NOISE)
    while start is not None:
        try:
            document, end = _get_decoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            return NO_DOCUMENT, False
        start = _find_next_object(text, end, NEXT_OBJECT)
    return document, document is not NO_DOCUMENT


@functools.cache
def _get_decoder() -> "json.JSONDecoder":
    return json.JSONDecoder(parse_constant=refuse_constant)


NO_DOCUMENT = object()
OBJECT_ON_ITS_LINE = lazy_regex(r"(?m)^[ \t]*+(?=\{)")
NEXT_OBJECT = lazy_regex(r"(?m)(?:^|(?<=\}))[ \t]*+(?=\{)")
OBJECT_AFTER_NOISE = lazy_regex(r"(?m)^[^{\n]*+(?=\{)")


def _find_next_object(text: str, at: int, opening: re.Pattern[str]) -> int | None:
    match = opening.search(text, at)
    return match.end() if match else None


def _parse_reply_object(
    contract: Contract, reply: dict[str, Any], edition: Edition, *, from_claude: bool
) -> ParsedReply:
    """Return the verdict of a reply, with warnings for keys that have no effect; raise if a value is invalid."""
    warnings: list[str] = []
    if "hookSpecificOutput" in reply or from_claude:
        if not from_claude:
            warnings.append("`hookSpecificOutput` is Claude Code's; hooks of a Cursor file answer with `permission`")
        reply = claude_code.translate_reply(reply, contract.name)
    checked = {
        key: _convert_value(key, value) for key, value in reply.items() if value is not None and _is_known_key(key)
    }
    warnings += [_explain_key(key, contract) for key in reply if not _is_accepted_key(key, contract)]
    permission = _find_permission(contract, checked, edition, warnings)
    fields = {
        FIELDS[key][0]: value for key, value in checked.items() if key in FIELDS and _is_accepted_key(key, contract)
    }
    if contract.refusable:
        fields.update(_get_messages(checked, permission))
    return ParsedReply(Verdict(permission=permission, **fields), None, tuple(dict.fromkeys(warnings)))


def _is_known_key(key: str) -> bool:
    return key in FIELDS or key in PERMISSION_KEYS


def _is_accepted_key(key: str, contract: Contract) -> bool:
    if key in contract.answers:
        return True
    legacy = {"decision", "reason"} | ({"question"} if contract.ask is Ask.ASKED else set())
    return contract.gate and key in legacy


def _explain_key(key: str, contract: Contract) -> str:
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    if snake != key and snake in contract.answers:
        return f"`{key}` is not read; write `{snake}`"
    if not _is_known_key(key):
        return f"`{key}` is not a reply key"
    if key == "continue" and contract.gate:
        return "`continue` is not this event's key; write `permission`"
    if key in {"permission", "decision"} and "continue" in contract.answers:
        return f"`{key}` is not this event's key; write `continue`"
    return f"`{key}` is not accepted by {contract.name}"


def _convert_value(key: str, value: Any) -> Any:
    expected, description = PERMISSION_KEYS[key] if key in PERMISSION_KEYS else FIELDS[key][1:]
    try:
        converted = msgspec.convert(value, expected)
    except (msgspec.ValidationError, UnicodeError):  # msgspec cannot even complain about a lone surrogate
        raise _InvalidReply(f"`{key}` must be {description}") from None
    if key == "env" and not all(_is_valid_variable(name, text) for name, text in converted.items()):
        raise _InvalidReply("`env` has a name or a value that cannot be set in an environment")
    return converted


def _is_valid_variable(name: str, value: str) -> bool:
    try:
        return bool(name) and b"=" not in name.encode() and b"\0" not in name.encode() + value.encode()
    except UnicodeEncodeError:
        return False


def _find_permission(contract: Contract, checked: dict[str, Any], edition: Edition, warnings: list[str]) -> Permission:
    """Return the strictest permission in a reply; a refusal under the wrong key counts as well."""
    if not edition.refuses(contract.name, refusable=contract.refusable):
        return Permission.NONE
    permissions = [Permission.NONE]
    for key, allowed in (("permission", PERMISSIONS), ("decision", LEGACY_PERMISSIONS)):
        if key in checked:
            if checked[key] not in allowed:
                raise _InvalidReply(f"`{key}` must be one of allow, deny, ask; got `{checked[key]}`")
            permissions.append(allowed[checked[key]])
    if "continue" in checked:
        permissions.append(Permission.ALLOW if checked["continue"] else Permission.DENY)
    strictest = max(permissions)
    if strictest is Permission.ASK and contract.ask is Ask.UNHEARD:
        warnings.append(f"Cursor does not act on `ask` at {contract.name}")
    elif strictest is Permission.ASK and contract.ask is not Ask.ASKED:
        warnings.append(f"{contract.name} cannot ask; `ask` was taken as deny")
        return Permission.DENY
    return strictest


def _get_messages(checked: dict[str, Any], permission: Permission) -> dict[str, str]:
    """Return both messages of a refusal. `reason` replaces a missing one; a question is added to the person's."""
    reason = checked.get("reason", "")
    user = checked.get("user_message") or reason
    if permission is Permission.ASK and checked.get("question"):
        user = "\n\n".join(text for text in (user, checked["question"]) if text)
    agent = checked.get("agent_message") or reason
    return {"user_message": user, "agent_message": agent}


def write_reply(contract: Contract, verdict: Verdict, edition: Edition) -> CursorReply:
    """Return a verdict in the keys of an edition; what it cannot express becomes a Loss."""
    keys = edition.reply_keys.get(contract.name, ())
    body: dict[str, Any] = {}
    losses = []
    for key, (field, _, _) in FIELDS.items():
        value = getattr(verdict, field)
        is_set = value not in EMPTY and (value != {} or field != "env")
        if is_set and key in keys:
            body[key] = list(value) if isinstance(value, tuple) else value
        elif is_set and not (field.endswith("_message") and "reason" in keys):
            losses.append(Loss("cursor", field, f"{contract.name} has no key for it in edition {edition.name}"))
    if verdict.permission is not Permission.NONE:
        written, lost = _write_permission(contract, verdict, keys)
        body.update(written)
        losses += lost
    return CursorReply(body, tuple(losses))


def _write_permission(contract: Contract, verdict: Verdict, keys: tuple[str, ...]) -> tuple[dict[str, Any], list[Loss]]:
    permission = verdict.permission
    lost = []
    if permission is Permission.ASK and contract.ask is not Ask.ASKED:
        permission = Permission.DENY
        lost.append(Loss("cursor", "ask", f"{contract.name} cannot ask; sent as deny"))
    if "permission" in keys:
        return {"permission": permission.word}, lost
    if "decision" in keys:
        reason = verdict.agent_message or verdict.user_message
        return {"decision": permission.word, **({"reason": reason} if reason else {})}, lost
    if "continue" in keys:
        return {"continue": permission is not Permission.DENY}, lost
    if permission is Permission.ALLOW:
        return {}, []
    return {}, [Loss("cursor", permission.word, f"{contract.name} cannot be refused")]


def _decode(output: bytes) -> str:
    return output.decode("utf-8", "replace")


# Texts for refused actions (docs/sources.md)

REFUSAL_NOTE = "Agent note: Do not suggest workarounds to the blocked tool."

REFUSAL_OPENINGS = {
    "beforeShellExecution": "Command execution was blocked by a hook: ",
    "beforeReadFile": "File read was blocked by a hook: ",
}


def format_refusal(event: str, message: str) -> str:
    """Return the text that the model reads instead of the tool's result."""
    return f"{REFUSAL_OPENINGS.get(event, '')}{message}\n\n{REFUSAL_NOTE}"
