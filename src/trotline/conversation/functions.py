"""Hooks that are Python functions of the agent: they run in its process, in addition to the configured hooks.

A function that raises has failed, and its fail mode decides, as for any hook. It cannot be stopped from outside; code
that may hang belongs in a separate process.
"""

import os
import time
from collections.abc import Awaitable, Callable

import msgspec

from trotline.domain.errors import TrotlineError, find_error_place
from trotline.domain.events import Event
from trotline.domain.hooks import Matcher, Search, get_bare_name
from trotline.domain.outcomes import Failure, FailureKind, Response
from trotline.domain.verdicts import NO_OPINION, Verdict

AGENT = "agent"
"""The layer name of functions, which belong to no configuration layer."""

MAX_ERROR_LENGTH = 262_144
MAX_SHOWN_ERROR = 300
"""The limits for the text of an exception, in characters: for redaction, and for display."""

Redact = Callable[[str], str]
"""A function that removes secrets from a text."""

HandlerFunction = Callable[[Event], object]
"""A function that returns a Verdict, or None for no opinion; any other result is a failure."""


class EventHandler(msgspec.Struct, frozen=True, kw_only=True):
    """A function that handles one event."""

    name: str
    event: str
    call: HandlerFunction
    matcher: Matcher | None = None
    fail_closed: bool = False

    def applies(self, event: Event, search: Search) -> bool:
        """Return whether the function runs for this event: its name and its matcher fit."""
        if event.wire_name != self.event:
            return False
        subject = event.subject
        if self.matcher is None or subject is None:
            return True
        return self.matcher.fit((subject, *filter(None, (get_bare_name(subject),))), search).applies

    def respond(self, event: Event, clean: Redact | None = None) -> Response:
        """Call the function and return its response; an exception is a failure.

        An error text may quote the event, so `clean` removes secrets from it; by default with the built-in rules only.
        """
        clean = clean or redact_with_builtin_rules
        started = time.monotonic()
        verdict, failure = NO_OPINION, None
        try:
            result = _await_result(self.call(event))
            if result is None or isinstance(result, Verdict):
                verdict = result or NO_OPINION
            else:
                kind = type(result).__name__
                failure = Failure(kind=FailureKind.MISFIT, detail=f"Function {self.name} returned a {kind}.")
        except TrotlineError as error:
            failure = Failure(kind=FailureKind.CRASHED, detail=f"Function {self.name} failed: {clean(error.message)}.")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception of a function is reported as its failure
            failure = Failure(
                kind=FailureKind.CRASHED, detail=f"Function {self.name} {_describe_exception(error, clean)}."
            )
        return Response(
            author=self.name,
            layer=AGENT,
            verdict=verdict,
            failure=failure,
            micros=int((time.monotonic() - started) * 1_000_000),
            fail_closed=self.fail_closed,
        )


def _describe_exception(error: BaseException, clean: Redact) -> str:
    """Return the text of an exception for the author of the function.

    Redact before shortening, because a part of a secret is not recognized.
    """
    whole = repr(error)
    text = clean(whole if len(whole) <= MAX_ERROR_LENGTH else whole[:MAX_ERROR_LENGTH].rpartition(" ")[0])
    short = text if len(text) <= MAX_SHOWN_ERROR else f"{text[:MAX_SHOWN_ERROR]}…"
    return f"raised {short} at {find_error_place(error)}"


def redact_with_builtin_rules(text: str) -> str:
    """Return a text without the secrets that the built-in rules find."""
    from trotline.scanners.redaction import redact  # noqa: PLC0415 - only needed after an exception

    return redact(text, os.urandom(16))[0]


def _await_result(result: object) -> object:
    """Return the result; await it first if the function is async."""
    if not isinstance(result, Awaitable):
        return result
    import asyncio  # noqa: PLC0415 - most functions are not async

    async def wait() -> object:
        return await result

    return asyncio.run(wait())
