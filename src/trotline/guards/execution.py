"""Guard: programs in places where anybody may have put them."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Effect
from trotline.guards.guard import HIGH, LOW, MEDIUM, Filter, GuardContext, build_guard, rule


def _is_in_memory_file(effect: Effect, _: GuardContext) -> bool:
    return effect.path.startswith(("/proc/self/fd/", "/dev/fd/", "/dev/shm/", "/memfd"))  # noqa: S108 - names to recognise


def _reads_file(effect: Effect, _: GuardContext) -> bool:
    return "file" in effect.source.split(",")


GUARD = build_guard(
    "execution",
    "programs that lie where anybody may have put them",
    {
        "memory": rule(Filter("execute: *", when=_is_in_memory_file), HIGH, "{path} is a program that no disk holds"),
        "temporary": rule(
            Filter("execute: *", sources={"file", "written"}, locations={Location.TEMPORARY}),
            MEDIUM,
            "{path} lies where anybody may have put it",
            "run it from the workspace",
        ),
        "through a pipe": rule(
            Filter("execute: pipe", when=_reads_file), LOW, "a shell would obey a file that nobody read first"
        ),
    },
)
