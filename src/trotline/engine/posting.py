"""One request to somebody else's server: a deadline, a cap on the answer, no redirects, nobody's proxies.

Whatever goes wrong is an Answer that says so. What a server says may be what it was sent: of its own words only a
person who waits is shown some, none that stands in the address or in a header, and they are kept nowhere.
"""

import os
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from trotline.pattern import pattern

if TYPE_CHECKING:
    import httpx2

SHOWN = 200
"""How much of a server's complaint a person is shown."""

HIDDEN = "[hidden]"
WORDS = pattern(r"[^\W_]{3,}")
HIDDEN_WORDS = pattern(r"\[hidden\](?:[^\w\s\[]{0,3}\[hidden\])+")
LONGEST_WORD = 16
"""Longer ones are no words, but may be a key in some encoding."""
TELLING = 4
"""Letters of something that was sent by which it is known again inside another word."""


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
        """What may be written down: of a server that answered, only the number of its answer, in our words."""
        return f"it answered with status {self.status}{_meaning(self.status)}" if self.status else f"it {self.why}"


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
        return Answer(why=f"could not be reached: {shown(str(error) or type(error).__name__, request)}")


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
    said = shown(answer.body.decode("utf-8", "replace"), request)
    return f"answered with status {answer.status}" + (f": {said}" if said else "")


def _meaning(status: int) -> str:
    try:
        return f", {HTTPStatus(status).phrase.lower()}"
    except ValueError:
        return ""


def shown(text: str, request: Request) -> str:
    """What is left of a text when secrets are out of it, and every word that was sent, in whatever form it came back:
    whole, cut off, escaped. It is cut when that is done, so that half a word does not look like another."""
    from trotline.scanners.redaction import redacted  # noqa: PLC0415 - only for those who failed

    sent = _sent(request)
    clean = redacted(text, os.urandom(16))[0].replace(request.url, HIDDEN)
    for value in sent:
        clean = clean.replace(value, HIDDEN)
    whole = "\n".join(sent).lower()
    parts = {word for word in WORDS.findall(whole) if len(word) >= TELLING}
    clean = WORDS.sub(lambda word: HIDDEN if _tells(word[0].lower(), whole, parts) else word[0], clean)
    short = HIDDEN_WORDS.sub(HIDDEN, " ".join(clean.split()))[:SHOWN]
    return "".join(letter if letter.isprintable() else "?" for letter in short)


def _tells(word: str, whole: str, parts: set[str]) -> bool:
    return len(word) > LONGEST_WORD or word in whole or any(part in word for part in parts)


def _sent(request: Request) -> list[str]:
    """All of the request that no complaint may show: who we are in its address, what stands behind the host, and the
    headers, a key with the word before it and without. An address without a host is hidden whole."""
    scheme, _, rest = request.url.partition("://")
    place, _, path = rest.partition("/")
    named = place.rpartition("@")[0]
    headers = [value for name, value in request.headers.items() if name != "content-type"]
    keys = [value.rpartition(" ")[2] for value in headers]
    values = [named, unquote(named), path, unquote(path), "" if rest else scheme, *headers, *keys]
    return sorted(filter(None, values), key=len, reverse=True)


def _wait_us(wanted: str, now_us: int) -> int:
    """Seconds, or a date."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted[:9]) * 1_000_000
    try:
        return max(0, int(parsedate_to_datetime(wanted).timestamp() * 1_000_000) - now_us)
    except (ValueError, TypeError, OverflowError):
        return 0
