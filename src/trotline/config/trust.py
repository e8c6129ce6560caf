"""Trust: whoever can commit to a repository can write hooks, so a project's hooks run only after a person said so.

Trust is bound to content: the configuration's bytes, every file of the workspace that a command names, and the whole
`.cursor/hooks` and `.claude/hooks` trees. One changed byte, and it is gone. What else a command uses (programs on the
PATH, what scripts import) is not covered, and the consent text lists it.
"""

import errno
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from enum import StrEnum
from itertools import islice
from pathlib import Path

import msgspec

from trotline.config.commands import expand
from trotline.config.configuration import LayerRead, digest_of
from trotline.config.files import content
from trotline.config.places import Roots, private_directory
from trotline.config.whole_file import put
from trotline.hooks import Hook

SCHEMA = "trotline.trust/1"
CONFIGURATION = (".cursor/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
TREES = (".cursor/hooks", ".claude/hooks")
MOST_FILES = 5_000
LARGEST_FILE = 64_000_000
ALWAYS_READ = 1_000_000
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
    """Digests of files. Those of large ones are taken again only when the file may have changed; small ones always,
    because a write through shared memory shows in no time stamp."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def of(self, path: Path) -> str:
        status = path.stat()
        if status.st_size <= ALWAYS_READ:
            return digest_of(*content(path, LARGEST_FILE))
        if status.st_size > LARGEST_FILE:
            raise OSError(errno.EFBIG, "too large to be covered", str(path))
        signature = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(str(path))
        if known is None or known[0] != signature:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            known = (signature, f"{digest}{'x' if status.st_mode & 0o111 else '-'}")
            self._known[str(path)] = known
        return known[1]


def coverage_of(root: Path, reads: Iterable[LayerRead], roots: Roots, digests: Digests) -> Coverage:
    """Everything of this workspace that its hooks are known to use; configuration as it was read, not as it is now."""
    reads = [read for read in reads if read.layer.kind.needs_trust and read.layer.root == str(root)]
    not_covered: list[str] = []
    crowded = next((hook for read in reads for hook in read.hooks if len(_pieces(hook)) > MOST_WORDS), None)
    if crowded is not None:
        return Coverage(str(root), {}, (), f"a command of `{crowded.event}` has more than {MOST_WORDS} words")
    try:
        found = list(islice(_always(root), MOST_FILES + 1))
        if len(found) > MOST_FILES:
            return Coverage(str(root), {}, (), f"its hook directories hold more than {MOST_FILES} files")
        named = {_name(path, root): path for path in found}
        for word, file in (pair for read in reads for hook in read.hooks for pair in _words(hook, roots)):
            if file is not None and _is_file(file) and file.resolve().is_relative_to(root.resolve()):
                named[_name(file, root)] = file
            elif file is None or _name(file, root) not in named:
                not_covered.append(word)
        links = {name: f"link to {path.readlink()}" for name, path in named.items() if path.is_dir()}
        files = {name: digests.of(path) for name, path in sorted(named.items()) if name not in links}
    except (OSError, RuntimeError) as error:
        where = getattr(error, "filename", None) or root
        return Coverage(str(root), {}, (), f"{where}: {(getattr(error, 'strerror', '') or str(error)).lower()}")
    files |= {_name(Path(read.layer.file), root): read.digest for read in reads if read.digest}
    not_covered += [f"{name}, a linked directory" for name in links if not _leads_inside(named[name], root)]
    return Coverage(str(root), {**files, **links}, tuple(dict.fromkeys(not_covered)))


def _leads_inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _name(path: Path, root: Path) -> str:
    """The path from the root, in text that can be stored and shown whatever bytes it is made of."""
    return os.fsencode(os.path.relpath(path, root)).decode("utf-8", "backslashreplace")


def _always(root: Path) -> Iterator[Path]:
    """The configuration, the files of the hook directories, links in them to other directories, and all that is there
    in the same way, as long as it is in the workspace."""
    for name in CONFIGURATION:
        if (root / name).is_file():
            yield root / name
    waiting = [root / tree for tree in TREES]
    seen: set[Path] = set()
    for top in waiting:  # grows while it is walked
        if top.resolve() in seen:
            continue
        seen.add(top.resolve())
        for directory, directories, files in os.walk(top):
            yield from (Path(directory) / file for file in files if _is_file(Path(directory) / file))
            links = [path for one in directories if (path := Path(directory) / one).is_symlink()]
            yield from links
            waiting += [link for link in links if _leads_inside(link, root)]


def _pieces(hook: Hook) -> list[str]:
    """The words of a command, and what stands between quotes and operators."""
    try:
        words = shlex.split(hook.command)
    except ValueError:
        words = hook.command.split()
    return list(dict.fromkeys([*words, *PIECES.split(hook.command)]))


def _words(hook: Hook, roots: Roots) -> Iterator[tuple[str, Path | None]]:
    """Whatever in a command may be a file: its pieces, from the root, from beside the file (where old editions ran it),
    and from every directory that the command names."""
    pieces = _pieces(hook)
    expanded = {word: path for word in pieces if (path := expand(word, hook, roots))}
    bases = [Path(hook.layer.root), Path(hook.layer.file).parent]
    named = [base / path for base in bases for path in expanded.values() if _is_directory(base / path)]
    for position, word in enumerate(pieces):
        candidates = [base / expanded[word] for base in [*bases, *named]] if word in expanded else []
        files = [path for path in dict.fromkeys(candidates) if _is_file(path)]
        yield from ((word, path) for path in files)
        if not files and (("/" in word and " " not in word) or position == 0):
            yield word, candidates[0] if candidates else None


MOST_WORDS = 400
PIECES = re.compile(r"""[\s;&|<>()`'"=]++""")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _bytes(path: Path, most: int = LARGEST_FILE) -> bytes | None:
    """What stands in a file; nothing of what is larger, or none."""
    try:
        return content(path, most)[0]
    except OSError:
        return None


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


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
            kept = _bytes(Path(coverage.root) / name, MOST_KEPT)
            if kept is not None:
                put(self.directory / "kept" / digest, kept)
        grant = Grant(root=coverage.root, digest=coverage.digest, files=coverage.files, granted_us=now_us)
        put(self._path(coverage.root), msgspec.json.encode(grant))

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
        before, after = ((_bytes(one) or b"").decode("utf-8", "replace").splitlines() for one in (old, new))
        lines = unified_diff(before, after, f"trusted/{name}", f"now/{name}", lineterm="")
        return "\n".join(lines) or f"{name}: its mode changed"

    def _read(self, root: str) -> Grant | None:
        """A grant that cannot be read is no grant."""
        try:
            grant = msgspec.json.decode(self._path(root).read_bytes(), type=Grant)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return grant if grant.schema == SCHEMA and grant.root == root else None

    def damaged(self) -> list[Path]:
        """Files that nobody can read as grants; the workspaces that they were for are not trusted."""
        return [path for path in sorted(self.directory.glob("*.json")) if not _is_grant(path)]

    def _path(self, root: str) -> Path:
        return self.directory / f"{hashlib.sha256(root.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"

    def _private(self) -> None:
        private_directory(self.directory)
        private_directory(self.directory / "kept")


def _is_grant(path: Path) -> bool:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Grant).schema == SCHEMA
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
