"""A package manager as a row: its verbs, sorted by what they do, and the options that matter."""

from functools import cache
from typing import NamedTuple


class Manager(NamedTuple):
    """One row. `acts`: what is done, and the verbs that do it (`config.set` is two words).

    install, remove, publish, unpublish; `fetched`: fetches a package and runs it; `carried`: runs the words that
    follow; `scripts`: runs something that the project's files name; `setting`: changes a setting; `source`: adds a
    place that packages come from; `clean`: empties a cache; `unlocked`: changes versions beyond what was asked for.
    """

    kind: str
    acts: dict[str, str]
    valued: str = ""
    indexes: str = ""  # options that name another place to install from
    bare: str = ""  # what it does without a verb
    scope: str = "project"  # project, user, system: who else is touched
    long_dash: bool = False  # `-name` is one option

    def act(self, first: str, second: str) -> tuple[str, int]:
        """What these verbs do, and how many words they are."""
        verbs = _verbs(self.kind, tuple(self.acts.items()))
        two = verbs.get(f"{first}.{second}")
        return (two, 2) if two else (verbs.get(first, ""), 1)


@cache
def _verbs(_: str, acts: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {verb: act for act, verbs in acts for verb in verbs.split()}
