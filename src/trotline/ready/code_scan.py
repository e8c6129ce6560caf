"""Scans what an agent edits, at once and when it stops, and tells it what was found in the lines that it changed."""

import hashlib
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from trotline.errors import TrotlineError
from trotline.events import AfterFileEdit, PostToolUse, PreToolUse, Stop
from trotline.hosts.specific import specifics
from trotline.parts import Edit
from trotline.ready.changes import before_edits, changed_lines, digests, text_of
from trotline.ready.commands import Words, ran, tail, with_files, words
from trotline.ready.desk import Desk, answering
from trotline.ready.ends import CUT_SHORT
from trotline.ready.reports import STYLES, Issue, issues_of
from trotline.ready.workspace import Inside, inside
from trotline.sdk import add_context, follow_up, on
from trotline.verdicts import Verdict

NAME = "code-scan"
WRITE = "^Write$"
FOUND_SOMETHING = 1
MOST_SHOWN, LONGEST = 20, 300
MOST_FILES = 200

HELP = """Scan each file that was edited, and tell the agent what was found in the lines that it changed.

\b
  "preToolUse":  [ { "command": "trotline ready code-scan --run 'semgrep scan --json -q'", "matcher": "Write" } ],
  "postToolUse": [ { "command": "trotline ready code-scan --run 'semgrep scan --json -q'", "matcher": "Write" } ],
  "stop":        [ { "command": "trotline ready code-scan --run 'semgrep scan --json -q'" } ]

Before an edit the file's lines are remembered (as digests), after it the file is scanned and findings are context for
the model, and when the agent stops all its files are scanned once more and what is left is its next message.
The command may print Semgrep's JSON, SARIF, or lines such as `src/a.py:12: text`; files are its last words, or stand
where `{}` does. It may end with 0 or 1; anything else is a failure, and never "nothing was found".
"""


class CodeScan(msgspec.Struct, frozen=True):
    """The scanner, for which files it is, and how its report is read."""

    desk: Desk
    scanner: Words
    patterns: tuple[str, ...]
    style: str
    seconds: float

    def before(self, event: PreToolUse) -> None:
        """Remember the file as it is now, if this is the first edit of it."""
        file = self._file(event, _path(event.tool_input), gone=True)
        if file is not None:
            text = text_of(file.path) if file.path.exists() else ""
            self._remember(event.conversation_id, file, text)

    def noted(self, event: AfterFileEdit) -> None:
        """An edit that nobody announced: what was there before is what its edits say."""
        file = self._file(event, event.file_path)
        if file is not None:
            self._remember(event.conversation_id, file, _before(file, event.edits))

    def after(self, event: PostToolUse) -> Verdict | None:
        """The files of this call; some hosts write several at once."""
        edited = [one for one in specifics(event) if isinstance(one, AfterFileEdit)]
        for one in edited:
            self.noted(one)
        files = [file for one in edited if (file := self._file(event, one.file_path))]
        issues = self._issues(event.conversation_id, files)
        return add_context(self._told(issues)) if issues else None

    def at_the_end(self, event: Stop) -> Verdict | None:
        """What is left; the same twice in a row is a matter for a person."""
        if event.status in CUT_SHORT:
            return None
        known = [*self.desk.notes(NAME).read(event.conversation_id).get("files", {})]
        files = [file for path in known if (file := self._file(event, path))]
        issues = self._issues(event.conversation_id, files)
        told = hashlib.blake2b(
            "\0".join(issue.text for issue in issues).encode("utf-8", "replace"), key=self.desk.key
        ).hexdigest()
        with self.desk.notes(NAME).changed(event.conversation_id) as notes:
            same, notes["told"] = notes.get("told") == told, told
        if issues and same:
            print(f"{len(issues)} findings are left as they are", file=sys.stderr)
        return follow_up(self._told(issues)) if issues and not same else None

    def _file(self, event: Any, path: str, *, gone: bool = False) -> Inside | None:
        file = inside(event, path, gone=gone)
        return file if file is not None and any(file.fits(pattern) for pattern in self.patterns) else None

    def _remember(self, conversation: str, file: Inside, text: str | None) -> None:
        with self.desk.notes(NAME).changed(conversation) as notes:
            files = notes.setdefault("files", {})
            if str(file.path) in files:
                return
            if len(files) >= MOST_FILES:
                raise TrotlineError(f"more than {MOST_FILES} files were edited; the rest is not scanned at the end")
            files[str(file.path)] = None if text is None else digests(text, self.desk.key)

    def _issues(self, conversation: str, files: Sequence[Inside]) -> list[Issue]:
        """In lines that were changed; each root of the workspace is scanned from there."""
        before = self.desk.notes(NAME).read(conversation).get("files", {})
        found = []
        for root in dict.fromkeys(file.root for file in files):
            there = [file for file in files if file.root == root]
            changed = {file.name: self._changed(file, before.get(str(file.path))) for file in there}
            found += [one for one in self._scanned(there) if one.touches(changed[one.name])]
        return found

    def _changed(self, file: Inside, before: list[str] | None) -> set[int]:
        return changed_lines(before, text_of(file.path) or "", self.desk.key)

    def _scanned(self, files: Sequence[Inside]) -> list[Issue]:
        command = with_files(self.scanner, [file.path for file in files])
        done = ran(command, files[0].root, self.desk.environ, self.seconds)
        line = shlex.join(self.scanner)
        if done.late:
            raise TrotlineError(f"`{line}` did not end within {self.seconds:g} seconds, so nothing was scanned")
        if done.code not in {0, FOUND_SOMETHING}:
            raise TrotlineError(f"`{line}` ended with {done.code}: {tail(self.desk.cleaned(done.text), 3, LONGEST)}")
        issues = issues_of(done.stdout, files, self.style)
        if done.code and not issues:
            raise TrotlineError(
                f"`{line}` ended with {done.code}, and nothing that it printed names a line of the file"
            )
        return issues

    def _told(self, issues: Sequence[Issue]) -> str:
        shown = [f"- {self.desk.cleaned(str(issue))[:LONGEST]}" for issue in issues[:MOST_SHOWN]]
        more = [f"- and {len(issues) - MOST_SHOWN} more"] if len(issues) > MOST_SHOWN else []
        heading = f"`{shlex.join(self.scanner)}` finds this in lines that you changed:"
        return "\n".join([heading, *shown, *more, "Fix what is right, and say in one sentence what is not."])


def _path(tool_input: object) -> str:
    return str(tool_input.get("file_path") or "") if isinstance(tool_input, dict) else ""


def _before(file: Inside, edits: Sequence[Edit]) -> str | None:
    text = text_of(file.path) if edits else None
    return None if text is None else before_edits(text, edits)


@click.command(NAME, help=HELP)
@click.option("--run", "scanner", type=words, required=True, help="The scanner; it gets the files.")
@click.option("--on", "patterns", multiple=True, default=("*",), metavar="PATTERN", help="Which files.  [default: all]")
@click.option("--style", type=click.Choice(STYLES), default="auto", show_default=True, help="How its report is read.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=50.0, show_default=True, help="For one scan.")
@answering
def command(desk: Desk, *, scanner: Words, patterns: tuple[str, ...], style: str, seconds: float) -> None:
    scan = CodeScan(desk, scanner, patterns, style, seconds)
    on.pre_tool_use(matching=WRITE)(scan.before)
    on.post_tool_use(matching=WRITE)(scan.after)
    on.after_file_edit(scan.noted)
    on.stop(scan.at_the_end)
