"""Files that are ours alone, for hosts that take programs and plugins instead of entries in a file.

Such a file bears the digest of what we wrote, so that it is known again, and known to be as we left it, without any
record. Somebody else's file is never replaced, and one of ours that was edited is somebody else's by now.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from trotline.config.edit import Edit, Entry
from trotline.config.installation import Done, Found, Installation, Installed, Record
from trotline.config.problems import CODES, Problem
from trotline.hooks import Place
from trotline.hosts.host import Host, Power
from trotline.verdicts import Permission, Verdict

TEMPLATES = Path(__file__).parent / "own"
BLANK = re.compile(r"\{\{(\w+)\}\}")
SEAL = re.compile(rb"^(?:#|//) Written by `trotline install`; sha256 [a-z ]+: ([0-9a-f]{64})$", re.MULTILINE)
LINES = re.compile(rb"^const LINES = (\{.*\})$", re.MULTILINE)
ZEROS = "0" * 64
LONGEST_HEAD = 1000
UNHEARD = "Trotline could not be run, so this was refused. `trotline prove` says what is wrong."


class Whose(StrEnum):
    """Who wrote a file, and whether it is as they left it."""

    OURS = "ours"
    EDITED = "ours, edited"
    SOMEBODYS = "somebody else's"


class OwnFile(Installation, frozen=True, kw_only=True):
    """One whole file."""

    text: str
    hint: str = ""  # what a person can do about a file that has its name

    @property
    def bits(self) -> int:
        return 0o111 if self.text.startswith("#!") else 0

    def _with(self, found: Found, entries: Sequence[Entry]) -> Edit:  # noqa: ARG002 - the text has them all
        data = self.text.encode()
        if found.data is None or whose(found.data) is Whose.OURS:
            runs = found.status is not None and found.status.st_mode & self.bits == self.bits
            return Edit(data, changed=found.data != data or not runs)
        return Edit(found.data, refused=True, problems=own_problems(self.path, found.data, self.hint))

    def _without(self, target: Path, found: Found, record: Record | None) -> Installed:  # noqa: ARG002 - as above
        owner = Whose.SOMEBODYS if found.data is None else whose(found.data)
        if found.data is None or owner is Whose.SOMEBODYS:
            return Installed(target, Done.NOTHING, found.data, found.data)
        if owner is Whose.EDITED:
            problems = own_problems(self.path, found.data, self.hint)
            return Installed(target, Done.REFUSED, found.data, found.data, problems)
        return Installed(target, Done.DELETED, found.data, None)


def whose(data: bytes) -> Whose:
    seal = SEAL.search(data, 0, LONGEST_HEAD)
    if seal is None:
        return Whose.SOMEBODYS
    unsealed = data[: seal.start(1)] + ZEROS.encode() + data[seal.end(1) :]
    return Whose.OURS if hashlib.sha256(unsealed).hexdigest().encode() == seal[1] else Whose.EDITED


def own_problems(path: Path, data: bytes, hint: str) -> tuple[Problem, ...]:
    """Why we leave alone what has the name of our file; `hint` is for a file of somebody else."""
    owner = whose(data)
    if owner is Whose.OURS:
        return ()
    edited = owner is Whose.EDITED
    code = "TL521" if edited else "TL520"
    problem = Problem(
        code=code,
        severity=CODES[code].severity,
        place=Place(file=str(path), line=1, column=1),
        message="somebody has changed this file of ours" if edited else "this file is somebody else's",
        hint="keep what you changed elsewhere, remove the file, and do it again" if edited else hint,
    )
    return (problem,)


def own_text(host: Host, lines: Mapping[str, str], seconds: int) -> str:
    """What the file says that hands these events to these lines."""
    first = next(iter(lines))
    plugin = host.wiring is not None and host.wiring.plugin
    template = "plugin.js" if plugin else "gate.sh" if host.hears(host.events[first], Power.DENY) else "observer.sh"
    words = {
        "seal": ZEROS,
        "line": lines[first],
        "lines": json.dumps({event: shlex.split(line) for event, line in lines.items()}),
        "seconds": str(seconds),
        "refusal": shlex.quote(_refusal(host, first)),
    }
    blank = (TEMPLATES / f"{template}.txt").read_text("utf-8")
    text = BLANK.sub(lambda name: words[name[1]], blank)
    return text.replace(ZEROS, hashlib.sha256(text.encode()).hexdigest(), 1)


def lines_in(data: bytes, path: Path, event: str) -> dict[str, str]:
    """What the host runs because of this file, by event; nothing if it is not ours."""
    if whose(data) is Whose.SOMEBODYS:
        return {}
    listed = LINES.search(data)
    if listed is None:
        return {event: shlex.quote(str(path))}
    try:
        return {name: shlex.join(words) for name, words in json.loads(listed[1]).items()}
    except (ValueError, TypeError, AttributeError):
        return {}  # somebody has edited it


def _refusal(host: Host, event: str) -> str:
    verdict = Verdict(permission=Permission.DENY, user_message=UNHEARD, agent_message=UNHEARD)
    return host.form(host, event, host.events[event], verdict).stdout
