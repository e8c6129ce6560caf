"""Compare the decisions of recorded calls under two candidates."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from trotline.domain.outcomes import SUMMARY_WORDS, Outcome, Response
from trotline.replay.recorded_call import RecordedCall
from trotline.replay.trial import Trial, TrialResult, summarize

Opinions = tuple[tuple[str, str], ...]
"""Authors, each with a response or a reason."""


class ChangeKind(StrEnum):
    """The kinds of change in the decision about a call."""

    CHANGED = "changed"  # by the candidate
    DRIFTED = "drifted"  # the current configuration changes it too: something other than the candidate changed since
    OTHERS = "others"  # same decision, by other authors
    SAME = "same"
    UNKNOWN = "unknown"


class CallChange(NamedTuple):
    """The old and the new decision about one call."""

    call: RecordedCall
    kind: ChangeKind
    old: str = ""
    new: str = ""
    added: Opinions = ()  # responses that are new
    removed: Opinions = ()  # responses that are gone
    reasons: Opinions = ()  # the reasons of the added responses
    why: str = ""  # why the new decision, or the cause of a change, is unknown
    sent: tuple[str, str] = ("", "")  # the old and new permission sent, where the agent does not support the decision


class ChangeGroup(NamedTuple):
    """Calls whose decisions change in the same way for the same reason."""

    kind: ChangeKind
    old: str
    new: str
    added: Opinions
    removed: Opinions
    why: str
    sent: tuple[str, str]
    changes: tuple[CallChange, ...]

    @property
    def decisions(self) -> tuple[str, str]:
        """The old and the new decision, each with what is sent to the agent."""
        return _add_sent(self.old, self.sent[0]), _add_sent(self.new, self.sent[1])


def _add_sent(decision: str, sent: str) -> str:
    permission, comma, rest = decision.partition(", ")
    return f"{permission} (sent as {sent}){comma}{rest}" if sent else decision


def compare_calls(
    calls: Iterable[RecordedCall], old: Trial, new: Trial, selected: frozenset[str] | None = None
) -> Iterator[CallChange]:
    """Yield the change of each selected call; the others are evaluated because later calls may depend on them."""
    for call in calls:
        history_only = selected is not None and call.id not in selected
        before = old.evaluate(call, history_only=history_only)
        after = new.evaluate(call, history_only=history_only)
        if not history_only:
            yield _compare(call, before, after)


def _compare(call: RecordedCall, before: TrialResult, after: TrialResult) -> CallChange:
    """Compare the new decision with the recorded one.

    The decision by the current configuration matters only for calls that were never decided, and to tell a change from
    drift. If it is unknown, the change is certain nevertheless.
    """
    then = call.decision or before.decision
    if after.outcome is None or then is None:
        return CallChange(call, ChangeKind.UNKNOWN, why=after.unknown or before.unknown)
    now = summarize(after.outcome)
    extras = _list_extras(after.outcome) - _list_extras(before.outcome) if before.outcome else set()
    added = tuple(sorted(now.responses - then.responses))
    removed = tuple(sorted(then.responses - now.responses))
    new = ", ".join([now.permission, *sorted(extras)])
    reasons = _list_reasons(after.outcome, added)
    sent = ("", "") if call.is_embedded else (then.sent, now.sent)  # an embedded session receives the Outcome itself
    change = CallChange(call, ChangeKind.SAME, then.permission, new, added, removed, reasons, sent=sent)
    if new != then.permission:
        if before.outcome is None:
            return change._replace(kind=ChangeKind.CHANGED, why=before.unknown)
        is_drift = summarize(before.outcome).permission == now.permission and not extras
        return change._replace(kind=ChangeKind.DRIFTED if is_drift else ChangeKind.CHANGED)
    return change._replace(kind=ChangeKind.OTHERS) if added or removed else change


def _list_extras(outcome: Outcome) -> set[str]:
    """Return the parts of a decision other than its permission."""
    return {words for field, words in SUMMARY_WORDS.items() if getattr(outcome.decision.verdict, field)}


def _list_reasons(outcome: Outcome, added: Opinions) -> Opinions:
    authors = {author for author, _ in added}
    reasons = [
        (response.author, f"{response.name}: {_explain(response)}")
        for response in outcome.responses
        if response.author in authors
    ]
    return tuple(dict.fromkeys(reasons))


def _explain(response: Response) -> str:
    answer = "warns" if response.summary == "no opinion" and response.warnings else response.summary
    return ", ".join([answer, *response.warnings])


def group_changes(changes: Iterable[CallChange], kinds: Iterable[ChangeKind]) -> list[ChangeGroup]:
    """Group the changes of these kinds, the most frequent first."""
    order = list(kinds)
    found: dict[ChangeGroup, list[CallChange]] = {}
    for change in changes:
        if change.kind in order:
            key = ChangeGroup(
                change.kind, change.old, change.new, change.added, change.removed, change.why, change.sent, ()
            )
            found.setdefault(key, []).append(change)
    groups = [group._replace(changes=tuple(same)) for group, same in found.items()]
    return sorted(groups, key=lambda group: (order.index(group.kind), -len(group.changes)))


def count_unknown(changes: Iterable[CallChange]) -> list[tuple[str, int]]:
    """Count the calls whose decision is unknown, by reason."""
    return Counter(change.why for change in changes if change.kind is ChangeKind.UNKNOWN).most_common()
