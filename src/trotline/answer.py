"""The hook's seat: a call of a host comes in, its answer goes out. The SDK, `trotline hook` and the service are ways to
get here; all of them end in this one function.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from trotline.engine import follow_ups
from trotline.engine.functions import Function
from trotline.engine.sessions import Sessions
from trotline.errors import UnreadablePayload
from trotline.events import EVENTS, Event, OtherEvent, PostToolUse, PreToolUse, Stop, SubagentStop
from trotline.hooks import Search, undecided
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.hosts.host import Answer, Host, Power, settled
from trotline.hosts.specific import specifics
from trotline.hosts.translation import Received, received, their_tool
from trotline.outcomes import Call, Failure, FailureKind, Outcome, Voice, verdict_of
from trotline.verdicts import Decision, Permission, Spoken, Verdict, merge


class Seat(NamedTuple):
    """Where we sit: under which host, with which judges, and what is remembered between calls."""

    host: Host
    judges: Sequence[Function]
    sessions: Sessions
    event: str = ""  # the host's name of the event, where its payload does not say it
    believing: frozenset[Power] = frozenset()
    search: Search = undecided


def answer(call: Call, seat: Seat) -> tuple[Answer, Outcome]:
    """Everything that happens when a host calls us."""
    try:
        got = received(seat.host, call.payload, seat.event)
    except UnreadablePayload as error:
        return _unreadable(call, seat, error)
    event = got.event
    host = seat.host.at(_version(event), believing=seat.believing)
    voices = [voice for one in all_of(event, host) for voice in _hear(one, seat)]
    voices, alarm = _within_limits(event, voices, call, seat)
    decision = _decide(event, voices)
    said, losses = settled(host, event.contract, decision.verdict)
    sent = _spoken(host, got, said)
    losses = (*losses, *sent.losses)
    outcome = Outcome(
        call=call,
        event=event,
        decision=decision,
        voices=tuple(voices),
        losses=losses,
        alarms=(alarm,) if alarm else (),
        sent={"stdout": sent.stdout, "exit_code": sent.exit_code, "stderr": sent.stderr},
    )
    return sent._replace(losses=losses), outcome


def _version(event: Event) -> str:
    return str(event.raw.get("version") or getattr(event, "cursor_version", "") or "")


def all_of(event: Event, host: Host) -> tuple[Event, ...]:
    """The event, and what else it is on hosts that raise only the generic one."""
    return (event,) if host.both else (event, *specifics(event))


def _hear(event: Event, seat: Seat) -> list[Voice]:
    return [judge.voice(event) for judge in seat.judges if judge.applies(event, seat.search)]


def _decide(event: Event, voices: Sequence[Voice]) -> Decision:
    """One decision of all voices; failures decide by the newest contract, whatever the host's own fail mode is."""
    newest = edition(NEWEST)
    refusable = event.contract.refusable
    spoken = [Spoken(voice.author, voice.rank, verdict_of(voice, event.contract, newest)) for voice in voices]
    return merge(spoken, refusable=refusable)


def _within_limits(event: Event, voices: list[Voice], call: Call, seat: Seat) -> tuple[list[Voice], str]:
    """Without follow-ups beyond the limit: some hosts have none of their own, and would go on forever."""
    wanted = [voice for voice in voices if voice.verdict.follow_up or voice.verdict.permission >= Permission.ASK]
    if not isinstance(event, Stop | SubagentStop) or not wanted:
        return voices, ""
    remembered = seat.sessions.read(event.conversation_id)
    voices = [follow_ups.limited(_as_follow_up(voice), event, remembered) for voice in voices]
    winner = follow_ups.winner(voices, _decide(event, voices).verdict.follow_up)
    if winner is None:
        return voices, remembered.alarm
    claim = follow_ups.Claim(winner, event)
    alarm = seat.sessions.update(event.conversation_id, claim.make, call.received_us)
    if claim.granted and not alarm:
        return voices, ""
    why = alarm or claim.why
    return [follow_ups.without(voice, why) if voice is winner else voice for voice in voices], alarm


def _as_follow_up(voice: Voice) -> Voice:
    """To refuse an end is to go on, with the reason as the next message."""
    verdict = voice.verdict
    if verdict.permission < Permission.ASK or verdict.follow_up:
        return voice
    reason = verdict.agent_message or verdict.user_message or "A hook asks to go on."
    return msgspec.structs.replace(voice, verdict=Verdict(follow_up=reason, user_message=verdict.user_message))


def _spoken(host: Host, got: Received, said: Verdict) -> Answer:
    event = got.event
    if said.edited_input is not None and isinstance(event, PreToolUse | PostToolUse):
        _, given = their_tool(host, event.tool_name, said.edited_input, got.tool)
        said = msgspec.structs.replace(said, edited_input=given)
    return host.form(host, got.theirs, event.wire_name, said)


def _unreadable(call: Call, seat: Seat, error: UnreadablePayload) -> tuple[Answer, Outcome]:
    """A payload that nobody can judge is refused where something can be refused, and loud everywhere."""
    ours = seat.host.events.get(seat.event, "")
    contract = EVENTS[ours].contract if ours else OtherEvent.contract
    event = OtherEvent(hook_event_name=ours or "unknown")
    failure = Failure(kind=FailureKind.UNREADABLE, detail=f"Trotline could not read this call: {error.message}")
    voice = Voice(author="trotline", failure=failure, fail_closed=True)
    verdict = Verdict()
    if contract.refusable:
        verdict = Verdict(permission=Permission.DENY, user_message=failure.detail, agent_message=failure.detail)
    said, losses = settled(seat.host, contract, verdict)
    sent = seat.host.form(seat.host, seat.event, contract.name or "unknown", said)
    losses = (*losses, *sent.losses)
    decision = Decision(verdict=verdict, deciders=("trotline",) if contract.refusable else ())
    outcome = Outcome(
        call=call,
        event=event,
        decision=decision,
        voices=(voice,),
        losses=losses,
        alarms=(failure.detail,),
        sent={"stdout": sent.stdout, "exit_code": sent.exit_code, "stderr": sent.stderr},
    )
    return sent._replace(losses=losses), outcome
