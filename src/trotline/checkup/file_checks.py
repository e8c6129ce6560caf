"""What can be seen in the files of an agent, without calling anybody. A check is a function; FILE_CHECKS lists them."""

import os
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from trotline.checkup.examined import Examined, Layered
from trotline.checkup.finding import Finding, State, fail, note, ok, warn
from trotline.checkup.lines import programs_behind
from trotline.checkup.validity import check_command, problems_of
from trotline.config.commands import program_of
from trotline.config.files import content
from trotline.config.jsonc import Node
from trotline.config.jsonc_reader import read
from trotline.config.layers import find_layers
from trotline.config.places import Platform, Roots
from trotline.config.problems import Severity
from trotline.config.wires import lines_of
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.service.line import is_ours

Check = Callable[[Examined], Iterator[Finding]]

STATES = {Severity.VOID: State.FAIL, Severity.ERROR: State.FAIL, Severity.WARNING: State.WARN}

GRAPHICAL_PATH: dict[Platform, tuple[str, ...]] = {
    "linux": ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
    "darwin": ("/usr/bin", "/bin", "/usr/sbin", "/sbin"),
    "windows": (),
}
"""Where a program is looked for that was started from a dock or a menu, and not from a shell."""

BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MOST_SHOWN = 3


def the_file(one: Examined) -> Iterator[Finding]:
    """Whether the agent can load its files at all; by the rules of `trotline check` where it has any."""
    for wire in one.files:
        try:
            found = problems_of(wire, one.roots)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            yield fail("file", f"{wire.file} cannot be read: {why}", f"ls -ld {shlex.quote(str(wire.file))}")
            continue
        problems = [problem for state in STATES for problem in found if problem.severity is state]
        for problem in problems[:MOST_SHOWN]:
            detail = f"{wire.file}:{problem.place.line}:{problem.place.column} {problem.code} {problem.message}"
            step = problem.hint if wire.wiring.own else check_command(wire.file)
            yield Finding(STATES[problem.severity], "file", detail, step)
        if len(problems) > MOST_SHOWN:
            yield note("file", f"{wire.file} has {len(problems) - MOST_SHOWN} more problems")
        if not problems:
            yield ok("file", f"{wire.file} can be loaded")


def the_entries(one: Examined) -> Iterator[Finding]:
    """Whether a line of ours stands at every event of the agent that we want to hear of."""
    wanted = one.host.wiring.events if one.host.wiring else ()
    if not one.layers:
        step = f"trotline init {one.host.name}"
        yield warn("entries", "no line of ours is in its files: nothing that it does is seen", step)
    for layer in one.layers:
        there = {line.event for line in layer.lines}
        missing = [event for event in wanted if event not in there]
        if missing:
            detail = f"{layer.place} has no line of ours at {', '.join(missing)}"
            yield fail("entries", detail, _install(layer))
        else:
            yield ok("entries", f"a line of ours at all {len(wanted)} events, {layer.name}")


def the_lines(one: Examined) -> Iterator[Finding]:
    """Whether they are those that we would write today."""
    for layer in one.layers:
        if layer.compared.current:
            yield ok("lines", f"current, {layer.name}")
            continue
        detail = f"{layer.place} is not as `trotline install` would write it"
        if all(os.access(wire.file, os.W_OK) for wire in layer.wires if wire in one.files):
            yield warn("lines", detail, _install(layer))
        else:
            yield note("lines", f"{detail}; it is not yours to write")


def the_programs(one: Examined) -> Iterator[Finding]:
    """Whether what the lines start is there, is ours, and cannot be changed by whom it guards against."""
    for layer in one.layers:
        programs = dict.fromkeys(path for line in layer.lines for path in programs_behind(line, one.roots))
        faults = [(program, fault) for program in programs for fault in _faults(program, one.roots)]
        for program, fault in faults:
            yield fail("programs", f"{program} {fault}", _install(layer))
        if programs and not faults:
            yield ok("programs", ", ".join(str(program) for program in programs))


def _faults(program: Path, roots: Roots) -> Iterator[str]:
    real = Path(os.path.realpath(program))
    try:
        status = real.stat()
    except OSError:
        yield "is not there"
        return
    if not os.access(real, os.R_OK if real.suffix == ".py" else os.X_OK):
        yield "cannot be run by you"
    if status.st_uid not in {0, os.geteuid()}:
        yield f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & BY_OTHERS:
        yield "can be written by other users"
    inside = [root for root in roots.projects if root != roots.home and real.is_relative_to(root)]
    if inside or any(program.is_relative_to(root) for root in roots.projects if root != roots.home):
        yield "is inside the workspace: an agent that works there can change it"


def loaded_once(one: Examined) -> Iterator[Finding]:
    """Whether one action is asked about more than once."""
    counts = [(layer, Counter(line.event for line in layer.lines)) for layer in one.layers]
    twice = [f"{event} in {layer.place}" for layer, count in counts for event in count if count[event] > 1]
    if twice:
        yield warn("once", f"more than one line of ours at {twice[0]}", _install(one.layers[0]))
    if len(one.layers) > 1:
        own = [layer.name for layer in one.layers if layer.name != "enterprise"]
        detail = f"our lines are in {' and in '.join(str(layer.place) for layer in one.layers)}: each runs"
        yield warn("once", detail, f"trotline uninstall {one.host.name} --layer {own[-1]}")
    also = [*_also_loaded(one)]
    for file in also:
        yield note("once", f"{one.host.title} also loads {file}: we are asked twice about one action")
    if one.layers and not twice and not also and len(one.layers) == 1:
        yield ok("once", "each line is loaded once")


def _also_loaded(one: Examined) -> Iterator[str]:
    """Files of another product that this one loads too, with lines of ours."""
    layers = find_layers(one.roots, edition(NEWEST))
    own = {str(wire.file) for layer in one.layers for wire in layer.wires}
    if not any(layer.file in own and not layer.kind.from_claude for layer in layers):
        return
    for layer in (layer for layer in layers if layer.kind.from_claude):
        if any(True for _ in _our_entries(Path(layer.file))):
            yield layer.file


def _our_entries(file: Path) -> Iterator[Node]:
    """Whatever in a file has a line of ours, wherever it stands; nothing of one that cannot be read."""
    try:
        root = read(content(file)[0]).root
    except OSError:
        return
    nodes = [root] if root is not None else []
    while nodes:
        node = nodes.pop()
        values = [member.value for member in node.members.values()]
        nodes += [*node.items, *values]
        if any(isinstance(value.value, str) and is_ours(value.value) for value in values):
            yield node


def fail_mode(one: Examined) -> Iterator[Finding]:
    """What the agent does when not even our line can be run."""
    for layer in one.layers:
        if layer.wiring.own:
            yield ok("fails", "closed: when our line breaks, our file refuses what can be refused")
        elif not layer.wiring.fail_closed:
            yield note("fails", f"{one.host.title} has no setting that makes a broken hook block the action")
        elif layer.compared.closed:
            yield ok("fails", "closed: when our line breaks, the action is blocked")
        elif layer.compared.current:
            step = f"trotline init {one.host.name} --fail-closed"
            yield note("fails", f"open: when our line breaks, the action goes on (`{step}`)")


def graphical_path(one: Examined) -> Iterator[Finding]:
    """Whether commands of others are found when the agent was started from a menu and not from a shell."""
    if one.host.wiring is None or not one.host.wiring.graphical:
        return
    short = GRAPHICAL_PATH[one.roots.platform]
    bare = dict.fromkeys(name for wire in one.files for _, line in lines_of(wire) if (name := _bare(line)))
    lost = [name for name in bare if _on(name, one.roots.search_path) and not _on(name, short)]
    for name in lost:
        detail = f"`{name}` is found from your shell, and not when {one.host.title} is started from a menu"
        yield warn("PATH", detail, f"write the full path of `{name}` into its hook")
    if one.files and not lost:
        yield ok("PATH", "no hook needs the PATH of a shell")


def _bare(line: str) -> str:
    """The name of a program that is looked up; also behind `env`."""
    try:
        program = program_of(line)
    except ValueError:
        return ""
    name, words = program.name if program else "", line.split()
    if name.rsplit("/", 1)[-1] == "env" and len(words) > 1:
        name = words[1]
    return "" if "/" in name or name.startswith(("-", "$", "~")) or "=" in name else name


def _on(name: str, path: tuple[str, ...]) -> bool:
    return any(os.access(Path(directory) / name, os.X_OK) for directory in path)


def _install(layer: Layered) -> str:
    elsewhere = "" if layer.name == "user" else f" --layer {layer.name}"
    return f"trotline install {layer.wires[0].host.name}{elsewhere}{' --fail-closed' if _closes(layer) else ''}"


def _closes(layer: Layered) -> bool:
    """Whether a file that is not current any more was told to fail closed."""
    keys = layer.wiring.fail_closed.keys()
    files = [wire.file for wire in layer.wires if keys]
    return any(keys <= entry.members.keys() for file in files for entry in _our_entries(file))


FILE_CHECKS: tuple[Check, ...] = (
    the_file,
    the_entries,
    the_lines,
    the_programs,
    loaded_once,
    fail_mode,
    graphical_path,
)
