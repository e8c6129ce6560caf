"""What goes over the socket between a client and the service. `client/trotline_hook.c` writes the same by hand.

The client speaks first, the service answers, both hang up. Numbers are big endian.

    call      4  magic "TL1\\0": protocol 1; whoever does not know it says nothing and hangs up
              4  length of the header, at most 65,536
              4  length of the payload, at most 64,000,000
              …  header, JSON in UTF-8: {"id", "argv", "cwd", "cwd_identity": [device, inode], "environ",
                 "received_us", "code", "code_identity"}; `code` is the directory of the client and of its cold path
              …  payload, as the host sent it

    greeting  4  magic
              1  "t": the call is taken, an answer follows; "b": busy; "c": go cold; after these two nothing follows
             16  digest of the code and the configuration that the service answers by, in hexadecimal

    answer    1  exit code
              4  length of standard output
              4  length of standard error
              …  standard output, then standard error

Greeting and answer are sent at once: a sign of life before the answer would wake the client once more, which costs
more than the answer. A client that waits too long for it, or that read less than all of it, has read nothing.
"""

import struct
from typing import NamedTuple

import msgspec

from trotline.outcomes import MOST_PAYLOAD, Call
from trotline.service.reply import Reply

MAGIC = b"TL1\0"
PREFIX = struct.Struct("!4sII")
GREETING = struct.Struct("!4s1s16s")
ANSWER = struct.Struct("!BII")
MOST_HEADER = 65_536

TAKEN, BUSY, COLD = b"t", b"b", b"c"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A Call without its payload, and who sends it."""

    id: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    cwd_identity: tuple[int, int] = (0, 0)
    environ: dict[str, str] = {}
    received_us: int = 0
    code: str = ""
    code_identity: tuple[int, int] = (0, 0)
    ask: str = ""  # "status": a question to the service itself

    def call(self, payload: bytes) -> Call:
        """Warm and cold make their Call here."""
        return Call(
            id=self.id,
            argv=self.argv,
            cwd=self.cwd,
            cwd_identity=self.cwd_identity,
            environ=self.environ,
            payload=payload,
            received_us=self.received_us,
        )


def packed_call(header: Header, payload: bytes = b"") -> bytes:
    head = msgspec.json.encode(header)
    return PREFIX.pack(MAGIC, len(head), len(payload)) + head + payload


class Sizes(NamedTuple):
    """What the first bytes of a call announce."""

    header: int
    payload: int

    @property
    def all(self) -> int:
        return PREFIX.size + self.header + self.payload


def announced(data: bytes | bytearray) -> Sizes | None:
    """The sizes in the first bytes of a call; None if this is not our protocol."""
    magic, header, payload = PREFIX.unpack_from(data)
    fits = magic == MAGIC and header <= MOST_HEADER and payload <= MOST_PAYLOAD
    return Sizes(header, payload) if fits else None


def packed_greeting(word: bytes, digest: bytes) -> bytes:
    return GREETING.pack(MAGIC, word, digest)


def packed_answer(reply: Reply) -> bytes:
    return ANSWER.pack(reply.exit_code, len(reply.stdout), len(reply.stderr)) + reply.stdout + reply.stderr
