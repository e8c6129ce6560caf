"""Hooks that are Python functions of the agent itself: they run in its process, beside the configured ones.

A function that raises has failed, and its fail mode decides, as for any hook. It cannot be stopped from outside; a
function that may hang belongs into a process.
"""

import os
import time
from collections.abc import Awaitable, Callable

import msgspec

from trotline.errors import TrotlineError, place_of
from trotline.events import Event
from trotline.hooks import Matcher, Search, bare_name
from trotline.outcomes import Failure, FailureKind, Voice
from trotline.verdicts import SILENCE, Verdict

AGENT = "agent"
"""Where a function comes from that is no layer's."""

MOST_SAID = 262_144
LONGEST_SAID = 300
"""Characters of what an error of somebody else says: those that are looked at, and those that are told."""

Clean = Callable[[str], str]
"""Takes out of a text what must not be shown."""

Judged = Callable[[Event], object]
"""Gives a Verdict, or None for no opinion; whatever else it gives is a failure."""


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """A function that has an opinion on one event."""

    name: str
    event: str
    call: Judged
    matcher: Matcher | None = None
    fail_closed: bool = False

    def applies(self, event: Event, search: Search) -> bool:
        if event.wire_name != self.event:
            return False
        subject = event.subject
        if self.matcher is None or subject is None:
            return True
        return self.matcher.fit((subject, *filter(None, (bare_name(subject),))), search).applies

    def voice(self, event: Event, clean: Clean | None = None) -> Voice:
        """What it says about this event, or how it failed: an error may quote the event, and is told without secrets;
        `clean` knows more of them than we do."""
        clean = clean or cleaned
        begun = time.monotonic()
        verdict, failure = SILENCE, None
        try:
            answer = _settled(self.call(event))
            if answer is None or isinstance(answer, Verdict):
                verdict = answer or SILENCE
            else:
                kind = type(answer).__name__
                failure = Failure(kind=FailureKind.MISFIT, detail=f"Function {self.name} returned a {kind}.")
        except TrotlineError as error:
            failure = Failure(kind=FailureKind.CRASHED, detail=f"Function {self.name} failed: {clean(error.message)}.")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an agent's function raises is data here
            failure = Failure(kind=FailureKind.CRASHED, detail=f"Function {self.name} {_raised(error, clean)}.")
        return Voice(
            author=self.name,
            layer=AGENT,
            verdict=verdict,
            failure=failure,
            micros=int((time.monotonic() - begun) * 1_000_000),
            fail_closed=self.fail_closed,
        )


def _raised(error: BaseException, clean: Clean) -> str:
    """Its author wants to read what an error says. It is cut when it is clean: half of a secret is one too."""
    whole = repr(error)
    said = clean(whole if len(whole) <= MOST_SAID else whole[:MOST_SAID].rpartition(" ")[0])
    short = said if len(said) <= LONGEST_SAID else f"{said[:LONGEST_SAID]}…"
    return f"raised {short} at {place_of(error)}"


def cleaned(text: str) -> str:
    """A text without what our own rules find."""
    from trotline.scanners.redaction import redacted  # noqa: PLC0415 - few functions raise

    return redacted(text, os.urandom(16))[0]


def _settled(answer: object) -> object:
    """What an async function gives in the end."""
    if not isinstance(answer, Awaitable):
        return answer
    import asyncio  # noqa: PLC0415 - most functions are not

    async def wait() -> object:
        return await answer

    return asyncio.run(wait())
