"""Stop hooks that keep an agent going: counted per script, and ended at the limit."""

from collections.abc import Iterable

import msgspec

from trotline.engine.sessions import Remembered, Session
from trotline.events import Event, Stop, SubagentStop
from trotline.hooks import Hook
from trotline.outcomes import Run


def key(hook: Hook, event: Event) -> str:
    """Counts are per script; those of a sub-agent are its own."""
    return f"{hook.id}:{event.subagent_id or event.subagent_type}" if isinstance(event, SubagentStop) else hook.id


def counted(event: Event, session: Session) -> Event:
    """The event with the number of follow-ups so far, which the host may not have known."""
    if not isinstance(event, Stop | SubagentStop):
        return event
    suffix = f":{event.subagent_id or event.subagent_type}" if isinstance(event, SubagentStop) else ""
    so_far = sum(
        count for name, count in session.follow_ups.items() if (name.endswith(suffix) if suffix else ":" not in name)
    )
    return msgspec.structs.replace(event, loop_count=max(event.loop_count, so_far))


def limited(run: Run, event: Event, remembered: Remembered) -> Run:
    """The run without its follow-up, when that may not be sent; the reason is a warning."""
    if not run.verdict.follow_up:
        return run
    why = _why_not(run, event, remembered)
    if not why:
        return run
    verdict = msgspec.structs.replace(run.verdict, follow_up="")
    return msgspec.structs.replace(run, verdict=verdict, warnings=(*run.warnings, why))


def _why_not(run: Run, event: Event, remembered: Remembered) -> str:
    if remembered.alarm:
        return "a follow-up is not sent while the session cannot be read"
    limit = run.hook.loop_limit
    so_far = remembered.session.follow_ups.get(key(run.hook, event), 0)
    if not remembered.session.follow_ups and isinstance(event, Stop | SubagentStop):
        so_far = event.loop_count  # somebody else counts
    if limit is not None and so_far >= limit:
        return f"its loop_limit of {limit} is reached; the follow-up was not sent"
    return ""


def winner(runs: Iterable[Run], follow_up: str) -> Run | None:
    """The run whose follow-up is sent."""
    if not follow_up:
        return None
    return next((run for run in reversed(list(runs)) if run.verdict.follow_up == follow_up), None)
