"""JSON Schemas of audit log output: a line of `trotline log export` per format, and an alert.

Schemas of records and details allow unknown fields: current readers must be able to read records of later versions.
"""

from typing import Any

import msgspec

from trotline.audit.export.export_formats import CSV_FIELDS, OCSF_VERSION
from trotline.audit.record.record import Record

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
REQUIRED = ("schema", "seq", "id", "at_us", "agent", "event", "decided")
"""Fields of every exported record. Stored bodies have no `seq`, and `schema` is checked when they are stored."""

REF_PREFIX = "#/$defs/"


def record_schema() -> Schema:
    """Return the schema of a line of `trotline log export --format jsonl`."""
    record, definitions = _build_definitions()
    return {
        "$schema": DRAFT,
        "title": "A record of the audit log",
        "description": "One line of `trotline log export`: what is remembered of one answered call.",
        **record,
        "$defs": definitions,
    }


def _build_definitions() -> tuple[Schema, dict[str, Schema]]:
    """Return the schema of a record, and those of the types in it."""
    _, types = msgspec.json.schema_components([Record], ref_template=REF_PREFIX + "{name}")
    definitions = {name: _remove_defaults(schema) for name, schema in types.items()}
    record = definitions.pop("Record")
    properties = {**record["properties"], "seq": {**record["properties"]["seq"], "minimum": 1}}
    definitions["Detail"]["required"] = ["schema", "id"]
    return {"type": "object", "properties": properties, "required": list(REQUIRED)}, definitions


def _remove_defaults(value: Any) -> Any:
    """Remove the defaults and titles that msgspec adds: an absent field has no value."""
    if isinstance(value, dict):
        return {name: _remove_defaults(child) for name, child in value.items() if name not in ("default", "title")}
    return [_remove_defaults(child) for child in value] if isinstance(value, list) else value


def row_schema() -> Schema:
    """Return the schema of a row of `trotline log export --format csv`, as a dict by column name."""
    return {
        "$schema": DRAFT,
        "title": "A row of the audit log as a table",
        "description": "The columns of `trotline log export --format csv`, in their order; every cell is a text.",
        "type": "object",
        "properties": {name: {**TEXT, "description": meaning} for name, meaning in COLUMNS.items()},
        "required": list(CSV_FIELDS),
        "additionalProperties": False,
    }


COLUMNS: dict[str, str] = {
    **{
        name: schema["description"]
        for name, schema in _build_definitions()[0]["properties"].items()
        if name in CSV_FIELDS
    },
    "time": "when the call came, RFC 3339 in UTC",
    "verdict": "what became of it: none, allow, ask or deny; would_deny and the like where it was only monitored",
    "deciders": "whose responses that was, with spaces between them",
    "subject": "what the call was about: its command, its file, its prompt; redacted",
}


def ocsf_schema() -> Schema:
    """Return the schema of a line of `trotline log export --format ocsf`: an OCSF API Activity."""
    product = _build_object({"name": TEXT, "vendor_name": TEXT, "version": TEXT})
    metadata: Schema = {"version": {"const": OCSF_VERSION}, "product": product, "uid": TEXT, "sequence": COUNT}
    verdict: Schema = {**TEXT, "description": COLUMNS["verdict"]}
    unmapped: Schema = {"verdict": verdict, "subject": TEXT, "record": {"$ref": "#/$defs/record"}}
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
        "actor": _build_object(
            {"app_name": TEXT, "session": _build_object({"uid": TEXT})}, user=_build_object({"name": TEXT})
        ),
        "api": _build_object({"operation": TEXT, "request": _build_object({"uid": TEXT})}),
        "src_endpoint": _build_object({"name": {**TEXT, "description": "machine, or localhost where it is not kept"}}),
        "metadata": _build_object(metadata),
        "unmapped": _build_object(unmapped),
    }
    record, definitions = _build_definitions()
    return {
        "$schema": DRAFT,
        "title": "A record of the audit log as an event of OCSF",
        "description": f"Which field of a record stands where in API Activity (6003) of OCSF {OCSF_VERSION}.",
        **_build_object(mapped),
        "$defs": {"record": record, **definitions},
    }


def alert_schema() -> Schema:
    """Return the schema of an alert as sent to commands and webhooks."""
    from trotline.config.alerts_file import ALERT_SCHEMA as ALERT  # noqa: PLC0415 - see below
    from trotline.config.alerts_file import OCCASIONS  # noqa: PLC0415 - reading the audit log needs no alerts

    record, definitions = _build_definitions()
    body = {key: record[key] for key in ("type", "properties")}
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
        "$defs": definitions,
    }


SCHEMAS = {"record": record_schema, "record-csv": row_schema, "record-ocsf": ocsf_schema, "alert": alert_schema}
"""Schema functions by the name that `trotline schema` accepts."""


def export_schemas() -> dict[str, Schema]:
    """Return all schemas by file name."""
    return {f"{name}.schema.json": made() for name, made in SCHEMAS.items()}


def _build_object(properties: Schema, **more: Schema) -> Schema:
    """Return an object schema with required `properties` and optional `more`."""
    return {"type": "object", "properties": {**properties, **more}, "required": list(properties)}
