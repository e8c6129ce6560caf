"""A question to the running service about itself."""

import json
import socket
from pathlib import Path

from trotline.service.wire import ANSWER, GREETING, MAGIC, TAKEN, Header, packed_call

SECONDS = 1.0


def asked(path: Path) -> dict[str, int] | None:
    """What it has done since it began; None if it does not say."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        service.settimeout(SECONDS)
        try:
            service.connect(str(path))
            service.sendall(packed_call(Header(id="", ask="status")))
            said = b"".join(iter(lambda: service.recv(65_536), b""))
        except OSError:
            return None
    if len(said) < GREETING.size + ANSWER.size or said[:5] != MAGIC + TAKEN:
        return None
    counts: dict[str, int] = json.loads(said[GREETING.size + ANSWER.size :])
    return counts
