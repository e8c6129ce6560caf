"""One request to somebody else's server: a deadline, a cap on the answer, no redirects, nobody's proxies.

Whatever goes wrong is an Answer that says so, and none shows the address or what was in a header, nor half of it.
"""

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import httpx2

SHOWN = 200
"""How much of a server's complaint a person is shown."""


class Answer(NamedTuple):
    """What a server said; where that is no success, why not."""

    status: int = 0
    body: bytes = b""
    wait_us: int = 0  # how long it wants to be left alone
    why: str = ""
    late: bool = False
    cut: bool = False  # whether it sent more than is read

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def complaint(self) -> str:
        return f"it {self.why}"


class Request(NamedTuple):
    """What is posted, to whom, and how many seconds and bytes its answer may take."""

    url: str
    body: bytes
    headers: dict[str, str]
    timeout: float
    certificate: str = ""
    most: int = 64_000


def post(client: "httpx2.Client", request: Request, now_us: int) -> Answer:
    import httpx2  # noqa: PLC0415 - only for those who send

    until = time.monotonic() + request.timeout
    try:
        return _posted(client, request, until, now_us)
    except (httpx2.TimeoutException, TimeoutError):
        return Answer(why=f"did not answer within {request.timeout:g} s", late=True)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return Answer(why=f"could not be reached: {_shown(str(error) or type(error).__name__, request)}")


def _posted(client: "httpx2.Client", request: Request, until: float, now_us: int) -> Answer:
    body = bytearray()
    headers = {**request.headers, "accept-encoding": "identity"}
    with client.stream("POST", request.url, headers=headers, content=request.body, timeout=request.timeout) as response:
        for chunk in response.iter_raw():
            if time.monotonic() > until:
                raise TimeoutError  # a server that sends a byte now and then is not in time either
            body += chunk
            if len(body) > request.most:
                break
        wait = _wait_us(response.headers.get("retry-after", ""), now_us)
        answer = Answer(response.status_code, bytes(body[: request.most]), wait, cut=len(body) > request.most)
        return answer if answer.is_good else answer._replace(why=_complaint(answer, request))


def _complaint(answer: Answer, request: Request) -> str:
    shown = _shown(answer.body.decode("utf-8", "replace"), request)
    return f"answered with status {answer.status}" + (f": {shown}" if shown else "")


def _shown(text: str, request: Request) -> str:
    """A server may send back what it was sent: a key with the word before it, or without."""
    text = text.replace(request.url, "[address]")
    for name, value in request.headers.items():
        if name != "content-type":
            text = text.replace(value, "[hidden]").replace(value.rpartition(" ")[2] or value, "[hidden]")
    short = " ".join(text.split())[:SHOWN]
    return "".join(letter if letter.isprintable() else "?" for letter in short)


def _wait_us(wanted: str, now_us: int) -> int:
    """Seconds, or a date."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted[:9]) * 1_000_000
    try:
        return max(0, int(parsedate_to_datetime(wanted).timestamp() * 1_000_000) - now_us)
    except (ValueError, TypeError, OverflowError):
        return 0
