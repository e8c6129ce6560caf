"""Options of ssh that run a program on this machine; scp and sftp hand them on as they are."""

from collections.abc import Iterable

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step

_RUN = frozenset({"knownhostscommand", "localcommand", "proxycommand"})


def started(step: Step, settings: Iterable[Argument]) -> None:
    """What the values of `-o` run: `ProxyCommand=...`, or with a blank in place of the sign."""
    for setting in settings:
        name, _, value = setting.text.replace("=", " ", 1).partition(" ")
        if name.lower() in _RUN:
            step.script(setting._replace(text=value))
