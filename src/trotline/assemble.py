"""Engine: a Dispatcher connected to the machine, guards, the audit log and the agent's own functions."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from trotline.analysis.analyze import EVENT_ANALYZERS
from trotline.audit.record.detail_policy import NameRedactor
from trotline.audit.record.sink import build_sink
from trotline.audit.store.store import Store
from trotline.conversation.functions import EventHandler, HandlerFunction
from trotline.domain.effects import Effect
from trotline.domain.errors import UsageError
from trotline.domain.event_texts import TEXTS
from trotline.domain.events import EVENTS, Event, get_event_class
from trotline.domain.hooks import Matcher
from trotline.engine.dispatch import Dispatcher, Options
from trotline.engine.session import Session
from trotline.evaluation.machine_panel import build_effect_finder, build_panel
from trotline.formats.js_regex import PatternError, parse_js_regex
from trotline.machine import find_roots, read_clock

PathArgument = str | Path
STORE_METHODS = ("append", "search", "aggregate", "fetch", "forget")
GUARDED_EVENTS = frozenset({*EVENT_ANALYZERS, *TEXTS, *(cls for cls in EVENTS.values() if cls.contract.refusable)})
"""Events that announce an action, contain text or can be refused: a policy rule may apply to each of them."""


class Engine(Dispatcher):
    """The hook system for an embedding agent: `Engine.load(project=".")`, then fire events in a session.

    Only usage errors of the calling program are raised into the agent's loop.
    """

    @classmethod
    def load(
        cls,
        project: PathArgument | Iterable[PathArgument] = ".",
        *,
        home: PathArgument | None = None,
        system: PathArgument | None = None,
        options: Options | None = None,
        guarded: bool = False,
        audit_log: bool | Store = False,
    ) -> Self:
        """Load all hook layers of a workspace, which may have several roots.

        With `guarded`, Trotline's guards evaluate events too. With `audit_log`, every Outcome leaves a record: True
        means the audit log of this home, which `trotline log` reads; a Store gets the records instead.
        """
        projects = [project] if isinstance(project, str | Path) else list(project)
        roots = find_roots(
            [Path(root) for root in projects], Path(home) if home else None, Path(system) if system else None
        )
        home_variable = {"HOME": str(roots.home)} if home else {}
        engine = cls(roots, {**os.environ, **home_variable}, read_clock, options)
        engine.sessions.clean_name = NameRedactor(roots).redact
        if guarded:
            engine.guard()
        engine.sink = build_sink(_check_store(audit_log), roots, engine.options.agent, engine._find_effects)
        return engine

    def guard(self) -> None:
        """Let Trotline's guards evaluate events from now on."""
        self.guards = build_panel(self.roots, self.sessions)
        self.guarded_events = GUARDED_EVENTS

    def session(
        self,
        *,
        model: str | None = None,
        model_id: str | None = None,
        conversation_id: str = "",
        background: bool = False,
        user_email: str | None = None,
        transcript_path: str | None = None,
    ) -> Session:
        """Return a conversation: `with` fires sessionStart and sessionEnd, `async with` gives the async session."""
        return Session.create(
            self,
            conversation_id=conversation_id,
            background=background,
            model=model,
            model_id=model_id,
            user_email=user_email,
            transcript_path=transcript_path,
        )

    def hook(
        self, event: str, *, matcher: str = "", fail_closed: bool = False
    ) -> Callable[[HandlerFunction], HandlerFunction]:
        """Register a function as a hook. It gets the event and returns a Verdict, or None for no opinion."""
        get_event_class(event)
        try:
            parse_js_regex(matcher)
        except PatternError as error:
            raise UsageError(f"the matcher is not a JavaScript regular expression: {error.message}") from None

        def register(call: HandlerFunction) -> HandlerFunction:
            name = getattr(call, "__qualname__", repr(call))
            same_names = sum(function.name.split("#")[0] == name for function in self.functions)
            self.functions.append(
                EventHandler(
                    name=f"{name}#{same_names}" if same_names else name,
                    event=event,
                    call=call,
                    matcher=Matcher(matcher) if matcher else None,
                    fail_closed=fail_closed,
                )
            )
            return call

        return register

    def _find_effects(self, event: Event) -> tuple[Effect, ...]:
        """Return the effects of an event that no guard evaluated, for its record."""
        return build_effect_finder(self.roots)(event) if self.guards is None else ()


def _check_store(audit_log: bool | Store) -> bool | Store:
    """Refuse an invalid Store here, instead of with an alarm on every Outcome."""
    missing = [name for name in STORE_METHODS if not callable(getattr(audit_log, name, None))]
    if isinstance(audit_log, bool) or not (missing or isinstance(audit_log, type)):
        return audit_log
    why = f"it has no `{missing[0]}`" if missing else "it is a class and no instance"
    hint = "True is the audit log of this home; a Store has five methods"
    raise UsageError(f"`audit_log` is no Store: {why}", hint=hint)
