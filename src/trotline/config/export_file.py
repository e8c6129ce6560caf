"""`[export]` in trotline.toml: the collector that records are sent to. Without it nothing is sent."""

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from trotline.config.config_file import ConfigFile, LayerFile, find_config_files
from trotline.config.models import is_loopback, split_url
from trotline.config.paths import Roots
from trotline.config.problems import Problem

EXPORT_CODE, ADDRESS_CODE, SECRET_CODE = "TL280", "TL281", "TL282"

PROTOCOLS = ("http/protobuf", "http/json")
"""Protocol names of OpenTelemetry; the first is the default."""

SECRET_KEYS = ("headers", "token", "key", "password", "authorization", "api_key")
"""Keys that are refused, because the file may be copied and shown."""

FilePath = Annotated[str, msgspec.Meta(min_length=1, description="the path of a file")]


class ExportTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[export]`: where records are sent, and how."""

    endpoint: Annotated[
        str,
        msgspec.Meta(min_length=1, description="the address of a collector: `https://collector.example:4318`"),
    ]
    protocol: Literal["http/protobuf", "http/json"] = "http/protobuf"
    signals: Annotated[
        tuple[Literal["logs", "traces"], ...],
        msgspec.Meta(min_length=1, description="a list of `logs` and `traces`"),
    ] = ("logs", "traces")
    headers_file: FilePath = ""  # lines of `Name: value`; must be readable by its owner only
    headers_env: Annotated[
        str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)", description="the name of a variable")
    ] = ""  # its value is `name=value,name=value`
    certificate: FilePath = ""  # the CA to trust instead of those of the system
    words: bool = False  # include redacted details, not only records
    insecure: bool = False  # allow http to another machine
    batch: Annotated[int, msgspec.Meta(ge=1, le=2000, description="a number of records from 1 to 2000")] = 200
    timeout: Annotated[int, msgspec.Meta(ge=1, le=60, description="a number of seconds from 1 to 60")] = 10
    resource: Annotated[
        dict[str, Annotated[str, msgspec.Meta(min_length=1)]], msgspec.Meta(description="a table of texts")
    ] = {}


class Destination(ExportTable, frozen=True, kw_only=True):
    """The collector of one layer."""

    layer: str
    file: str


class Exports(NamedTuple):
    """The collectors of all layers, and the problems of their files."""

    destinations: tuple[Destination, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_exports(roots: Roots) -> Exports:
    """Read `[export]` of the machine and of the user; nothing is sent for a section with a problem."""
    destinations: list[Destination] = []
    files: list[str] = []
    problems: list[Problem] = []
    for found in find_config_files(roots):
        problems += found.problems
        if found.data is None:
            continue
        config = ConfigFile(found.layer, found.file, found.data, EXPORT_CODE)
        if "export" in config.body:
            destinations += _convert(config, found, roots)
            files.append(found.file)
        problems += config.problems
    return Exports(tuple(destinations), tuple(files), tuple(problems))


def _convert(config: ConfigFile, found: LayerFile, roots: Roots) -> list[Destination]:
    config.has_section_problem = False
    table = config.body["export"]
    if isinstance(table, dict):
        for name in [name for name in table if name.lower() in SECRET_KEYS]:
            hint = "write it into a file of its own (`headers_file`), or name a variable (`headers_env`)"
            message = f"`{name}`: what is secret does not belong into this file"
            config.report_key(f"export.{name}", message, hint, SECRET_CODE)
        table = {name: value for name, value in table.items() if name.lower() not in SECRET_KEYS}
    values = config.convert_table(table, ExportTable, "export")
    if values is None:
        return []
    if "endpoint" not in table:
        hint = 'endpoint = "https://collector.example:4318"'
        config.report_key("export", "nobody says where to send it", hint)
    elif "endpoint" in values:
        fault = find_address_fault(values["endpoint"], insecure=values.get("insecure", False))
        if fault:
            config.report_key("export.endpoint", *fault, ADDRESS_CODE)
    if config.has_section_problem:
        return []
    for name in ("headers_file", "certificate"):
        if name in values:
            values[name] = expand_path(values[name], found.file, roots)
    whole: dict[str, Any] = {**values, "layer": found.layer, "file": found.file}
    return [Destination(**whole)]


def find_address_fault(url: str, *, insecure: bool = False) -> tuple[str, str] | None:
    """Return the reason why nothing must be sent to an address, and a hint; None if it may be used."""
    parts = split_url(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"`{url}` is no http or https address", "such as https://collector.example:4318"
    if parts.username or parts.password:
        return "keys do not belong into addresses", "write them into a file of headers"
    if parts.scheme == "http" and not is_loopback(parts.hostname) and not insecure:
        return "records would travel unencrypted", "write https; `insecure = true` if the line itself is trusted"
    return None


def expand_path(text: str, file: str, roots: Roots) -> str:
    """Resolve a path relative to the home directory (`~/`) or to the directory of the file that names it."""
    return str(roots.home / text[2:] if text.startswith("~/") else Path(file).parent / text)
