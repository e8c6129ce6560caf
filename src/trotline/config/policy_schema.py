"""The JSON Schema of policy.toml, made from what the reader knows."""

from typing import Any

from trotline.config.policy_parts import ACTIONS, JUDGED, WAIVER_KEYS
from trotline.guards import NAMES
from trotline.guards.guard import PRESETS, Level
from trotline.guards.lists import KINDS
from trotline.guards.vocabulary import RECORDS, VARIABLES
from trotline.guards.words import LONGEST

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": TEXT}
MEANING = {
    "deny": "refuses, with this message",
    "ask": "a person is asked, with this message",
    "warn": "it goes on, and the person is told this",
}


def policy_schema() -> Schema:
    """For editors; what a project may not say is known to `trotline policy check` only."""
    levels = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"enum": [*Level]} for name in NAMES},
    }
    return {
        "$schema": DRAFT,
        "title": "Trotline policy.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "schema": {"type": "integer"},
            "preset": {"enum": list(PRESETS)},
            "guards": {**levels, "description": "what each guard may do"},
            "tab": {**levels, "description": "the same for Tab, where it is different"},
            "rule": {"type": "array", "items": _rule()},
            "lists": {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: {**TEXTS, "description": _about(name)} for name in KINDS},
            },
            "waiver": {"type": "array", "items": _waiver()},
        },
    }


def _rule() -> Schema:
    names = ", ".join(f"{name}: {kind}" for name, kind in VARIABLES.items())
    fields = "; ".join(f"{record} has {', '.join(its)}" for record, its in RECORDS.items())
    event = {"type": "object", "required": ["event"], "properties": {"event": {"enum": list(JUDGED)}}}
    test = {"type": "array", "items": {"anyOf": [TEXT, event]}}
    tests = {"type": "object", "additionalProperties": False, "properties": {"stop": test, "pass": test}}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "when"],
        "oneOf": [{"required": [action]} for action in ACTIONS],
        "properties": {
            "name": TEXT,
            "when": {**TEXT, "maxLength": LONGEST, "description": f"a condition in CEL over {names}. {fields}."},
            **{action: {**TEXT, "description": MEANING[action]} for action in ACTIONS},
            "instead": {"type": "string", "description": "what to do instead"},
            "events": {"type": "array", "items": {"enum": list(JUDGED)}, "description": "asked about these only"},
            "tests": {**tests, "description": "lines and events about which the rule must speak, and must not"},
        },
    }


def _waiver() -> Schema:
    kinds: dict[str, Schema] = {"guard": {"enum": list(NAMES)}, "until": {"description": "the last day, a date"}}
    properties = {key: kinds.get(key, TEXT) for key in WAIVER_KEYS}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(WAIVER_KEYS),
        "properties": properties,
    }


def _about(name: str) -> str:
    kind = KINDS[name]
    meaning = "every other is refused" if kind.allows else "refused"
    return f"{kind.noun}s; `*` stands for anything; {meaning}"
