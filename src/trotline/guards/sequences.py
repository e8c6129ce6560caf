"""Guard: actions that are harmless alone, but not after earlier ones of the same conversation."""

from trotline.domain.effects import Effect
from trotline.guards.guard import ASK, CRITICAL, DENY, HIGH, WARN, Filter, GuardContext, build_guard, rule

_LOCAL = ("localhost", "127.", "[::1]", "::1", "0.0.0.0")  # noqa: S104 - an address to recognise


def _was_refused(effect: Effect, context: GuardContext) -> bool:
    """Return whether the effect was refused before and is stopped now too: a person may have changed their mind."""
    return effect in context.stopped and context.history.was_refused(effect)


def _follows_secret(effect: Effect, context: GuardContext) -> bool:
    return context.history.secrets > 0 and not effect.host.startswith(_LOCAL)


def _follows_injection(effect: Effect, context: GuardContext) -> bool:
    return context.history.injected > 0 and not effect.host.startswith(_LOCAL)


def _was_written_after_refusal(effect: Effect, context: GuardContext) -> bool:
    return effect.path != "" and context.history.was_written(effect.path)


GUARD = build_guard(
    "sequences",
    "what is harmless alone, after what came before it",
    {
        "again in other words": rule(
            Filter(
                "cloud|container|delete|disk|execute|git|infra|install|kube|link|permissions|persist|process|publish|read"
                "|send|sql|system|write: *",
                when=_was_refused,
            ),
            CRITICAL,
            "this was refused before in this conversation",
            "ask the person",
        ),
        "secret, then send": rule(
            Filter("send: *", when=_follows_secret),
            HIGH,
            "a secret was read in this conversation, and now something is sent to {host}",
        ),
        "injection, then send": rule(
            Filter("send: *", when=_follows_injection),
            (WARN, ASK, DENY),
            "a text in this conversation spoke to the model like an attacker, and now something is sent to {host}",
            "show the person what is sent, and why",
        ),
        "written after a refusal, then run": rule(
            Filter("execute: *", when=_was_written_after_refusal),
            HIGH,
            "{path} was written after something had been refused, and nobody has looked into it",
            "show the person what the file does",
        ),
    },
    runs_last=True,
)
