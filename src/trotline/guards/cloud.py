"""Guard: resources at a cloud service that are deleted, stopped or opened to everybody."""

from trotline.analysis.cloud_settings import CloudSetting
from trotline.analysis.service_verbs import REMOVE, VerbKind
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="cloud",
    danger="what others rely on is deleted or stopped at a service",
    kinds={"cloud"},
    rules=(
        GuardRule(
            "deletes",
            Filter(verbs={VerbKind.DESTROY}),
            (ASK, DENY, DENY),
            "`{target}` deletes something at {host}, and this machine cannot bring it back",
            "look at it first, or try it with a dry run; a person should delete it",
        ),
        GuardRule(
            "unprotected",
            Filter(sources={CloudSetting.UNPROTECTED}),
            (PASS, ASK, DENY),
            "`{target}` takes away what keeps something at {host} from being lost",
            "leave it protected; who really deletes it takes the protection away then",
        ),
        GuardRule(
            "open to everybody",
            Filter(sources={CloudSetting.OPEN}),
            (PASS, ASK, DENY),
            "`{target}` lets everybody reach something at {host}",
            "name the addresses or the people that need it",
        ),
        GuardRule(
            "nothing left running",
            Filter(sources={CloudSetting.STOPPED}),
            (PASS, ASK, DENY),
            "`{target}` leaves nothing of it running at {host}",
        ),
        GuardRule(
            "runs elsewhere",
            Filter(sources={CloudSetting.REMOTE}),
            (PASS, ASK, DENY),
            "`{target}` runs commands on machines at {host}, and nobody sees there what they do",
        ),
        GuardRule(
            "stops",
            Filter(verbs={VerbKind.STOP}),
            (PASS, ASK, DENY),
            "`{target}` stops or takes back something at {host} that may be in use",
        ),
        GuardRule(
            "removes",
            Filter(verbs={REMOVE}),
            (PASS, ASK, ASK),
            "`{target}` takes something away at {host}",
            "say what would be gone, and let a person do it",
        ),
        GuardRule(
            "opens", Filter(verbs={VerbKind.GRANT}), (PASS, ASK, DENY), "`{target}` changes who may do what at {host}"
        ),
        GuardRule(
            "changes", Filter(verbs={VerbKind.CHANGE}), (PASS, PASS, ASK), "`{target}` changes something at {host}"
        ),
    ),
)
