"""Classify paths: where a path is on the machine, and which pattern it matches."""

import fnmatch
import functools
import posixpath
import re
from collections.abc import Mapping
from enum import StrEnum

from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.analysis.shell.shell_state import Environment

_WILD = re.compile(r"[*?[]")


class PathPatterns:
    """Many path patterns with the kind of file that each means, compared without case.

    A pattern is tried only if its longest literal part occurs in the path.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._always: list[tuple[int, str, str]] = []
        self._by_word: dict[str, list[tuple[int, str, str]]] = {}
        ordered = [(kind, pattern) for kind, patterns in kinds.items() for pattern in patterns.split()]
        for order, (kind, pattern) in enumerate(ordered):
            words = [word for word in pattern.split("/") if word and not _WILD.search(word)]
            entry = (order, kind, pattern)
            if words:
                self._by_word.setdefault(max(words, key=len), []).append(entry)
            else:
                self._always.append(entry)

    def classify(self, path: str) -> str:
        """Return the kind of the first pattern that matches, or an empty text."""
        lower = path.lower()
        entries = [entry for word in set(lower.split("/")) for entry in self._by_word.get(word, ())]
        for _, kind, pattern in sorted([*entries, *self._always]):
            if _compile_pattern(pattern).match(lower):
                return kind
        return ""


@functools.cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


class Location(StrEnum):
    """The location of a path, from irreplaceable to reproducible."""

    ROOT = "the whole file system"
    DEVICE = "a device"
    SYSTEM = "the system"
    HOME = "a whole home directory"
    OWN = "Trotline's own files"
    WORKSPACE = "the whole workspace"
    GIT = "the repository's history"
    PERSONAL = "the home directory"
    ELSEWHERE = "outside the workspace"
    TEMPORARY = "temporary files"
    INSIDE = "the workspace"
    UNKNOWN = "a place that is not known"


_SYSTEM_DIRECTORIES = frozenset(
    "Applications Library System Users Volumes Windows applications library system users volumes bin"
    " boot cores dev etc home lib lib32 lib64 media"
    " mnt nix opt private proc root run sbin srv sys usr var windows".split()
) | {"Program Files", "Program Files (x86)", "ProgramData", "program files", "program files (x86)", "programdata"}
_SHARED_DIRECTORIES = tuple("/opt/ /mnt/ /media/ /srv/ /Volumes/ /home/ /Users/ /private/tmp /var/tmp".split())
"""Directories below system directories that hold people's files."""

_DISK_DEVICES = tuple(
    "/dev/sd /dev/hd /dev/vd /dev/xvd /dev/nvme /dev/mmcblk /dev/disk /dev/rdisk /dev/md /dev/dm- /dev/mapper/"
    " /dev/loop /dev/mem /dev/kmem /dev/port /dev/zvol".split()
)


def locate(path: str, environment: Environment) -> Location:
    """Return where a path is. `/etc/*` counts as `/etc`."""
    path = strip_wildcards(path)
    if environment.ignores_case:
        path, environment = path.lower(), _lowercase(environment)
    if path.startswith(UNKNOWN_TEXT):
        return Location.UNKNOWN
    if path == "/":
        return Location.ROOT
    if path.startswith(_DISK_DEVICES):
        return Location.DEVICE
    if any(_is_within(path, own) for own in environment.own_paths):
        return Location.OWN
    return _locate_in_workspace(path, environment) or _locate_on_machine(path, environment)


def strip_wildcards(path: str) -> str:
    """Remove last parts that match everything: `/etc/*` becomes `/etc`."""
    clean = path.rstrip("/") or "/"
    while True:
        head, tail = posixpath.split(clean)
        if not tail or tail in {".", ".."} or not set(tail) <= set("*.?[]!{},") or "*" not in tail:
            return clean
        clean = head or "/"


def _lowercase(environment: Environment) -> Environment:
    def lower(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(path.lower() for path in paths)

    return environment._replace(
        home=environment.home.lower(),
        roots=lower(environment.roots),
        temporary=lower(environment.temporary),
        own_paths=lower(environment.own_paths),
    )


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _locate_in_workspace(path: str, environment: Environment) -> Location | None:
    for root in environment.roots:
        if _is_within(root, path):
            home = _is_within(environment.home, path)
            system = path.strip("/").partition("/")[0] in _SYSTEM_DIRECTORIES and path.count("/") == 1
            return None if home or system else Location.WORKSPACE
        if _is_within(path, root):
            rest = path[len(root) :].strip("/")
            return Location.GIT if rest.removeprefix(f"{UNKNOWN_TEXT}/").split("/")[0] == ".git" else Location.INSIDE
    return None


def _locate_on_machine(path: str, environment: Environment) -> Location:
    parts = path.strip("/").split("/")
    if (
        _is_within(environment.home, path)
        or (parts[0] in {"home", "Users", "users"} and len(parts) <= 2)
        or path == "/root"
    ):
        return Location.HOME
    if _is_within(path, environment.home):
        return Location.PERSONAL
    if any(_is_within(path, directory) and path != directory for directory in environment.temporary):
        return Location.TEMPORARY
    shared = path.startswith(_SHARED_DIRECTORIES) and path.count("/") > 1
    if parts[0] in _SYSTEM_DIRECTORIES and not shared:
        return Location.SYSTEM
    return Location.ELSEWHERE
