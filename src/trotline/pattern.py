"""A regular expression that is compiled when it is first used.

A call that no service answers reads all our tables and asks a few of them. To compile the patterns of all of them took
a tenth of the time that its host waits.
"""

import re
from typing import Any, cast


class Later:
    """Does what a compiled pattern does."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(*self._given), name)  # Python keeps what it has compiled
        setattr(self, name, value)  # so that it is not asked here again
        return value


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    return cast("re.Pattern[str]", Later(text, flags))
