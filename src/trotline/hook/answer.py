"""The hook side: an agent calls us and gets an answer. `trotline hook`, the SDK and the service all end in `answer`."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from trotline.agents.agent import Agent, AgentReply, Capability, PersonChannel, fit_verdict
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.agents.derived_events import derive_events
from trotline.agents.translation import DecodedEvent, decode_event, find_event_name, restore_tool
from trotline.conversation import follow_ups
from trotline.conversation.functions import AGENT, EventHandler, Redact, redact_with_builtin_rules
from trotline.conversation.sessions import Sessions
from trotline.domain.errors import UnreadablePayload
from trotline.domain.event_texts import get_texts
from trotline.domain.events import EVENTS, BeforeShell, Event, OtherEvent, PostToolUse, PreToolUse, Stop, SubagentStop
from trotline.domain.hooks import Search, search_unavailable
from trotline.domain.outcomes import (
    MAX_PAYLOAD_BYTES,
    NO_GUARD_RESULT,
    Call,
    Failure,
    FailureKind,
    GuardPort,
    GuardResult,
    Loss,
    Outcome,
    Response,
    decide,
)
from trotline.domain.verdicts import NO_OPINION, Decision, Permission, Verdict

OWN_AUTHOR = "trotline"
"""The author of a response to a failure of Trotline."""

MAX_SHOWN_NAME = 80

CANARY_WORD = "trotline-canary"
"""A shell command with this word is always refused, also in monitor mode, to verify that refusals arrive."""

CANARY_REASON = "the canary of Trotline: refusals arrive here"


class AnswerContext(NamedTuple):
    """The agent that calls, the handlers that respond, and the settings that apply."""

    agent: Agent
    handlers: Sequence[EventHandler]
    sessions: Sessions
    event: str = ""  # the agent's name of the event, where its payload does not contain it
    trusted_capabilities: frozenset[Capability] = frozenset()
    search: Search = search_unavailable
    guards: GuardPort | None = None
    is_monitoring: bool = False
    redact: Redact = redact_with_builtin_rules
    alarm: str = ""  # an alarm about the call itself


def answer(call: Call, context: AnswerContext) -> tuple[AgentReply, Outcome]:
    """Decode a call, evaluate its event, and return the reply for the agent and the outcome."""
    try:
        decoded = decode_event(context.agent, call.payload, context.event)
    except UnreadablePayload as error:
        return _answer_unreadable(call, context, error)
    event = decoded.event
    version = str(event.raw.get("version") or event.cursor_version or "")
    agent = context.agent.for_version(version, trusted=context.trusted_capabilities)
    guarded = _ask_guards(event, call, context)
    events = expand_event(event, agent)
    canary = [_respond_to_canary(command) for command in events if isinstance(command, BeforeShell)]
    responses = [*guarded.responses, *canary, *_ask_handlers(events, context)]
    alarm = ""
    if not context.is_monitoring and isinstance(event, Stop | SubagentStop):
        responses, alarm = _limit_follow_ups(event, responses, call, context.sessions)
    decision = _decide(event, responses)
    verdict, unshown = _add_warnings(agent, event, decision.verdict, guarded.warnings)
    if context.is_monitoring:
        verdict, unshown = _decide(event, canary).verdict, ()
    fitting, unsupported = fit_verdict(agent, event.contract, verdict)
    reply = _build_reply(agent, decoded, fitting)
    losses = (*unshown, *unsupported, *reply.losses)
    unknown = _describe_unknown_event(event, context) if isinstance(event, OtherEvent) else ""
    outcome = Outcome(
        call=call,
        event=event,
        decision=decision,
        responses=tuple(responses),
        effects=guarded.effects,
        findings=guarded.findings,
        losses=losses,
        alarms=tuple(filter(None, [context.alarm, alarm, unknown])),
        monitored=context.is_monitoring,
        withheld=_list_withheld(decision.verdict, verdict) if context.is_monitoring else (),
        sent=_describe_reply(reply, fitting),
    )
    return reply._replace(losses=losses) if losses else reply, outcome


def answer_failure(
    call: Call, agent: Agent, event_name: str, failure: Failure, *, is_monitoring: bool, alarm: str = ""
) -> tuple[AgentReply, Outcome]:
    """Answer a call that could not be evaluated: refuse what can be refused, and raise an alarm.

    Only the agent and the event of the installed line are known.
    """
    name = agent.events.get(event_name, event_name)
    contract = EVENTS[name].contract if name in EVENTS else OtherEvent.contract
    refusal = Verdict(permission=Permission.DENY, user_message=failure.detail, agent_message=failure.detail)
    decided = refusal if contract.refusable else Verdict()
    verdict = Verdict() if is_monitoring else decided
    fitting, unsupported = fit_verdict(agent, contract, verdict)
    reply = agent.reply_form(agent, event_name, name or "unknown", fitting)
    losses = (*unsupported, *reply.losses)
    outcome = Outcome(
        call=call,
        event=OtherEvent(hook_event_name=name or "unknown"),
        decision=Decision(verdict=decided, deciders=(OWN_AUTHOR,) if contract.refusable else ()),
        responses=(Response(author=OWN_AUTHOR, failure=failure, fail_closed=True),),
        losses=losses,
        alarms=tuple(filter(None, [alarm, failure.detail])),
        monitored=is_monitoring,
        withheld=_list_withheld(decided, verdict),
        sent=_describe_reply(reply, fitting),
    )
    return reply._replace(losses=losses), outcome


def _answer_unreadable(call: Call, context: AnswerContext, error: UnreadablePayload) -> tuple[AgentReply, Outcome]:
    is_cut = len(call.payload) >= MAX_PAYLOAD_BYTES
    why = f"it is longer than {MAX_PAYLOAD_BYTES // 1_000_000} MB" if is_cut else error.message
    failure = Failure(kind=FailureKind.UNREADABLE_CALL, detail=f"Trotline could not read this call: {why}")
    name = context.event or find_event_name(context.agent, call.payload)
    return answer_failure(call, context.agent, name, failure, is_monitoring=context.is_monitoring, alarm=context.alarm)


def expand_event(event: Event, agent: Agent) -> tuple[Event, ...]:
    """Return the event and, for agents that fire only the generic one, its specific events."""
    return (event,) if agent.raises_paired_events else (event, *derive_events(event))


def _ask_guards(event: Event, call: Call, context: AnswerContext) -> GuardResult:
    """Evaluate the guards, if the event can be refused or holds texts; loading them takes half of a cold call."""
    if context.guards is None or not (event.contract.refusable or get_texts(event)):
        return NO_GUARD_RESULT
    return context.guards(event, call)


def _ask_handlers(events: Sequence[Event], context: AnswerContext) -> list[Response]:
    return [
        handler.respond(event, context.redact)
        for event in events
        for handler in context.handlers
        if handler.applies(event, context.search)
    ]


def _respond_to_canary(event: BeforeShell) -> Response:
    verdict = NO_OPINION
    if CANARY_WORD in event.command:
        verdict = Verdict(permission=Permission.DENY, user_message=CANARY_REASON, agent_message=CANARY_REASON)
    return Response(author="canary", layer=AGENT, verdict=verdict, fail_closed=True)


def _decide(event: Event, responses: Sequence[Response]) -> Decision:
    """Merge responses. A failure decides by the newest edition, whatever the fail mode of the agent is."""
    return decide(event.contract, responses, get_edition(NEWEST_EDITION))


def _limit_follow_ups(
    event: Event, responses: list[Response], call: Call, sessions: Sessions
) -> tuple[list[Response], str]:
    """Remove follow-ups beyond the limit: some agents have no limit and would go on forever."""
    if not any(_wants_to_continue(response) for response in responses):
        return responses, ""
    stored = sessions.read(event.conversation_id)
    stored.session.undo_claim(call.id)
    responses = [follow_ups.apply_limit(_convert_to_follow_up(response), event, stored) for response in responses]
    winner = follow_ups.find_winner(responses, _decide(event, responses).verdict.follow_up)
    if winner is None:
        return responses, stored.alarm
    claim = follow_ups.FollowUpClaim(winner, event, call.id)
    alarm = sessions.update(event.conversation_id, claim.apply, call.received_us)
    if claim.is_granted and not alarm:
        return responses, ""
    without = follow_ups.remove_follow_up(winner, alarm or claim.why)
    return [without if response is winner else response for response in responses], alarm


def _wants_to_continue(response: Response) -> bool:
    return bool(response.verdict.follow_up) or response.verdict.permission >= Permission.ASK


def _convert_to_follow_up(response: Response) -> Response:
    """Turn the refusal of a stop into a follow-up, with its reason as the next message."""
    verdict = response.verdict
    if verdict.permission < Permission.ASK or verdict.follow_up:
        return response
    reason = verdict.agent_message or verdict.user_message or "A hook asks to go on."
    return msgspec.structs.replace(response, verdict=Verdict(follow_up=reason, user_message=verdict.user_message))


def _add_warnings(
    agent: Agent, event: Event, verdict: Verdict, warnings: Sequence[str]
) -> tuple[Verdict, tuple[Loss, ...]]:
    """Add warnings to an action that is not refused: for the user, or for the model if the user would not see them."""
    if not warnings or verdict.permission > Permission.ALLOW:
        return verdict, ()
    is_shown = agent.person_channel is PersonChannel.SEPARATE and not agent.hidden_message_reason
    has_context = agent.supports(event.wire_name, Capability.CONTEXT)
    field = "user_message" if is_shown or not has_context else "context"
    text = "\n\n".join(filter(None, [getattr(verdict, field), *warnings]))
    is_lost = agent.hidden_message_reason and field == "user_message"
    losses = (Loss(agent.name, field, agent.hidden_message_reason),) if is_lost else ()
    return msgspec.structs.replace(verdict, **{field: text}), losses


def _list_withheld(decided: Verdict, sent: Verdict) -> tuple[str, ...]:
    """Return the parts of the decision that were not sent."""
    if decided is sent:
        return ()
    permission = (decided.permission.word,) if decided.permission > sent.permission else ()
    fields = [capability.value for capability in Capability if capability.value in Verdict.__struct_fields__]
    return (*permission, *(name for name in fields if getattr(decided, name) != getattr(sent, name)))


def _describe_unknown_event(event: OtherEvent, context: AnswerContext) -> str:
    """Return an alarm about an unknown event: the agent has new events, or another product calls the hook line."""
    name = context.redact(event.wire_name)[:MAX_SHOWN_NAME]  # cut after redaction: half a secret is not recognised
    return f"{context.agent.name} has no event that Trotline knows as {name!r}: nothing was judged"


def _build_reply(agent: Agent, decoded: DecodedEvent, verdict: Verdict) -> AgentReply:
    event = decoded.event
    if verdict is NO_OPINION and decoded.theirs in agent.events:
        return _build_empty_reply(agent, decoded.theirs, event.wire_name)
    if verdict.edited_input is not None and isinstance(event, PreToolUse | PostToolUse):
        _, restored = restore_tool(agent, event.tool_name, verdict.edited_input, decoded.tool)
        verdict = msgspec.structs.replace(verdict, edited_input=restored)
    return agent.reply_form(agent, decoded.theirs, event.wire_name, verdict)


@functools.lru_cache(maxsize=256)
def _build_empty_reply(agent: Agent, their_event: str, event: str) -> AgentReply:
    """Build and cache the reply without a verdict, which most calls get."""
    return agent.reply_form(agent, their_event, event, NO_OPINION)


def _describe_reply(reply: AgentReply, verdict: Verdict) -> dict[str, Any]:
    return {
        "permission": verdict.permission,
        "stdout": reply.stdout,
        "exit_code": reply.exit_code,
        "stderr": reply.stderr,
    }
