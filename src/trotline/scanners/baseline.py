"""A baseline: accepted findings, stored as HMACs, so that a scan reports only new ones.

The HMAC key is in the baseline file. The file is used on many machines and is stored next to the texts that it
describes, so a secret key would protect nothing.
"""

import msgspec

from trotline.domain.errors import UsageError
from trotline.scanners.spans import compute_digest

SCHEMA = "trotline.baseline/1"


class AcceptedFinding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """An accepted finding. The digest covers path, kind and value; path and kind are there for readers."""

    path: str
    kind: str
    digest: str


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a baseline file."""

    schema: str = SCHEMA
    key: str
    findings: tuple[AcceptedFinding, ...] = ()

    def build_entry(self, path: str, kind: str, value: bytes) -> AcceptedFinding:
        """Return the entry that accepts this finding."""
        text = b"\0".join((path.encode("utf-8", "surrogateescape"), kind.encode(), value))
        return AcceptedFinding(path=path, kind=kind, digest=compute_digest(text, bytes.fromhex(self.key)))


def read_baseline(data: bytes, file: str) -> Baseline:
    """Read a baseline file. An invalid one is an error, because a scan without it would report every finding."""
    hint = "write it anew with --write-baseline"
    try:
        baseline = msgspec.json.decode(data, type=Baseline)
        bytes.fromhex(baseline.key)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"`{file}` is no baseline: {str(error)[:200].lower()}", hint=hint) from None
    if baseline.schema != SCHEMA:
        raise UsageError(f"`{file}` has the schema `{baseline.schema[:40]}`, not `{SCHEMA}`", hint=hint)
    return baseline


def encode_baseline(baseline: Baseline) -> bytes:
    """Encode a baseline with one entry per line, so that changes can be reviewed."""
    return msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n"
