"""Files of a project at a revision, read out of its repository. Nothing is checked out, fetched or run: a repository is
somebody else's, and so is its configuration.
"""

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from trotline.config.jsonc_reader import MOST_BYTES
from trotline.errors import TrotlineError

QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
FILES = ("100644", "100755")
"""Modes of what is a file; a link leads where nobody asked."""

SECONDS = 30


def known_by(data: bytes, *, executable: bool) -> frozenset[str]:
    """By what repositories know a content, the older and the newer way, with its mode."""
    whole = b"blob %d\0%s" % (len(data), data)
    names = (hashlib.sha1(whole, usedforsecurity=False), hashlib.sha256(whole))
    return frozenset(f"{name.hexdigest()} {FILES[executable]}" for name in names)


class Revision:
    """A project as of a commit."""

    def __init__(self, project: Path, name: str, environ: Mapping[str, str]) -> None:
        self.project = project
        self.environ = {key: value for key, value in environ.items() if not key.startswith("GIT_")} | QUIET
        self.commit = self._commit(name)
        self.prefix = self._git("rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip("\n")

    def content(self, path: str) -> bytes | None:
        """What stands in a file of the project there; None if there is none."""
        listed = self._git("ls-tree", "--full-tree", "-z", self.commit, "--", self.prefix + path)
        found = listed.partition(b"\t")[0].decode().split()
        if not found or found[0] not in FILES:
            return None
        size = int(self._git("cat-file", "-s", found[2]))
        if size > MOST_BYTES:
            raise TrotlineError(f"`{path}` of `{self.commit[:12]}` is {size} bytes, and no such file is that large")
        return self._git("cat-file", "blob", found[2])

    def scripts(self, trees: Sequence[str]) -> dict[str, frozenset[str]]:
        """Every file below these directories, and by what its content is known."""
        below = [self.prefix + tree for tree in trees]
        listed = self._git("ls-tree", "--full-tree", "-r", "-z", self.commit, "--", *below)
        rows = [row.partition(b"\t") for row in listed.split(b"\0") if row]
        return {
            path.decode("utf-8", "backslashreplace").removeprefix(self.prefix): frozenset({f"{words[2]} {words[0]}"})
            for words, path in ((head.decode().split(), path) for head, _, path in rows)
        }

    def _commit(self, name: str) -> str:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        found = self._run(*words)
        if found.returncode:
            hint = "a policy file, a directory, or a revision of the project's repository"
            raise TrotlineError(f"`{name}` is neither a file nor a revision of `{self.project}`", hint=hint)
        return found.stdout.decode().strip()

    def _git(self, *words: str) -> bytes:
        done = self._run(*words)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise TrotlineError(f"git could not read `{self.project}`: {said[-1] if said else 'it gave no reason'}")
        return done.stdout

    def _run(self, *words: str) -> "subprocess.CompletedProcess[bytes]":
        argv = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-C", str(self.project), *words]
        try:
            return subprocess.run(  # noqa: S603 - words of ours, and one that git is told is a revision
                argv,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise TrotlineError("there is no git here to read a revision with", hint="name two directories") from None
        except subprocess.TimeoutExpired:
            raise TrotlineError(f"git took more than {SECONDS} seconds to read `{self.project}`") from None
