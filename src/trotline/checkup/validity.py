"""Whether an agent can load its file at all: what stands in one that it cannot load protects nobody."""

import shlex
from pathlib import Path

from trotline.config.configuration import read_layers
from trotline.config.edit import Shape, Terms, removed
from trotline.config.files import TooLargeError, content, unreadable
from trotline.config.layers import find_layers
from trotline.config.own_file import own_problems
from trotline.config.places import Roots
from trotline.config.problems import Problem, Severity
from trotline.config.wires import Wired
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.service.line import is_ours


def problems_of(wire: Wired, roots: Roots) -> list[Problem]:
    """All that `trotline check` knows about a file that Cursor reads; of others, what any reader sees."""
    chosen = edition(NEWEST)
    layer = next((layer for layer in find_layers(roots, chosen) if Path(layer.file) == wire.file), None)
    if layer is not None:
        return [problem for one in read_layers([layer], roots, chosen).layers for problem in one.problems]
    try:
        data, _ = content(wire.file)
    except FileNotFoundError:
        return []
    except TooLargeError as error:
        return [unreadable(wire.file, error)]
    if wire.wiring.own:
        return [*own_problems(wire.file, data, wire.wiring.taken)]
    shape = Shape.GROUPED if wire.wiring.grouped else Shape.FLAT
    return [*removed(data, Terms(shape, is_ours, file=str(wire.file))).problems]


def void_because(wire: Wired, roots: Roots) -> list[Problem]:
    """What keeps the agent from loading anything of it."""
    return [problem for problem in problems_of(wire, roots) if problem.severity is Severity.VOID]


def check_command(file: str | Path) -> str:
    """The command that shows what is wrong with a file."""
    return f"trotline check {shlex.quote(str(file))}"
