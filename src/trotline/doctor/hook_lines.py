"""Our lines in the files of agents: write them, find them, compare them, and decide which of them may be run."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.config.hooks_json.configuration import read_layers
from trotline.config.hooks_json.layers import find_layers
from trotline.config.install.edit import EditTerms, Shape, remove_entries
from trotline.config.install.hook_entries import Line, Wired, entries, installation, read_hook_lines
from trotline.config.install.installation import Installed
from trotline.config.install.plugin_file import find_owner_problems
from trotline.config.paths import Roots
from trotline.config.problems import Problem, Severity, build_read_problem
from trotline.machine import find_roots, read_clock
from trotline.service.bytecode import keep_bytecode
from trotline.service.line import build_hook_line, is_hook_line, list_programs
from trotline.system.files import TooLargeError, read_file


class InstalledLine(NamedTuple):
    """A line of ours in a file of an agent."""

    wire: Wired
    event: str
    command: str


def build_line(wire: Wired, roots: Roots) -> Line:
    """Return a function that builds the current line for an event of this agent."""
    moved = roots.home if roots.home != find_roots().home else None
    return lambda event: build_hook_line(wire.agent.name, event, home=moved, timeout=wire.wiring.seconds)


def install_lines(wires: Sequence[Wired], roots: Roots, *, fail_closed: bool, dry_run: bool) -> list[Installed]:
    """Write our lines into these files, and compile our code for the calls."""
    if not dry_run:
        keep_bytecode()
    return [_install(wire, roots, fail_closed=fail_closed, dry_run=dry_run) for wire in wires]


def _install(wire: Wired, roots: Roots, *, fail_closed: bool, dry_run: bool) -> Installed:
    """Write exactly the current entries; add the problems that keep the agent from loading the file."""
    line = build_line(wire, roots)
    wanted = entries(wire, line, fail_closed=fail_closed)
    done = installation(wire, roots, is_hook_line, line).install(wanted, read_clock(), dry_run=dry_run)
    known = {problem.code for problem in done.problems}
    fatal = [problem for problem in find_fatal_problems(wire, roots) if problem.code not in known]
    return done._replace(problems=(*done.problems, *fatal))


class HookLineState(NamedTuple):
    """The state of our lines: whether they are current, and whether they fail closed."""

    current: bool
    closed: bool


def compare_lines(wires: Sequence[Wired], roots: Roots) -> HookLineState:
    """Compare the files with what would be written now."""
    for closed in (False, True):
        if all(_is_current(wire, roots, fail_closed=closed) for wire in wires):
            return HookLineState(current=True, closed=closed)
    return HookLineState(current=False, closed=False)


def _is_current(wire: Wired, roots: Roots, *, fail_closed: bool = False) -> bool:
    line = build_line(wire, roots)
    return installation(wire, roots, is_hook_line, line).is_done(entries(wire, line, fail_closed=fail_closed))


def find_our_lines(wires: Sequence[Wired]) -> list[InstalledLine]:
    """Return every line of ours in these files."""
    lines = [InstalledLine(wire, event, command) for wire in wires for event, command in read_hook_lines(wire)]
    return [line for line in lines if line.wire.wiring.own or is_hook_line(line.command)]


def may_run(line: InstalledLine, roots: Roots) -> bool:
    """Return whether a check may run this line.

    A project file can contain a line that only looks like ours. So from a project only exactly the current line is run,
    or exactly the current program; from files of the person every line is.
    """
    if line.wire.layer != "project":
        return True
    if line.wire.wiring.own:
        return _is_current(line.wire, roots)
    return line.command == build_line(line.wire, roots)(line.event)


def find_programs(line: InstalledLine, roots: Roots) -> list[Path]:
    """Return the files that a line starts or reads; nothing for an older program of ours, where they are unknown."""
    is_program = line.wire.wiring.own and not line.wire.wiring.plugin
    if not is_program:
        return list_programs(line.command)
    return list_programs(build_line(line.wire, roots)(line.event)) if _is_current(line.wire, roots) else []


def find_problems(wire: Wired, roots: Roots) -> list[Problem]:
    """Return the problems of a file of an agent: for Cursor all of `trotline check`, else those of its syntax."""
    chosen = get_edition(NEWEST_EDITION)
    layer = next((layer for layer in find_layers(roots, chosen) if Path(layer.file) == wire.file), None)
    if layer is not None:
        return [problem for read in read_layers([layer], roots, chosen).layers for problem in read.problems]
    try:
        data = read_file(wire.file)
    except FileNotFoundError:
        return []
    except TooLargeError as error:
        return [build_read_problem(wire.file, error)]
    if wire.wiring.own:
        return [*find_owner_problems(wire.file, data, wire.wiring.taken)]
    shape = Shape.GROUPED if wire.wiring.grouped else Shape.FLAT
    return [*remove_entries(data, EditTerms(shape, is_hook_line, file=str(wire.file))).problems]


def find_fatal_problems(wire: Wired, roots: Roots) -> list[Problem]:
    """Return the problems that keep the agent from loading the file."""
    return [problem for problem in find_problems(wire, roots) if problem.severity is Severity.FATAL]


def format_check_command(file: str | Path) -> str:
    """Return the command that shows the problems of a file."""
    return f"trotline check {shlex.quote(str(file))}"
