"""Chat Completions, which nearly every server speaks."""

from typing import Any

from trotline.engine.providers.exchange import SHAPE, NoAnswer, Question, Request, first, member, text_of


def request(question: Question) -> Request:
    body: dict[str, Any] = {
        "model": question.model,
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.user},
        ],
    }
    if question.provider.structured:
        schema = {"name": "answer", "strict": True, "schema": SHAPE}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    headers = {"authorization": f"Bearer {question.key}"} if question.key else {}
    return Request("/chat/completions", headers, body)


def answer(body: dict[str, object]) -> str:
    choice = first(body.get("choices"))
    if choice.get("finish_reason") == "length":
        raise NoAnswer("it was cut off")
    message = member(choice, "message")
    if message.get("refusal"):
        raise NoAnswer("the model declined to answer")
    return text_of(message.get("content"))
