"""Build Trotline's entries for an agent's file, and locate the file."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent, Wiring
from trotline.config.hooks_json.hooks_file import iterate_entries
from trotline.config.install.edit import EditTerms, EntryEdit, Shape
from trotline.config.install.installation import Installation
from trotline.config.install.plugin_file import OwnedFileInstallation, parse_owned_file, render_owned_file
from trotline.config.paths import Roots
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS
from trotline.formats.jsonc import parse_jsonc
from trotline.system.files import read_file

EVENT = "{event}"

Line = Callable[[str], str]
"""A function from an agent's event name to the command line for it."""


class HookFileTarget(NamedTuple):
    """An agent, its wiring, one file of one layer, and the events in that file."""

    agent: Agent
    wiring: Wiring
    layer: str
    file: Path
    root: Path
    events: tuple[str, ...]


def list_hook_files(agent: Agent, layer: str, roots: Roots, version: str = "") -> list[HookFileTarget]:
    """Return the files for this agent's hooks in this layer: one file, or one for each event."""
    wiring = agent.wiring
    if wiring is None:
        raise UsageError(f"{agent.title} has no hooks file that could be written", hint="see docs/python.md")
    if layer not in wiring.files:
        raise UsageError(f"{agent.title} has no {layer} layer", hint=f"it has: {', '.join(wiring.files)}")
    below = {"user": roots.home, "enterprise": roots.system}
    root = below.get(layer, roots.projects[0] if roots.projects else roots.home)
    file = wiring.files[layer]
    known = wiring.get_known_events(version)
    split = [(event,) for event in known] if EVENT in file else [known]
    return [
        HookFileTarget(agent, wiring, layer, root / file.replace(EVENT, events[0]), root, events) for events in split
    ]


def build_installation(target: HookFileTarget, roots: Roots, ours: Callable[[str], bool], line: Line) -> Installation:
    """Return the installation for a file: the whole file if Trotline owns it, otherwise its entries."""
    terms = EditTerms(
        shape=Shape.GROUPED if target.wiring.grouped else Shape.FLAT,
        ours=ours,
        version=target.wiring.version,
        file=str(target.file),
    )
    if not target.wiring.owns_file:
        return Installation(path=target.file, terms=terms, owner_directory=target.root, state=roots.state)
    text = render_owned_file(target.agent, {event: line(event) for event in target.events}, target.wiring.seconds)
    return OwnedFileInstallation(
        path=target.file,
        terms=terms,
        owner_directory=target.root,
        state=roots.state,
        text=text,
        hint=target.wiring.conflict_hint,
    )


def build_entries(target: HookFileTarget, line: Line, *, fail_closed: bool) -> list[EntryEdit]:
    """Return the entries for the file, in order."""
    return [_build_entry(target, event, line(event), fail_closed=fail_closed) for event in target.events]


def _build_entry(target: HookFileTarget, event: str, command: str, *, fail_closed: bool) -> EntryEdit:
    wiring, contract = target.wiring, EVENTS[target.agent.events[event]].contract
    body: dict[str, Any] = {**wiring.entry, wiring.command_key: command}
    if wiring.timeout_key:
        body[wiring.timeout_key] = wiring.seconds * wiring.timeouts_per_second
    if fail_closed and contract.refusable:
        body |= wiring.fail_closed
    return EntryEdit(event, body, wiring.matchers.get(event, ""))


def get_location(targets: Sequence[HookFileTarget]) -> Path:
    """Return the path to show for these files: the file, or the directory of all of them."""
    return targets[0].file if len(targets) == 1 else targets[0].file.parent


def read_hook_lines(target: HookFileTarget) -> Iterator[tuple[str, str]]:
    """Yield the event and command line of every hook in this file.

    Yields none if the file cannot be read, or if Trotline should own the file but did not write it.
    """
    try:
        data = read_file(target.file)
    except OSError:
        return
    if target.wiring.owns_file:
        yield from parse_owned_file(data, target.file, target.events[0]).items()
        return
    for event, entry in iterate_entries(parse_jsonc(data)):
        line = entry.get(target.wiring.command_key)
        if line is not None and isinstance(line.value, str):
            yield event, line.value


def find_agents(roots: Roots) -> Iterator[Agent]:
    """Yield the agents on this machine, detected by their programs or their directories in the home."""
    for name in AGENTS:
        agent = get_agent(name)
        if agent.wiring is not None and is_here(agent.wiring, roots):
            yield agent


def is_here(wiring: Wiring, roots: Roots) -> bool:
    """Check whether a program or a home directory of the agent exists on this machine."""
    path = ":".join(roots.search_path)
    by_program = any(shutil.which(program, path=path) for program in wiring.programs)
    return by_program or any((roots.home / directory).is_dir() for directory in wiring.directories)
