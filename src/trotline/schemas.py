"""JSON Schemas (draft 2020-12) of hooks.json, of every payload, reply and export, made from the declarations."""

from typing import Any

import msgspec

from trotline.audit.record_schema import export_schemas
from trotline.config.policy_schema import policy_schema
from trotline.contracts import Ask, Contract
from trotline.events import EVENTS
from trotline.fields import FIELDS, sample

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}

REPLY_FIELDS: dict[str, Schema] = {
    "permission": {"enum": ["allow", "deny", "ask"], "description": "whether the action may go on"},
    "continue": {"type": "boolean", "description": "false refuses"},
    "user_message": {**TEXT, "description": "shown to the person"},
    "agent_message": {**TEXT, "description": "given to the model"},
    "updated_input": {"type": "object", "description": "the tool's arguments, replaced as a whole"},
    "additional_context": {**TEXT, "description": "text that the model reads from here on"},
    "updated_mcp_tool_output": {"type": "object", "description": "replaces an MCP tool's result; other tools' stay"},
    "env": {
        "type": "object",
        "additionalProperties": TEXT,
        "description": "variables for all later hooks of the conversation; not for the agent's own shell",
    },
    "followup_message": {**TEXT, "description": "sent as the next message of the person; empty for none"},
    "pluginPaths": {"type": "array", "items": TEXT, "description": "absolute plugin directories to load"},
}


def payload_schema(name: str) -> Schema:
    """What a hook of this event reads on standard input. Fields nobody knows yet are allowed."""
    cls = EVENTS[name]
    made = msgspec.json.schema(cls, ref_template="#/$defs/{name}")
    definitions = made["$defs"]
    body = definitions.pop(cls.__name__)
    properties = {key: _described(key, value) for key, value in body["properties"].items() if key != "raw"}
    if "tool_input" in properties:
        properties["tool_input"] = {"type": ["object", "string"], "description": _input_meaning(name)}
    return {
        "$schema": DRAFT,
        "title": f"{name}: the payload",
        "description": f"When: {cls.contract.when}.",
        "type": "object",
        "properties": {"hook_event_name": {"const": name}, **properties},
        "required": ["hook_event_name", *body.get("required", [])],
        "examples": [sample(name)],
        **({"$defs": definitions} if definitions else {}),
    }


def reply_schema(name: str) -> Schema:
    """What a hook of this event may print. Strict: Cursor ignores other keys, and an ignored key is a mistake."""
    contract = EVENTS[name].contract
    properties = {key: REPLY_FIELDS[key] for key in contract.answers}
    if "permission" in properties and contract.ask is Ask.DENIED:
        properties["permission"] = {**REPLY_FIELDS["permission"], "enum": ["allow", "deny"]}
    return {
        "$schema": DRAFT,
        "title": f"{name}: the reply",
        "description": "Printed on standard output with exit code 0.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def hooks_schema() -> Schema:
    """hooks.json itself, for editors. Keys that Cursor ignores are allowed, events that void the file are not."""
    command: Schema = {"required": ["command"], "properties": {"type": {"const": "command"}}}
    prompt: Schema = {"required": ["type", "prompt"], "properties": {"type": {"const": "prompt"}}}
    entry: Schema = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "a shell line; the event comes on stdin"},
            "type": {"enum": ["command", "prompt"], "default": "command"},
            "prompt": {
                "type": "string",
                "minLength": 1,
                "description": "a question to a model; $ARGUMENTS is the event",
            },
            "model": {**TEXT, "description": "the model of a prompt hook"},
            "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "seconds; 60 if absent"},
            "matcher": {**TEXT, "description": "a JavaScript regular expression, unanchored; empty or * for all"},
            "failClosed": {"type": "boolean", "default": False, "description": "refuse when the hook fails"},
            "loop_limit": {
                "type": ["integer", "null"],
                "minimum": 1,
                "default": 5,
                "description": "follow-ups of a stop hook; null for no limit",
            },
        },
        "anyOf": [command, prompt],
        "not": {"required": ["hooks"]},
    }
    events = {name: _event_list(cls.contract) for name, cls in EVENTS.items()}
    return {
        "$schema": DRAFT,
        "title": "Cursor hooks.json",
        "type": "object",
        "required": ["version", "hooks"],
        "properties": {
            "version": {"type": "integer", "minimum": 1, "default": 1},
            "hooks": {"type": "object", "properties": events, "additionalProperties": False},
        },
        "$defs": {"entry": entry},
    }


def all_schemas() -> dict[str, Schema]:
    """Every schema by the name of its file."""
    schemas = {"hooks.schema.json": hooks_schema(), "policy.schema.json": policy_schema(), **export_schemas()}
    for name in EVENTS:
        schemas[f"{name}.payload.schema.json"] = payload_schema(name)
        schemas[f"{name}.reply.schema.json"] = reply_schema(name)
    return schemas


def _event_list(contract: Contract) -> Schema:
    return {"type": "array", "items": {"$ref": "#/$defs/entry"}, "description": contract.when}


def _described(key: str, value: Schema) -> Schema:
    described = {**value, "description": FIELDS[key].meaning}
    described.pop("default", None)  # an absent field is not a field with a value
    return described


def _input_meaning(name: str) -> str:
    wire = "JSON text" if name.endswith("MCPExecution") else "an object"
    return f"the tool's arguments; {wire} on the wire, and some clients send the other"
