"""Stop hooks that keep an agent going: counted per script, and ended at the limit."""

from collections.abc import Sequence

import msgspec

from trotline.editions import LOOP_LIMIT
from trotline.engine.sessions import DIGITS, Remembered, Session
from trotline.events import Event, Stop, SubagentStop
from trotline.ids import name_of
from trotline.outcomes import Run, Voice


def key(voice: Voice, event: Event) -> str:
    """Counts are per script; those of a sub-agent are its own."""
    return f"{voice.author}{_of_sub_agent(event)}"


def _of_sub_agent(event: Event) -> str:
    """By a digest: a name that a host gives may hold a secret, and this is written to the disk."""
    return f":{name_of(event.subagent_id or event.subagent_type, DIGITS)}" if isinstance(event, SubagentStop) else ""


def counted(event: Event, session: Session) -> Event:
    """The event with the number of follow-ups so far, which the host may not have known."""
    if not isinstance(event, Stop | SubagentStop):
        return event
    suffix = _of_sub_agent(event)
    so_far = sum(
        count for name, count in session.follow_ups.items() if (name.endswith(suffix) if suffix else ":" not in name)
    )
    return msgspec.structs.replace(event, loop_count=max(event.loop_count, so_far))


def limited(voice: Voice, event: Event, remembered: Remembered) -> Voice:
    """The voice without its follow-up, when that may not be sent; the reason is a warning."""
    if not voice.verdict.follow_up:
        return voice
    if remembered.alarm:
        return without(voice, "a follow-up is not sent while the session cannot be read")
    why = _at_its_limit(voice, event, remembered.session)
    return without(voice, why) if why else voice


def without(voice: Voice, why: str) -> Voice:
    verdict = msgspec.structs.replace(voice.verdict, follow_up="")
    return msgspec.structs.replace(voice, verdict=verdict, warnings=(*voice.warnings, why))


def _at_its_limit(voice: Voice, event: Event, session: Session) -> str:
    limit = voice.hook.loop_limit if isinstance(voice, Run) else LOOP_LIMIT
    so_far = session.follow_ups.get(key(voice, event), 0)
    if not session.follow_ups and isinstance(event, Stop | SubagentStop):
        so_far = event.loop_count  # somebody else counts
    if limit is not None and so_far >= limit:
        return f"its loop_limit of {limit} is reached; the follow-up was not sent"
    return ""


class Claim:
    """One follow-up, claimed under the session's lock, so that two that stop at once cannot both have the last.

    A call counts once, however often it is made: a service may be killed between the claim and the answer.
    """

    def __init__(self, voice: Voice, event: Event, call: str) -> None:
        self.voice = voice
        self.event = event
        self.call = call
        self.why = ""
        self.granted = False

    def make(self, session: Session) -> None:
        session.take_back(self.call)
        self.why = _at_its_limit(self.voice, self.event, session)
        if not self.why:
            self.granted = True
            session.count(key(self.voice, self.event), self.call)


def winner(voices: Sequence[Voice], follow_up: str) -> Voice | None:
    """The voice whose follow-up is sent."""
    if not follow_up:
        return None
    return next((voice for voice in reversed(voices) if voice.verdict.follow_up == follow_up), None)
