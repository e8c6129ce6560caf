"""State of a conversation between events: variables for later hooks, and follow-up counts of stop hooks.

Each conversation has one JSON file, named by a hash, changed under a lock and replaced atomically, so that concurrent
processes lose no update. An agent's name of a conversation may hold a secret, so the file contains a redacted form. A
file that cannot be read, or that a newer Trotline wrote, is an alarm, and the stricter answer applies: no variables, no
further follow-ups.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from trotline.domain.history import History
from trotline.domain.ids import hash_name
from trotline.formats.lazy_regex import lazy_regex
from trotline.system.files import encode_with_unknown_fields, ensure_private_directory, lock_file, replace_file

SCHEMA = "trotline.session/1"
MAX_SESSION_BYTES = 65_536
MAX_CLAIMS = 16
"""The limit of calls whose follow-up is remembered: a call is repeated at once or never."""


DIGITS = 16
UUID_NAME = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""UUIDs, which most agents use as names. They can hold no secret, so no scanners need to be loaded."""

CleanName = Callable[[str], str]
"""A function that returns the redacted form of any other name."""


def hide_name(name: str) -> str:
    """Return the length and digest of a name, for callers without scanners. Equal names have equal results."""
    return f"[{len(name)} characters, digest {hash_name(name, DIGITS)}]"


class Variable(msgspec.Struct, frozen=True):
    """A value set by a sessionStart hook, and the authority of its layer."""

    value: str
    authority: int


class SessionState(msgspec.Struct, kw_only=True):
    """The stored state of a conversation."""

    schema: str = SCHEMA
    conversation: str = ""  # the redacted name, for display; the file is found by the hash of the name
    env: dict[str, list[Variable]] = {}  # in the order in which they were set, one per authority
    follow_ups: dict[str, int] = {}  # by hook, and for sub-agents by hook and sub-agent
    history: History = msgspec.field(default=History(), name="memory")  # the key of files that exist already
    claims: dict[str, str] = {}  # ID of a call -> the follow-up that it counted; only the last calls
    updated_us: int = 0

    def set_variable(self, name: str, variable: Variable) -> None:
        """Set a variable; it replaces an earlier value of the same authority."""
        others = [value for value in self.env.get(name, []) if value.authority != variable.authority]
        self.env[name] = [*others, variable]

    def count_follow_up(self, name: str, call: str) -> None:
        """Count one follow-up, claimed by this call."""
        self.follow_ups[name] = self.follow_ups.get(name, 0) + 1
        if call:
            self.claims = dict([*self.claims.items(), (call, name)][-MAX_CLAIMS:])

    def undo_claim(self, call: str) -> None:
        """Undo the claim of this call, if any: a call is repeated only if its first answer was lost."""
        name = self.claims.pop(call, None)
        if name is None:
            return
        remaining = self.follow_ups.pop(name, 0) - 1
        if remaining > 0:
            self.follow_ups[name] = remaining


class StoredSession(msgspec.Struct, frozen=True):
    """A session, and the problem with its file. With an alarm its content must not be relied on."""

    session: SessionState
    alarm: str = ""


class Sessions:
    """The sessions of one user, in a private directory."""

    def __init__(self, directory: Path, clean_name: CleanName = hide_name) -> None:
        self.directory = directory
        self.clean_name = clean_name

    def read(self, conversation: str) -> StoredSession:
        """Return the session of a conversation; an empty one if it is unknown or has no name."""
        if not conversation:
            return StoredSession(SessionState())
        path = self._get_path(conversation)
        try:
            return _parse_session(path, path.read_bytes())
        except FileNotFoundError:
            return StoredSession(SessionState())
        except OSError as error:
            return StoredSession(SessionState(), f"the session {path} cannot be read: {error.strerror}")

    def update(
        self, conversation: str, change: Callable[[SessionState], None], now_us: int, *, reserve: int = 0
    ) -> str:
        """Change a session under its lock. Return an alarm if that was not possible, or "".

        `reserve` is added to the size limit; other callers leave that space free.
        """
        if not conversation:
            return "the event names no conversation, so nothing was remembered for later ones"
        try:
            with self._lock(conversation) as path:
                stored = self.read(conversation)
                if stored.alarm:
                    return stored.alarm
                change(stored.session)
                stored.session.conversation = self._build_stored_name(conversation)
                stored.session.updated_us = now_us
                data = encode_with_unknown_fields(stored.session, path)
                if len(data) > MAX_SESSION_BYTES + reserve:
                    return f"the session would grow over {MAX_SESSION_BYTES} bytes; this change was not kept"
                replace_file(path, data)
        except OSError as error:
            return f"the session could not be written: {error.strerror}"
        except UnicodeEncodeError:
            return "the session could not be written: a variable in it is no text"
        return ""

    def clear(self, conversation: str | None = None) -> int:
        """Remove one conversation, given by its name or redacted name, or all. Return how many were removed."""
        files = list(self.directory.glob("*")) if self.directory.is_dir() else []
        if conversation is not None:
            stems = {self._get_path(conversation).stem, *self._find_stems(conversation)}
            files = [file for file in files if file.stem in stems]
        for file in files:
            file.unlink(missing_ok=True)
        return sum(1 for file in files if file.suffix == ".json")

    def _find_stems(self, stored_name: str) -> Iterator[str]:
        for file in self.directory.glob("*.json"):
            if stored_name and _parse_session(file, file.read_bytes()).session.conversation == stored_name:
                yield file.stem

    def _build_stored_name(self, conversation: str) -> str:
        if UUID_NAME.fullmatch(conversation):
            return conversation
        name = self.clean_name(conversation)
        return name.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written to disk

    def _get_path(self, conversation: str) -> Path:
        return self.directory / f"{hash_name(conversation, 32)}.json"

    @contextlib.contextmanager
    def _lock(self, conversation: str) -> Iterator[Path]:
        """Hold the lock of a conversation, and yield the path of its file."""
        ensure_private_directory(self.directory)
        path = self._get_path(conversation)
        with lock_file(path.with_suffix(".lock")):
            yield path


def _parse_session(path: Path, data: bytes) -> StoredSession:
    try:
        session = msgspec.json.decode(data, type=SessionState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return StoredSession(SessionState(), f"the session {path} is damaged; clear it to go on")
    if session.schema != SCHEMA:
        problem = f"the session {path} was written by another version ({session.schema}); clear it to go on"
        return StoredSession(SessionState(), problem)
    return StoredSession(session)
