"""settings.json: what the person, and above them the owner of the machine, tells Trotline about itself.

A word that has no meaning is a Problem, and the stricter value is in force.
"""

import msgspec

from trotline.config.files import content
from trotline.config.jsonc import Kind
from trotline.config.jsonc_reader import read
from trotline.config.models import ACCEPTED_HERE
from trotline.config.page import Page
from trotline.config.places import Roots
from trotline.config.problems import CODES, Problem
from trotline.hooks import Place

WORDS: dict[str, tuple[str, ...]] = {"ask_fallback": ("deny", "ask")}
"""Every setting with its values; the first is the default, and the stricter."""


class Settings(msgspec.Struct, kw_only=True):
    """What is in force, and what is wrong with the files that say it."""

    ask_fallback: str = "deny"  # what becomes of `ask` under a host whose `ask` cannot be relied on
    files: tuple[str, ...] = ()
    problems: list[Problem] = []


def read_settings(roots: Roots) -> Settings:
    """Both files; the one of the machine has the last word."""
    said: dict[str, str] = {}
    settings = Settings()
    for file in (roots.managed_config / "settings.json", roots.config / "settings.json"):
        try:
            data, _ = content(file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            why = f"the file cannot be read: {(error.strerror or str(error)).lower()}"
            settings.problems += [
                Problem(code="TL109", severity=CODES["TL109"].severity, place=Place(str(file)), message=why)
            ]
            continue
        settings.files += (str(file),)
        page = Page(str(file), read(data))
        said = {**_said(page), **said}
        settings.problems += page.problems
    settings.ask_fallback = said.get("ask_fallback", settings.ask_fallback)
    return settings


def _said(page: Page) -> dict[str, str]:
    faults = [fault for fault in page.document.faults if fault.code not in ACCEPTED_HERE]
    for fault in faults:
        page.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
    root = page.document.root
    if faults or root is None or root.kind is not Kind.OBJECT:
        if not faults:
            page.report("TL256", root or (0, 0), "a settings file is an object")
        return {}
    said = {}
    for key, member in root.members.items():
        values = WORDS.get(key, ())
        if member.value.value in values and member.value.kind is Kind.STRING:
            said[key] = str(member.value.value)
        elif values:
            page.report("TL256", member.value, f"`{key}` must be one of {', '.join(f'`{value}`' for value in values)}")
        elif key not in {"version", "$schema"}:
            page.report("TL256", member.key, f"there is no setting `{key}`", f"known: {', '.join(WORDS)}")
    return said
