"""One question over HTTP, with a deadline and a cap. Whatever goes wrong is a Failure, and none shows the key."""

import json
import time

import httpx2

from trotline.config.models import Provider
from trotline.engine.posting import Answer, Request, post
from trotline.engine.providers import PROTOCOLS
from trotline.engine.providers.exchange import NoAnswer, Question
from trotline.outcomes import Failure, FailureKind

MOST_BYTES = 1_000_000
PASSING = frozenset({408, 429, 500, 502, 503, 504, 529})
"""What a server says when nothing is wrong but the moment."""

PAUSE = 0.3


def open_client(provider: Provider) -> httpx2.Client:
    """Proxies come from the provider's own entry: the environment of an agent is not ours to follow."""
    return httpx2.Client(trust_env=False, follow_redirects=False, proxy=provider.proxy or None)


def ask(client: httpx2.Client, question: Question, deadline: float) -> str | Failure:
    """The text of the answer. A server that is busy is asked once more, if there is time."""
    answer = _posted(client, question, deadline)
    pause = max(PAUSE, answer.wait_us / 1_000_000)
    if answer.status in PASSING and time.monotonic() + pause < deadline:
        time.sleep(pause)
        answer = _posted(client, question, deadline)
    return _text(question, answer)


def _posted(client: httpx2.Client, question: Question, deadline: float) -> Answer:
    asked = PROTOCOLS[question.provider.speaks].request(question)
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer(late=True)
    url = question.provider.url.rstrip("/") + asked.path
    headers = {"content-type": "application/json", **asked.headers}
    request = Request(url, json.dumps(asked.body).encode(), headers, left, most=MOST_BYTES)
    return post(client, request, 0)  # a date by which it wants to be asked again is never in time


def _text(question: Question, answer: Answer) -> str | Failure:
    if answer.late:
        return _failure(question, FailureKind.TIMED_OUT, "did not answer in time")
    if answer.cut:
        return _failure(question, FailureKind.TOO_MUCH, "sent more than is read")
    if not answer.is_good:
        return _failure(question, FailureKind.UNAVAILABLE, answer.why, answer.status or None)
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return _failure(question, FailureKind.UNREADABLE, "sent no JSON")
    if not isinstance(body, dict):
        return _failure(question, FailureKind.MISFIT, "sent something else than an object")
    try:
        return PROTOCOLS[question.provider.speaks].answer(body)
    except NoAnswer as error:
        return _failure(question, FailureKind.UNREADABLE, f"sent no answer: {error}")


def _failure(question: Question, kind: FailureKind, why: str, status: int | None = None) -> Failure:
    return Failure(
        kind=kind, detail=f"the model {question.model} of provider `{question.provider.name}` {why}", code=status
    )
