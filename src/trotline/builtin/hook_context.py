"""The parts that every built-in hook shares: its state directory, notes per conversation, redaction, and the reply."""

import contextlib
import functools
import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from trotline.agents import AGENTS
from trotline.builtin.workspace import Words, add_files, run_command, tail
from trotline.config.install.install_key import read_or_create_key
from trotline.config.paths import Roots
from trotline.domain.errors import TrotlineError
from trotline.machine import copy_environment, find_roots
from trotline.system.files import ensure_private_directory, lock_file, replace_file

STATE_DIRECTORY = "builtin"
"""The directory below the state directory that holds the data of built-in hooks."""

INTERRUPTED = frozenset({"aborted", "error"})
"""Statuses of a stop after which no hook keeps the agent going: the user ended it, or it failed."""

MAX_NOTES_BYTES = 4_000_000
MAX_ERROR_LINES, MAX_ERROR_TEXT = 3, 300
MAX_CONVERSATIONS = 500
"""The limit of conversations with notes; the least recently changed are removed first."""


class HookContext(NamedTuple):
    """The directories and the environment of a built-in hook. None of these directories is in a workspace."""

    roots: Roots
    environ: Mapping[str, str]

    def get_state_directory(self, name: str) -> Path:
        """Return the directory for the data of a hook."""
        return self.roots.state / STATE_DIRECTORY / name

    def get_notes(self, name: str) -> "ConversationNotes":
        """Return the notes of a hook."""
        return ConversationNotes(self.get_state_directory(name))

    @property
    def key(self) -> bytes:
        """The key of this installation, for digests."""
        return read_or_create_key(self.roots.state)

    def redact(self, text: str) -> str:
        """Return the text without secrets and personal data. All text that leaves a built-in hook is redacted."""
        from trotline.audit.record.detail_policy import load_redaction_scanners  # noqa: PLC0415 - many calls redact nothing
        from trotline.scanners.redaction import redact  # noqa: PLC0415 - many calls redact nothing

        return redact(text, self.key, load_redaction_scanners(self.roots))[0]

    def run_commands(
        self, commands: Sequence[Words], folder: Path, seconds: float, *, file: Path | None = None, stdin: bytes = b""
    ) -> None:
        """Run each command, for a file if one is given; raise an error with the failures of all."""
        errors = [self._run_command(command, folder, seconds, file, stdin) for command in commands]
        if any(errors):
            raise TrotlineError("; ".join(filter(None, errors)))

    def _run_command(self, command: Words, folder: Path, seconds: float, file: Path | None, stdin: bytes) -> str:
        """Run a command and return an error message, or an empty text if it succeeds."""
        line = shlex.join(command)
        words = add_files(command, [file]) if file is not None else command
        try:
            result = run_command(words, folder, self.environ, seconds, stdin)
        except TrotlineError as error:
            return error.message
        if result.timed_out:
            return f"`{line}` did not end within {seconds:g} seconds"
        if not result.exit_code:
            return ""
        output = tail(self.redact(result.text), MAX_ERROR_LINES, MAX_ERROR_TEXT)
        return f"`{line}` ended with {result.exit_code}: {output}"

    def redact_tree(self, value: dict[str, Any]) -> dict[str, Any]:
        """Redact all keys and values of an object."""
        from trotline.audit.record.detail_policy import load_redaction_scanners  # noqa: PLC0415 - many calls redact nothing
        from trotline.scanners.redaction import redact_tree  # noqa: PLC0415 - many calls redact nothing

        redacted: dict[str, Any] = redact_tree(value, self.key, load_redaction_scanners(self.roots))[0]
        return redacted


class ConversationNotes:
    """The notes of one hook: a small JSON file per conversation, changed under a lock and replaced atomically."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def read(self, conversation: str) -> dict[str, Any]:
        """Return the notes about a conversation; empty if there are none."""
        return _read_notes(self._get_file(conversation))

    @contextlib.contextmanager
    def edit(self, conversation: str) -> Iterator[dict[str, Any]]:
        """Yield the notes for editing; write them when the block ends without an exception."""
        path = self._get_file(conversation)
        with lock_directory(self.directory):
            notes = _read_notes(path)
            yield notes
            data = json.dumps(notes).encode()
            if len(data) > MAX_NOTES_BYTES:
                message = f"the notes `{path}` would grow over {MAX_NOTES_BYTES} bytes"
                raise TrotlineError(message, hint="remove the file")
            if not path.exists():
                self._remove_oldest()
            replace_file(path, data)

    def _get_file(self, conversation: str) -> Path:
        return self.directory / f"{hash_name(conversation)}.json"

    def _remove_oldest(self) -> None:
        files = sorted(self.directory.glob("*.json"), key=_get_modification_time)
        for file in files[: max(0, len(files) - MAX_CONVERSATIONS + 1)]:
            file.unlink(missing_ok=True)


def hash_name(text: str) -> str:
    """Return a file name for a text of a payload, which may contain any character."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@contextlib.contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Hold the lock of a private directory, which is created if it is missing."""
    ensure_private_directory(directory)
    with lock_file(directory / "lock"):
        yield


def builtin_command(command: Callable[..., None]) -> Callable[..., int]:
    """Wrap a function that registers handlers as a click command that then answers the call on standard input."""

    @click.option("--agent", type=click.Choice(list(AGENTS)), help="The agent, where its payload does not tell.")
    @click.option("--event", default="", metavar="NAME", help="The agent's name of the event, likewise.")
    @click.option("--home", default="", metavar="DIR", help="Another home directory.")
    @click.option("--system", expose_value=False, hidden=True)
    @click.option("--project", expose_value=False, hidden=True, multiple=True)
    @functools.wraps(command)
    def answer(*, agent: str | None, event: str, home: str, **options: Any) -> int:
        from trotline.hook.process import answer_call  # noqa: PLC0415 - not needed for help
        from trotline.hook.sdk import BACKGROUND_HANDLERS, HANDLERS  # noqa: PLC0415 - not needed for help

        roots = find_roots([Path("/")], Path(home) if home else None, Path("/"))
        command(HookContext(roots, copy_environment()), **options)
        line = ["--agent", agent or "", "--event", event, "--home", home]
        return answer_call(line, HANDLERS, BACKGROUND_HANDLERS, guarded=False)

    return answer


def _get_modification_time(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0  # another process has just removed it


def _read_notes(path: Path) -> dict[str, Any]:
    try:
        notes = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        notes = None
    if not isinstance(notes, dict):
        raise TrotlineError(f"the notes `{path}` are damaged", hint="remove the file to begin anew")
    return notes
