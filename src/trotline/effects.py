"""Effect: what an action would do to the world. Flat, so that a rule can name any field without asking first."""

from enum import StrEnum

import msgspec


class Certainty(StrEnum):
    """How sure the analysis is; what is opaque is said to be opaque, never guessed away."""

    KNOWN = "known"
    GUESSED = "guessed"
    OPAQUE = "opaque"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One effect; every field is always there, with a zero value when it means nothing for this kind."""

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
