"""Where a path is, in the terms in which people fear for it."""

import posixpath
from enum import StrEnum

from trotline.analysis.scene import World
from trotline.analysis.step import GAP


class Place(StrEnum):
    """From what nobody gets back to what can be made again."""

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


_SYSTEM = frozenset(
    "Applications Library System Users Volumes Windows applications library system users volumes bin"
    " boot cores dev etc home lib lib32 lib64 media"
    " mnt nix opt private proc root run sbin srv sys usr var windows".split()
) | {"Program Files", "Program Files (x86)", "ProgramData", "program files", "program files (x86)", "programdata"}
_SHARED = ("/opt/", "/mnt/", "/media/", "/srv/", "/Volumes/", "/home/", "/Users/", "/private/tmp", "/var/tmp")  # noqa: S108 - names to recognise
"""Below these is people's work, not the system's."""

_DISKS: tuple[str, ...] = (
    "/dev/sd",
    "/dev/hd",
    "/dev/vd",
    "/dev/xvd",
    "/dev/nvme",
    "/dev/mmcblk",
    "/dev/disk",
    "/dev/rdisk",
    "/dev/md",
)
_DISKS += ("/dev/dm-", "/dev/mapper/", "/dev/loop", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/zvol")


def place_of(path: str, world: World) -> Place:
    """Where the path is; a pattern that takes everything is the directory it stands in."""
    path = whole(path)
    if world.ignores_case:
        path, world = path.lower(), _lower(world)
    if path.startswith(GAP):
        return Place.UNKNOWN
    if path == "/":
        return Place.ROOT
    if path.startswith(_DISKS):
        return Place.DEVICE
    if any(_within(path, own) for own in world.own):
        return Place.OWN
    return _in_workspace(path, world) or _on_machine(path, world)


def whole(path: str) -> str:
    """The path without a last part that takes everything: `/etc/*` is `/etc`."""
    clean = path.rstrip("/") or "/"
    while True:
        head, tail = posixpath.split(clean)
        if not tail or tail in {".", ".."} or not set(tail) <= set("*.?[]!{},") or "*" not in tail:
            return clean
        clean = head or "/"


def _lower(world: World) -> World:
    def lower(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(path.lower() for path in paths)

    return world._replace(
        home=world.home.lower(), roots=lower(world.roots), temporary=lower(world.temporary), own=lower(world.own)
    )


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _in_workspace(path: str, world: World) -> Place | None:
    for root in world.roots:
        if _within(root, path):
            home = _within(world.home, path)
            system = path.strip("/").partition("/")[0] in _SYSTEM and path.count("/") == 1
            return None if home or system else Place.WORKSPACE
        if _within(path, root):
            rest = path[len(root) :].strip("/")
            return Place.GIT if rest.removeprefix(f"{GAP}/").split("/")[0] == ".git" else Place.INSIDE
    return None


def _on_machine(path: str, world: World) -> Place:
    parts = path.strip("/").split("/")
    if _within(world.home, path) or (parts[0] in {"home", "Users", "users"} and len(parts) <= 2) or path == "/root":
        return Place.HOME
    if _within(path, world.home):
        return Place.PERSONAL
    if any(_within(path, directory) and path != directory for directory in world.temporary):
        return Place.TEMPORARY
    shared = path.startswith(_SHARED) and path.count("/") > 1
    if parts[0] in _SYSTEM and not shared:
        return Place.SYSTEM
    return Place.ELSEWHERE
