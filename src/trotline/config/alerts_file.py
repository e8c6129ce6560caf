"""alerts.toml: of which records somebody is told, and how. Without such a file nobody is told anything."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trotline.config.export_file import address_fault
from trotline.config.places import Roots
from trotline.config.problems import Problem
from trotline.config.toml_page import OUTWARD, Key, TomlPage, sources, span_us

NAME = OUTWARD[1]
SCHEMA = "trotline.alert/1"
"""What stands first in an alert on its way."""

CODE, NOWHERE = "TL283", "TL284"

OCCASIONS = {
    "denied": "something was refused",
    "found": "a secret, personal data or an injection was found in a text",
    "slow": "an answer took longer than `over`",
    "failing": "a hook or a guard failed",
    "finished": "an agent has stopped",
    "silent": "no call has come for `after`",
    "alarm": "what was refused was done all the same, or something without a question",
}
"""What an alert may be on."""

WAYS = ("desktop", "command", "webhook", "webhook_file")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: on what, for which records, to whom, and how often at most."""

    name: str
    on: str
    layer: str
    host: str = ""
    event: str = ""
    guard: str = ""  # among those who decided
    scanner: str = ""  # that found something
    over_us: int = 1_000_000
    after_us: int = 86_400_000_000
    desktop: bool = False
    command: tuple[str, ...] = ()
    webhook: str = ""
    webhook_file: str = ""  # the address stands there, where only its owner may read it
    words: bool = False  # also what was said, redacted
    at_most: int = 3
    per_us: int = 600_000_000

    @property
    def way(self) -> str:
        return next(way for way in WAYS if getattr(self, way))


class Alerts(NamedTuple):
    """What is in force, the files that say so, and what is wrong with them."""

    alerts: tuple[Alert, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


SPAN = "a length of time: `500ms`, `90s`, `10m`, `2h`, `1d`"


def _is_span(given: str) -> bool:
    return span_us(given) > 0


KEYS: dict[str, Key] = {
    "name": Key(str, "a name of letters, digits, `-`, `_` and `.`", lambda given: bool(_NAME.fullmatch(given))),
    "on": Key(str, f"one of {', '.join(f'`{word}`' for word in OCCASIONS)}", OCCASIONS.__contains__),
    "host": Key(str, "the name of a host", bool),
    "event": Key(str, "the name of an event", bool),
    "guard": Key(str, "the name of a guard, a hook or a rule", bool),
    "scanner": Key(str, "the name of a scanner", bool),
    "over": Key(str, SPAN, _is_span),
    "after": Key(str, SPAN, _is_span),
    "per": Key(str, SPAN, _is_span),
    "at_most": Key(int, "a number from 1 to 100", lambda given: 1 <= given <= 100),
    "words": Key(bool, "`true` or `false`"),
    "desktop": Key(bool, "`true`", bool),
    "command": Key(
        list,
        "a list: the program and its arguments",
        lambda given: bool(given) and all(isinstance(word, str) and "\0" not in word for word in given),
    ),
    "webhook": Key(str, "an address", bool),
    "webhook_file": Key(str, "the path of a file", bool),
}
SPANS = ("over", "after", "per")
ONLY_FOR = {"over": "slow", "after": "silent", "scanner": "found"}
"""Keys that mean nothing for other alerts."""


def read_alerts(roots: Roots) -> Alerts:
    """All that can be understood; an alert with something wrong in it is not in force, and the others are."""
    alerts: list[Alert] = []
    files: list[str] = []
    problems: list[Problem] = []
    for source in sources(roots, NAME, CODE):
        files.append(str(source.file))
        if source.page is None:
            problems += source.problems
            continue
        taken = {one.name for one in alerts}
        alerts += _alerts(source.page, source.layer, taken, roots)
        problems += source.page.problems
    return Alerts(tuple(alerts), tuple(files), tuple(problems))


def _alerts(page: TomlPage, layer: str, taken: set[str], roots: Roots) -> list[Alert]:
    listed = page.body.get("alert", [])
    page.values({key: value for key, value in page.body.items() if key != "alert"}, {})
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        page.wrong("alert", "alerts are tables of their own: `[[alert]]`")
        return []
    found = []
    for number, table in enumerate(listed):
        before = len(page.problems)
        values = _checked(page, table, f"alert.{number}.", taken)
        if len(page.problems) == before:
            taken.add(values["name"])
            found.append(_alert(values, layer, Path(page.file).parent, roots))
    return found


def _checked(page: TomlPage, table: dict[str, Any], prefix: str, taken: set[str]) -> dict[str, Any]:
    values = page.values(table, KEYS, prefix)
    for key in ("name", "on"):
        if key not in table:
            page.wrong(prefix + key, f"the alert has no `{key}`", f"`{key}` must be {KEYS[key].says}")
    if values.get("name") in taken:
        page.wrong(f"{prefix}name", f"there is an alert `{values['name']}` already", "give it another name")
    for key, on in ONLY_FOR.items():
        if key in values and values.get("on") != on:
            page.wrong(prefix + key, f"`{key}` is only for alerts on `{on}`")
    _look_at_the_way(page, table, values, prefix)
    return values


def _look_at_the_way(page: TomlPage, table: dict[str, Any], values: dict[str, Any], prefix: str) -> None:
    ways = [way for way in WAYS if way in table]
    if len(ways) != 1:
        said = "it goes nowhere" if not ways else f"it has {', '.join(f'`{way}`' for way in ways)}"
        page.wrong(
            prefix + (ways[-1] if ways else ""), said, "one of desktop = true, command = [...], webhook", NOWHERE
        )
    elif "command" in values and not values["command"][0].startswith(("/", "~/")):
        hint = "a name alone is another program wherever PATH is another"
        page.wrong(f"{prefix}command", "name the program by its whole path", hint, NOWHERE)
    elif "webhook" in values:
        fault = address_fault(values["webhook"])
        if fault:
            page.wrong(f"{prefix}webhook", fault[0], fault[1].partition(";")[0], NOWHERE)


def _alert(values: dict[str, Any], layer: str, directory: Path, roots: Roots) -> Alert:
    made = {key: value for key, value in values.items() if key not in SPANS}
    made |= {f"{key}_us": span_us(values[key]) for key in SPANS if key in values}
    if "command" in made:
        program, *rest = made["command"]
        made["command"] = (_whole(program, directory, roots), *rest)
    if "webhook_file" in made:
        made["webhook_file"] = _whole(made["webhook_file"], directory, roots)
    is_here = "webhook" not in values and "webhook_file" not in values  # what stays on the machine may have words
    whole: dict[str, Any] = {"words": is_here, **made, "layer": layer}
    return msgspec.convert(whole, Alert)


def _whole(path: str, directory: Path, roots: Roots) -> str:
    return str(roots.home / path[2:] if path.startswith("~/") else directory / path)
