"""Guard: commands that start again later, without the agent and without a question."""

from trotline.guards.guard import ASK, DENY, Filter, Guard, GuardRule

GUARD = Guard(
    name="persistence",
    danger="what is started again later, without anybody asking",
    kinds={"persist"},
    rules=(
        GuardRule(
            "removed",
            Filter(verbs={"remove"}),
            (ASK, DENY, DENY),
            "all that is scheduled would be removed: {target}",
            "change one line",
        ),
        GuardRule("key", Filter(verbs={"ssh key"}), (ASK, DENY, DENY), "{target} would let in whoever has the key"),
        GuardRule(
            "scheduled",
            Filter(verbs={"crontab", "at", "batch", "schtasks", "start entry", "timer"}),
            (ASK, DENY, DENY),
            "something would be run later, when nobody looks ({verb})",
            "run it now, or show the person the line",
        ),
        GuardRule("service", Filter(), (ASK, DENY, DENY), "{target} would be started with the machine"),
    ),
)
