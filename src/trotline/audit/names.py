"""Names that a payload gives to conversations, turns and tools, as records keep them: short, clean, and the same for
the same. Whoever asks for one by its own form must give it this one first; a kept name stays as it is."""

from functools import lru_cache

from trotline.audit.records import LONGEST_NAME, PLAIN
from trotline.audit.wording import Wording, wording_of
from trotline.config.places import OWN_RULES, Roots, is_configured
from trotline.errors import TrotlineError
from trotline.scanners.finding import digest_of
from trotline.scanners.redaction import redacted

MCP = "MCP:"
SIGNS = ("_", "__", "___", "-")
"""What hosts write between a server and its tool."""

DIGEST = 16
"""Digits by which a text that is not kept is known again."""


class Names:
    """The names of one home. They are no reason to refuse a call: without a key they are only counted."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._short = lru_cache(maxsize=256)(self._redacted)  # a conversation has its name in every call
        self._has_own_rules = is_configured(roots, OWN_RULES)

    def kept(self, name: str) -> str:
        if not self._has_own_rules and PLAIN.fullmatch(name):
            return name
        try:
            return self._short(name) if len(name) <= LONGEST_NAME else measured(name, self._wording.key)
        except TrotlineError:
            return f"[{len(name)} characters]"

    @property
    def _wording(self) -> Wording:
        return wording_of(self._roots)

    def _redacted(self, name: str) -> str:
        wording = self._wording
        clean = redacted(name, wording.key, wording.scanners)[0]
        hides = clean.startswith(MCP) and cuts_a_value(clean.removeprefix(MCP), wording)
        return measured(name, wording.key) if hides or len(clean) > LONGEST_NAME else clean


def cuts_a_value(tool: str, wording: Wording) -> bool:
    """Whether a tool of a server, as its host may have called it, holds what must not be kept: what we took for the end
    of the server's name may have been part of that."""
    forms = (tool.replace(":", sign) for sign in SIGNS if ":" in tool)
    return any(redacted(form, wording.key, wording.scanners)[1] for form in forms)


def measured(text: str, key: bytes) -> str:
    """Instead of a text: how long it is, and a digest, so that two can be seen to be the same."""
    return f"[{len(text)} characters, digest {digest_of(text.encode('utf-8', 'surrogatepass'), key)[:DIGEST]}]"
