"""Rules for secrets in the format of gitleaks: ours, and those that people load from files of their own.

A rule that cannot be used is named with its line, and the others stay in force.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec


class Allowlist(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is no secret although it looks like one."""

    description: str = ""
    regexes: tuple[str, ...] = ()
    stopwords: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    target: str = msgspec.field(default="secret", name="regexTarget")  # secret, match, line
    condition: str = "OR"


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    description: str = ""
    regex: str
    keywords: tuple[str, ...] = ()
    entropy: float = 0.0
    group: int = msgspec.field(default=0, name="secretGroup")
    path: str = ""
    tags: tuple[str, ...] = ()
    allowlists: tuple[Allowlist, ...] = ()


class BrokenRule(NamedTuple):
    """A rule that is not in force, and why."""

    line: int
    rule: str
    message: str


class Pack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules of one file. `disabled` names rules of ours that the file switches off."""

    rules: tuple[Rule, ...] = ()
    allowlists: tuple[Allowlist, ...] = ()
    disabled: tuple[str, ...] = ()


HEADER = re.compile(r"^\s*\[\[\s*rules\s*\]\]\s*(?:#.*)?$", re.MULTILINE)
LISTED_ID = re.compile(r"""^\s*id\s*=\s*["']([^"'\n]*)""", re.MULTILINE)
AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def read_pack(text: str) -> tuple[Pack, list[BrokenRule]]:
    """The rules of a file, and those that cannot be used; each is read apart, so that none takes others along."""
    rules: dict[str, Rule] = {}
    allowlists: list[Allowlist] = []
    disabled: list[str] = []
    broken: list[BrokenRule] = []
    for line, part in _parts(text):
        reader = _Reader(line, part)
        for rule in reader.rules():
            if rule.id in rules:
                reader.say(rule.id, "there is a rule of this name above; names are given once")
            rules.setdefault(rule.id, rule)
        allowlists += reader.allowlists()
        disabled += reader.disabled()
        broken += reader.broken
    return Pack(rules=tuple(rules.values()), allowlists=tuple(allowlists), disabled=tuple(disabled)), broken


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """What stands before the first rule, then rule by rule, each with its line."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    starts = [
        0,
        *(match.start() + len(match[0]) - len(match[0].lstrip()) for match in HEADER.finditer(text)),
        len(text),
    ]
    line = 1
    for start, end in pairwise(starts):
        part = text[start:end]
        yield line, part
        line += part.count("\n")


class _Reader:
    """One part of a file."""

    def __init__(self, line: int, part: str) -> None:
        import tomllib  # noqa: PLC0415 - our own rules are read as JSON

        self.line = line
        self.broken: list[BrokenRule] = []
        named = LISTED_ID.search(part)
        self.name = named[1] if named else ""
        try:
            self.body: dict[str, Any] = tomllib.loads(part)
        except tomllib.TOMLDecodeError as error:
            self.body = {}
            at = AT_LINE.search(str(error))
            inner = int(at[1]) - 1 if at else part.rstrip("\n").count("\n")
            message = AT_LINE.sub("", str(error)).strip()
            self.broken.append(
                BrokenRule(line + inner, self.name, f"not valid TOML: {message[:1].lower()}{message[1:]}")
            )

    def say(self, name: str, message: str) -> None:
        self.broken.append(BrokenRule(self.line, name, message))

    def rules(self) -> Iterator[Rule]:
        listed = self.body.get("rules", [])
        for entry in listed if isinstance(listed, list) else []:
            rule = self._rule(entry)
            if rule is not None:
                yield rule

    def _rule(self, entry: Any) -> Rule | None:
        misspelt = next(_misspelt(entry), "")
        if misspelt:
            self.say(self.name, misspelt)
            return None
        try:
            rule = msgspec.convert(_with_lists(entry), Rule)
        except msgspec.ValidationError as error:
            self.say(self.name, _plainly(error))
            return None
        wrong = next(_wrong(rule), "")
        if wrong:
            self.say(rule.id, wrong)
        return None if wrong else rule

    def allowlists(self) -> list[Allowlist]:
        body = {key: value for key, value in self.body.items() if key in {"allowlist", "allowlists"}}
        try:
            lists = msgspec.convert(_with_lists(body).get("allowlists", []), list[Allowlist])
        except msgspec.ValidationError as error:
            self.say("", f"allowlist: {_plainly(error)}")
            return []
        wrong = next((wrong for allowed in lists for wrong in _wrong_list(allowed)), "")
        if wrong:
            self.say("", wrong)
        return [] if wrong else lists

    def disabled(self) -> list[str]:
        extend = self.body.get("extend", {})
        names = extend.get("disabledRules", []) if isinstance(extend, dict) else []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _with_lists(entry: Any) -> Any:
    """The older spelling `[allowlist]`, for one, beside the newer `[[allowlists]]`."""
    if not isinstance(entry, dict) or "allowlist" not in entry:
        return entry
    listed = entry.get("allowlists", [])
    return {**entry, "allowlists": [*(listed if isinstance(listed, list) else []), entry["allowlist"]]}


def _misspelt(entry: Any) -> Iterator[str]:
    """Keys of other tools are none of our business; one that is nearly ours would be missed without a word."""
    from difflib import get_close_matches  # noqa: PLC0415 - as above

    known = [field.encode_name for field in msgspec.structs.fields(Rule)] + ["allowlist"]
    for key in entry if isinstance(entry, dict) else ():
        near = [] if key in known else get_close_matches(key, known, n=1, cutoff=0.8)
        if near:
            yield f"there is no key `{key[:40]}`; did you mean `{near[0]}`?"


def _plainly(error: msgspec.ValidationError) -> str:
    message = str(error)
    return message[:1].lower() + message[1:]


def _wrong(rule: Rule) -> Iterator[str]:
    """What the shape alone does not say; the first is told."""
    if not NAME.fullmatch(rule.id):
        yield f"the id `{rule.id[:60]}` is not made of small letters, digits and hyphens"
    yield from _unusable("regex", (rule.regex,))
    yield from _unusable("path", (rule.path,))
    if not rule.regex:
        yield "the regex is empty"
    elif not next(_unusable("regex", (rule.regex,)), "") and compiled(rule.regex).groups < rule.group:
        yield f"secretGroup is {rule.group}, and the regex has {compiled(rule.regex).groups}"
    for allowed in rule.allowlists:
        yield from _wrong_list(allowed)


NAME = re.compile(r"[a-z0-9][a-z0-9\-]{0,59}")


def _wrong_list(allowed: Allowlist) -> Iterator[str]:
    yield from _unusable("allowlist", (*allowed.regexes, *allowed.paths))
    if allowed.target not in {"secret", "match", "line"}:
        yield f"regexTarget is `{allowed.target[:20]}`; it is secret, match or line"
    if allowed.condition.upper() not in {"OR", "AND", "||", "&&"}:
        yield f"condition is `{allowed.condition[:20]}`; it is OR or AND"


def _unusable(what: str, patterns: tuple[str, ...]) -> Iterator[str]:
    import re2  # noqa: PLC0415 - most commands never match anything

    for pattern in patterns:
        try:
            compiled(pattern)
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
            yield f"{what}: RE2 refuses it: {reason}"


def compiled(pattern: str) -> Any:
    """In RE2, which is linear whatever the text is; looks at bytes, so that places need no counting."""
    import re2  # noqa: PLC0415 - most commands never match anything

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
