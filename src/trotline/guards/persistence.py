"""Guard: commands that start again later, without the agent and without a question."""

from trotline.guards.guard import HIGH, Filter, GuardRule, build_guard

GUARD = build_guard(
    "persistence",
    "what is started again later, without anybody asking",
    {
        "removed": GuardRule(
            Filter("persist: remove"), HIGH, "all that is scheduled would be removed: {target}", "change one line"
        ),
        "key": GuardRule(Filter("persist: ssh key"), HIGH, "{target} would let in whoever has the key"),
        "scheduled": GuardRule(
            Filter("persist: at|batch|crontab|schtasks|start entry|timer"),
            HIGH,
            "something would be run later, when nobody looks ({verb})",
            "run it now, or show the person the line",
        ),
        "service": GuardRule(Filter("persist: *"), HIGH, "{target} would be started with the machine"),
    },
)
