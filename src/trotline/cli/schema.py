"""trotline schema: JSON Schemas (draft 2020-12) of hooks.json, policies, payloads, replies and exports, built from the
declarations."""

from collections.abc import Callable
from typing import Any

import click
import msgspec

from trotline.audit.record.record_schema import SCHEMAS, export_schemas
from trotline.cli.command import declare
from trotline.cli.output import Result, format_printable_json
from trotline.config.config_schema import build_config_schema
from trotline.domain.contracts import Ask, Contract
from trotline.domain.errors import UsageError
from trotline.domain.event_fields import FIELDS, build_sample
from trotline.domain.events import EVENTS, get_event_class

HELP = """Print a JSON Schema (draft 2020-12).

\b
  trotline schema                       hooks.json
  trotline schema config                trotline.toml
  trotline schema preToolUse            what a hook reads
  trotline schema preToolUse --reply    what it may print
  trotline schema record                a line of `trotline log export`; record-csv, record-ocsf: of its other formats
  trotline schema alert                 what a command or a webhook gets of an alert

An editor can use it without a `$schema` line in the file (which would make Cursor ignore the file, TL107). In VS Code:

\b
  "json.schemas": [{"fileMatch": [".cursor/hooks.json"], "url": "./hooks.schema.json"}]
"""

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


@declare("schema", "trotline.schema/1", help=HELP, roots=False)
@click.argument("event", required=False)
@click.option("--reply", is_flag=True, help="The reply instead of the payload.")
def command(event: str | None, reply: bool) -> Result:
    named: dict[str, Callable[[], Schema]] = {"config": build_config_schema, **SCHEMAS}
    if event is None:
        if reply:
            raise UsageError("--reply needs an event", hint="trotline schema preToolUse --reply")
        schema = build_hooks_schema()
    elif event in named and not reply:
        schema = named[event]()
    else:
        get_event_class(event)
        schema = build_reply_schema(event) if reply else build_payload_schema(event)
    return Result(schema, [format_printable_json(schema)])


def build_payload_schema(name: str) -> Schema:
    """Return the schema of what a hook of this event reads on standard input. Unknown fields are allowed."""
    cls = EVENTS[name]
    generated = msgspec.json.schema(cls, ref_template="#/$defs/{name}")
    definitions = generated["$defs"]
    body = definitions.pop(cls.__name__)
    properties = {key: _describe_field(key, value) for key, value in body["properties"].items() if key != "raw"}
    if "tool_input" in properties:
        properties["tool_input"] = {"type": ["object", "string"], "description": _describe_input(name)}
    return {
        "$schema": DRAFT,
        "title": f"{name}: the payload",
        "description": f"When: {cls.contract.when}.",
        "type": "object",
        "properties": {"hook_event_name": {"const": name}, **properties},
        "required": ["hook_event_name", *body.get("required", [])],
        "examples": [build_sample(name)],
        **({"$defs": definitions} if definitions else {}),
    }


def build_reply_schema(name: str) -> Schema:
    """Return the schema of the reply to this event. Other keys are an error, because Cursor ignores them."""
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


def build_hooks_schema() -> Schema:
    """Return the schema of hooks.json. It allows keys that Cursor ignores, and no events that are fatal for a file."""
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
    events = {name: _build_event_list(cls.contract) for name, cls in EVENTS.items()}
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


def build_all_schemas() -> dict[str, Schema]:
    """Return every schema by the name of its file."""
    schemas = {
        "hooks.schema.json": build_hooks_schema(),
        "trotline.schema.json": build_config_schema(),
        **export_schemas(),
    }
    for name in EVENTS:
        schemas[f"{name}.payload.schema.json"] = build_payload_schema(name)
        schemas[f"{name}.reply.schema.json"] = build_reply_schema(name)
    return schemas


def _build_event_list(contract: Contract) -> Schema:
    return {"type": "array", "items": {"$ref": "#/$defs/entry"}, "description": contract.when}


def _describe_field(key: str, value: Schema) -> Schema:
    schema = {**value, "description": FIELDS[key].meaning}
    schema.pop("default", None)  # an absent field has no value
    return schema


def _describe_input(name: str) -> str:
    wire = "JSON text" if name.endswith("MCPExecution") else "an object"
    return f"the tool's arguments; {wire} on the wire, and some clients send the other"
