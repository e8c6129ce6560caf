"""Answers of models that may be taken again: by content, with a bound and an expiry; off by default."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable

from trotline.config.models import Cache

NAMES = frozenset(
    {
        "conversation_id",
        "session_id",
        "generation_id",
        "tool_use_id",
        "tool_call_id",
        "subagent_id",
        "parent_conversation_id",
        "transcript_path",
        "agent_transcript_path",
        "duration",
        "duration_ms",
    }
)
"""Fields that tell one occasion from another and say nothing about what is done."""


class Recall:
    """What was answered to which question; kept in memory only."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, about: tuple[str, ...], event: dict[str, object], cache: Cache) -> str:
        if not cache.seconds:
            return ""
        with self._lock:
            said, answer = self._answers.get(_name(about, event), (0, ""))
        return answer if answer and self._clock() - said < cache.seconds * 1_000_000 else ""

    def put(self, about: tuple[str, ...], event: dict[str, object], answer: str, cache: Cache) -> None:
        if not cache.seconds:
            return
        with self._lock:
            name = _name(about, event)
            self._answers[name] = (self._clock(), answer)
            self._answers.move_to_end(name)
            while len(self._answers) > cache.entries:
                self._answers.popitem(last=False)


def _name(about: tuple[str, ...], event: dict[str, object]) -> str:
    content = {key: value for key, value in event.items() if key not in NAMES}
    return hashlib.sha256(json.dumps([*about, content], sort_keys=True).encode()).hexdigest()
