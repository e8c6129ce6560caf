"""Guard: secrets in a secret manager that are shown, changed or deleted."""

from trotline.analysis.secret_files import MANAGER_SOURCE
from trotline.guards.guard import HIGH, MEDIUM, Filter, build_guard, rule

GUARD = build_guard(
    "secrets_managers",
    "secrets in a keeper are shown, changed or deleted",
    {
        "shows": rule(
            Filter("read: secret", sources={MANAGER_SOURCE}),
            MEDIUM,
            "`{target}` prints a secret, which then stands in the conversation",
            "let the program that needs it fetch it, for example with the keeper's own `run`",
        ),
        "deletes": rule(
            "secrets: destroy",
            HIGH,
            "`{target}` deletes secrets or the rules about them; programs that need them stop working",
            "a person should do this",
        ),
        "changes": rule("secrets: change|grant|stop", MEDIUM, "`{target}` changes secrets that programs rely on"),
    },
)
