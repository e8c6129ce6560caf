"""Guard: disks and volumes that are overwritten, formatted or partitioned."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Certainty, Effect
from trotline.guards.guard import CRITICAL, HIGH, LOW, MEDIUM, Filter, GuardContext, build_guard, rule

_FILES = {Location.INSIDE, Location.TEMPORARY, Location.PERSONAL, Location.ELSEWHERE}


def _has_path(effect: Effect, _: GuardContext) -> bool:
    return effect.path != ""


GUARD = build_guard(
    "disks",
    "whole disks and volumes, with all that is on them",
    {
        "image": rule(
            Filter("disk: *", locations=_FILES, when=_has_path), LOW, "{path} would be made anew as a disk image"
        ),
        "taken out": rule("disk: shrink|unmount", MEDIUM, "{target} would be taken out of use ({verb})"),
        "unknown": rule(
            Filter("disk: *", certainty=Certainty.OPAQUE),
            HIGH,
            "which disk is meant is not known: {why}",
            "name the device",
        ),
        "destroyed": rule(
            "disk: *",
            CRITICAL,
            "{target} would be lost with all that is on it ({verb})",
            "work on a file inside the workspace as a disk image",
            mandatory=True,
        ),
        # Deleting a device belongs to the guard `deletion`.
        "overwritten": rule(
            Filter("link|write: *", locations={Location.DEVICE}),
            CRITICAL,
            "{path} is a device: what is written there replaces what is on it",
            "write to a file inside the workspace",
            mandatory=True,
        ),
    },
)
