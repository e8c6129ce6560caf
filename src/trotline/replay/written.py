"""A test as it is written: an example in Python. What agents wrote stands in literals, and nowhere else."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from trotline.replay.reduction import Example, Raised
from trotline.starters.sheets import filled

WIDTH = 110
LONGEST_NAME = 60
HEARD = {"deny": "is_denied", "ask": "is_asked_about", "allow": "is_allowed", "silent": "is_let_through"}
ASSERTED = {"deny": "outcome.denied", "ask": "outcome.asks"}
WORDS = re.compile(r"[a-z0-9]+")
NAMED = ("command", "file_path", "prompt", "tool_name")


class About(NamedTuple):
    """Where an example comes from, in words that a docstring can hold."""

    seq: int
    host: str
    day: str
    deciders: tuple[str, ...]
    redacted: tuple[str, ...] = ()


def name_of(example: Example, places: Mapping[str, str]) -> str:
    """A sentence that says what the test says, and the same every time, though the agent's directories are others."""
    text = [*_texts(example.raised.fields), example.raised.event][0]
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, places[place].rpartition(".")[2])
    words = "_".join(WORDS.findall(text.lower()))[:LONGEST_NAME].strip("_")
    return f"test_{words or 'it'}_{HEARD[example.wanted.permission]}"


def text_of(example: Example, about: About, places: Mapping[str, str]) -> str:
    """The text of the file; `places` are directories of the agent, and how a test names them."""
    body = [f"    agent.guards({_policies(example.policies)})"]
    for one in example.before:
        body += _fired(one, "", places)
    body += _fired(example.raised, "outcome = ", places)
    body += [f"    # {line}" for line in about.redacted]
    asserted = ASSERTED.get(example.wanted.permission, "not outcome.denied and not outcome.asks")
    body += [f"    assert {asserted}"]
    body += [f"    assert {literal(name)} in outcome.user_message" for name in example.wanted.named]
    constants = [f"{layer.upper()} = {literal(text)}" for layer, text in example.policies.items()]
    by = ", ".join(map(_harmless, about.deciders)) or "nobody"
    return filled(
        "test_from_trail.txt",
        seq=str(about.seq),
        host=_harmless(about.host),
        event=_harmless(example.raised.event),
        day=about.day,
        permission=example.wanted.permission,
        by=by,
        constants="".join(f"\n{line}\n" for line in constants),
        name=name_of(example, places),
        body="\n".join(body),
    )


def _policies(policies: Mapping[str, str]) -> str:
    return ", ".join(f"{layer}={layer.upper()}" for layer in policies)


def _fired(one: Raised, before: str, places: Mapping[str, str]) -> list[str]:
    given = [literal(one.event), *(f"{name}={_value(value, places)}" for name, value in one.fields.items())]
    line = f"    {before}agent.fire({', '.join(given)})"
    if len(line) <= WIDTH:
        return [line]
    return [f"    {before}agent.fire(", *(f"        {argument}," for argument in given), "    )"]


def _value(value: Any, places: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return _text(value, places)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(str(key))}: {_value(one, places)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one, places) for one in value) + "]"
    return repr(value)


def _text(text: str, places: Mapping[str, str]) -> str:
    """A literal, in which directories of the agent are those of whichever agent runs the test."""
    found = [place for place in places if place in text]
    if not found:
        return literal(text)
    made = literal(text).replace("{", "{{").replace("}", "}}")
    for place in sorted(found, key=len, reverse=True):
        made = made.replace(place, "{" + places[place] + "}")
    return f"f{made}"


def literal(text: str) -> str:
    """A text as Python writes it; whatever cannot be seen is escaped, so that a person sees it."""
    seen = text.replace("\n", "").replace("\t", "").isprintable()
    return json.dumps(text, ensure_ascii=False) if seen else ascii(text)


def _harmless(text: str) -> str:
    """Words for a docstring, which nothing in them can end."""
    return "".join(char for char in text if char.isprintable() and char not in '"\\')[:80]


def _texts(fields: Mapping[str, Any]) -> list[str]:
    inner = fields.get("tool_input")
    places = [fields, inner if isinstance(inner, dict) else {}]
    return [str(place[name]) for name in NAMED for place in places if isinstance(place.get(name), str)]
