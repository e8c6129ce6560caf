"""What a conversation has done before, as far as it changes how something is judged now.

Nothing in it says what was read or refused: only that it was, and digests to know the same thing again.
"""

import msgspec

from trotline.effects import Effect
from trotline.ids import name_of

MOST = 64
MOST_BYTES = 16_384
"""On disk, with what there was before the last action."""


class Memory(msgspec.Struct, frozen=True):
    """Bounded: of many things the last are kept."""

    secrets: int = 0  # how often something was let through that read a secret
    denied: tuple[str, ...] = ()  # effects that were refused
    written: tuple[str, ...] = ()  # files that were written after the first refusal
    injected: int = 0  # how often a file or an output came in that speaks to the model like an attacker
    mark: str = ""  # the action that left the last of this, if its other event may follow
    earlier: "Memory | None" = None  # what there was before that action

    def refused(self, effect: Effect) -> bool:
        return digest(effect) in self.denied

    @property
    def words(self) -> tuple[str, ...]:
        """What came before, in the words that rules have for it."""
        had = {"secret": self.secrets, "injection": self.injected, "refusal": len(self.denied)}
        return tuple(word for word, count in had.items() if count)

    def wrote(self, path: str) -> bool:
        return path_digest(path) in self.written


FORGOTTEN = Memory(secrets=1, denied=("?",), injected=1)
"""For a conversation whose file cannot be read: the worst that it may have done. What it was, nobody knows."""


def digest(effect: Effect) -> str:
    """The same for the same thing done, in whatever words."""
    return _digest(effect.kind, effect.path, effect.host, effect.target, effect.package)


def path_digest(path: str) -> str:
    return _digest("file", path)


def mark(conversation: str, generation: str, what: str) -> str:
    """An action, in either of the events that a host raises for it."""
    return _digest("action", conversation, generation, what)


def _digest(*parts: str) -> str:
    return name_of("\0".join(parts), 16)
