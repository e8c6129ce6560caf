"""The hook's seat: a call of a host comes in, its answer goes out. The SDK, `trotline hook` and the service are ways to
get here; all of them end in this one function.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.engine import follow_ups
from trotline.engine.functions import Clean, Function, cleaned
from trotline.engine.sessions import Sessions
from trotline.errors import UnreadablePayload
from trotline.events import EVENTS, Event, OtherEvent, PostToolUse, PreToolUse, Stop, SubagentStop
from trotline.hooks import Search, undecided
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.hosts.host import Answer, Host, Power, Told, settled
from trotline.hosts.specific import specifics
from trotline.hosts.translation import Received, named_event, received, their_tool
from trotline.outcomes import (
    MOST_PAYLOAD,
    UNHEARD,
    Call,
    Failure,
    FailureKind,
    Guarding,
    Loss,
    Outcome,
    Voice,
    verdict_of,
)
from trotline.texts import texts_of
from trotline.verdicts import SILENCE, Decision, Permission, Spoken, Verdict, merge

US = "trotline"
"""Who speaks when a failure is ours."""

LONGEST_NAME = 80
NOBODY = Decision()
"""What is decided when nobody has said anything."""


class Seat(NamedTuple):
    """Where we sit: under which host, with which judges, and what is remembered between calls."""

    host: Host
    judges: Sequence[Function]
    sessions: Sessions
    event: str = ""  # the host's name of the event, where its payload does not say it
    believing: frozenset[Power] = frozenset()
    search: Search = undecided
    guards: Guarding | None = None
    always: Sequence[Function] = ()  # judges that are heard in every mode
    monitors: bool = False  # whether the others are only written down
    clean: Clean = cleaned  # for what quotes a call


def answer(call: Call, seat: Seat) -> tuple[Answer, Outcome]:
    """Everything that happens when a host calls us."""
    try:
        got = received(seat.host, call.payload, seat.event)
    except UnreadablePayload as error:
        cut = len(call.payload) >= MOST_PAYLOAD
        what = f"it is longer than {MOST_PAYLOAD // 1_000_000} MB" if cut else error.message
        failure = Failure(kind=FailureKind.UNREAD, detail=f"Trotline could not read this call: {what}")
        theirs = seat.event or named_event(seat.host, call.payload)
        return unjudged(call, seat.host, theirs, failure, monitors=seat.monitors)
    event = got.event
    host = seat.host.at(_version(event), believing=seat.believing)
    heard = seat.guards(event, call) if seat.guards is not None and _judgeable(event) else UNHEARD
    events = all_of(event, host)
    always = _hear(events, seat.always, seat)
    voices = [*heard.voices, *always, *_hear(events, seat.judges, seat)]
    voices, alarm = (voices, "") if seat.monitors else _within_limits(event, voices, call, seat)
    decision = _decide(event, voices)
    spoken, unread = _warned(host, event, decision.verdict, heard.told)
    if seat.monitors:
        spoken, unread = _decide(event, always).verdict, ()
    said, losses = settled(host, event.contract, spoken)
    sent = _spoken(host, got, said)
    losses = (*unread, *losses, *sent.losses)
    outcome = Outcome(
        call=call,
        event=event,
        decision=decision,
        voices=tuple(voices),
        effects=heard.effects,
        findings=heard.findings,
        losses=losses,
        alarms=tuple(filter(None, [alarm, _unknown(event, seat)])),
        monitored=seat.monitors,
        withheld=_withheld(decision.verdict, spoken) if seat.monitors else (),
        sent=_as_sent(sent, said),
    )
    return sent._replace(losses=losses) if losses else sent, outcome


def unjudged(call: Call, host: Host, theirs: str, failure: Failure, *, monitors: bool) -> tuple[Answer, Outcome]:
    """A call that nobody can judge is refused where something can be refused, and loud everywhere. All that is known of
    it is what the installed line says: whose call it is, and of which event."""
    ours = host.events.get(theirs, theirs)
    contract = EVENTS[ours].contract if ours in EVENTS else OtherEvent.contract
    refused = Verdict(permission=Permission.DENY, user_message=failure.detail, agent_message=failure.detail)
    verdict = refused if contract.refusable else Verdict()
    spoken = Verdict() if monitors else verdict
    said, losses = settled(host, contract, spoken)
    sent = host.form(host, theirs, ours or "unknown", said)
    losses = (*losses, *sent.losses)
    outcome = Outcome(
        call=call,
        event=OtherEvent(hook_event_name=ours or "unknown"),
        decision=Decision(verdict=verdict, deciders=(US,) if contract.refusable else ()),
        voices=(Voice(author=US, failure=failure, fail_closed=True),),
        losses=losses,
        alarms=(failure.detail,),
        monitored=monitors,
        withheld=_withheld(verdict, spoken),
        sent=_as_sent(sent, said),
    )
    return sent._replace(losses=losses), outcome


def _unknown(event: Event, seat: Seat) -> str:
    """Somebody wired our line to more than we know, or another product calls it: either way nobody judges."""
    if not isinstance(event, OtherEvent):
        return ""
    name = seat.clean(event.wire_name)[:LONGEST_NAME]  # not sooner: half of a secret is one too
    return f"{seat.host.name} has no event that Trotline knows as {name!r}: nothing was judged"


def _as_sent(sent: Answer, said: Verdict) -> dict[str, Any]:
    return {
        "permission": said.permission,
        "stdout": sent.stdout,
        "exit_code": sent.exit_code,
        "stderr": sent.stderr,
    }


def _judgeable(event: Event) -> bool:
    """What can be refused, and what tells of texts: in these something may stand that a person should hear of."""
    return event.contract.refusable or bool(texts_of(event))


def _version(event: Event) -> str:
    return str(event.raw.get("version") or getattr(event, "cursor_version", "") or "")


def all_of(event: Event, host: Host) -> tuple[Event, ...]:
    """The event, and what else it is on hosts that raise only the generic one."""
    return (event,) if host.both else (event, *specifics(event))


def _hear(events: Sequence[Event], judges: Sequence[Function], seat: Seat) -> list[Voice]:
    return [judge.voice(event, seat.clean) for event in events for judge in judges if judge.applies(event, seat.search)]


def _warned(host: Host, event: Event, verdict: Verdict, told: Sequence[str]) -> tuple[Verdict, tuple[Loss, ...]]:
    """What goes on with a warning: the person reads it; where a host shows people nothing, its model does."""
    if not told or verdict.permission > Permission.ALLOW:
        return verdict, ()
    shows = host.person is Told.APART and not host.unshown
    field = "user_message" if shows or not host.hears(event.wire_name, Power.CONTEXT) else "context"
    text = "\n\n".join(filter(None, [getattr(verdict, field), *told]))
    lost = (Loss(host.name, field, host.unshown),) if host.unshown and field == "user_message" else ()
    return msgspec.structs.replace(verdict, **{field: text}), lost


def _withheld(decided: Verdict, spoken: Verdict) -> tuple[str, ...]:
    """What the one says and the other does not."""
    if decided is spoken:
        return ()
    permission = (decided.permission.word,) if decided.permission > spoken.permission else ()
    fields = [power.value for power in Power if power.value in Verdict.__struct_fields__]
    return (*permission, *(name for name in fields if getattr(decided, name) != getattr(spoken, name)))


def _decide(event: Event, voices: Sequence[Voice]) -> Decision:
    """One decision of all voices; failures decide by the newest contract, whatever the host's own fail mode is."""
    if not voices:
        return NOBODY
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
    remembered.session.take_back(call.id)
    voices = [follow_ups.limited(_as_follow_up(voice), event, remembered) for voice in voices]
    winner = follow_ups.winner(voices, _decide(event, voices).verdict.follow_up)
    if winner is None:
        return voices, remembered.alarm
    claim = follow_ups.Claim(winner, event, call.id)
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
    if said is SILENCE and got.theirs in host.events:
        return _silence(host, got.theirs, event.wire_name)
    if said.edited_input is not None and isinstance(event, PreToolUse | PostToolUse):
        _, given = their_tool(host, event.tool_name, said.edited_input, got.tool)
        said = msgspec.structs.replace(said, edited_input=given)
    return host.form(host, got.theirs, event.wire_name, said)


@functools.lru_cache(maxsize=256)
def _silence(host: Host, theirs: str, ours: str) -> Answer:
    """What most calls are answered with."""
    return host.form(host, theirs, ours, SILENCE)
