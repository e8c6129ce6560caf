"""What the model reads: all that was said and done, kept under a budget.

What the system says stays; what is old becomes one message that remembers it in short. A tool's message is never
parted from the wish that it answers.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from agent.model import Message

CHARACTERS_PER_TOKEN = 4

KEPT = 6
"""Messages at the end that stay as they are, or a few more."""

REMEMBERED = 12
"""Lines of memory, beside those of the user, which all stay."""

LONGEST = {"user": 300, "assistant": 60, "tool": 60}
"""Characters that a memory keeps of one message."""

MEMORY = "Earlier, in short:\n"


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
        return tokens(self.messages)

    @property
    def last_words(self) -> str:
        return next((one.text for one in reversed(self.messages) if one.role == "assistant" and one.text), "")

    def folded(self) -> list[Message] | None:
        """The messages with the old ones folded into one; none while there is room, or nothing to gain."""
        cut = len(self.messages) - KEPT
        while cut > 1 and self.messages[cut].role == "tool":
            cut -= 1
        if self.tokens <= self.budget or cut <= 1:
            return None
        lines = [line for message in self.messages[1:cut] for line in _in_short(message)]
        recent = len(lines) - REMEMBERED
        kept = [line for at, line in enumerate(lines) if at >= recent or line.startswith("user: ")]
        shorter = [self.messages[0], Message("user", MEMORY + "\n".join(kept)), *self.messages[cut:]]
        return shorter if tokens(shorter) < self.tokens else None


def tokens(messages: Sequence[Message]) -> int:
    """A guess, which is all that a budget needs."""
    texts = [message.text + "".join(json.dumps(call.input) for call in message.calls) for message in messages]
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN


def with_context(text: str, *contexts: str) -> str:
    """A text for the model, and below it what hooks want it to know."""
    return "\n\n".join([text, *(f"A hook adds: {context}" for context in contexts if context)])


def _in_short(message: Message) -> list[str]:
    """What is remembered of a message; a memory stays as it is."""
    if message.text.startswith(MEMORY):
        return message.text.removeprefix(MEMORY).splitlines()
    wishes = [f"[{call.name}]" for call in message.calls]
    line = " ".join([*message.text.split(), *wishes])
    longest = LONGEST[message.role]
    return [f"{message.role}: {line if len(line) <= longest else line[: longest - 3] + '...'}"]
