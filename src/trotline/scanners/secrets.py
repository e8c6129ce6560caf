"""Find secrets: keywords select rules, then a pattern, the entropy of the value and allowlists decide."""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from math import log2
from pathlib import Path
from typing import Any

import msgspec

from trotline.domain.effects import Certainty
from trotline.scanners.matching import KeywordIndex, KeywordRange, SearchRange, compile_re2
from trotline.scanners.secret_rules import RulePack, SecretAllowlist, SecretRule
from trotline.scanners.spans import BYTES_AFTER, OWNED_BYTES, Span, Window

SECRETS = "secrets"
DEFAULT_BEFORE, DEFAULT_AFTER = 512, 2048
"""Bytes around its keyword that a built-in rule searches. Two tags change that: `long` for longer values, `anywhere`
for a keyword that need not be part of the match. For rules of users the whole window is searched.
"""

BUILTIN_RULES = Path(__file__).parent / "secrets.json"


@cache
def load_builtin_pack() -> RulePack:
    """Load the rules of secrets.toml from the generated secrets.json, which is faster to read."""
    return msgspec.json.decode(BUILTIN_RULES.read_bytes(), type=RulePack)


def compute_entropy(value: bytes) -> float:
    """Return the Shannon entropy per byte. Words have little, keys have much."""
    length = len(value)
    return -sum(count / length * log2(count / length) for count in Counter(value).values()) if length else 0.0


BASE62_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CHECKSUM_DIGITS = 6


def encode_base62(number: int, width: int) -> bytes:
    """Return a number in base 62, padded with zeros."""
    digits = bytearray()
    while number:
        number, digit = divmod(number, 62)
        digits.append(BASE62_DIGITS[digit])
    return bytes(reversed(digits)).rjust(width, b"0")


def _has_valid_crc(token: bytes) -> bool:
    """Check a token of the form `prefix_` + random part + CRC-32 of the random part as six base 62 digits.

    A wrong checksum only makes a finding less certain, because providers may change theirs.
    """
    body = token.partition(b"_")[2]
    return encode_base62(zlib.crc32(body[:-CHECKSUM_DIGITS]), CHECKSUM_DIGITS) == body[-CHECKSUM_DIGITS:]


class CompiledAllowlist:
    """An allowlist with compiled patterns."""

    def __init__(self, allowlist: SecretAllowlist) -> None:
        self.target = allowlist.target
        self.needs_all = allowlist.condition.upper() in {"AND", "&&"}
        self.regexes = [compile_re2(pattern) for pattern in allowlist.regexes]
        self.paths = [compile_re2(pattern) for pattern in allowlist.paths]
        self.stopwords = [word.lower().encode() for word in allowlist.stopwords]

    def allows(self, targets: dict[str, bytes], path: bytes) -> bool:
        """Return whether the value is allowed."""
        lowered = targets["secret"].lower()
        results = [
            *([any(pattern.search(targets[self.target]) for pattern in self.regexes)] if self.regexes else []),
            *([any(word in lowered for word in self.stopwords)] if self.stopwords else []),
            *([any(pattern.search(path) for pattern in self.paths)] if self.paths else []),
        ]
        return bool(results) and (all(results) if self.needs_all else any(results))


class CompiledRule:
    """A rule with patterns that are compiled when first needed."""

    def __init__(self, rule: SecretRule, rank: int, *, is_builtin: bool) -> None:
        self.rule = rule
        self.rank = rank
        self.is_builtin = is_builtin
        self.is_guess = "guessed" in rule.tags
        self.is_long = "long" in rule.tags
        self.has_checksum = is_builtin and "checksum" in rule.tags
        everywhere = not is_builtin or "anywhere" in rule.tags
        after = BYTES_AFTER if self.is_long else DEFAULT_AFTER
        self.range = KeywordRange(OWNED_BYTES, OWNED_BYTES) if everywhere else KeywordRange(DEFAULT_BEFORE, after)

    @cached_property
    def pattern(self) -> Any:
        """The pattern of the value."""
        return compile_re2(self.rule.regex)

    @cached_property
    def path(self) -> Any:
        """The pattern that a path must match, or None."""
        return compile_re2(self.rule.path) if self.rule.path else None

    @cached_property
    def allowlists(self) -> list[CompiledAllowlist]:
        """The allowlists of this rule."""
        return [CompiledAllowlist(allowlist) for allowlist in self.rule.allowlists]

    def get_value_range(self, match: Any) -> tuple[int, int]:
        """Return where the secret is in a match: the group that the rule names, or the first that took part."""
        groups = [self.rule.group] if self.rule.group else [*range(1, self.pattern.groups + 1), 0]
        group = next(group for group in groups if match.start(group) != -1 or group == groups[-1])
        return match.start(group), match.end(group)

    def get_certainty(self, value: bytes) -> Certainty:
        """Return whether a value is certainly a secret or only guessed."""
        doubtful = self.is_guess or (self.has_checksum and not _has_valid_crc(value))
        return Certainty.GUESSED if doubtful else Certainty.KNOWN


class SecretScanner:
    """The rules of some packs; of two rules with the same id, that of the later pack counts."""

    name = SECRETS
    reads_decoded = True

    def __init__(self, packs: Iterable[RulePack]) -> None:
        self._packs = list(packs)
        disabled = {name for pack in self._packs for name in pack.disabled}
        rules = {rule.id: rule for pack in self._packs for rule in pack.rules if rule.id not in disabled}
        self.kinds = {rule.id: rule.description for rule in rules.values()}
        builtin = frozenset(load_builtin_pack().rules)
        self._rules = [CompiledRule(rule, rank, is_builtin=rule in builtin) for rank, rule in enumerate(rules.values())]

    @cached_property
    def _user_allowlists(self) -> list[CompiledAllowlist]:
        """Allowlists of users, which apply to all rules."""
        builtin = load_builtin_pack()
        return [
            CompiledAllowlist(allowlist) for pack in self._packs if pack is not builtin for allowlist in pack.allowlists
        ]

    @cached_property
    def _all_allowlists(self) -> list[CompiledAllowlist]:
        """Allowlists for built-in rules. The built-in lists describe values that only those rules find."""
        builtin = load_builtin_pack()
        allowlists = builtin.allowlists if builtin in self._packs else ()
        return [*self._user_allowlists, *map(CompiledAllowlist, allowlists)]

    @cached_property
    def _keywords(self) -> KeywordIndex[CompiledRule]:
        return KeywordIndex(
            (rule, [word.lower().encode() for word in rule.rule.keywords], rule.range) for rule in self._rules
        )

    @cached_property
    def _rules_without_keywords(self) -> list[CompiledRule]:
        return [rule for rule in self._rules if not rule.rule.keywords]

    def find_spans(self, window: Window, path: str | None = "") -> Iterator[Span]:
        """Yield the findings that begin in the part that the window owns."""
        encoded_path = (path or "").encode("utf-8", "surrogateescape")
        for start, end in window.regions:
            for rule, ranges in self._find_ranges(window.data[start:end]).items():
                if path is not None and rule.path is not None and not rule.path.search(encoded_path):
                    continue
                for first, last in ranges:
                    yield from self._find_matches(rule, window, (start + first, start + last), encoded_path)

    def _find_ranges(self, data: bytes) -> dict[CompiledRule, list[SearchRange]]:
        everywhere = {rule: [[0, len(data)]] for rule in self._rules_without_keywords}
        return {**self._keywords.find_ranges(data.lower()), **everywhere}

    def _find_matches(self, rule: CompiledRule, window: Window, search: tuple[int, int], path: bytes) -> Iterator[Span]:
        data = window.data
        for match in rule.pattern.finditer(data, *search):
            if not window.owns(match.start()):
                continue
            if match.end() == search[1]:  # the value may continue after the searched range
                match = rule.pattern.match(data, match.start())  # noqa: PLW2901 - the same match, complete
            start, end = rule.get_value_range(match)
            value = data[start:end]
            is_secret = start < end and compute_entropy(value) >= rule.rule.entropy
            if is_secret and not self._is_allowed(rule, match, value, path):
                yield window.build_span(start, end, rule.rule.id, SECRETS, rule.get_certainty(value), rank=rule.rank)

    def _is_allowed(self, rule: CompiledRule, match: Any, value: bytes, path: bytes) -> bool:
        targets = {"secret": value, "match": match.group(), "line": _get_line(match)}
        general = self._all_allowlists if rule.is_builtin else self._user_allowlists
        general = [] if rule.is_long else general  # a long value contains any stopword by chance
        return any(allowlist.allows(targets, path) for allowlist in (*general, *rule.allowlists))


def _get_line(match: Any) -> bytes:
    start = match.string.rfind(b"\n", 0, match.start()) + 1
    end = match.string.find(b"\n", match.end())
    line: bytes = match.string[start : end if end != -1 else None]
    return line


@cache
def get_builtin_scanner() -> SecretScanner:
    """Return the scanner with the built-in rules only."""
    return SecretScanner([load_builtin_pack()])
