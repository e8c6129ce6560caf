"""For people who test hooks, and for people who test engines: an agent that is not there, payloads, and the corpus.

The pytest plugin is loaded by pytest itself; `agent` is its fixture. Names are loaded when they are first used, because
pytest imports this package in every run.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trotline.testing.agent import Agent as Agent
    from trotline.testing.agent import HookFailed as HookFailed
    from trotline.testing.payloads import payload as payload

PUBLIC = {
    "Agent": "trotline.testing.agent",
    "HookFailed": "trotline.testing.agent",
    "payload": "trotline.testing.payloads",
}

__all__ = ["Agent", "HookFailed", "payload"]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module `trotline.testing` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - see above

    return getattr(import_module(PUBLIC[name]), name)
