"""Commits what an agent edited to a branch of its conversation; nobody's index, HEAD or files are touched."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from trotline.effects import Certainty
from trotline.errors import TrotlineError
from trotline.events import AfterFileEdit, BeforeSubmitPrompt, PostToolUse, Stop
from trotline.ready.branches import Branch, File
from trotline.ready.desk import Desk, answering
from trotline.ready.git import Repository, top_of
from trotline.ready.notes import locked, name_of
from trotline.ready.workspace import inside
from trotline.sdk import on

NAME = "agent-branch"
PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:/[A-Za-z0-9][A-Za-z0-9_-]*)*")
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
MOST_BYTES = 20_000_000
MOST_FILES = 1000
SUBJECT = 72

HELP = """Commit what the agent edited to a branch of its own for each conversation, when it stops.

\b
  "beforeSubmitPrompt": [ { "command": "trotline ready agent-branch" } ],
  "afterFileEdit":      [ { "command": "trotline ready agent-branch" } ],
  "postToolUse":        [ { "command": "trotline ready agent-branch", "matcher": "Delete" } ],
  "stop":               [ { "command": "trotline ready agent-branch" } ]

\b
  git log --stat agent/<conversation>      what it did
  git diff HEAD...agent/<conversation>     all of it, against where it began

The branch begins at HEAD, and each stop is one commit, named after the last prompt. Your index, your HEAD and your
files stay as they are, and nothing of the repository's configuration is run. Files that git ignores, and files that
hold what looks like a secret, are left out; standard error names them.
"""


class AgentBranch(msgspec.Struct, frozen=True):
    """How branches are named, and the desk where edits are noted until they are committed."""

    desk: Desk
    prefix: str

    def asked(self, event: BeforeSubmitPrompt) -> None:
        """The first line of the prompt names the next commit; what is secret in it does not."""
        lines = self.desk.cleaned(event.prompt).strip().splitlines()
        with self.desk.notes(NAME).changed(event.conversation_id) as notes:
            notes["subject"] = lines[0][:SUBJECT] if lines else ""

    def edited(self, event: AfterFileEdit) -> None:
        self._note(event, event.file_path)

    def deleted(self, event: PostToolUse) -> None:
        if isinstance(event.tool_input, dict):
            self._note(event, str(event.tool_input.get("file_path") or ""))

    def _note(self, event: AfterFileEdit | PostToolUse, path: str) -> None:
        file = inside(event, path, gone=True)
        if file is None:
            print("not noted for the branch: it is no file of this workspace", file=sys.stderr)
            return
        with self.desk.notes(NAME).changed(event.conversation_id) as notes:
            known = notes.setdefault("files", [])
            if str(file.path) in known:
                return
            if len(known) >= MOST_FILES:
                raise TrotlineError(
                    f"more than {MOST_FILES} files were edited since the last commit; the rest is left out"
                )
            known.append(str(file.path))

    def commit(self, event: Stop) -> None:
        """One commit of everything that was edited since the last one, in each repository."""
        notes = self.desk.notes(NAME).read(event.conversation_id)
        paths = [path for path in notes.get("files", []) if inside(event, path, gone=True)]
        by_top: dict[Path, list[Path]] = {}
        for path in map(Path, paths):
            top = top_of(_existing(path.parent), self.desk.environ)
            if top is not None and path.is_relative_to(top):
                by_top.setdefault(top, []).append(path)
            else:
                print(f"not committed: {path.name} is in no repository of its own", file=sys.stderr)
        for top, files in by_top.items():
            self._commit_in(top, files, event, notes.get("subject", ""))
        with self.desk.notes(NAME).changed(event.conversation_id) as left:
            left["files"] = [path for path in left.get("files", []) if path not in paths]

    def _commit_in(self, top: Path, paths: Sequence[Path], event: Stop, subject: str) -> None:
        place = self.desk.place(NAME) / "index"
        index = place / name_of(f"{top}\0{event.conversation_id}")
        with locked(place):
            try:
                branch = Branch(Repository(top, index, self.desk.environ), self._branch(event))
                files = [file for path in branch.wanted(paths) if (file := _file(path, top))]
                branch.commit(files, _message(subject, files, event))
            finally:
                index.unlink(missing_ok=True)
                index.with_name(f"{index.name}.lock").unlink(missing_ok=True)

    def _branch(self, event: Stop) -> str:
        known = event.conversation_id
        return f"{self.prefix}/{known if PLAIN.fullmatch(known) else name_of(known)[:16]}"


def _existing(directory: Path) -> Path:
    """The nearest directory upwards that is still there."""
    return next((one for one in (directory, *directory.parents) if one.is_dir()), Path("/"))


def _file(path: Path, top: Path) -> File | None:
    """The file as it is to be committed; None, and its name on standard error, for one that must not be."""
    from trotline.scanners.scan import spans_of  # noqa: PLC0415 - only a commit needs them
    from trotline.scanners.secrets import own_secrets  # noqa: PLC0415 - the same

    name = path.relative_to(top).as_posix()
    if not path.exists():
        return File(name)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        data, runs = file.read(MOST_BYTES + 1), bool(os.fstat(descriptor).st_mode & 0o100)
    secret = any(span.certainty is Certainty.KNOWN for span in spans_of(data, (own_secrets(),)))
    if secret or len(data) > MOST_BYTES:
        why = "holds what looks like a secret" if secret else f"has more than {MOST_BYTES} bytes"
        print(f"not committed: {name} {why}", file=sys.stderr)
        return None
    return File(name, data, runs)


def _message(subject: str, files: Sequence[File], event: Stop) -> str:
    names = ", ".join(file.name for file in files[:3]) + (", ..." if len(files) > 3 else "")
    trailers = {"Conversation": event.conversation_id, "Model": event.model or "", "Status": event.status}
    lines = [f"{name}: {value}" for name, value in trailers.items() if value and PLAIN.fullmatch(value)]
    return "\n".join([subject or f"Edits of an agent: {names}", "", *lines]) + "\n"


def prefix_of(text: str) -> str:
    if not PREFIX.fullmatch(text):
        raise click.BadParameter(f"`{text}` is no beginning of a branch's name")
    return text


@click.command(NAME, help=HELP)
@click.option("--prefix", type=prefix_of, default="agent", show_default=True, help="What names of branches begin with.")
@answering
def command(desk: Desk, *, prefix: str) -> None:
    branch = AgentBranch(desk, prefix)
    on.before_submit_prompt(branch.asked)
    on.after_file_edit(branch.edited)
    on.post_tool_use(matching="^Delete$")(branch.deleted)
    on.stop(branch.commit)
