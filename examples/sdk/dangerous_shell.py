"""Deny commands that wipe a disk or a tree, and fork bombs."""

from trotline import Verdict, deny, on, run
from trotline.domain.events import BeforeShell

WORDS = ("rm -rf /", ":(){", "mkfs", "diskutil eraseDisk", "dd of=/dev/")


@on.before_shell(fail_closed=True)
def deny_destruction(event: BeforeShell) -> Verdict | None:
    found = next((words for words in WORDS if words in event.command), None)
    return deny(f"`{found}` is never right here.") if found else None


if __name__ == "__main__":
    run()
