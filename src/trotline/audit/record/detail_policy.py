"""Policy for details: how much of them is kept, what is redacted, and their machine and user.

Also redacts the names that a payload gives to conversations, turns and tools. A recorded name is short, contains no
secrets, and is the same for the same input. To search for a name, redact it first; a recorded name does not change.
"""

import os
from functools import cache, lru_cache
from typing import NamedTuple

from trotline.audit.record.record_builder import MAX_NAME, PLAIN_NAME
from trotline.config.detail_levels import MINIMAL, STANDARD
from trotline.config.install.install_key import read_or_create_key
from trotline.config.paths import CONFIG_FILE, OWN_RULES, Roots, is_configured
from trotline.domain.errors import TrotlineError
from trotline.scanners.redaction import get_redaction_scanners, redact
from trotline.scanners.scan import Scanner
from trotline.scanners.spans import compute_digest


class DetailPolicy(NamedTuple):
    """Settings for building details.

    `key` is for digests of values that are not kept, `scanners` find values that must not be kept.
    """

    key: bytes
    level: str = STANDARD
    scanners: tuple[Scanner, ...] = ()
    machine: str = ""
    user: str = ""

    @property
    def keeps_content(self) -> bool:
        """True unless the level is `minimal`: then details have the sizes of texts instead of the texts."""
        return self.level != MINIMAL


def read_detail_policy(roots: Roots) -> DetailPolicy:
    """Return the policy of the machine and the user, with their own secret rules added to the built-in ones."""
    return DetailPolicy(
        read_or_create_key(roots.state), _read_level(roots), load_redaction_scanners(roots), *get_origin()
    )


def _read_level(roots: Roots) -> str:
    if not is_configured(roots, CONFIG_FILE):
        return STANDARD
    from trotline.config.settings import read_settings  # noqa: PLC0415 - few users have this file

    return read_settings(roots).records


def load_redaction_scanners(roots: Roots) -> tuple[Scanner, ...]:
    """Return the scanners that find values to redact from details.

    Rules that cannot be read are skipped, and `check` reports them; the other rules apply.
    """
    if not is_configured(roots, OWN_RULES):
        return get_redaction_scanners()
    from trotline.config.rule_packs import read_packs  # noqa: PLC0415 - few users have their own rules
    from trotline.scanners.pii import PiiScanner  # noqa: PLC0415 - the same
    from trotline.scanners.secrets import SecretScanner, load_builtin_pack  # noqa: PLC0415 - the same

    return SecretScanner([load_builtin_pack(), *read_packs(roots)[0]]), PiiScanner()


@cache
def get_origin() -> tuple[str, str]:
    """Return the names of the machine and the user."""
    try:
        import pwd  # noqa: PLC0415 - not on every system

        return os.uname().nodename, pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, AttributeError):
        import platform  # noqa: PLC0415 - only needed without a password database entry

        return platform.node(), ""


MCP_PREFIX = "MCP:"
SEPARATORS = ("_", "__", "___", "-")
"""Separators that agents write between an MCP server and its tool."""

DIGEST_LENGTH = 16
"""Number of hex digits in the digest of a text that is not kept."""


class NameRedactor:
    """A redactor of the names in records.

    An error does not deny the call: if the policy cannot be read, only the length of a name is kept.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._short = lru_cache(maxsize=256)(self._redact_name)  # every call of a conversation repeats its name
        self._has_own_rules = is_configured(roots, OWN_RULES)

    def redact(self, name: str) -> str:
        """Return the form of a name that records keep."""
        if not self._has_own_rules and PLAIN_NAME.fullmatch(name):
            return name
        try:
            return self._short(name) if len(name) <= MAX_NAME else summarize_text(name, self._policy.key)
        except TrotlineError:
            return f"[{len(name)} characters]"

    @property
    def _policy(self) -> DetailPolicy:
        return read_detail_policy(self._roots)

    def _redact_name(self, name: str) -> str:
        policy = self._policy
        clean = redact(name, policy.key, policy.scanners)[0]
        hides = clean.startswith(MCP_PREFIX) and hides_secret(clean.removeprefix(MCP_PREFIX), policy)
        return summarize_text(name, policy.key) if hides or len(clean) > MAX_NAME else clean


def hides_secret(tool: str, policy: DetailPolicy) -> bool:
    """Check whether the name of a server and its tool contains a secret in any form the agent may have sent.

    The separator that was parsed as the end of the server name may have been part of the secret.
    """
    forms = (tool.replace(":", sign) for sign in SEPARATORS if ":" in tool)
    return any(redact(form, policy.key, policy.scanners)[1] for form in forms)


def summarize_text(text: str, key: bytes) -> str:
    """Return the length and a keyed digest of a text, so that equal texts can be recognized."""
    return (
        f"[{len(text)} characters, digest {compute_digest(text.encode('utf-8', 'surrogatepass'), key)[:DIGEST_LENGTH]}]"
    )
