"""Conversations in which nobody spoke but we: what they leave in the trail is no agent's doing."""

import re
import uuid
from typing import Any

PROVING = "trotline-prove"
REPLAYING = "trotline-replay"
OURS = re.compile(r"trotline-(?:doctor|prove|replay)(?:-[0-9a-f]{12})?")


def new_conversation() -> str:
    """A name for one examination, by which its records are found again."""
    return f"trotline-doctor-{uuid.uuid4().hex[:12]}"


def is_our_own(record: dict[str, Any]) -> bool:
    return OURS.fullmatch(str(record.get("conversation", ""))) is not None
