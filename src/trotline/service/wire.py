"""The protocol between a client and the service. `client/trotline_hook.c` writes the same by hand.

The client speaks first, the service answers, both hang up. Numbers are big endian.

    call      4  magic "TL1\\0": protocol 1; a service that does not know it answers "c"
              4  length of the header, at most 65,536
              4  length of the payload, at most 64,000,000
              …  header, JSON in UTF-8: {"id", "argv", "cwd", "cwd_identity": [device, inode], "environ",
                 "received_us", "code", "code_identity"}; `code` is the directory of the client and of its cold path
              …  payload, as the agent sent it

    greeting  4  magic
              1  "t": the call is taken, an answer follows; "b": busy; "c": go cold; nothing follows after "b" and "c"
             16  digest of the code and the configuration that the service answers by, in hexadecimal

    answer    1  exit code
              4  length of standard output
              4  length of standard error
              …  standard output, then standard error

Greeting and answer are sent together: a greeting sent earlier would wake the client once more, which takes longer than
the answer. A client that times out, or that reads less than a whole answer, ignores what it read.
"""

import json
import socket
import struct
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.agents.agent import AgentReply
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES, Call

MAGIC = b"TL1\0"
PREFIX = struct.Struct("!4sII")
GREETING = struct.Struct("!4s1s16s")
ANSWER = struct.Struct("!BII")
MAX_HEADER_BYTES = 65_536
STATUS_SECONDS = 1.0

TAKEN, BUSY, COLD = b"t", b"b", b"c"


class CallHeader(msgspec.Struct, frozen=True, kw_only=True):
    """A Call without its payload, and the code of the client that sends it."""

    id: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    cwd_identity: tuple[int, int] = (0, 0)
    environ: dict[str, str] = {}
    received_us: int = 0
    code: str = ""
    code_identity: tuple[int, int] = (0, 0)
    ask: str = ""  # "status": a question to the service itself

    def build_call(self, payload: bytes) -> Call:
        """Return the call with its payload."""
        return Call(
            id=self.id,
            argv=self.argv,
            cwd=self.cwd,
            cwd_identity=self.cwd_identity,
            environ=self.environ,
            payload=payload,
            received_us=self.received_us,
        )


class CallSizes(NamedTuple):
    """The sizes that the first bytes of a call announce."""

    header: int
    payload: int
    total: int


def encode_call(header: CallHeader, payload: bytes = b"") -> bytes:
    """Return a call as it is sent to the service."""
    head = msgspec.json.encode(header)
    return PREFIX.pack(MAGIC, len(head), len(payload)) + head + payload


def read_sizes(data: bytes | bytearray) -> CallSizes | None:
    """Read the sizes in the first bytes of a call; None if this is not our protocol."""
    magic, header, payload = PREFIX.unpack_from(data)
    fits = magic == MAGIC and header <= MAX_HEADER_BYTES and payload <= MAX_PAYLOAD_BYTES
    return CallSizes(header, payload, PREFIX.size + header + payload) if fits else None


def encode_greeting(word: bytes, digest: bytes) -> bytes:
    """Return a greeting as it is sent to the client."""
    return GREETING.pack(MAGIC, word, digest)


def encode_answer(reply: AgentReply) -> bytes:
    """Return an answer as it is sent to the client."""
    stdout, stderr = reply.encode()
    return ANSWER.pack(reply.exit_code, len(stdout), len(stderr)) + stdout + stderr


def ask_status(path: Path) -> dict[str, int] | None:
    """Ask the service at this socket for its counts; None if it does not answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        service.settimeout(STATUS_SECONDS)
        try:
            service.connect(str(path))
            service.sendall(encode_call(CallHeader(id="", ask="status")))
            received = b"".join(iter(lambda: service.recv(65_536), b""))
        except OSError:
            return None
    if len(received) < GREETING.size + ANSWER.size or received[:5] != MAGIC + TAKEN:
        return None
    counts: dict[str, int] = json.loads(received[GREETING.size + ANSWER.size :])
    return counts
