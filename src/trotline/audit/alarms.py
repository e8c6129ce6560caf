"""What does not fit together in the trail, and a person should hear of.

* An action was refused, and done all the same: the host did not hear, or did not obey.
* An action was done, and nobody had asked us, although this host does ask: a hook stopped firing.
* An action was let through and not done, in a turn that went well: a person said no, it still runs, or nobody tells.

Whatever could be explained otherwise is none of them: a deed that another leave may have been meant for, a conversation
of which we do not know the beginning, a turn that was aborted or in which something failed, a host that does not tell.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from trotline.audit.actions import BEGINS, ELSEWHERE, ENDS, FAILED, FAILS, LET, LOOSE, RAN, REFUSED, UNKNOWN, Step
from trotline.hosts import HOSTS, host_named

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
        self.older: Counter[tuple[str, str]] = Counter()  # of it: from before this turn
        self.spare: Counter[str] = Counter()  # by family: more that may be done than was
        self.unnamed = 0  # leave for something that nobody can name
        self.refused: dict[tuple[str, str], Step] = {}
        self.open: dict[str, list[Step]] = defaultdict(list)  # by family: let through, and not done yet
        self.told: set[str] = set()  # families of which the host tells deeds
        self.named: set[str] = set()  # families in which the host has names of its own for what it asks about
        self.accused: set[str] = set()  # refusals of which an event told that is about something else besides
        self.unasked: set[str] = set()

    def may_be_done(self, step: Step) -> bool:
        """Whether somebody let this pass, or may have."""
        this = step.name
        if self.let[this]:
            self._use(this)
            self._close(step.family, this)
            return True
        if this in self.refused:
            explained = self.unnamed > 0
            self.unnamed -= explained
            return explained
        has_its_name = step.is_named and step.family in self.named
        if self.spare[step.family] and not has_its_name and step.kind == RAN:
            self._close(step.family)
            return True
        return self.unnamed > 0

    def begin(self) -> None:
        """What a person said no to is not done any more. Leave for the very same thing stays: it may be under way."""
        self.begun = True
        self.older = self.let.copy()
        self.spare.clear()
        self.open.clear()

    def refuse(self, step: Step) -> None:
        """Leave for the very same thing from before this turn ends here: a person had said no to it, or nobody told."""
        self.let[step.name] -= self.older.pop(step.name, 0)
        self.refused[step.name] = step

    def fail(self, step: Step) -> None:
        """Something was tried in vain. Of a command that was, the event after it may come or may not."""
        if step.kind == FAILED and self.let[step.name]:
            self._use(step.name)
        for family in self.spare:
            self.spare[family] = max(0, self.spare[family] - 1)
        self.open.clear()

    def _use(self, name: tuple[str, str]) -> None:
        """The oldest leave first."""
        self.let[name] -= 1
        self.older[name] = max(0, self.older[name] - 1)

    def _close(self, family: str, name: tuple[str, str] | None = None) -> None:
        """One that was let through is done: this one, or the oldest, where a host has another name for it."""
        self.spare[family] = max(0, self.spare[family] - 1)
        waiting = self.open[family]
        at = next((at for at, one in enumerate(waiting) if name in {None, one.name}), None)
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
            talk.begin()
        if step.family in LOOSE and step.kind in LOOSELY:
            LOOSELY[step.kind](self, step, talk)
        elif step.event in ENDS:
            self._end(step, talk)
        elif step.event == FAILS:
            talk.fail(step)
        elif step.kind in MEANINGS:
            MEANINGS[step.kind](self, step, talk)

    def _refuse(self, step: Step, talk: _Talk) -> None:
        self._ask(step, talk)
        talk.refuse(step)

    def _let(self, step: Step, talk: _Talk) -> None:
        self._ask(step, talk)
        talk.let[step.name] += 1
        talk.spare[step.family] += 1
        if not step.asks and step.family not in _untold(step.talk[0]):
            talk.open[step.family].append(step)

    def _ask(self, step: Step, talk: _Talk) -> None:
        self._asked.add((step.talk[0], step.family))
        if step.is_named:
            talk.named.add(step.family)

    def _let_unnamed(self, step: Step, talk: _Talk) -> None:
        self._asked.add((step.talk[0], step.family))
        talk.unnamed += 1

    def _ran(self, step: Step, talk: _Talk) -> None:
        talk.told.add(step.family)
        if talk.may_be_done(step):
            return
        refused = talk.refused.get(step.name)
        host = step.talk[0]
        if refused is not None:
            self._accuse(step, talk, refused)
        elif step.kind == ELSEWHERE:
            return  # its own event before may have been asked
        elif talk.begun and step.family not in talk.unasked | _unpaired(host) and (host, step.family) in self._asked:
            talk.unasked.add(step.family)  # once is enough: from here on all of them are
            self._alarm(UNASKED, step)

    def _accuse(self, step: Step, talk: _Talk, refused: Step) -> None:
        """Of one refusal an event may tell in two ways, and two events may tell."""
        if refused.id not in talk.accused:
            self._alarm(DONE_ALL_THE_SAME, step, refused)

    def _refuse_loosely(self, step: Step, talk: _Talk) -> None:
        talk.refused[step.name] = step

    def _let_loosely(self, step: Step, talk: _Talk) -> None:
        talk.let[step.name] += 1  # it may be told of more than once

    def _ran_loosely(self, step: Step, talk: _Talk) -> None:
        refused = None if talk.let[step.name] or talk.unnamed else talk.refused.pop(step.name, None)
        if refused is not None:
            self._accuse(step, talk, refused)
            talk.accused.add(refused.id)

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
    **dict.fromkeys((RAN, ELSEWHERE), Watch._ran),  # noqa: SLF001 - its own
}


LOOSELY: dict[str, Callable[[Watch, Step, _Talk], None]] = {
    REFUSED: Watch._refuse_loosely,  # noqa: SLF001 - its own
    LET: Watch._let_loosely,  # noqa: SLF001 - its own
    RAN: Watch._ran_loosely,  # noqa: SLF001 - its own
}


def _untold(host: str) -> frozenset[str]:
    return host_named(host).untold | host_named(host).unpaired if host in HOSTS else frozenset()


def _unpaired(host: str) -> frozenset[str]:
    return host_named(host).unpaired if host in HOSTS else frozenset()


def alarms_in(steps: Iterable[Step]) -> list[Alarm]:
    watch = Watch()
    for step in steps:
        watch.see(step)
    return watch.found
