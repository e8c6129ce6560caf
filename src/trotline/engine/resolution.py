"""Resolve, then run: which hooks an event calls, in order, and which of those configured for it do not run, and why."""

from collections.abc import Callable, Iterable

from trotline.config.configuration import Configuration
from trotline.config.trust import Trust, TrustState
from trotline.events import Event
from trotline.hooks import Hook, Search, undecided
from trotline.outcomes import NotRun

Judged = Callable[[str], Trust]
"""The trust in a workspace root."""


def resolve(
    configuration: Configuration, event: Event, trust_in: Judged, search: Search
) -> tuple[list[Hook], list[NotRun]]:
    """The hooks that run for this event, and the ones that would have but for their file or for trust."""
    running: list[Hook] = []
    kept_out: list[NotRun] = []
    for hook, off in _configured(configuration, event.wire_name):
        if off:
            kept_out.append(NotRun(hook, off))
            continue
        trust = trust_in(hook.layer.root) if hook.layer.kind.needs_trust else None
        allowed = trust is None or trust.state is TrustState.TRUSTED
        if not hook.fit(event, search if allowed else undecided).applies:  # no stranger's pattern is run at length
            continue
        if trust is None or allowed:
            running.append(hook)
        else:
            kept_out.append(NotRun(hook, trust.why_not))
    return running, kept_out


def _configured(configuration: Configuration, event: str) -> Iterable[tuple[Hook, str]]:
    for read in configuration.layers:
        yield from ((hook, configuration.off(read, hook)) for hook in read.hooks if hook.event == event)
