"""The history of a conversation, as far as later evaluations depend on it.

It does not contain what was read or refused, only counts, and digests to recognize the same thing again.
"""

import msgspec

from trotline.domain.effects import Effect
from trotline.domain.ids import hash_name

MAX_REMEMBERED = 64
MAX_HISTORY_BYTES = 16_384
"""The space that a stored history may take, including `earlier`."""


class History(msgspec.Struct, frozen=True):
    """The history of a conversation. Its lists are bounded: the newest entries are kept."""

    secrets: int = 0  # number of allowed actions that read a secret
    denied: tuple[str, ...] = ()  # digests of refused effects
    written: tuple[str, ...] = ()  # digests of files written after the first refusal
    injected: int = 0  # number of files and outputs read that contain an injection
    mark: str = ""  # the last action that changed this, if its paired event may follow
    earlier: "History | None" = None  # the history before that action

    def was_refused(self, effect: Effect) -> bool:
        """Return whether the same effect was refused before."""
        return digest_effect(effect) in self.denied

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of earlier actions, as policy rules use them."""
        counts = {"secret": self.secrets, "injection": self.injected, "refusal": len(self.denied)}
        return tuple(label for label, count in counts.items() if count)

    def was_written(self, path: str) -> bool:
        """Return whether the file was written after the first refusal."""
        return digest_path(path) in self.written


UNKNOWN_HISTORY = History(secrets=1, denied=("?",), injected=1)
"""The history of a conversation whose file cannot be read: the worst case is assumed."""


def digest_effect(effect: Effect) -> str:
    """Return a digest that is equal for equal effects, however the command is written."""
    return _digest(effect.kind, effect.path, effect.host, effect.target, effect.package)


def digest_path(path: str) -> str:
    """Return the digest of a file path."""
    return _digest("file", path)


def digest_action(conversation: str, generation: str, subject: str) -> str:
    """Return a digest of an action, equal for both events that an agent raises for it."""
    return _digest("action", conversation, generation, subject)


def _digest(*parts: str) -> str:
    return hash_name("\0".join(parts), 16)
