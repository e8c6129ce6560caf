"""export.toml: where records are sent as they come, if anybody wants that. Without such a file nothing is sent."""

import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from trotline.config.models import is_loopback
from trotline.config.places import Roots
from trotline.config.problems import Problem
from trotline.config.toml_page import OUTWARD, Key, Source, TomlPage, sources

NAME = OUTWARD[0]
CODE, PLACE, VALUE = "TL280", "TL281", "TL282"

SIGNALS = ("logs", "traces")
PROTOCOLS = ("http/protobuf", "http/json")
"""Named as OpenTelemetry's own variables name them; the first is spoken if nobody says anything."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
IN_FILES = ("headers", "token", "key", "password", "authorization", "api_key")
"""Names of what is secret: it has no place in a file that is copied and shown."""


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """One collector, as one layer names it."""

    layer: str
    file: str
    endpoint: str
    protocol: str = PROTOCOLS[0]
    signals: tuple[str, ...] = SIGNALS
    headers_file: str = ""  # lines of `Name: value`, which only their owner may read
    headers_env: str = ""  # the name of a variable with `name=value,name=value`
    certificate: str = ""  # whom to believe instead of the system's authorities
    words: bool = False  # also what was said, redacted; else only records
    batch: int = 200
    timeout: int = 10
    resource: dict[str, str] = {}


class Exports(NamedTuple):
    """Who is to be sent something, the files that say so, and what is wrong with them."""

    destinations: tuple[Destination, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


KEYS: dict[str, Key] = {
    "endpoint": Key(str, "the address of a collector: `https://collector.example:4318`", bool),
    "protocol": Key(str, f"one of {', '.join(f'`{name}`' for name in PROTOCOLS)}", PROTOCOLS.__contains__),
    "signals": Key(list, "a list of `logs` and `traces`", lambda given: given and all(one in SIGNALS for one in given)),
    "headers_file": Key(str, "the path of a file", bool),
    "headers_env": Key(str, "the name of a variable", lambda given: bool(_VARIABLE.fullmatch(given))),
    "certificate": Key(str, "the path of a file", bool),
    "words": Key(bool, "`true` or `false`"),
    "insecure": Key(bool, "`true` or `false`"),
    "batch": Key(int, "a number of records from 1 to 2000", lambda given: 1 <= given <= 2000),
    "timeout": Key(int, "a number of seconds from 1 to 60", lambda given: 1 <= given <= 60),
    "resource": Key(
        dict, "a table of texts", lambda given: all(isinstance(text, str) and text for text in given.values())
    ),
}


def read_exports(roots: Roots) -> Exports:
    """A file with something wrong in it sends nothing: half of what was meant might be the wrong half."""
    destinations: list[Destination] = []
    files: list[str] = []
    problems: list[Problem] = []
    for source in sources(roots, NAME, CODE):
        if source.page is not None:
            destinations += _destinations(source, source.page, roots)
        files.append(str(source.file))
        problems += source.problems if source.page is None else source.page.problems
    return Exports(tuple(destinations), tuple(files), tuple(problems))


def _destinations(source: Source, page: TomlPage, roots: Roots) -> list[Destination]:
    if page.problems:
        return []
    kept = {name: value for name, value in page.body.items() if name.lower() not in IN_FILES}
    for name in page.body.keys() - kept.keys():
        hint = "write it into a file of its own (`headers_file`), or name a variable (`headers_env`)"
        page.wrong(name, f"`{name}`: what is secret does not belong into this file", hint, VALUE)
    found = page.values(kept, KEYS)
    if "endpoint" not in page.body:
        page.wrong("endpoint", "nobody says where to send it", 'endpoint = "https://collector.example:4318"')
    elif "endpoint" in found:
        _look_at_the_address(page, found)
    if page.problems:
        return []
    found.pop("insecure", None)
    paths: dict[str, str] = {
        name: _path(found[name], source, roots) for name in ("headers_file", "certificate") if name in found
    }
    whole: dict[str, Any] = {**found, **paths, "layer": source.layer, "file": str(source.file)}
    return [msgspec.convert(whole, Destination)]


def _look_at_the_address(page: TomlPage, found: dict[str, Any]) -> None:
    fault = address_fault(found["endpoint"], insecure=found.get("insecure", False))
    if fault:
        page.wrong("endpoint", *fault, PLACE)


def address_fault(url: str, *, insecure: bool = False) -> tuple[str, str] | None:
    """Why nothing should be sent there, and what to do; None if it may."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"`{url}` is no http or https address", "such as https://collector.example:4318"
    if parts.username or parts.password:
        return "keys do not belong into addresses", "write them into a file of headers"
    if parts.scheme == "http" and not is_loopback(parts.hostname) and not insecure:
        return "records would travel unencrypted", "write https; `insecure = true` if the line itself is trusted"
    return None


def _path(text: str, source: Source, roots: Roots) -> str:
    """From the home directory, or from where the file is that names it."""
    return str(roots.home / text[2:] if text.startswith("~/") else Path(source.file).parent / text)
