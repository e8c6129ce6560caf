"""A function becomes a hook program: `@on.before_shell`, `deny(...)`, `run()`; the same file under every host.

Handlers are plain functions, sync or async, and can be called and tested as such. What they print goes to standard
error, because standard output belongs to the answer.
"""

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

from trotline import events
from trotline.engine.functions import Function, Judged
from trotline.events import Event
from trotline.hooks import Matcher
from trotline.verdicts import Permission, Verdict

E = TypeVar("E", bound=Event)
Handler = Callable[[E], Any]
"""Gives a Verdict, or None for no opinion; async ones give it later."""

HANDLERS: list[Function] = []
LATER: list[Function] = []
"""Handlers whose work begins when the answer is out; nobody hears what they say."""


class When(Generic[E]):
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
                function = Function(
                    name=getattr(call, "__qualname__", repr(call)),
                    event=event,
                    call=cast("Judged", call),
                    matcher=Matcher(matching) if matching else None,
                    fail_closed=fail_closed,
                )
                (LATER if background else HANDLERS).append(function)
            return call

        return register if handler is None else register(handler)


class On:
    """One decorator for each event, and for families of them."""

    session_start = When(events.SessionStart)
    session_end = When(events.SessionEnd)
    before_submit_prompt = When(events.BeforeSubmitPrompt)
    pre_tool_use = When(events.PreToolUse)
    post_tool_use = When(events.PostToolUse)
    post_tool_use_failure = When(events.PostToolUseFailure)
    before_shell = When(events.BeforeShell)
    after_shell = When(events.AfterShell)
    before_mcp = When(events.BeforeMCP)
    after_mcp = When(events.AfterMCP)
    before_read_file = When(events.BeforeReadFile)
    after_file_edit = When(events.AfterFileEdit)
    subagent_start = When(events.SubagentStart)
    subagent_stop = When(events.SubagentStop)
    pre_compact = When(events.PreCompact)
    after_agent_response = When(events.AfterAgentResponse)
    after_agent_thought = When(events.AfterAgentThought)
    stop = When(events.Stop)
    before_tab_file_read = When(events.BeforeTabFileRead)
    after_tab_file_edit = When(events.AfterTabFileEdit)
    workspace_open = When(events.WorkspaceOpen)

    tool = When(events.PreToolUse)
    file_read = When[events.BeforeReadFile | events.BeforeTabFileRead](events.BeforeReadFile, events.BeforeTabFileRead)
    mcp = When[events.BeforeMCP | events.AfterMCP](events.BeforeMCP, events.AfterMCP)


on = On()


def allow(reason: str = "") -> Verdict:
    """Let it happen, without asking anybody else; silence leaves that to others."""
    return Verdict(permission=Permission.ALLOW, user_message=reason)


def ask(reason: str, *, to_agent: str = "") -> Verdict:
    """Let a person decide; where the host cannot ask, it is refused."""
    return Verdict(permission=Permission.ASK, user_message=reason, agent_message=to_agent)


def deny(reason: str, *, to_agent: str = "") -> Verdict:
    """Refuse it; the model may be told something else than the person."""
    return Verdict(permission=Permission.DENY, user_message=reason, agent_message=to_agent or reason)


def edit(tool_input: dict[str, Any], *, reason: str = "") -> Verdict:
    """Let it happen with this input instead."""
    return Verdict(edited_input=tool_input, user_message=reason)


def add_context(text: str) -> Verdict:
    """Something for the model to know."""
    return Verdict(context=text)


def follow_up(message: str) -> Verdict:
    """Do not stop yet: this is the next message."""
    return Verdict(follow_up=message)


def set_env(**variables: str) -> Verdict:
    """Variables for every later hook of this conversation."""
    return Verdict(env=variables)


def replace_output(output: dict[str, Any]) -> Verdict:
    """What the model reads instead of what the tool gave."""
    return Verdict(replaced_output=output)


def run() -> None:
    """Answer the call on standard input with the handlers of this program, and end."""
    from trotline.program import answer_call  # noqa: PLC0415 - a test imports handlers, and answers nobody

    sys.exit(answer_call(sys.argv[1:], HANDLERS, LATER, guarded=False))
