"""Secrets: keywords pick the rules, then a pattern, then how random the value is, then what is known to be harmless."""

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from trotline.effects import Certainty
from trotline.scanners.checksums import CHECKSUMS
from trotline.scanners.entropy import entropy
from trotline.scanners.finding import Span
from trotline.scanners.keywords import Keywords, Reach, Stretch
from trotline.scanners.rules import Allowlist, Pack, Rule, compiled
from trotline.scanners.windows import AFTER, OWN, Window

NAME = "secrets"
BACK, FORWARD = 512, 2048
"""How far around its keyword a rule of ours looks. A tag says otherwise: `long` for what is longer, `anywhere` for a
keyword that need not be part of what matches. Where other people's keywords stand is not known to us.
"""

OWN_RULES = Path(__file__).parent / "secrets.json"


@cache
def own_pack() -> Pack:
    """The rules of secrets.toml, as they were written out for quick reading."""
    return msgspec.json.decode(OWN_RULES.read_bytes(), type=Pack)


class Allowing:
    """An allowlist with its patterns compiled."""

    def __init__(self, listed: Allowlist) -> None:
        self.target = listed.target
        self.every = listed.condition.upper() in {"AND", "&&"}
        self.regexes = [compiled(pattern) for pattern in listed.regexes]
        self.paths = [compiled(pattern) for pattern in listed.paths]
        self.stopwords = [word.lower().encode() for word in listed.stopwords]

    def allows(self, targets: dict[str, bytes], path: bytes) -> bool:
        lowered = targets["secret"].lower()
        found = [
            *([any(pattern.search(targets[self.target]) for pattern in self.regexes)] if self.regexes else []),
            *([any(word in lowered for word in self.stopwords)] if self.stopwords else []),
            *([any(pattern.search(path) for pattern in self.paths)] if self.paths else []),
        ]
        return bool(found) and (all(found) if self.every else any(found))


class Matching:
    """A rule with its patterns, compiled when first needed. `near`: its keyword is part of what it matches."""

    def __init__(self, rule: Rule, rank: int, *, near: bool) -> None:
        self.rule = rule
        self.rank = rank
        self.is_ours = near
        self.guessed = "guessed" in rule.tags
        self.is_long = "long" in rule.tags
        self.checksum = CHECKSUMS.get(rule.id)
        far = not near or "anywhere" in rule.tags
        self.reach = Reach(OWN, OWN) if far else Reach(BACK, AFTER if self.is_long else FORWARD)

    @cached_property
    def pattern(self) -> Any:
        return compiled(self.rule.regex)

    @cached_property
    def path(self) -> Any:
        return compiled(self.rule.path) if self.rule.path else None

    @cached_property
    def allowing(self) -> list[Allowing]:
        return [Allowing(listed) for listed in self.rule.allowlists]

    def value(self, match: Any) -> tuple[int, int]:
        """Where the secret stands in what matched: the group that is named, or the first one that took part."""
        groups = [self.rule.group] if self.rule.group else [*range(1, self.pattern.groups + 1), 0]
        group = next(group for group in groups if match.start(group) != -1 or group == groups[-1])
        return match.start(group), match.end(group)

    def certainty(self, value: bytes) -> Certainty:
        doubted = self.guessed or (self.checksum is not None and not self.checksum(value))
        return Certainty.GUESSED if doubted else Certainty.KNOWN


class Secrets:
    """All rules of some packs; of two rules with one id the later pack's counts."""

    name = NAME
    reads_meaning = True

    def __init__(self, packs: Iterable[Pack]) -> None:
        listed = list(packs)
        off = {name for pack in listed for name in pack.disabled}
        rules = {rule.id: rule for pack in listed for rule in pack.rules if rule.id not in off}
        self.kinds = {rule.id: rule.description for rule in rules.values()}
        ours = frozenset(own_pack().rules)
        self._rules = [Matching(rule, rank, near=rule in ours) for rank, rule in enumerate(rules.values())]
        self._packs = listed

    @cached_property
    def _allowing(self) -> list[Allowing]:
        """What is no secret by people's own lists, whoever wrote the rule."""
        return [Allowing(one) for pack in self._packs if pack is not own_pack() for one in pack.allowlists]

    @cached_property
    def _allowing_ours(self) -> list[Allowing]:
        """Our lists say what people write where a secret of ours would stand; of theirs we know nothing."""
        return [*self._allowing, *(Allowing(one) for one in own_pack().allowlists if own_pack() in self._packs)]

    @cached_property
    def _keywords(self) -> Keywords[Matching]:
        return Keywords(
            (rule, [word.lower().encode() for word in rule.rule.keywords], rule.reach) for rule in self._rules
        )

    def spans(self, window: Window, path: str | None = "") -> Iterator[Span]:
        """What begins in the window's own stretch."""
        where = (path or "").encode("utf-8", "surrogateescape")
        for start, end in window.regions:
            for rule, stretches in self._stretches(window.data[start:end]).items():
                if path is not None and rule.path is not None and not rule.path.search(where):
                    continue
                for first, last in stretches:
                    yield from self._matches(rule, window, (start + first, start + last), where)

    def _stretches(self, data: bytes) -> dict[Matching, list[Stretch]]:
        return {**self._keywords.stretches(data.lower()), **{rule: [[0, len(data)]] for rule in self._always}}

    @cached_property
    def _always(self) -> list[Matching]:
        return [rule for rule in self._rules if not rule.rule.keywords]

    def _matches(self, rule: Matching, window: Window, stretch: tuple[int, int], path: bytes) -> Iterator[Span]:
        data = window.data
        for match in rule.pattern.finditer(data, *stretch):
            if not window.owns(match.start()):
                continue
            if match.end() == stretch[1]:  # it may go on behind the stretch
                match = rule.pattern.match(data, match.start())  # noqa: PLW2901 - the same match, whole
            start, end = rule.value(match)
            value = data[start:end]
            if start < end and entropy(value) >= rule.rule.entropy and not self._allowed(rule, match, value, path):
                yield window.span(start, end, rule.rule.id, NAME, rule.certainty(value), rank=rule.rank)

    def _allowed(self, rule: Matching, match: Any, value: bytes, path: bytes) -> bool:
        targets = {"secret": value, "match": match.group(), "line": _line(match)}
        general = self._allowing_ours if rule.is_ours else self._allowing
        general = [] if rule.is_long else general  # by chance a long value has anything in it
        return any(allowed.allows(targets, path) for allowed in (*general, *rule.allowing))


def _line(match: Any) -> bytes:
    start = match.string.rfind(b"\n", 0, match.start()) + 1
    end = match.string.find(b"\n", match.end())
    line: bytes = match.string[start : end if end != -1 else None]
    return line


@cache
def own_secrets() -> Secrets:
    return Secrets([own_pack()])
