"""Who is at the other end of a connection, and whether anybody still is."""

import socket
import sys


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel says it; -1 when it does not."""
    try:
        if sys.platform == "darwin":
            found = connection.getsockopt(0, 1, 8)  # LOCAL_PEERCRED: a version, the user, and more
        else:
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # process, user, group
    except OSError:
        return -1
    return int.from_bytes(found[4:8], sys.byteorder)


def has_hung_up(connection: socket.socket) -> bool:
    """Whether a caller has lost its patience: it is answered cold by now, and must not be judged twice."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
