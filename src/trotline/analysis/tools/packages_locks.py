"""Locks and settings of package managers: where packages come from, in the words of the files themselves."""

import posixpath
import re
from collections.abc import Iterator

from trotline.analysis.tools.packages_installs import foreign
from trotline.analysis.tools.packages_manifests import Listed
from trotline.analysis.tools.packages_settings import loosens
from trotline.analysis.tools.packages_specs import UNCHECKED, Wanted, host_of

_KEYS = {
    "npm": "resolved|tarball|repo|resolution",
    "pypi": "url|registry|git",
    "cargo": "source",
    "gem": "remote",
}
_ADDRESS = (
    r"""["']?[ \t]{0,4}[:=]?[ \t]{0,4}["']?(?:[^\s"']{0,80}@)?"""
    r"""((?:git\+|registry\+|sparse\+)?(?:https?|ssh|git)://[^\s"'<>{}\],#?]{1,500})"""
)
_SOURCES = {kind: re.compile(rf"\b({keys})\b{_ADDRESS}") for kind, keys in _KEYS.items()}
_LOCKS = {
    **dict.fromkeys("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock".split(), "npm"),
    **dict.fromkeys("poetry.lock uv.lock pdm.lock pipfile.lock".split(), "pypi"),
    "cargo.lock": "cargo",
    "gemfile.lock": "gem",
}
_SETTINGS = {
    **dict.fromkeys(".npmrc .yarnrc .yarnrc.yml bunfig.toml".split(), "npm"),
    **dict.fromkeys("pip.conf pip.ini uv.toml".split(), "pypi"),
    ".cargo/config.toml": "cargo",
    ".cargo/config": "cargo",
}
_SETTING = re.compile(
    r"""^[ \t]*["']?([^\s="']{1,200}?)["']?(?:=|: |[ \t])[ \t=:"']{0,8}([^\s"']{1,500})""", re.MULTILINE
)
_PLACES = ("registry", "registryserver", "index", "find-links", "url")
_CRATES = ("github.com", "/rust-lang/")
"""Where cargo keeps its own index."""


def lock_kind(path: str) -> str:
    return _LOCKS.get(posixpath.basename(path).lower(), "")


def settings_kind(path: str) -> str:
    parts = path.lower().split("/")
    return _SETTINGS.get(parts[-1], "") or _SETTINGS.get("/".join(parts[-2:]), "")


def locked_in(path: str, text: str) -> tuple[Listed, ...]:
    """Where the packages of a lock come from: hosts of indexes, and repositories."""
    kind = lock_kind(path)
    found = _SOURCES[kind].findall(text) if kind else []
    return tuple(dict.fromkeys(_locked(kind, key, address) for key, address in found))


def _locked(kind: str, key: str, address: str) -> Listed:
    plain = address.partition("+")[2] if "+" in address[:9] else address
    host = host_of(plain)
    by_git = address.startswith(("git", "ssh")) or plain.endswith(".git") or key in {"git", "repo"}
    if by_git:
        return Listed(kind, Wanted(source="git", host=host, name=plain))
    own = kind == "cargo" and host == _CRATES[0] and _CRATES[1] in plain
    return Listed(kind, Wanted(source="index", host="" if own else foreign(kind, plain)))


def settings_in(path: str, text: str) -> tuple[Listed, ...]:
    """Other places that packages would come from, and checks that would be off."""
    return tuple(dict.fromkeys(_set(settings_kind(path), text)))


def _set(kind: str, text: str) -> Iterator[Listed]:
    for key, value in _SETTING.findall(text):
        name = key.rpartition(":")[2].rpartition(".")[2].lower()
        if loosens(name, value):
            yield Listed(kind, Wanted(source=UNCHECKED, name=key))
        elif name.endswith(_PLACES) or name in {"index-url", "extra-index-url", "default-index"}:
            host = foreign(kind, value)
            if host:
                yield Listed(kind, Wanted(source="index", host=host, name=key))
