"""JSON Schemas of audit log output: a line of `trotline log export` per format, and an alert.

Schemas of records and details allow unknown fields: current readers must be able to read records of later versions.
"""

from typing import Any

from trotline.audit.export.export_formats import CSV_FIELDS, OCSF_VERSION
from trotline.audit.record.record_builder import DETAIL_SCHEMA, ENGINE_SIDE, HOOK_SIDE, RECORD_SCHEMA
from trotline.config.detail_levels import FULL, MINIMAL, STANDARD
from trotline.domain.effects import Certainty

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TEXTS: Schema = {"type": "array", "items": TEXT}
WORD: Schema = {"enum": ["none", "allow", "ask", "deny"]}


def _row(*fields: Schema, more: Schema | None = None) -> Schema:
    """Return the schema of an array with one schema per position; `more` is an optional last item."""
    return {"type": "array", "prefixItems": [*fields, *([more] if more else [])], "minItems": len(fields)}


VOICE: Schema = {
    "type": "object",
    "properties": {
        "author": {**TEXT, "description": "the hook, guard or rule"},
        "layer": {**TEXT, "description": "where it is from: guard, agent, user, project, team, enterprise"},
        "said": WORD,
        "noted": {"type": "boolean", "description": "whether it had something that is only written down"},
        "failure": {"type": ["string", "null"], "description": "why it gave no verdict"},
        "micros": {**COUNT, "description": "how long it took, in microseconds"},
        "exit": {"type": ["integer", "null"], "description": "how its process ended, where it had one"},
    },
    "required": ["author", "said", "micros"],
}

EFFECT: Schema = {
    "type": "object",
    "properties": {
        "host": {**TEXT, "description": "the machine, registry or cluster that it reaches"},
        "target": {**TEXT, "description": "what it is done to there, or what has no path"},
        "package": {**TEXT, "description": "the package, as a package URL, or the database"},
        "source": {**TEXT, "description": "what goes there, or where it comes from"},
        "why": {**TEXT, "description": "why it is not known better"},
        "writes": {"type": "boolean"},
        "recursive": {"type": "boolean"},
        "certainty": {"enum": [*Certainty], "description": "absent when it is known"},
    },
    "required": [],
}

RECORD: dict[str, tuple[Schema, str]] = {
    "schema": ({"const": RECORD_SCHEMA}, "what this is, and its version"),
    "seq": ({"type": "integer", "minimum": 1}, "its place in the trail; the order, whatever clocks said"),
    "id": ({**TEXT, "minLength": 1, "maxLength": 128}, "the call, for ever"),
    "at_us": (COUNT, "when the call came, in microseconds since 1970, UTC"),
    "seat": ({"enum": [HOOK_SIDE, ENGINE_SIDE]}, "whether a product called us, or we called hooks for an agent"),
    "agent": (TEXT, "the product that called, or the agent"),
    "event": (TEXT, "the event, as the product names it"),
    "conversation": ({"type": ["string", "null"]}, "the product's id of the conversation"),
    "generation": ({"type": ["string", "null"]}, "the product's id of the turn"),
    "tool": ({"type": ["string", "null"]}, "the tool, where the event is about one"),
    "payload_bytes": (COUNT, "the length of what the product sent"),
    "asked": (WORD, "what was decided"),
    "sent": (
        WORD,
        "what was sent, in our words: one that the product cannot hear became another; its own are in detail.reply",
    ),
    "observed": (
        {"type": "array", "items": COUNT},
        "which records say that it was done, by their seq; found when it is read, and absent if it announced nothing",
    ),
    "edited": ({"type": "boolean"}, "whether a hook rewrote the input"),
    "deciders": (TEXTS, "whose responses that was"),
    "responses": ({"type": "array", "items": VOICE}, "everybody who was heard"),
    "findings": (
        {"type": "array", "items": _row(TEXT, TEXT, TEXT, TEXT, {"type": ["integer", "null"]})},
        "what was found in texts: scanner, kind, certainty, HMAC, line",
    ),
    "losses": ({"type": "array", "items": _row(TEXT, TEXT)}, "what this product cannot hear of it: what, and why"),
    "monitored": ({"type": "boolean"}, "decided, and not enforced"),
    "withheld": (TEXTS, "words that were decided and not sent"),
    "alarms": (COUNT, "how many alarms the call raised"),
    "sent_exit": ({"type": "integer"}, "the exit code of the answer, with which some products are told"),
    "sent_bytes": (COUNT, "the length of the answer"),
    "micros": (COUNT, "how long the answer took, in microseconds"),
    "detail": ({"$ref": "#/$defs/detail"}, "what was said, redacted; absent when it was not kept, or not yet"),
    "odd": ({"type": "object"}, "fields that came in another shape, as they came; absent when there are none"),
}
"""Fields of an exported record with schema and description."""

DETAIL: dict[str, tuple[Schema, str]] = {
    "schema": ({"const": DETAIL_SCHEMA}, "what this is, and its version"),
    "id": (TEXT, "the record that it belongs to"),
    "payload": ({"type": ["object", "string"]}, "what the product sent, without secrets and personal data"),
    "about": ({"type": "object"}, "its command, file or prompt, where the product has other names for them; redacted"),
    "reasons": ({"type": "array", "items": _row(TEXT, TEXT)}, "who said something, and what"),
    "warnings": (TEXTS, "what was wrong with how hooks answered"),
    "hooks": ({"type": "object"}, "the lines of hooks, by the names that responses have"),
    "not_run": ({"type": "array", "items": _row(TEXT, TEXT, TEXT)}, "hooks that did not run: id, line, why"),
    "effects": (
        {"type": "array", "items": _row(TEXT, TEXT, TEXT, more=EFFECT)},
        "what it would do: kind, verb, to what (path, else agent, else target), and what else is not zero, by name",
    ),
    "attachments": ({"type": "array", "items": _row(TEXT, TEXT)}, "what went with a prompt: type, path"),
    "lines": ({"type": "array", "items": _row(TEXT, COUNT, COUNT)}, "what edits change: path, lines added, removed"),
    "diffs": ({"type": "array", "items": _row(TEXT, TEXT)}, "what edits change: path, diff; only when `full`"),
    "sizes": ({"type": "object"}, "texts by their field: characters, HMAC; only when `minimal`"),
    "measures": ({"type": "object"}, "what the product counted: tokens, times, exit status, how it ended"),
    "level": ({"enum": [MINIMAL, STANDARD, FULL]}, "how much was kept"),
    "machine": (TEXT, "where"),
    "user": (TEXT, "as whom"),
    "version": (TEXT, "the product's version"),
    "missing": (TEXT, "why there is nothing else"),
    "reply": (TEXT, "what the product was sent, in its own words"),
    "redacted": (TEXTS, "the kinds of what was taken out"),
    "action": (TEXT, "a name by which the events before and after one action are paired"),
    "also": (TEXTS, "names of other actions that it is about: edits, a subagent, the prompt that it comes from"),
    "odd": ({"type": "object"}, "fields that came in another shape, as they came; absent when there are none"),
}
"""Fields of a detail with schema and description."""

REQUIRED = ("schema", "seq", "id", "at_us", "agent", "event", "asked")


def record_schema() -> Schema:
    """Return the schema of a line of `trotline log export --format jsonl`."""
    return {
        "$schema": DRAFT,
        "title": "A record of the trail",
        "description": "One line of `trotline log export`: what is remembered of one answered call.",
        "type": "object",
        "properties": _add_descriptions(RECORD),
        "required": list(REQUIRED),
        "$defs": {"detail": _detail()},
    }


def row_schema() -> Schema:
    """Return the schema of a row of `trotline log export --format csv`, as a dict by column name."""
    return {
        "$schema": DRAFT,
        "title": "A row of the trail as a table",
        "description": "The columns of `trotline log export --format csv`, in their order; every cell is a text.",
        "type": "object",
        "properties": {name: {**TEXT, "description": meaning} for name, meaning in COLUMNS.items()},
        "required": list(CSV_FIELDS),
        "additionalProperties": False,
    }


COLUMNS: dict[str, str] = {
    **{name: meaning for name, (_, meaning) in RECORD.items() if name in CSV_FIELDS},
    "time": "when the call came, RFC 3339 in UTC",
    "verdict": "what became of it: none, allow, ask or deny; would_deny and the like where it was only monitored",
    "deciders": "whose responses that was, with spaces between them",
    "subject": "what the call was about: its command, its file, its prompt; redacted",
}


def ocsf_schema() -> Schema:
    """Return the schema of a line of `trotline log export --format ocsf`: an OCSF API Activity."""
    mapped: Schema = {
        "class_uid": {"const": 6003, "description": "API Activity"},
        "category_uid": {"const": 6, "description": "Application Activity"},
        "activity_id": {"const": 99, "description": "Other"},
        "activity_name": {**TEXT, "description": "event"},
        "type_uid": {"const": 600_399},
        "time": {**COUNT, "description": "at_us, in milliseconds"},
        "severity_id": {"enum": [1, 3], "description": "3 (medium) for what was denied, else 1 (informational)"},
        "status_id": {"enum": [1, 2, 99], "description": "2 for deny and what failed, 99 for ask, else 1"},
        "status": {"enum": ["Success", "Failure", "Other"]},
        "status_detail": {**TEXT, "description": "deciders, or the kind of failure"},
        "actor": _object({"app_name": TEXT, "session": _object({"uid": TEXT})}, user=_object({"name": TEXT})),
        "api": _object({"operation": TEXT, "request": _object({"uid": TEXT})}),
        "src_endpoint": _object({"name": {**TEXT, "description": "machine, or localhost where it is not kept"}}),
        "metadata": _object(
            {
                "version": {"const": OCSF_VERSION},
                "product": _object({"name": TEXT, "vendor_name": TEXT, "version": TEXT}),
                "uid": TEXT,
                "sequence": COUNT,
            }
        ),
        "unmapped": _object(
            {
                "verdict": {**TEXT, "description": COLUMNS["verdict"]},
                "subject": TEXT,
                "record": {"$ref": "#/$defs/record"},
            }
        ),
    }
    whole = record_schema()
    return {
        "$schema": DRAFT,
        "title": "A record of the trail as an event of OCSF",
        "description": f"Which field of a record stands where in API Activity (6003) of OCSF {OCSF_VERSION}.",
        **_object(mapped),
        "$defs": {"record": {key: whole[key] for key in ("type", "properties", "required")}, **whole["$defs"]},
    }


def alert_schema() -> Schema:
    """Return the schema of an alert as sent to commands and webhooks."""
    from trotline.config.alerts_file import ALERT_SCHEMA as ALERT  # noqa: PLC0415 - see below
    from trotline.config.alerts_file import OCCASIONS  # noqa: PLC0415 - reading the audit log needs no alerts

    whole = record_schema()
    body = {key: whole[key] for key in ("type", "properties")}
    properties: Schema = {
        "schema": {"const": ALERT},
        "alert": {**TEXT, "description": "its name in trotline.toml"},
        "on": {"enum": [*OCCASIONS]},
        "text": {**TEXT, "description": "a sentence about it"},
        "more": {**COUNT, "description": "of how many others nobody was told since the last one"},
        "at": {**TEXT, "description": "when the call came, RFC 3339 in UTC; absent without a record"},
        "sample": {"const": True, "description": "only in what `trotline log alerts test` sends"},
        "record": {
            "oneOf": [body, {"type": "null"}],
            "description": "null when it only tells how many more there were",
        },
    }
    return {
        "$schema": DRAFT,
        "title": "An alert",
        "description": "What a command reads on standard input and a webhook gets.",
        "type": "object",
        "properties": properties,
        "required": ["schema", "alert", "on", "text", "more", "record"],
        "additionalProperties": False,
        "$defs": whole["$defs"],
    }


SCHEMAS = {"record": record_schema, "record-csv": row_schema, "record-ocsf": ocsf_schema, "alert": alert_schema}
"""Schema functions by the name that `trotline schema` accepts."""


def export_schemas() -> dict[str, Schema]:
    """Return all schemas by file name."""
    return {f"{name}.schema.json": made() for name, made in SCHEMAS.items()}


def _detail() -> Schema:
    return {"type": "object", "properties": _add_descriptions(DETAIL), "required": ["schema", "id"]}


def _add_descriptions(fields: dict[str, tuple[Schema, str]]) -> Schema:
    return {name: {**schema, "description": meaning} for name, (schema, meaning) in fields.items()}


def _object(properties: Schema, **more: Schema) -> Schema:
    """Return an object schema with required `properties` and optional `more`."""
    return {"type": "object", "properties": {**properties, **more}, "required": list(properties)}
