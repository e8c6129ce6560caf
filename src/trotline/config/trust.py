"""Trust in workspaces: anyone who can commit to a repository can write hooks, so they run only after consent.

Trust is bound to content: the bytes of the configuration, every file of the workspace that a command names, and the
whole `.cursor/hooks` and `.claude/hooks` trees. It ends with the first changed byte. Other things that a command uses
(programs on the PATH, imports of scripts) are not covered, and the consent text lists them.
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

from trotline.config.hooks_json.configuration import LayerRead, compute_file_digest
from trotline.config.hooks_json.hook_commands import expand_word
from trotline.config.paths import Roots
from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Hook
from trotline.system.files import ensure_private_directory, read_file, read_file_and_mode, replace_file

SCHEMA = "trotline.trust/1"
CONFIGURATION = (".cursor/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
TREES = (".cursor/hooks", ".claude/hooks")
MAX_FILES = 5_000
MAX_WORDS = 400
MAX_FILE_BYTES = 64_000_000
MAX_UNCACHED = 1_000_000
MAX_COPY = 262_144
"""The size up to which contents are stored with the digest, so that a change can be shown."""

SEPARATORS = re.compile(r"""[\s;&|<>()`'"=]++""")
"""The separators of words in a command, including quotes and operators."""


class TrustState(StrEnum):
    """The state of trust in a workspace."""

    TRUSTED = "trusted"
    NEVER = "never trusted"
    CHANGED = "changed since it was trusted"
    UNUSABLE = "cannot be covered"


class TrustCoverage(msgspec.Struct, frozen=True):
    """The content that trust in a workspace covers: digests of files by path, and names of uncovered parts."""

    root: str
    files: dict[str, str]
    not_covered: tuple[str, ...] = ()
    problem: str = ""

    @property
    def digest(self) -> str:
        """The SHA-256 digest of all paths and file digests, as hexadecimal text."""
        text = json.dumps(sorted(self.files.items()), separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Trust(msgspec.Struct, frozen=True):
    """A decision whether the hooks of a workspace may run, and the files that changed."""

    state: TrustState
    coverage: TrustCoverage
    changes: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The text for the user why hooks of the workspace do not run. Only meaningful if they do not."""
        if self.state is TrustState.CHANGED:
            return f"the workspace changed since it was trusted: {', '.join(self.changes[:5])}"
        if self.state is TrustState.UNUSABLE:
            return f"the workspace cannot be trusted: {self.coverage.problem}"
        return "the workspace is not trusted"


class Grant(msgspec.Struct, kw_only=True):
    """A stored consent to the content of a workspace."""

    schema: str = SCHEMA
    root: str
    digest: str
    files: dict[str, str]
    granted_us: int = 0


class Digests:
    """Digests of files. Those of large files are cached until the status of the file changes.

    Small files are always read, because a write through shared memory changes no time stamp.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def compute(self, path: Path) -> str:
        """Return the digest of a file and its executable bit; raise OSError if it is too large."""
        status = path.stat()
        if status.st_size <= MAX_UNCACHED:
            return compute_file_digest(*read_file_and_mode(path, MAX_FILE_BYTES))
        if status.st_size > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, "too large to be covered", str(path))
        signature = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(str(path))
        if known is None or known[0] != signature:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            known = (signature, f"{digest}{'x' if status.st_mode & 0o111 else '-'}")
            self._known[str(path)] = known
        return known[1]


def build_coverage(root: Path, layer_reads: Iterable[LayerRead], roots: Roots, digests: Digests) -> TrustCoverage:
    """Return the coverage of a workspace: all its files that its hooks are known to use.

    Configuration files count with the bytes that were read before, not with their current content.
    """
    own_layers = [
        layer_read
        for layer_read in layer_reads
        if layer_read.layer.root == str(root) and layer_read.layer.kind.needs_trust
    ]
    hooks = [hook for layer_read in own_layers for hook in layer_read.hooks]
    not_covered: list[str] = []
    oversized_hook = next((hook for hook in hooks if len(_split_command(hook)) > MAX_WORDS), None)
    if oversized_hook is not None:
        return _fail_coverage(root, f"a command of `{oversized_hook.event}` has more than {MAX_WORDS} words")
    try:
        paths = list(islice(_list_fixed_files(root), MAX_FILES + 1))
        if len(paths) > MAX_FILES:
            return _fail_coverage(root, f"its hook directories hold more than {MAX_FILES} files")
        named = {_format_path(path, root): path for path in paths}
        for word, file in (pair for hook in hooks for pair in _find_files(hook, roots)):
            if file is not None and _is_file(file) and _is_inside(file, root):
                named[_format_path(file, root)] = file
            elif file is None or _format_path(file, root) not in named:
                not_covered.append(word)
        # of directories only links are listed: they have no content, so their target stands for it
        links = {name: f"link to {path.readlink()}" for name, path in named.items() if path.is_dir()}
        files = {name: digests.compute(path) for name, path in sorted(named.items()) if name not in links}
    except (OSError, RuntimeError) as error:
        where = getattr(error, "filename", None) or root
        return _fail_coverage(root, f"{where}: {describe_os_error(error)}")
    for layer_read in own_layers:
        if layer_read.digest:
            files[_format_path(Path(layer_read.layer.file), root)] = layer_read.digest
    not_covered += [f"{name}, a linked directory" for name in links if not _is_inside(named[name], root)]
    return TrustCoverage(str(root), {**files, **links}, tuple(dict.fromkeys(not_covered)))


def _fail_coverage(root: Path, problem: str) -> TrustCoverage:
    """Return the coverage of a workspace that cannot be covered; it is never trusted."""
    return TrustCoverage(str(root), {}, (), problem)


def _is_inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for a path that is not accessible


def _format_path(path: Path, root: Path) -> str:
    """Return the path relative to the root, as text that can be stored and shown for any bytes."""
    return os.fsencode(os.path.relpath(path, root)).decode("utf-8", "backslashreplace")


def _list_fixed_files(root: Path) -> Iterator[Path]:
    """Yield the files that are always covered: configuration, files in hook directories, and links in them.

    Linked directories are walked too if they are inside the workspace.
    """
    yield from (root / name for name in CONFIGURATION if (root / name).is_file())
    waiting = [root / tree for tree in TREES]
    seen: set[Path] = set()
    for top in waiting:  # grows during the loop
        if top.resolve() in seen:
            continue
        seen.add(top.resolve())
        for directory, directories, files in os.walk(top):
            yield from (Path(directory) / file for file in files if _is_file(Path(directory) / file))
            links = [path for name in directories if (path := Path(directory) / name).is_symlink()]
            yield from links
            waiting += [link for link in links if _is_inside(link, root)]


def _split_command(hook: Hook) -> list[str]:
    """Return the words of a command, and the parts between quotes and operators."""
    try:
        words = shlex.split(hook.command)
    except ValueError:
        words = hook.command.split()
    return list(dict.fromkeys([*words, *SEPARATORS.split(hook.command)]))


def _find_files(hook: Hook, roots: Roots) -> Iterator[tuple[str, Path | None]]:
    """Yield every part of a command that may be a file, with its path.

    The path may not exist; it is None if the word cannot be resolved. Paths are relative to the root, to the directory
    of the hooks file (where old editions ran commands), or to a directory that the command names.
    """
    words = _split_command(hook)
    expanded = {word: path for word in words if (path := expand_word(word, hook, roots))}
    bases = [Path(hook.layer.root), Path(hook.layer.file).parent]
    named = [base / path for base in bases for path in expanded.values()]
    bases += [path for path in named if os.path.isdir(path)]  # noqa: PTH112 - Path.is_dir raises, as above
    for position, word in enumerate(words):
        candidates = [base / expanded[word] for base in bases] if word in expanded else []
        files = [path for path in dict.fromkeys(candidates) if _is_file(path)]
        yield from ((word, path) for path in files)
        if not files and (("/" in word and " " not in word) or position == 0):
            yield word, candidates[0] if candidates else None


class TrustStore:
    """Grants, stored outside of workspaces in one file each; `accepted` holds digests from the command line."""

    def __init__(self, directory: Path, accepted: Iterable[str] = ()) -> None:
        self.directory = directory
        self.accepted = frozenset(accepted)

    def judge(self, coverage: TrustCoverage) -> Trust:
        """Return whether this content is trusted, and the changed files if it is not."""
        if coverage.problem:
            return Trust(TrustState.UNUSABLE, coverage)
        if coverage.digest in self.accepted:
            return Trust(TrustState.TRUSTED, coverage)
        grant = self._read_grant(coverage.root)
        if grant is None:
            return Trust(TrustState.NEVER, coverage)
        if grant.digest == coverage.digest:
            return Trust(TrustState.TRUSTED, coverage)
        names = sorted(grant.files.keys() | coverage.files.keys())
        changed = tuple(name for name in names if grant.files.get(name) != coverage.files.get(name))
        return Trust(TrustState.CHANGED, coverage, changed)

    def grant(self, coverage: TrustCoverage, now_us: int) -> None:
        """Store a grant, and copies of small files for later diffs."""
        ensure_private_directory(self.directory)
        ensure_private_directory(self._copies)
        for name, digest in coverage.files.items():
            try:
                copy = read_file(Path(coverage.root) / name, MAX_COPY)
            except OSError:
                continue
            replace_file(self._copies / digest, copy)
        grant = Grant(root=coverage.root, digest=coverage.digest, files=coverage.files, granted_us=now_us)
        replace_file(self._get_grant_file(coverage.root), msgspec.json.encode(grant))

    def revoke(self, root: str) -> bool:
        """Remove the grant of a workspace. Return whether there was one."""
        path = self._get_grant_file(root)
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed

    def build_diff(self, trust: Trust) -> str:
        """Return a unified diff of the changes since the workspace was trusted, for files whose old text was stored."""
        grant = self._read_grant(trust.coverage.root)
        return "\n".join(self._build_file_diff(grant, name) for name in trust.changes) if grant else ""

    def _build_file_diff(self, grant: Grant, name: str) -> str:
        files = (self._copies / grant.files.get(name, "-"), Path(grant.root) / name)
        before, after = (_read_text(file).splitlines() for file in files)
        lines = unified_diff(before, after, f"trusted/{name}", f"now/{name}", lineterm="")
        return "\n".join(lines) or f"{name}: its mode changed"

    def _read_grant(self, root: str) -> Grant | None:
        """Return the stored grant; None if there is none or it cannot be read."""
        grant = _read_grant_file(self._get_grant_file(root))
        return grant if grant is not None and grant.root == root else None

    def list_damaged(self) -> list[Path]:
        """Return the files that are not valid grants; their workspaces are not trusted."""
        return [path for path in sorted(self.directory.glob("*.json")) if _read_grant_file(path) is None]

    def _get_grant_file(self, root: str) -> Path:
        return self.directory / f"{hashlib.sha256(root.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"

    @property
    def _copies(self) -> Path:
        return self.directory / "copies"


def _read_grant_file(path: Path) -> Grant | None:
    try:
        grant = msgspec.json.decode(path.read_bytes(), type=Grant)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return grant if grant.schema == SCHEMA else None


def _read_text(file: Path) -> str:
    """Return a file's text; empty if it is missing or cannot be read."""
    try:
        return read_file(file, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
