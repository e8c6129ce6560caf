"""A conversation of an agent: one method per event, with the fields that all of them share already filled in.

The session is also the conversation's memory: what sessionStart set reaches later hooks, and follow-ups are counted.
"""

import os
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from trotline import events
from trotline.events import Event
from trotline.ids import uuid7
from trotline.outcomes import Outcome
from trotline.parts import Attachment, Edit, TabEdit, Tokens

if TYPE_CHECKING:
    from trotline.assemble import Engine


class Session:
    """The sync face of a conversation. `start` is the Outcome of sessionStart; a refused session still can be ended."""

    def __init__(self, engine: "Engine", shared: dict[str, Any], *, background: bool, parent: str = "") -> None:
        self.engine = engine
        self.shared = shared
        self.background = background
        self.parent = parent
        self.start: Outcome | None = None
        self._began = engine.clock()

    @classmethod
    def of(
        cls,
        engine: "Engine",
        *,
        conversation_id: str,
        background: bool,
        **shared: str | None,
    ) -> "Session":
        """A conversation that has not begun; without an id it gets one."""
        conversation = conversation_id or _new_id(engine)
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
        return str(self.shared["conversation_id"])

    @property
    def refused(self) -> bool:
        """Whether a hook refused that this conversation begins."""
        return self.start is not None and self.start.denied

    def _raise(self, cls: type[Event], **fields: Any) -> Outcome:
        return self.engine.dispatch(cls(**self.shared, **fields))

    def begin(self) -> None:
        self.start = self._raise(events.SessionStart, is_background_agent=self.background)

    def end(self, reason: str = "completed", error_message: str | None = None) -> Outcome:
        return self._raise(
            events.SessionEnd,
            reason=reason,
            duration_ms=(self.engine.clock() - self._began) / 1000,
            is_background_agent=self.background,
            final_status=reason,
            error_message=error_message,
        )

    def before_submit_prompt(
        self, prompt: str, attachments: Iterable[Attachment] = (), *, tokens: Tokens | None = None
    ) -> Outcome:
        """A message of the person; it begins a new generation."""
        self.shared["generation_id"] = _new_id(self.engine)
        return self._raise(events.BeforeSubmitPrompt, prompt=prompt, attachments=tuple(attachments), **_fields(tokens))

    def pre_tool_use(
        self, tool_name: str, tool_input: dict[str, Any], *, tool_use_id: str = "", cwd: str = ""
    ) -> Outcome:
        return self._raise(
            events.PreToolUse, tool_name=tool_name, tool_input=tool_input, tool_use_id=tool_use_id, cwd=cwd
        )

    def post_tool_use(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_output: str,
        *,
        tool_use_id: str = "",
        cwd: str = "",
        duration: float = 0,
    ) -> Outcome:
        return self._raise(
            events.PostToolUse,
            tool_name=tool_name,
            tool_input=tool_input,
            tool_output=tool_output,
            tool_use_id=tool_use_id,
            cwd=cwd,
            duration=duration,
        )

    def post_tool_use_failure(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        error_message: str,
        *,
        failure_type: str = "error",
        tool_use_id: str = "",
        cwd: str = "",
        duration: float = 0,
        is_interrupt: bool = False,
    ) -> Outcome:
        return self._raise(
            events.PostToolUseFailure,
            tool_name=tool_name,
            tool_input=tool_input,
            error_message=error_message,
            failure_type=failure_type,
            tool_use_id=tool_use_id,
            cwd=cwd,
            duration=duration,
            is_interrupt=is_interrupt,
        )

    def before_shell(self, command: str, *, cwd: str = "", sandbox: bool | None = None) -> Outcome:
        return self._raise(events.BeforeShell, command=command, cwd=cwd, sandbox=sandbox)

    def after_shell(self, command: str, output: str, *, duration: float = 0, sandbox: bool | None = None) -> Outcome:
        return self._raise(events.AfterShell, command=command, output=output, duration=duration, sandbox=sandbox)

    def before_mcp(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        *,
        server: str | None = None,
        url: str | None = None,
        command: str | None = None,
    ) -> Outcome:
        """A server has an address or, on standard input and output, the command that starts it."""
        return self._raise(
            events.BeforeMCP,
            tool_name=tool_name,
            tool_input=tool_input,
            mcp_server_name=server,
            mcp_server_url=url,
            url=url,
            command=command,
        )

    def after_mcp(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        result_json: str,
        *,
        server: str | None = None,
        url: str | None = None,
        duration: float = 0,
    ) -> Outcome:
        return self._raise(
            events.AfterMCP,
            tool_name=tool_name,
            tool_input=tool_input,
            result_json=result_json,
            mcp_server_name=server,
            mcp_server_url=url,
            duration=duration,
        )

    def before_read_file(self, file_path: str, content: str = "", attachments: Iterable[Attachment] = ()) -> Outcome:
        return self._raise(events.BeforeReadFile, file_path=file_path, content=content, attachments=tuple(attachments))

    def after_file_edit(self, file_path: str, edits: Iterable[Edit] = ()) -> Outcome:
        return self._raise(events.AfterFileEdit, file_path=file_path, edits=tuple(edits))

    def pre_compact(
        self,
        *,
        trigger: str = "auto",
        context_usage_percent: float = 0,
        context_tokens: int = 0,
        context_window_size: int = 0,
        message_count: int = 0,
        messages_to_compact: int = 0,
        is_first_compaction: bool = False,
    ) -> Outcome:
        return self._raise(
            events.PreCompact,
            trigger=trigger,
            context_usage_percent=context_usage_percent,
            context_tokens=context_tokens,
            context_window_size=context_window_size,
            message_count=message_count,
            messages_to_compact=messages_to_compact,
            is_first_compaction=is_first_compaction,
        )

    def after_agent_response(self, text: str, *, tokens: Tokens | None = None) -> Outcome:
        return self._raise(events.AfterAgentResponse, text=text, **_fields(tokens))

    def after_agent_thought(self, text: str, *, duration_ms: float | None = None) -> Outcome:
        return self._raise(events.AfterAgentThought, text=text, duration_ms=duration_ms)

    def stop(self, status: str = "completed", *, tokens: Tokens | None = None) -> Outcome:
        """The loop ended. A follow-up in the Outcome is the next message to the agent."""
        return self._raise(events.Stop, status=status, **_fields(tokens))

    def before_tab_file_read(self, file_path: str, content: str = "") -> Outcome:
        return self._raise(events.BeforeTabFileRead, file_path=file_path, content=content)

    def after_tab_file_edit(self, file_path: str, edits: Iterable[TabEdit] = ()) -> Outcome:
        return self._raise(events.AfterTabFileEdit, file_path=file_path, edits=tuple(edits))

    def workspace_open(self) -> Outcome:
        """Belongs to no conversation; a hook is told the folders and the person, and no more."""
        kept = {name: self.shared[name] for name in ("workspace_roots", "user_email") if name in self.shared}
        return self.engine.dispatch(events.WorkspaceOpen(**kept))

    def subagent(self, subagent_type: str, task: str = "", *, model: str = "", call_id: str = "") -> "SubSession":
        """A sub-agent's session, which knows its parent; `refused` says that it may not run."""
        return SubSession(self, subagent_type, task, model=model, call_id=call_id)


class SubSession(Session):
    """A sub-agent: begins with subagentStart, ends with subagentStop. What it did is told by setting its attributes."""

    def __init__(self, parent: Session, subagent_type: str, task: str, *, model: str, call_id: str) -> None:
        super().__init__(parent.engine, dict(parent.shared), background=True, parent=parent.conversation_id)
        self.subagent_id = _new_id(parent.engine)
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
        self.start = self._raise(
            events.SubagentStart,
            subagent_id=self.subagent_id,
            subagent_type=self.subagent_type,
            task=self.task,
            parent_conversation_id=self.parent,
            tool_call_id=self.call_id,
            subagent_model=self.subagent_model,
        )

    def end(self, reason: str = "completed", error_message: str | None = None) -> Outcome:
        """Its Outcome, kept as `finish`, may hold a follow-up for the sub-agent."""
        self.finish = self._raise(
            events.SubagentStop,
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
            duration_ms=(self.engine.clock() - self._began) / 1000,
        )
        return self.finish

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.refused:
            self.end("error" if kind else "completed", str(error) if error else None)


def _fields(tokens: Tokens | None) -> dict[str, int]:
    return msgspec.structs.asdict(tokens) if tokens else {}


def _new_id(engine: "Engine") -> str:
    return uuid7(engine.clock(), os.urandom(10))
