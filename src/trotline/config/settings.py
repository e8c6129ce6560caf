"""The settings at the top level of trotline.toml, of the user and of the machine, which has precedence.

An invalid value is a Problem, and the strictest value is in force.
"""

from typing import Annotated, Literal

import msgspec

from trotline.config.config_file import ConfigFile, read_config_files
from trotline.config.config_keys import SETTINGS_KEYS
from trotline.config.paths import Roots
from trotline.config.problems import Problem

MONITOR = "monitor"
OFF = "off"
_COST = r"[\w:.*/-]{1,80}=[0-9]{1,9}(?:\.[0-9]{1,9})?"
_PATH = r"/[^\x00\n]{1,4000}"


def _describe_value(pattern: str, description: str) -> msgspec.Meta:
    return msgspec.Meta(pattern=rf"^(?:{OFF}|{pattern})$(?!\n)", description=f"{description}, or `{OFF}`")


class SettingsTable(msgspec.Struct, kw_only=True):
    """The settings; the defaults are the strictest values."""

    ask_fallback: Annotated[
        Literal["deny", "ask"], msgspec.Meta(description="the reply to an agent whose `ask` does not work")
    ] = "deny"
    mode: Annotated[
        Literal["enforce", "monitor"], msgspec.Meta(description="`monitor` decides and records, and sends nothing")
    ] = "enforce"
    records: Annotated[
        Literal["standard", "minimal", "full"], msgspec.Meta(description="how much detail records have")
    ] = "standard"
    keep_for: Annotated[str, _describe_value("[1-9][0-9]{0,4}[hdw]", "a time such as `90d`")] = OFF
    keep_size: Annotated[str, _describe_value("[1-9][0-9]{0,6}(?:MB|GB)", "a size such as `500MB`")] = OFF
    anchor_file: Annotated[str, _describe_value(_PATH, "the path of a file, from the root")] = OFF
    costs: Annotated[
        str, _describe_value(rf"{_COST}(?:, ?{_COST}){{0,99}}", "prices of calls such as `MCP:search=0.01, Shell=0`")
    ] = OFF
    anchor_syslog: Annotated[str, _describe_value(f"on|{_PATH}", "`on`, or the path of a socket")] = OFF


class Settings(SettingsTable, kw_only=True):
    """The settings in force, and the problems of the files they come from."""

    files: tuple[str, ...] = ()
    problems: list[Problem] = []

    @property
    def monitors(self) -> bool:
        """True in monitor mode: decisions are recorded and not enforced."""
        return self.mode == MONITOR


STRICTEST: dict[str, str] = {key: getattr(SettingsTable(), key) for key in SETTINGS_KEYS}


def read_settings(roots: Roots) -> Settings:
    """Read the settings of the machine and of the user; those of the machine win."""
    settings = Settings()
    values: dict[str, str] = {}
    for config in read_config_files(roots):
        values = {**_convert_settings(config), **values}
        settings.files += (config.file,) if config.source.data is not None else ()
        settings.problems += config.problems
    return msgspec.structs.replace(settings, **values)


def read_managed_settings(roots: Roots) -> dict[str, str]:
    """Return the settings that the machine has fixed and the user cannot change."""
    return next((_convert_settings(config) for config in read_config_files(roots) if config.layer == "enterprise"), {})


def _convert_settings(config: ConfigFile) -> dict[str, str]:
    if config.fault:
        return STRICTEST
    table = {key: value for key, value in config.body.items() if key in SETTINGS_KEYS}
    values = config.convert_table(table, SettingsTable, "")
    return {key: values.get(key, STRICTEST[key]) for key in table}
