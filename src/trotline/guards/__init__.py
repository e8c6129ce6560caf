"""Guards match the effects of actions; one module per danger, with its cases in a TOML file."""

from functools import cache
from importlib import import_module

from trotline.guards.guard import Guard

_NAMES = (
    "backups cloud containers control_files credentials databases deletion disks execution exfiltration exposure"
    " git_settings history infrastructure injection invisible kubernetes machine opaque packages permissions"
    " persistence personal_data privilege processes publishing remote_code remotes secrets_in_text secrets_managers"
    " sequences system_files traces variables"
)
GUARD_NAMES = tuple(_NAMES.split())


@cache
def load_guards() -> tuple[Guard, ...]:
    """Import all guards."""
    return tuple(import_module(f"trotline.guards.{name}").GUARD for name in GUARD_NAMES)
