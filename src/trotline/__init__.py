"""Trotline: hooks for coding agents. These names are the public ones; each is loaded when it is first used."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from trotline.assemble import Engine as Engine
    from trotline.awaited import AsyncSession as AsyncSession
    from trotline.engine.engine import Options as Options
    from trotline.errors import TrotlineError as TrotlineError
    from trotline.events import Event as Event
    from trotline.outcomes import Outcome as Outcome
    from trotline.parts import Attachment as Attachment
    from trotline.parts import Edit as Edit
    from trotline.parts import TabEdit as TabEdit
    from trotline.parts import Tokens as Tokens
    from trotline.sdk import add_context as add_context
    from trotline.sdk import allow as allow
    from trotline.sdk import ask as ask
    from trotline.sdk import deny as deny
    from trotline.sdk import edit as edit
    from trotline.sdk import follow_up as follow_up
    from trotline.sdk import on as on
    from trotline.sdk import replace_output as replace_output
    from trotline.sdk import run as run
    from trotline.sdk import set_env as set_env
    from trotline.session import Session as Session
    from trotline.verdicts import Permission as Permission
    from trotline.verdicts import Verdict as Verdict

PUBLIC = {
    "AsyncSession": "trotline.awaited",
    "Attachment": "trotline.parts",
    "Edit": "trotline.parts",
    "Engine": "trotline.assemble",
    "Event": "trotline.events",
    "Options": "trotline.engine.engine",
    "Outcome": "trotline.outcomes",
    "Permission": "trotline.verdicts",
    "Session": "trotline.session",
    "TabEdit": "trotline.parts",
    "Tokens": "trotline.parts",
    "TrotlineError": "trotline.errors",
    "Verdict": "trotline.verdicts",
    "add_context": "trotline.sdk",
    "allow": "trotline.sdk",
    "ask": "trotline.sdk",
    "deny": "trotline.sdk",
    "edit": "trotline.sdk",
    "follow_up": "trotline.sdk",
    "on": "trotline.sdk",
    "replace_output": "trotline.sdk",
    "run": "trotline.sdk",
    "set_env": "trotline.sdk",
}

__all__ = [
    "AsyncSession",
    "Attachment",
    "Edit",
    "Engine",
    "Event",
    "Options",
    "Outcome",
    "Permission",
    "Session",
    "TabEdit",
    "Tokens",
    "TrotlineError",
    "Verdict",
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
