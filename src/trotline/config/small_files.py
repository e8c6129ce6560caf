"""Small JSON files that are read, changed and rewritten; fields of newer Trotline versions are preserved."""

import json
from pathlib import Path
from typing import Any

import msgspec


def encode_file(what: msgspec.Struct, file: Path) -> bytes:
    """Encode a struct as new content of a file, with the fields of the old content that this version does not know."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    return msgspec.json.encode(_with_unknown(what, found))


def _with_unknown(what: Any, found: Any) -> Any:
    given = found if isinstance(found, dict) else {}
    if isinstance(what, msgspec.Struct):
        fields = {name: getattr(what, name) for name in what.__struct_fields__}
        known = {name: _with_unknown(value, given.get(name)) for name, value in fields.items()}
        return {**known, **{name: value for name, value in given.items() if name not in known}}
    if isinstance(what, dict):  # keys of a dict are data: a missing one was removed
        return {key: _with_unknown(value, given.get(key)) for key, value in what.items()}
    return what
