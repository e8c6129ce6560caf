"""A conversation of an embedded agent: it completes events with what they all share and dispatches them.

What sessionStart sets reaches later hooks, and follow-ups are counted. The async classes run the same methods in a
thread: hooks are processes, and waiting for them must not block the event loop.
"""

import asyncio
import os
from types import TracebackType
from typing import Any, Self

import msgspec

from trotline.domain.events import (
    BeforeSubmitPrompt,
    Event,
    SessionEnd,
    SessionStart,
    SubagentStart,
    SubagentStop,
    WorkspaceOpen,
)
from trotline.domain.ids import uuid7
from trotline.domain.outcomes import Outcome
from trotline.domain.verdicts import EMPTY
from trotline.engine.dispatch import Dispatcher

WORKSPACE_FIELDS = ("workspace_roots", "user_email")
"""The shared fields of workspaceOpen, which belongs to no conversation."""


class Session:
    """A conversation: `with` fires sessionStart and sessionEnd, `async with` gives the async session.

    `start` is the Outcome of sessionStart; a refused session can still be ended.
    """

    def __init__(self, engine: Dispatcher, shared: dict[str, Any], *, background: bool = False) -> None:
        self.engine = engine
        self.shared = shared
        self.background = background
        self.parent = ""  # the conversation that started this one
        self.start: Outcome | None = None
        self._started_us = engine.clock()

    @classmethod
    def create(cls, engine: Dispatcher, *, conversation_id: str, background: bool, **shared: str | None) -> "Session":
        """Return a conversation that has not begun. Without an id it gets a new one."""
        conversation = conversation_id or _create_id(engine)
        fields = {
            "conversation_id": conversation,
            "session_id": conversation,
            "generation_id": "",
            "workspace_roots": tuple(str(root) for root in engine.roots.projects),
            **shared,
        }
        return cls(engine, fields, background=background)

    @property
    def conversation_id(self) -> str:
        """The ID of the conversation."""
        return str(self.shared["conversation_id"])

    @property
    def is_refused(self) -> bool:
        """Return whether a hook refused the start of this conversation."""
        return self.start is not None and self.start.is_denied

    def fire(self, event: Event) -> Outcome:
        """Dispatch an event of this conversation. Shared fields that it leaves empty are filled in.

        A prompt begins a new generation. The follow-up in the Outcome of a `Stop` is the next message to the agent.
        """
        if isinstance(event, BeforeSubmitPrompt):
            self.shared["generation_id"] = _create_id(self.engine)
        names = WORKSPACE_FIELDS if isinstance(event, WorkspaceOpen) else self.shared
        missing = {name: self.shared[name] for name in names if name in self.shared and getattr(event, name) in EMPTY}
        return self.engine.dispatch(msgspec.structs.replace(event, **missing))

    def begin(self) -> None:
        """Fire sessionStart."""
        self.start = self.fire(SessionStart(is_background_agent=self.background))

    def end(self, reason: str = "completed", error_message: str | None = None) -> Outcome:
        """Fire sessionEnd."""
        return self.fire(
            SessionEnd(
                reason=reason,
                duration_ms=self._duration_ms,
                is_background_agent=self.background,
                final_status=reason,
                error_message=error_message,
            )
        )

    @property
    def _duration_ms(self) -> float:
        return (self.engine.clock() - self._started_us) / 1000

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end("error" if kind else "completed", str(error) if error else None)

    async def __aenter__(self) -> "AsyncSession":
        await asyncio.to_thread(self.begin)
        return AsyncSession(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def subagent(self, subagent_type: str, task: str = "", *, model: str = "", call_id: str = "") -> "SubagentSession":
        """Return the session of a sub-agent, for `with`; `is_refused` says that it may not run."""
        return SubagentSession(self, subagent_type, task, model=model, call_id=call_id)


class SubagentSession(Session):
    """A sub-agent: begins with subagentStart, ends with subagentStop, which reports the attributes set until then."""

    def __init__(self, parent: Session, subagent_type: str, task: str, *, model: str, call_id: str) -> None:
        super().__init__(parent.engine, dict(parent.shared), background=True)
        self.parent = parent.conversation_id
        self.subagent_id = _create_id(parent.engine)
        self.subagent_type = subagent_type
        self.task = task
        self.subagent_model = model
        self.call_id = call_id
        self.description: str | None = None
        self.summary: str | None = None
        self.message_count = 0
        self.tool_call_count = 0
        self.modified_files: tuple[str, ...] = ()
        self.finish: Outcome | None = None

    def begin(self) -> None:
        """Fire subagentStart."""
        self.start = self.fire(
            SubagentStart(
                subagent_id=self.subagent_id,
                subagent_type=self.subagent_type,
                task=self.task,
                parent_conversation_id=self.parent,
                tool_call_id=self.call_id,
                subagent_model=self.subagent_model,
            )
        )

    def end(self, reason: str = "completed", error_message: str | None = None) -> Outcome:
        """Fire subagentStop. Its Outcome, kept as `finish`, may hold a follow-up for the sub-agent."""
        self.finish = self.fire(
            SubagentStop(
                subagent_id=self.subagent_id,
                subagent_type=self.subagent_type,
                task=self.task,
                parent_conversation_id=self.parent,
                status=reason,
                description=self.description,
                summary=self.summary or error_message,
                message_count=self.message_count,
                tool_call_count=self.tool_call_count,
                modified_files=self.modified_files,
                duration_ms=self._duration_ms,
            )
        )
        return self.finish

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.is_refused:
            super().__exit__(kind, error, trace)


class AsyncSession:
    """A conversation whose events are awaited."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def is_refused(self) -> bool:
        """True if a hook refused the start."""
        return self.session.is_refused

    @property
    def start(self) -> Outcome | None:
        """The Outcome of the start event."""
        return self.session.start

    @property
    def conversation_id(self) -> str:
        """The ID of the conversation."""
        return self.session.conversation_id

    async def fire(self, event: Event) -> Outcome:
        """Dispatch an event of this conversation, like `Session.fire`."""
        return await asyncio.to_thread(self.session.fire, event)

    def subagent(self, subagent_type: str, task: str = "", **options: Any) -> "AsyncSubagentSession":
        """Return the session of a sub-agent, for `async with`."""
        return AsyncSubagentSession(self.session.subagent(subagent_type, task, **options))


class AsyncSubagentSession(AsyncSession):
    """A sub-agent whose events are awaited. What it did is set on `session`, the sync one."""

    session: SubagentSession

    @property
    def finish(self) -> Outcome | None:
        """The Outcome of subagentStop."""
        return self.session.finish

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.session.begin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.session.__exit__, kind, error, trace)


def _create_id(engine: Dispatcher) -> str:
    return uuid7(engine.clock(), os.urandom(10))
