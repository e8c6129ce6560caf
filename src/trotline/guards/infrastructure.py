"""Guard: infrastructure as code that is applied or destroyed: real machines and data."""

from trotline.guards.guard import HIGH, MEDIUM, Filter, GuardRule, build_guard

GUARD = build_guard(
    "infrastructure",
    "machines and data that a description stands for are destroyed or changed",
    {
        "destroys": GuardRule(
            Filter("infra: destroy"),
            HIGH,
            "`{target}` destroys what is described, or forgets that it exists",
            "show the plan to a person (`plan -destroy`, `preview`) and let them apply it",
        ),
        "changes": GuardRule(
            Filter("infra: change|grant|stop"),
            MEDIUM,
            "`{target}` changes real machines",
            "make a plan first, and have it read",
        ),
    },
)
