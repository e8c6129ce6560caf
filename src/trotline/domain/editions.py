"""Editions: the behavior of Cursor at a given date. The table of editions is in agents/cursor/cursor_editions.py.

An edition reproduces what that version of Cursor did, even where it is weaker than today. An old edition is used only
if a user selects it.
"""

from enum import StrEnum

import msgspec

from trotline.domain.verdicts import MergeRule


class PathBase(StrEnum):
    """The directory that a relative path in a command is resolved against."""

    FILE = "the directory of hooks.json"
    LAYER = "the layer's working directory"


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """The behavior of one version of Cursor. `sources` names the document or measurement behind each field."""

    name: str
    events: frozenset[str]
    entry_keys: frozenset[str]
    path_base: PathBase
    version_required: bool
    fatal_codes: frozenset[str]  # Problem codes for which Cursor ignores the whole file
    closed_by_default: frozenset[str]  # events that any failure refuses, whatever the entry says
    bad_output_blocks: frozenset[str]  # events that unreadable output refuses
    loop_limit_fixed: bool  # five follow-ups for every hook, and no key to change that
    session_start_refuses: bool
    reply_keys: dict[str, tuple[str, ...]]  # event -> the keys of a reply in this edition
    merge_rule: MergeRule
    sources: dict[str, str]

    def refuses(self, event: str, *, refusable: bool) -> bool:
        """Return whether a hook can refuse this event in this edition."""
        if event == "sessionStart":
            return self.session_start_refuses
        return refusable and event in self.events


LOOP_LIMIT = 5
"""The number of follow-ups that a stop hook may request by default."""

TIMEOUT_SECONDS = 60.0
"""The default timeout of a hook, measured on Cursor's own engine."""
