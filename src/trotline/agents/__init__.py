"""One file per agent. No other code names an agent: its file and the table below are the only places."""

import functools
from importlib import import_module

from trotline.agents.agent import Agent
from trotline.domain.errors import UsageError

AGENTS: dict[str, str] = {
    "cursor": "trotline.agents.cursor.cursor",
    "claude-code": "trotline.agents.claude_code",
    "codex": "trotline.agents.codex",
    "gemini-cli": "trotline.agents.gemini_cli",
    "qwen-code": "trotline.agents.qwen_code",
    "copilot": "trotline.agents.copilot",
    "windsurf": "trotline.agents.windsurf",
    "factory-droid": "trotline.agents.factory_droid",
    "cline": "trotline.agents.cline",
    "opencode": "trotline.agents.opencode",
    "openhands": "trotline.agents.openhands",
    "generic": "trotline.agents.generic",
}

DEFAULT_AGENT = "generic"
"""The agent of a payload that is not recognised."""


@functools.cache
def get_agent(name: str) -> Agent:
    """Return an agent by name; its module is imported on first use."""
    if name not in AGENTS:
        raise UsageError(f"there is no agent `{name}`", hint=f"known: {', '.join(AGENTS)}")
    agent: Agent = import_module(AGENTS[name]).AGENT
    return agent
