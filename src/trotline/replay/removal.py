"""Calls of another place, as if they had been made here: their directories become ours."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from trotline.config.places import Roots
from trotline.errors import UnreadablePayload
from trotline.replay.abroad import event_of
from trotline.replay.recalled import Recalled
from trotline.replay.shrinking import at, put, texts_in


def here(one: Recalled, project: str) -> Recalled:
    """The call, with this project in the place of the workspace that it was made in."""
    if one.missing:
        return one
    try:
        named = event_of(one).workspace_roots
    except UnreadablePayload:
        return one
    places = {place: project for root in named if (place := whole(root))}
    return one._replace(payload=json.dumps(moved(json.loads(one.payload), places)).encode()) if places else one


def is_here(one: Recalled, roots: Roots) -> bool:
    """Whether a call was made in one of our projects. Of one that cannot be judged nobody knows where it was; that it
    cannot is said elsewhere."""
    if one.missing:
        return True
    try:
        named = event_of(one).workspace_roots
    except UnreadablePayload:
        return True
    return not {os.path.realpath(root) for root in named}.isdisjoint(map(os.path.realpath, roots.projects))


def whole(root: str) -> str:
    """A directory by whose name a text can be told to be about it; the root of everything is in every path."""
    return root.rstrip("/") if len(root.strip("/")) > 1 else ""


def moved(value: Any, places: Mapping[str, str]) -> Any:
    """The value with other directories, wherever the whole name of one stands."""
    for path in texts_in(value):
        text = str(at(value, path))
        for place in sorted(places, key=len, reverse=True):
            text = _replaced(text, place, places[place])
        value = put(value, path, text)
    return value


def _replaced(text: str, place: str, to: str) -> str:
    return re.sub(re.escape(place) + r"(?![\w.-])", lambda _: to, text)
