"""The guards of this machine: its homes and directories, its policies, and its disk for what paths really are."""

import contextlib
import functools
import os
import posixpath
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import trotline
from trotline.analysis.action import of_event
from trotline.analysis.scene import World
from trotline.config.places import OWN_RULES, Roots, is_configured, malicious_files, policy_files
from trotline.content import Pieces, Scanning
from trotline.effects import Effect
from trotline.engine.sessions import Sessions
from trotline.events import Event
from trotline.guards.policy import DEFAULT, Policy
from trotline.hosts import HOSTS, host_named
from trotline.judging import Guards, PolicyOf, Recollection, Whose, real_path
from trotline.machine import today
from trotline.outcomes import Call

if TYPE_CHECKING:
    from trotline.config.malicious import Reports
    from trotline.config.problems import Problem
    from trotline.scanners.rules import Pack
    from trotline.scanners.scan import Scanner


def guards_of(
    roots: Roots, sessions: Sessions, *, monitors: bool = False, host: str = "", policies: PolicyOf | None = None
) -> Guards:
    """Guards that believe the host about the workspace, and the machine about everything else; `policies` are those of
    somebody who wants to know what would be if others were in force."""

    def world_of(event: Event, call: Call) -> World:
        given = list(event.workspace_roots) or ([call.cwd] if call.cwd else [])
        return world_at(roots, given, str(getattr(event, "cwd", "") or ""))

    def policy_of(projects: Sequence[str]) -> tuple[Policy, tuple[str, ...]]:
        policy, alarms = _policy(roots, tuple(projects)) if policies is None else policies(projects)
        return policy, (*alarms, *_packs(roots)[1]) if scanning.own_rules else alarms

    scanning = scanning_of(roots)
    both = host in HOSTS and host_named(host).both
    whose = Whose(host, posixpath.basename(str(roots.home)), groups, names_later=both)
    return Guards(policy_of, world_of, Recollection(sessions), scanning, monitors=monitors, whose=whose)


def effects_of(roots: Roots) -> Callable[[Event], tuple[Effect, ...]]:
    """What an event would do, for a record of an action that no guard looks at; texts are looked at by nobody."""

    def found(event: Event) -> tuple[Effect, ...]:
        given = list(event.workspace_roots) or list(map(str, roots.projects[:1]))
        return of_event(event, world_at(roots, given, str(getattr(event, "cwd", "") or ""))).effects

    return found


@functools.cache
def groups() -> tuple[str, ...]:
    """The names of the groups that this account is in."""
    if sys.platform == "win32":
        return ()
    import grp  # noqa: PLC0415 - not on every system, and few rules ask

    names = []
    for number in dict.fromkeys([os.getgid(), *os.getgroups()]):
        with contextlib.suppress(KeyError):
            names.append(grp.getgrgid(number).gr_name)
    return tuple(names)


def scanning_of(roots: Roots) -> Scanning:
    """What scanners need of this machine."""

    def key() -> bytes:
        from trotline.config.install_key import install_key  # noqa: PLC0415 - few texts hold anything

        return install_key(roots.state)

    own_rules = is_configured(roots, OWN_RULES)
    return Scanning(key, functools.partial(_scanners, roots, own_rules=own_rules), file_pieces, own_rules)


@functools.cache
def _scanners(roots: Roots, *, own_rules: bool) -> "dict[str, Scanner]":
    """Ours, with the rules of this person and this machine beside them."""
    from trotline.scanners.catalogue import scanners  # noqa: PLC0415 - only for those who have texts to look at

    if not own_rules:
        return scanners()
    from trotline.scanners.secrets import Secrets, own_pack  # noqa: PLC0415 - few people have rules of their own

    return {**scanners(), "secrets": Secrets([own_pack(), *_packs(roots)[0]])}


@functools.cache
def _packs(roots: Roots) -> "tuple[list[Pack], tuple[str, ...]]":
    """Rules of this person and this machine, and what is wrong with some of them."""
    from trotline.config.rule_packs import read_packs  # noqa: PLC0415 - few people have rules of their own

    packs, problems = read_packs(roots)
    return packs, tuple(map(alarm_of, problems))


def file_pieces(path: str) -> Pieces | None:
    """A file of this disk, piece by piece, up to a bound; nothing for what is no file, or no text."""
    from trotline.config.tree import Tree  # noqa: PLC0415 - only where the host does not show what it reads

    tree = Tree(everything=True)
    named = Path(path)
    tree.named.add(named)
    pieces = tree.pieces(named)
    if pieces is None:
        return None
    bound = Bound(pieces)
    return Pieces(bound, lambda: bound.cut)


def file_text(path: str) -> str:
    """What is in a file of this disk; nothing where there is none, or more than anybody compares."""
    found = file_pieces(path)
    text = b""
    for piece in found.pieces if found is not None else ():
        text += piece
        if len(text) > MOST_OF_A_MANIFEST:
            return ""
    return text.decode("utf-8", "replace")


class Bound:
    """Pieces until there were too many of them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.left = MOST_OF_A_FILE
        self.cut = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if self.left <= 0:
                self.cut = True
                return
            self.left -= len(piece)
            yield piece


MOST_OF_A_FILE = 32_000_000
"""Bytes; some seconds of work, and more than any agent reads at once."""


MOST_OF_A_MANIFEST = 2_000_000


def world_at(roots: Roots, workspaces: Sequence[str], cwd: str = "") -> World:
    """What is true for an action in these workspaces, in this directory."""
    home = str(roots.home)
    given = [_path(workspace) for workspace in workspaces]
    named = [workspace for workspace in given if _is_workspace(workspace, home)]
    known = tuple(dict.fromkeys([*named, *(real_path(workspace) for workspace in named)]))
    base = given[0] if given else home
    return World(
        cwd=posixpath.join(base, _path(cwd)) if cwd else base,
        roots=known,
        home=home,
        user=posixpath.basename(home),
        own=_own(roots, known),
        real=real_path,
        ignores_case=roots.platform != "linux",
        content=file_text,
        reports=_reports(roots),
        text=whole_text,
        names=directory_names,
    )


@functools.cache
def _reports(roots: Roots) -> "Callable[[], Reports | None]":
    """The lists of malicious packages, if there are any when something is installed."""
    files = [str(file) for file in malicious_files(roots)]

    def found() -> "Reports | None":
        if not any(os.path.lexists(file) for file in files):
            return None
        from trotline.config.malicious import Reports  # noqa: PLC0415 - few people have a list

        return Reports(files)

    return found


def whole_text(path: str) -> str | None:
    """What stands in a file of this disk; nothing for what is no file, or larger than anybody waits for."""
    from trotline.config.files import content  # noqa: PLC0415 - few commands make us look

    try:
        data, _ = content(Path(path), MOST_OF_A_FILE)
    except (OSError, ValueError):
        return None
    return data.decode("utf-8", "replace")


def directory_names(path: str) -> tuple[str, ...] | None:
    """What is in a directory of this disk, in order; nothing for what is none."""
    try:
        return tuple(sorted(os.listdir(path)))  # noqa: PTH208 - names are wanted, and nothing else
    except (OSError, ValueError):
        return None


@functools.lru_cache(16)
def _own(roots: Roots, workspaces: tuple[str, ...]) -> tuple[str, ...]:
    """Where our own files are. Whoever works on Trotline may change its code; what is in force, nobody's agent may."""
    kept = [str(path) for path in (roots.state, roots.config, roots.managed_config)]
    code = str(Path(trotline.__file__).parent)
    return (*kept, *([] if any(_within(code, workspace) for workspace in workspaces) else [code]))


def _policy(roots: Roots, projects: tuple[str, ...]) -> tuple[Policy, tuple[str, ...]]:
    """Few people have such a file, and to see that costs one look each."""
    if not any(os.path.lexists(file) for _, file in policy_files(roots, projects)):
        return DEFAULT, ()
    from trotline.config.policies import read_policies  # noqa: PLC0415 - only for those who have one

    read = read_policies(roots, [Path(project) for project in projects], today=today())
    return read.policy, tuple(map(alarm_of, read.problems))


def alarm_of(problem: "Problem") -> str:
    return f"{problem.place.file}:{problem.place.line}: {problem.message}"


def _path(text: str) -> str:
    """A directory as hosts write it."""
    text = text.removeprefix("file://")
    return posixpath.normpath(text) if text.startswith("/") else text


def _is_workspace(root: str, home: str) -> bool:
    """Whatever holds the home directory is no workspace: everything would be inside it."""
    return root == home or (root.startswith("/") and root != "/" and not _within(home, root))


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
