"""Query over audit records, shared by the command line and programs."""

from typing import Literal

import msgspec

VERDICT_OPTIONS = {
    "denied": "deny",
    "asked": "ask",
    "allowed": "allow",
    "none": "none",
    "would-be-denied": "would_deny",
    "would-be-asked": "would_ask",
    "would-be-allowed": "would_allow",
}
"""Verdicts by the name users give on the command line, mapped to the stored value.

The `would-be-` ones are from monitor mode: decided but not sent to the agent, so the action went through.
"""

VERDICT_LABELS = {verdict: option.replace("-", " ") for option, verdict in VERDICT_OPTIONS.items()}
"""Readable labels by stored verdict."""

By = Literal["", "all", "hour", "agent", "guard", "verdict", "conversation", "metric", "percentile"]
"""Result to return instead of records.

Counts (of all records or per value), conversations (newest first), or sums (`metric`) and percentiles (`percentile`) of
the metrics in `audit/query/metrics.py`.
"""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that a record must meet, all of them.

    Patterns are globs in which `*` also matches `/`.
    """

    since_us: int = 0
    until_us: int = 0  # exclusive; 0 is no limit
    after_seq: int = 0  # exclusive
    until_seq: int = 0  # exclusive; 0 is no limit
    event: str = ""
    agent: str = ""
    verdict: str = ""  # a value of VERDICT_OPTIONS
    path: str = ""
    command: str = ""
    conversation: str = ""
    effect: str = ""
    text: str = ""  # all of these words, in any order
    include_self_tests: bool = False  # calls made by Trotline to test the hooks
    limit: int = 0
    by: By = ""
