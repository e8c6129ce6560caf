"""What a hook answered, read by Cursor's contract; and a verdict in Cursor's words.

Nothing a hook prints is dropped in silence: a key that is misspelt, unknown or not taken by this event is a warning.
"""

import functools
import json
import re
from typing import Any, NamedTuple

import msgspec

from trotline.contracts import Ask, Contract
from trotline.editions import Edition
from trotline.hosts import claude_code
from trotline.outcomes import Failure, FailureKind, Loss
from trotline.pattern import pattern
from trotline.verdicts import EMPTY, SILENCE, Permission, Verdict


class Answer(NamedTuple):
    """What a hook process left behind."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


class Heard(NamedTuple):
    """The verdict in an answer, or how it failed, and what deserves a word."""

    verdict: Verdict = SILENCE
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()


class Reply(NamedTuple):
    """What goes back over the wire, and what could not be said on it."""

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
"""Reply key -> the verdict's field, its type, and that type in words."""

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


class _Misfit(Exception):  # noqa: N818 - control flow inside this file only
    pass


def read_reply(
    contract: Contract,
    answer: Answer,
    edition: Edition,
    *,
    command: str = "",
    fail_closed: bool = False,
    from_claude: bool = False,
) -> Heard:
    """What the answer means for this event in this edition."""
    refusable = edition.refuses(contract.name, refusable=contract.refusable)
    if answer.exit_code == 2:
        return _blocked(answer, refusable=refusable)
    if answer.exit_code != 0:
        detail = f'Hook "{command}" failed with exit code {answer.exit_code}: {_decoded(answer.stderr).strip()}'
        return Heard(failure=Failure(kind=FailureKind.CRASHED, detail=detail, code=answer.exit_code))
    text = _decoded(answer.stdout).removeprefix("\ufeff").strip()
    if not text:
        empty = Failure(kind=FailureKind.EMPTY, detail=f'Hook "{command}" returned no output.')
        return Heard(failure=empty if fail_closed and refusable else None)
    reply, noisy = last_document(text)
    if reply is NO_DOCUMENT:
        return Heard(failure=Failure(kind=FailureKind.UNREADABLE, detail=f'Hook "{command}" returned invalid JSON.'))
    if not isinstance(reply, dict):
        return _misfit(command, f"{json_kind(reply)} is not an object")
    try:
        heard = _verdict(contract, reply, edition, from_claude=from_claude)
    except _Misfit as misfit:
        return _misfit(command, str(misfit))
    extra = ("output beside the JSON was ignored",) if noisy else ()
    return heard._replace(warnings=(*extra, *heard.warnings))


JSON_KINDS = {"NoneType": "null", "bool": "a JSON boolean", "str": "a JSON string", "list": "a JSON array"}


def json_kind(value: Any) -> str:
    """What a document is, in the words of JSON."""
    return JSON_KINDS.get(type(value).__name__, "a JSON number")


def _misfit(command: str, why: str) -> Heard:
    return Heard(
        failure=Failure(
            kind=FailureKind.MISFIT, detail=f'Hook "{command}" returned an invalid response for this hook step.'
        ),
        warnings=(why,),
    )


def _blocked(answer: Answer, *, refusable: bool) -> Heard:
    """Exit 2 refuses, whatever was printed; the text is the JSON's message, else stdout, else stderr."""
    if not refusable:
        return Heard(warnings=("exit 2 has no effect on this event",))
    stdout, stderr = _decoded(answer.stdout).removeprefix("\ufeff").strip(), _decoded(answer.stderr).strip()
    reply, _ = last_document(stdout) if stdout else (NO_DOCUMENT, False)
    words = claude_code.to_cursor(reply, "") if isinstance(reply, dict) else {}
    messages = {key: str(words[key]) for key in ("user_message", "agent_message", "reason") if words.get(key)}
    fallback = messages.get("reason") or (stdout if not messages else "") or (f"{BLOCKED}{stderr}" if stderr else "")
    said = messages.get("user_message") or messages.get("agent_message") or fallback or NO_REASON
    return Heard(
        Verdict(
            permission=Permission.DENY,
            user_message=messages.get("user_message") or said,
            agent_message=messages.get("agent_message") or said,
        )
    )


def last_document(text: str) -> tuple[Any, bool]:
    """The last JSON document in a hook's output, or NO_DOCUMENT, and whether anything stood beside it.

    Leading log lines are tolerated and of several documents the last counts, as measured on Cursor's own engine. What
    looks like an object and cannot be parsed makes all of it unreadable: an object inside of it is not the answer.
    """
    try:
        return _decoder().decode(text), False
    except (ValueError, RecursionError):
        pass
    found: Any = NO_DOCUMENT
    start = _next_object(text, 0, OBJECT_ON_ITS_LINE)
    if start is None:
        start = _next_object(text, 0, OBJECT_AFTER_NOISE)
    while start is not None:
        try:
            found, end = _decoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            return NO_DOCUMENT, False
        start = _next_object(text, end, NEXT_OBJECT)
    return found, found is not NO_DOCUMENT


def _no_constant(word: str) -> None:
    raise ValueError(f"`{word}` is not JSON")


@functools.cache
def _decoder() -> "json.JSONDecoder":
    return json.JSONDecoder(parse_constant=_no_constant)


NO_DOCUMENT = object()
OBJECT_ON_ITS_LINE = pattern(r"(?m)^[ \t]*+(?=\{)")
NEXT_OBJECT = pattern(r"(?m)(?:^|(?<=\}))[ \t]*+(?=\{)")
OBJECT_AFTER_NOISE = pattern(r"(?m)^[^{\n]*+(?=\{)")


def _next_object(text: str, at: int, opening: re.Pattern[str]) -> int | None:
    found = opening.search(text, at)
    return found.end() if found else None


def _verdict(contract: Contract, reply: dict[str, Any], edition: Edition, *, from_claude: bool) -> Heard:
    warnings: list[str] = []
    if "hookSpecificOutput" in reply or from_claude:
        if not from_claude:
            warnings.append("`hookSpecificOutput` is Claude Code's; hooks of a Cursor file answer with `permission`")
        reply = claude_code.to_cursor(reply, contract.name)
    checked = {key: _checked(key, value) for key, value in reply.items() if value is not None and _known(key)}
    warnings += [_about(key, contract) for key in reply if not _taken(key, contract)]
    permission = _permission(contract, checked, edition, warnings)
    fields = {FIELDS[key][0]: value for key, value in checked.items() if key in FIELDS and _taken(key, contract)}
    if contract.refusable:
        fields.update(_messages(checked, permission))
    return Heard(Verdict(permission=permission, **fields), None, tuple(dict.fromkeys(warnings)))


def _known(key: str) -> bool:
    return key in FIELDS or key in PERMISSION_KEYS


def _taken(key: str, contract: Contract) -> bool:
    if key in contract.answers:
        return True
    legacy = {"decision", "reason"} | ({"question"} if contract.ask is Ask.ASKED else set())
    return contract.gate and key in legacy


def _about(key: str, contract: Contract) -> str:
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    if snake != key and snake in contract.answers:
        return f"`{key}` is not read; write `{snake}`"
    if not _known(key):
        return f"`{key}` is no reply key"
    if key == "continue" and contract.gate:
        return "`continue` is not this event's key; write `permission`"
    if key in {"permission", "decision"} and "continue" in contract.answers:
        return f"`{key}` is not this event's key; write `continue`"
    return f"`{key}` is not taken by {contract.name}"


def _checked(key: str, value: Any) -> Any:
    expected, words = PERMISSION_KEYS[key] if key in PERMISSION_KEYS else FIELDS[key][1:]
    try:
        converted = msgspec.convert(value, expected)
    except (msgspec.ValidationError, UnicodeError):  # msgspec cannot even complain about a lone surrogate
        raise _Misfit(f"`{key}` must be {words}") from None
    if key == "env" and not all(_can_be_set(name, text) for name, text in converted.items()):
        raise _Misfit("`env` holds a name or a value that no process can be given")
    return converted


def _can_be_set(name: str, value: str) -> bool:
    try:
        return bool(name) and b"=" not in name.encode() and b"\0" not in name.encode() + value.encode()
    except UnicodeEncodeError:
        return False


def _permission(contract: Contract, checked: dict[str, Any], edition: Edition, warnings: list[str]) -> Permission:
    """The strictest of the ways in which a reply speaks of permission; a refusal under the wrong key still counts."""
    if not edition.refuses(contract.name, refusable=contract.refusable):
        return Permission.SILENT
    said = [Permission.SILENT]
    for key, words in (("permission", PERMISSIONS), ("decision", LEGACY_PERMISSIONS)):
        if key in checked:
            if checked[key] not in words:
                raise _Misfit(f"`{key}` must be one of allow, deny, ask; got `{checked[key]}`")
            said.append(words[checked[key]])
    if "continue" in checked:
        said.append(Permission.ALLOW if checked["continue"] else Permission.DENY)
    strictest = max(said)
    if strictest is Permission.ASK and contract.ask is Ask.UNHEARD:
        warnings.append(f"Cursor does not act on `ask` at {contract.name}")
    elif strictest is Permission.ASK and contract.ask is not Ask.ASKED:
        warnings.append(f"{contract.name} cannot ask; `ask` was taken as deny")
        return Permission.DENY
    return strictest


def _messages(checked: dict[str, Any], permission: Permission) -> dict[str, str]:
    """Both messages of a refusal; `reason` serves for whichever is missing, a question joins what the person reads."""
    reason = checked.get("reason", "")
    user = checked.get("user_message") or reason
    if permission is Permission.ASK and checked.get("question"):
        user = "\n\n".join(text for text in (user, checked["question"]) if text)
    agent = checked.get("agent_message") or reason
    return {"user_message": user, "agent_message": agent}


def write_reply(contract: Contract, verdict: Verdict, edition: Edition) -> Reply:
    """The verdict in this edition's keys; a word it lacks becomes a loss, never a silence."""
    keys = edition.reply_keys.get(contract.name, ())
    body: dict[str, Any] = {}
    losses = []
    for key, (field, _, _) in FIELDS.items():
        value = getattr(verdict, field)
        said = value not in EMPTY and (value != {} or field != "env")
        if said and key in keys:
            body[key] = list(value) if isinstance(value, tuple) else value
        elif said and not (field.endswith("_message") and "reason" in keys):
            losses.append(Loss("cursor", field, f"{contract.name} has no key for it in edition {edition.name}"))
    if verdict.permission is not Permission.SILENT:
        spoken, lost = _spoken(contract, verdict, keys)
        body.update(spoken)
        losses += lost
    return Reply(body, tuple(losses))


def _spoken(contract: Contract, verdict: Verdict, keys: tuple[str, ...]) -> tuple[dict[str, Any], list[Loss]]:
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


def _decoded(output: bytes) -> str:
    return output.decode("utf-8", "replace")
