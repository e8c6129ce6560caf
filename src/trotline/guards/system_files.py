"""Guard: files of the system, the kernel and other people that are written. Devices belong to the guard `disks`."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, HIGH, LOW, Filter, GuardContext, build_guard, rule

_KERNEL = ("/proc/", "/sys/", "/boot/")
_HARMLESS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/std", "/dev/fd/", "/dev/shm/", "/dev/pts/")  # noqa: S108 - names to recognise


def _is_kernel_file(effect: Effect, _: GuardContext) -> bool:
    return effect.path.startswith(_KERNEL)


def _is_not_harmless_path(effect: Effect, _: GuardContext) -> bool:
    return not effect.path.startswith(_HARMLESS)


GUARD = build_guard(
    "system_files",
    "files of the system and of others, written by an agent",
    {
        "kernel": rule(
            Filter("link|write: *", when=_is_kernel_file), CRITICAL, "{path} changes the machine while it runs"
        ),
        "system": rule(
            Filter("link|write: *", locations={Location.SYSTEM, Location.ROOT}, when=_is_not_harmless_path),
            HIGH,
            "{path} belongs to the system",
            "write into the workspace",
        ),
        "outside": rule(
            Filter("link|write: *", locations={Location.ELSEWHERE}),
            LOW,
            "{path} is outside the workspace",
            "write into the workspace",
        ),
    },
)
