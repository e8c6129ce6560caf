"""A branch that is written without being checked out: blobs, a tree and a commit, and the name put on it last."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.errors import TrotlineError
from trotline.ready.git import Repository

IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "agent"), ("EMAIL", "agent@localhost"))
}
"""Commits say that an agent made them; the person's name is the person's."""


class File(NamedTuple):
    """A file as it is to be in a commit; without data it is gone."""

    name: str
    data: bytes | None = None
    runs: bool = False

    @property
    def mode(self) -> str:
        return "100755" if self.runs else "100644"


class Branch:
    """A branch of this repository, and the commit that comes next on it."""

    def __init__(self, repository: Repository, name: str) -> None:
        self.repository = repository
        self.ref = f"refs/heads/{name}"
        self.tip = repository.finds("rev-parse", "--verify", "--quiet", f"{self.ref}^{{commit}}")
        self.parent = self.tip or repository.finds("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        repository.says("read-tree", *([self.parent] if self.parent else ["--empty"]))

    def wanted(self, paths: Sequence[Path]) -> list[Path]:
        """Those that git does not ignore; what is on the branch already is not ignored any more."""
        names = [path.relative_to(self.repository.top).as_posix() for path in paths]
        ignored = self.repository.ignored(names)
        return [path for path, name in zip(paths, names, strict=True) if name not in ignored]

    def commit(self, files: Sequence[File], message: str) -> None:
        """One commit with these files as they are, unless nothing changed."""
        git = self.repository
        if f"branch {self.ref}" in git.says("worktree", "list", "--porcelain").splitlines():
            raise TrotlineError(f"`{self.ref}` is checked out, so nothing is committed to it")
        git.says("update-index", "-z", "--index-info", given=b"".join(map(self._entry, files)))
        tree = git.says("write-tree")
        if self.parent and tree == git.says("rev-parse", "--verify", f"{self.parent}^{{tree}}"):
            return
        parents = ["-p", self.parent] if self.parent else []
        made = git.says(
            "commit-tree", tree, *parents, "-F", "-", given=message.encode("utf-8", "replace"), environ=IDENTITY
        )
        git.says(
            "update-ref", "--no-deref", self.ref, made, self.tip, environ=IDENTITY
        )  # fails if somebody was quicker

    def _entry(self, file: File) -> bytes:
        name = file.name.encode("utf-8", "surrogateescape")
        if file.data is None:
            return b"0 %s\t%s\0" % (b"0" * len(self.parent), name) if self.parent else b""
        blob = self.repository.says("hash-object", "-w", "-t", "blob", "--stdin", given=file.data)
        return b"%s %s\t%s\0" % (file.mode.encode(), blob.encode(), name)
