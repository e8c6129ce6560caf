"""Our entries in a host's file: which, with which command line, and where the file is."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trotline.config.edit import Entry, Shape, Terms
from trotline.config.files import content
from trotline.config.installation import Installation
from trotline.config.jsonc_reader import read
from trotline.config.own_file import OwnFile, lines_in, own_text
from trotline.config.places import Roots
from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.hosts import HOSTS, host_named
from trotline.hosts.host import Host, known_events
from trotline.hosts.wiring import Wiring

EVENT = "{event}"

Line = Callable[[str], str]
"""The command line for one of the host's events."""


class Wired(NamedTuple):
    """A host, its wiring, one file of one layer, and the events that stand in it."""

    host: Host
    wiring: Wiring
    layer: str
    file: Path
    root: Path
    events: tuple[str, ...]


def wired(host: Host, layer: str, roots: Roots, version: str = "") -> list[Wired]:
    """Where this host's hooks of this layer are kept: in one file, or in one for each event."""
    wiring = host.wiring
    if wiring is None:
        raise UsageError(f"{host.title} has no hooks file that could be written", hint="see docs/sdk.md")
    if layer not in wiring.files:
        raise UsageError(f"{host.title} has no {layer} layer", hint=f"it has: {', '.join(wiring.files)}")
    below = {"user": roots.home, "enterprise": roots.system}
    root = below.get(layer, roots.projects[0] if roots.projects else roots.home)
    file = wiring.files[layer]
    known = known_events(wiring, version)
    split = [(event,) for event in known] if EVENT in file else [known]
    return [Wired(host, wiring, layer, root / file.replace(EVENT, events[0]), root, events) for events in split]


def installation(wire: Wired, roots: Roots, ours: Callable[[str], bool], line: Line) -> Installation:
    terms = Terms(
        shape=Shape.GROUPED if wire.wiring.grouped else Shape.FLAT,
        ours=ours,
        version=wire.wiring.version,
        file=str(wire.file),
    )
    if not wire.wiring.own:
        return Installation(path=wire.file, terms=terms, owner_directory=wire.root, state=roots.state)
    text = own_text(wire.host, {event: line(event) for event in wire.events}, wire.wiring.seconds)
    return OwnFile(
        path=wire.file,
        terms=terms,
        owner_directory=wire.root,
        state=roots.state,
        text=text,
        hint=wire.wiring.taken,
    )


def entries(wire: Wired, line: Line, *, fail_closed: bool) -> list[Entry]:
    """What is to stand in the file, in order."""
    return [_entry(wire, event, line(event), fail_closed=fail_closed) for event in wire.events]


def _entry(wire: Wired, event: str, command: str, *, fail_closed: bool) -> Entry:
    wiring, contract = wire.wiring, EVENTS[wire.host.events[event]].contract
    body: dict[str, Any] = {
        **wiring.entry,
        wiring.command_key: command,
    }
    if wiring.timeout_key:
        body[wiring.timeout_key] = wiring.seconds * wiring.timeouts_per_second
    if fail_closed and contract.refusable:
        body |= wiring.fail_closed
    return Entry(event, body, wiring.matchers.get(event, ""))


def place_of(wires: Sequence[Wired]) -> Path:
    """What a person calls the place of these: a file, or the directory that has all of them."""
    return wires[0].file if len(wires) == 1 else wires[0].file.parent


def lines_of(wire: Wired) -> Iterator[tuple[str, str]]:
    """Every line that the host runs because of this file, with its event; of a file that is to be ours, none unless it
    is."""
    try:
        data, _ = content(wire.file)
    except OSError:
        return iter(())
    if wire.wiring.own:
        return iter(lines_in(data, wire.file, wire.events[0]).items())
    return _listed(wire, data)


def _listed(wire: Wired, data: bytes) -> Iterator[tuple[str, str]]:
    """As the host would read it; nothing of a file that it cannot."""
    root = read(data).root
    hooks = root.get("hooks") if root is not None else None
    members = hooks.members.items() if hooks is not None else ()
    listed = [(event, item) for event, member in members for item in member.value.items]
    for event, item in listed:
        group = item.get("hooks")
        found = [entry.get(wire.wiring.command_key) for entry in (group.items if group is not None else [item])]
        yield from ((event, line.value) for line in found if line is not None and isinstance(line.value, str))


def found(roots: Roots) -> Iterator[Host]:
    """The hosts that are on this machine, by their programs and by what they left in the home."""
    for name in HOSTS:
        host = host_named(name)
        if host.wiring is not None and is_here(host.wiring, roots):
            yield host


def is_here(wiring: Wiring, roots: Roots) -> bool:
    path = ":".join(roots.search_path)
    by_program = any(shutil.which(program, path=path) for program in wiring.programs)
    return by_program or any((roots.home / directory).is_dir() for directory in wiring.directories)
