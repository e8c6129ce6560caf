"""Calls under two states: which decisions would be others, who speaks now, and who does not any more."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from trotline.outcomes import GIVEN, Outcome, Voice
from trotline.replay.recalled import Recalled, Said
from trotline.replay.trials import Judged, Trial


class Kind(StrEnum):
    """What becomes of a decision."""

    CHANGED = "changed"  # and it is the new state that changes it
    DRIFTED = "drifted"  # the old state would change it as well: something else is not as it was
    OTHERS = "others"  # decided the same, and not by the same
    SAME = "same"
    UNSAID = "unsaid"


class Row(NamedTuple):
    """One call: what it was, what it would be, and why."""

    one: Recalled
    kind: Kind
    was: str = ""
    would: str = ""
    speaks: tuple[tuple[str, str], ...] = ()  # who says something that was not said, and what
    silent: tuple[tuple[str, str], ...] = ()  # who said something that is not said any more
    reasons: tuple[tuple[str, str], ...] = ()  # in the words of those who speak now
    why: str = ""  # why it cannot be said; of one that changes, why its cause cannot
    sent: tuple[str, str] = ("", "")  # what the host was and would be told, where it cannot hear the decision


class Group(NamedTuple):
    """Calls that the same becomes of, for the same cause."""

    kind: Kind
    was: str
    would: str
    speaks: tuple[tuple[str, str], ...]
    silent: tuple[tuple[str, str], ...]
    why: str
    sent: tuple[str, str]
    rows: tuple[Row, ...]

    @property
    def told(self) -> tuple[str, str]:
        """What was decided and would be, each with what the host makes of it."""
        return _heard(self.was, self.sent[0]), _heard(self.would, self.sent[1])


def _heard(decided: str, sent: str) -> str:
    permission, comma, rest = decided.partition(", ")
    return f"{permission} (sent as {sent}){comma}{rest}" if sent else decided


def compared(calls: Iterable[Recalled], old: Trial, new: Trial, wanted: frozenset[str] | None = None) -> Iterator[Row]:
    """A row for each call that is wanted; the others are judged too, because later ones may depend on them."""
    for one in calls:
        aside = wanted is not None and one.id not in wanted
        before, after = old.judge(one, aside=aside), new.judge(one, aside=aside)
        if not aside:
            yield _row(one, before, after)


def _row(one: Recalled, before: Judged, after: Judged) -> Row:
    """What is in force matters only to what was never decided, and to the cause of a change: a change that is certain
    does not become uncertain because nobody knows who made it."""
    then = one.said or before.said
    if after.outcome is None or then is None:
        return Row(one, Kind.UNSAID, why=after.unsaid or before.unsaid)
    now = _said(after.outcome)
    given = _given(after.outcome) - _given(before.outcome) if before.outcome else set()
    speaks = tuple(sorted(now.voices - then.voices))
    silent = tuple(sorted(then.voices - now.voices))
    would = ", ".join([now.permission, *sorted(given)])
    reasons = _reasons(after.outcome, speaks)
    sent = ("", "") if one.own else (then.sent, now.sent)  # an agent of one's own has the Outcome itself
    row = Row(one, Kind.SAME, then.permission, would, speaks, silent, reasons, sent=sent)
    if would != then.permission:
        if before.outcome is None:
            return row._replace(kind=Kind.CHANGED, why=before.unsaid)
        also = _said(before.outcome).permission == now.permission and not given
        return row._replace(kind=Kind.DRIFTED if also else Kind.CHANGED)
    return row._replace(kind=Kind.OTHERS) if speaks or silent else row


def _said(outcome: Outcome) -> Said:
    said = Judged(outcome=outcome).said
    return said if said is not None else Said("")


def _given(outcome: Outcome) -> set[str]:
    """What a decision holds beside its permission."""
    return {words for field, words in GIVEN.items() if getattr(outcome.decision.verdict, field)}


def _reasons(outcome: Outcome, speaks: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    authors = {author for author, _ in speaks}
    said = [(voice.author, f"{voice.name}: {_why(voice)}") for voice in outcome.voices if voice.author in authors]
    return tuple(dict.fromkeys(said))


def _why(voice: Voice) -> str:
    told = voice.said if voice.said != "no opinion" else "warns" if voice.warnings else voice.said
    return ", ".join([told, *voice.warnings])


def grouped(rows: Iterable[Row], kinds: Iterable[Kind]) -> list[Group]:
    """What changes most often first."""
    wanted = list(kinds)
    found: dict[Group, list[Row]] = {}
    for row in rows:
        if row.kind in wanted:
            key = Group(row.kind, row.was, row.would, row.speaks, row.silent, row.why, row.sent, ())
            found.setdefault(key, []).append(row)
    groups = [group._replace(rows=tuple(same)) for group, same in found.items()]
    return sorted(groups, key=lambda group: (wanted.index(group.kind), -len(group.rows)))


def unsaid(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Why nothing can be said of some, and of how many."""
    return Counter(row.why for row in rows if row.kind is Kind.UNSAID).most_common()
