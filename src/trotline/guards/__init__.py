"""Guards judge effects; one file per danger."""

from functools import cache
from importlib import import_module

from trotline.guards.guard import Guard

NAMES = (
    "backups",
    "cloud",
    "containers",
    "control_files",
    "credentials",
    "databases",
    "deletion",
    "disks",
    "execution",
    "exfiltration",
    "exposure",
    "git_settings",
    "history",
    "infrastructure",
    "injection",
    "invisible",
    "kubernetes",
    "machine",
    "opaque",
    "packages",
    "permissions",
    "persistence",
    "personal_data",
    "privilege",
    "processes",
    "publishing",
    "remote_code",
    "remotes",
    "secrets_in_text",
    "secrets_managers",
    "sequences",
    "system_files",
    "traces",
    "variables",
)


@cache
def guards() -> tuple[Guard, ...]:
    return tuple(import_module(f"trotline.guards.{name}").GUARD for name in NAMES)
