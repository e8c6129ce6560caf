"""Guard: releases that everybody gets and that cannot be withdrawn completely."""

from trotline.guards.guard import ASK, DENY, HIGH, WARN, build_guard, rule

GUARD = build_guard(
    "publishing",
    "releases that go out to everybody, or are taken away from them",
    {
        "withdrawn": rule(
            "publish: unpublish",
            HIGH,
            "what others already use would change or go away: {target} ({source})",
            "leave this to the person who releases",
        ),
        # Many projects release from a developer's machine, so standard only warns.
        "published": rule(
            "publish: publish",
            (WARN, ASK, DENY),
            "{target} would be published; a version that is out cannot be taken back",
            "a dry run shows what would be in it",
        ),
    },
)
