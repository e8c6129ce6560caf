"""What thinks: a model reads messages and gives a reply. What it wants done, it does not do itself.

The scripted model plays a part that was written for it, and may choose its next words by what it was told.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class ToolCall(NamedTuple):
    """What the model wants done. A call with a flaw was not understood, and is not carried out."""

    name: str
    input: dict[str, Any]
    id: str = ""
    flaw: str = ""


class Message(NamedTuple):
    """One piece of what the model reads: of the system, the user, the assistant itself, or a tool."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # of the call that a tool's message answers


class Reply(NamedTuple):
    """What the model gives: a thought, words for the person, wishes. Without a wish its turn is over."""

    text: str = ""
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()


class ToolSpec(NamedTuple):
    """A tool as the model knows it; `schema` is the JSON Schema of its input."""

    name: str
    about: str
    schema: dict[str, Any]


class ModelError(Exception):
    """The model gave no reply; the sentence says why."""


class Model(Protocol):
    """Anything that thinks."""

    @property
    def name(self) -> str: ...

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply: ...

    def for_subagent(self, kind: str) -> "Model":
        """Who thinks for a sub-agent of this kind."""
        ...


Script = Iterable[Reply] | Generator[Reply, str, None]
"""Replies in order. A generator is sent what the model was told since its last reply, and may branch on it."""


class ScriptedModel:
    """Plays a script to its end, then has nothing more to do. `requests` is all that it ever read."""

    name = "scripted"

    def __init__(self, script: Script, subagents: Mapping[str, Callable[[], Script]] | None = None) -> None:
        self._script: Generator[Reply, str, None] = script if isinstance(script, Generator) else _spoken(script)
        self._begun = False
        self._subagents = dict(subagents or {})
        self.requests: list[tuple[Message, ...]] = []

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:  # noqa: ARG002 - it was told before
        self.requests.append(tuple(messages))
        begun, self._begun = self._begun, True
        try:
            return self._script.send(_news(messages)) if begun else next(self._script)
        except StopIteration:
            return Reply(text="There is nothing more to do.")

    def for_subagent(self, kind: str) -> "ScriptedModel":
        model = ScriptedModel(self._subagents[kind]() if kind in self._subagents else ())
        model.requests = self.requests
        return model


def call(tool: str, /, **given: Any) -> ToolCall:
    """A wish in a script."""
    return ToolCall(tool, given)


def _spoken(replies: Iterable[Reply]) -> Generator[Reply, str, None]:
    for reply in replies:  # noqa: UP028 - a list takes no answers
        yield reply


def _news(messages: Sequence[Message]) -> str:
    """What was said since the model last spoke."""
    since = next((index for index, one in enumerate(reversed(messages)) if one.role == "assistant"), len(messages))
    return "\n".join(message.text for message in messages[len(messages) - since :])
