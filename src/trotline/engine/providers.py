"""Ask a model: the protocols of providers, their keys, and one question over HTTP with a deadline and a size limit.

All errors are returned as a Failure, which never contains the key.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from trotline.config.models import Provider
from trotline.domain.outcomes import Failure, FailureKind
from trotline.system.processes import RUN_VARIABLE, run_program

if TYPE_CHECKING:
    import httpx2

    from trotline.system.http_post import Answer

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "whether the event meets the condition"},
        "reason": {"type": "string", "description": "one sentence for the person and the agent"},
    },
    "required": ["ok", "reason"],
    "additionalProperties": False,
}

MAX_TOKENS = 1000
MAX_ANSWER_BYTES = 1_000_000
TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})
RETRY_SECONDS = 0.3
ANTHROPIC_VERSION = "2023-06-01"
ANSWER_TOOL = "answer"


class Question(NamedTuple):
    """One question to one model: the provider, its key, and the two texts."""

    provider: Provider
    model: str
    key: str
    system: str
    user: str


class ModelRequest(NamedTuple):
    """A question as a request to its provider: path, headers and body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class NoAnswer(ValueError):  # noqa: N818 - describes the reply
    """The reply contains no complete answer."""


class ModelProtocol(NamedTuple):
    """The functions that build a request and read the text of the answer from the reply."""

    build_request: Callable[[Question], ModelRequest]
    read_answer: Callable[[dict[str, object]], str]


def _build_chat_request(question: Question, path: str = "/chat/completions") -> ModelRequest:
    """Build a request for the Chat Completions API, which OpenAI and most other servers use."""
    body: dict[str, Any] = {
        "model": question.model,
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.user},
        ],
    }
    if question.provider.structured:
        schema = {"name": "answer", "strict": True, "schema": ANSWER_SCHEMA}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    headers = {"authorization": f"Bearer {question.key}"} if question.key else {}
    return ModelRequest(path, headers, body)


def _build_ollama_request(question: Question) -> ModelRequest:
    """Build a request for Ollama: Chat Completions below `/v1`, without randomness."""
    request = _build_chat_request(question, "/v1/chat/completions")
    return request._replace(body={**request.body, "temperature": 0})


def _read_chat_answer(body: dict[str, object]) -> str:
    choice = _get_first_object(body.get("choices"))
    if choice.get("finish_reason") == "length":
        raise NoAnswer("it was cut off")
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NoAnswer("it has no `message`")
    if message.get("refusal"):
        raise NoAnswer("the model declined to answer")
    return _require_text(message.get("content"))


def _build_anthropic_request(question: Question) -> ModelRequest:
    """Build a request for Anthropic's Messages API. The answer is the input of a tool, so the server validates it."""
    headers = {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": question.key} if question.key else {})}
    body: dict[str, Any] = {
        "model": question.model,
        "max_tokens": MAX_TOKENS,
        "system": question.system,
        "messages": [{"role": "user", "content": question.user}],
    }
    if question.provider.structured:
        body["tools"] = [{"name": ANSWER_TOOL, "description": "Give the answer.", "input_schema": ANSWER_SCHEMA}]
        body["tool_choice"] = {"type": "tool", "name": ANSWER_TOOL}
    return ModelRequest("/v1/messages", headers, body)


def _read_anthropic_answer(body: dict[str, object]) -> str:
    if body.get("stop_reason") == "max_tokens":
        raise NoAnswer("it was cut off")
    content = body.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    called = [block for block in blocks if block.get("type") == "tool_use" and block.get("name") == ANSWER_TOOL]
    if called:
        return json.dumps(called[-1].get("input"))
    texts = [block for block in blocks if block.get("type") == "text"]
    return _require_text(texts[-1].get("text") if texts else None)


def _get_first_object(items: object) -> dict[str, Any]:
    if isinstance(items, list) and items and isinstance(items[0], dict):
        return items[0]
    raise NoAnswer("it holds no message")


def _require_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise NoAnswer("its message has no text")


PROTOCOLS: dict[str, ModelProtocol] = {
    "openai": ModelProtocol(_build_chat_request, _read_chat_answer),
    "anthropic": ModelProtocol(_build_anthropic_request, _read_anthropic_answer),
    "ollama": ModelProtocol(_build_ollama_request, _read_chat_answer),
}


class ProviderKeys:
    """The keys of providers, from a variable or from a command that prints one. They are kept only in memory."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._known: dict[tuple[str, ...], str] = {}
        self._lock = threading.Lock()

    def get(self, provider: Provider, seconds: float, run_id: str) -> str | Failure:
        """Return the key of a provider; empty if it needs none. A command is run once in the life of this process."""
        if provider.key_env:
            key = self._environ.get(provider.key_env, "").strip()
            return key or _build_key_failure(provider, f"the variable {provider.key_env} is not set")
        if not provider.key_command:
            return ""
        with self._lock:  # a password store asks its owner once, not for every hook
            known = self._known.get(provider.key_command)
            return known or self._run_command(provider, seconds, run_id)

    def forget(self, provider: Provider) -> None:
        """Forget a key that was refused, so that its command runs again."""
        with self._lock:
            self._known.pop(provider.key_command, None)

    def _run_command(self, provider: Provider, seconds: float, run_id: str) -> str | Failure:
        result = run_program(provider.key_command, env={**self._environ, RUN_VARIABLE: run_id}, timeout=seconds)
        key = result.stdout.decode("utf-8", "replace").strip()
        if result.exit_code != 0 or not key or "\n" in key:
            why = result.stopped or result.detail or f"exit code {result.exit_code}"
            return _build_key_failure(provider, f"`{provider.key_command[0]}` printed no key ({why})")
        self._known[provider.key_command] = key
        return key


def _build_key_failure(provider: Provider, why: str) -> Failure:
    return Failure(kind=FailureKind.UNAVAILABLE, detail=f"provider `{provider.name}` has no key: {why}")


def open_client(provider: Provider) -> "httpx2.Client":
    """Open an HTTP client. Its proxy comes from the provider's entry, never from the environment of the agent."""
    import httpx2  # noqa: PLC0415 - few people have prompt hooks

    return httpx2.Client(trust_env=False, follow_redirects=False, proxy=provider.proxy or None)


def ask_model(client: "httpx2.Client", question: Question, deadline: float) -> str | Failure:
    """Return the text of the answer. If the server is busy, try once more if there is time."""
    answer = _post(client, question, deadline)
    pause = max(RETRY_SECONDS, answer.wait_us / 1_000_000)
    if answer.status in TRANSIENT_STATUSES and time.monotonic() + pause < deadline:
        time.sleep(pause)
        answer = _post(client, question, deadline)
    return _read_text(question, answer)


def _post(client: "httpx2.Client", question: Question, deadline: float) -> "Answer":
    from trotline.system.http_post import Answer, Request, post  # noqa: PLC0415 - few people have prompt hooks

    built = PROTOCOLS[question.provider.protocol].build_request(question)
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        return Answer(late=True)
    url = question.provider.url.rstrip("/") + built.path
    headers = {"content-type": "application/json", **built.headers}
    request = Request(url, json.dumps(built.body).encode(), headers, remaining, max_bytes=MAX_ANSWER_BYTES)
    return post(client, request, 0)  # time 0 makes a Retry-After date later than every deadline


def _read_text(question: Question, answer: "Answer") -> str | Failure:
    if answer.late:
        return _build_failure(question, FailureKind.TIMED_OUT, "did not answer in time")
    if answer.cut:
        return _build_failure(question, FailureKind.TOO_MUCH, "sent more than the size limit")
    if not answer.is_good:
        return _build_failure(question, FailureKind.UNAVAILABLE, answer.why, answer.status or None)
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return _build_failure(question, FailureKind.UNREADABLE_OUTPUT, "sent no JSON")
    if not isinstance(body, dict):
        return _build_failure(question, FailureKind.MISFIT, "sent JSON that is not an object")
    try:
        return PROTOCOLS[question.provider.protocol].read_answer(body)
    except NoAnswer as error:
        return _build_failure(question, FailureKind.UNREADABLE_OUTPUT, f"sent no answer: {error}")


def _build_failure(question: Question, kind: FailureKind, why: str, status: int | None = None) -> Failure:
    detail = f"the model {question.model} of provider `{question.provider.name}` {why}"
    return Failure(kind=kind, detail=detail, code=status)
