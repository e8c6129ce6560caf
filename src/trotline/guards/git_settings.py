"""Guard: git settings that run code: aliases, hooks, helpers, filters."""

from trotline.domain.effects import Effect
from trotline.guards.guard import HIGH, MEDIUM, PASS, WARN, Filter, GuardContext, build_guard, rule


def _is_credential_setting(effect: Effect, _: GuardContext) -> bool:
    return effect.target.startswith("credential.")


GUARD = build_guard(
    "git_settings",
    "code that git runs by itself from now on",
    {
        "command": rule(
            "git: configure-command",
            HIGH,
            "git would run this by itself from now on ({target}): {source}",
            "run the command itself, once, where it can be seen",
        ),
        "hooks": rule(
            "git: configure-hooks",
            HIGH,
            "git would run the programs in {path} by itself from now on ({target})",
            "leave the hooks of the repository where they are",
        ),
        "once": rule(
            "git: run-setting", MEDIUM, "git would run this because of {target}: {source}", "run the command itself"
        ),
        "passwords": rule(
            Filter("git: configure", when=_is_credential_setting),
            MEDIUM,
            "how git keeps passwords would change: {source}",
            "leave this to the person",
        ),
        "checks": rule(
            "git: skip-hooks",
            MEDIUM,
            "the checks that the repository runs before a {target} would be left out",
            "run them, and mend what they find",
        ),
        "setting": rule("git: configure", (PASS, PASS, WARN), "git's setting {target} would be changed"),
    },
)
