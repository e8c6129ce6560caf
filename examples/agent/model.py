"""The protocol of a model, which reads messages and returns a reply with tool calls, and a scripted model."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class ToolCall(NamedTuple):
    """A tool call of the model. A call with a problem is not executed."""

    name: str
    input: dict[str, Any]
    id: str = ""
    problem: str = ""


class Message(NamedTuple):
    """A message of the system, the user, the assistant or a tool."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""  # the call that the message of a tool answers


class Reply(NamedTuple):
    """A reply of the model. Without tool calls its turn is over."""

    text: str = ""
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()


class ToolSpec(NamedTuple):
    """The description of a tool for the model; `schema` is the JSON Schema of its input."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelError(Exception):
    """The model gave no reply."""


class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str: ...

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply: ...

    def for_subagent(self, kind: str) -> "Model":
        """Return the model of a sub-agent of this kind."""
        ...


Script = Iterable[Reply] | Generator[Reply, str, None]
"""Replies in order. A generator is sent the messages since the last reply, and may branch on it."""


class ScriptedModel:
    """Plays a script to its end. `requests` has all messages that it read."""

    name = "scripted"

    def __init__(self, script: Script, subagents: Mapping[str, Callable[[], Script]] | None = None) -> None:
        self._script: Generator[Reply, str, None] = script if isinstance(script, Generator) else _play_replies(script)
        self._is_started = False
        self._subagents = dict(subagents or {})
        self.requests: list[tuple[Message, ...]] = []

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:  # noqa: ARG002 - the script is fixed
        self.requests.append(tuple(messages))
        is_started, self._is_started = self._is_started, True
        try:
            return self._script.send(_get_new_text(messages)) if is_started else next(self._script)
        except StopIteration:
            return Reply(text="There is nothing more to do.")

    def for_subagent(self, kind: str) -> "ScriptedModel":
        model = ScriptedModel(self._subagents[kind]() if kind in self._subagents else ())
        model.requests = self.requests
        return model


def build_call(tool: str, /, **arguments: Any) -> ToolCall:
    """Build a tool call for a script."""
    return ToolCall(tool, arguments)


def _play_replies(replies: Iterable[Reply]) -> Generator[Reply, str, None]:
    for reply in replies:  # noqa: UP028 - `yield from` would send values to the iterator of a list
        yield reply


def _get_new_text(messages: Sequence[Message]) -> str:
    """Return the text of all messages since the last reply."""
    count = len(messages)
    since = next((at for at, message in enumerate(reversed(messages)) if message.role == "assistant"), count)
    return "\n".join(message.text for message in messages[count - since :])
