"""Scan the files of directory trees, and check the control files of agents among them.

Nothing is run, and links out of a tree are not followed. Files are read in chunks, so that their size does not matter.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from trotline.audit.record.detail_policy import load_redaction_scanners
from trotline.config.control_files import FoundCommand, find_file_problems, find_hook_commands, is_control_file
from trotline.config.file_tree import SkipReason, TreeWalk
from trotline.config.paths import Roots
from trotline.config.problems import Problem
from trotline.domain.effects import Certainty
from trotline.domain.findings import Finding, TextRange
from trotline.scanners.baseline import AcceptedFinding, Baseline
from trotline.scanners.control_scanner import CONTROL, HOOK_COMMAND, ControlFileScanner
from trotline.scanners.redaction import redact
from trotline.scanners.scan import MAX_FINDINGS, Scanner, find_spans
from trotline.scanners.spans import Span, compute_digest
from trotline.system.files import TooLargeError, read_file

KEY_BYTES = 16
SECRETS = "secrets"


class FoundHook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook in a control file, its command redacted."""

    path: str
    line: int
    agent: str
    event: str
    command: str
    digest: str


class ScanReport(msgspec.Struct, kw_only=True):
    """The results of a scan. `known` counts findings of the baseline; `rows` are the entries of a new baseline."""

    findings: list[Finding] = []
    problems: list[Problem] = []
    hooks: list[FoundHook] = []
    files: int = 0
    bytes: int = 0
    known: int = 0
    truncated: list[str] = []  # files with more findings than are listed
    skipped: Counter[SkipReason] = Counter()
    unreadable: list[str] = []
    rows: set[AcceptedFinding] = set()

    @property
    def ok(self) -> bool:
        """True if there are no findings and no problems."""
        return not self.findings and not self.problems


class TreeScan:
    """Scans directory trees with these scanners."""

    def __init__(
        self, roots: Roots, scanners: Sequence[Scanner], key: bytes, baseline: Baseline | None, *, everything: bool
    ) -> None:
        self.roots = roots
        self.scanners = scanners
        rules = [scanner for scanner in scanners if scanner.name == SECRETS]  # with additional rules
        self.redacting = (*load_redaction_scanners(roots), *rules)
        self.key = key
        self.baseline = baseline
        self.accepted = frozenset(baseline.findings) if baseline else frozenset()
        self.marks = baseline or Baseline(key=os.urandom(KEY_BYTES).hex())
        self.tree = TreeWalk(everything=everything)
        self.report = ScanReport()

    def run(self, tops: Sequence[tuple[Path, str]]) -> ScanReport:
        """Scan every file below these directories once; each comes with the name that is shown for it."""
        seen: set[Path] = set()
        for top, shown in tops:
            for file in self.tree.iterate_files(top):
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    self._scan_file(file, _format_path(file, top, shown))
        self.report.skipped, self.report.unreadable = self.tree.skipped, self.tree.unreadable
        self.report.findings.sort(key=lambda finding: (finding.where, finding.place.offset))
        return self.report

    def _scan_file(self, file: Path, shown: str) -> None:
        is_control = is_control_file(file.as_posix().lstrip("/"))
        chunks = self.tree.read_chunks(file, even_binary=is_control)
        if chunks is None:
            return
        self.report.files += 1
        scanners = [*self.scanners, ControlFileScanner()] if is_control else self.scanners
        spans = list(islice(find_spans(self._count_bytes(chunks), scanners, path=shown), MAX_FINDINGS + 1))
        if len(spans) > MAX_FINDINGS:
            self.report.truncated.append(shown)
        for span in spans[:MAX_FINDINGS]:
            self._add_span(span, shown)
        if is_control:
            self._check_control_file(file, shown)

    def _count_bytes(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.report.bytes += len(chunk)
            yield chunk

    def _add_span(self, span: Span, shown: str) -> None:
        row = self.marks.build_entry(shown, span.kind, span.value)
        self.report.rows.add(row)
        if row in self.accepted:
            self.report.known += 1
        else:
            self.report.findings.append(span.build_finding(self.key, shown))

    def _check_control_file(self, file: Path, shown: str) -> None:
        try:
            data: bytes | None = read_file(file)
        except TooLargeError:
            data = None
        except OSError:
            return  # removed since its text was scanned
        for command in find_hook_commands(file.as_posix(), data or b""):
            self._add_hook(command, shown)
        for problem in find_file_problems(file, self.roots, too_large=data is None):
            message, hint = self._redact(problem.message), self._redact(problem.hint)
            place = msgspec.structs.replace(problem.place, file=shown)
            self.report.problems.append(
                msgspec.structs.replace(problem, place=place, message=message, hint=hint, source="")
            )

    def _redact(self, text: str) -> str:
        return redact(text, self.key, self.redacting)[0]

    def _add_hook(self, found: FoundCommand, shown: str) -> None:
        value = found.command.encode("utf-8", "surrogatepass")
        command = self._redact(found.command)
        self.report.hooks.append(
            FoundHook(
                path=shown,
                line=found.line,
                agent=found.agent,
                event=self._redact(found.event),
                command=command,
                digest=compute_digest(value, self.key),
            )
        )
        end = found.column + len(found.command)
        place = TextRange(
            line=found.line, column_from=found.column, line_to=found.line, column_to=end, offset=found.offset
        )
        span = Span(
            found.offset,
            found.offset,
            HOOK_COMMAND,
            CONTROL,
            Certainty.KNOWN,
            value,
            place,
        )
        if self.baseline is not None:
            self._add_span(span, shown)
        else:
            self.report.rows.add(self.marks.build_entry(shown, HOOK_COMMAND, value))

    def build_baseline(self) -> Baseline:
        """Return a baseline that accepts everything that was found."""
        return Baseline(key=self.marks.key, findings=tuple(sorted(self.report.rows)))


def _format_path(file: Path, top: Path, name: str) -> str:
    below = file.relative_to(top).as_posix() if file != top else ""
    return f"{name}/{below}" if name and below else below or name
