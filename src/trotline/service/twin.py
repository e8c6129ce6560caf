"""The client in Python, for machines without a C compiler: `/usr/bin/env -i PYTHON -I -S twin.py --host ...`.

It does what `client/trotline_hook.c` does, in the same order and with the same limits, and imports nothing that is not
built into the interpreter or a single library beside it: most of what a cold call takes is importing. What goes over
the wire stands in wire.py.
"""

import _socket
import posix
import select
import sys
import time

MOST_PAYLOAD = 64_000_000
MOST_HEADER = 65_536
MOST_PATH = 100  # bytes of a socket's directory; the systems differ, from 103 on
PATIENCE, DEADLINE = 1.0, 50.0
"""Seconds: without a sign of the service; and altogether, where the line says nothing."""

STATE = "/Library/Application Support/trotline/v1" if sys.platform == "darwin" else "/.local/state/trotline/v1"
KIND, DIRECTORY, OTHERS = 0o170000, 0o040000, 0o077
PIECE = 1 << 20
FINDINGS = {b"b": "busy", b"c": "cold"}


class GoCold(Exception):  # noqa: N818 - it says what to do
    """What was found where the service should be; conclusion.py knows these words."""


class Line:
    """The installed words, and what the clocks said when we began."""

    def __init__(self, words: list[str]) -> None:
        given = dict(zip(words[::2], words[1::2], strict=False))
        self.words = words
        self.host = given.get("--host", "")
        self.home = given.get("--home", "")
        self.uid = int(_number(given.get("--uid"), posix.getuid()))
        self.deadline = time.monotonic() + _number(given.get("--deadline"), DEADLINE)
        self.received_us = time.time_ns() // 1000
        self.id = _uuid7(self.received_us // 1000, posix.urandom(10))

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def patience(self) -> float:
        """At least half of what is left belongs to the cold path."""
        return max(min(PATIENCE, self.left / 2), 0.001)


def main() -> None:
    line = Line(sys.argv[1:])
    pieces: list[bytes] = []
    try:
        exit_code, out, err = _warm(line, pieces)
    except GoCold as found:
        finding = str(found)
    except Exception:  # noqa: BLE001 - whatever it is, there is another way
        finding = "unfit"
    else:
        _write(1, out)
        _write(2, err)
        posix._exit(exit_code)  # noqa: SLF001 - that is its name
    sys.path.append(__file__.rsplit("/", 3)[0])
    posix.environ.setdefault(b"PATH", b"/usr/bin:/bin")  # as after the C client
    sys.dont_write_bytecode = True  # bytecode.py says why, and writes it
    from trotline.service.entrance import end  # noqa: PLC0415 - most calls do without

    payload = b"".join(pieces)[:MOST_PAYLOAD] if pieces else None
    end((line.id, line.received_us, int(line.left * 1000), finding, line.words, payload, time.monotonic()))


def _warm(line: Line, pieces: list[bytes]) -> tuple[int, bytes, bytes]:
    """The service's answer. `pieces` is the payload as far as it was read, whatever happens."""
    service = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _reach(service, line)
        _read(line, pieces)
        return _exchanged(service, line, b"".join(pieces))
    finally:
        service.close()  # the service must not begin with what we do ourselves


def _reach(service: _socket.socket, line: Line) -> None:
    home = line.home or _own_home()
    run = f"{home}{STATE}/run"
    if not home.startswith("/") or not line.host or len(_bytes(run)) > MOST_PATH:
        raise GoCold("unfit")
    try:
        status = posix.lstat(run)
    except OSError:
        raise GoCold("absent") from None
    if status.st_mode & KIND != DIRECTORY or status.st_uid != line.uid:
        raise GoCold("foreign")
    if status.st_mode & OTHERS:
        raise GoCold("absent")  # whoever starts a service puts that right
    service.settimeout(line.patience)
    try:
        service.connect(f"{run}/s")
    except BlockingIOError:
        raise GoCold("busy") from None
    except OSError:
        raise GoCold("absent") from None
    if _peer(service) != line.uid:
        raise GoCold("foreign")


def _own_home() -> str:
    import pwd  # noqa: PLC0415 - most lines name a home

    try:
        return pwd.getpwuid(posix.getuid()).pw_dir
    except KeyError:
        return ""


def _peer(service: _socket.socket) -> int:
    """The user at the other end, as peer.peer_uid."""
    try:
        if sys.platform == "darwin":
            data = service.getsockopt(0, 1, 8)
        else:
            data = service.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    except OSError:
        return -1
    return int.from_bytes(data[4:8], sys.byteorder)


def _read(line: Line, pieces: list[bytes]) -> None:
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    size = 0
    while True:
        if not waiting.poll(max(line.left * 1000, 0)):
            raise GoCold("late")
        try:
            piece = posix.read(0, PIECE)
        except BlockingIOError:
            continue
        except OSError:
            piece = b""
        pieces.append(piece)
        size += len(piece)
        if not piece:
            return
        if size > MOST_PAYLOAD:
            raise GoCold("large")


def _exchanged(service: _socket.socket, line: Line, payload: bytes) -> tuple[int, bytes, bytes]:
    data = memoryview(_header(line, payload) + payload)
    service.settimeout(line.patience)
    try:
        while data:
            data = data[service.send(data[:PIECE]) :]
    except OSError:
        data = data[:0]  # the greeting says why, or does not come
    greeting = _received(service, 21, "busy")
    if greeting[:4] != b"TL1\0":
        raise GoCold("odd")
    if greeting[4:5] != b"t":
        raise GoCold(FINDINGS.get(greeting[4:5], "odd"))
    sizes = _received(service, 9, "slow")
    out, err = (int.from_bytes(sizes[at : at + 4], "big") for at in (1, 5))
    if max(out, err) > MOST_PAYLOAD:
        raise GoCold("odd")
    return sizes[0], _received(service, out, "slow"), _received(service, err, "slow")


def _received(service: _socket.socket, size: int, too_late: str) -> bytes:
    data = b""
    while len(data) < size:
        try:
            piece = service.recv(size - len(data))
        except TimeoutError:
            raise GoCold(too_late) from None
        except OSError:
            piece = b""
        if not piece:
            raise GoCold("lost")
        data += piece
    return data


def _header(line: Line, payload: bytes) -> bytes:
    """The first bytes of a call, up to its payload."""
    try:
        code = __file__.rpartition("/")[0]
        here, cwd, own = posix.getcwd(), posix.stat("."), posix.stat(code)
    except OSError:
        raise GoCold("unfit") from None
    head = b'{"id":%s,"argv":[%s],"cwd":%s,"cwd_identity":[%d,%d],"code":%s,"code_identity":[%d,%d],' % (
        _quoted(line.id),
        b",".join(map(_quoted, line.words)),
        _quoted(here),
        cwd.st_dev,
        cwd.st_ino,
        _quoted(code),
        own.st_dev,
        own.st_ino,
    )
    head += b'"environ":{},"received_us":%d}' % line.received_us
    if len(head) > MOST_HEADER:
        raise GoCold("unfit")
    return b"TL1\0" + len(head).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + head


def _quoted(text: str) -> bytes:
    """A JSON string. Bytes beyond ASCII go as they are: a name that is not UTF-8 is refused by the service."""
    return b'"' + b"".join(b"\\u%04x" % c if c < 32 or c in b'"\\' else b"%c" % c for c in _bytes(text)) + b'"'


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _number(text: str | None, otherwise: float) -> float:
    try:
        return float(text or otherwise)
    except ValueError:
        return otherwise


def _uuid7(milliseconds: int, randomness: bytes) -> str:
    """As ids.uuid7, which costs an import."""
    high, low = bytes([0x70 | randomness[0] & 0x0F, randomness[1]]), bytes([0x80 | randomness[2] & 0x3F])
    text = (milliseconds.to_bytes(6, "big") + high + low + randomness[3:10]).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _write(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[posix.write(descriptor, data) :]
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            return  # the host does not listen any more


if __name__ == "__main__":
    main()
