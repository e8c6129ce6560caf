"""A tool call with its events: the generic and the specific one before the call, and both again after it.

An adapter provides the kind of the call (ToolKind), a function that makes it, and the result format of its library
(ResultFormat). Errors of Trotline never reach the agent's loop: a call that cannot be evaluated is refused, and the
result of a finished call is returned.
"""

import asyncio
import inspect
import json
import logging
import os
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, TypeVar

from trotline.domain.errors import describe_error
from trotline.domain.events import (
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    BeforeMCP,
    BeforeShell,
    PostToolUse,
    PostToolUseFailure,
    PreToolUse,
)
from trotline.domain.ids import uuid7
from trotline.domain.outcomes import Outcome
from trotline.engine.session import AsyncSession, AsyncSubagentSession, Session

ToolInput = dict[str, Any]
"""The arguments of a tool by name."""

AskPerson = Callable[[Outcome], bool | Awaitable[bool]]
"""A function that asks a person about an Outcome that asks; only True is a yes. A sync one blocks the event loop."""

LOG = logging.getLogger("trotline.adapters")

R = TypeVar("R")
T = TypeVar("T")

NO_REASON = "A hook refused this and gave no reason."
NOT_EVALUATED = "Refused, because Trotline could not judge it: "
NOT_REPLACED = "A hook replaced this output, and what it put in its place cannot be shown."


class ResultFormat(ABC, Generic[R]):
    """The format of tool results in a library."""

    def to_text(self, result: R) -> str:
        """Return the text that hooks read."""
        return result if isinstance(result, str) else to_json(result)

    def get_error(self, result: R) -> str:  # noqa: ARG002 - most libraries raise errors, so a result is a success
        """Return the error message of a result that reports a failure; empty for a success."""
        return ""

    def is_timeout(self, error: Exception) -> bool:
        """Check whether an exception of the tool means that it timed out."""
        return isinstance(error, TimeoutError)

    @abstractmethod
    def build_refusal(self, message: str) -> R:
        """Build the result of a refused call, as the library reports errors to the model."""

    @abstractmethod
    def replace_output(self, result: R, output: dict[str, Any]) -> R:
        """Return the result with the output that a hook set."""

    @abstractmethod
    def add_context(self, result: R, context: str) -> R:
        """Return the result with additional text for the model."""


class TextFormat(ResultFormat[Any]):
    """Results that are text, or become text before the model reads them."""

    def build_refusal(self, message: str) -> Any:
        """Return the message itself as the result."""
        return message

    def replace_output(self, result: Any, output: dict[str, Any]) -> Any:  # noqa: ARG002 - the whole result is replaced
        """Return the hook's output as JSON text."""
        return to_json(output)

    def add_context(self, result: Any, context: str) -> Any:
        """Append the context to the text, after an empty line."""
        return f"{self.to_text(result)}\n\n{context}"


class ToolResult(NamedTuple):
    """The result of a call as events report it; `error` is empty for a success."""

    text: str
    milliseconds: float
    error: str = ""


class ToolKind:
    """A tool without specific events: only the generic ones are fired."""

    def format_output(self, text: str) -> str:
        """Return the output as postToolUse contains it."""
        return text

    async def fire_before(self, tool_input: ToolInput) -> Outcome | None:  # noqa: ARG002 - subclasses use it
        """Fire the specific event before the call, if there is one."""
        return None

    async def fire_after(self, tool_input: ToolInput, result: ToolResult) -> None:
        """Fire the specific event after a call that returned a result, successful or not."""

    async def fire_raised(self, tool_input: ToolInput, result: ToolResult) -> None:
        """Fire the specific event after a call that raised an exception."""


class ShellKind(ToolKind):
    """A tool that runs the `command` of its input."""

    def __init__(self, session: AsyncSession, cwd: str = "") -> None:
        self.session, self.cwd = session, cwd

    def format_output(self, text: str) -> str:
        """Wrap the output in an object with the key `output`."""
        return to_json({"output": text})

    async def fire_before(self, tool_input: ToolInput) -> Outcome | None:
        """Fire beforeShellExecution."""
        return await self.session.fire(BeforeShell(command=get_command_line(tool_input), cwd=self.cwd))

    async def fire_after(self, tool_input: ToolInput, result: ToolResult) -> None:
        """Fire afterShellExecution."""
        await self.session.fire(
            AfterShell(command=get_command_line(tool_input), output=result.text, duration=result.milliseconds)
        )


class McpKind(ToolKind):
    """A tool of an MCP server. The caller names the server, because a server can call itself anything."""

    def __init__(self, session: AsyncSession, tool: str, *, server: str, url: str | None = None) -> None:
        self.session, self.tool, self.server, self.url = session, tool, server, url

    @property
    def tool_name(self) -> str:
        """The name in generic events. A colon in the server's name is replaced, because colons separate the parts."""
        return f"MCP:{self.server.replace(':', '_')}:{self.tool}"

    async def fire_before(self, tool_input: ToolInput) -> Outcome | None:
        """Fire beforeMCPExecution."""
        return await self.session.fire(
            BeforeMCP(
                tool_name=self.tool,
                tool_input=tool_input,
                mcp_server_name=self.server,
                mcp_server_url=self.url,
                url=self.url,
            )
        )

    async def fire_after(self, tool_input: ToolInput, result: ToolResult) -> None:
        """Fire afterMCPExecution."""
        await self.session.fire(
            AfterMCP(
                tool_name=self.tool,
                tool_input=tool_input,
                result_json=result.text,
                mcp_server_name=self.server,
                mcp_server_url=self.url,
                duration=result.milliseconds,
            )
        )


class FileKind(ToolKind):
    """A tool that writes the `file_path` of its input."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def fire_after(self, tool_input: ToolInput, result: ToolResult) -> None:
        """Fire afterFileEdit after a successful write."""
        if not result.error:
            await self.session.fire(AfterFileEdit(file_path=str(tool_input.get("file_path", ""))))


class SubagentKind(ToolKind):
    """A tool that runs another agent."""

    def __init__(self, child: AsyncSubagentSession) -> None:
        self.child = child

    async def fire_before(self, tool_input: ToolInput) -> Outcome | None:  # noqa: ARG002 - unused
        """Begin the child's session, which fires subagentStart."""
        await asyncio.to_thread(self.child.session.begin)
        return self.child.start

    async def fire_after(self, tool_input: ToolInput, result: ToolResult) -> None:  # noqa: ARG002 - unused
        """End the child's session, which fires subagentStop."""
        self.child.session.summary = result.text
        status = "error" if result.error else "completed"
        await asyncio.to_thread(self.child.session.end, status, result.error or None)

    async def fire_raised(self, tool_input: ToolInput, result: ToolResult) -> None:
        """End the child's session, as after a result with an error."""
        await self.fire_after(tool_input, result)


class Approval(NamedTuple):
    """The outcome of an event that hooks can refuse. `refusal` is its reason; empty if the event is allowed."""

    refusal: str
    outcome: Outcome | None = None


class ToolCall:
    """A call of a tool. Hooks may change `tool_input` and add `context` for the model."""

    def __init__(
        self,
        session: AsyncSession,
        tool_name: str,
        tool_input: ToolInput,
        *,
        kind: ToolKind | None = None,
        ask: AskPerson | None = None,
        tool_use_id: str = "",
        cwd: str = "",
    ) -> None:
        self.session = session
        self.tool_name = tool_name
        self.tool_input = tool_input
        self.context = ""
        self._kind = kind or ToolKind()
        self._ask = ask
        self._id = tool_use_id or uuid7(session.session.engine.clock(), os.urandom(10))
        self._cwd = cwd

    async def execute(self, run: Callable[[ToolInput], Awaitable[R]], results: ResultFormat[R]) -> R:
        """Fire the events around the call and return its result or a refusal. Errors of the tool are raised."""
        refusal = await self._find_refusal()
        if refusal:
            await self._fire_failure(ToolResult("", 0, refusal), "permission_denied")
            return self._add_context(results.build_refusal(refusal), results)
        start = time.monotonic()
        try:
            result = await run(self.tool_input)
        except Exception as error:
            failed = ToolResult("", _milliseconds_since(start), str(error) or repr(error))
            await await_or_log(self._kind.fire_raised(self.tool_input, failed))
            await self._fire_failure(failed, "timeout" if results.is_timeout(error) else "error")
            raise
        return await self._finish(result, results, _milliseconds_since(start))

    async def _find_refusal(self) -> str:
        fired = self.session.fire(
            PreToolUse(tool_name=self.tool_name, tool_input=self.tool_input, tool_use_id=self._id, cwd=self._cwd)
        )
        refusal, outcome = await get_approval(fired, self._ask)
        if refusal or outcome is None:
            return refusal
        self.context = outcome.context
        if outcome.edited_input is not None:
            self.tool_input = outcome.edited_input
        return (await get_approval(self._kind.fire_before(self.tool_input), self._ask)).refusal

    async def _finish(self, result: R, results: ResultFormat[R], milliseconds: float) -> R:
        try:
            finished = ToolResult(results.to_text(result), milliseconds, results.get_error(result))
        except Exception:  # hooks cannot read this result, but the model still gets it
            LOG.exception("the result of %s could not be told to hooks", self.tool_name)
            return result
        await await_or_log(self._kind.fire_after(self.tool_input, finished))
        if finished.error:
            await self._fire_failure(finished, "error")
            return self._add_context(result, results)
        event = PostToolUse(
            tool_name=self.tool_name,
            tool_input=self.tool_input,
            tool_output=self._kind.format_output(finished.text),
            tool_use_id=self._id,
            duration=milliseconds,
        )
        outcome = await await_or_log(self.session.fire(event))
        self._note_context(outcome)
        if outcome is not None and outcome.replaced_output is not None:
            result = _replace_output(result, outcome.replaced_output, results)
        return self._add_context(result, results)

    async def _fire_failure(self, failed: ToolResult, failure_type: str) -> None:
        event = PostToolUseFailure(
            tool_name=self.tool_name,
            tool_input=self.tool_input,
            error_message=failed.error,
            failure_type=failure_type,
            tool_use_id=self._id,
            duration=failed.milliseconds,
        )
        self._note_context(await await_or_log(self.session.fire(event)))

    def _note_context(self, outcome: Outcome | None) -> None:
        added = outcome.context if outcome is not None else ""
        self.context = "\n\n".join(filter(None, (self.context, added)))

    def _add_context(self, result: R, results: ResultFormat[R]) -> R:
        return results.add_context(result, self.context) if self.context else result


async def get_approval(fired: Awaitable[Outcome | None], ask: AskPerson | None) -> Approval:
    """Await an event that hooks can refuse, and ask the person if its Outcome asks. Errors refuse."""
    try:
        outcome = await fired
        if outcome is None or not (outcome.is_denied or outcome.is_asked):
            return Approval("", outcome)
        if outcome.is_asked and ask is not None:
            answer = ask(outcome)
            if (await answer if inspect.isawaitable(answer) else answer) is True:
                return Approval("", outcome)
        return Approval(outcome.agent_message or NO_REASON, outcome)
    except Exception as error:  # noqa: BLE001 - an error of Trotline must not end the agent's loop
        return Approval(f"{NOT_EVALUATED}{describe_error(error)}")


async def await_or_log(fired: Awaitable[T]) -> T | None:
    """Await an event that hooks cannot refuse. Log an error and return None."""
    try:
        return await fired
    except Exception:  # the call has ended, so an error of Trotline must not change its result
        LOG.exception("an event could not be told to hooks")
        return None


def to_async_session(session: Session | AsyncSession) -> AsyncSession:
    """Wrap a sync session; return an async one unchanged."""
    return session if isinstance(session, AsyncSession) else AsyncSession(session)


def to_json(value: object) -> str:
    """Return a value as JSON; objects that JSON cannot represent become their `str`."""
    return json.dumps(value, ensure_ascii=False, default=str)


def get_command_line(tool_input: ToolInput) -> str:
    """Return the command line of a shell tool; a list of words is joined."""
    command = tool_input.get("command", "")
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)


def _replace_output(result: R, output: dict[str, Any], results: ResultFormat[R]) -> R:
    """Replace the output. If that fails, refuse: a hook wanted the original hidden."""
    try:
        return results.replace_output(result, output)
    except Exception:  # noqa: BLE001 - an error of Trotline must not end the agent's loop
        return results.build_refusal(NOT_REPLACED)


def _milliseconds_since(start: float) -> float:
    return (time.monotonic() - start) * 1000
