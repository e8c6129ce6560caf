"""Guard: file modes and owners that open files to everybody, or lock out those who need them."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, DENY, HIGH, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

_MACHINE = {Location.ROOT, Location.SYSTEM, Location.HOME, Location.DEVICE}


def _changes_machine(effect: Effect, context: GuardContext) -> bool:
    severe = effect.recursive or effect.verb in {"chmod", "chattr"}
    return severe or context.locate(effect) is Location.DEVICE


def _sets_user_id(effect: Effect, _: GuardContext) -> bool:
    mode = effect.target
    octal = mode.isdigit() and len(mode.lstrip("0")) > 3 and mode.lstrip("0")[0] in "2467"
    return octal or ("s" in mode and "+" in mode)


def _makes_world_writable(effect: Effect, _context: GuardContext) -> bool:
    mode = effect.target
    octal = mode.isdigit() and len(mode) >= 3 and mode[-1] in "2367"
    users, _, added = mode.partition("+")
    return octal or ("w" in added and users in {"a", "o", "ugo", "go", "uo"})


GUARD = build_guard(
    "permissions",
    "modes and owners that open or lock what others rely on",
    {
        "system": rule(
            Filter("permissions: *", locations=_MACHINE, when=_changes_machine),
            CRITICAL,
            "{path} would get another mode or owner",
            "name one file in the workspace",
        ),
        "set user id": rule(
            Filter("permissions: chmod", when=_sets_user_id), CRITICAL, "{path} would run with the rights of its owner"
        ),
        "everybody, everywhere": rule(
            Filter("permissions: chmod", recursive=True, when=_makes_world_writable),
            HIGH,
            "everybody could write below {path}",
            "give u+rw",
        ),
        "everybody": rule(
            Filter("permissions: chmod", when=_makes_world_writable),
            (PASS, DENY, DENY),
            "everybody could write {path}",
            "give u+w, or u+x to run it",
        ),
        "outside": rule(
            Filter(
                "permissions: *", recursive=True, locations={Location.PERSONAL, Location.ELSEWHERE, Location.UNKNOWN}
            ),
            MEDIUM,
            "everything below {path} would get another mode or owner",
        ),
    },
)
