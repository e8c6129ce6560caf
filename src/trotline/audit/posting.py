"""One request to somebody else's server: a deadline, a cap on the answer, no redirects, nobody's proxies.

Whatever goes wrong is an Answer that says so, and none shows what was in a header.
"""

import functools
import os
import re
import ssl
import stat
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from trotline.errors import TrotlineError

if TYPE_CHECKING:
    import httpx2

MOST_ANSWER = 64_000
SHOWN = 200
OTHERS = 0o077

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*[:=][ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*")


class Answer(NamedTuple):
    """What a server said: its status, or 0 and why it said nothing."""

    status: int = 0
    body: bytes = b""
    wait_us: int = 0  # how long it wants to be left alone
    why: str = ""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def complaint(self) -> str:
        if self.why:
            return self.why
        said = " ".join(self.body[: SHOWN * 4].decode("utf-8", "replace").split())[:SHOWN]
        shown = "".join(letter if letter.isprintable() else "?" for letter in said)
        return f"it answered with status {self.status}" + (f": {shown}" if shown else "")


class Request(NamedTuple):
    """What is posted, and to whom."""

    url: str
    body: bytes
    headers: dict[str, str]
    timeout: float
    certificate: str = ""


def post(request: Request, now_us: int) -> Answer:
    import httpx2  # noqa: PLC0415 - only for those who send

    until = time.monotonic() + request.timeout
    try:
        return _posted(_client(request.certificate), request, until, now_us)
    except (httpx2.TimeoutException, TimeoutError):
        return Answer(why=f"it did not answer within {request.timeout:g} s")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        said = _without(str(error) or type(error).__name__, request.headers)
        return Answer(why=f"it could not be reached: {said[:SHOWN]}")


@functools.lru_cache(maxsize=4)
def _client(certificate: str) -> "httpx2.Client":
    """To read the authorities of the system takes longer than to send something, and is done once."""
    import httpx2  # noqa: PLC0415 - only for those who send

    verify = ssl.create_default_context(cafile=certificate) if certificate else True
    return httpx2.Client(trust_env=False, follow_redirects=False, verify=verify)


def _posted(client: "httpx2.Client", request: Request, until: float, now_us: int) -> Answer:
    body = bytearray()
    with client.stream(
        "POST",
        request.url,
        headers={**request.headers, "accept-encoding": "identity"},
        content=request.body,
        timeout=request.timeout,
    ) as response:
        for chunk in response.iter_raw():
            if time.monotonic() > until:
                raise TimeoutError  # a server that sends a byte now and then is not in time either
            body += chunk
            if len(body) > MOST_ANSWER:
                break
        wait = _wait_us(response.headers.get("retry-after", ""), now_us)
        return Answer(response.status_code, bytes(body[:MOST_ANSWER]), wait)


def _wait_us(wanted: str, now_us: int) -> int:
    """Seconds, or a date."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted[:9]) * 1_000_000
    try:
        return max(0, int(parsedate_to_datetime(wanted).timestamp() * 1_000_000) - now_us)
    except (ValueError, TypeError, OverflowError):
        return 0


def _without(text: str, headers: dict[str, str]) -> str:
    for value in headers.values():
        text = text.replace(value, "[header]")
    return text


def headers_of(file: str, variable: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What is said in a file that only its owner may read, and in a variable; a TrotlineError if it cannot be."""
    found: dict[str, str] = {}
    if file:
        found |= _headers(_private_text(file).splitlines(), f"`{file}`", "`Name: value`")
    if variable:
        if variable not in environ:
            hint = "the service knows no variables: run `trotline log send` where it is set, or name a `headers_file`"
            raise TrotlineError(f"the variable {variable} is not set here", hint=hint)
        lines = [unquote(one.strip()) for one in environ[variable].split(",")]
        found |= _headers(lines, f"the variable {variable}", "`name=value,name=value`")
    return found


def _headers(lines: list[str], where: str, form: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _HEADER.fullmatch(line)
        if match is None:
            raise TrotlineError(f"line {number} of {where} is no header", hint=f"write {form}")
        found[match[1].lower()] = match[2]
    return found


def only_line_of(file: str) -> str:
    """What stands alone in a file that only its owner may read."""
    return _private_text(file).strip()


def _private_text(file: str) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            data = opened.read(MOST_ANSWER) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise TrotlineError(f"the file `{file}` cannot be read: {why}") from None
    if status.st_mode & OTHERS and status.st_uid == os.getuid():
        raise TrotlineError(f"others may read `{file}`", hint=f"chmod 600 {file}")
    return data.decode("utf-8", "replace")
