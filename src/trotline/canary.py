"""A rule that is always on and refuses one harmless command, so that anybody can see whether refusals arrive."""

from trotline.engine.functions import Function
from trotline.events import BeforeShell, Event
from trotline.verdicts import Permission, Verdict

WORD = "trotline-canary"
REASON = "the canary of Trotline: refusals arrive here"


def judged(event: Event) -> Verdict | None:
    """Refuses a shell command that has the word; nobody means anything by such a command but to find this out."""
    if isinstance(event, BeforeShell) and WORD in event.command:
        return Verdict(permission=Permission.DENY, user_message=REASON, agent_message=REASON)
    return None


CANARY = Function(name="canary", event="beforeShellExecution", call=judged, fail_closed=True)
