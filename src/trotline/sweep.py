"""A sweep: the files of some trees through the scanners, and what is wrong with the control files among them.

Nothing is run and nothing is followed out of a tree. A file may be of any size; it is read in pieces.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from trotline.audit.wording import scanners_of
from trotline.config.control_files import HookLine, hook_lines, is_control_file, problems_of
from trotline.config.files import TooLargeError, content
from trotline.config.places import Roots
from trotline.config.problems import Problem
from trotline.config.tree import Skipped, Tree
from trotline.effects import Certainty
from trotline.findings import Extent, Finding
from trotline.scanners import control
from trotline.scanners.baseline import Baseline, Known
from trotline.scanners.control import Control
from trotline.scanners.finding import Span, digest_of
from trotline.scanners.redaction import redacted
from trotline.scanners.scan import MOST, Scanner, spans_of

NEW_KEY = 16
SECRETS = "secrets"


class Hooked(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that was found, its command without secrets."""

    path: str
    line: int
    host: str
    event: str
    command: str
    digest: str


class Swept(msgspec.Struct, kw_only=True):
    """What a sweep found. `known` counts findings that the baseline has; `rows` are those of a new baseline."""

    findings: list[Finding] = []
    problems: list[Problem] = []
    hooks: list[Hooked] = []
    files: int = 0
    bytes: int = 0
    known: int = 0
    crowded: list[str] = []  # files with more findings than are listed
    skipped: Counter[Skipped] = Counter()
    unreadable: list[str] = []
    rows: set[Known] = set()

    @property
    def ok(self) -> bool:
        return not self.findings and not self.problems


class Sweep:
    def __init__(
        self, roots: Roots, scanners: Sequence[Scanner], key: bytes, baseline: Baseline | None, *, everything: bool
    ) -> None:
        self.roots = roots
        self.scanners = scanners
        rules = [scanner for scanner in scanners if scanner.name == SECRETS]  # with those of this sweep alone
        self.redacting = (*scanners_of(roots), *rules)
        self.key = key
        self.baseline = baseline
        self.accepted = frozenset(baseline.findings) if baseline else frozenset()
        self.marks = baseline or Baseline(key=os.urandom(NEW_KEY).hex())
        self.tree = Tree(everything=everything)
        self.found = Swept()

    def of(self, tops: Sequence[tuple[Path, str]]) -> Swept:
        """Every file below these, once; each top comes with the name under which its files are shown."""
        seen: set[Path] = set()
        for top, shown in tops:
            for file in self.tree.files(top):
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    self._file(file, _shown(file, top, shown))
        self.found.skipped, self.found.unreadable = self.tree.skipped, self.tree.unreadable
        self.found.findings.sort(key=lambda finding: (finding.where, finding.place.offset))
        return self.found

    def _file(self, file: Path, shown: str) -> None:
        obeyed = is_control_file(file.as_posix().lstrip("/"))
        pieces = self.tree.pieces(file, even_binary=obeyed)
        if pieces is None:
            return
        self.found.files += 1
        scanners = [*self.scanners, Control()] if obeyed else self.scanners
        spans = list(islice(spans_of(self._counted(pieces), scanners, path=shown), MOST + 1))
        if len(spans) > MOST:
            self.found.crowded.append(shown)
        for span in spans[:MOST]:
            self._note(span, shown)
        if obeyed:
            self._control_file(file, shown)

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.found.bytes += len(piece)
            yield piece

    def _note(self, span: Span, shown: str) -> None:
        row = self.marks.known(shown, span.kind, span.value)
        self.found.rows.add(row)
        if row in self.accepted:
            self.found.known += 1
        else:
            self.found.findings.append(span.finding(self.key, shown))

    def _control_file(self, file: Path, shown: str) -> None:
        try:
            data: bytes | None = content(file)[0]
        except TooLargeError:
            data = None
        except OSError:
            return  # it was there a moment ago, and its text was scanned
        for line in hook_lines(file.as_posix(), data or b""):
            self._hook(line, shown)
        for problem in problems_of(file, self.roots, too_large=data is None):
            message, hint = self._clean(problem.message), self._clean(problem.hint)
            place = msgspec.structs.replace(problem.place, file=shown)
            self.found.problems.append(
                msgspec.structs.replace(problem, place=place, message=message, hint=hint, source="")
            )

    def _clean(self, text: str) -> str:
        return redacted(text, self.key, self.redacting)[0]

    def _hook(self, line: HookLine, shown: str) -> None:
        value = line.command.encode("utf-8", "surrogatepass")
        command = self._clean(line.command)
        self.found.hooks.append(
            Hooked(
                path=shown,
                line=line.line,
                host=line.host,
                event=self._clean(line.event),
                command=command,
                digest=digest_of(value, self.key),
            )
        )
        end = line.column + len(line.command)
        place = Extent(line=line.line, column_from=line.column, line_to=line.line, column_to=end, offset=line.offset)
        span = Span(line.offset, line.offset, control.HOOK, control.NAME, Certainty.KNOWN, value, place)
        if self.baseline is not None:
            self._note(span, shown)
        else:
            self.found.rows.add(self.marks.known(shown, control.HOOK, value))

    def new_baseline(self) -> Baseline:
        """Everything that was found, accepted."""
        return Baseline(key=self.marks.key, findings=tuple(sorted(self.found.rows)))


def _shown(file: Path, top: Path, name: str) -> str:
    below = file.relative_to(top).as_posix() if file != top else ""
    return f"{name}/{below}" if name and below else below or name
