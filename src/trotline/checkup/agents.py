"""The agents on this machine: which, in which version, and the files in which their hooks are."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from trotline.config.places import Roots
from trotline.config.wires import Wired, found, wired
from trotline.hosts import host_named
from trotline.hosts.host import Host

LAYERS = ("user", "project", "enterprise")
PATIENCE = 5
NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


class Agent(NamedTuple):
    """A host that is here. `version` is what it says of itself; empty when it says nothing."""

    host: Host
    version: str

    @property
    def number(self) -> str:
        """The version without the words around it."""
        number = NUMBER.search(self.version)
        return number[0] if number else ""


def agents(roots: Roots, named: Sequence[str] = ()) -> list[Agent]:
    """Those that are named, or those that are found here."""
    hosts = [host_named(name) for name in dict.fromkeys(named)] or [*found(roots)]
    return [Agent(host, version_of(host, roots)) for host in hosts]


def wires_of(host: Host, roots: Roots, version: str) -> list[list[Wired]]:
    """Its files, layer by layer; where the project is the home, its file is the person's own."""
    layers = [layer for layer in LAYERS if host.wiring is not None and layer in host.wiring.files]
    wires = {one[0].file: one for one in (wired(host, layer, roots, version) for layer in reversed(layers))}
    return sorted(wires.values(), key=lambda one: LAYERS.index(one[0].layer))


def version_of(host: Host, roots: Roots) -> str:
    for program in host.wiring.programs if host.wiring else ():
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
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = done.stdout.strip().splitlines()
        return lines[0][:60] if lines else ""
    return ""
