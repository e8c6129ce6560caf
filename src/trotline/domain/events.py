"""The events that an agent raises, each with its contract.

Decoding, schemas and docs are derived from these classes. Only fields that an evaluation depends on are required.
"""

from typing import Any, ClassVar

import msgspec

from trotline.domain.contracts import Ask, Contract, Family, Subject, Surface
from trotline.domain.errors import UsageError
from trotline.domain.event_records import Attachment, Edit, ModelParam, TabEdit

IDE, CLI, PRINT, CLOUD, TAB = Surface

TOOL_NAME_SUBJECT = Subject(field="tool_name")
SUBAGENT_TYPE_SUBJECT = Subject(field="subagent_type")

PERMISSION = ("permission", "user_message", "agent_message")

ToolInput = dict[str, Any] | list[Any] | str
"""The arguments of a tool: normally an object; malformed arguments are kept as text."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of all events. `raw` holds the fields that this version of Trotline does not know, unchanged."""

    contract: ClassVar[Contract]

    conversation_id: str = ""
    generation_id: str = ""
    workspace_roots: tuple[str, ...] = ()
    model: str | None = None
    model_id: str | None = None
    model_params: tuple[ModelParam, ...] | None = None
    session_id: str | None = None
    cursor_version: str = ""
    user_email: str | None = None
    transcript_path: str | None = None
    raw: dict[str, Any] = {}

    @property
    def wire_name(self) -> str:
        """The name of the event in payloads and hook files, such as `beforeShellExecution`."""
        return self.contract.name

    @property
    def subject(self) -> str | None:
        """The text that matchers are applied to; None if the event has none."""
        subject = self.contract.subject
        return subject.word or (str(getattr(self, subject.field)) if subject.field else None)


class OtherEvent(Event, frozen=True, kw_only=True):
    """An event that this version does not know. It is kept unchanged and is never refused for being unknown."""

    contract = Contract(name="", when="unknown to this version", fires_on=())
    hook_event_name: str = ""

    @property
    def wire_name(self) -> str:
        return self.hook_event_name


class Usage(Event, frozen=True, kw_only=True):
    """Base of events that also report token counts. These fields were observed and are not documented."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class ToolEvent(Event, frozen=True, kw_only=True):
    """Base of the events that fire for every tool."""

    tool_name: str
    tool_input: ToolInput = {}
    tool_use_id: str = ""
    cwd: str = ""


class SessionStart(Event, frozen=True, kw_only=True):
    """The creation of a conversation."""

    contract = Contract(
        name="sessionStart",
        when="a new conversation is created",
        answers=("env", "additional_context", "continue", "user_message"),
        refusable=True,
        fires_on=(IDE, CLI, PRINT),
        unenforced_on=(IDE,),
    )
    is_background_agent: bool = False
    composer_mode: str | None = None


class SessionEnd(Event, frozen=True, kw_only=True):
    """The end of a conversation."""

    contract = Contract(
        name="sessionEnd",
        when="a conversation ends",
        fires_on=(IDE, PRINT),
        unverified_on=(CLI,),
    )
    reason: str = ""
    duration_ms: float = 0
    is_background_agent: bool = False
    final_status: str = ""
    error_message: str | None = None


class BeforeSubmitPrompt(Usage, frozen=True, kw_only=True):
    """A prompt before it is sent."""

    contract = Contract(
        name="beforeSubmitPrompt",
        when="the person pressed Send, before the request leaves",
        subject=Subject(word="UserPromptSubmit"),
        answers=("continue", "user_message", "additional_context"),
        refusable=True,
        fires_on=(IDE, CLI, CLOUD),
    )
    prompt: str
    attachments: tuple[Attachment, ...] = ()
    composer_mode: str | None = None


class PreToolUse(ToolEvent, frozen=True, kw_only=True):
    """A call of any tool before it runs."""

    contract = Contract(
        name="preToolUse",
        when="before any tool",
        subject=TOOL_NAME_SUBJECT,
        answers=(*PERMISSION, "updated_input", "additional_context"),
        refusable=True,
        gate=True,
        ask=Ask.UNHEARD,
        generic=True,
        pairs_with=("beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"),
    )
    agent_message: str | None = None


class PostToolUse(ToolEvent, frozen=True, kw_only=True):
    """A tool call that succeeded, with its output."""

    contract = Contract(
        name="postToolUse",
        when="after a tool succeeded",
        subject=TOOL_NAME_SUBJECT,
        answers=("additional_context", "updated_mcp_tool_output"),
        generic=True,
        pairs_with=("afterShellExecution", "afterMCPExecution", "afterFileEdit"),
    )
    tool_output: str = ""
    duration: float = 0


class PostToolUseFailure(ToolEvent, frozen=True, kw_only=True):
    """A tool call that failed, timed out or was denied."""

    contract = Contract(
        name="postToolUseFailure",
        when="a tool failed, timed out or was denied",
        subject=TOOL_NAME_SUBJECT,
        answers=("additional_context",),
        generic=True,
    )
    error_message: str = ""
    failure_type: str = ""
    duration: float = 0
    is_interrupt: bool = False


class BeforeShell(Event, frozen=True, kw_only=True):
    """A shell command before it runs."""

    contract = Contract(
        name="beforeShellExecution",
        when="before a shell command",
        subject=Subject(field="command"),
        answers=PERMISSION,
        refusable=True,
        gate=True,
        ask=Ask.ASKED,
    )
    command: str
    cwd: str = ""
    sandbox: bool | None = None
    timeout: float | None = None


class AfterShell(Event, frozen=True, kw_only=True):
    """A shell command that ran, with its output."""

    contract = Contract(
        name="afterShellExecution",
        when="after a shell command",
        subject=Subject(field="command"),
    )
    command: str
    output: str = ""
    duration: float = 0
    sandbox: bool | None = None
    cwd: str | None = None


class BeforeMCP(Event, frozen=True, kw_only=True):
    """A call of an MCP tool before it runs."""

    contract = Contract(
        name="beforeMCPExecution",
        when="before an MCP tool",
        subject=TOOL_NAME_SUBJECT,
        answers=PERMISSION,
        refusable=True,
        gate=True,
        ask=Ask.ASKED,
        fires_on=(IDE,),
        unverified_on=(CLI, PRINT),
    )
    tool_name: str
    tool_input: ToolInput = {}
    mcp_server_name: str | None = None
    mcp_server_url: str | None = None
    url: str | None = None
    command: str | None = None


class AfterMCP(Event, frozen=True, kw_only=True):
    """A call of an MCP tool that ran, with its result."""

    contract = Contract(
        name="afterMCPExecution",
        when="after an MCP tool",
        subject=TOOL_NAME_SUBJECT,
        fires_on=(IDE,),
        unverified_on=(CLI, PRINT),
    )
    tool_name: str
    tool_input: ToolInput = {}
    result_json: str = ""
    duration: float = 0
    mcp_server_name: str | None = None
    mcp_server_url: str | None = None


class BeforeReadFile(Event, frozen=True, kw_only=True):
    """A file before the agent reads it."""

    contract = Contract(
        name="beforeReadFile",
        when="before the agent reads a file",
        subject=Subject(word="Read"),
        answers=("permission", "user_message"),
        refusable=True,
        gate=True,
        ask=Ask.DENIED,
        fires_on=(IDE, PRINT, CLOUD),
        unverified_on=(CLI,),
    )
    file_path: str
    content: str = ""
    attachments: tuple[Attachment, ...] = ()


class AfterFileEdit(Event, frozen=True, kw_only=True):
    """A file that the agent edited."""

    contract = Contract(
        name="afterFileEdit",
        when="after the agent edited a file",
        subject=Subject(word="Write"),
        fires_on=(IDE, PRINT, CLOUD),
        unverified_on=(CLI,),
    )
    file_path: str
    edits: tuple[Edit, ...] = ()


class SubagentStart(Event, frozen=True, kw_only=True):
    """A sub-agent before it is started."""

    contract = Contract(
        name="subagentStart",
        when="before a sub-agent is started",
        subject=SUBAGENT_TYPE_SUBJECT,
        answers=("permission", "user_message"),
        refusable=True,
        gate=True,
        ask=Ask.DENIED,
        fires_on=(IDE, CLOUD),
        unverified_on=(CLI,),
    )
    subagent_type: str
    subagent_id: str = ""
    task: str = ""
    parent_conversation_id: str = ""
    tool_call_id: str = ""
    subagent_model: str = ""
    is_parallel_worker: bool = False
    git_branch: str | None = None


class SubagentStop(Event, frozen=True, kw_only=True):
    """A sub-agent that completed, failed or was aborted."""

    contract = Contract(
        name="subagentStop",
        when="a sub-agent completed, failed or was aborted",
        subject=SUBAGENT_TYPE_SUBJECT,
        answers=("followup_message",),
        fires_on=(IDE, CLOUD),
        unverified_on=(CLI,),
    )
    subagent_type: str
    subagent_id: str | None = None
    parent_conversation_id: str | None = None
    status: str = ""
    task: str = ""
    description: str | None = None
    summary: str | None = None
    duration_ms: float = 0
    message_count: int = 0
    tool_call_count: int = 0
    loop_count: int = 0
    modified_files: tuple[str, ...] = ()
    agent_transcript_path: str | None = None


class PreCompact(Event, frozen=True, kw_only=True):
    """The context of a conversation before it is compacted."""

    contract = Contract(
        name="preCompact",
        when="before the context is compacted",
        answers=("user_message",),
        fires_on=(IDE, CLOUD),
        unverified_on=(CLI, PRINT),
    )
    trigger: str = ""
    context_usage_percent: float = 0
    context_tokens: int = 0
    context_window_size: int = 0
    message_count: int = 0
    messages_to_compact: int = 0
    is_first_compaction: bool = False


class AfterAgentResponse(Usage, frozen=True, kw_only=True):
    """A complete message of the assistant."""

    contract = Contract(
        name="afterAgentResponse",
        when="the assistant finished a message",
        subject=Subject(word="AgentResponse"),
        fires_on=(IDE, CLI, CLOUD),
    )
    text: str = ""


class AfterAgentThought(Event, frozen=True, kw_only=True):
    """A complete thinking block of the assistant."""

    contract = Contract(
        name="afterAgentThought",
        when="the assistant finished a thinking block",
        subject=Subject(word="AgentThought"),
        fires_on=(IDE, CLI, CLOUD),
        unverified_on=(PRINT,),
    )
    text: str = ""
    duration_ms: float | None = None


class Stop(Usage, frozen=True, kw_only=True):
    """The end of the agent's loop."""

    contract = Contract(
        name="stop",
        when="the agent's loop ended",
        subject=Subject(word="Stop"),
        answers=("followup_message",),
        fires_on=(IDE, CLI, CLOUD),
    )
    status: str = ""
    loop_count: int = 0


class BeforeTabFileRead(Event, frozen=True, kw_only=True):
    """A file before Tab completion reads it."""

    contract = Contract(
        name="beforeTabFileRead",
        family=Family.TAB,
        when="before Tab completion reads a file",
        subject=Subject(word="TabRead"),
        answers=("permission",),
        refusable=True,
        gate=True,
        ask=Ask.DENIED,
        fires_on=(IDE, TAB),
    )
    file_path: str
    content: str = ""


class AfterTabFileEdit(Event, frozen=True, kw_only=True):
    """A file that Tab completion edited."""

    contract = Contract(
        name="afterTabFileEdit",
        family=Family.TAB,
        when="after Tab completion edited a file",
        subject=Subject(word="TabWrite"),
        fires_on=(IDE, TAB),
    )
    file_path: str
    edits: tuple[TabEdit, ...] = ()


class WorkspaceOpen(Event, frozen=True, kw_only=True):
    """A workspace that was opened, or whose folders changed."""

    contract = Contract(
        name="workspaceOpen",
        family=Family.APP,
        when="a workspace opens, and when its folders change",
        answers=("pluginPaths",),
        fires_on=(IDE, CLI),
        unverified_on=(PRINT,),
    )


EVENTS: dict[str, type[Event]] = {
    cls.contract.name: cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, Event) and "contract" in vars(cls) and cls is not OtherEvent
}
"""All declared events by their name in payloads."""

NULLABLE = frozenset({"user_email", "transcript_path", "agent_transcript_path"})
"""Fields that are sent as null when empty. Other empty optional fields are omitted."""


def get_event_class(name: str) -> type[Event]:
    """Return the class of an event by its name in payloads; raise an error with the nearest name if there is none."""
    if name not in EVENTS:
        from difflib import get_close_matches  # noqa: PLC0415 - only for a wrong name

        spellings = {event.lower(): event for event in EVENTS}
        near = get_close_matches(name.lower(), spellings, n=1)
        hint = f"did you mean `{spellings[near[0]]}`?" if near else "`trotline events` lists them"
        raise UsageError(f"there is no event `{name}`", hint=hint)
    return EVENTS[name]
