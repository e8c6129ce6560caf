"""Guard: file modes and owners that open files to everybody, or lock out those who need them."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Effect
from trotline.formats.lazy_regex import lazy_regex
from trotline.guards.guard import CRITICAL, DENY, HIGH, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

_MACHINE = {Location.ROOT, Location.SYSTEM, Location.HOME, Location.DEVICE}


def _is_severe_change(effect: Effect, context: GuardContext) -> bool:
    severe = effect.recursive or effect.verb in {"chmod", "chattr"}
    return severe or context.locate(effect) is Location.DEVICE


_CLAUSE = lazy_regex(r"(?P<users>[ugoa\0]*)(?P<changes>(?:[-+=][rwxXstugo\0]*)+)")
"""A clause of a symbolic mode, such as `og+w` or `u-x+r`; a zero byte stands for an unknown part."""
_GRANT = lazy_regex(r"[+=]([^-+=]*)")


def _parse_grants(mode: str) -> list[tuple[str, str]]:
    """Return the users and the granted permissions of each clause of a symbolic mode: `u+x,o=rw`."""
    clauses = [match for clause in mode.split(",") if (match := _CLAUSE.fullmatch(clause))]
    return [(clause["users"], "".join(_GRANT.findall(clause["changes"]))) for clause in clauses]


def _sets_user_or_group_id(effect: Effect, _: GuardContext) -> bool:
    mode = effect.target
    significant = mode.lstrip("0")
    # The first of four digits is a sum: 4 sets the user ID, 2 the group ID, and 1 is the sticky bit.
    is_octal_match = mode.isdigit() and len(significant) > 3 and significant[0] in "234567"
    return is_octal_match or any("s" in permissions for _, permissions in _parse_grants(mode))


def _makes_world_writable(effect: Effect, _context: GuardContext) -> bool:
    mode = effect.target
    is_octal_match = mode.isdigit() and len(mode) >= 3 and mode[-1] in "2367"
    # Without users, as in `+w`, the umask applies, which usually leaves only the owner.
    return is_octal_match or any(
        "w" in permissions and {"o", "a"} & {*users} for users, permissions in _parse_grants(mode)
    )


GUARD = build_guard(
    "permissions",
    "modes and owners that open or lock what others rely on",
    {
        "system": rule(
            Filter("permissions: *", locations=_MACHINE, when=_is_severe_change),
            CRITICAL,
            "{path} would get another mode or owner",
            "name one file in the workspace",
        ),
        "set user id": rule(
            Filter("permissions: chmod", when=_sets_user_or_group_id),
            CRITICAL,
            "{path} would run with the rights of its owner",
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
