"""Disks, volumes and file systems: what is formatted, cut up or wiped is gone for everybody."""

import re
from typing import NamedTuple

from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step

_DRY = ("n", "dry-run", "test", "no-act", "help", "h", "V", "version", "pretend")


class Disk(NamedTuple):
    """How a program destroys: by its bare name, by an option, or by a word; and which words are harmless."""

    verb: str
    valued: str = ""
    when: str = ""  # options that make it do so; without any it always does
    words: str = ""  # verbs among its words that make it do so
    object: int = 0  # which word names the device
    dry: str = "n dry-run test no-act pretend"
    volume: bool = False  # its words name volumes, not files


DISKS = {
    "badblocks": Disk("wipe", "b c e d i o p t", when="w n", dry="h"),
    "blkdiscard": Disk("wipe", "o l p offset length step"),
    "cryptsetup": Disk(
        "erase", "d key-file c s h", words="luksFormat luksErase erase luksKillSlot luksRemoveKey reencrypt"
    ),
    "dmsetup": Disk("remove volume", words="remove remove_all wipe_table", volume=True),
    "fdformat": Disk("format"),
    "hdparm": Disk("wipe", when="security-erase security-erase-enhanced trim-sector-ranges make-bad-sector"),
    "lvreduce": Disk("shrink", "L l size extents", volume=True),
    "lvremove": Disk("remove volume", "S reportformat config select", volume=True, dry="test t h help"),
    "mdadm": Disk("remove array", when="S stop zero-superblock r remove f fail set-faulty create C"),
    "mke2fs": Disk("format", "b C E f g G i I J L m M N O r T U t e d o"),
    "mkfs": Disk("format", "t type L"),
    "mkswap": Disk("format", "L U p label uuid pagesize"),
    "nvme": Disk("wipe", "s n l f", words="format sanitize write-zeroes delete-ns write-uncor"),
    "pvremove": Disk("remove volume", "config reportformat", dry="test t h help"),
    "resize2fs": Disk("shrink", "S z d"),
    "sgdisk": Disk(
        "partition", "d n c t a A b l", when="z Z zap zap-all o clear d delete n new G mbrtogpt g l load-backup"
    ),
    "tune2fs": Disk("format", "L m O c e i", when="O"),
    "vgreduce": Disk("remove volume", "config", volume=True, dry="test t h help"),
    "vgremove": Disk("remove volume", "S config reportformat select", volume=True, dry="test t h help"),
    "wipefs": Disk("wipe", "o t O offset types output", when="a all o offset"),
    "zfs": Disk("remove volume", "o t", words="destroy rollback", object=1, volume=True),
    "zpool": Disk("remove volume", "o", words="destroy labelclear remove split offline detach create", volume=True),
    "btrfs": Disk("remove volume", "", words="delete remove", volume=True),
    "newfs": Disk("format", "b f i m O U L"),
    "newfs_apfs": Disk("format", "v"),
    "newfs_hfs": Disk("format", "v"),
    "gpart": Disk("partition", "t s i l", words="destroy delete create restore"),
    "swapoff": Disk("unmount"),
}
_MAKERS = (
    "bcachefs bfs btrfs cramfs exfat ext2 ext3 ext4 f2fs fat jfs minix msdos nilfs2 ntfs reiserfs udf vfat xfs zfs"
)


def _disk(step: Step) -> None:
    row = DISKS.get(step.name) or DISKS["mkfs"]
    found = step.options(row.valued.split())
    if found.has(*row.dry.split()):
        return
    rest = list(found.rest)
    if row.words:
        at = next((index for index, word in enumerate(rest) if word.text in row.words.split()), None)
        if at is None:
            return
        rest = rest[at + 1 :]
    elif row.when and not found.has(*row.when.split()):
        return
    if found.has("help", "h", "V", "version") and row.verb != "format":
        return
    destroyed(step, rest, row.verb, volume=row.volume)


def destroyed(step: Step, words: list[Argument], verb: str, *, volume: bool = False) -> None:
    """Devices by their paths; volumes by their names, which are no files even where they look like one."""
    for word in words or [step.program]:
        path = "" if volume or word is step.program else step.path(word)
        step.effect("disk", verb, word, path=path, target=word.text, writes=True)


def _partition(step: Step) -> None:
    """`fdisk`, `gdisk`, `cfdisk`, `sfdisk`, `parted`: they change the table unless they are only asked to show it."""
    found = step.options("b c t u w C H S o f N align unit script-file".split())
    words = list(found.rest)
    if found.has("l", "list", "h", "help", "V", "version", "d", "dump", "n", "no-act", "J", "json", "F", "list-free"):
        return
    verbs = {word.text.lower() for word in words[1:]}
    reads = verbs & {"print", "p", "align-check", "unit", "help", "version", "quit"}
    changes = verbs & {"rm", "mklabel", "mktable", "mkpart", "mkfs", "resizepart", "rescue", "set", "toggle", "name"}
    if step.name == "parted" and reads and not changes:
        return
    destroyed(step, words[:1], "partition")


_DISKUTIL = {
    **dict.fromkeys("partitiondisk splitpartition resizevolume resizestack resizecontainer".split(), slice(1)),
    **dict.fromkeys("deletecontainer deletevolume deletevolumegroup delete reformat".split(), slice(1)),
    **dict.fromkeys("erasedisk erasevolume zerodisk randomdisk secureerase erasecd".split(), slice(-1, None)),
    "mergepartitions": slice(-2, None),
}
"""Where the disk stands among the words: before what becomes of it, or behind."""


def _diskutil(step: Step) -> None:
    verbs = [word.text.lower() for word in step.words]
    at = next((index for index, verb in enumerate(verbs[:2]) if verb in _DISKUTIL), None)
    if at is not None and "limits" not in verbs:
        named = [word for word in step.words[at + 1 :] if not word.text.startswith("-")]
        where = slice(1) if verbs[0] == "apfs" else _DISKUTIL[verbs[at]]
        destroyed(step, named[where], "erase", volume=True)
    elif verbs[:1] in (["unmount"], ["unmountdisk"], ["eject"]):
        step.effect("system", "unmount", target=verbs[-1])


_DRIVE = re.compile(r"[A-Za-z]:[\\/]?|[\\/]{2}[.?][\\/].+")


def _format(step: Step) -> None:
    """The one of Windows, which takes drives; a program of a project may have this name too."""
    drives = [word for word in step.words if _DRIVE.fullmatch(word.text)]
    if drives:
        destroyed(step, drives, "format", volume=True)


def _hdiutil(step: Step) -> None:
    verbs = [word.text for word in step.words]
    if verbs[:1] in (["attach"], ["mount"]):
        step.effect("system", "mount", target=verbs[-1])
    elif verbs[:1] == ["create"]:
        step.write(step.words[-1])


def _mount(step: Step) -> None:
    found = step.options("t o O L U types options".split())
    if len(found.rest) < 1 and not found.has("a", "all"):
        return
    target = found.rest[-1] if found.rest else step.program
    source = found.rest[0].text if len(found.rest) > 1 else ""
    held = {*found.value("o", "options").split(",")}
    over = found.has("bind", "rbind", "move", "B", "R", "M") or held & {"bind", "rbind", "remount", "suid", "dev"}
    special = found.value("t", "types") in {"overlay", "binfmt_misc", "cgroup", "cgroup2", "proc", "sysfs", "devtmpfs"}
    verb = "mount over" if over or special else "mount"
    step.effect("system", verb, target, path=step.path(target), source=source, target=target.text)


def _umount(step: Step) -> None:
    found = step.options("t O".split())
    if found.has("a", "all"):
        step.effect("system", "unmount", path="/", target="everything")
    for word in found.rest:
        step.effect("system", "unmount", word, path=step.path(word), target=word.text)


def _debugfs(step: Step) -> None:
    """Files of a disk, read past all permissions."""
    found = step.options("R f c b s".split())
    for at in found.values("R"):
        for name in at.text.split()[1:2]:
            step.read(at._replace(text=name))
    if found.has("w"):
        destroyed(step, list(found.rest[-1:]), "overwrite")


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(DISKS, _disk),
    **{f"mkfs.{name}": _disk for name in _MAKERS.split()},
    "cfdisk": _partition,
    "debugfs": _debugfs,
    "diskutil": _diskutil,
    "fdisk": _partition,
    "format": _format,
    "gdisk": _partition,
    "hdiutil": _hdiutil,
    "mount": _mount,
    "parted": _partition,
    "sfdisk": _partition,
    "umount": _umount,
}
