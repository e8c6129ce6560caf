"""Guard: infrastructure as code that is applied or destroyed: real machines and data."""

from trotline.guards.guard import HIGH, MEDIUM, build_guard, rule

GUARD = build_guard(
    "infrastructure",
    "machines and data that a description stands for are destroyed or changed",
    {
        "destroys": rule(
            "infra: destroy",
            HIGH,
            "`{target}` destroys what is described, or forgets that it exists",
            "show the plan to a person (`plan -destroy`, `preview`) and let them apply it",
        ),
        "changes": rule(
            "infra: change|grant|stop",
            MEDIUM,
            "`{target}` changes real machines",
            "make a plan first, and have it read",
        ),
    },
)
