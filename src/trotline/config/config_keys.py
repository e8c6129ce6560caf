"""The top-level keys of trotline.toml, and a quick search for them in a file.

Every cold call checks whether a file has settings or a policy. The search does this without importing the TOML parser.
It may find a key that the parser would not, for example in a multi-line string, but it misses none that matters.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from trotline.config.paths import CONFIG_FILE, OLD_POLICY_FILE, Roots

SETTINGS_KEYS = (
    "ask_fallback",
    "mode",
    "records",
    "keep_for",
    "keep_size",
    "anchor_file",
    "costs",
    "anchor_syslog",
)
POLICY_KEYS = ("schema", "preset", "guards", "tab", "rule", "lists", "waiver")
DELIVERY_KEYS = ("export", "alert")
ALL_KEYS = (*SETTINGS_KEYS, *POLICY_KEYS, "models", *DELIVERY_KEYS)

LAYER_KEYS = {"enterprise": ALL_KEYS, "team": POLICY_KEYS, "user": ALL_KEYS, "project": POLICY_KEYS}
"""The keys of each layer. Teams and projects must not choose where records go, which models answer, or settings."""

OLD_FILES = {
    "settings.json": "its top level",
    "models.json": "[models]",
    OLD_POLICY_FILE: "its top level, [guards], [tab], [[rule]], [lists] and [[waiver]]",
    "export.toml": "[export]",
    "alerts.toml": "[[alert]]",
}
"""Files of earlier versions, and the sections of trotline.toml that their content belongs to."""

_KEY = re.compile(rb"""^[ \t]*(?!\#)(\[?)\[?[ \t]*["']?([\w-]*)([^\n=.\]]*)[=.\]]""", re.MULTILINE)


def find_keys(data: bytes) -> tuple[set[str], bool]:
    """Return the keys at line beginnings, and whether one of them is neither known nor inside a known table."""
    names: set[str] = set()
    has_unknown = in_table = False
    for match in _KEY.finditer(data):
        name = match[2].decode("ascii", "replace")
        names.add(name)
        is_header = bool(match[1])
        has_escape = b"\\" in match[3]
        has_unknown = has_unknown or has_escape or ((is_header or not in_table) and name not in ALL_KEYS)
        in_table = in_table or is_header
    return names, has_unknown


def find_old_files(file: str) -> tuple[str, ...]:
    """Return the files of earlier versions beside a configuration file."""
    candidates = (os.path.join(os.path.dirname(file), name) for name in OLD_FILES)  # noqa: PTH118, PTH120 - faster than Path, and called for each layer
    return tuple(filter(os.path.exists, candidates))


def has_settings(roots: Roots) -> bool:
    """Return whether a file of the user or of the machine has a setting."""
    return _has_keys(roots, SETTINGS_KEYS)


def has_delivery(roots: Roots) -> bool:
    """Return whether records are sent somewhere or alerts are configured."""
    return _has_keys(roots, DELIVERY_KEYS)


def has_policy(files: Iterable[str]) -> bool:
    """Return whether one of these files has a policy or is unreadable, or an old policy.toml is left over."""
    for file in files:
        path = Path(file)
        if os.path.exists(path.with_name(OLD_POLICY_FILE)):  # noqa: PTH110 - Path.exists may raise
            return True
        data = _read(path)
        names, has_unknown = find_keys(data or b"")
        if data is None or has_unknown or not names.isdisjoint(POLICY_KEYS):
            return True
    return False


def _has_keys(roots: Roots, keys: tuple[str, ...]) -> bool:
    for directory in (roots.managed_config, roots.config):
        data = _read(directory / CONFIG_FILE)
        names, has_unknown = find_keys(data or b"")
        if data is None or has_unknown or not names.isdisjoint(keys):
            return True
    return False


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file; b"" if it is missing, None if it cannot be read."""
    from trotline.system.files import read_file  # noqa: PLC0415 - keeps the import of this module cheap

    try:
        return read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return None
