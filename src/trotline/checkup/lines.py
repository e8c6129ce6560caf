"""Our lines in the files of hosts: putting them there, finding them again, and which of them may be run to look at."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.checkup.validity import void_because
from trotline.config.installation import Installed
from trotline.config.places import Roots
from trotline.config.wires import Line, Wired, entries, installation, lines_of
from trotline.machine import clock, machine_roots
from trotline.service.bytecode import keep_bytecode
from trotline.service.line import installed_line, is_ours, programs_of


class Ours(NamedTuple):
    """A line of ours, and where it stands."""

    wire: Wired
    event: str
    line: str


def line_of(wire: Wired, roots: Roots) -> Line:
    """The line that we would write today for an event of this host."""
    moved = roots.home if roots.home != machine_roots().home else None
    return lambda event: installed_line(wire.host.name, event, home=moved, timeout=wire.wiring.seconds)


def install(wires: Sequence[Wired], roots: Roots, *, fail_closed: bool, dry_run: bool) -> list[Installed]:
    """Our lines in these files, and our code as calls read it."""
    if not dry_run:
        keep_bytecode()
    return [_install(wire, roots, fail_closed=fail_closed, dry_run=dry_run) for wire in wires]


def _install(wire: Wired, roots: Roots, *, fail_closed: bool, dry_run: bool) -> Installed:
    """Exactly our entries of today are in the file; if the agent cannot load it, the Problems say why."""
    line = line_of(wire, roots)
    wanted = entries(wire, line, fail_closed=fail_closed)
    done = installation(wire, roots, is_ours, line).install(wanted, clock(), dry_run=dry_run)
    said = {problem.code for problem in done.problems}
    void = [problem for problem in void_because(wire, roots) if problem.code not in said]
    return done._replace(problems=(*done.problems, *void))


class Compared(NamedTuple):
    """Whether installing would change nothing, and whether our entries fail closed."""

    current: bool
    closed: bool


def compared(wires: Sequence[Wired], roots: Roots) -> Compared:
    """The files beside what we would write."""
    for closed in (False, True):
        if all(_is_current(wire, roots, fail_closed=closed) for wire in wires):
            return Compared(current=True, closed=closed)
    return Compared(current=False, closed=False)


def _is_current(wire: Wired, roots: Roots, *, fail_closed: bool = False) -> bool:
    line = line_of(wire, roots)
    return installation(wire, roots, is_ours, line).is_done(entries(wire, line, fail_closed=fail_closed))


def ours_in(wires: Sequence[Wired]) -> list[Ours]:
    """Every line of ours in these files."""
    listed = [Ours(wire, event, line) for wire in wires for event, line in lines_of(wire)]
    return [one for one in listed if one.wire.wiring.own or is_ours(one.line)]


def _is_a_program(wire: Wired) -> bool:
    """Whether the host runs the file itself; our line is in it."""
    return wire.wiring.own and not wire.wiring.plugin


def may_be_run(one: Ours, roots: Roots) -> bool:
    """A line in a person's own file is theirs. Whoever can commit to a project can write one that looks like ours and
    starts something else, so from there only the very line is run that we would write, and only the very program."""
    if one.wire.layer != "project":
        return True
    if one.wire.wiring.own:
        return _is_current(one.wire, roots)
    return one.line == line_of(one.wire, roots)(one.event)


def programs_behind(one: Ours, roots: Roots) -> list[Path]:
    """The files that it starts or reads; of an older program of ours, nobody knows them."""
    if not _is_a_program(one.wire):
        return programs_of(one.line)
    return programs_of(line_of(one.wire, roots)(one.event)) if _is_current(one.wire, roots) else []
