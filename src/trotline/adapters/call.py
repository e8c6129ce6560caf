"""One tool call, told as events: the generic one and the specific one, then the call, then both once more.

An adapter says what a call is (a Kind), how it is made (a function), and how its library spells results (a Shape).
Nothing of ours is raised into the agent's loop: what cannot be judged is refused, what is done already is handed on.
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

from trotline.awaited import AsyncSession, AsyncSubSession
from trotline.errors import cause_of
from trotline.ids import uuid7
from trotline.outcomes import Outcome
from trotline.session import Session

Input = dict[str, Any]
"""A tool's arguments by name."""

Ask = Callable[[Outcome], bool | Awaitable[bool]]
"""Asks a person about an Outcome that `asks`; only True is a yes. A sync one holds up the event loop while it waits."""

LOG = logging.getLogger("trotline.adapters")

R = TypeVar("R")
T = TypeVar("T")

NO_REASON = "A hook refused this and gave no reason."
NOT_JUDGED = "Refused, because Trotline could not judge it: "
NOT_REPLACED = "A hook replaced this output, and what it put in its place cannot be shown."


class Shape(ABC, Generic[R]):
    """How a library spells the result of a tool call. Pure functions; the last three have no default."""

    def text(self, result: R) -> str:
        """What hooks read of it."""
        return result if isinstance(result, str) else json_text(result)

    def failure(self, result: R) -> str:  # noqa: ARG002 - most libraries raise, and a result is a success
        """Why the tool failed by its own word; empty when it did not."""
        return ""

    def timed_out(self, error: Exception) -> bool:
        return isinstance(error, TimeoutError)

    @abstractmethod
    def refused(self, message: str) -> R:
        """A no, as the library itself would tell the model."""

    @abstractmethod
    def replaced(self, result: R, output: dict[str, Any]) -> R:
        """What a hook put in its place."""

    @abstractmethod
    def noted(self, result: R, context: str) -> R:
        """The result with something more for the model to read."""


class Text(Shape[Any]):
    """Results that are text, or become text before the model reads them."""

    def refused(self, message: str) -> Any:
        return message

    def replaced(self, result: Any, output: dict[str, Any]) -> Any:  # noqa: ARG002 - all of it is replaced
        return json_text(output)

    def noted(self, result: Any, context: str) -> Any:
        return f"{self.text(result)}\n\n{context}"


class Done(NamedTuple):
    """How a call went, as hooks are told; a failure is empty when there was none."""

    text: str
    milliseconds: float
    failure: str = ""


class Kind:
    """A tool like any other: there is no event for it but the generic ones."""

    def told(self, text: str) -> str:
        """The output as postToolUse has it."""
        return text

    async def before(self, given: Input) -> Outcome | None:  # noqa: ARG002 - the others look at it
        return None

    async def after(self, given: Input, done: Done) -> None:
        """There is a result, good or bad."""

    async def broken(self, given: Input, done: Done) -> None:
        """There is none: the call raised."""


class Shell(Kind):
    """A tool that runs the `command` of its input."""

    def __init__(self, session: AsyncSession, cwd: str = "") -> None:
        self.session, self.cwd = session, cwd

    def told(self, text: str) -> str:
        return json_text({"output": text})

    async def before(self, given: Input) -> Outcome | None:
        return await self.session.before_shell(command_of(given), cwd=self.cwd)

    async def after(self, given: Input, done: Done) -> None:
        await self.session.after_shell(command_of(given), done.text, duration=done.milliseconds)


class Mcp(Kind):
    """A tool of an MCP server. The server's name is the caller's word: what a server calls itself is no proof."""

    def __init__(self, session: AsyncSession, tool: str, *, server: str, url: str | None = None) -> None:
        self.session, self.tool, self.server, self.url = session, tool, server, url

    @property
    def tool_name(self) -> str:
        """Its name in generic events; a colon in the server's own name would end it too early."""
        return f"MCP:{self.server.replace(':', '_')}:{self.tool}"

    async def before(self, given: Input) -> Outcome | None:
        return await self.session.before_mcp(self.tool, given, server=self.server, url=self.url)

    async def after(self, given: Input, done: Done) -> None:
        await self.session.after_mcp(
            self.tool, given, done.text, server=self.server, url=self.url, duration=done.milliseconds
        )


class FileEdit(Kind):
    """A tool that writes the `file_path` of its input."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def after(self, given: Input, done: Done) -> None:
        if not done.failure:
            await self.session.after_file_edit(str(given.get("file_path", "")))


class Subagent(Kind):
    """A tool behind which another agent works."""

    def __init__(self, child: AsyncSubSession) -> None:
        self.child = child

    async def before(self, given: Input) -> Outcome | None:  # noqa: ARG002 - its task is in the child already
        await asyncio.to_thread(self.child.session.begin)
        return self.child.start

    async def after(self, given: Input, done: Done) -> None:  # noqa: ARG002 - as above
        self.child.session.summary = done.text
        await asyncio.to_thread(self.child.session.end, "error" if done.failure else "completed", done.failure or None)

    async def broken(self, given: Input, done: Done) -> None:
        await self.after(given, done)


class Judgement(NamedTuple):
    """What came of an event that can be refused: why not, empty for yes, and what else was said."""

    refusal: str
    outcome: Outcome | None = None


class Call:
    """One call of one tool. `given` is what the tool really gets, `context` what the model shall read besides."""

    def __init__(
        self,
        session: AsyncSession,
        tool_name: str,
        given: Input,
        *,
        kind: Kind | None = None,
        ask: Ask | None = None,
        tool_use_id: str = "",
        cwd: str = "",
    ) -> None:
        self.session = session
        self.tool_name = tool_name
        self.given = given
        self.context = ""
        self._kind = kind or Kind()
        self._ask = ask
        self._id = tool_use_id or uuid7(session.session.engine.clock(), os.urandom(10))
        self._cwd = cwd

    async def make(self, run: Callable[[Input], Awaitable[R]], shape: Shape[R]) -> R:
        """Everything that happens around the call. What the tool raises is told and raised; a refusal is a result."""
        refusal = await self._refusal()
        if refusal:
            await self._told_failed(Done("", 0, refusal), "permission_denied")
            return self._with_context(shape.refused(refusal), shape)
        begun = time.monotonic()
        try:
            result = await run(self.given)
        except Exception as error:
            done = Done("", _milliseconds_since(begun), str(error) or repr(error))
            await heard(self._kind.broken(self.given, done))
            await self._told_failed(done, "timeout" if shape.timed_out(error) else "error")
            raise
        return await self._finished(result, shape, _milliseconds_since(begun))

    async def _refusal(self) -> str:
        raised = self.session.pre_tool_use(self.tool_name, self.given, tool_use_id=self._id, cwd=self._cwd)
        refusal, outcome = await judged(raised, self._ask)
        if refusal or outcome is None:
            return refusal
        self.context = outcome.context
        if outcome.edited_input is not None:
            self.given = outcome.edited_input
        return (await judged(self._kind.before(self.given), self._ask)).refusal

    async def _finished(self, result: R, shape: Shape[R], milliseconds: float) -> R:
        try:
            done = Done(shape.text(result), milliseconds, shape.failure(result))
        except Exception:  # a result that cannot be spelled is still the tool's result
            LOG.exception("the result of %s could not be told to hooks", self.tool_name)
            return result
        await heard(self._kind.after(self.given, done))
        if done.failure:
            await self._told_failed(done, "error")
            return self._with_context(result, shape)
        outcome = await heard(
            self.session.post_tool_use(
                self.tool_name,
                self.given,
                self._kind.told(done.text),
                tool_use_id=self._id,
                duration=milliseconds,
            )
        )
        self._note(outcome)
        if outcome is not None and outcome.replaced_output is not None:
            result = _replaced(result, outcome.replaced_output, shape)
        return self._with_context(result, shape)

    async def _told_failed(self, done: Done, failure_type: str) -> None:
        raised = self.session.post_tool_use_failure(
            self.tool_name,
            self.given,
            done.failure,
            failure_type=failure_type,
            tool_use_id=self._id,
            duration=done.milliseconds,
        )
        self._note(await heard(raised))

    def _note(self, outcome: Outcome | None) -> None:
        said = outcome.context if outcome is not None else ""
        self.context = "\n\n".join(filter(None, (self.context, said)))

    def _with_context(self, result: R, shape: Shape[R]) -> R:
        return shape.noted(result, self.context) if self.context else result


async def judged(raised: Awaitable[Outcome | None], ask: Ask | None) -> Judgement:
    """The refusal in an event's Outcome, a person asked where it asks. Nobody to ask is a no, and so is our failure."""
    try:
        outcome = await raised
        if outcome is None or not (outcome.denied or outcome.asks):
            return Judgement("", outcome)
        if outcome.asks and ask is not None:
            answer = ask(outcome)
            if (await answer if inspect.isawaitable(answer) else answer) is True:
                return Judgement("", outcome)
        return Judgement(outcome.agent_message or NO_REASON, outcome)
    except Exception as error:  # noqa: BLE001 - an agent's loop must not end because of us
        return Judgement(f"{NOT_JUDGED}{cause_of(error)}")


async def heard(raised: Awaitable[T]) -> T | None:
    """What came of an event that can be refused no more; None when telling it failed, which a log will say."""
    try:
        return await raised
    except Exception:  # what is done stays done, whatever becomes of telling it
        LOG.exception("an event could not be told to hooks")
        return None


def awaitable(session: Session | AsyncSession) -> AsyncSession:
    return session if isinstance(session, AsyncSession) else AsyncSession(session)


def json_text(value: object) -> str:
    """As JSON; what JSON has no word for is written as Python shows it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def command_of(given: Input) -> str:
    """The line that a shell will run; a list of words is written as one."""
    command = given.get("command", "")
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)


def _replaced(result: R, output: dict[str, Any], shape: Shape[R]) -> R:
    """Never the original, which a hook wanted out of sight."""
    try:
        return shape.replaced(result, output)
    except Exception:  # noqa: BLE001 - as above, the loop goes on
        return shape.refused(NOT_REPLACED)


def _milliseconds_since(begun: float) -> float:
    return (time.monotonic() - begun) * 1000
