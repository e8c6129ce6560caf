"""Guard: disks and volumes that are overwritten, formatted or partitioned."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Certainty, Effect
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardContext, GuardRule

_FILES = {Location.INSIDE, Location.TEMPORARY, Location.PERSONAL, Location.ELSEWHERE}
_REPLACES = frozenset({"write", "link"})  # deleting a device belongs to the guard `deletion`


def _has_path(effect: Effect, _: GuardContext) -> bool:
    return effect.path != ""


GUARD = Guard(
    name="disks",
    danger="whole disks and volumes, with all that is on them",
    kinds=_REPLACES | {"disk"},
    rules=(
        GuardRule(
            "image",
            Filter(kinds={"disk"}, locations=_FILES, when=_has_path),
            (PASS, PASS, ASK),
            "{path} would be made anew as a disk image",
        ),
        GuardRule(
            "taken out",
            Filter(kinds={"disk"}, verbs={"unmount", "shrink"}),
            (PASS, ASK, DENY),
            "{target} would be taken out of use ({verb})",
        ),
        GuardRule(
            "unknown",
            Filter(kinds={"disk"}, certainty=Certainty.OPAQUE),
            (ASK, DENY, DENY),
            "which disk is meant is not known: {why}",
            "name the device",
        ),
        GuardRule(
            "destroyed",
            Filter(kinds={"disk"}),
            (DENY, DENY, DENY),
            "{target} would be lost with all that is on it ({verb})",
            "work on a file inside the workspace as a disk image",
            mandatory=True,
        ),
        GuardRule(
            "overwritten",
            Filter(kinds=_REPLACES, locations={Location.DEVICE}),
            (DENY, DENY, DENY),
            "{path} is a device: what is written there replaces what is on it",
            "write to a file inside the workspace",
            mandatory=True,
        ),
    ),
)
