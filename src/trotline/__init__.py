"""Trotline: hooks for coding agents. These are the public names; each is loaded when it is first used."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from trotline.assemble import Engine as Engine
    from trotline.domain.errors import TrotlineError as TrotlineError
    from trotline.domain.event_records import Attachment as Attachment
    from trotline.domain.event_records import Edit as Edit
    from trotline.domain.event_records import TabEdit as TabEdit
    from trotline.domain.events import AfterAgentResponse as AfterAgentResponse
    from trotline.domain.events import AfterAgentThought as AfterAgentThought
    from trotline.domain.events import AfterFileEdit as AfterFileEdit
    from trotline.domain.events import AfterMCP as AfterMCP
    from trotline.domain.events import AfterShell as AfterShell
    from trotline.domain.events import AfterTabFileEdit as AfterTabFileEdit
    from trotline.domain.events import BeforeMCP as BeforeMCP
    from trotline.domain.events import BeforeReadFile as BeforeReadFile
    from trotline.domain.events import BeforeShell as BeforeShell
    from trotline.domain.events import BeforeSubmitPrompt as BeforeSubmitPrompt
    from trotline.domain.events import BeforeTabFileRead as BeforeTabFileRead
    from trotline.domain.events import Event as Event
    from trotline.domain.events import PostToolUse as PostToolUse
    from trotline.domain.events import PostToolUseFailure as PostToolUseFailure
    from trotline.domain.events import PreCompact as PreCompact
    from trotline.domain.events import PreToolUse as PreToolUse
    from trotline.domain.events import SessionEnd as SessionEnd
    from trotline.domain.events import SessionStart as SessionStart
    from trotline.domain.events import Stop as Stop
    from trotline.domain.events import SubagentStart as SubagentStart
    from trotline.domain.events import SubagentStop as SubagentStop
    from trotline.domain.events import WorkspaceOpen as WorkspaceOpen
    from trotline.domain.outcomes import Outcome as Outcome
    from trotline.domain.verdicts import Permission as Permission
    from trotline.domain.verdicts import Verdict as Verdict
    from trotline.engine.dispatch import Options as Options
    from trotline.engine.session import AsyncSession as AsyncSession
    from trotline.engine.session import Session as Session
    from trotline.hook.sdk import add_context as add_context
    from trotline.hook.sdk import allow as allow
    from trotline.hook.sdk import ask as ask
    from trotline.hook.sdk import deny as deny
    from trotline.hook.sdk import edit as edit
    from trotline.hook.sdk import follow_up as follow_up
    from trotline.hook.sdk import on as on
    from trotline.hook.sdk import replace_output as replace_output
    from trotline.hook.sdk import run as run
    from trotline.hook.sdk import set_env as set_env

PUBLIC = {
    "AfterAgentResponse": "trotline.domain.events",
    "AfterAgentThought": "trotline.domain.events",
    "AfterFileEdit": "trotline.domain.events",
    "AfterMCP": "trotline.domain.events",
    "AfterShell": "trotline.domain.events",
    "AfterTabFileEdit": "trotline.domain.events",
    "AsyncSession": "trotline.engine.session",
    "Attachment": "trotline.domain.event_records",
    "BeforeMCP": "trotline.domain.events",
    "BeforeReadFile": "trotline.domain.events",
    "BeforeShell": "trotline.domain.events",
    "BeforeSubmitPrompt": "trotline.domain.events",
    "BeforeTabFileRead": "trotline.domain.events",
    "Edit": "trotline.domain.event_records",
    "Engine": "trotline.assemble",
    "Event": "trotline.domain.events",
    "Options": "trotline.engine.dispatch",
    "Outcome": "trotline.domain.outcomes",
    "Permission": "trotline.domain.verdicts",
    "PostToolUse": "trotline.domain.events",
    "PostToolUseFailure": "trotline.domain.events",
    "PreCompact": "trotline.domain.events",
    "PreToolUse": "trotline.domain.events",
    "Session": "trotline.engine.session",
    "SessionEnd": "trotline.domain.events",
    "SessionStart": "trotline.domain.events",
    "Stop": "trotline.domain.events",
    "SubagentStart": "trotline.domain.events",
    "SubagentStop": "trotline.domain.events",
    "TabEdit": "trotline.domain.event_records",
    "TrotlineError": "trotline.domain.errors",
    "Verdict": "trotline.domain.verdicts",
    "WorkspaceOpen": "trotline.domain.events",
    "add_context": "trotline.hook.sdk",
    "allow": "trotline.hook.sdk",
    "ask": "trotline.hook.sdk",
    "deny": "trotline.hook.sdk",
    "edit": "trotline.hook.sdk",
    "follow_up": "trotline.hook.sdk",
    "on": "trotline.hook.sdk",
    "replace_output": "trotline.hook.sdk",
    "run": "trotline.hook.sdk",
    "set_env": "trotline.hook.sdk",
}

__all__ = [
    "AfterAgentResponse",
    "AfterAgentThought",
    "AfterFileEdit",
    "AfterMCP",
    "AfterShell",
    "AfterTabFileEdit",
    "AsyncSession",
    "Attachment",
    "BeforeMCP",
    "BeforeReadFile",
    "BeforeShell",
    "BeforeSubmitPrompt",
    "BeforeTabFileRead",
    "Edit",
    "Engine",
    "Event",
    "Options",
    "Outcome",
    "Permission",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "Session",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "TabEdit",
    "TrotlineError",
    "Verdict",
    "WorkspaceOpen",
    "add_context",
    "allow",
    "ask",
    "deny",
    "edit",
    "follow_up",
    "on",
    "replace_output",
    "run",
    "set_env",
]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module `trotline` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - the version alone needs nothing of this

    return getattr(import_module(PUBLIC[name]), name)
