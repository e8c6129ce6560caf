"""What is harmless alone and is not after what came before it in the same conversation."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_HERE = ("localhost", "127.", "[::1]", "::1", "0.0.0.0")  # noqa: S104 - an address to recognise


def _again(effect: Effect, sight: Sight) -> bool:
    """Only what somebody would stop now, too: a person may have changed their mind since."""
    return effect in sight.questioned and sight.memory.refused(effect)


def _sends_after_secret(effect: Effect, sight: Sight) -> bool:
    return effect.kind == "send" and sight.memory.secrets > 0 and not effect.host.startswith(_HERE)


def _sends_after_injection(effect: Effect, sight: Sight) -> bool:
    return effect.kind == "send" and sight.memory.injected > 0 and not effect.host.startswith(_HERE)


def _runs_what_it_wrote(effect: Effect, sight: Sight) -> bool:
    return effect.kind == "execute" and effect.path != "" and sight.memory.wrote(effect.path)


GUARD = Guard(
    name="sequences",
    danger="what is harmless alone, after what came before it",
    kinds=frozenset(
        "delete write read send execute install sql git kube cloud infra container process disk permissions persist"
        " system link publish".split()
    ),
    last=True,
    rows=(
        Row(
            "again in other words",
            _again,
            "deny deny deny",
            "this was refused before in this conversation",
            "ask the person",
        ),
        Row(
            "secret, then send",
            _sends_after_secret,
            "ask deny deny",
            "a secret was read in this conversation, and now something is sent to {host}",
        ),
        Row(
            "injection, then send",
            _sends_after_injection,
            "warn ask deny",
            "a text in this conversation spoke to the model like an attacker, and now something is sent to {host}",
            "show the person what is sent, and why",
        ),
        Row(
            "written after a refusal, then run",
            _runs_what_it_wrote,
            "ask deny deny",
            "{path} was written after something had been refused, and nobody has looked into it",
            "show the person what the file does",
        ),
    ),
)
