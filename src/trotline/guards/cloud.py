"""Guard: resources at a cloud service that are deleted, stopped or opened to everybody."""

from trotline.analysis.cloud_settings import CloudSetting
from trotline.guards.guard import ASK, HIGH, LOW, MEDIUM, PASS, Filter, build_guard, rule

GUARD = build_guard(
    "cloud",
    "what others rely on is deleted or stopped at a service",
    {
        "deletes": rule(
            "cloud: destroy",
            HIGH,
            "`{target}` deletes something at {host}, and this machine cannot bring it back",
            "look at it first, or try it with a dry run; a person should delete it",
        ),
        "unprotected": rule(
            Filter("cloud: *", sources={CloudSetting.UNPROTECTED}),
            MEDIUM,
            "`{target}` takes away what keeps something at {host} from being lost",
            "leave it protected; who really deletes it takes the protection away then",
        ),
        "open to everybody": rule(
            Filter("cloud: *", sources={CloudSetting.OPEN}),
            MEDIUM,
            "`{target}` lets everybody reach something at {host}",
            "name the addresses or the people that need it",
        ),
        "nothing left running": rule(
            Filter("cloud: *", sources={CloudSetting.STOPPED}),
            MEDIUM,
            "`{target}` leaves nothing of it running at {host}",
        ),
        "runs elsewhere": rule(
            Filter("cloud: *", sources={CloudSetting.REMOTE}),
            MEDIUM,
            "`{target}` runs commands on machines at {host}, and nobody sees there what they do",
        ),
        "stops": rule("cloud: stop", MEDIUM, "`{target}` stops or takes back something at {host} that may be in use"),
        "removes": rule(
            "cloud: remove",
            (PASS, ASK, ASK),
            "`{target}` takes something away at {host}",
            "say what would be gone, and let a person do it",
        ),
        "opens": rule("cloud: grant", MEDIUM, "`{target}` changes who may do what at {host}"),
        "changes": rule("cloud: change", LOW, "`{target}` changes something at {host}"),
    },
)
