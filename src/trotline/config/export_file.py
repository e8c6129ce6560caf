"""`[export]` in trotline.toml: the collector that records are sent to. Without it nothing is sent."""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from trotline.config.config_file import ConfigFile, RefusedKeys, read_config_files
from trotline.config.models import is_loopback, split_url
from trotline.config.paths import Roots
from trotline.config.problems import Problem

EXPORT_CODE, ADDRESS_CODE, SECRET_CODE = "TL280", "TL281", "TL282"

PROTOCOLS = ("http/protobuf", "http/json")
"""Protocol names of OpenTelemetry; the first is the default."""

FilePath = Annotated[str, msgspec.Meta(min_length=1, description="the path of a file")]


class ExportTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[export]`: where records are sent, and how."""

    noun = "`[export]`"
    refused = RefusedKeys(
        frozenset({"headers", "token", "key", "password", "authorization", "api_key"}),
        SECRET_CODE,
        "what is secret does not belong into this file",
        "write it into a file of its own (`headers_file`), or name a variable (`headers_env`)",
    )
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
    details: bool = False  # include redacted details, not only records
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
    for config in read_config_files(roots, EXPORT_CODE):
        if "export" in config.body:
            destinations += _build_destinations(config, roots)
            files.append(config.file)
        problems += config.problems
    return Exports(tuple(destinations), tuple(files), tuple(problems))


def _build_destinations(config: ConfigFile, roots: Roots) -> list[Destination]:
    config.has_section_problem = False
    values = config.convert_table(config.body["export"], ExportTable, "export")
    if "endpoint" in values:
        fault = find_address_fault(values["endpoint"], insecure=values.get("insecure", False))
        if fault:
            config.report_key("export.endpoint", *fault, ADDRESS_CODE)
    if config.has_section_problem:
        return []
    for name in {"headers_file", "certificate"} & values.keys():
        values[name] = expand_path(values[name], config.file, roots)
    return [Destination(**values, layer=config.layer, file=config.file)]


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
