"""Effects: what an action would change or read. They are flat, so that a rule can use any field of any kind."""

from enum import StrEnum

import msgspec


class Certainty(StrEnum):
    """The certainty of an analysis. Code that cannot be analyzed is marked opaque, not ignored."""

    KNOWN = "known"
    GUESSED = "guessed"
    OPAQUE = "opaque"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A single effect. Fields that have no meaning for its kind have an empty value."""

    kind: str  # delete, write, read, send, execute, install, sql, git, kube, privilege, config-write, ...
    verb: str = ""
    path: str = ""
    host: str = ""
    target: str = ""
    package: str = ""
    writes: bool = False
    recursive: bool = False
    source: str = ""
    column_from: int = 0
    column_to: int = 0
    certainty: Certainty = Certainty.KNOWN
    why: str = ""
