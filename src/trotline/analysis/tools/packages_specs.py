"""What a word after `install` means: which package, at which version, from where; as a package URL."""

from typing import NamedTuple

from trotline.analysis.scene import UNKNOWN

UNCHECKED = "unverified"
"""The source of a package of which nobody checks who made it."""


class Wanted(NamedTuple):
    """A package that is asked for. `source`: registry, index, git, url, path, manifest, unverified."""

    purl: str = ""
    name: str = ""
    source: str = "registry"
    host: str = ""


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
_ARCHIVES = (".tar.gz", ".tgz", ".zip", ".whl", ".gem", ".deb", ".rpm", ".apk", ".nupkg", ".crate", ".snap", ".conda")


def host_of(url: str) -> str:
    """The host of an address, without user and port; nothing for one on this machine."""
    rest = url.partition("://")[2] if "://" in url else url.partition("@")[2].replace(":", "/", 1)
    host = rest.partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
    return "" if host in {"localhost", "127.0.0.1"} else host


def purl(kind: str, name: str, version: str = "") -> str:
    """Canonical: what the registry holds to be the same is written the same."""
    if kind == "pypi":
        parts = name.lower().replace("_", "-").replace(".", "-").split("-")
        name = "-".join(part for at, part in enumerate(parts) if part or at in {0, len(parts) - 1})
    elif kind in {"npm", "composer", "deb", "apk", "brew", "rpm", "conda", "alpm"}:
        name = name.lower()
    path = "/".join(_quoted(part) for part in name.split("/") if part)
    return f"pkg:{kind}/{path}" + (f"@{_quoted(version)}" if version else "")


def _quoted(text: str) -> str:
    """As in an address; urllib would do it, and costs a cold call more than all of this."""
    if _PLAIN.issuperset(text):
        return text
    data = text.encode("utf-8", "replace")
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in data)


def wanted(kind: str, text: str) -> Wanted:
    """What this word asks for."""
    if UNKNOWN in text:
        return Wanted(name=text)
    plain = text.partition(" @ ")[2].strip() if " @ " in text else text
    plain = plain.removeprefix("npm:").removeprefix("jsr:") if kind == "npm" else plain
    if kind == "npm" and "@" in plain[1:] and ":" in plain.partition("@")[2]:
        plain = _aliased(plain)
    located = _located(kind, plain)
    if located is not None:
        return located
    name, version = _named(kind, plain)
    return Wanted(purl(kind, name, version), name)


def _aliased(text: str) -> str:
    """`name@npm:other@1` is the other; `name@https://...` is that address."""
    address = text[1:].partition("@")[2]
    return address.removeprefix("npm:")


def _located(kind: str, text: str) -> Wanted | None:
    lower = text.lower()
    if lower.startswith(("git+", "git://", "git@", "ssh://", "hg+", "svn+", "bzr+")):
        return Wanted(source="git", host=host_of(text), name=text)
    if lower.startswith(("http://", "https://", "ftp://")):
        git = lower.partition("#")[0].endswith(".git")
        return Wanted(source="git" if git else "url", host=host_of(text) or "localhost", name=text)
    if text.startswith((".", "/", "~", "file:", "link:", "workspace:", "portal:")) or text.endswith("/"):
        return Wanted(source="path", name=text)
    if lower.endswith(_ARCHIVES):
        return Wanted(source="path", name=text)
    if kind == "npm" and not text.startswith("@") and text.partition("#")[0].count("/") == 1:
        return Wanted(source="git", host="github" if ":" not in text else text.partition(":")[0], name=text)
    return None


def _named(kind: str, text: str) -> tuple[str, str]:
    if kind == "pypi":
        return _requirement(text)
    mark = {"deb": "=", "apk": "=", "conda": "=", "composer": ":", "gem": ":"}.get(kind, "@")
    name, _, version = text[1:].partition(mark)
    version = version.strip("=v") if kind != "golang" else version
    return text[:1] + name, version if _concrete(version) else ""


def _requirement(text: str) -> tuple[str, str]:
    """`name[extra]==1.0; marker`: the name, and the version if there is only one."""
    end = next((at for at, letter in enumerate(text) if letter not in _PLAIN or letter == "~"), len(text))
    name, rest = text[:end], text[end:]
    if rest.startswith("["):
        rest = rest.partition("]")[2]
    rest = rest.partition(";")[0].strip()
    version = rest.lstrip("=").strip() if rest.startswith("==") else rest[1:].strip() if rest.startswith("@") else ""
    return name or text, version if _concrete(version) else ""


def _concrete(version: str) -> bool:
    """One version, not a range or a name such as `latest`."""
    plain = version.removeprefix("v")
    return plain[:1].isdigit() and _PLAIN.issuperset(plain.replace("+", "").replace("!", ""))
