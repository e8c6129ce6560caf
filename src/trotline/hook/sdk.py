"""The SDK for hook programs: `@on.before_shell`, `deny(...)`, `run()`. The same file works under every agent.

Handlers are plain functions, sync or async, and can be called and tested as such. What they print goes to standard
error, because standard output is for the reply.
"""

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

from trotline.conversation.functions import EventHandler, HandlerFunction
from trotline.domain import events
from trotline.domain.events import Event
from trotline.domain.hooks import Matcher
from trotline.domain.verdicts import Permission, Verdict

E = TypeVar("E", bound=Event)
Handler = Callable[[E], Any]
"""Returns a Verdict, or None for no opinion; may be async."""

HANDLERS: list[EventHandler] = []
BACKGROUND_HANDLERS: list[EventHandler] = []
"""Handlers that run after the reply was sent. Their verdicts are ignored."""


class EventDecorator(Generic[E]):
    """The decorator of one event or of a family: `@on.stop` or `@on.before_shell(matching="curl|wget")`."""

    def __init__(self, *raised: type[E]) -> None:
        self.events = tuple(cls.contract.name for cls in raised)

    @overload
    def __call__(self, handler: Handler[E]) -> Handler[E]: ...
    @overload
    def __call__(
        self, handler: None = None, *, matching: str = "", fail_closed: bool = False, background: bool = False
    ) -> Callable[[Handler[E]], Handler[E]]: ...

    def __call__(
        self,
        handler: Handler[E] | None = None,
        *,
        matching: str = "",
        fail_closed: bool = False,
        background: bool = False,
    ) -> Any:
        def register(call: Handler[E]) -> Handler[E]:
            for event in self.events:
                function = EventHandler(
                    name=getattr(call, "__qualname__", repr(call)),
                    event=event,
                    call=cast("HandlerFunction", call),
                    matcher=Matcher(matching) if matching else None,
                    fail_closed=fail_closed,
                )
                (BACKGROUND_HANDLERS if background else HANDLERS).append(function)
            return call

        return register if handler is None else register(handler)


class EventDecorators:
    """The decorators of all events and of families of events."""

    session_start = EventDecorator(events.SessionStart)
    session_end = EventDecorator(events.SessionEnd)
    before_submit_prompt = EventDecorator(events.BeforeSubmitPrompt)
    pre_tool_use = EventDecorator(events.PreToolUse)
    post_tool_use = EventDecorator(events.PostToolUse)
    post_tool_use_failure = EventDecorator(events.PostToolUseFailure)
    before_shell = EventDecorator(events.BeforeShell)
    after_shell = EventDecorator(events.AfterShell)
    before_mcp = EventDecorator(events.BeforeMCP)
    after_mcp = EventDecorator(events.AfterMCP)
    before_read_file = EventDecorator(events.BeforeReadFile)
    after_file_edit = EventDecorator(events.AfterFileEdit)
    subagent_start = EventDecorator(events.SubagentStart)
    subagent_stop = EventDecorator(events.SubagentStop)
    pre_compact = EventDecorator(events.PreCompact)
    after_agent_response = EventDecorator(events.AfterAgentResponse)
    after_agent_thought = EventDecorator(events.AfterAgentThought)
    stop = EventDecorator(events.Stop)
    before_tab_file_read = EventDecorator(events.BeforeTabFileRead)
    after_tab_file_edit = EventDecorator(events.AfterTabFileEdit)
    workspace_open = EventDecorator(events.WorkspaceOpen)

    tool = EventDecorator(events.PreToolUse)
    file_read = EventDecorator[events.BeforeReadFile | events.BeforeTabFileRead](
        events.BeforeReadFile, events.BeforeTabFileRead
    )
    mcp = EventDecorator[events.BeforeMCP | events.AfterMCP](events.BeforeMCP, events.AfterMCP)


on = EventDecorators()


def allow(reason: str = "") -> Verdict:
    """Allow the action. Returning None instead leaves the decision to others."""
    return Verdict(permission=Permission.ALLOW, user_message=reason)


def ask(reason: str, *, to_agent: str = "") -> Verdict:
    """Let a person decide. If the agent cannot ask, the action is refused."""
    return Verdict(permission=Permission.ASK, user_message=reason, agent_message=to_agent)


def deny(reason: str, *, to_agent: str = "") -> Verdict:
    """Refuse the action. `to_agent` is the reason for the model, if it differs from that for the person."""
    return Verdict(permission=Permission.DENY, user_message=reason, agent_message=to_agent or reason)


def edit(tool_input: dict[str, Any], *, reason: str = "") -> Verdict:
    """Replace the input of the tool."""
    return Verdict(edited_input=tool_input, user_message=reason)


def add_context(text: str) -> Verdict:
    """Add a text to the context of the model."""
    return Verdict(context=text)


def follow_up(message: str) -> Verdict:
    """Continue instead of stopping, with this as the next message."""
    return Verdict(follow_up=message)


def set_env(**variables: str) -> Verdict:
    """Set variables for all later hooks of this conversation."""
    return Verdict(env=variables)


def replace_output(output: dict[str, Any]) -> Verdict:
    """Replace the output of the tool that the model reads."""
    return Verdict(replaced_output=output)


def run() -> None:
    """Answer the call on standard input with the handlers of this program, and exit."""
    from trotline.hook.process import answer_call  # noqa: PLC0415 - tests import handlers without running them

    sys.exit(answer_call(sys.argv[1:], HANDLERS, BACKGROUND_HANDLERS, guarded=False))
