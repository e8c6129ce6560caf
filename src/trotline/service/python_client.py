"""The client in Python, for machines without a C compiler: `/usr/bin/env -i PYTHON -I -S python_client.py --agent ...`.

It does what `client/trotline_hook.c` does, in the same order and with the same limits. It imports only what is built
into the interpreter, because most of the time of a cold call is spent on imports. wire.py describes the protocol.
"""

import _socket
import posix
import select
import sys
import time

MAX_PAYLOAD_BYTES = 64_000_000
MAX_HEADER_BYTES = 65_536
MAX_PATH_BYTES = 100  # bytes of the path of the socket's directory; systems allow 103 or more
MAX_SERVICE_TIMEOUT, DEFAULT_DEADLINE = 1.0, 50.0
"""The seconds for which the service may be silent, and the default of `--deadline`."""

STATE = "/Library/Application Support/trotline/v1" if sys.platform == "darwin" else "/.local/state/trotline/v1"
KIND, DIRECTORY, OTHERS = 0o170000, 0o040000, 0o077  # bits of a mode, as in `stat`
PIECE = 1 << 20
COLD_REASONS = {b"b": "busy", b"c": "cold"}


class GoCold(Exception):  # noqa: N818 - it says what to do
    """The reason why the service does not answer, in one word; docs/service.md lists the reasons."""


class HookLine:
    """The options of the installed line, and the start and deadline of the call."""

    def __init__(self, argv: list[str]) -> None:
        options = dict(zip(argv[::2], argv[1::2], strict=False))
        self.argv = argv
        self.agent = options.get("--agent", "")
        self.home = options.get("--home", "")
        self.uid = int(_parse_number(options.get("--uid"), posix.getuid()))
        self.deadline = time.monotonic() + _parse_number(options.get("--deadline"), DEFAULT_DEADLINE)
        self.received_us = time.time_ns() // 1000
        self.id = _uuid7(self.received_us // 1000, posix.urandom(10))

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    @property
    def service_timeout(self) -> float:
        """Seconds to wait for the service; at least half of the time is left for the cold path."""
        return max(min(MAX_SERVICE_TIMEOUT, self.remaining_seconds / 2), 0.001)


def main() -> None:
    """Let the service answer a call, or answer it on the cold path."""
    line = HookLine(sys.argv[1:])
    pieces: list[bytes] = []
    try:
        exit_code, out, err = _ask_service(line, pieces)
    except GoCold as reason:
        cold_reason = str(reason)
    except Exception:  # noqa: BLE001 - the cold path answers instead
        cold_reason = "unfit"
    else:
        _write(1, out)
        _write(2, err)
        posix._exit(exit_code)  # noqa: SLF001 - that is its name
    sys.path.append(__file__.rsplit("/", 3)[0])
    posix.environ.setdefault(b"PATH", b"/usr/bin:/bin")  # as after the C client
    sys.dont_write_bytecode = True  # bytecode.py says why
    from trotline.service.bootstrap import answer_cold  # noqa: PLC0415 - most calls are answered by a service

    payload = b"".join(pieces)[:MAX_PAYLOAD_BYTES] if pieces else None
    answer_cold(
        (
            line.id,
            line.received_us,
            int(line.remaining_seconds * 1000),
            cold_reason,
            line.argv,
            payload,
            time.monotonic(),
        )
    )


def _ask_service(line: HookLine, pieces: list[bytes]) -> tuple[int, bytes, bytes]:
    """Return the answer of the service. `pieces` gets the payload as far as it was read, also on failure."""
    service = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _connect(service, line)
        _read_payload(line, pieces)
        return _exchange(service, line, b"".join(pieces))
    finally:
        service.close()  # the service must not evaluate what we evaluate ourselves


def _connect(service: _socket.socket, line: HookLine) -> None:
    home = line.home or _find_home()
    run = f"{home}{STATE}/run"
    if not home.startswith("/") or not line.agent or len(_encode(run)) > MAX_PATH_BYTES:
        raise GoCold("unfit")
    try:
        status = posix.lstat(run)
    except OSError:
        raise GoCold("absent") from None
    if status.st_mode & KIND != DIRECTORY or status.st_uid != line.uid:
        raise GoCold("foreign")
    if status.st_mode & OTHERS:
        raise GoCold("absent")  # a starting service makes the directory private
    service.settimeout(line.service_timeout)
    try:
        service.connect(f"{run}/s")
    except BlockingIOError:
        raise GoCold("busy") from None
    except OSError:
        raise GoCold("absent") from None
    if _get_peer_uid(service) != line.uid:
        raise GoCold("foreign")


def _find_home() -> str:
    import pwd  # noqa: PLC0415 - most lines name a home

    try:
        return pwd.getpwuid(posix.getuid()).pw_dir
    except KeyError:
        return ""


def _get_peer_uid(service: _socket.socket) -> int:
    """Return the user ID of the peer, as server.get_peer_uid does."""
    try:
        if sys.platform == "darwin":
            data = service.getsockopt(0, 1, 8)
        else:
            data = service.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    except OSError:
        return -1
    return int.from_bytes(data[4:8], sys.byteorder)


def _read_payload(line: HookLine, pieces: list[bytes]) -> None:
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    size = 0
    while True:
        if not waiting.poll(max(line.remaining_seconds * 1000, 0)):
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
        if size > MAX_PAYLOAD_BYTES:
            raise GoCold("large")


def _exchange(service: _socket.socket, line: HookLine, payload: bytes) -> tuple[int, bytes, bytes]:
    data = memoryview(_build_header(line, payload) + payload)
    service.settimeout(line.service_timeout)
    try:
        while data:
            data = data[service.send(data[:PIECE]) :]
    except OSError:
        data = data[:0]  # the greeting, or its absence, says why
    greeting = _receive(service, 21, "busy")
    if greeting[:4] != b"TL1\0":
        raise GoCold("odd")
    if greeting[4:5] != b"t":
        raise GoCold(COLD_REASONS.get(greeting[4:5], "odd"))
    sizes = _receive(service, 9, "slow")
    out, err = (int.from_bytes(sizes[at : at + 4], "big") for at in (1, 5))
    if max(out, err) > MAX_PAYLOAD_BYTES:
        raise GoCold("odd")
    return sizes[0], _receive(service, out, "slow"), _receive(service, err, "slow")


def _receive(service: _socket.socket, size: int, too_late: str) -> bytes:
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


def _build_header(line: HookLine, payload: bytes) -> bytes:
    """Return the bytes of a call up to its payload."""
    try:
        code = __file__.rpartition("/")[0]
        path, cwd, client = posix.getcwd(), posix.stat("."), posix.stat(code)
    except OSError:
        raise GoCold("unfit") from None
    head = b'{"id":%s,"argv":[%s],"cwd":%s,"cwd_identity":[%d,%d],"code":%s,"code_identity":[%d,%d],' % (
        _quote(line.id),
        b",".join(map(_quote, line.argv)),
        _quote(path),
        cwd.st_dev,
        cwd.st_ino,
        _quote(code),
        client.st_dev,
        client.st_ino,
    )
    head += b'"environ":{},"received_us":%d}' % line.received_us
    if len(head) > MAX_HEADER_BYTES:
        raise GoCold("unfit")
    return b"TL1\0" + len(head).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + head


def _quote(text: str) -> bytes:
    """Return a JSON string. Bytes beyond ASCII are copied; the service refuses what is not UTF-8."""
    return b'"' + b"".join(b"\\u%04x" % c if c < 32 or c in b'"\\' else b"%c" % c for c in _encode(text)) + b'"'


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _parse_number(text: str | None, default: float) -> float:
    try:
        return float(text or default)
    except ValueError:
        return default


def _uuid7(milliseconds: int, randomness: bytes) -> str:
    """Create a UUID version 7, as ids.uuid7 does; importing that would take longer."""
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
            return  # the agent closed its end


if __name__ == "__main__":
    main()
