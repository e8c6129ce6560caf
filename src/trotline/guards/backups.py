"""Guard: backups and snapshots that are deleted, which makes every other mistake final."""

from trotline.analysis.service_verbs import VerbKind
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="backups",
    danger="backups and snapshots are deleted",
    kinds={"backup"},
    rules=(
        GuardRule(
            "deletes",
            Filter(verbs={VerbKind.DESTROY}),
            (ASK, DENY, DENY),
            "`{target}` deletes backups or breaks into their store; what they held is gone",
            "try it with a dry run, and let a person do it",
        ),
        GuardRule(
            "stops", Filter(verbs={VerbKind.STOP}), (PASS, ASK, DENY), "`{target}` stops backups from being made"
        ),
        GuardRule(
            "changes",
            Filter(verbs={VerbKind.CHANGE}),
            (PASS, PASS, ASK),
            "`{target}` changes backups or writes what they hold",
        ),
    ),
)
