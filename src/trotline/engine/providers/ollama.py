"""Ollama's own chat, which takes a schema as the format of the answer."""

from typing import Any

from trotline.engine.providers.exchange import SHAPE, NoAnswer, Question, Request, member, text_of


def request(question: Question) -> Request:
    body: dict[str, Any] = {
        "model": question.model,
        "stream": False,
        "options": {"temperature": 0},
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.user},
        ],
    }
    if question.provider.structured:
        body["format"] = SHAPE
    headers = {"authorization": f"Bearer {question.key}"} if question.key else {}
    return Request("/api/chat", headers, body)


def answer(body: dict[str, object]) -> str:
    if body.get("done") is False or body.get("done_reason") == "length":
        raise NoAnswer("it was cut off")
    return text_of(member(body, "message").get("content"))
