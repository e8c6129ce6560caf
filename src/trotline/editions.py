"""Editions: how Cursor of a given date behaves. One truth table, read by date; the rows stand in hosts/cursor_editions.

An edition never makes a guard weaker on its own account: it repeats what that Cursor did, and whoever selects an old
one has asked for it.
"""

from enum import StrEnum

import msgspec

from trotline.verdicts import MergeRule


class PathBase(StrEnum):
    """What a relative path in a command is relative to."""

    FILE = "the directory of hooks.json"
    LAYER = "the layer's working directory"


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """A dated contract. `sources` says, field by field, where it is written or was measured."""

    name: str
    events: frozenset[str]
    entry_keys: frozenset[str]
    path_base: PathBase
    version_required: bool
    voids: frozenset[str]  # Problem codes after which the product loads nothing from the file
    closed_by_default: frozenset[str]  # events on which any failure refuses, whatever the entry says
    bad_output_blocks: frozenset[str]  # events on which output that cannot be read refuses
    loop_limit_fixed: bool  # five follow-ups for everyone, and no key to change it
    session_start_refuses: bool
    reply_keys: dict[str, tuple[str, ...]]  # event -> the keys this edition's replies are written with
    merge_rule: MergeRule
    sources: dict[str, str]

    def refuses(self, event: str, *, refusable: bool) -> bool:
        """Whether a hook of this event can say no in this edition."""
        if event == "sessionStart":
            return self.session_start_refuses
        return refusable and event in self.events


LOOP_LIMIT = 5
"""Follow-ups that a stop hook may ask for when nothing else is configured."""

TIMEOUT_SECONDS = 60.0
"""How long a hook may take when its entry does not say; measured on Cursor's own engine."""
