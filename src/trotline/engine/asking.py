"""One question over HTTP, with a deadline and a cap. Whatever goes wrong is a Failure, and none shows the key."""

import json
import time
from typing import NamedTuple

import httpx2

from trotline.config.models import Provider
from trotline.engine.providers import PROTOCOLS
from trotline.engine.providers.exchange import NoAnswer, Question, Request
from trotline.outcomes import Failure, FailureKind

MOST_BYTES = 1_000_000
PASSING = frozenset({408, 429, 500, 502, 503, 504, 529})
"""What a server says when nothing is wrong but the moment."""

PAUSE = 0.3
SHOWN = 200
"""How much of a server's complaint a person is shown."""


class Reply(NamedTuple):
    """What came back, or why nothing did."""

    status: int = 0
    body: bytes = b""
    pause: float = PAUSE  # how long the server wants to be left alone
    failure: Failure | None = None


def open_client(provider: Provider) -> httpx2.Client:
    """Proxies come from the provider's own entry: the environment of an agent is not ours to follow."""
    return httpx2.Client(trust_env=False, follow_redirects=False, proxy=provider.proxy or None)


def ask(client: httpx2.Client, question: Question, deadline: float) -> str | Failure:
    """The text of the answer. A server that is busy is asked once more, if there is time."""
    request = PROTOCOLS[question.provider.speaks].request(question)
    reply = _posted(client, question, request, deadline)
    if reply.status in PASSING and time.monotonic() + reply.pause < deadline:
        time.sleep(reply.pause)
        reply = _posted(client, question, request, deadline)
    return reply.failure or _text(question, reply)


def _posted(client: httpx2.Client, question: Question, request: Request, deadline: float) -> Reply:
    try:
        return _post(client, question.provider.url.rstrip("/") + request.path, request, deadline)
    except (httpx2.TimeoutException, TimeoutError):
        return Reply(failure=_failure(question, FailureKind.TIMED_OUT, "did not answer in time"))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return Reply(failure=_failure(question, FailureKind.UNAVAILABLE, f"could not be reached: {error}"))


def _post(client: httpx2.Client, url: str, request: Request, deadline: float) -> Reply:
    headers = {"content-type": "application/json", "accept-encoding": "identity", **request.headers}
    content = json.dumps(request.body).encode()
    received = bytearray()
    with client.stream("POST", url, headers=headers, content=content, timeout=_left(deadline)) as response:
        for chunk in response.iter_raw():
            _left(deadline)  # a server that sends a byte now and then is not in time either
            received += chunk
            if len(received) > MOST_BYTES:
                break
        return Reply(response.status_code, bytes(received), _pause(response.headers.get("retry-after", "")))


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _pause(wanted: str) -> float:
    return max(float(wanted), PAUSE) if wanted.isascii() and wanted.isdigit() else PAUSE


def _text(question: Question, reply: Reply) -> str | Failure:
    if len(reply.body) > MOST_BYTES:
        return _failure(question, FailureKind.TOO_MUCH, "sent more than is read")
    if reply.status != 200:
        said = " ".join(reply.body[: SHOWN * 4].decode("utf-8", "replace").split())[:SHOWN]
        return _failure(question, FailureKind.UNAVAILABLE, f"answered with status {reply.status}: {said}", reply.status)
    try:
        body = json.loads(reply.body)
    except (ValueError, RecursionError):
        return _failure(question, FailureKind.UNREADABLE, "sent no JSON")
    if not isinstance(body, dict):
        return _failure(question, FailureKind.MISFIT, "sent something else than an object")
    try:
        return PROTOCOLS[question.provider.speaks].answer(body)
    except NoAnswer as error:
        return _failure(question, FailureKind.UNREADABLE, f"sent no answer: {error}")


def _failure(question: Question, kind: FailureKind, why: str, status: int | None = None) -> Failure:
    whole = f"the model {question.model} of provider `{question.provider.name}` {why}"
    return Failure(kind=kind, detail=whole.replace(question.key, "[key]") if question.key else whole, code=status)
