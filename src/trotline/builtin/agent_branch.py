"""The built-in hook `agent-branch`: commit the files that an agent edited to a branch of its conversation."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.builtin.git_branch import Branch, CommitFile, Repository, find_work_tree
from trotline.builtin.hook_context import HookContext, builtin_command, hash_name, lock_directory
from trotline.builtin.workspace import find_workspace_file
from trotline.domain.effects import Certainty
from trotline.domain.errors import TrotlineError
from trotline.domain.events import AfterFileEdit, BeforeSubmitPrompt, PostToolUse, Stop
from trotline.hook.sdk import on
from trotline.system.files import open_regular

NAME = "agent-branch"
MAX_FILE_BYTES = 20_000_000
MAX_FILES = 1000
MAX_SUBJECT = 72

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:/[A-Za-z0-9][A-Za-z0-9_-]*)*")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")

HELP = """Commit what the agent edited to a branch of its own for each conversation, when it stops.

\b
  "beforeSubmitPrompt": [ { "command": "trotline builtin agent-branch" } ],
  "afterFileEdit":      [ { "command": "trotline builtin agent-branch" } ],
  "postToolUse":        [ { "command": "trotline builtin agent-branch", "matcher": "Delete" } ],
  "stop":               [ { "command": "trotline builtin agent-branch" } ]

\b
  git log --stat agent/<conversation>      what it did
  git diff HEAD...agent/<conversation>     all of it, against where it began

The branch begins at HEAD, and each stop is one commit, named after the last prompt. Your index, your HEAD and your
files stay as they are, and nothing of the repository's configuration is run. Files that git ignores, and files that
hold what looks like a secret, are left out; standard error names them.
"""


class AgentBranch(msgspec.Struct, frozen=True):
    """The edited files of a conversation, committed at each stop."""

    context: HookContext
    prefix: str

    def note_subject(self, event: BeforeSubmitPrompt) -> None:
        """Keep the redacted first line of the prompt as the subject of the next commit."""
        lines = self.context.redact(event.prompt).strip().splitlines()
        with self.context.get_notes(NAME).edit(event.conversation_id) as notes:
            notes["subject"] = lines[0][:MAX_SUBJECT] if lines else ""

    def remember_edit(self, event: AfterFileEdit) -> None:
        """Note an edited file for the next commit."""
        self._note_file(event, event.file_path)

    def note_deletion(self, event: PostToolUse) -> None:
        """Note a deleted file for the next commit."""
        if isinstance(event.tool_input, dict):
            self._note_file(event, str(event.tool_input.get("file_path") or ""))

    def _note_file(self, event: AfterFileEdit | PostToolUse, path: str) -> None:
        file = find_workspace_file(event, path, may_be_missing=True)
        if file is None:
            print("not noted for the branch: it is no file of this workspace", file=sys.stderr)
            return
        with self.context.get_notes(NAME).edit(event.conversation_id) as notes:
            files = notes.setdefault("files", [])
            if str(file.path) in files:
                return
            if len(files) >= MAX_FILES:
                raise TrotlineError(
                    f"more than {MAX_FILES} files were edited since the last commit; the rest is left out"
                )
            files.append(str(file.path))

    def commit(self, event: Stop) -> None:
        """Make one commit per repository with all files edited since the last stop."""
        notes = self.context.get_notes(NAME).read(event.conversation_id)
        paths = [path for path in notes.get("files", []) if find_workspace_file(event, path, may_be_missing=True)]
        by_work_tree: dict[Path, list[Path]] = {}
        for path in map(Path, paths):
            top = find_work_tree(_find_existing_directory(path.parent), self.context.environ)
            if top is not None and path.is_relative_to(top):
                by_work_tree.setdefault(top, []).append(path)
            else:
                print(f"not committed: {path.name} is in no repository of its own", file=sys.stderr)
        for top, files in by_work_tree.items():
            self._commit_files(top, files, event, notes.get("subject", ""))
        with self.context.get_notes(NAME).edit(event.conversation_id) as edited:
            edited["files"] = [path for path in edited.get("files", []) if path not in paths]

    def _commit_files(self, top: Path, paths: Sequence[Path], event: Stop, subject: str) -> None:
        directory = self.context.get_state_directory(NAME) / "index"
        index = directory / hash_name(f"{top}\0{event.conversation_id}")
        with lock_directory(directory):
            try:
                branch = Branch(Repository(top, index, self.context.environ), self._branch_name(event))
                files = [file for path in branch.filter_ignored(paths) if (file := _read_commit_file(path, top))]
                branch.commit(files, _build_message(subject, files, event))
            finally:
                index.unlink(missing_ok=True)
                index.with_name(f"{index.name}.lock").unlink(missing_ok=True)

    def _branch_name(self, event: Stop) -> str:
        conversation = event.conversation_id
        is_plain = _PLAIN_NAME.fullmatch(conversation)
        return f"{self.prefix}/{conversation if is_plain else hash_name(conversation)[:16]}"


def _find_existing_directory(directory: Path) -> Path:
    """Return the directory or its nearest parent that exists."""
    return next((path for path in (directory, *directory.parents) if path.is_dir()), Path("/"))


def _read_commit_file(path: Path, top: Path) -> CommitFile | None:
    """Read a file for a commit. Return None and print its name if it is too large or holds a secret."""
    from trotline.scanners.scan import find_spans  # noqa: PLC0415 - only needed for a commit
    from trotline.scanners.secrets import get_builtin_scanner  # noqa: PLC0415 - only needed for a commit

    name = path.relative_to(top).as_posix()
    if not path.exists():
        return CommitFile(name)
    with os.fdopen(open_regular(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        data, is_executable = file.read(MAX_FILE_BYTES + 1), bool(os.fstat(file.fileno()).st_mode & 0o100)
    has_secret = any(span.certainty is Certainty.KNOWN for span in find_spans(data, (get_builtin_scanner(),)))
    if has_secret or len(data) > MAX_FILE_BYTES:
        reason = "holds what looks like a secret" if has_secret else f"has more than {MAX_FILE_BYTES} bytes"
        print(f"not committed: {name} {reason}", file=sys.stderr)
        return None
    return CommitFile(name, data, is_executable)


def _build_message(subject: str, files: Sequence[CommitFile], event: Stop) -> str:
    names = ", ".join(file.name for file in files[:3]) + (", ..." if len(files) > 3 else "")
    trailers = {"Conversation": event.conversation_id, "Model": event.model or "", "Status": event.status}
    lines = [f"{name}: {value}" for name, value in trailers.items() if value and _PLAIN_NAME.fullmatch(value)]
    return "\n".join([subject or f"Edits of an agent: {names}", "", *lines]) + "\n"


def _parse_prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text):
        raise click.BadParameter(f"`{text}` is no beginning of a branch's name")
    return text


@click.command(NAME, help=HELP)
@click.option(
    "--prefix", type=_parse_prefix, default="agent", show_default=True, help="What names of branches begin with."
)
@builtin_command
def command(context: HookContext, **options: Any) -> None:
    branch = AgentBranch(context, **options)
    on.before_submit_prompt(branch.note_subject)
    on.after_file_edit(branch.remember_edit)
    on.post_tool_use(matching="^Delete$")(branch.note_deletion)
    on.stop(branch.commit)
