"""policy.toml: what each layer wishes of the guards, read with the place of everything that is wrong."""

import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from trotline.config.files import content
from trotline.config.jsonc import Document
from trotline.config.page import Page
from trotline.config.places import Roots, policy_files
from trotline.config.problems import CODES, Problem
from trotline.config.toml_places import Span, places
from trotline.guards import NAMES
from trotline.guards.guard import PRESETS, Level
from trotline.guards.nearness import near
from trotline.guards.policy import Policy, Wish, overruled, resolved
from trotline.hooks import Place

TABLES = ("guards", "tab")
PARTS = ("rule", "lists", "waiver")
KEYS = ("schema", "preset", *TABLES, *PARTS)
LAST_DAY = "9999-12-31"
"""For who does not know the date: no waiver is in force."""
WHEN_UNREADABLE = "strict"

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")


class Policies(NamedTuple):
    """What is in force, the files it comes from, and what is wrong with them."""

    policy: Policy
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Given(NamedTuple):
    """What is read in the place of a file: a content that has another name, or none, as if the file were not there."""

    name: str
    data: bytes | None


AS_THEY_ARE: Mapping[str, Given] = MappingProxyType({})


def read_policies(
    roots: Roots, projects: Sequence[Path] = (), *, today: str = LAST_DAY, instead: Mapping[str, Given] = AS_THEY_ARE
) -> Policies:
    """All layers, from the highest authority to the lowest. `instead` is by the real paths of files."""
    wishes, files = [], []
    problems: list[Problem] = []
    for layer, file in policy_files(roots, map(str, projects)):
        given = instead.get(os.path.realpath(file)) if instead else None
        found = _wish(layer, Path(file), today) if given is None else _given(layer, given, today)
        if found is None:
            continue
        wish, faults = found
        wishes.append(wish)
        files.append(file)
        problems += faults
    policy = resolved(wishes)
    problems += _overruled(policy, wishes, files)
    return Policies(policy, tuple(files), tuple(problems))


def _overruled(policy: Policy, wishes: Sequence[Wish], files: Sequence[str]) -> Iterator[Problem]:
    """Waivers of what somebody higher has set."""
    for wish, file in zip(wishes, files, strict=True):
        for waiver in wish.waivers:
            layer = overruled(policy, waiver)
            if layer:
                said = f"the waiver of {waiver.guard}, {waiver.row} is not in force: it was set by {layer}"
                severity = CODES["TL258"].severity
                yield Problem(code="TL258", severity=severity, place=Place(file, waiver.line, 1), message=said)


def _wish(layer: str, file: Path, today: str) -> tuple[Wish, tuple[Problem, ...]] | None:
    try:
        data, _ = content(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = f"the file cannot be read: {(error.strerror or str(error)).lower()}"
        problem = Problem(code="TL109", severity=CODES["TL109"].severity, place=Place(str(file)), message=why)
        return Wish(layer, WHEN_UNREADABLE), (problem,)
    return parsed(layer, str(file), data, today)


def _given(layer: str, given: Given, today: str) -> tuple[Wish, tuple[Problem, ...]] | None:
    return None if given.data is None else parsed(layer, given.name, given.data, today)


@functools.lru_cache(maxsize=64)
def parsed(layer: str, file: str, data: bytes, today: str = LAST_DAY) -> tuple[Wish, tuple[Problem, ...]]:
    """The wish that a file holds. The same bytes are read once."""
    import tomllib  # noqa: PLC0415 - most people have no such file

    text = data.decode("utf-8", "replace")
    page = Page(file, Document(text, line_starts=_line_starts(text)))
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        page.report("TL258", _offset(text, str(error)), f"this is no TOML: {_AT.sub('', str(error)).strip()}")
        return Wish(layer, WHEN_UNREADABLE), tuple(page.problems)
    where = places(text)
    wish = _checked(layer, body, page, where)
    if not body.keys().isdisjoint(PARTS):
        from trotline.config.policy_parts import Sheet, parts  # noqa: PLC0415 - they bring a library

        wish = parts(wish, body, Sheet(layer, today, page, where))
    return wish, tuple(page.problems)


def _checked(layer: str, body: dict[str, Any], page: Page, where: dict[str, Span]) -> Wish:
    def report(key: str, message: str, hint: str = "") -> None:
        page.report("TL258", where.get(key, (0, 1)), message, hint)

    for key in body.keys() - set(KEYS):
        report(key, f"a policy has no `{key}`", near(key, KEYS))
    preset = body.get("preset", "")
    if preset and preset not in PRESETS:
        report("preset", f"there is no preset `{preset}`", near(str(preset), PRESETS))
        preset = WHEN_UNREADABLE
    tables: dict[str, dict[str, Level]] = {}
    for table in TABLES:
        tables[table] = {}
        given = body.get(table, {})
        if not isinstance(given, dict):
            report(table, f"`{table}` is a table: one line for each guard")
            continue
        for guard, level in given.items():
            if guard not in NAMES:
                report(f"{table}.{guard}", f"there is no guard `{guard}`", near(guard, NAMES))
            elif level not in set(Level):
                report(f"{table}.{guard}", f"`{level}` is no level", f"one of {', '.join(Level)}")
            else:
                tables[table][guard] = Level(level)
    return Wish(layer, str(preset), tables["guards"], tables["tab"])


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _offset(text: str, message: str) -> tuple[int, int]:
    match = _AT.search(message)
    if match is None:
        return max(0, len(text) - 1), len(text)
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    return start, start + 1
