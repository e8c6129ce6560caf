"""Guard: processes that are ended all at once, and fork bombs."""

from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, HIGH, MEDIUM, Filter, GuardContext, build_guard, rule
from trotline.guards.machine import is_protector

_FORCED_SIGNALS = frozenset({"9", "KILL", "STOP", "19", "TSTP", "20", "17", "CONT", "18"})


def _ends_everything(effect: Effect, _: GuardContext) -> bool:
    return (effect.verb == "kill" and effect.target in {"-1", "1"}) or (effect.recursive and effect.verb != "probe")


def _matches_every_process(effect: Effect, _: GuardContext) -> bool:
    return effect.target.strip(".*^$") == "" or effect.target in {"init", "systemd"}


def _ends_protector(effect: Effect, _: GuardContext) -> bool:
    return effect.verb.startswith("kill") and is_protector(effect.target)


def _is_not_shell_job(effect: Effect, _: GuardContext) -> bool:
    return not effect.target.startswith("%")


GUARD = build_guard(
    "processes",
    "processes of others ended, or the machine filled with new ones",
    {
        "fork bomb": rule(
            "process: fork bomb",
            CRITICAL,
            "{target} starts itself again and again until the machine stops",
            mandatory=True,
        ),
        "endless": rule("process: endless", MEDIUM, "{target} calls itself without end"),
        "everything": rule(
            Filter("process: *", when=_ends_everything),
            CRITICAL,
            "every process would be ended: {target}",
            "name the one process that you started",
            mandatory=True,
        ),
        "by a pattern that fits all": rule(
            Filter("process: kill by name", when=_matches_every_process), CRITICAL, "{target} fits every process"
        ),
        "protector": rule(Filter("process: *", when=_ends_protector), CRITICAL, "{target} watches over this machine"),
        "elsewhere": rule(
            "process: processes|start elsewhere", HIGH, "a process would be started or ended by the system: {target}"
        ),
        "by name": rule(
            "process: kill by name", MEDIUM, "every process named {target} would be ended", "end it by its number"
        ),
        "by force": rule(
            Filter("process: kill", sources=_FORCED_SIGNALS, when=_is_not_shell_job),
            MEDIUM,
            "process {target} would be stopped without a chance to clean up",
        ),
    },
)
