"""Messages. The answer is the input of a tool that the model must call, so that its shape is checked over there too."""

import json

from trotline.engine.providers.exchange import MOST_TOKENS, SHAPE, NoAnswer, Question, Request, text_of

VERSION = "2023-06-01"
TOOL = "answer"


def request(question: Question) -> Request:
    headers = {"anthropic-version": VERSION, **({"x-api-key": question.key} if question.key else {})}
    body = {
        "model": question.model,
        "max_tokens": MOST_TOKENS,
        "system": question.system,
        "messages": [{"role": "user", "content": question.user}],
    }
    if question.provider.structured:
        body["tools"] = [{"name": TOOL, "description": "Give the answer.", "input_schema": SHAPE}]
        body["tool_choice"] = {"type": "tool", "name": TOOL}
    return Request("/v1/messages", headers, body)


def answer(body: dict[str, object]) -> str:
    if body.get("stop_reason") == "max_tokens":
        raise NoAnswer("it was cut off")
    content = body.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    called = [block for block in blocks if block.get("type") == "tool_use" and block.get("name") == TOOL]
    if called:
        return json.dumps(called[-1].get("input"))
    texts = [block for block in blocks if block.get("type") == "text"]
    return text_of(texts[-1].get("text") if texts else None)
