"""Backups are what one goes back to: who deletes them makes every other mistake final."""

from trotline.analysis.verbs import Deed
from trotline.guards.deeds import does
from trotline.guards.guard import Guard, Row

GUARD = Guard(
    name="backups",
    danger="backups and snapshots are deleted",
    kinds=frozenset({"backup"}),
    rows=(
        Row(
            "deletes",
            does(Deed.DESTROY),
            "ask deny deny",
            "`{target}` deletes backups or breaks into their store; what they held is gone",
            "try it with a dry run, and let a person do it",
        ),
        Row("stops", does(Deed.STOP), "pass ask deny", "`{target}` stops backups from being made"),
        Row("changes", does(Deed.CHANGE), "pass pass ask", "`{target}` changes backups or writes what they hold"),
    ),
    stops=(
        "restic -r /srv/copies forget --keep-last 2 --prune",
        "restic key remove 7f3a",
        "borg prune --keep-daily 3 /srv/borg",
        "borg --lock-wait 5 delete /srv/borg::monday",
        "velero backup delete weekly --confirm",
        "velero schedule delete weekly",
        "kopia snapshot expire --all --delete",
        "duplicity remove-older-than 6M file:///srv/dup",
        "tmutil deletelocalsnapshots 2026-01-01",
        "timeshift --delete-all",
        "env BORG_REPO=/srv/borg borg compact",
        "pgbackrest --stanza=main expire",
    ),
    passes=(
        "restic -r /srv/copies snapshots",
        "restic forget --keep-last 2 --dry-run",
        "restic backup ~/notes",
        "restic restore latest --target ./out",
        "borg list /srv/borg",
        "borg create /srv/borg::tuesday ~/notes",
        "borg prune -n --keep-daily 3 /srv/borg",
        "velero backup get",
        "velero backup describe weekly --details",
        "kopia snapshot list",
        "echo borg delete /srv/borg",
    ),
)
