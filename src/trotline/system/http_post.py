"""One HTTP request to an external server, with a deadline and a limit for the answer.

Errors are returned as an Answer. A server may repeat what it was sent: its own text is shown only to a waiting user,
without any word of the address or of a header, and is never stored.
"""

import os
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from trotline.formats.lazy_regex import lazy_regex

if TYPE_CHECKING:
    import httpx2

MAX_SHOWN_TEXT = 200
"""The limit of a server's error text that is shown, in characters."""

HIDDEN = "[hidden]"
WORDS = lazy_regex(r"[^\W_]{3,}")
HIDDEN_WORDS = lazy_regex(r"\[hidden\](?:[^\w\s\[]{0,3}\[hidden\])+")
MAX_WORD = 16
"""The limit of a word, in characters; a longer one may be an encoded key and is hidden."""
MIN_HIDDEN_PART = 4
"""The number of characters from which a sent word is also hidden inside another word."""


class Answer(NamedTuple):
    """The answer of a server; `why` describes a failure."""

    status: int = 0
    body: bytes = b""
    wait_us: int = 0  # the wait that the server asks for
    why: str = ""
    late: bool = False
    cut: bool = False  # the server sent more than is read

    @property
    def is_good(self) -> bool:
        """True for a status that means success."""
        return 200 <= self.status < 300

    @property
    def failure(self) -> str:
        """The failure as a text that may be stored: the status of an answer, without the server's own text."""
        return (
            f"it answered with status {self.status}{_format_phrase(self.status)}" if self.status else f"it {self.why}"
        )


class Request(NamedTuple):
    """A POST request, with limits for the seconds and bytes of its answer."""

    url: str
    body: bytes
    headers: dict[str, str]
    timeout: float
    certificate: str = ""
    max_bytes: int = 64_000


def post(client: "httpx2.Client", request: Request, now_us: int) -> Answer:
    """Send a request. Timeouts and errors are returned as an Answer too."""
    import httpx2  # noqa: PLC0415 - most calls send nothing

    until = time.monotonic() + request.timeout
    try:
        return _post(client, request, until, now_us)
    except (httpx2.TimeoutException, TimeoutError):
        return Answer(why=f"did not answer within {request.timeout:g} s", late=True)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return Answer(why=f"could not be reached: {redact_error(str(error) or type(error).__name__, request)}")


def _post(client: "httpx2.Client", request: Request, until: float, now_us: int) -> Answer:
    body = bytearray()
    headers = {**request.headers, "accept-encoding": "identity"}
    with client.stream("POST", request.url, headers=headers, content=request.body, timeout=request.timeout) as response:
        for chunk in response.iter_raw():
            if time.monotonic() > until:
                raise TimeoutError  # the client's timeout applies to each read only
            body += chunk
            if len(body) > request.max_bytes:
                break
        wait = _parse_wait_us(response.headers.get("retry-after", ""), now_us)
        answer = Answer(response.status_code, bytes(body[: request.max_bytes]), wait, cut=len(body) > request.max_bytes)
        return answer if answer.is_good else answer._replace(why=_describe_status(answer, request))


def _describe_status(answer: Answer, request: Request) -> str:
    text = redact_error(answer.body.decode("utf-8", "replace"), request)
    return f"answered with status {answer.status}" + (f": {text}" if text else "")


def _format_phrase(status: int) -> str:
    """Return the standard phrase of a status after a comma; empty for an unknown status."""
    try:
        return f", {HTTPStatus(status).phrase.lower()}"
    except ValueError:
        return ""


def redact_error(text: str, request: Request) -> str:
    """Return a short text without secrets and without any word of the request.

    Words are hidden in all forms in which a server may repeat them: whole, cut off or escaped. The text is shortened
    last, so that half a word is not taken for another one.
    """
    from trotline.scanners.redaction import redact  # noqa: PLC0415 - only needed after a failure

    sent = _list_sent_values(request)
    clean = redact(text, os.urandom(16))[0].replace(request.url, HIDDEN)
    for value in sent:
        clean = clean.replace(value, HIDDEN)
    whole = "\n".join(sent).lower()
    parts = {word for word in WORDS.findall(whole) if len(word) >= MIN_HIDDEN_PART}
    clean = WORDS.sub(lambda word: HIDDEN if _reveals_sent(word[0].lower(), whole, parts) else word[0], clean)
    short = HIDDEN_WORDS.sub(HIDDEN, " ".join(clean.split()))[:MAX_SHOWN_TEXT]
    return "".join(letter if letter.isprintable() else "?" for letter in short)


def _reveals_sent(word: str, whole: str, parts: set[str]) -> bool:
    return len(word) > MAX_WORD or word in whole or any(part in word for part in parts)


def _list_sent_values(request: Request) -> list[str]:
    """Return the parts of a request that no error text may show, longest first.

    These are the credentials and the path of its address, and its headers, with and without the words before a key. An
    address without a host is hidden completely.
    """
    scheme, _, rest = request.url.partition("://")
    place, _, path = rest.partition("/")
    named = place.rpartition("@")[0]
    headers = [value for name, value in request.headers.items() if name != "content-type"]
    keys = [value.rpartition(" ")[2] for value in headers]
    values = [named, unquote(named), path, unquote(path), "" if rest else scheme, *headers, *keys]
    return sorted(filter(None, values), key=len, reverse=True)


def _parse_wait_us(header: str, now_us: int) -> int:
    """Return the wait of a Retry-After header, which is a number of seconds or a date."""
    if header.isascii() and header.isdigit():
        return int(header[:9]) * 1_000_000
    try:
        return max(0, int(parsedate_to_datetime(header).timestamp() * 1_000_000) - now_us)
    except (ValueError, TypeError, OverflowError):
        return 0
