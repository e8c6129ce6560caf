"""Guard: rights of another user, above all of root."""

from trotline.guards.guard import ASK, HIGH, PASS, build_guard, rule

GUARD = build_guard(
    "privilege",
    "rights of another user",
    {
        "shell": rule(
            "privilege: shell|su", HIGH, "a shell with the rights of {target}: what is typed there nobody sees"
        ),
        # Other guards evaluate the command itself; `sudo` alone is a matter of taste.
        "command": rule("privilege: *", (PASS, ASK, ASK), "a command with the rights of another user ({verb})"),
    },
)
