"""A trial: calls in their order, answered by what a state of policy and hooks would say. Nothing is written and nothing
is sent: conversations are remembered in here, and forgotten with it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.analysis.action import READERS
from trotline.answer import Seat, answer
from trotline.canary import CANARY
from trotline.config import lookaround
from trotline.config.places import Roots
from trotline.config.policies import AS_THEY_ARE, Given, read_policies
from trotline.config.problems import Problem
from trotline.config.settings import read_settings
from trotline.engine.functions import Function
from trotline.engine.sessions import Sessions
from trotline.events import EVENTS, AfterMCP, AfterShell, OtherEvent, PostToolUse, PostToolUseFailure
from trotline.guarding import alarm_of, guards_of
from trotline.guards.policy import Policy
from trotline.hosts import host_named
from trotline.hosts.host import Answer, Host, Power
from trotline.judging import Guards, Recollection
from trotline.memory import FORGOTTEN, Memory
from trotline.outcomes import Call, Outcome
from trotline.replay.hooks import Unasked
from trotline.replay.recalled import Recalled, Said, spoken
from trotline.verdicts import Permission

WORST = "it depends on an earlier call of its conversation that cannot be judged again"

BEFORE = frozenset(cls.contract.name for cls in READERS)
AFTER = frozenset(cls.contract.name for cls in (AfterMCP, AfterShell, PostToolUse, PostToolUseFailure))
"""Events after which a conversation may be judged otherwise: actions that may be refused, and what came of them."""


class State(NamedTuple):
    """What calls are judged by: the policies of all layers, some of them other than they are, a preset, hooks."""

    instead: Mapping[str, Given] = AS_THEY_ARE
    preset: str = ""
    hooks: Sequence[Function] = ()


IN_FORCE = State()


class AnyMemory(Memory, frozen=True):
    """Of a conversation that may have done anything before."""

    secrets: int = FORGOTTEN.secrets
    denied: tuple[str, ...] = FORGOTTEN.denied
    injected: int = FORGOTTEN.injected

    def refused(self, _effect: object) -> bool:
        return True

    def wrote(self, _path: str) -> bool:
        return True


class OwnMemory(Recollection):
    """What conversations of one trial did before."""

    def __init__(self) -> None:
        self.known: dict[str, Memory] = {}

    def of(self, conversation: str) -> tuple[Memory, str]:
        return self.known.get(conversation, Memory()), ""

    def keep(self, conversation: str, change: Callable[[Memory], Memory], _now_us: int) -> str:
        if conversation:
            self.known[conversation] = change(self.of(conversation)[0])
        return ""


class WorstMemory(Recollection):
    """The worst that conversations of one trial may have done before, where a call of theirs cannot be judged again.

    Before an action anything may have been said. What is over was refused by nobody: it has added a secret or an attack
    at most, and whatever was refused because of these is remembered in here.
    """

    def __init__(self, likely: OwnMemory) -> None:
        self.likely = likely
        self.known: dict[str, Memory] = {}

    def doubt(self, one: Recalled) -> None:
        """From now on nobody knows what the conversation of this call has done."""
        if one.event in BEFORE:
            self.known[one.conversation] = AnyMemory()
        elif one.event in AFTER:
            self.known.setdefault(one.conversation, Memory(secrets=1, injected=1))

    def of(self, conversation: str) -> tuple[Memory, str]:
        known, likely = self.known.get(conversation, AnyMemory()), self.likely.of(conversation)[0]
        if isinstance(known, AnyMemory):
            return known, ""
        denied, written = {*known.denied, *likely.denied}, {*known.written, *likely.written}
        return Memory(known.secrets, tuple(sorted(denied)), tuple(sorted(written)), known.injected), ""

    def keep(self, conversation: str, change: Callable[[Memory], Memory], _now_us: int) -> str:
        memory = self.of(conversation)[0]
        if not isinstance(memory, AnyMemory):
            self.known[conversation] = change(memory)
        return ""


class Judged(NamedTuple):
    """What a trial came to for one call; `unsaid` is why it came to nothing."""

    answer: Answer | None = None
    outcome: Outcome | None = None
    unsaid: str = ""

    @property
    def said(self) -> Said | None:
        if self.outcome is None:
            return None
        heard = [voice for voice in self.outcome.voices if voice.warnings or voice.said != "no opinion"]
        voices = spoken((voice.author, voice.verdict.permission.word) for voice in heard)
        permission = self.outcome.decision.permission
        sent = "" if self.outcome.monitored else self.outcome.sent.get("permission", permission).word
        return Said(permission.word, voices, sent if sent != permission.word else "")


class Trial:
    """One state, asked about calls in the order in which they came."""

    def __init__(self, state: State, roots: Roots, sessions: Path, today: str) -> None:
        self.state = state
        self.roots = roots
        self.today = today
        self.memory = OwnMemory()
        self.sessions = Sessions(sessions)
        self.settings = read_settings(roots)
        self.problems: dict[Problem, None] = {}
        self.asks_who = False
        self.worst = WorstMemory(self.memory)
        self._policy = functools.cache(self._read)
        self._guards = functools.cache(self._guards_for)

    def judge(self, one: Recalled, host: Host | None = None, *, aside: bool = False) -> Judged:
        """The answer to a call; on a host of another name, if one is given. Of a call aside nobody wants to know more
        than what a conversation remembers of it, and no hook is run."""
        if one.missing:
            self.worst.doubt(one)
            return Judged(unsaid=one.missing)
        try:
            return self._judged(one, host, () if aside else self.state.hooks)
        except Unasked as unasked:
            return Judged(unsaid=str(unasked))

    def _judged(self, one: Recalled, host: Host | None, hooks: Sequence[Function]) -> Judged:
        sure = not one.conversation or one.conversation not in self.worst.known
        worst = Permission.SILENT if sure else self._answered(one, host, (), worst=True)[1].decision.permission
        sent, outcome = self._answered(one, host, hooks)
        if isinstance(outcome.event, OtherEvent) and one.event in EVENTS:
            return Judged(unsaid="what was kept of its payload cannot be read any more")
        if worst > outcome.decision.permission:  # to remember more makes nobody milder
            return Judged(unsaid=WORST)
        if one.nameless and self.asks_who:
            return Judged(unsaid="redacted: the person's address, and a rule asks for `user`")
        return Judged(sent, outcome)

    def _answered(
        self, one: Recalled, host: Host | None, hooks: Sequence[Function], *, worst: bool = False
    ) -> tuple[Answer, Outcome]:
        call = Call(id="", payload=one.payload, received_us=one.at_us)
        return answer(call, self._seat(one, host or host_named(one.wire), hooks, worst=worst))

    def _seat(self, one: Recalled, host: Host, hooks: Sequence[Function], *, worst: bool) -> Seat:
        theirs = next((name for name, ours in host.events.items() if ours == one.event), one.event)
        return Seat(
            host,
            hooks,
            self.sessions,
            event=theirs,
            believing=frozenset({Power.ASK}) if self.settings.ask_fallback == Permission.ASK.word else frozenset(),
            search=lookaround.search,
            guards=self._guards("" if one.own else host.name, one.monitored, worst),
            always=(CANARY,),
            monitors=one.monitored,
        )

    def _guards_for(self, host: str, monitored: bool, worst: bool) -> Guards:
        def policies(projects: Sequence[str]) -> tuple[Policy, tuple[str, ...]]:
            return self._policy(tuple(projects))

        guards = guards_of(self.roots, self.sessions, monitors=monitored, host=host, policies=policies)
        guards.recollection = self.worst if worst else self.memory
        guards.scanning = guards.scanning._replace(key=bytes)  # nothing is kept, so nothing needs a digest
        return guards

    def _read(self, projects: tuple[str, ...]) -> tuple[Policy, tuple[str, ...]]:
        read = read_policies(self.roots, list(map(Path, projects)), today=self.today, instead=self.state.instead)
        self.problems |= dict.fromkeys(read.problems)
        self.asks_who = self.asks_who or any("user" in rule.when for rule in read.policy.rules)
        policy = read.policy
        if self.state.preset:
            policy = policy._replace(preset=self.state.preset, preset_layer="asked for")
        return policy, tuple(map(alarm_of, read.problems))
