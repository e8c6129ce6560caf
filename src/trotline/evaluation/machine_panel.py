"""Build the guard panel of this machine from its directories, policies, scanners and disk."""

import contextlib
import functools
import os
import posixpath
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import trotline
from trotline.agents import AGENTS, get_agent
from trotline.analysis.analyze import analyze_event
from trotline.analysis.shell.shell_state import Environment
from trotline.config.paths import (
    OWN_RULES,
    Roots,
    is_configured,
    list_config_layers,
    list_malicious_files,
    list_policy_paths,
)
from trotline.conversation.sessions import Sessions
from trotline.domain.effects import Effect
from trotline.domain.events import Event
from trotline.domain.outcomes import Call
from trotline.evaluation.panel import GuardPanel, HistoryStore, Identity, PolicyReader
from trotline.evaluation.text_findings import FilePieces, Scanning
from trotline.machine import get_today
from trotline.policy.policy import DEFAULT_POLICY, Policy

if TYPE_CHECKING:
    from trotline.config.malicious import PackageReports
    from trotline.config.problems import Problem
    from trotline.scanners.scan import Scanner
    from trotline.scanners.secret_rules import RulePack


def build_panel(
    roots: Roots,
    sessions: Sessions,
    *,
    is_monitoring: bool = False,
    agent: str = "",
    policies: PolicyReader | None = None,
) -> GuardPanel:
    """Build the panel of a home. The agent says which workspace it works in, the machine says everything else.

    `policies` replaces the policies in force, to see what others would decide.
    """

    def build_event_environment(event: Event, call: Call) -> Environment:
        workspaces = list(event.workspace_roots) or ([call.cwd] if call.cwd else [])
        return build_environment(roots, workspaces, str(getattr(event, "cwd", "") or ""))

    def read_policy(projects: Sequence[str]) -> tuple[Policy, tuple[str, ...]]:
        policy, alarms = _read_policy(roots, tuple(projects)) if policies is None else policies(projects)
        return policy, (*alarms, *_load_rule_packs(roots)[1]) if scanning.has_own_rules else alarms

    scanning = build_scanning(roots)
    fires_both = agent in AGENTS and get_agent(agent).raises_paired_events
    identity = Identity(agent, posixpath.basename(str(roots.home)), list_groups, server_named_later=fires_both)
    store = HistoryStore(sessions)
    return GuardPanel(
        read_policy, build_event_environment, store, scanning, is_monitoring=is_monitoring, identity=identity
    )


def build_effect_finder(roots: Roots) -> Callable[[Event], tuple[Effect, ...]]:
    """Return a function that finds the effects of an event without guards and without scanning its texts."""

    def find_effects(event: Event) -> tuple[Effect, ...]:
        workspaces = list(event.workspace_roots) or list(map(str, roots.projects[:1]))
        return analyze_event(event, build_environment(roots, workspaces, str(getattr(event, "cwd", "") or ""))).effects

    return find_effects


@functools.cache
def list_groups() -> tuple[str, ...]:
    """Return the names of the groups of this account."""
    if sys.platform == "win32":
        return ()
    import grp  # noqa: PLC0415 - not on every system, and few rules ask

    names = []
    for number in dict.fromkeys([os.getgid(), *os.getgroups()]):
        with contextlib.suppress(KeyError):
            names.append(grp.getgrgid(number).gr_name)
    return tuple(names)


def build_scanning(roots: Roots) -> Scanning:
    """Build the scanning of a home: its key, its scanners and its files."""

    def read_key() -> bytes:
        from trotline.config.install.install_key import read_or_create_key  # noqa: PLC0415 - few texts hold anything

        return read_or_create_key(roots.state)

    has_own_rules = is_configured(roots, OWN_RULES)
    load = functools.partial(_load_scanners, roots, has_own_rules=has_own_rules)
    return Scanning(read_key, load, read_pieces, has_own_rules)


@functools.cache
def _load_scanners(roots: Roots, *, has_own_rules: bool) -> "dict[str, Scanner]":
    """Load the built-in scanners, with the rules of this person and this machine."""
    from trotline.scanners.scan import get_scanners  # noqa: PLC0415 - few calls have texts to scan

    if not has_own_rules:
        return get_scanners()
    from trotline.scanners.secrets import SecretScanner, load_builtin_pack  # noqa: PLC0415 - few have own rules

    return {**get_scanners(), "secrets": SecretScanner([load_builtin_pack(), *_load_rule_packs(roots)[0]])}


@functools.cache
def _load_rule_packs(roots: Roots) -> "tuple[list[RulePack], tuple[str, ...]]":
    """Load the rules of this person and this machine, and alarms about their files."""
    from trotline.config.rule_packs import read_packs  # noqa: PLC0415 - few have own rules

    packs, problems = read_packs(roots)
    return packs, tuple(map(format_alarm, problems))


MAX_FILE_BYTES = 32_000_000
"""A few seconds of scanning, and more than any agent reads at once."""

MAX_MANIFEST_BYTES = 2_000_000


def read_pieces(path: str) -> FilePieces | None:
    """Read a text file piece by piece, up to the limit; None for anything else."""
    from trotline.config.file_tree import TreeWalk  # noqa: PLC0415 - only for files that the agent does not show

    tree = TreeWalk(everything=True)
    named = Path(path)
    tree.named.add(named)
    pieces = tree.read_chunks(named)
    return FilePieces(pieces, MAX_FILE_BYTES) if pieces is not None else None


def read_manifest(path: str) -> str:
    """Read a text file; empty if there is none, or if it is larger than the limit."""
    text = b""
    for piece in read_pieces(path) or ():
        text += piece
        if len(text) > MAX_MANIFEST_BYTES:
            return ""
    return text.decode("utf-8", "replace")


def build_environment(roots: Roots, workspaces: Sequence[str], cwd: str = "") -> Environment:
    """Build the environment of an action in these workspaces and this directory."""
    home = str(roots.home)
    paths = [_normalize(workspace) for workspace in workspaces]
    named = [path for path in paths if _is_workspace(path, home)]
    known = tuple(dict.fromkeys([*named, *map(resolve_path, named)]))
    base = paths[0] if paths else home
    return Environment(
        cwd=posixpath.join(base, _normalize(cwd)) if cwd else base,
        roots=known,
        home=home,
        user=posixpath.basename(home),
        own_paths=_list_own_paths(roots, known),
        real_path=resolve_path,
        ignores_case=roots.platform != "linux",
        read_content=read_manifest,
        get_reports=_build_report_reader(roots),
        read_text=read_file_text,
        list_names=list_directory,
    )


@functools.cache
def _build_report_reader(roots: Roots) -> "Callable[[], PackageReports | None]":
    """Return a function that opens the lists of malicious packages, if there are any when it is called."""
    files = [str(file) for file in list_malicious_files(roots)]

    def open_reports() -> "PackageReports | None":
        if not any(os.path.lexists(file) for file in files):
            return None
        from trotline.config.malicious import PackageReports  # noqa: PLC0415 - few people have a list

        return PackageReports(files)

    return open_reports


def read_file_text(path: str) -> str | None:
    """Read a file; None if it is not a regular file or is larger than the limit."""
    from trotline.system.files import read_file  # noqa: PLC0415 - few commands need a file

    try:
        data = read_file(Path(path), MAX_FILE_BYTES)
    except (OSError, ValueError):
        return None
    return data.decode("utf-8", "replace")


def list_directory(path: str) -> tuple[str, ...] | None:
    """Return the sorted names in a directory; None if there is none."""
    try:
        return tuple(sorted(os.listdir(path)))  # noqa: PTH208 - names are wanted
    except (OSError, ValueError):
        return None


@functools.lru_cache(16)
def _list_own_paths(roots: Roots, workspaces: tuple[str, ...]) -> tuple[str, ...]:
    """Return the directories of Trotline itself. Its code is not protected from an agent that works on Trotline."""
    directories = [str(path) for path in (roots.state, roots.config, roots.managed_config)]
    code = str(Path(trotline.__file__).parent)
    return (*directories, *([] if any(_is_within(code, workspace) for workspace in workspaces) else [code]))


def _read_policy(roots: Roots, projects: tuple[str, ...]) -> tuple[Policy, tuple[str, ...]]:
    """Read the policies in force. Most people have none, and that costs one look for each file."""
    if not any(map(os.path.lexists, list_policy_paths(roots, projects))):
        return DEFAULT_POLICY, ()
    from trotline.config.config_keys import has_policy  # noqa: PLC0415 - few people have a file

    if not has_policy(file for _, file in list_config_layers(roots, projects)):
        return DEFAULT_POLICY, ()
    from trotline.config.policies import read_policies  # noqa: PLC0415 - few people have a policy

    read = read_policies(roots, [Path(project) for project in projects], today=get_today())
    return read.policy, tuple(map(format_alarm, read.problems))


def format_alarm(problem: "Problem") -> str:
    """Return a problem of a file as one line."""
    return f"{problem.place.file}:{problem.place.line}: {problem.message}"


def _normalize(text: str) -> str:
    """Return a directory without `file://`, normalized if it is absolute."""
    text = text.removeprefix("file://")
    return posixpath.normpath(text) if text.startswith("/") else text


def resolve_path(path: str) -> str:
    """Return the real path on this disk, or the path itself where it cannot be resolved."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def _is_workspace(root: str, home: str) -> bool:
    """Return whether a directory is a workspace. One that contains the home is not: everything would be inside it."""
    return root == home or (root.startswith("/") and root != "/" and not _is_within(home, root))


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
