"""Guard: commands that start again later, without the agent and without a question."""

from trotline.guards.guard import HIGH, build_guard, rule

GUARD = build_guard(
    "persistence",
    "what is started again later, without anybody asking",
    {
        "removed": rule("persist: remove", HIGH, "all that is scheduled would be removed: {target}", "change one line"),
        "key": rule("persist: ssh key", HIGH, "{target} would let in whoever has the key"),
        "scheduled": rule(
            "persist: at|batch|crontab|schtasks|start entry|timer",
            HIGH,
            "something would be run later, when nobody looks ({verb})",
            "run it now, or show the person the line",
        ),
        "service": rule("persist: *", HIGH, "{target} would be started with the machine"),
    },
)
