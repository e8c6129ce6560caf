"""The sides of a difference: a policy file, a hooks file, a directory or a revision, each as the files it holds."""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from trotline.config.files import content
from trotline.config.places import CONFIG, Roots
from trotline.config.trust import LARGEST_FILE, MOST_FILES, TREES
from trotline.errors import TrotlineError
from trotline.hooks import LayerKind
from trotline.replay.repository import FILES, Revision, known_by

LINK = "120000"

POLICY, HOOKS, CLAUDE = "policy", "hooks", "claude"
PROJECT_FILES = {POLICY: ".trotline/policy.toml", HOOKS: ".cursor/hooks.json", CLAUDE: ".claude/settings.json"}
PROJECT, USER = "project", "user"
KINDS = {
    (PROJECT, HOOKS): LayerKind.PROJECT,
    (PROJECT, CLAUDE): LayerKind.CLAUDE_PROJECT,
    (USER, HOOKS): LayerKind.USER,
    (USER, CLAUDE): LayerKind.CLAUDE_USER,
}


class Side(NamedTuple):
    """What it was called, whose configuration it is if its place says that, and the content of each of its files; None
    for one that is not there."""

    name: str
    layer: str
    files: Mapping[str, bytes | None]
    scripts: Mapping[str, frozenset[str]] | None = None  # what is beside hooks.json, by what contents are known

    def place(self, part: str) -> str:
        """What a person knows one of its files by."""
        return f"{self.name}:{PROJECT_FILES[part]}" if len(self.files) > 1 else self.name


def side(name: str, roots: Roots, environ: Mapping[str, str]) -> Side:
    """What is there under this name; whatever is no path is a revision."""
    path = Path(name)
    if path.is_dir():
        return _directory(path, roots)
    if path.exists():
        return _file(path)
    project = roots.projects[0]
    revision = Revision(project, name, environ)
    return Side(name, PROJECT, _read(revision.content, PROJECT_FILES), revision.scripts(TREES))


def working_tree(roots: Roots) -> Side:
    """The project as it is now."""
    return _directory(roots.projects[0], roots)._replace(name="the working tree")


def _directory(path: Path, roots: Roots) -> Side:
    """A home has our configuration in it; any other directory is a project."""
    own = f"{CONFIG[roots.platform]}/policy.toml"
    is_home = path.resolve() == roots.home or (path / own).exists()
    files = {**PROJECT_FILES, POLICY: own} if is_home else PROJECT_FILES
    read = _read(lambda file: _content(path / file), files)
    return Side(str(path), USER if is_home else PROJECT, read, _scripts(path))


def _scripts(root: Path) -> dict[str, frozenset[str]]:
    found = [
        path for tree in TREES for path in sorted((root / tree).rglob("*")) if not path.is_dir() or path.is_symlink()
    ]
    if len(found) > MOST_FILES:
        raise TrotlineError(f"the hook directories of `{root}` hold more than {MOST_FILES} files")
    return {str(path.relative_to(root)): _known(path) for path in found}


def _known(path: Path) -> frozenset[str]:
    """A link by where it leads, as repositories do; a file that cannot be read is like no other."""
    try:
        if path.is_symlink():
            return frozenset(
                name.replace(FILES[0], LINK) for name in known_by(os.fsencode(path.readlink()), executable=False)
            )
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            return frozenset({f"{status.st_size} bytes"})
        return known_by(path.read_bytes(), executable=bool(status.st_mode & stat.S_IXUSR))
    except OSError as error:
        return frozenset({error.strerror or "unreadable"})


def _file(path: Path) -> Side:
    part = POLICY
    if path.suffix == ".json":
        part = CLAUDE if path.name.startswith("settings") else HOOKS
    in_project = path.parent.name in {".trotline", ".cursor", ".claude"}
    return Side(str(path), PROJECT if in_project else "", {part: _content(path)})


def _read(read: Callable[[str], bytes | None], files: Mapping[str, str]) -> dict[str, bytes | None]:
    return {part: read(file) for part, file in files.items()}


def _content(file: Path) -> bytes | None:
    try:
        return content(file)[0]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TrotlineError(f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}") from None
