"""Guard: infrastructure as code that is applied or destroyed: real machines and data."""

from trotline.analysis.service_verbs import VerbKind
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="infrastructure",
    danger="machines and data that a description stands for are destroyed or changed",
    kinds={"infra"},
    rules=(
        GuardRule(
            "destroys",
            Filter(verbs={VerbKind.DESTROY}),
            (ASK, DENY, DENY),
            "`{target}` destroys what is described, or forgets that it exists",
            "show the plan to a person (`plan -destroy`, `preview`) and let them apply it",
        ),
        GuardRule(
            "changes",
            Filter(verbs={VerbKind.CHANGE, VerbKind.GRANT, VerbKind.STOP}),
            (PASS, ASK, DENY),
            "`{target}` changes real machines",
            "make a plan first, and have it read",
        ),
    ),
)
