"""The JSON Schema of trotline.toml, generated from the types that read it."""

from typing import Any

import msgspec

from trotline.config.alerts_file import AlertTable
from trotline.config.export_file import ExportTable
from trotline.config.models import ModelsTable
from trotline.config.policy_parts import ACTIONS, RuleTable, RuleTests, WaiverTable
from trotline.config.settings import SettingsTable
from trotline.guards import GUARD_NAMES
from trotline.guards.guard import PRESETS, GuardLevel
from trotline.policy.lists import LIST_KINDS

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXTS: Schema = {"type": "array", "items": {"type": "string", "minLength": 1}}
SECTIONS = (SettingsTable, RuleTable, RuleTests, WaiverTable, ModelsTable, ExportTable, AlertTable)


def build_config_schema() -> Schema:
    """Return the schema for editors.

    It is the same for all layers; `trotline check` reports what a layer must not set.
    """
    _, definitions = msgspec.json.schema_components(SECTIONS, ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition["additionalProperties"] = False
    levels = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"enum": [*GuardLevel]} for name in GUARD_NAMES},
    }
    definitions["RuleTable"]["oneOf"] = [{"required": [action]} for action in ACTIONS]
    definitions["WaiverTable"]["properties"]["until"] = {"description": "the last day, a date"}
    return {
        "$schema": DRAFT,
        "title": "trotline.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **definitions.pop("SettingsTable")["properties"],
            "schema": {"type": "integer"},
            "preset": {"enum": list(PRESETS)},
            "guards": {**levels, "description": "the level of each guard"},
            "tab": {**levels, "description": "levels for Tab that differ from `guards`"},
            "rule": {"type": "array", "items": {"$ref": "#/$defs/RuleTable"}},
            "lists": {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: {**TEXTS, "description": _describe_list(name)} for name in LIST_KINDS},
            },
            "waiver": {"type": "array", "items": {"$ref": "#/$defs/WaiverTable"}},
            "models": {"$ref": "#/$defs/ModelsTable"},
            "export": {"$ref": "#/$defs/ExportTable"},
            "alert": {"type": "array", "items": {"$ref": "#/$defs/AlertTable"}},
        },
        "$defs": definitions,
    }


def _describe_list(name: str) -> str:
    kind = LIST_KINDS[name]
    meaning = "every other is refused" if kind.allows else "refused"
    return f"{kind.noun}s; `*` stands for anything; {meaning}"
