"""Trust: whoever can commit to a repository can write hooks, so a project's hooks run only after a person said so.

Trust is bound to content: the configuration's bytes, every file of the workspace that a command names, and the whole
`.cursor/hooks` and `.claude/hooks` trees. One changed byte, and it is gone. What else a command uses (programs on the
PATH, what scripts import) is not covered, and the consent text lists it.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from enum import StrEnum
from itertools import islice
from pathlib import Path

import msgspec

from trotline.config.commands import expand
from trotline.config.places import Roots
from trotline.hooks import Hook

SCHEMA = "trotline.trust/1"
CONFIGURATION = (".cursor/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
TREES = (".cursor/hooks", ".claude/hooks")
MOST_FILES = 5_000
MOST_KEPT = 262_144
"""Contents up to this size are kept beside the digest, so that a change can be shown."""


class TrustState(StrEnum):
    TRUSTED = "trusted"
    NEVER = "never trusted"
    CHANGED = "changed since it was trusted"
    UNUSABLE = "cannot be covered"


class Coverage(msgspec.Struct, frozen=True):
    """What trust in a workspace covers: each file's digest by its path, and what is used and not covered."""

    root: str
    files: dict[str, str]
    not_covered: tuple[str, ...] = ()
    problem: str = ""

    @property
    def digest(self) -> str:
        text = json.dumps(sorted(self.files.items()), separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Trust(msgspec.Struct, frozen=True):
    """Whether a workspace's hooks may run, and what stands against it."""

    state: TrustState
    coverage: Coverage
    changes: tuple[str, ...] = ()

    @property
    def why_not(self) -> str:
        if self.state is TrustState.CHANGED:
            return f"the workspace changed since it was trusted: {', '.join(self.changes[:5])}"
        if self.state is TrustState.UNUSABLE:
            return f"the workspace cannot be trusted: {self.coverage.problem}"
        return "the workspace is not trusted"


class Grant(msgspec.Struct, kw_only=True):
    """What is stored of a trusted workspace."""

    schema: str = SCHEMA
    root: str
    digest: str
    files: dict[str, str]
    granted_us: int = 0


class Digests:
    """Digests of files, taken again only when the file may have changed; a changed ctime cannot be forged by touch."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def of(self, path: Path) -> str:
        status = path.stat()
        signature = (
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_mode,
        )
        known = self._known.get(str(path))
        if known is None or known[0] != signature:
            mode = "x" if status.st_mode & 0o111 else "-"
            content = path.read_bytes()
            known = (signature, f"{hashlib.sha256(content).hexdigest()}{mode}")
            self._known[str(path)] = known
        return known[1]


def coverage_of(root: Path, hooks: Iterable[Hook], roots: Roots, digests: Digests) -> Coverage:
    """Everything of this workspace that its hooks are known to use."""
    not_covered: list[str] = []
    try:
        named = {path.relative_to(root).as_posix(): path for path in islice(_always(root), MOST_FILES + 1)}
        if len(named) > MOST_FILES:
            return Coverage(str(root), {}, (), f"its hook directories hold more than {MOST_FILES} files")
        for word, file in (pair for hook in hooks for pair in _words(hook, roots)):
            if file is not None and file.is_file() and file.resolve().is_relative_to(root.resolve()):
                named[os.path.relpath(file, root)] = file
            else:
                not_covered.append(word)
        files = {name: digests.of(path) for name, path in sorted(named.items())}
    except OSError as error:
        return Coverage(str(root), {}, (), f"{error.filename}: {(error.strerror or str(error)).lower()}")
    return Coverage(str(root), files, tuple(dict.fromkeys(not_covered)))


def _always(root: Path) -> Iterator[Path]:
    for name in CONFIGURATION:
        if (root / name).is_file():
            yield root / name
    for name in TREES:
        for directory, _, files in os.walk(root / name):
            yield from (Path(directory) / file for file in files if (Path(directory) / file).is_file())


def _words(hook: Hook, roots: Roots) -> Iterator[tuple[str, Path | None]]:
    """The words of a command that may be files; a word that is no path is yielded without one if it is a program."""
    try:
        words = shlex.split(hook.command, comments=True)
    except ValueError:
        words = hook.command.split()
    for position, word in enumerate(words):
        expanded = expand(word, hook, roots)
        path = Path(hook.layer.cwd) / expanded if expanded else None
        if (path is not None and path.is_file()) or "/" in word or position == 0:
            yield word, path


class TrustStore:
    """Grants, one file per workspace, outside of it; `accepted` holds digests that were given on the command line."""

    def __init__(self, directory: Path, accepted: Iterable[str] = ()) -> None:
        self.directory = directory
        self.accepted = frozenset(accepted)

    def judge(self, coverage: Coverage) -> Trust:
        """Whether this content was trusted."""
        if coverage.problem:
            return Trust(TrustState.UNUSABLE, coverage)
        if coverage.digest in self.accepted:
            return Trust(TrustState.TRUSTED, coverage)
        grant = self._read(coverage.root)
        if grant is None:
            return Trust(TrustState.NEVER, coverage)
        if grant.digest == coverage.digest:
            return Trust(TrustState.TRUSTED, coverage)
        names = sorted(grant.files.keys() | coverage.files.keys())
        changed = tuple(name for name in names if grant.files.get(name) != coverage.files.get(name))
        return Trust(TrustState.CHANGED, coverage, changed)

    def grant(self, coverage: Coverage, now_us: int) -> None:
        self._private()
        for name, digest in coverage.files.items():
            content = (Path(coverage.root) / name).read_bytes()
            if len(content) <= MOST_KEPT:
                _write(self.directory / "kept" / digest, content)
        grant = Grant(root=coverage.root, digest=coverage.digest, files=coverage.files, granted_us=now_us)
        _write(self._path(coverage.root), msgspec.json.encode(grant))

    def revoke(self, root: str) -> bool:
        """Whether there was anything to take back."""
        path = self._path(root)
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed

    def difference(self, trust: Trust) -> str:
        """What changed since the workspace was trusted, as a unified diff where the old text was kept."""
        grant = self._read(trust.coverage.root)
        return "\n".join(self._one_difference(grant, trust.coverage.root, name) for name in trust.changes if grant)

    def _one_difference(self, grant: Grant | None, root: str, name: str) -> str:
        old = self.directory / "kept" / (grant.files.get(name, "-") if grant else "-")
        new = Path(root) / name
        before = old.read_text("utf-8", "replace").splitlines() if old.is_file() else []
        after = new.read_text("utf-8", "replace").splitlines() if new.is_file() else []
        lines = unified_diff(before, after, f"trusted/{name}", f"now/{name}", lineterm="")
        return "\n".join(lines) or f"{name}: its mode changed"

    def _read(self, root: str) -> Grant | None:
        """A grant that cannot be read is no grant."""
        try:
            grant = msgspec.json.decode(self._path(root).read_bytes(), type=Grant)
        except (OSError, msgspec.DecodeError):
            return None
        return grant if grant.schema == SCHEMA and grant.root == root else None

    def _path(self, root: str) -> Path:
        return self.directory / f"{hashlib.sha256(root.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"

    def _private(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.directory / "kept").mkdir(mode=0o700, exist_ok=True)


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
