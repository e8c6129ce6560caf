"""Guard: rights of another user, above all of root."""

from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="privilege",
    danger="rights of another user",
    kinds={"privilege"},
    rules=(
        GuardRule(
            "shell",
            Filter(verbs={"shell", "su"}),
            (ASK, DENY, DENY),
            "a shell with the rights of {target}: what is typed there nobody sees",
        ),
        # Other guards evaluate the command itself; `sudo` alone is a matter of taste.
        GuardRule("command", Filter(), (PASS, ASK, ASK), "a command with the rights of another user ({verb})"),
    ),
)
