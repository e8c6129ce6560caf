"""Guard: backups and snapshots that are deleted, which makes every other mistake final."""

from trotline.guards.guard import HIGH, LOW, MEDIUM, Filter, GuardRule, build_guard

GUARD = build_guard(
    "backups",
    "backups and snapshots are deleted",
    {
        "deletes": GuardRule(
            Filter("backup: destroy"),
            HIGH,
            "`{target}` deletes backups or breaks into their store; what they held is gone",
            "try it with a dry run, and let a person do it",
        ),
        "stops": GuardRule(Filter("backup: stop"), MEDIUM, "`{target}` stops backups from being made"),
        "changes": GuardRule(Filter("backup: change"), LOW, "`{target}` changes backups or writes what they hold"),
    },
)
