"""Every scanner: a new one is a file, and a line here."""

from functools import cache

from trotline.scanners.injection import Injection
from trotline.scanners.invisible import Invisible
from trotline.scanners.pii import Pii
from trotline.scanners.scan import Scanner
from trotline.scanners.secrets import own_secrets


@cache
def scanners() -> dict[str, Scanner]:
    """By name."""
    return {scanner.name: scanner for scanner in (own_secrets(), Pii(), Injection(), Invisible())}
