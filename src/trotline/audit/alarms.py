"""What does not fit together in the trail, and a person should hear of.

* An action was refused, and done all the same: the host did not hear, or did not obey.
* An action was done, and nobody had asked us, although this host does ask: a hook stopped firing.
* An action was let through and not done, in a turn that went well: a person said no, it still runs, or nobody tells.

Whatever could be explained otherwise is none of them: a deed that another leave may have been meant for, a conversation
of which we do not know the beginning, a turn that was aborted or in which something failed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from trotline.audit.actions import BEGINS, ENDS, FAILS, LET, RAN, REFUSED, UNKNOWN, Step

DONE_ALL_THE_SAME, UNASKED, NEVER_DONE = "done all the same", "unasked", "not done"

SENTENCES = {
    DONE_ALL_THE_SAME: "what {about} says was refused was done all the same, says {by}",
    UNASKED: "what {by} says was done, nobody asked about: a hook of {host} stopped firing in this conversation",
    NEVER_DONE: "what {about} let through was not done when {by} came: a person said no, it runs yet, or nobody tells",
}
"""What each is to a person; the last may be a person's own doing."""

UNEXPECTED = frozenset({DONE_ALL_THE_SAME, UNASKED})
UNUSUAL_ENDS = frozenset({"aborted", "error", "interrupted", "cancelled", "user_close", "window_close"})
MOST = 100
"""Of one kind in one conversation."""


class Alarm(NamedTuple):
    """Which record shows it, and which one it is about."""

    kind: str
    host: str
    seq: int
    id: str
    about_seq: int = 0
    about_id: str = ""

    @property
    def sentence(self) -> str:
        return self.told(str(self.seq), str(self.about_seq))

    def told(self, by: str, about: str) -> str:
        return SENTENCES[self.kind].format(by=by, about=about, host=self.host)


class _Talk:
    """One conversation as far as it has come."""

    def __init__(self) -> None:
        self.begun = False  # whether we know how it began
        self.let: Counter[tuple[str, str]] = Counter()  # by family and action
        self.spare: Counter[str] = Counter()  # by family: more that may be done than was
        self.unnamed = 0  # leave for something that nobody can name
        self.refused: dict[tuple[str, str], Step] = {}
        self.open: dict[str, list[Step]] = defaultdict(list)  # by family: let through, and not done yet
        self.told: set[str] = set()  # families of which the host tells deeds
        self.unasked: set[str] = set()

    def may_be_done(self, step: Step) -> bool:
        """Whether somebody let this pass, or may have."""
        this = (step.family, step.action)
        if self.let[this]:
            self.let[this] -= 1
            self._close(step.family, step.action)
            return True
        if this in self.refused:
            explained = self.unnamed > 0
            self.unnamed -= explained
            return explained
        if self.spare[step.family]:
            self._close(step.family)
            return True
        return self.unnamed > 0

    def _close(self, family: str, action: str = "") -> None:
        """One that was let through is done: this one, or the oldest, where a host has another name for it."""
        self.spare[family] = max(0, self.spare[family] - 1)
        waiting = self.open[family]
        at = next((at for at, one in enumerate(waiting) if not action or one.action == action), None)
        if at is not None:
            del waiting[at]


class Watch:
    """Steps in their order, and what comes of them."""

    def __init__(self) -> None:
        self.found: list[Alarm] = []
        self._talks: defaultdict[tuple[str, str], _Talk] = defaultdict(_Talk)
        self._asked: set[tuple[str, str]] = set()  # host and family: of these it asks us before

    def see(self, step: Step) -> None:
        talk = self._talks[step.talk]
        if step.event in BEGINS:
            talk.begun = True
        if step.event in ENDS:
            self._end(step, talk)
        elif step.event in BEGINS or step.event == FAILS:
            talk.open.clear()
        elif step.kind in MEANINGS:
            MEANINGS[step.kind](self, step, talk)

    def _refuse(self, step: Step, talk: _Talk) -> None:
        self._asked.add((step.talk[0], step.family))
        talk.refused[step.family, step.action] = step

    def _let(self, step: Step, talk: _Talk) -> None:
        self._asked.add((step.talk[0], step.family))
        talk.let[step.family, step.action] += 1
        talk.spare[step.family] += 1
        if not step.asks:
            talk.open[step.family].append(step)

    def _let_unnamed(self, step: Step, talk: _Talk) -> None:
        self._asked.add((step.talk[0], step.family))
        talk.unnamed += 1

    def _ran(self, step: Step, talk: _Talk) -> None:
        talk.told.add(step.family)
        if talk.may_be_done(step):
            return
        refused = talk.refused.get((step.family, step.action))
        if refused is not None:
            self._alarm(DONE_ALL_THE_SAME, step, refused)
        elif talk.begun and step.family not in talk.unasked and (step.talk[0], step.family) in self._asked:
            talk.unasked.add(step.family)  # once is enough: from here on all of them are
            self._alarm(UNASKED, step)

    def _end(self, step: Step, talk: _Talk) -> None:
        if step.action not in UNUSUAL_ENDS:
            for family in talk.told:
                for open_ in talk.open[family][:MOST]:
                    self._alarm(NEVER_DONE, step, open_)
        talk.open.clear()

    def _alarm(self, kind: str, step: Step, about: Step | None = None) -> None:
        named = (about.seq, about.id) if about else (0, "")
        self.found.append(Alarm(kind, step.talk[0], step.seq, step.id, *named))


MEANINGS: dict[str, Callable[[Watch, Step, _Talk], None]] = {
    REFUSED: Watch._refuse,  # noqa: SLF001 - its own
    LET: Watch._let,  # noqa: SLF001 - its own
    UNKNOWN: Watch._let_unnamed,  # noqa: SLF001 - its own
    RAN: Watch._ran,  # noqa: SLF001 - its own
}


def alarms_in(steps: Iterable[Step]) -> list[Alarm]:
    watch = Watch()
    for step in steps:
        watch.see(step)
    return watch.found
