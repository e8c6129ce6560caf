"""Git, told what to do in plumbing only, and told nothing by the repository: no hooks, filters, monitors or helpers of
its configuration are run, nothing is fetched, and the person's index, HEAD and files are never written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from trotline.config.files import content
from trotline.errors import TrotlineError
from trotline.ready.commands import Ran, ran

SECONDS = 20.0
NOTHING = 1

QUIET = {
    "core.hooksPath": "/dev/null",  # reference-transaction and post-index-change belong to plumbing too
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
"""What a repository could have run in its name, set to nothing on every command line, which counts most."""

ALONE = {
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object is not fetched, however the repository says that it could be
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


class Repository:
    """One repository, seen from its top, with an index of our own."""

    def __init__(self, top: Path, index: Path, environ: Mapping[str, str]) -> None:
        self.top = top
        clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self.environ = {**clean, **ALONE, "GIT_INDEX_FILE": str(index)}

    def says(self, *argv: str, given: bytes = b"", environ: Mapping[str, str] | None = None) -> str:
        """What git prints; an error that names the command when it fails."""
        done = self._git(argv, given, environ or {})
        if done.code:
            raise TrotlineError(f"`git {argv[0]}` ended with {done.code}: {done.stderr.strip()[:300]}")
        return done.stdout.rstrip("\n")

    def finds(self, *argv: str) -> str:
        """The same, with nothing for what is not there."""
        done = self._git(argv, b"", {})
        return "" if done.code else done.stdout.rstrip("\n")

    def ignored(self, names: Sequence[str]) -> set[str]:
        """Those of these names, from the top, that git would not add."""
        given = "".join(f"./{name}\0" for name in names).encode("utf-8", "surrogateescape")
        done = self._git(("check-ignore", "-z", "--stdin"), given, {})
        if done.code not in {0, NOTHING}:
            raise TrotlineError(f"`git check-ignore` ended with {done.code}: {done.stderr.strip()[:300]}")
        return {name.removeprefix("./") for name in done.raw.decode("utf-8", "surrogateescape").split("\0")}

    def _git(self, argv: tuple[str, ...], given: bytes, environ: Mapping[str, str]) -> Ran:
        settings = [word for name, value in QUIET.items() for word in ("-c", f"{name}={value}")]
        command = ("git", "--no-pager", "--no-replace-objects", *settings, *argv)
        done = ran(command, self.top, {**self.environ, **environ}, SECONDS, given)
        if done.late:
            raise TrotlineError(f"`git {argv[0]}` did not end within {SECONDS:g} seconds")
        return done


def top_of(directory: Path, environ: Mapping[str, str]) -> Path | None:
    """The top of the work tree that a directory is in; None where there is none."""
    git = Repository(directory, Path("/dev/null"), environ)
    top, inner = (git.finds("rev-parse", word) for word in ("--show-toplevel", "--absolute-git-dir"))
    if not top or not inner:
        return None
    return Path(top) if _knows(git, Path(inner).resolve(), Path(top)) else None


def _knows(git: Repository, inner: Path, top: Path) -> bool:
    """Whether a repository elsewhere knows of this work tree: anybody can write a `.git` that names somebody's."""
    if inner.is_relative_to(top):
        return True
    named = git.finds("config", "--local", "core.worktree")
    try:
        linked = content(inner / "gitdir")[0].decode().strip()
    except (OSError, ValueError):
        linked = ""
    back = [inner / named] * bool(named) + [Path(linked).parent] * bool(linked)
    return any(path.resolve() == top for path in back)
