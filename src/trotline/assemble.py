"""The one place that wires layers, the machine and an agent's own functions into an Engine."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

import msgspec

from trotline.analysis.action import READERS
from trotline.audit.keeping import keeping
from trotline.audit.names import Names
from trotline.audit.store import Store
from trotline.awaited import OpenSession
from trotline.effects import Effect
from trotline.engine import engine
from trotline.engine.engine import Options
from trotline.engine.functions import Function, Judged
from trotline.errors import UsageError, cause_of
from trotline.events import EVENTS, Event
from trotline.guarding import effects_of, guards_of
from trotline.hooks import Matcher
from trotline.jsregex import PatternError, parse
from trotline.machine import clock, machine_roots
from trotline.outcomes import Call, Failure, FailureKind, Heard, Outcome, Sink, Voice, decide
from trotline.session import Session
from trotline.texts import TEXTS
from trotline.verdicts import Permission, Verdict

Where = str | Path
STORE = ("append", "search", "fetch", "forget")
"""The methods of a Store."""


class Engine(engine.Engine):
    """The whole hook system for an agent of one's own: `Engine.load(project=".")`, then raise events at it.

    Nothing but a mistake in the calling program is ever raised into the agent's loop.
    """

    sink: Sink | None = None
    guards: "Guards | None" = None

    @classmethod
    def load(
        cls,
        project: Where | Iterable[Where] = ".",
        *,
        home: Where | None = None,
        system: Where | None = None,
        options: Options | None = None,
        guarded: bool = False,
        trail: bool | Store = False,
    ) -> Self:
        """All layers of a workspace, which may have several roots; with `guarded`, Trotline's guards beside them.

        With `trail` every Outcome leaves a record: True is the trail of this home, which `trotline log` asks.
        """
        projects = [project] if isinstance(project, str | Path) else list(project)
        roots = machine_roots(
            [Path(one) for one in projects], Path(home) if home else None, Path(system) if system else None
        )
        moved = {"HOME": str(roots.home)} if home else {}
        engine = cls(roots, {**os.environ, **moved}, clock, options)
        engine.sessions.named = Names(roots).kept
        if guarded:
            engine.guard()
        engine.sink = keeping(_checked(trail), roots, engine.options.host, engine._would_do)
        return engine

    def guard(self) -> None:
        """Trotline's guards beside the hooks, from now on."""
        self.guards = Guards(self)
        self.functions += self.guards.functions()

    def session(
        self,
        *,
        model: str | None = None,
        model_id: str | None = None,
        conversation_id: str = "",
        background: bool = False,
        user_email: str | None = None,
        transcript_path: str | None = None,
    ) -> OpenSession:
        """A conversation: `with` raises sessionStart and sessionEnd, `async with` gives the awaitable twin."""
        session = Session.of(
            self,
            conversation_id=conversation_id,
            background=background,
            model=model,
            model_id=model_id,
            user_email=user_email,
            transcript_path=transcript_path,
        )
        return OpenSession(session)

    def hook(self, event: str, *, matcher: str = "", fail_closed: bool = False) -> Callable[[Judged], Judged]:
        """Register a function as a hook; it gets the event and gives a Verdict, or None for no opinion."""
        if event not in EVENTS:
            raise UsageError(f"there is no event `{event}`", hint="`trotline events` lists them")
        try:
            parse(matcher)
        except PatternError as error:
            raise UsageError(f"the matcher is not a JavaScript regular expression: {error.message}") from None

        def register(call: Judged) -> Judged:
            name = getattr(call, "__qualname__", repr(call))
            taken = sum(function.name.split("#")[0] == name for function in self.functions)
            self.functions.append(
                Function(
                    name=f"{name}#{taken}" if taken else name,
                    event=event,
                    call=call,
                    matcher=Matcher(matcher) if matcher else None,
                    fail_closed=fail_closed,
                )
            )
            return call

        return register

    def dispatch(self, event: Event, call: Call | None = None) -> Outcome:
        """Everything that happens when the loop raises an event. A failure of ours refuses what can be refused."""
        begun = time.monotonic_ns()
        outcome = self._judged(event, call or self._call())
        if self.sink is None:
            return outcome
        unkept = _unkept(self.sink, outcome, (time.monotonic_ns() - begun) // 1000)
        return msgspec.structs.replace(outcome, alarms=(*outcome.alarms, unkept)) if unkept else outcome

    def _would_do(self, event: Event) -> tuple[Effect, ...]:
        """For the record of an event; guards have looked, where there are any."""
        return effects_of(self.roots)(event) if self.guards is None else ()

    def _judged(self, event: Event, call: Call) -> Outcome:
        try:
            if self.guards is None:
                return super().dispatch(event, call)
            self.guards.begin()
            return self.guards.named(super().dispatch(event, call))
        except (TypeError, UsageError):
            raise  # the caller's mistake, such as input that is no JSON
        except Exception as error:  # noqa: BLE001 - an agent's loop must not end because of us
            failure = Failure(kind=FailureKind.CRASHED, detail=f"trotline itself failed: {cause_of(error)}")
            voice = Voice(author="trotline", failure=failure, fail_closed=True)
            decision = decide(event.contract, [voice], self.edition)
            return Outcome(call=call, event=event, decision=decision, voices=(voice,), alarms=(failure.detail,))


def _checked(trail: bool | Store) -> bool | Store:
    """What is no Store is the caller's mistake, and would otherwise be an alarm of every Outcome."""
    missing = [name for name in STORE if not callable(getattr(trail, name, None))]
    if isinstance(trail, bool) or not (missing or isinstance(trail, type)):
        return trail
    why = f"it has no `{missing[0]}`" if missing else "it is a class and no instance"
    raise UsageError(f"`trail` is no Store: {why}", hint="True is the trail of this home; a Store has four methods")


def _unkept(sink: Sink, outcome: Outcome, micros: int) -> str:
    try:
        return sink(outcome, micros)
    except Exception as error:  # noqa: BLE001 - the same: what was decided is decided
        return f"the record of this call could not be kept: {cause_of(error)}"


class Guards:
    """The guards as one function of every event that announces something, or tells of texts; and what each of them
    said, so that an Outcome names them and not only their sum."""

    NAME = "guards"

    def __init__(self, of: Engine) -> None:
        self._guards = guards_of(of.roots, of.sessions)
        self._engine = of
        self._kept = threading.local()  # awaited sessions have a thread each

    def functions(self) -> list[Function]:
        return [
            Function(name=self.NAME, event=cls.contract.name, call=self._judged, fail_closed=True)
            for cls in {**READERS, **TEXTS}
        ]

    def begin(self) -> None:
        self._kept.heard = []

    def _judged(self, event: Event) -> Verdict:
        roots = self._engine.roots
        heard = self._guards(event, Call(id="", cwd=str(roots.projects[0]), received_us=clock()))
        self._kept.heard.append(heard)
        return decide(event.contract, heard.voices, self._engine.edition).verdict

    def named(self, outcome: Outcome) -> Outcome:
        """The Outcome with their voices instead of one, their effects and their findings."""
        heard: list[Heard] = self._kept.heard
        if not heard:
            return outcome
        own = {voice.author: voice for one in heard for voice in one.voices}
        rest = [voice for voice in outcome.voices if voice.author != self.NAME or voice.failure]
        strictest = max((voice.verdict.permission for voice in own.values()), default=Permission.SILENT)
        names = [name for name, voice in own.items() if voice.failure or voice.verdict.permission == strictest]
        deciders = [name for one in outcome.decision.deciders for name in (names if one == self.NAME else [one])]
        return msgspec.structs.replace(
            outcome,
            voices=(*own.values(), *rest),
            effects=tuple(effect for one in heard for effect in one.effects),
            findings=tuple(finding for one in heard for finding in one.findings),
            decision=msgspec.structs.replace(outcome.decision, deciders=tuple(dict.fromkeys(deciders))),
        )
