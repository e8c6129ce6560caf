"""Follow-ups of stop hooks: counted per script, and limited by `loop_limit`."""

from collections.abc import Sequence

import msgspec

from trotline.conversation.sessions import DIGITS, SessionState, StoredSession
from trotline.domain.editions import LOOP_LIMIT
from trotline.domain.events import Event, Stop, SubagentStop
from trotline.domain.ids import hash_name
from trotline.domain.outcomes import Response, Run


def build_key(response: Response, event: Event) -> str:
    """Return the key of the counter for a response: per script, and separate for each sub-agent."""
    return f"{response.author}{_build_key_suffix(event)}"


def _build_key_suffix(event: Event) -> str:
    """Return the key suffix of a sub-agent.

    It is a digest, because the name may hold a secret and keys are written to disk.
    """
    return f":{hash_name(event.subagent_id or event.subagent_type, DIGITS)}" if isinstance(event, SubagentStop) else ""


def add_loop_count(event: Stop | SubagentStop, session: SessionState) -> Event:
    """Return the event with the number of follow-ups so far, which the agent may not know."""
    suffix = _build_key_suffix(event)
    follow_up_count = sum(
        count for name, count in session.follow_ups.items() if (name.endswith(suffix) if suffix else ":" not in name)
    )
    return msgspec.structs.replace(event, loop_count=max(event.loop_count, follow_up_count))


def apply_limit(response: Response, event: Event, stored: StoredSession) -> Response:
    """Return the response without its follow-up if that must not be sent; the reason becomes a warning."""
    if not response.verdict.follow_up:
        return response
    if stored.alarm:
        return remove_follow_up(response, "a follow-up is not sent while the session cannot be read")
    why = _find_limit_reason(response, event, stored.session)
    return remove_follow_up(response, why) if why else response


def remove_follow_up(response: Response, why: str) -> Response:
    """Return the response without its follow-up, and with the reason as a warning."""
    verdict = msgspec.structs.replace(response.verdict, follow_up="")
    return msgspec.structs.replace(response, verdict=verdict, warnings=(*response.warnings, why))


def _find_limit_reason(response: Response, event: Event, session: SessionState) -> str:
    limit = response.hook.loop_limit if isinstance(response, Run) else LOOP_LIMIT
    follow_up_count = session.follow_ups.get(build_key(response, event), 0)
    if not session.follow_ups and isinstance(event, Stop | SubagentStop):
        follow_up_count = event.loop_count  # the agent has its own count
    if limit is not None and follow_up_count >= limit:
        return f"its loop_limit of {limit} is reached; the follow-up was not sent"
    return ""


class FollowUpClaim:
    """The claim of a follow-up under the lock of the session, so that concurrent stops cannot exceed the limit.

    A repeated call counts once: a service may be killed between the claim and the answer.
    """

    def __init__(self, response: Response, event: Event, call: str) -> None:
        self.response = response
        self.event = event
        self.call = call
        self.why = ""
        self.is_granted = False

    def apply(self, session: SessionState) -> None:
        """Claim the follow-up, or set `why` if the limit is reached. Undo an earlier claim of the same call first."""
        session.undo_claim(self.call)
        self.why = _find_limit_reason(self.response, self.event, session)
        if not self.why:
            self.is_granted = True
            session.count_follow_up(build_key(self.response, self.event), self.call)


def find_winner(responses: Sequence[Response], follow_up: str) -> Response | None:
    """Return the response whose follow-up is sent, or None."""
    if not follow_up:
        return None
    return next((response for response in reversed(responses) if response.verdict.follow_up == follow_up), None)
