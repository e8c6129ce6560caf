"""Checks of the files of an agent, without running anything."""

import os
import shlex
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.config.hooks_json.hook_commands import find_program
from trotline.config.hooks_json.layers import find_layers
from trotline.config.install.hook_entries import read_hook_lines
from trotline.config.paths import Platform, Roots
from trotline.config.problems import Severity
from trotline.doctor.checks import AgentState, CheckResult, CheckState, InstalledLayer, fail, note, ok, warn
from trotline.doctor.hook_lines import find_problems, find_programs, format_check_command
from trotline.domain.errors import describe_os_error
from trotline.formats.jsonc import JsonNode, parse_jsonc
from trotline.service.line import is_hook_line, is_old_hook_line
from trotline.system.files import read_file

STATES = {
    Severity.FATAL: CheckState.FAIL,
    Severity.ERROR: CheckState.FAIL,
    Severity.WARNING: CheckState.WARN,
}

GRAPHICAL_PATH: dict[Platform, tuple[str, ...]] = {
    "linux": ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
    "darwin": ("/usr/bin", "/bin", "/usr/sbin", "/sbin"),
    "windows": (),
}
"""The PATH of programs that are started from a dock or a menu."""

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
MAX_SHOWN = 3


def check_file(state: AgentState) -> Iterator[CheckResult]:
    """Check that the agent can load its files; for Cursor by the rules of `trotline check`."""
    for target in state.files:
        try:
            all_problems = find_problems(target, state.roots)
        except OSError as error:
            step = f"ls -ld {shlex.quote(str(target.file))}"
            yield fail(f"{target.file} cannot be read: {describe_os_error(error)}", step)
            continue
        problems = [problem for severity in STATES for problem in all_problems if problem.severity is severity]
        for problem in problems[:MAX_SHOWN]:
            detail = f"{target.file}:{problem.place.line}:{problem.place.column} {problem.code} {problem.message}"
            step = problem.hint if target.wiring.owns_file else format_check_command(target.file)
            yield CheckResult(STATES[problem.severity], detail, step)
        if len(problems) > MAX_SHOWN:
            yield note(f"{target.file} has {len(problems) - MAX_SHOWN} more problems")
        if not problems:
            yield ok(f"{target.file} can be loaded")


def check_entries(state: AgentState) -> Iterator[CheckResult]:
    """Check that every wanted event of the agent has a line of ours."""
    wanted = state.agent.wiring.events if state.agent.wiring else ()
    if not state.layers:
        step = f"trotline install {state.agent.name}"
        yield warn("no line of ours is in its files: nothing that it does is seen", step)
    for layer in state.layers:
        covered_events = {line.event for line in layer.lines}
        missing = [event for event in wanted if event not in covered_events]
        if missing:
            detail = f"{layer.place} has no line of ours at {', '.join(missing)}"
            yield fail(detail, _format_install(layer))
        else:
            yield ok(f"a line of ours at all {len(wanted)} events, {layer.name}")


def check_lines(state: AgentState) -> Iterator[CheckResult]:
    """Check that the lines are current."""
    for layer in state.layers:
        if layer.state.current:
            yield ok(f"current, {layer.name}")
            continue
        old = sum(is_old_hook_line(line.command) for line in layer.lines)
        if old:
            detail = f"{old} lines in {layer.place} were written by an older version: each call is slow and an alarm"
            yield fail(detail, _format_install(layer))
            continue
        detail = f"{layer.place} is not as `trotline install` would write it"
        if all(os.access(target.file, os.W_OK) for target in layer.targets if target in state.files):
            yield warn(detail, _format_install(layer))
        else:
            yield note(f"{detail}; it is not yours to write")


def check_programs(state: AgentState) -> Iterator[CheckResult]:
    """Check that the programs of the lines exist, and that the agent cannot change them."""
    for layer in state.layers:
        programs = dict.fromkeys(path for line in layer.lines for path in find_programs(line, state.roots))
        faults = [(program, fault) for program in programs for fault in _find_program_faults(program, state.roots)]
        for program, fault in faults:
            yield fail(f"{program} {fault}", _format_install(layer))
        if programs and not faults:
            yield ok(", ".join(str(program) for program in programs))


def _find_program_faults(program: Path, roots: Roots) -> Iterator[str]:
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
    if status.st_mode & WRITABLE_BY_OTHERS:
        yield "can be written by other users"
    inside = [root for root in roots.projects if root != roots.home and real.is_relative_to(root)]
    if inside or any(program.is_relative_to(root) for root in roots.projects if root != roots.home):
        yield "is inside the workspace: an agent that works there can change it"


def check_loaded_once(state: AgentState) -> Iterator[CheckResult]:
    """Check that one action does not run our line more than once."""
    counts = [(layer, Counter(line.event for line in layer.lines)) for layer in state.layers]
    twice = [f"{event} in {layer.place}" for layer, count in counts for event in count if count[event] > 1]
    if twice:
        yield warn(f"more than one line of ours at {twice[0]}", _format_install(state.layers[0]))
    if len(state.layers) > 1:
        names = [layer.name for layer in state.layers if layer.name != "enterprise"]
        detail = f"our lines are in {' and in '.join(str(layer.place) for layer in state.layers)}: each runs"
        yield warn(detail, f"trotline uninstall {state.agent.name} --layer {names[-1]}")
    also_loaded = [*_find_also_loaded(state)]
    for file in also_loaded:
        yield note(f"{state.agent.title} also loads {file}: we are asked twice about one action")
    if state.layers and not twice and not also_loaded and len(state.layers) == 1:
        yield ok("each line is loaded once")


def _find_also_loaded(state: AgentState) -> Iterator[str]:
    """Yield files of another agent with lines of ours that this agent loads too."""
    layers = find_layers(state.roots, get_edition(NEWEST_EDITION))
    our_files = {str(target.file) for layer in state.layers for target in layer.targets}
    if not any(layer.file in our_files and not layer.kind.from_claude for layer in layers):
        return
    for layer in (layer for layer in layers if layer.kind.from_claude):
        if any(True for _ in _find_our_entries(Path(layer.file))):
            yield layer.file


def _find_our_entries(file: Path) -> Iterator[JsonNode]:
    """Yield every JSON object of a file that has a line of ours; nothing if the file cannot be read."""
    try:
        root = parse_jsonc(read_file(file)).root
    except OSError:
        return
    nodes = [root] if root is not None else []
    while nodes:
        node = nodes.pop()
        values = [member.value for member in node.members.values()]
        nodes += [*node.items, *values]
        if any(isinstance(value.value, str) and is_hook_line(value.value) for value in values):
            yield node


def check_fail_mode(state: AgentState) -> Iterator[CheckResult]:
    """Report what the agent does if our line cannot be run."""
    for layer in state.layers:
        if layer.wiring.owns_file:
            yield ok("closed: when our line breaks, our file refuses what can be refused")
        elif not layer.wiring.fail_closed:
            yield note(f"{state.agent.title} has no setting that makes a broken hook block the action")
        elif layer.state.closed:
            yield ok("closed: when our line breaks, the action is blocked")
        elif layer.state.current:
            step = f"trotline install {state.agent.name} --fail-closed"
            yield note(f"open: when our line breaks, the action goes on (`{step}`)")


def check_graphical_path(state: AgentState) -> Iterator[CheckResult]:
    """Check that other hooks are found if the agent is started from a menu."""
    if state.agent.wiring is None or not state.agent.wiring.graphical:
        return
    menu_path = GRAPHICAL_PATH[state.roots.platform]
    names = dict.fromkeys(
        name for target in state.files for _, line in read_hook_lines(target) if (name := _get_bare_name(line))
    )
    unreachable = [
        name for name in names if _is_on_path(name, state.roots.search_path) and not _is_on_path(name, menu_path)
    ]
    for name in unreachable:
        detail = f"`{name}` is found from your shell, and not when {state.agent.title} is started from a menu"
        yield warn(detail, f"write the full path of `{name}` into its hook")
    if state.files and not unreachable:
        yield ok("no hook needs the PATH of a shell")


def _get_bare_name(line: str) -> str:
    """Return the name of a program that is looked up in PATH, also after `env`; else nothing."""
    try:
        program = find_program(line)
    except ValueError:
        return ""
    name, words = program.name if program else "", line.split()
    if name.rsplit("/", 1)[-1] == "env" and len(words) > 1:
        name = words[1]
    return "" if "/" in name or name.startswith(("-", "$", "~")) or "=" in name else name


def _is_on_path(name: str, path: tuple[str, ...]) -> bool:
    return any(os.access(Path(directory) / name, os.X_OK) for directory in path)


def _format_install(layer: InstalledLayer) -> str:
    """Return the command that brings the lines of a layer up to date, with the same fail mode."""
    is_open = bool(layer.wiring.fail_closed) and not _is_closed(layer)
    elsewhere = "" if layer.name == "user" else f" --layer {layer.name}"
    return f"trotline install {layer.targets[0].agent.name}{elsewhere}{' --fail-open' if is_open else ''}"


def _is_closed(layer: InstalledLayer) -> bool:
    """Return whether our lines, which may be outdated, fail closed."""
    keys = layer.wiring.fail_closed.keys()
    files = [target.file for target in layer.targets if keys]
    return any(keys <= entry.members.keys() for file in files for entry in _find_our_entries(file))
