"""Guard: secrets in a secret manager that are shown, changed or deleted."""

from trotline.analysis.secret_files import MANAGER_SOURCE
from trotline.analysis.service_verbs import VerbKind
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="secrets_managers",
    danger="secrets in a keeper are shown, changed or deleted",
    kinds={"read", "secrets"},
    rules=(
        GuardRule(
            "shows",
            Filter(kinds={"read"}, verbs={"secret"}, sources={MANAGER_SOURCE}),
            (PASS, ASK, DENY),
            "`{target}` prints a secret, which then stands in the conversation",
            "let the program that needs it fetch it, for example with the keeper's own `run`",
        ),
        GuardRule(
            "deletes",
            Filter(verbs={VerbKind.DESTROY}),
            (ASK, DENY, DENY),
            "`{target}` deletes secrets or the rules about them; programs that need them stop working",
            "a person should do this",
        ),
        GuardRule(
            "changes",
            Filter(kinds={"secrets"}, verbs={VerbKind.CHANGE, VerbKind.STOP, VerbKind.GRANT}),
            (PASS, ASK, DENY),
            "`{target}` changes secrets that programs rely on",
        ),
    ),
)
