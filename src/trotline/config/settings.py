"""settings.json: what the person, and above them the owner of the machine, tells Trotline about itself.

A word that has no meaning is a Problem, and the stricter value is in force.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.config.files import content, unreadable
from trotline.config.jsonc import Kind, Node
from trotline.config.jsonc_reader import read
from trotline.config.levels import FULL, MINIMAL, STANDARD
from trotline.config.models import ACCEPTED_HERE
from trotline.config.page import Page
from trotline.config.places import Roots
from trotline.config.problems import Problem

MONITOR = "monitor"

WORDS: dict[str, tuple[str, ...]] = {
    "ask_fallback": ("deny", "ask"),
    "mode": ("enforce", MONITOR),
    "records": (STANDARD, MINIMAL, FULL),
}
"""Every setting with its values; the first is the default, and the one in force when nobody can tell."""


class Form(NamedTuple):
    """A setting that is not one of a few words; without it, nothing of that kind is done."""

    pattern: re.Pattern[str]
    what: str


OFF = "off"
COST = r"[\w:.*/-]{1,80}=[0-9]{1,9}(?:\.[0-9]{1,9})?"
PATH = r"/[^\x00\n]{1,4000}"
FORMS: dict[str, Form] = {
    "keep_for": Form(re.compile(rf"{OFF}|[1-9][0-9]{{0,4}}[hdw]"), "a time such as `90d`"),
    "keep_size": Form(re.compile(rf"{OFF}|[1-9][0-9]{{0,6}}(?:MB|GB)"), "a size such as `500MB`"),
    "anchor_file": Form(re.compile(f"{OFF}|{PATH}"), "the path of a file, from the root"),
    "costs": Form(
        re.compile(rf"{OFF}|{COST}(?:, ?{COST}){{0,99}}"), "prices of calls such as `MCP:search=0.01, Shell=0`"
    ),
    "anchor_syslog": Form(re.compile(f"{OFF}|on|{PATH}"), "`on`, or the path of a socket"),
}

STRICTEST = {**{key: values[0] for key, values in WORDS.items()}, **dict.fromkeys(FORMS, OFF)}


class Settings(msgspec.Struct, kw_only=True):
    """What is in force, and what is wrong with the files that say it."""

    ask_fallback: str = "deny"  # what becomes of `ask` under a host whose `ask` cannot be relied on
    mode: str = "enforce"  # `monitor`: hosts are told nothing of what was decided
    records: str = STANDARD  # how much of what was said is kept: `minimal`, `standard`, `full`
    keep_for: str = OFF  # records older than this are forgotten by themselves
    keep_size: str = OFF  # and the oldest of a trail that is larger than this
    anchor_file: str = OFF  # a file elsewhere where heads of the trail are noted
    costs: str = OFF  # what a call of a tool or of a server costs, for statistics
    anchor_syslog: str = OFF  # whether they are told to the machine's log, and where that listens
    files: tuple[str, ...] = ()
    problems: list[Problem] = []

    @property
    def monitors(self) -> bool:
        return self.mode == MONITOR


def read_settings(roots: Roots) -> Settings:
    """Both files; the one of the machine has the last word, also when nobody can tell what it is."""
    settings, said = _read((roots.managed_config, roots.config))
    return msgspec.structs.replace(settings, **said)


def said_by_the_machine(roots: Roots) -> dict[str, str]:
    """What a person cannot change, because the owner of the machine has said it."""
    return _read((roots.managed_config,))[1]


def _read(directories: tuple[Path, ...]) -> tuple[Settings, dict[str, str]]:
    said: dict[str, str] = {}
    settings = Settings()
    for file in (directory / "settings.json" for directory in directories):
        try:
            data, _ = content(file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            settings.problems += [unreadable(file, error)]
            said = {**STRICTEST, **said}
            continue
        settings.files += (str(file),)
        page = Page(str(file), read(data))
        said = {**_said(page), **said}
        settings.problems += page.problems
    return settings, said


def _said(page: Page) -> dict[str, str]:
    faults = [fault for fault in page.document.faults if fault.code not in ACCEPTED_HERE]
    for fault in faults:
        page.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
    root = page.document.root
    if faults or root is None or root.kind is not Kind.OBJECT:
        if not faults:
            page.report("TL256", root or (0, 0), "a settings file is an object")
        return STRICTEST
    return dict(_words(page, root))


def _words(page: Page, root: Node) -> Iterator[tuple[str, str]]:
    for key, member in root.members.items():
        word = member.value.value if member.value.kind is Kind.STRING else None
        if key not in STRICTEST:
            if key not in {"version", "$schema"}:
                page.report("TL256", member.key, f"there is no setting `{key}`", f"known: {', '.join(STRICTEST)}")
            continue
        good = isinstance(word, str) and (word in WORDS[key] if key in WORDS else FORMS[key].pattern.fullmatch(word))
        yield key, str(word) if good else STRICTEST[key]
        if not good:
            page.report("TL256", member.value, f"`{key}` must be {_choice(key)}")


def _choice(key: str) -> str:
    if key in FORMS:
        return f"{FORMS[key].what}, or `{OFF}`"
    return f"one of {', '.join(f'`{value}`' for value in WORDS[key])}"
