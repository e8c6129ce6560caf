"""A baseline: findings that people know of and accept for now, as HMACs, so that a check speaks of new ones only.

Its key stands in it. It is compared on many machines and lies beside the very texts it is about, so there is nothing
that a secret key would keep.
"""

import msgspec

from trotline.errors import UsageError
from trotline.scanners.finding import digest_of

SCHEMA = "trotline.baseline/1"


class Known(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One accepted finding; the path and the kind are for people, the digest is of all three."""

    path: str
    kind: str
    digest: str


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    key: str
    findings: tuple[Known, ...] = ()

    def known(self, path: str, kind: str, value: bytes) -> Known:
        """The row that this finding would have."""
        text = b"\0".join((path.encode("utf-8", "surrogateescape"), kind.encode(), value))
        return Known(path=path, kind=kind, digest=digest_of(text, bytes.fromhex(self.key)))


def read_baseline(data: bytes, file: str) -> Baseline:
    """A baseline from its file; what is none is an error, because a check without it would speak of everything."""
    hint = "write it anew with --write-baseline"
    try:
        baseline = msgspec.json.decode(data, type=Baseline)
        bytes.fromhex(baseline.key)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"`{file}` is no baseline: {str(error)[:200].lower()}", hint=hint) from None
    if baseline.schema != SCHEMA:
        raise UsageError(f"`{file}` has the schema `{baseline.schema[:40]}`, not `{SCHEMA}`", hint=hint)
    return baseline


def written(baseline: Baseline) -> bytes:
    """One row a line, sorted, so that a change can be reviewed."""
    return msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n"
