"""Our lines in the files of agents: write them, find them, compare them, and decide which of them may be run."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.config.hooks_json.configuration import read_layers
from trotline.config.hooks_json.layers import find_layers
from trotline.config.install.edit import EditTerms, Shape, remove_entries
from trotline.config.install.hook_entries import (
    HookFileTarget,
    Line,
    build_entries,
    build_installation,
    read_hook_lines,
)
from trotline.config.install.installation import FileResult
from trotline.config.install.plugin_file import find_owner_problems
from trotline.config.paths import Roots
from trotline.config.problems import Problem, Severity, build_read_problem
from trotline.machine import find_roots, read_clock
from trotline.service.bytecode import keep_bytecode
from trotline.service.line import build_hook_line, is_hook_line, list_programs
from trotline.system.files import TooLargeError, read_file


class InstalledLine(NamedTuple):
    """A line of ours in a file of an agent."""

    target: HookFileTarget
    event: str
    command: str


def build_line(target: HookFileTarget, roots: Roots) -> Line:
    """Return a function that builds the current line for an event of this agent."""
    moved = roots.home if roots.home != find_roots().home else None
    return lambda event: build_hook_line(target.agent.name, event, home=moved, timeout=target.wiring.seconds)


def install_lines(
    targets: Sequence[HookFileTarget], roots: Roots, *, fail_closed: bool, dry_run: bool
) -> list[FileResult]:
    """Write our lines into these files, and compile our code for the calls."""
    if not dry_run:
        keep_bytecode()
    return [_install(target, roots, fail_closed=fail_closed, dry_run=dry_run) for target in targets]


def _install(target: HookFileTarget, roots: Roots, *, fail_closed: bool, dry_run: bool) -> FileResult:
    """Write exactly the current entries; add the problems that keep the agent from loading the file."""
    line = build_line(target, roots)
    wanted = build_entries(target, line, fail_closed=fail_closed)
    result = build_installation(target, roots, is_hook_line, line).install(wanted, read_clock(), dry_run=dry_run)
    known = {problem.code for problem in result.problems}
    fatal = [problem for problem in find_fatal_problems(target, roots) if problem.code not in known]
    return result._replace(problems=(*result.problems, *fatal))


class HookLineState(NamedTuple):
    """The state of our lines: whether they are current, and whether they fail closed."""

    current: bool
    closed: bool


def compare_lines(targets: Sequence[HookFileTarget], roots: Roots) -> HookLineState:
    """Compare the files with what would be written now."""
    for closed in (False, True):
        if all(_is_current(target, roots, fail_closed=closed) for target in targets):
            return HookLineState(current=True, closed=closed)
    return HookLineState(current=False, closed=False)


def _is_current(target: HookFileTarget, roots: Roots, *, fail_closed: bool = False) -> bool:
    line = build_line(target, roots)
    return build_installation(target, roots, is_hook_line, line).is_done(
        build_entries(target, line, fail_closed=fail_closed)
    )


def find_our_lines(targets: Sequence[HookFileTarget]) -> list[InstalledLine]:
    """Return every line of ours in these files."""
    lines = [InstalledLine(target, event, command) for target in targets for event, command in read_hook_lines(target)]
    return [line for line in lines if line.target.wiring.owns_file or is_hook_line(line.command)]


def may_run(line: InstalledLine, roots: Roots) -> bool:
    """Return whether a check may run this line.

    A project file can contain a line that only looks like ours. So from a project only exactly the current line is run,
    or exactly the current program; from files of the person every line is.
    """
    if line.target.layer != "project":
        return True
    if line.target.wiring.owns_file:
        return _is_current(line.target, roots)
    return line.command == build_line(line.target, roots)(line.event)


def find_programs(line: InstalledLine, roots: Roots) -> list[Path]:
    """Return the files that a line starts or reads; nothing for an older program of ours, where they are unknown."""
    is_program = line.target.wiring.owns_file and not line.target.wiring.plugin
    if not is_program:
        return list_programs(line.command)
    return list_programs(build_line(line.target, roots)(line.event)) if _is_current(line.target, roots) else []


def find_problems(target: HookFileTarget, roots: Roots) -> list[Problem]:
    """Return the problems of a file of an agent: for Cursor all of `trotline check`, else those of its syntax."""
    chosen = get_edition(NEWEST_EDITION)
    layer = next((layer for layer in find_layers(roots, chosen) if Path(layer.file) == target.file), None)
    if layer is not None:
        return [problem for read in read_layers([layer], roots, chosen).layers for problem in read.problems]
    try:
        data = read_file(target.file)
    except FileNotFoundError:
        return []
    except TooLargeError as error:
        return [build_read_problem(target.file, error)]
    if target.wiring.owns_file:
        return [*find_owner_problems(target.file, data, target.wiring.conflict_hint)]
    shape = Shape.GROUPED if target.wiring.grouped else Shape.FLAT
    return [*remove_entries(data, EditTerms(shape, is_hook_line, file=str(target.file))).problems]


def find_fatal_problems(target: HookFileTarget, roots: Roots) -> list[Problem]:
    """Return the problems that keep the agent from loading the file."""
    return [problem for problem in find_problems(target, roots) if problem.severity is Severity.FATAL]


def format_check_command(file: str | Path) -> str:
    """Return the command that shows the problems of a file."""
    return f"trotline check {shlex.quote(str(file))}"
