"""Guard: backups and snapshots that are deleted, which makes every other mistake final."""

from trotline.guards.guard import HIGH, LOW, MEDIUM, build_guard, rule

GUARD = build_guard(
    "backups",
    "backups and snapshots are deleted",
    {
        "deletes": rule(
            "backup: destroy",
            HIGH,
            "`{target}` deletes backups or breaks into their store; what they held is gone",
            "try it with a dry run, and let a person do it",
        ),
        "stops": rule("backup: stop", MEDIUM, "`{target}` stops backups from being made"),
        "changes": rule("backup: change", LOW, "`{target}` changes backups or writes what they hold"),
    },
)
