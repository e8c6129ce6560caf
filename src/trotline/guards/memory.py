"""What a conversation remembers of an action once it was answered."""

from trotline.analysis.credentials import credential
from trotline.effects import Certainty, Effect
from trotline.memory import MOST, Memory, digest, path_digest
from trotline.verdicts import Permission


def after(memory: Memory, effects: tuple[Effect, ...], permission: Permission, refused: tuple[Effect, ...]) -> Memory:
    """What is remembered once this was answered."""
    if permission is Permission.DENY:
        new = [key for key in map(digest, refused) if key not in memory.denied]
        denied = (*memory.denied, *new)[-MOST:]
        return Memory(memory.secrets, denied, memory.written, memory.injected) if new else memory
    secrets = memory.secrets + any(_reads_secret(effect) for effect in effects)
    written = memory.written
    if memory.denied:
        files = [path_digest(effect.path) for effect in effects if effect.kind == "write"]
        written = (*written, *(key for key in files if key not in written))[-MOST:]
    injected = memory.injected + any(_speaks_like_an_attacker(effect) for effect in effects)
    return Memory(min(secrets, MOST), memory.denied, written, min(injected, MOST))


def _speaks_like_an_attacker(effect: Effect) -> bool:
    return effect.kind == "content" and effect.verb == "injection" and effect.source in {"output", "read"}


def _reads_secret(effect: Effect) -> bool:
    if effect.kind == "content":
        return (effect.verb, effect.source, effect.certainty) == ("secrets", "output", Certainty.KNOWN)
    if effect.kind != "read" or effect.verb in {"look", "authenticate"}:
        return False
    return effect.verb in {"environment", "secret"} or credential(effect.path) != ""
