"""Rules for secrets in the format of gitleaks: the built-in ones and those that users load from files.

An invalid rule is reported with its line; the other rules of the file stay in force.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from trotline.scanners.matching import compile_re2


class SecretAllowlist(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Values that are not secrets although they match a rule."""

    description: str = ""
    regexes: tuple[str, ...] = ()
    stopwords: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    target: str = msgspec.field(default="secret", name="regexTarget")  # secret, match, line
    condition: str = "OR"


class SecretRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule that finds one kind of secret."""

    id: str
    description: str = ""
    regex: str
    keywords: tuple[str, ...] = ()
    entropy: float = 0.0
    group: int = msgspec.field(default=0, name="secretGroup")
    path: str = ""
    tags: tuple[str, ...] = ()
    allowlists: tuple[SecretAllowlist, ...] = ()


class BrokenRule(NamedTuple):
    """An invalid rule and the reason."""

    line: int
    rule: str
    message: str


class RulePack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules of one file. `disabled` names built-in rules that the file disables."""

    rules: tuple[SecretRule, ...] = ()
    allowlists: tuple[SecretAllowlist, ...] = ()
    disabled: tuple[str, ...] = ()


RULE_HEADER = re.compile(r"^\s*\[\[\s*rules\s*\]\]\s*(?:#.*)?$", re.MULTILINE)
RULE_ID_LINE = re.compile(r"""^\s*id\s*=\s*["']([^"'\n]*)""", re.MULTILINE)
TOML_POSITION = re.compile(r"\(at line (\d+), column \d+\)")


def read_pack(text: str) -> tuple[RulePack, list[BrokenRule]]:
    """Parse a rule file; return its rules and the invalid ones. An error affects only its own rule."""
    rules: dict[str, SecretRule] = {}
    allowlists: list[SecretAllowlist] = []
    disabled: list[str] = []
    broken: list[BrokenRule] = []
    for line, part in _split_rules(text):
        reader = _RuleReader(line, part)
        for rule in reader.read_rules():
            if rule.id in rules:
                reader.report(rule.id, "there is a rule of this name above; names are given once")
            rules.setdefault(rule.id, rule)
        allowlists += reader.read_allowlists()
        disabled += reader.read_disabled()
        broken += reader.broken
    return RulePack(rules=tuple(rules.values()), allowlists=tuple(allowlists), disabled=tuple(disabled)), broken


def _split_rules(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text before the first rule, then each rule, with its first line number."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    starts = [
        0,
        *(match.start() + len(match[0]) - len(match[0].lstrip()) for match in RULE_HEADER.finditer(text)),
        len(text),
    ]
    line = 1
    for start, end in pairwise(starts):
        part = text[start:end]
        yield line, part
        line += part.count("\n")


class _RuleReader:
    """Parses one part of a rule file."""

    def __init__(self, line: int, part: str) -> None:
        import tomllib  # noqa: PLC0415 - the built-in rules are read from JSON

        self.line = line
        self.broken: list[BrokenRule] = []
        id_line = RULE_ID_LINE.search(part)
        self.name = id_line[1] if id_line else ""
        try:
            self.body: dict[str, Any] = tomllib.loads(part)
        except tomllib.TOMLDecodeError as error:
            self.body = {}
            position = TOML_POSITION.search(str(error))
            inner = int(position[1]) - 1 if position else part.rstrip("\n").count("\n")
            message = TOML_POSITION.sub("", str(error)).strip()
            self.broken.append(
                BrokenRule(line + inner, self.name, f"not valid TOML: {message[:1].lower()}{message[1:]}")
            )

    def report(self, name: str, message: str) -> None:
        self.broken.append(BrokenRule(self.line, name, message))

    def read_rules(self) -> Iterator[SecretRule]:
        entries = self.body.get("rules", [])
        for entry in entries if isinstance(entries, list) else []:
            rule = self._read_rule(entry)
            if rule is not None:
                yield rule

    def _read_rule(self, entry: Any) -> SecretRule | None:
        misspelt = next(_find_misspelt_keys(entry), "")
        if misspelt:
            self.report(self.name, misspelt)
            return None
        try:
            rule = msgspec.convert(_merge_allowlists(entry), SecretRule)
        except msgspec.ValidationError as invalid:
            self.report(self.name, _format_error(invalid))
            return None
        error = next(_find_rule_errors(rule), "")
        if error:
            self.report(rule.id, error)
        return None if error else rule

    def read_allowlists(self) -> list[SecretAllowlist]:
        body = {key: value for key, value in self.body.items() if key in {"allowlist", "allowlists"}}
        try:
            lists = msgspec.convert(_merge_allowlists(body).get("allowlists", []), list[SecretAllowlist])
        except msgspec.ValidationError as invalid:
            self.report("", f"allowlist: {_format_error(invalid)}")
            return []
        error = next((error for allowlist in lists for error in _find_allowlist_errors(allowlist)), "")
        if error:
            self.report("", error)
        return [] if error else lists

    def read_disabled(self) -> list[str]:
        extend = self.body.get("extend", {})
        names = extend.get("disabledRules", []) if isinstance(extend, dict) else []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _merge_allowlists(entry: Any) -> Any:
    """Move the older spelling `[allowlist]` to `[[allowlists]]`."""
    if not isinstance(entry, dict) or "allowlist" not in entry:
        return entry
    allowlists = entry.get("allowlists", [])
    return {**entry, "allowlists": [*(allowlists if isinstance(allowlists, list) else []), entry["allowlist"]]}


def _find_misspelt_keys(entry: Any) -> Iterator[str]:
    """Yield an error for each misspelt key. Other unknown keys are allowed: other tools use them."""
    from difflib import get_close_matches  # noqa: PLC0415 - as above

    known = [field.encode_name for field in msgspec.structs.fields(SecretRule)] + ["allowlist"]
    for key in entry if isinstance(entry, dict) else ():
        near = [] if key in known else get_close_matches(key, known, n=1, cutoff=0.8)
        if near:
            yield f"there is no key `{key[:40]}`; did you mean `{near[0]}`?"


def _format_error(error: msgspec.ValidationError) -> str:
    message = str(error)
    return message[:1].lower() + message[1:]


def _find_rule_errors(rule: SecretRule) -> Iterator[str]:
    """Yield the errors of a rule that its type does not rule out."""
    if not RULE_ID.fullmatch(rule.id):
        yield f"the id `{rule.id[:60]}` is not made of small letters, digits and hyphens"
    yield from _find_pattern_errors("regex", (rule.regex,))
    yield from _find_pattern_errors("path", (rule.path,))
    if not rule.regex:
        yield "the regex is empty"
    elif not next(_find_pattern_errors("regex", (rule.regex,)), "") and compile_re2(rule.regex).groups < rule.group:
        yield f"secretGroup is {rule.group}, and the regex has {compile_re2(rule.regex).groups}"
    for allowlist in rule.allowlists:
        yield from _find_allowlist_errors(allowlist)


RULE_ID = re.compile(r"[a-z0-9][a-z0-9\-]{0,59}")


def _find_allowlist_errors(allowlist: SecretAllowlist) -> Iterator[str]:
    yield from _find_pattern_errors("allowlist", (*allowlist.regexes, *allowlist.paths))
    if allowlist.target not in {"secret", "match", "line"}:
        yield f"regexTarget is `{allowlist.target[:20]}`; it is secret, match or line"
    if allowlist.condition.upper() not in {"OR", "AND", "||", "&&"}:
        yield f"condition is `{allowlist.condition[:20]}`; it is OR or AND"


def _find_pattern_errors(field: str, patterns: tuple[str, ...]) -> Iterator[str]:
    import re2  # noqa: PLC0415 - most commands never match anything

    for pattern in patterns:
        try:
            compile_re2(pattern)
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
            yield f"{field}: RE2 refuses it: {reason}"
