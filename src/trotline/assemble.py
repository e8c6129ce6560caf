"""The one place that wires layers, the machine and an agent's own functions into an Engine."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from trotline.awaited import OpenSession
from trotline.engine import engine
from trotline.engine.engine import Options
from trotline.engine.functions import Function, Judged
from trotline.errors import UsageError
from trotline.events import EVENTS, Event
from trotline.hooks import Matcher
from trotline.jsregex import PatternError, parse
from trotline.machine import clock, machine_roots
from trotline.outcomes import Call, Failure, FailureKind, Outcome, Voice, decide
from trotline.session import Session

Where = str | Path


class Engine(engine.Engine):
    """The whole hook system for an agent of one's own: `Engine.load(project=".")`, then raise events at it.

    Nothing but a mistake in the calling program is ever raised into the agent's loop.
    """

    @classmethod
    def load(
        cls,
        project: Where | Iterable[Where] = ".",
        *,
        home: Where | None = None,
        system: Where | None = None,
        options: Options | None = None,
    ) -> Self:
        """All layers of a workspace, which may have several roots."""
        projects = [project] if isinstance(project, str | Path) else list(project)
        roots = machine_roots(
            [Path(one) for one in projects], Path(home) if home else None, Path(system) if system else None
        )
        moved = {"HOME": str(roots.home)} if home else {}
        return cls(roots, {**os.environ, **moved}, clock, options)

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
        call = call or self._call()
        try:
            return super().dispatch(event, call)
        except (TypeError, UsageError):
            raise  # the caller's mistake, such as input that is no JSON
        except Exception as error:  # noqa: BLE001 - an agent's loop must not end because of us
            failure = Failure(kind=FailureKind.CRASHED, detail=f"trotline itself failed: {error!r}")
            voice = Voice(author="trotline", failure=failure, fail_closed=True)
            decision = decide(event.contract, [voice], self.edition)
            return Outcome(call=call, event=event, decision=decision, voices=(voice,), alarms=(failure.detail,))
