"""policy.toml: what each layer wishes of the guards, read with the place of everything that is wrong."""

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from trotline.config.files import content, unreadable
from trotline.config.places import Roots, policy_files
from trotline.config.problems import CODES, Problem
from trotline.config.toml_page import TomlPage
from trotline.guards import NAMES
from trotline.guards.guard import PRESETS, Level
from trotline.guards.nearness import near
from trotline.guards.policy import Policy, Wish, overruled, resolved
from trotline.hooks import Place

PARTS = ("rule", "lists", "waiver")
KEYS = ("schema", "preset", "guards", "tab", *PARTS)
LAST_DAY = "9999-12-31"
"""For who does not know the date: no waiver is in force."""
WHEN_UNREADABLE = "strict"


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
        return Wish(layer, WHEN_UNREADABLE), (unreadable(file, error),)
    return parsed(layer, str(file), data, today)


def _given(layer: str, given: Given, today: str) -> tuple[Wish, tuple[Problem, ...]] | None:
    return None if given.data is None else parsed(layer, given.name, given.data, today)


@functools.lru_cache(maxsize=64)
def parsed(layer: str, file: str, data: bytes, today: str = LAST_DAY) -> tuple[Wish, tuple[Problem, ...]]:
    """The wish that a file holds. The same bytes are read once."""
    page = TomlPage(file, data, "TL258")
    if not page.is_read:
        return Wish(layer, WHEN_UNREADABLE), tuple(page.problems)
    for key in page.body:
        if key not in KEYS:
            page.unknown(key, f"a policy has no `{key}`", KEYS)
    wish = Wish(layer, _preset(page), _levels(page, "guards"), _levels(page, "tab"))
    if not page.body.keys().isdisjoint(PARTS):
        from trotline.config.policy_parts import Sheet, parts  # noqa: PLC0415 - they bring a library

        wish = parts(wish, page.body, Sheet(layer, today, page))
    return wish, tuple(page.problems)


def _preset(page: TomlPage) -> str:
    preset = page.body.get("preset", "")
    if isinstance(preset, str) and preset in ("", *PRESETS):
        return preset
    if isinstance(preset, str):
        page.wrong("preset", f"there is no preset `{preset}`", near(preset, PRESETS))
    else:
        page.wrong("preset", "`preset` is a text", f"one of {', '.join(PRESETS)}")
    return WHEN_UNREADABLE


def _levels(page: TomlPage, table: str) -> dict[str, Level]:
    """What is said of each guard; a word that means nothing leaves the guard to the others."""
    given = page.body.get(table, {})
    if not isinstance(given, dict):
        page.wrong(table, f"`{table}` is a table: one line for each guard")
        return {}
    levels: dict[str, Level] = {}
    for guard, level in given.items():
        key = f"{table}.{guard}"
        if guard not in NAMES:
            page.unknown(key, f"there is no guard `{guard}`", NAMES)
        elif not isinstance(level, str) or level not in set(Level):
            said = f"`{level}` is" if isinstance(level, str) else "this is"
            page.wrong(key, f"{said} no level", f"one of {', '.join(Level)}")
        else:
            levels[guard] = Level(level)
    return levels
