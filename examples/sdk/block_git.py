"""Deny network access of git in favour of `gh`, and ask before a command rewrites history."""

from trotline import Verdict, ask, deny, on, run
from trotline.domain.events import BeforeShell


@on.before_shell(matching=r"(^|[;&|]\s*)git\s+(push|fetch|pull|clone)\b")
def use_gh(event: BeforeShell) -> Verdict:
    return deny("git goes to the network through gh here.", to_agent="Use the gh command for that.")


@on.before_shell(matching=r"\bgit\s+(rebase|reset\s+--hard|commit\s+--amend|filter-branch)\b")
def keep_history(event: BeforeShell) -> Verdict:
    return ask(f"`{event.command}` rewrites history.")


if __name__ == "__main__":
    run()
