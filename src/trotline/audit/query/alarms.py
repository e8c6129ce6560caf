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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trotline.agents import AGENTS, get_agent
from trotline.audit.record.actions import (
    DENIED,
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
    START_EVENTS,
    STEP_KINDS,
    TURN_EVENTS,
    UNKNOWN,
    ActionStep,
    list_steps,
)
from trotline.audit.record.record import Record

ActionName = tuple[str, str]
"""Family and digest of an action."""

DONE_DESPITE_DENIAL, DONE_WITHOUT_CALL, NEVER_DONE = "done all the same", "unasked", "not done"

ALARM_SENTENCES = {
    DONE_DESPITE_DENIAL: "what {decision} says was refused was done all the same, says {by}",
    DONE_WITHOUT_CALL: (
        "what {by} says was done, nobody asked about: a hook of {agent} stopped firing in this conversation"
    ),
    NEVER_DONE: (
        "what {decision} let through was not done when {by} came: a person said no, it is still running, or the agent"
        " does not report it"
    ),
}
"""Alarm texts by kind. The last kind may have been caused by the user."""

UNEXPECTED_KINDS = frozenset({DONE_DESPITE_DENIAL, DONE_WITHOUT_CALL})
UNUSUAL_ENDS = frozenset({"aborted", "error", "interrupted", "cancelled", "user_close", "window_close"})
MAX_ALARMS_PER_KIND = 100
"""Limit per turn and action family for actions that were never done."""


class Alarm(NamedTuple):
    """An alarm, with the record that shows it (`seq`, `id`) and the record of the decision it contradicts, if any."""

    kind: str
    agent: str
    seq: int
    id: str
    decision_seq: int = 0
    decision_id: str = ""

    @property
    def sentence(self) -> str:
        """The text of the alarm, with the sequence numbers as names for the two records."""
        return self.describe(str(self.seq), str(self.decision_seq))

    def describe(self, by: str, decision: str) -> str:
        """Return the text of the alarm, with the given names for the two records."""
        return ALARM_SENTENCES[self.kind].format(by=by, decision=decision, agent=self.agent)


class ConversationState:
    """State of one conversation while its steps are read in order."""

    def __init__(self) -> None:
        self.has_started = False  # the start of the conversation or of a turn was seen
        self.permissions: Counter[ActionName] = Counter()
        self.earlier: Counter[ActionName] = Counter()  # the part of `permissions` from before this turn
        self.unused: Counter[str] = Counter()  # by family: permissions of this turn that are not used yet
        self.unnamed = 0  # permissions for actions without a known name
        self.denials: dict[ActionName, ActionStep] = {}
        self.open: dict[str, list[ActionStep]] = defaultdict(list)  # by family: permitted and not done yet
        self.reporting: set[str] = set()  # families whose executed actions the agent reports
        self.naming: set[str] = set()  # families in which the agent itself names the announced actions
        self.reported_denials: set[str] = set()  # ids of denials already reported by a related event
        self.reported_families: set[str] = set()  # families with an alarm about a missing hook call

    def explain(self, step: ActionStep) -> bool:
        """Check whether the action was permitted, or may have been, and use up that permission."""
        if self.permissions[step.name]:
            self._use(step.name)
            self._close(step.family, step.name)
            return True
        if step.name in self.denials:
            is_explained = self.unnamed > 0
            self.unnamed -= is_explained
            return is_explained
        has_agent_name = step.is_named and step.family in self.naming
        if self.unused[step.family] and not has_agent_name and step.kind == RAN:
            self._close(step.family)
            return True
        return self.unnamed > 0

    def start_turn(self) -> None:
        """Start a turn.

        Actions the user declined will not be done anymore. A permission for exactly the same action stays: it may still
        be running.
        """
        self.has_started = True
        self.earlier = self.permissions.copy()
        self.unused.clear()
        self.open.clear()

    def deny(self, step: ActionStep) -> None:
        """Record a denial.

        A permission for the same action from before this turn ends here: the user declined it, or its execution was not
        reported.
        """
        self.permissions[step.name] -= self.earlier.pop(step.name, 0)
        self.denials[step.name] = step

    def fail(self, step: ActionStep) -> None:
        """Record a failed action.

        The "after" event of a failed command may or may not follow, so one permission per family and all open actions
        are dropped.
        """
        if step.kind == FAILED and self.permissions[step.name]:
            self._use(step.name)
        for family in self.unused:
            self.unused[family] = max(0, self.unused[family] - 1)
        self.open.clear()

    def _use(self, name: ActionName) -> None:
        """Use up one permission, the oldest first."""
        self.permissions[name] -= 1
        self.earlier[name] = max(0, self.earlier[name] - 1)

    def _close(self, family: str, name: ActionName | None = None) -> None:
        """Remove a permitted action that was done: the named one, or the oldest if the agent names it differently."""
        self.unused[family] = max(0, self.unused[family] - 1)
        waiting = self.open[family]
        at = next((at for at, step in enumerate(waiting) if name in {None, step.name}), None)
        if at is not None:
            del waiting[at]


class AlarmDetector:
    """Finds alarms in steps that are given in order."""

    def __init__(self) -> None:
        self.alarms: list[Alarm] = []
        self._conversations: defaultdict[tuple[str, str], ConversationState] = defaultdict(ConversationState)
        self._asking: set[tuple[str, str]] = set()  # agent and family: the agent calls a hook before these actions

    def process(self, step: ActionStep) -> None:
        """Process the next step."""
        state = self._conversations[step.conversation]
        if step.event in START_EVENTS:
            state.start_turn()
        if step.family in LOOSE_FAMILIES and step.kind in (DENIED, PERMITTED, RAN):
            self._process_loose(step, state)
        elif step.event in END_EVENTS:
            self._end_turn(step, state)
        elif step.event == FAILURE_EVENT:
            state.fail(step)
        elif step.kind in (DENIED, PERMITTED, UNKNOWN):
            self._announce(step, state)
        elif step.kind in DONE:
            self._execute(step, state)

    def _announce(self, step: ActionStep, state: ConversationState) -> None:
        self._asking.add((step.agent, step.family))
        if step.is_named:
            state.naming.add(step.family)
        if step.kind == UNKNOWN:
            state.unnamed += 1
        elif step.kind == DENIED:
            state.deny(step)
        else:
            state.permissions[step.name] += 1
            state.unused[step.family] += 1
            if not step.asks and step.family not in _get_unreported_actions(step.agent):
                state.open[step.family].append(step)

    def _execute(self, step: ActionStep, state: ConversationState) -> None:
        state.reporting.add(step.family)
        if state.explain(step):
            return
        denial = state.denials.get(step.name)
        if denial is not None:
            self._report_denial(step, state, denial)
        elif step.kind == ELSEWHERE:
            return  # the "before" call may have come at another event
        elif (
            state.has_started
            and step.family not in state.reported_families | _get_unpaired_actions(step.agent)
            and (step.agent, step.family) in self._asking
        ):
            state.reported_families.add(step.family)  # later actions of the family would raise the same alarm
            self._add_alarm(DONE_WITHOUT_CALL, step)

    def _report_denial(self, step: ActionStep, state: ConversationState, denial: ActionStep) -> None:
        """Report one denial once, even if two events show that the action was done."""
        if denial.id not in state.reported_denials:
            self._add_alarm(DONE_DESPITE_DENIAL, step, denial)

    def _process_loose(self, step: ActionStep, state: ConversationState) -> None:
        """Process an action of LOOSE_FAMILIES, which an agent may report any number of times.

        A permission is never used up, and an alarm needs a denial and no permission.
        """
        if step.kind == DENIED:
            state.denials[step.name] = step
        elif step.kind == PERMITTED:
            state.permissions[step.name] += 1
        elif not state.permissions[step.name] and not state.unnamed:
            denial = state.denials.pop(step.name, None)
            if denial is not None:
                self._report_denial(step, state, denial)
                state.reported_denials.add(denial.id)

    def _end_turn(self, step: ActionStep, state: ConversationState) -> None:
        if step.action not in UNUSUAL_ENDS:
            for family in state.reporting:
                for permitted in state.open[family][:MAX_ALARMS_PER_KIND]:
                    self._add_alarm(NEVER_DONE, step, permitted)
        state.open.clear()

    def _add_alarm(self, kind: str, step: ActionStep, decision: ActionStep | None = None) -> None:
        ids = (decision.seq, decision.id) if decision else (0, "")
        self.alarms.append(Alarm(kind, step.agent, step.seq, step.id, *ids))


def _get_unpaired_actions(agent: str) -> frozenset[str]:
    return get_agent(agent).unpaired_actions if agent in AGENTS else frozenset()


def _get_unreported_actions(agent: str) -> frozenset[str]:
    return get_agent(agent).unreported_actions | get_agent(agent).unpaired_actions if agent in AGENTS else frozenset()


def find_alarms(steps: Iterable[ActionStep]) -> list[Alarm]:
    """Return the alarms in these steps, which are in the order of the audit log."""
    detector = AlarmDetector()
    for step in steps:
        detector.process(step)
    return detector.alarms


def select_alarms(alarms: Sequence[Alarm], limit: int) -> list[Alarm]:
    """Return at most `limit` alarms, the newest of each group: unexpected ones first, each group in its order."""
    unexpected = [alarm for alarm in alarms if alarm.kind in UNEXPECTED_KINDS][-limit:]
    doubtful = [alarm for alarm in alarms if alarm.kind not in UNEXPECTED_KINDS]
    room = limit - len(unexpected)
    return [*unexpected, *(doubtful[-room:] if room else ())]


OBSERVATION_BATCH = 500
MAX_OBSERVED = 10
"""Limit of records listed per action: a command repeated all day has the same name each time."""

DONE_MARKS, KIND_MARKS, EVENT_MARKS = (", ".join("?" * len(names)) for names in (DONE, STEP_KINDS, TURN_EVENTS))

SELECT_OBSERVED = (
    "SELECT pair.key, (SELECT json_group_array(seq) FROM (SELECT seq FROM facts"  # noqa: S608 - only constants
    f" WHERE kind IN ({DONE_MARKS}) AND name = json_extract(pair.value, '$[0]')"
    " AND seq > json_extract(pair.value, '$[1]')"
    f" ORDER BY seq LIMIT {MAX_OBSERVED})) FROM json_each(?) AS pair"
)
SELECT_STEPS = (
    "SELECT records.seq, id, agent, conversation, event, coalesce(kind, ''), coalesce(name, ''), verdict"  # noqa: S608 - marks
    f" FROM records LEFT JOIN facts ON facts.seq = records.seq AND kind IN ({KIND_MARKS})"
    f" WHERE {{condition}} AND is_self_test = 0 AND (kind IS NOT NULL OR event IN ({EVENT_MARKS})) ORDER BY records.seq"
)
SELECT_FIRST_CALL = (
    "SELECT seq FROM records WHERE event = ? AND is_self_test = 0 AND +agent = ? AND +conversation != ?"
    " ORDER BY seq LIMIT 1"
)


def add_observed(db: sqlite3.Connection, records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records. Those that announced an action get the `observed` list of records that report it as done.

    The list has their sequence numbers. One SQL query serves a whole batch of records.
    """
    waiting = iter(records)
    while batch := list(itertools.islice(waiting, OBSERVATION_BATCH)):
        names = [(record, name) for record in batch for name in _list_announced_actions(record)]
        pairs = json.dumps([(name, record.seq) for record, name in names])
        found: dict[int, set[int]] = {record.seq: set() for record, _ in names}
        for key, seqs in db.execute(SELECT_OBSERVED, (*DONE, pairs)) if names else ():
            found[names[key][0].seq].update(json.loads(seqs))
        for record in batch:
            if record.seq in found:
                record.observed = sorted(found[record.seq])[:MAX_OBSERVED]
            yield record


def _list_announced_actions(record: Record) -> list[str]:
    """Return the names of the announced actions, without prompts: every action of the turn would count as theirs."""
    return [name for kind, name in list_steps(record) if kind not in DONE and name and not name.startswith(PROMPT)]


def query_steps(db: sqlite3.Connection, condition: str, *values: Any) -> Iterator[ActionStep]:
    """Yield the action steps of the records that match an SQL condition, oldest first."""
    rows = db.execute(SELECT_STEPS.format(condition=condition), (*STEP_KINDS, *values, *TURN_EVENTS))
    for seq, id_, agent, conversation, event, kind, name, verdict in rows:
        yield ActionStep(seq, id_, (agent, conversation), event, kind, name, verdict == "ask")


def query_steps_around(db: sqlite3.Connection, record: Record) -> list[ActionStep]:
    """Return the steps needed to find alarms about a record.

    These are the steps of its conversation, and from other conversations the first call before each kind of action,
    which shows that the agent does call.
    """
    agent, conversation = record.agent, record.conversation
    steps = list(query_steps(db, "records.conversation = ? AND +agent = ?", conversation, agent))
    families = {step.family for step in steps if step.kind in DONE}
    events = [event for event, side in EVENT_SIDES.items() if side.before and side.family in families]
    calls = [row[0] for event in events for row in db.execute(SELECT_FIRST_CALL, (event, agent, conversation))]
    others = [step for seq in calls for step in query_steps(db, "records.seq = ?", seq)]
    return sorted([*others, *steps], key=lambda step: step.seq)
