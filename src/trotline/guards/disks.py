"""Disks and volumes that would be overwritten, formatted or cut up."""

from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, opaque

_FILES = {Place.INSIDE, Place.TEMPORARY, Place.PERSONAL, Place.ELSEWHERE}
_REPLACES = frozenset({"write", "link"})  # to delete one is for `deletion`
_MILD = frozenset({"unmount", "shrink"})


def _image(effect: Effect, sight: Sight) -> bool:
    """A file that only looks like a disk from the inside."""
    return effect.kind == "disk" and effect.path != "" and sight.place(effect) in _FILES


def _mild(effect: Effect, _: Sight) -> bool:
    return effect.kind == "disk" and effect.verb in _MILD


def _unknown(effect: Effect, _: Sight) -> bool:
    return effect.kind == "disk" and opaque(effect)


def _destroyed(effect: Effect, _: Sight) -> bool:
    return effect.kind == "disk"


def _written(effect: Effect, sight: Sight) -> bool:
    return effect.kind in _REPLACES and sight.place(effect) is Place.DEVICE


GUARD = Guard(
    name="disks",
    danger="whole disks and volumes, with all that is on them",
    kinds=_REPLACES | {"disk"},
    rows=(
        Row("image", _image, "pass pass ask", "{path} would be made anew as a disk image"),
        Row("taken out", _mild, "pass ask deny", "{target} would be taken out of use ({verb})"),
        Row("unknown", _unknown, "ask deny deny", "which disk is meant is not known: {why}", "name the device"),
        Row(
            "destroyed",
            _destroyed,
            "deny deny deny",
            "{target} would be lost with all that is on it ({verb})",
            "work on a file inside the workspace as a disk image",
            floor=True,
        ),
        Row(
            "overwritten",
            _written,
            "deny deny deny",
            "{path} is a device: what is written there replaces what is on it",
            "write to a file inside the workspace",
            floor=True,
        ),
    ),
    stops=(
        "mkfs.xfs /dev/sdz1",
        "sudo mkfs -t ext4 /dev/vdb",
        "wipefs --all /dev/sdz",
        "dd if=/dev/zero of=/dev/sdz bs=1M",
        "cat image.iso > /dev/sdz",
        "sgdisk -Z /dev/nvme1n1",
        "parted /dev/sdz mklabel gpt",
        "diskutil eraseVolume APFS Scratch /dev/disk4",
        "diskutil partitionDisk disk4 GPT APFS Scratch 100%",
        "format E: /q /y",
        "btrfs subvolume delete /srv/old",
        "zpool destroy pool9",
        "lvremove -f group9/part",
        "cryptsetup luksFormat /dev/sdz2",
        "blkdiscard /dev/nvme1n1",
        "echo x | tee /dev/sdz",
        "env A=1 nice mkswap /dev/sdz3",
        "mdadm --zero-superblock /dev/sdz1",
        "shred -n1 /dev/sdz",
        "ln -sf blank.img /dev/sdz",
        "cp memory.bin /dev/mem",
        "vssadmin delete shadows /for=d:",
    ),
    passes=(
        "fdisk -l",
        "lsblk",
        "wipefs /dev/sdz",
        "parted /dev/sdz print",
        "zpool status",
        "mkfs.ext4 part9.img",
        "dd if=/dev/urandom of=random.bin count=1",
        "diskutil list",
        "echo mkfs.ext4 /dev/sdz1",
        "lvremove --test group9/part",
        "df -h",
        "echo x > /dev/null",
    ),
)
