"""The agents on this machine, their versions, and the files of their hooks."""

import re
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from trotline.agents import get_agent
from trotline.agents.agent import Agent
from trotline.config.install.hook_entries import HookFileTarget, find_agents, list_hook_files
from trotline.config.paths import Roots
from trotline.machine import copy_environment
from trotline.system.processes import StopReason, run_program

LAYERS = ("user", "project", "enterprise")
VERSION_TIMEOUT = 5
NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


class InstalledAgent(NamedTuple):
    """An agent on this machine. `version` is the output of `--version`, or empty."""

    agent: Agent
    version: str

    @property
    def number(self) -> str:
        """The version number in the output."""
        number = NUMBER.search(self.version)
        return number[0] if number else ""


def find_installed_agents(roots: Roots, named: Sequence[str] = ()) -> list[InstalledAgent]:
    """Return the named agents, or all that are found on this machine."""
    agents = [get_agent(name) for name in dict.fromkeys(named)] or [*find_agents(roots)]
    return [InstalledAgent(agent, read_version(agent, roots)) for agent in agents]


def list_layers(agent: Agent, roots: Roots, version: str) -> list[list[HookFileTarget]]:
    """Return the files of each layer. If the project is the home directory, its file belongs to the user layer."""
    layers = [layer for layer in LAYERS if agent.wiring is not None and layer in agent.wiring.files]
    targets = {
        layer_targets[0].file: layer_targets
        for layer_targets in (list_hook_files(agent, layer, roots, version) for layer in reversed(layers))
    }
    return sorted(targets.values(), key=lambda layer_targets: LAYERS.index(layer_targets[0].layer))


def read_version(agent: Agent, roots: Roots) -> str:
    """Run the agent with --version."""
    for program in agent.wiring.programs if agent.wiring else ():
        path = shutil.which(program, path=":".join(roots.search_path))
        if path is None:
            continue
        result = run_program([path, "--version"], env=copy_environment(), timeout=VERSION_TIMEOUT)
        if result.stopped is not StopReason.NONE:
            continue
        lines = result.stdout.decode("utf-8", "replace").strip().splitlines()
        return lines[0][:60] if lines else ""
    return ""
