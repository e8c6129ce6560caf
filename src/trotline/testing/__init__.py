"""Tools for tests of hooks and engines: a fake agent, sample payloads, and the conformance corpus.

pytest loads the plugin, whose fixture is `agent`. Names are imported on first use, because pytest imports this package
in every run.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trotline.testing.fake_agent import FakeAgent as FakeAgent
    from trotline.testing.fake_agent import HookFailed as HookFailed
    from trotline.testing.sample_payloads import build_payload as build_payload

PUBLIC_NAMES = {
    "FakeAgent": "trotline.testing.fake_agent",
    "HookFailed": "trotline.testing.fake_agent",
    "build_payload": "trotline.testing.sample_payloads",
}

__all__ = ["FakeAgent", "HookFailed", "build_payload"]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC_NAMES:
        raise AttributeError(f"module `trotline.testing` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - see above

    return getattr(import_module(PUBLIC_NAMES[name]), name)
