"""The built-in hook `code-scan`: scan edited files and report findings in changed lines to the agent."""

import hashlib
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from trotline.agents.derived_events import derive_events
from trotline.builtin.hook_context import INTERRUPTED, HookContext, builtin_command
from trotline.builtin.scan_reports import STYLES, Issue, parse_report
from trotline.builtin.text_diff import find_changed_lines, hash_lines, revert_edits
from trotline.builtin.workspace import (
    Words,
    WorkspaceFile,
    add_files,
    find_workspace_file,
    parse_command,
    read_text,
    run_command,
    tail,
)
from trotline.domain.errors import TrotlineError
from trotline.domain.event_records import Edit
from trotline.domain.events import AfterFileEdit, Event, PostToolUse, PreToolUse, Stop
from trotline.domain.verdicts import Verdict
from trotline.hook.sdk import add_context, follow_up, on

NAME = "code-scan"
WRITE_TOOL = "^Write$"
HAS_FINDINGS = 1
"""The exit code of a scanner that found something."""
MAX_ISSUES, MAX_TEXT = 20, 300
MAX_FILES = 200

HELP = """Scan each file that was edited, and tell the agent what was found in the lines that it changed.

\b
  "preToolUse":  [ { "command": "trotline builtin code-scan --run 'semgrep scan --json -q'", "matcher": "Write" } ],
  "postToolUse": [ { "command": "trotline builtin code-scan --run 'semgrep scan --json -q'", "matcher": "Write" } ],
  "stop":        [ { "command": "trotline builtin code-scan --run 'semgrep scan --json -q'" } ]

Before an edit the file's lines are remembered (as digests), after it the file is scanned and findings are context for
the model, and when the agent stops all its files are scanned once more and what is left is its next message.
The command may print Semgrep's JSON, SARIF, or lines such as `src/a.py:12: text`; files are its last words, or stand
where `{}` does. It may end with 0 or 1; anything else is a failure, and never "nothing was found".
"""


class CodeScan(msgspec.Struct, frozen=True):
    """A scanner, the files that it scans, and the style of its report."""

    context: HookContext
    scanner: Words
    patterns: tuple[str, ...]
    style: str
    seconds: float

    def remember_lines(self, event: PreToolUse) -> None:
        """Remember the lines of the file before its first edit."""
        file = self._find_file(event, _get_path(event.tool_input), may_be_missing=True)
        if file is not None:
            text = read_text(file.path) if file.path.exists() else ""
            self._remember(event.conversation_id, file, text)

    def remember_edit(self, event: AfterFileEdit) -> None:
        """Remember a file that no preToolUse announced; its earlier text is derived from the edits."""
        file = self._find_file(event, event.file_path)
        if file is not None:
            self._remember(event.conversation_id, file, _read_before_edits(file, event.edits))

    def scan_edit(self, event: PostToolUse) -> Verdict | None:
        """Scan the files of a tool call; some agents write several at once."""
        edits = [derived for derived in derive_events(event) if isinstance(derived, AfterFileEdit)]
        for edit in edits:
            self.remember_edit(edit)
        files = [file for edit in edits if (file := self._find_file(event, edit.file_path))]
        issues = self._find_issues(event.conversation_id, files)
        return add_context(self._format_issues(issues)) if issues else None

    def scan_all(self, event: Stop) -> Verdict | None:
        """Report the remaining issues of all edited files, but not the same ones twice in a row."""
        if event.status in INTERRUPTED:
            return None
        paths = [*self.context.get_notes(NAME).read(event.conversation_id).get("files", {})]
        files = [file for path in paths if (file := self._find_file(event, path))]
        issues = self._find_issues(event.conversation_id, files)
        digest = hashlib.blake2b(
            "\0".join(issue.text for issue in issues).encode("utf-8", "replace"), key=self.context.key
        ).hexdigest()
        with self.context.get_notes(NAME).edit(event.conversation_id) as notes:
            is_repeated, notes["reported"] = notes.get("reported") == digest, digest
        if issues and is_repeated:
            print(f"{len(issues)} findings are left as they are", file=sys.stderr)
        return follow_up(self._format_issues(issues)) if issues and not is_repeated else None

    def _find_file(self, event: Event, path: str, *, may_be_missing: bool = False) -> WorkspaceFile | None:
        file = find_workspace_file(event, path, may_be_missing=may_be_missing)
        return file if file is not None and any(file.matches(pattern) for pattern in self.patterns) else None

    def _remember(self, conversation: str, file: WorkspaceFile, text: str | None) -> None:
        with self.context.get_notes(NAME).edit(conversation) as notes:
            files = notes.setdefault("files", {})
            if str(file.path) in files:
                return
            if len(files) >= MAX_FILES:
                raise TrotlineError(f"more than {MAX_FILES} files were edited; the rest is not scanned at the end")
            files[str(file.path)] = None if text is None else hash_lines(text, self.context.key)

    def _find_issues(self, conversation: str, files: Sequence[WorkspaceFile]) -> list[Issue]:
        """Scan the files of each workspace folder and return the issues in changed lines."""
        before = self.context.get_notes(NAME).read(conversation).get("files", {})
        issues = []
        for root in dict.fromkeys(file.root for file in files):
            in_root = [file for file in files if file.root == root]
            changed = {
                file.name: find_changed_lines(before.get(str(file.path)), read_text(file.path) or "", self.context.key)
                for file in in_root
            }
            issues += [issue for issue in self._scan(in_root) if issue.overlaps(changed[issue.name])]
        return issues

    def _scan(self, files: Sequence[WorkspaceFile]) -> list[Issue]:
        command = add_files(self.scanner, [file.path for file in files])
        result = run_command(command, files[0].root, self.context.environ, self.seconds)
        line = shlex.join(self.scanner)
        if result.timed_out:
            raise TrotlineError(f"`{line}` did not end within {self.seconds:g} seconds, so nothing was scanned")
        if result.exit_code not in {0, HAS_FINDINGS}:
            output = tail(self.context.redact(result.text), 3, MAX_TEXT)
            raise TrotlineError(f"`{line}` ended with {result.exit_code}: {output}")
        issues = parse_report(result.stdout, files, self.style)
        if result.exit_code and not issues:
            raise TrotlineError(
                f"`{line}` ended with {result.exit_code}, and nothing that it printed names a line of the file"
            )
        return issues

    def _format_issues(self, issues: Sequence[Issue]) -> str:
        lines = [f"- {self.context.redact(str(issue))[:MAX_TEXT]}" for issue in issues[:MAX_ISSUES]]
        more = [f"- and {len(issues) - MAX_ISSUES} more"] if len(issues) > MAX_ISSUES else []
        heading = f"`{shlex.join(self.scanner)}` finds this in lines that you changed:"
        return "\n".join([heading, *lines, *more, "Fix what is right, and say in one sentence what is not."])


def _get_path(tool_input: object) -> str:
    return str(tool_input.get("file_path") or "") if isinstance(tool_input, dict) else ""


def _read_before_edits(file: WorkspaceFile, edits: Sequence[Edit]) -> str | None:
    text = read_text(file.path) if edits else None
    return None if text is None else revert_edits(text, edits)


@click.command(NAME, help=HELP)
@click.option("--run", "scanner", type=parse_command, required=True, help="The scanner; it gets the files.")
@click.option("--on", "patterns", multiple=True, default=("*",), metavar="PATTERN", help="Which files.  [default: all]")
@click.option("--style", type=click.Choice(STYLES), default="auto", show_default=True, help="How its report is read.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=50.0, show_default=True, help="For one scan.")
@builtin_command
def command(context: HookContext, **options: Any) -> None:
    scan = CodeScan(context, **options)
    on.pre_tool_use(matching=WRITE_TOOL)(scan.remember_lines)
    on.post_tool_use(matching=WRITE_TOOL)(scan.scan_edit)
    on.after_file_edit(scan.remember_edit)
    on.stop(scan.scan_all)
