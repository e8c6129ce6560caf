"""The protocols in which models are asked: one file each, two pure functions, one line in the table."""

from collections.abc import Callable
from typing import NamedTuple

from trotline.engine.providers import anthropic, ollama, openai
from trotline.engine.providers.exchange import Question, Request


class Protocol(NamedTuple):
    """How a question is written, and how the answer's text is found in what comes back."""

    request: Callable[[Question], Request]
    answer: Callable[[dict[str, object]], str]


PROTOCOLS: dict[str, Protocol] = {
    "openai": Protocol(openai.request, openai.answer),
    "anthropic": Protocol(anthropic.request, anthropic.answer),
    "ollama": Protocol(ollama.request, ollama.answer),
}
