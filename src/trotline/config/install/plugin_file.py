"""Files that Trotline owns as a whole, for agents that take programs and plugins instead of entries in a file.

Such a file contains the digest of what we wrote, so that it can be recognized as ours and unchanged without a record. A
file of the user is never replaced, and a file of ours that was edited counts as the user's.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from trotline.agents.agent import Agent, Capability
from trotline.config.install.edit import EntryEdit, HooksFileEdit
from trotline.config.install.installation import FileResult, FoundFile, Installation, InstallOutcome, InstallRecord
from trotline.config.problems import Problem, build_problem
from trotline.domain.hooks import Place
from trotline.domain.verdicts import Permission, Verdict

TEMPLATES = Path(__file__).parent / "own"
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
SEAL = re.compile(rb"^(?:#|//) Written by `trotline install`; sha256 [a-z ]+: ([0-9a-f]{64})$", re.MULTILINE)
LINES = re.compile(rb"^const LINES = (\{.*\})$", re.MULTILINE)
ZEROS = "0" * 64
MAX_HEAD = 1000
NOT_RUN_MESSAGE = "Trotline could not be run, so this was refused. `trotline doctor` says what is wrong."


class FileOwner(StrEnum):
    """The origin of a file, and whether it was edited since we wrote it."""

    OURS = "ours"
    EDITED = "ours, edited"
    FOREIGN = "somebody else's"


class OwnedFileInstallation(Installation, frozen=True, kw_only=True):
    """The installation of a whole file."""

    text: str
    hint: str = ""  # advice for the user if another file has its name

    @property
    def bits(self) -> int:
        """The permission bits that the file needs in addition: those for execution if it starts with `#!`."""
        return 0o111 if self.text.startswith("#!") else 0

    def _plan_installation(self, found: FoundFile, entries: Sequence[EntryEdit]) -> HooksFileEdit:  # noqa: ARG002 - `text` has all entries
        data = self.text.encode()
        if found.data is None or find_owner(found.data) is FileOwner.OURS:
            runs = found.status is not None and found.status.st_mode & self.bits == self.bits
            return HooksFileEdit(data, changed=found.data != data or not runs)
        return HooksFileEdit(found.data, refused=True, problems=find_owner_problems(self.path, found.data, self.hint))

    def _plan_removal(self, target: Path, found: FoundFile, record: InstallRecord | None) -> FileResult:  # noqa: ARG002 - needs no record
        owner = FileOwner.FOREIGN if found.data is None else find_owner(found.data)
        if found.data is None or owner is FileOwner.FOREIGN:
            return FileResult(target, InstallOutcome.NOTHING, found.data, found.data)
        if owner is FileOwner.EDITED:
            problems = find_owner_problems(self.path, found.data, self.hint)
            return FileResult(target, InstallOutcome.REFUSED, found.data, found.data, problems)
        return FileResult(target, InstallOutcome.DELETED, found.data, None)


def find_owner(data: bytes) -> FileOwner:
    """Return the origin of a file, by the digest in its head."""
    seal = SEAL.search(data, 0, MAX_HEAD)
    if seal is None:
        return FileOwner.FOREIGN
    unsealed = data[: seal.start(1)] + ZEROS.encode() + data[seal.end(1) :]
    return FileOwner.OURS if hashlib.sha256(unsealed).hexdigest().encode() == seal[1] else FileOwner.EDITED


def find_owner_problems(path: Path, data: bytes, hint: str) -> tuple[Problem, ...]:
    """Return why a file at our path is left alone, empty if it is ours; `hint` is for a file of the user."""
    owner = find_owner(data)
    if owner is FileOwner.OURS:
        return ()
    code, message = "TL520", "this file is somebody else's"
    if owner is FileOwner.EDITED:
        code, message = "TL521", "somebody has changed this file of ours"
        hint = "keep what you changed elsewhere, remove the file, and do it again"
    return (build_problem(code, message, hint, place=Place(str(path), 1, 1)),)


def render_owned_file(agent: Agent, lines: Mapping[str, str], seconds: int) -> str:
    """Return the text of the file that passes these events to these command lines."""
    first = next(iter(lines))
    plugin = agent.wiring is not None and agent.wiring.plugin
    template = (
        "plugin.js" if plugin else "gate.sh" if agent.supports(agent.events[first], Capability.DENY) else "observer.sh"
    )
    values = {
        "seal": ZEROS,
        "line": lines[first],
        "lines": json.dumps({event: shlex.split(line) for event, line in lines.items()}),
        "seconds": str(seconds),
        "refusal": shlex.quote(_build_refusal(agent, first)),
    }
    template_text = (TEMPLATES / f"{template}.txt").read_text("utf-8")
    text = PLACEHOLDER.sub(lambda match: values[match[1]], template_text)
    return text.replace(ZEROS, hashlib.sha256(text.encode()).hexdigest(), 1)


def parse_owned_file(data: bytes, path: Path, event: str) -> dict[str, str]:
    """Return the command lines that the agent runs because of this file, by event; empty if it is not ours."""
    if find_owner(data) is FileOwner.FOREIGN:
        return {}
    listed = LINES.search(data)
    if listed is None:
        return {event: shlex.quote(str(path))}
    try:
        return {name: shlex.join(words) for name, words in json.loads(listed[1]).items()}
    except (ValueError, TypeError, AttributeError):
        return {}  # edited, and no longer readable


def _build_refusal(agent: Agent, event: str) -> str:
    verdict = Verdict(permission=Permission.DENY, user_message=NOT_RUN_MESSAGE, agent_message=NOT_RUN_MESSAGE)
    return agent.reply_form(agent, event, agent.events[event], verdict).stdout
