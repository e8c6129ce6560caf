"""An answer as JSON, in the characters of `json.dumps`, which takes longer to load than most answers to say."""

import json
from typing import Any

WORDS = {True: "true", False: "false", None: "null"}


def spelled(body: dict[str, Any]) -> str:
    """Plain texts in objects; whatever is not so plain is left to the other."""
    try:
        return _spelled(body)
    except ValueError:
        return json.dumps(body)


def _spelled(value: object) -> str:
    if isinstance(value, str):
        if not (value.isascii() and value.isprintable()) or '"' in value or "\\" in value:
            raise ValueError(value)
        return f'"{value}"'
    if isinstance(value, dict):
        return f"{{{', '.join([f'{_spelled(key)}: {_spelled(inner)}' for key, inner in value.items()])}}}"
    if value is None or isinstance(value, bool):
        return WORDS[value]
    raise ValueError(value)
