"""The messages that the model reads, kept under a budget.

The system message stays; old messages become one summary. The message of a tool is never separated from its call.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from agent.model import Message

CHARACTERS_PER_TOKEN = 4

RECENT_MESSAGES = 6
"""The minimum number of recent messages that are kept unchanged."""

MAX_SUMMARY_LINES = 12
"""The lines of the summary, in addition to all lines of the user."""

MAX_SUMMARY_TEXT = {"user": 300, "assistant": 60, "tool": 60}
"""The characters of a message that the summary keeps."""

SUMMARY_HEADING = "Earlier, in short:\n"


class Transcript:
    """The messages of one conversation; with a path, each is also a line of that file."""

    def __init__(self, system: str, budget: int, path: Path | None = None) -> None:
        self.messages: list[Message] = []
        self.budget = budget
        self.path = path
        self.add(Message("system", system))

    def add(self, message: Message) -> None:
        self.messages.append(message)
        if self.path:
            line = {"role": message.role, "text": message.text, "calls": [call.name for call in message.calls]}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    @property
    def tokens(self) -> int:
        return count_tokens(self.messages)

    @property
    def last_message(self) -> str:
        return next(
            (message.text for message in reversed(self.messages) if message.role == "assistant" and message.text), ""
        )

    def compact(self) -> list[Message] | None:
        """Return the messages with the old ones summarised; None if there is room, or nothing to gain."""
        cut = len(self.messages) - RECENT_MESSAGES
        while cut > 1 and self.messages[cut].role == "tool":
            cut -= 1
        if self.tokens <= self.budget or cut <= 1:
            return None
        lines = [line for message in self.messages[1:cut] for line in _summarize(message)]
        recent = len(lines) - MAX_SUMMARY_LINES
        summary = [line for at, line in enumerate(lines) if at >= recent or line.startswith("user: ")]
        shorter = [self.messages[0], Message("user", SUMMARY_HEADING + "\n".join(summary)), *self.messages[cut:]]
        return shorter if count_tokens(shorter) < self.tokens else None


def count_tokens(messages: Sequence[Message]) -> int:
    """Estimate the number of tokens."""
    texts = [message.text + "".join(json.dumps(call.input) for call in message.calls) for message in messages]
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN


def add_context(text: str, *contexts: str) -> str:
    """Append the context of hooks to a text for the model."""
    return "\n\n".join([text, *(f"A hook adds: {context}" for context in contexts if context)])


def _summarize(message: Message) -> list[str]:
    """Return the summary lines of a message; a summary stays unchanged."""
    if message.text.startswith(SUMMARY_HEADING):
        return message.text.removeprefix(SUMMARY_HEADING).splitlines()
    names = [f"[{call.name}]" for call in message.calls]
    line = " ".join([*message.text.split(), *names])
    limit = MAX_SUMMARY_TEXT[message.role]
    return [f"{message.role}: {line if len(line) <= limit else line[: limit - 3] + '...'}"]
