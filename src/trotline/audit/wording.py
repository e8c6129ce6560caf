"""How the words of a home are kept: how much of them, without what, and where they were said."""

import os
from functools import cache
from typing import NamedTuple

from trotline.config.install_key import install_key
from trotline.config.levels import MINIMAL, STANDARD
from trotline.config.places import OWN_RULES, Roots, is_configured
from trotline.scanners.redaction import redacting
from trotline.scanners.scan import Scanner


class Wording(NamedTuple):
    """`key` names values that are not kept, `scanners` find those that must not be."""

    key: bytes
    level: str = STANDARD
    scanners: tuple[Scanner, ...] = ()
    machine: str = ""
    user: str = ""

    @property
    def keeps_content(self) -> bool:
        return self.level != MINIMAL


def wording_of(roots: Roots) -> Wording:
    """What the machine and the person say about it, with their own rules for secrets beside ours."""
    return Wording(install_key(roots.state), _level(roots), _scanners(roots), *origin())


def _level(roots: Roots) -> str:
    if not is_configured(roots, "settings.json"):
        return STANDARD
    from trotline.config.settings import read_settings  # noqa: PLC0415 - a reader, for a file that few people have

    return read_settings(roots).records


def _scanners(roots: Roots) -> tuple[Scanner, ...]:
    """Rules that cannot be read find nothing, and `check` says so; those that can are in force."""
    if not is_configured(roots, OWN_RULES):
        return redacting()
    from trotline.config.rule_packs import read_packs  # noqa: PLC0415 - few people have rules of their own
    from trotline.scanners.pii import Pii  # noqa: PLC0415 - the same
    from trotline.scanners.secrets import Secrets, own_pack  # noqa: PLC0415 - the same

    return Secrets([own_pack(), *read_packs(roots)[0]]), Pii()


@cache
def origin() -> tuple[str, str]:
    """The machine and the user, by name."""
    try:
        import pwd  # noqa: PLC0415 - not on every system

        return os.uname().nodename, pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, AttributeError):
        import platform  # noqa: PLC0415 - where there is no password database, or nobody of ours in it

        return platform.node(), ""
