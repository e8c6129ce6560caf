"""Commits to a branch that is not checked out, with git plumbing only.

The repository's configuration runs nothing: no hooks, filters, monitors or helpers. Nothing is fetched, and the user's
index, HEAD and files are never written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.builtin.workspace import CommandResult, run_command
from trotline.domain.errors import TrotlineError
from trotline.system.files import read_file

TIMEOUT_SECONDS = 20.0
NOT_IGNORED = 1
"""The exit code of `git check-ignore` if no path is ignored."""

SAFE_SETTINGS = {
    "core.hooksPath": "/dev/null",  # plumbing runs reference-transaction and post-index-change too
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "false",
    "core.askPass": "false",
    "core.editor": "false",
    "core.pager": "cat",
    "credential.helper": "",
    "commit.gpgSign": "false",
    "diff.external": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
"""Values that disable settings which run programs; on the command line they override every configuration file."""

SAFE_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object is not fetched, whatever the repository configures
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}

AUTHOR = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "agent"), ("EMAIL", "agent@localhost"))
}
"""The author of commits: an agent, and not the user."""


class Repository:
    """A git work tree with a separate index."""

    def __init__(self, top: Path, index: Path, environ: Mapping[str, str]) -> None:
        self.top = top
        inherited = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self.environ = {**inherited, **SAFE_ENVIRONMENT, "GIT_INDEX_FILE": str(index)}

    def run(self, *argv: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> str:
        """Return the output of a git command; raise if it fails."""
        result = self._run_git(argv, stdin, environ or {})
        if result.exit_code:
            raise _build_error(argv[0], result)
        return result.stdout.rstrip("\n")

    def query(self, *argv: str) -> str:
        """Return the output of a git command, or an empty text if it fails."""
        result = self._run_git(argv, b"", {})
        return "" if result.exit_code else result.stdout.rstrip("\n")

    def find_ignored(self, names: Sequence[str]) -> set[str]:
        """Return those of these names, relative to the top, that git ignores."""
        stdin = "".join(f"./{name}\0" for name in names).encode("utf-8", "surrogateescape")
        result = self._run_git(("check-ignore", "-z", "--stdin"), stdin, {})
        if result.exit_code not in {0, NOT_IGNORED}:
            raise _build_error("check-ignore", result)
        return {name.removeprefix("./") for name in result.raw_stdout.decode("utf-8", "surrogateescape").split("\0")}

    def _run_git(self, argv: tuple[str, ...], stdin: bytes, environ: Mapping[str, str]) -> CommandResult:
        settings = [word for name, value in SAFE_SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command = ("git", "--no-pager", "--no-replace-objects", *settings, *argv)
        result = run_command(command, self.top, {**self.environ, **environ}, TIMEOUT_SECONDS, stdin)
        if result.timed_out:
            raise TrotlineError(f"`git {argv[0]}` did not end within {TIMEOUT_SECONDS:g} seconds")
        return result


class CommitFile(NamedTuple):
    """A file of a commit; without data the commit deletes it."""

    name: str
    data: bytes | None = None
    is_executable: bool = False

    @property
    def mode(self) -> str:
        """The file mode for git."""
        return "100755" if self.is_executable else "100644"


class Branch:
    """A branch of a repository, ready for its next commit."""

    def __init__(self, repository: Repository, name: str) -> None:
        self.repository = repository
        self.ref = f"refs/heads/{name}"
        self.tip = repository.query("rev-parse", "--verify", "--quiet", f"{self.ref}^{{commit}}")
        self.parent = self.tip or repository.query("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        repository.run("read-tree", *([self.parent] if self.parent else ["--empty"]))

    def filter_ignored(self, paths: Sequence[Path]) -> list[Path]:
        """Return the paths that git does not ignore. Files that are on the branch already are never ignored."""
        names = [path.relative_to(self.repository.top).as_posix() for path in paths]
        ignored = self.repository.find_ignored(names)
        return [path for path, name in zip(paths, names, strict=True) if name not in ignored]

    def commit(self, files: Sequence[CommitFile], message: str) -> None:
        """Commit these files, unless nothing changed."""
        git = self.repository
        if f"branch {self.ref}" in git.run("worktree", "list", "--porcelain").splitlines():
            raise TrotlineError(f"`{self.ref}` is checked out, so nothing is committed to it")
        git.run("update-index", "-z", "--index-info", stdin=b"".join(map(self._build_entry, files)))
        tree = git.run("write-tree")
        if self.parent and tree == git.run("rev-parse", "--verify", f"{self.parent}^{{tree}}"):
            return
        parents = ["-p", self.parent] if self.parent else []
        text = message.encode("utf-8", "replace")
        commit = git.run("commit-tree", tree, *parents, "-F", "-", stdin=text, environ=AUTHOR)
        # With the old tip named, this fails if another process moved the branch.
        git.run("update-ref", "--no-deref", self.ref, commit, self.tip, environ=AUTHOR)

    def _build_entry(self, file: CommitFile) -> bytes:
        """Build a line for `git update-index --index-info`."""
        name = file.name.encode("utf-8", "surrogateescape")
        if file.data is None:
            return b"0 %s\t%s\0" % (b"0" * len(self.parent), name) if self.parent else b""
        blob = self.repository.run("hash-object", "-w", "-t", "blob", "--stdin", stdin=file.data)
        return b"%s %s\t%s\0" % (file.mode.encode(), blob.encode(), name)


def find_work_tree(directory: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the top of the work tree that contains a directory; None if there is none."""
    git = Repository(directory, Path("/dev/null"), environ)
    top, git_directory = (git.query("rev-parse", word) for word in ("--show-toplevel", "--absolute-git-dir"))
    if not top or not git_directory:
        return None
    return Path(top) if _owns_work_tree(git, Path(git_directory).resolve(), Path(top)) else None


def _owns_work_tree(git: Repository, git_directory: Path, top: Path) -> bool:
    """Return whether a git directory outside the work tree refers to it: a `.git` file can name any repository."""
    if git_directory.is_relative_to(top):
        return True
    configured = git.query("config", "--local", "core.worktree")
    try:
        linked = read_file(git_directory / "gitdir").decode().strip()
    except (OSError, ValueError):
        linked = ""
    work_trees = [git_directory / configured] * bool(configured) + [Path(linked).parent] * bool(linked)
    return any(path.resolve() == top for path in work_trees)


def _build_error(subcommand: str, result: CommandResult) -> TrotlineError:
    return TrotlineError(f"`git {subcommand}` ended with {result.exit_code}: {result.stderr.strip()[:300]}")
