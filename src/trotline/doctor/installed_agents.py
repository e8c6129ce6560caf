"""The agents on this machine, their versions, and the files of their hooks."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from trotline.agents import get_agent
from trotline.agents.agent import Agent
from trotline.config.install.hook_entries import Wired, build_entries, find_agents
from trotline.config.paths import Roots

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


def list_layers(agent: Agent, roots: Roots, version: str) -> list[list[Wired]]:
    """Return the files of each layer. If the project is the home directory, its file belongs to the user layer."""
    layers = [layer for layer in LAYERS if agent.wiring is not None and layer in agent.wiring.files]
    wires = {one[0].file: one for one in (build_entries(agent, layer, roots, version) for layer in reversed(layers))}
    return sorted(wires.values(), key=lambda one: LAYERS.index(one[0].layer))


def read_version(agent: Agent, roots: Roots) -> str:
    """Run the agent with --version."""
    for program in agent.wiring.programs if agent.wiring else ():
        path = shutil.which(program, path=":".join(roots.search_path))
        if path is None:
            continue
        try:
            done = subprocess.run(  # noqa: S603 - a program of the person's own
                [path, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VERSION_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = done.stdout.strip().splitlines()
        return lines[0][:60] if lines else ""
    return ""
