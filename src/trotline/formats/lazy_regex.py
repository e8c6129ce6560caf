"""Regular expressions that are compiled on first use.

A cold call imports all tables of programs and uses a few of them. Compiling every pattern took a tenth of its time.
"""

import re
from typing import Any, cast


class LazyRegex:
    """A stand-in for a compiled pattern that compiles itself when an attribute is first used."""

    def __init__(self, text: str, flags: int) -> None:
        self._arguments = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(*self._arguments), name)  # re caches compiled patterns
        setattr(self, name, value)  # the next access does not call __getattr__
        return value


def lazy_regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used."""
    return cast("re.Pattern[str]", LazyRegex(text, flags))
