"""The canary: a handler that is always on and refuses one harmless command, to verify that refusals arrive."""

from trotline.conversation.functions import EventHandler
from trotline.domain.events import BeforeShell, Event
from trotline.domain.verdicts import Permission, Verdict

WORD = "trotline-canary"
REASON = "the canary of Trotline: refusals arrive here"


def refuse_canary(event: Event) -> Verdict | None:
    """Refuse a shell command that contains the word of the canary."""
    if isinstance(event, BeforeShell) and WORD in event.command:
        return Verdict(permission=Permission.DENY, user_message=REASON, agent_message=REASON)
    return None


CANARY = EventHandler(name="canary", event="beforeShellExecution", call=refuse_canary, fail_closed=True)
