"""Query: how records are asked for. The same question from the command line, a page or a program."""

from typing import Literal

import msgspec

VERDICTS = {
    "denied": "deny",
    "asked": "ask",
    "allowed": "allow",
    "silent": "silent",
    "would-be-denied": "would_deny",
    "would-be-asked": "would_ask",
    "would-be-allowed": "would_allow",
}
"""What became of an action, in a person's words, and as a trail is asked for it. The last are of monitor mode: decided,
not sent, and so gone through."""

SAID = {word: said.replace("-", " ") for said, word in VERDICTS.items()}
"""The other way round, to be read."""

By = Literal["", "all", "hour", "host", "guard", "verdict", "conversation", "figure", "spread"]
"""Instead of records: how many there are, of all or for each; conversations, the newest first; figures, added up, or
what so many in a hundred do not exceed (`audit/figures.py`)."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is given must be true of a record. Patterns are globs in which `*` also crosses `/`."""

    since_us: int = 0
    until_us: int = 0  # before this time; 0 is no limit
    after_seq: int = 0  # records that came to the trail later than this one
    until_seq: int = 0  # and earlier than this one; 0 is no limit
    event: str = ""
    host: str = ""
    verdict: str = ""  # one of those that VERDICTS has
    path: str = ""
    command: str = ""
    conversation: str = ""
    effect: str = ""
    text: str = ""  # all of these words, in any order
    own: bool = False  # also calls that were made to try the lines
    limit: int = 0
    by: By = ""
