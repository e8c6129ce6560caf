"""Branches that everybody's work stands on, by their usual names."""

MAIN = frozenset("main master trunk develop production release".split())


def is_main(ref: str) -> bool:
    """Whether a name, or what a push says of one (`:main`, `HEAD:main`, `+refs/heads/main`), is such a branch."""
    return ref.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") in MAIN
