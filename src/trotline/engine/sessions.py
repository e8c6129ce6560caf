"""What a conversation remembers between events: variables for later hooks, and how often a stop hook went on.

One JSON file per conversation, named by a hash, changed under a lock and replaced whole, so that many processes
never lose an update. What a host calls a conversation may hold a secret: in the file stands its kept form. A file that
cannot be read, or that a newer Trotline wrote, is an alarm, and the stricter answer holds: no variables, no further
follow-ups.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from trotline.config.places import private_directory
from trotline.ids import name_of
from trotline.memory import Memory
from trotline.pattern import pattern

SCHEMA = "trotline.session/1"
MOST_BYTES = 65_536
MOST_CLAIMS = 16
"""Calls whose follow-up is remembered: one that is repeated comes at once, or never."""


DIGITS = 16
ORDINARY = pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What most hosts call a conversation: nothing can stand in it, and nobody waits for scanners because of it."""

Named = Callable[[str], str]
"""Gives the form in which any other name is kept."""


def unread(name: str) -> str:
    """For those who bring no scanners: the same for the same name, and nothing of it can be read."""
    return f"[{len(name)} characters, digest {name_of(name, DIGITS)}]"


class Variable(msgspec.Struct, frozen=True):
    """A value set by a sessionStart hook, and the authority of its layer."""

    value: str
    authority: int


class Session(msgspec.Struct, kw_only=True):
    schema: str = SCHEMA
    conversation: str = ""  # its kept form, for people; the file is found by the hash of the name
    env: dict[str, list[Variable]] = {}  # in the order in which they were set, one per authority
    follow_ups: dict[str, int] = {}  # by hook, and for sub-agents by hook and sub-agent
    memory: Memory = Memory()
    claims: dict[str, str] = {}  # by the id of the call, which of these it counted; the last ones
    updated_us: int = 0

    def set(self, name: str, variable: Variable) -> None:
        others = [one for one in self.env.get(name, []) if one.authority != variable.authority]
        self.env[name] = [*others, variable]

    def count(self, name: str, call: str) -> None:
        """One follow-up more, claimed by this call."""
        self.follow_ups[name] = self.follow_ups.get(name, 0) + 1
        if call:
            self.claims = dict([*self.claims.items(), (call, name)][-MOST_CLAIMS:])

    def take_back(self, call: str) -> None:
        """What this call has claimed already: it comes again only if its first answer reached nobody."""
        name = self.claims.pop(call, None)
        if name is None:
            return
        left = self.follow_ups.pop(name, 0) - 1
        if left > 0:
            self.follow_ups[name] = left


class Remembered(msgspec.Struct, frozen=True):
    """A session, and what is wrong with its file; with an alarm nothing in it may be relied on."""

    session: Session
    alarm: str = ""


class Sessions:
    """The sessions of one person, in a directory that nobody else may enter."""

    def __init__(self, directory: Path, named: Named = unread) -> None:
        self.directory = directory
        self.named = named

    def read(self, conversation: str) -> Remembered:
        """What is known of a conversation; of one without a name, nothing."""
        if not conversation:
            return Remembered(Session())
        path = self._path(conversation)
        try:
            return _parsed(path, path.read_bytes())
        except FileNotFoundError:
            return Remembered(Session())
        except OSError as error:
            return Remembered(Session(), f"the session {path} cannot be read: {error.strerror}")

    def update(self, conversation: str, change: Callable[[Session], None], now_us: int, *, reserve: int = 0) -> str:
        """Change a session under its lock; an alarm if that could not be done. A reserve is room that others leave."""
        if not conversation:
            return "the event names no conversation, so nothing was remembered for later ones"
        from trotline.config.stored import encoded  # noqa: PLC0415 - most calls change nothing
        from trotline.config.whole_file import put  # noqa: PLC0415 - the same

        try:
            with self._locked(conversation) as path:
                remembered = self.read(conversation)
                if remembered.alarm:
                    return remembered.alarm
                change(remembered.session)
                remembered.session.conversation = self._kept(conversation)
                remembered.session.updated_us = now_us
                data = encoded(remembered.session, path)
                if len(data) > MOST_BYTES + reserve:
                    return f"the session would grow over {MOST_BYTES} bytes; this change was not kept"
                put(path, data)
        except OSError as error:
            return f"the session could not be written: {error.strerror}"
        except UnicodeEncodeError:
            return "the session could not be written: a variable in it is no text"
        return ""

    def all(self) -> list[Remembered]:
        if not self.directory.is_dir():
            return []
        files = sorted(self.directory.glob("*.json"))
        return [_parsed(file, file.read_bytes()) for file in files]

    def clear(self, conversation: str | None = None) -> int:
        """Forget one conversation, by its name or the kept form of it, or all; how many were forgotten."""
        files = list(self.directory.glob("*")) if self.directory.is_dir() else []
        if conversation is not None:
            meant = {self._path(conversation).stem, *self._stems_of(conversation)}
            files = [file for file in files if file.stem in meant]
        for file in files:
            file.unlink(missing_ok=True)
        return sum(1 for file in files if file.suffix == ".json")

    def _stems_of(self, kept: str) -> Iterator[str]:
        for file in self.directory.glob("*.json"):
            if kept and _parsed(file, file.read_bytes()).session.conversation == kept:
                yield file.stem

    def _kept(self, conversation: str) -> str:
        if ORDINARY.fullmatch(conversation):
            return conversation
        return (
            self.named(conversation).encode("utf-8", "replace").decode()
        )  # half a surrogate pair is no text on a disk

    def _path(self, conversation: str) -> Path:
        return self.directory / f"{name_of(conversation, 32)}.json"

    @contextlib.contextmanager
    def _locked(self, conversation: str) -> Iterator[Path]:
        from trotline.config.whole_file import lock  # noqa: PLC0415 - as above

        private_directory(self.directory)
        path = self._path(conversation)
        descriptor = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            lock(descriptor)
            yield path
        finally:
            os.close(descriptor)


def _parsed(path: Path, data: bytes) -> Remembered:
    try:
        session = msgspec.json.decode(data, type=Session)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Remembered(Session(), f"the session {path} is damaged; clear it to go on")
    if session.schema != SCHEMA:
        return Remembered(Session(), f"the session {path} was written by a newer version ({session.schema})")
    return Remembered(session)
