"""Alarms: contradictions in the audit log that a user should know about.

* An action was denied but done anyway: the agent did not get the denial, or ignored it.
* An action was done without a hook call before it, although this agent does call before: a hook stopped firing.
* An action was permitted but not done in a turn that ended normally: the user declined it, it is still running, or the
  agent does not report it.

Anything with another explanation raises no alarm: an action that another permission may have covered, a conversation
whose start is unknown, a turn that was aborted or had a failure, an agent that does not report executed actions.

If there is no room for all alarms, the unexpected kinds come before the doubtful one.

The outcome of an action is only known later, so it is joined when records are read and never written into a record.
"""

import itertools
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trotline.agents import AGENTS, get_agent
from trotline.audit.record.actions import (
    DONE,
    ELSEWHERE,
    END_EVENTS,
    EVENT_SIDES,
    FAILED,
    FAILURE_EVENT,
    LOOSE_FAMILIES,
    PERMITTED,
    PROMPT,
    RAN,
    REFUSED,
    START_EVENTS,
    STEP_KINDS,
    TURN_EVENTS,
    UNKNOWN,
    ActionStep,
    list_steps,
)
from trotline.audit.record.record import Record

DONE_DESPITE_DENIAL, NOT_ASKED, NEVER_DONE = "done all the same", "unasked", "not done"

ALARM_SENTENCES = {
    DONE_DESPITE_DENIAL: "what {about} says was refused was done all the same, says {by}",
    NOT_ASKED: "what {by} says was done, nobody asked about: a hook of {agent} stopped firing in this conversation",
    NEVER_DONE: "what {about} let through was not done when {by} came: a person said no, it runs yet, or nobody tells",
}
"""Alarm texts by kind. The last kind may have been caused by the user."""

UNEXPECTED_KINDS = frozenset({DONE_DESPITE_DENIAL, NOT_ASKED})
UNUSUAL_ENDS = frozenset({"aborted", "error", "interrupted", "cancelled", "user_close", "window_close"})
MAX_ALARMS_PER_KIND = 100
"""Limit per turn and action family for actions that were never done."""


class Alarm(NamedTuple):
    """An alarm, with the record that shows it (`seq`, `id`) and the record it is about, if any."""

    kind: str
    agent: str
    seq: int
    id: str
    decision_seq: int = 0
    decision_id: str = ""

    @property
    def sentence(self) -> str:
        return self.describe(str(self.seq), str(self.decision_seq))

    def describe(self, by: str, about: str) -> str:
        """Return the text of the alarm, with the given names for the two records."""
        return ALARM_SENTENCES[self.kind].format(by=by, about=about, agent=self.agent)


class ConversationState:
    """State of one conversation while its steps are read in order."""

    def __init__(self) -> None:
        self.begun = False  # the start of the conversation or of a turn was seen
        self.let: Counter[tuple[str, str]] = Counter()  # permissions by family and action
        self.older: Counter[tuple[str, str]] = Counter()  # the part of `let` from before this turn
        self.spare: Counter[str] = Counter()  # by family: permissions not used yet
        self.unnamed = 0  # permissions for actions without a known name
        self.refused: dict[tuple[str, str], ActionStep] = {}
        self.open: dict[str, list[ActionStep]] = defaultdict(list)  # by family: permitted and not done yet
        self.told: set[str] = set()  # families whose executed actions the agent reports
        self.named: set[str] = set()  # families in which the agent itself names the announced actions
        self.accused: set[str] = set()  # ids of denials already reported by a related event
        self.unasked: set[str] = set()

    def may_be_done(self, step: ActionStep) -> bool:
        """Check whether the action was permitted, or may have been, and use up that permission."""
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
        """Start a turn.

        Actions the user declined will not be done anymore. A permission for exactly the same action stays: it may still
        be running.
        """
        self.begun = True
        self.older = self.let.copy()
        self.spare.clear()
        self.open.clear()

    def refuse(self, step: ActionStep) -> None:
        """Record a denial.

        A permission for the same action from before this turn ends here: the user declined it, or its execution was not
        reported.
        """
        self.let[step.name] -= self.older.pop(step.name, 0)
        self.refused[step.name] = step

    def fail(self, step: ActionStep) -> None:
        """Record a failed action.

        The "after" event of a failed command may or may not follow, so one permission per family and all open actions
        are dropped.
        """
        if step.kind == FAILED and self.let[step.name]:
            self._use(step.name)
        for family in self.spare:
            self.spare[family] = max(0, self.spare[family] - 1)
        self.open.clear()

    def _use(self, name: tuple[str, str]) -> None:
        """Use up one permission, the oldest first."""
        self.let[name] -= 1
        self.older[name] = max(0, self.older[name] - 1)

    def _close(self, family: str, name: tuple[str, str] | None = None) -> None:
        """Remove a permitted action that was done: the named one, or the oldest if the agent names it differently."""
        self.spare[family] = max(0, self.spare[family] - 1)
        waiting = self.open[family]
        at = next((at for at, one in enumerate(waiting) if name in {None, one.name}), None)
        if at is not None:
            del waiting[at]


class AlarmDetector:
    """Finds alarms in steps that are given in order."""

    def __init__(self) -> None:
        self.found: list[Alarm] = []
        self._talks: defaultdict[tuple[str, str], ConversationState] = defaultdict(ConversationState)
        self._asked: set[tuple[str, str]] = set()  # agent and family: the agent calls a hook before these actions

    def see(self, step: ActionStep) -> None:
        """Process the next step."""
        talk = self._talks[step.talk]
        if step.event in START_EVENTS:
            talk.begin()
        if step.family in LOOSE_FAMILIES and step.kind in LOOSELY:
            LOOSELY[step.kind](self, step, talk)
        elif step.event in END_EVENTS:
            self._end(step, talk)
        elif step.event == FAILURE_EVENT:
            talk.fail(step)
        elif step.kind in MEANINGS:
            MEANINGS[step.kind](self, step, talk)

    def _refuse(self, step: ActionStep, talk: ConversationState) -> None:
        self._ask(step, talk)
        talk.refuse(step)

    def _let(self, step: ActionStep, talk: ConversationState) -> None:
        self._ask(step, talk)
        talk.let[step.name] += 1
        talk.spare[step.family] += 1
        if not step.asks and step.family not in _untold(step.talk[0]):
            talk.open[step.family].append(step)

    def _ask(self, step: ActionStep, talk: ConversationState) -> None:
        self._asked.add((step.talk[0], step.family))
        if step.is_named:
            talk.named.add(step.family)

    def _let_unnamed(self, step: ActionStep, talk: ConversationState) -> None:
        self._asked.add((step.talk[0], step.family))
        talk.unnamed += 1

    def _ran(self, step: ActionStep, talk: ConversationState) -> None:
        talk.told.add(step.family)
        if talk.may_be_done(step):
            return
        refused = talk.refused.get(step.name)
        agent = step.talk[0]
        if refused is not None:
            self._accuse(step, talk, refused)
        elif step.kind == ELSEWHERE:
            return  # the "before" call may have come at another event
        elif (
            talk.begun
            and step.family not in talk.unasked | _get_unpaired_actions(agent)
            and (agent, step.family) in self._asked
        ):
            talk.unasked.add(step.family)  # one alarm is enough: all later actions of the family would raise it too
            self._alarm(NOT_ASKED, step)

    def _accuse(self, step: ActionStep, talk: ConversationState, refused: ActionStep) -> None:
        """Raise an alarm unless this denial has one: an event may report an action twice, and so may two events."""
        if refused.id not in talk.accused:
            self._alarm(DONE_DESPITE_DENIAL, step, refused)

    def _refuse_loosely(self, step: ActionStep, talk: ConversationState) -> None:
        talk.refused[step.name] = step

    def _let_loosely(self, step: ActionStep, talk: ConversationState) -> None:
        talk.let[step.name] += 1  # never used up: the action may be reported more than once

    def _ran_loosely(self, step: ActionStep, talk: ConversationState) -> None:
        refused = None if talk.let[step.name] or talk.unnamed else talk.refused.pop(step.name, None)
        if refused is not None:
            self._accuse(step, talk, refused)
            talk.accused.add(refused.id)

    def _end(self, step: ActionStep, talk: ConversationState) -> None:
        if step.action not in UNUSUAL_ENDS:
            for family in talk.told:
                for open_ in talk.open[family][:MAX_ALARMS_PER_KIND]:
                    self._alarm(NEVER_DONE, step, open_)
        talk.open.clear()

    def _alarm(self, kind: str, step: ActionStep, about: ActionStep | None = None) -> None:
        named = (about.seq, about.id) if about else (0, "")
        self.found.append(Alarm(kind, step.talk[0], step.seq, step.id, *named))


MEANINGS: dict[str, Callable[[AlarmDetector, ActionStep, ConversationState], None]] = {
    REFUSED: AlarmDetector._refuse,  # noqa: SLF001 - same module
    PERMITTED: AlarmDetector._let,  # noqa: SLF001 - same module
    UNKNOWN: AlarmDetector._let_unnamed,  # noqa: SLF001 - same module
    **dict.fromkeys((RAN, ELSEWHERE), AlarmDetector._ran),  # noqa: SLF001 - same module
}


LOOSELY: dict[str, Callable[[AlarmDetector, ActionStep, ConversationState], None]] = {
    REFUSED: AlarmDetector._refuse_loosely,  # noqa: SLF001 - same module
    PERMITTED: AlarmDetector._let_loosely,  # noqa: SLF001 - same module
    RAN: AlarmDetector._ran_loosely,  # noqa: SLF001 - same module
}


def _untold(agent: str) -> frozenset[str]:
    return get_agent(agent).unreported_actions | get_agent(agent).unpaired_actions if agent in AGENTS else frozenset()


def _get_unpaired_actions(agent: str) -> frozenset[str]:
    return get_agent(agent).unpaired_actions if agent in AGENTS else frozenset()


def find_alarms(steps: Iterable[ActionStep]) -> list[Alarm]:
    """Return the alarms in these steps, which are in the order of the audit log."""
    watch = AlarmDetector()
    for step in steps:
        watch.see(step)
    return watch.found


def select_alarms(found: Sequence[Alarm], most: int) -> list[Alarm]:
    """Return at most `most` alarms, the newest of each group: unexpected ones first, each group in its order."""
    unexpected = [alarm for alarm in found if alarm.kind in UNEXPECTED_KINDS][-most:]
    doubts = [alarm for alarm in found if alarm.kind not in UNEXPECTED_KINDS]
    room = most - len(unexpected)
    return [*unexpected, *(doubts[-room:] if room else ())]


OBSERVATION_BATCH = 500
MAX_OBSERVED = 10
"""Limit of records listed per action: a command repeated all day has the same name each time."""

DEEDS, KINDS, ENDS = (", ".join("?" * len(words)) for words in (DONE, STEP_KINDS, TURN_EVENTS))

OBSERVED = (
    "SELECT pair.key, (SELECT json_group_array(seq) FROM (SELECT seq FROM facts"  # noqa: S608 - only constants
    f" WHERE kind IN ({DEEDS}) AND name = json_extract(pair.value, '$[0]') AND seq > json_extract(pair.value, '$[1]')"
    f" ORDER BY seq LIMIT {MAX_OBSERVED})) FROM json_each(?) AS pair"
)
STEPS_OF = (
    "SELECT records.seq, id, agent, conversation, event, coalesce(kind, ''), coalesce(name, ''), verdict"  # noqa: S608 - marks
    f" FROM records LEFT JOIN facts ON facts.seq = records.seq AND kind IN ({KINDS})"
    f" WHERE {{which}} AND own = 0 AND (kind IS NOT NULL OR event IN ({ENDS})) ORDER BY records.seq"
)
FIRST = "SELECT seq FROM records WHERE event = ? AND own = 0 AND +agent = ? AND +conversation != ? ORDER BY seq LIMIT 1"


def add_observed(db: sqlite3.Connection, records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records. Those that announced an action get the `observed` list of records that report it as done.

    The list has their sequence numbers. One SQL query serves a whole batch of records.
    """
    waiting = iter(records)
    while batch := list(itertools.islice(waiting, OBSERVATION_BATCH)):
        names = [(record, name) for record in batch for name in _list_announced_actions(record)]
        pairs = json.dumps([(name, record.seq) for record, name in names])
        found: dict[int, set[int]] = {record.seq: set() for record, _ in names}
        for key, seqs in db.execute(OBSERVED, (*DONE, pairs)) if names else ():
            found[names[key][0].seq].update(json.loads(seqs))
        for record in batch:
            if record.seq in found:
                record.observed = sorted(found[record.seq])[:MAX_OBSERVED]
            yield record


def _list_announced_actions(record: Record) -> list[str]:
    """Return the names of the announced actions, without prompts: every action of the turn would count as theirs."""
    return [name for kind, name in list_steps(record) if kind not in DONE and name and not name.startswith(PROMPT)]


def query_steps(db: sqlite3.Connection, which: str, *values: Any) -> Iterator[ActionStep]:
    """Yield the action steps of the records that match the SQL condition `which`, oldest first."""
    rows = db.execute(STEPS_OF.format(which=which), (*STEP_KINDS, *values, *TURN_EVENTS))
    for seq, id_, agent, talk, event, kind, name, verdict in rows:
        yield ActionStep(seq, id_, (agent, talk), event, kind, name, verdict == "ask")


def query_steps_around(db: sqlite3.Connection, record: Record) -> list[ActionStep]:
    """Return the steps needed to find alarms about a record.

    These are the steps of its conversation, and from other conversations the first call before each kind of action,
    which shows that the agent does call.
    """
    talk = record.agent, record.conversation
    own = list(query_steps(db, "records.conversation = ? AND +agent = ?", talk[1], talk[0]))
    done = {step.family for step in own if step.kind in DONE}
    asks = [event for event, side in EVENT_SIDES.items() if side.before and side.family in done]
    first = [row[0] for event in asks for row in db.execute(FIRST, (event, *talk))]
    others = [step for seq in first for step in query_steps(db, "records.seq = ?", seq)]
    return sorted([*others, *own], key=lambda step: step.seq)
