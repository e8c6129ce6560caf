"""The awaitable faces of a conversation: the same methods, each in a thread.

Hooks are processes, and waiting for them must not stop the loop; the engine underneath stays the sync one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self

from trotline.outcomes import Outcome
from trotline.session import Session, SubSession

P = ParamSpec("P")


def _twin(
    method: Callable[Concatenate[Session, P], Outcome],
) -> Callable[Concatenate["AsyncSession", P], Awaitable[Outcome]]:
    def awaited(self: "AsyncSession", /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[Outcome]:
        return asyncio.to_thread(method, self.session, *args, **kwargs)

    return awaited


class AsyncSession:
    """A conversation whose events are awaited."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def refused(self) -> bool:
        return self.session.refused

    @property
    def start(self) -> Outcome | None:
        return self.session.start

    @property
    def conversation_id(self) -> str:
        return self.session.conversation_id

    before_submit_prompt = _twin(Session.before_submit_prompt)
    pre_tool_use = _twin(Session.pre_tool_use)
    post_tool_use = _twin(Session.post_tool_use)
    post_tool_use_failure = _twin(Session.post_tool_use_failure)
    before_shell = _twin(Session.before_shell)
    after_shell = _twin(Session.after_shell)
    before_mcp = _twin(Session.before_mcp)
    after_mcp = _twin(Session.after_mcp)
    before_read_file = _twin(Session.before_read_file)
    after_file_edit = _twin(Session.after_file_edit)
    pre_compact = _twin(Session.pre_compact)
    after_agent_response = _twin(Session.after_agent_response)
    after_agent_thought = _twin(Session.after_agent_thought)
    stop = _twin(Session.stop)
    before_tab_file_read = _twin(Session.before_tab_file_read)
    after_tab_file_edit = _twin(Session.after_tab_file_edit)
    workspace_open = _twin(Session.workspace_open)

    def subagent(self, subagent_type: str, task: str = "", **more: Any) -> "AsyncSubSession":
        """A sub-agent's session, for `async with`."""
        return AsyncSubSession(self.session.subagent(subagent_type, task, **more))


class AsyncSubSession(AsyncSession):
    """A sub-agent whose events are awaited; `session` is the sync one, whose attributes tell what it did."""

    session: SubSession

    @property
    def finish(self) -> Outcome | None:
        return self.session.finish

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.session.begin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.session.__exit__, kind, error, trace)


class OpenSession:
    """A conversation about to begin, by `with` or by `async with`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> Session:
        self._session.begin()
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.end("error" if kind else "completed", str(error) if error else None)

    async def __aenter__(self) -> AsyncSession:
        await asyncio.to_thread(self._session.begin)
        return AsyncSession(self._session)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)
