"""Evaluate calls in their order by a candidate.

A trial writes nothing, sends nothing, and keeps the history of conversations in memory.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.agents import get_agent
from trotline.agents.agent import Capability
from trotline.analysis.analyze import EVENT_ANALYZERS
from trotline.config.hooks_json import lookaround
from trotline.config.paths import Roots
from trotline.config.policies import read_policies
from trotline.config.problems import Problem
from trotline.config.settings import read_settings
from trotline.conversation.functions import EventHandler
from trotline.conversation.sessions import Sessions
from trotline.domain.events import EVENTS, AfterMCP, AfterShell, OtherEvent, PostToolUse, PostToolUseFailure
from trotline.domain.history import UNKNOWN_HISTORY, History
from trotline.domain.outcomes import Call, Outcome
from trotline.domain.verdicts import Permission
from trotline.evaluation.machine_panel import build_panel, format_alarm
from trotline.evaluation.panel import GuardPanel, HistoryStore
from trotline.hook.answer import AnswerContext, answer
from trotline.policy.policy import Policy
from trotline.replay.candidate import Candidate, HookNotRun
from trotline.replay.recorded_call import DecisionSummary, RecordedCall, drop_canary

DEPENDS_ON_UNKNOWN_CALL = "it depends on an earlier call of its conversation that cannot be judged again"

BEFORE_ACTION = frozenset(cls.contract.name for cls in EVENT_ANALYZERS)
AFTER_ACTION = frozenset(cls.contract.name for cls in (AfterMCP, AfterShell, PostToolUse, PostToolUseFailure))
"""Events that change how the rest of a conversation is evaluated: actions that can be denied, and their results."""


class UnknownHistory(History, frozen=True):
    """The history of a conversation whose actions are unknown; it assumes the worst."""

    secrets: int = UNKNOWN_HISTORY.secrets
    denied: tuple[str, ...] = UNKNOWN_HISTORY.denied
    injected: int = UNKNOWN_HISTORY.injected

    def was_refused(self, _effect: object) -> bool:
        """Return True, because any effect may have been refused."""
        return True

    def was_written(self, _path: str) -> bool:
        """Return True, because any file may have been written."""
        return True


class TrialMemory(HistoryStore):
    """The history of the conversations of one trial."""

    def __init__(self) -> None:
        self.histories: dict[str, History] = {}

    def read(self, conversation: str) -> tuple[History, str]:
        """Return the history of a conversation; it never fails."""
        return self.histories.get(conversation, History()), ""

    def update(self, conversation: str, change: Callable[[History], History], _now_us: int) -> str:
        """Change the history of a conversation in memory."""
        if conversation:
            self.histories[conversation] = change(self.read(conversation)[0])
        return ""


class WorstCaseMemory(HistoryStore):
    """The worst history that conversations with a call of unknown content can have.

    A call before an action may have contained anything. A call after an action was not denied: it added at most a
    secret or an injection, and what was denied because of these is stored here.
    """

    def __init__(self, likely: TrialMemory) -> None:
        self.likely = likely
        self.histories: dict[str, History] = {}

    def add_unknown(self, call: RecordedCall) -> None:
        """Note that the content of this call is unknown."""
        if call.event in BEFORE_ACTION:
            self.histories[call.conversation] = UnknownHistory()
        elif call.event in AFTER_ACTION:
            self.histories.setdefault(call.conversation, History(secrets=1, injected=1))

    def read(self, conversation: str) -> tuple[History, str]:
        """Return the worst history joined with the likely one."""
        worst, likely = self.histories.get(conversation, UnknownHistory()), self.likely.read(conversation)[0]
        if isinstance(worst, UnknownHistory):
            return worst, ""
        denied, written = {*worst.denied, *likely.denied}, {*worst.written, *likely.written}
        return History(worst.secrets, tuple(sorted(denied)), tuple(sorted(written)), worst.injected), ""

    def update(self, conversation: str, change: Callable[[History], History], _now_us: int) -> str:
        """Change the history of a conversation, unless it is entirely unknown."""
        history = self.read(conversation)[0]
        if not isinstance(history, UnknownHistory):
            self.histories[conversation] = change(history)
        return ""


class TrialResult(NamedTuple):
    """The outcome of one call, or the reason why it is unknown."""

    outcome: Outcome | None = None
    unknown: str = ""

    @property
    def decision(self) -> DecisionSummary | None:
        """The summary of the outcome, or None if the outcome is unknown."""
        return summarize(self.outcome) if self.outcome is not None else None


def summarize(outcome: Outcome) -> DecisionSummary:
    """Return the decision of an outcome in the form in which a record has it."""
    opinions = [response for response in outcome.responses if response.warnings or response.summary != "no opinion"]
    responses = drop_canary((response.author, response.verdict.permission.word) for response in opinions)
    permission = outcome.decision.permission
    sent = "" if outcome.monitored else outcome.sent.get("permission", permission).word
    return DecisionSummary(permission.word, responses, sent if sent != permission.word else "")


class Trial:
    """An evaluator of calls by one candidate, in the order in which they were made."""

    def __init__(self, candidate: Candidate, roots: Roots, sessions: Path, today: str) -> None:
        self.candidate = candidate
        self.roots = roots
        self.today = today
        self.memory = TrialMemory()
        self.worst_case = WorstCaseMemory(self.memory)
        self.sessions = Sessions(sessions)
        self.settings = read_settings(roots)
        self.problems: dict[Problem, None] = {}
        self.has_user_rule = False
        self._policy = functools.cache(self._read_policy)
        self._panel = functools.cache(self._build_panel)

    def evaluate(self, call: RecordedCall, *, history_only: bool = False) -> TrialResult:
        """Evaluate a call. With `history_only` its result matters only to later calls, and no hook is run."""
        if call.missing:
            self.worst_case.add_unknown(call)
            return TrialResult(unknown=call.missing)
        try:
            return self._evaluate(call, () if history_only else self.candidate.hooks)
        except HookNotRun as error:
            return TrialResult(unknown=str(error))

    def _evaluate(self, call: RecordedCall, hooks: Sequence[EventHandler]) -> TrialResult:
        is_sure = not call.conversation or call.conversation not in self.worst_case.histories
        worst = Permission.NONE if is_sure else self._answer(call, (), worst_case=True).decision.permission
        outcome = self._answer(call, hooks)
        if isinstance(outcome.event, OtherEvent) and call.event in EVENTS:
            return TrialResult(unknown="what was kept of its payload cannot be read any more")
        if worst > outcome.decision.permission:  # a longer history never weakens a decision
            return TrialResult(unknown=DEPENDS_ON_UNKNOWN_CALL)
        if call.has_no_user and self.has_user_rule:
            return TrialResult(unknown="redacted: the person's address, and a rule asks for `user`")
        return TrialResult(outcome)

    def _answer(self, call: RecordedCall, hooks: Sequence[EventHandler], *, worst_case: bool = False) -> Outcome:
        request = Call(id="", payload=call.payload, received_us=call.at_us)
        return answer(request, self._build_context(call, hooks, worst_case=worst_case))[1]

    def _build_context(self, call: RecordedCall, hooks: Sequence[EventHandler], *, worst_case: bool) -> AnswerContext:
        agent = get_agent(call.wire_agent)
        theirs = next((name for name, ours in agent.events.items() if ours == call.event), call.event)
        asks = self.settings.ask_fallback == Permission.ASK.word
        return AnswerContext(
            agent,
            hooks,
            self.sessions,
            event=theirs,
            trusted_capabilities=frozenset({Capability.ASK}) if asks else frozenset(),
            search=lookaround.search,
            guards=self._panel("" if call.is_embedded else agent.name, call.monitored, worst_case),
            is_monitoring=call.monitored,
        )

    def _build_panel(self, agent: str, monitored: bool, worst_case: bool) -> GuardPanel:
        def policies(projects: Sequence[str]) -> tuple[Policy, tuple[str, ...]]:
            return self._policy(tuple(projects))

        guards = build_panel(self.roots, self.sessions, is_monitoring=monitored, agent=agent, policies=policies)
        guards.history_store = self.worst_case if worst_case else self.memory
        guards.scanning = guards.scanning._replace(key=bytes)  # nothing is stored, so nothing needs a digest
        return guards

    def _read_policy(self, projects: tuple[str, ...]) -> tuple[Policy, tuple[str, ...]]:
        instead = self.candidate.policies
        read = read_policies(self.roots, list(map(Path, projects)), today=self.today, overrides=instead)
        self.problems |= dict.fromkeys(read.problems)
        self.has_user_rule = self.has_user_rule or any("user" in rule.when for rule in read.policy.rules)
        policy = read.policy
        if self.candidate.preset:
            policy = policy._replace(preset=self.candidate.preset, preset_layer="asked for")
        return policy, tuple(map(format_alarm, read.problems))
