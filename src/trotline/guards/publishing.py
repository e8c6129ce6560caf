"""Guard: releases that everybody gets and that cannot be withdrawn completely."""

from trotline.guards.guard import ASK, DENY, HIGH, WARN, Filter, GuardRule, build_guard

GUARD = build_guard(
    "publishing",
    "releases that go out to everybody, or are taken away from them",
    {
        "withdrawn": GuardRule(
            Filter("publish: unpublish"),
            HIGH,
            "what others already use would change or go away: {target} ({source})",
            "leave this to the person who releases",
        ),
        # Many projects release from a developer's machine, so standard only warns.
        "published": GuardRule(
            Filter("publish: publish"),
            (WARN, ASK, DENY),
            "{target} would be published; a version that is out cannot be taken back",
            "a dry run shows what would be in it",
        ),
    },
)
