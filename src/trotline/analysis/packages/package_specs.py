"""Package requests on command lines and in files: which package, which version, from where."""

from typing import NamedTuple

from trotline.analysis.network_addresses import get_host
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR

UNVERIFIED = "unverified"
"""The source of a package whose origin is not verified."""


class PackageRequest(NamedTuple):
    """A package that would be installed. `source`: registry, index, git, url, path, manifest, unverified."""

    purl: str = ""
    name: str = ""
    source: str = "registry"
    host: str = ""


_UNRESERVED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
_ARCHIVES = (".tar.gz", ".tgz", ".zip", ".whl", ".gem", ".deb", ".rpm", ".apk", ".nupkg", ".crate", ".snap", ".conda")
_LOWERCASE_KINDS = frozenset("npm composer deb apk brew rpm conda alpm".split())

_DEFAULT_HOSTS = {
    "pypi": ("pypi org", "python hosted org"),
    "npm": ("npmjs org", "npmjs com", "yarnpkg com", "jsr io"),
    "cargo": ("crates io",),
    "gem": ("rubygems org",),
    "nuget": ("nuget org",),
    "golang": ("golang org",),
    "conda": ("anaconda org", "anaconda com"),
    "composer": ("packagist org",),
}
"""The last two labels of the hosts that the managers use by default, with spaces instead of dots."""

_FALSE = frozenset("false off 0 no *".split())
_CHECK_SETTINGS = frozenset("strict-ssl secure-http disable-tls ssl_verify verify_ssl sslverify ignore-scripts".split())
_INSECURE_SETTINGS = frozenset("trusted-host goinsecure gonosumdb gonosumcheck gonoproxy script-shell".split())


def get_source_host(url: str) -> str:
    """Return the host of a package address, or an empty string for a plain name or for this machine."""
    host = get_host(url) if "://" in url or "@" in url else ""
    return "" if host in {"localhost", "127.0.0.1"} else host


def get_foreign_host(kind: str, address: str) -> str:
    """Return the host of an index unless it is a default one or on this machine."""
    if "://" not in address and not address.startswith("//"):
        return ""
    host = get_source_host(address)
    domain = "".join(host.split(".")[-2:])
    defaults = {known.replace(" ", "") for known in _DEFAULT_HOSTS.get(kind, ())}
    return "" if domain in defaults else host


def disables_checks(setting: str, value: str) -> bool:
    """Return whether a setting disables verification of packages or enables their scripts again."""
    is_off = value.lower() in _FALSE
    return (
        setting in _INSECURE_SETTINGS
        or (is_off and setting in _CHECK_SETTINGS)
        or (setting == "gosumdb" and value == "off")
    )


def build_purl(kind: str, name: str, version: str = "") -> str:
    """Return the canonical package URL: names that the registry treats as equal are written the same."""
    if kind == "pypi":
        parts = name.lower().replace("_", "-").replace(".", "-").split("-")
        name = "-".join(part for at, part in enumerate(parts) if part or at in {0, len(parts) - 1})
    elif kind in _LOWERCASE_KINDS:
        name = name.lower()
    path = "/".join(_quote(part) for part in name.split("/") if part)
    return f"pkg:{kind}/{path}" + (f"@{_quote(version)}" if version else "")


def _quote(text: str) -> str:
    """Percent-encode. Importing urllib would cost a cold call more than the rest of this module."""
    if _UNRESERVED.issuperset(text):
        return text
    data = text.encode("utf-8", "replace")
    return "".join(chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}" for byte in data)


def parse_request(kind: str, text: str) -> PackageRequest:
    """Parse a word after `install`."""
    if UNKNOWN_CHAR in text:
        return PackageRequest(name=text)
    spec = text.partition(" @ ")[2].strip() if " @ " in text else text
    spec = spec.removeprefix("npm:").removeprefix("jsr:") if kind == "npm" else spec
    if kind == "npm" and "@" in spec[1:] and ":" in spec.partition("@")[2]:
        spec = _resolve_alias(spec)
    located = _parse_location(kind, spec)
    if located is not None:
        return located
    name, version = _split_version(kind, spec)
    return PackageRequest(build_purl(kind, name, version), name)


def _resolve_alias(spec: str) -> str:
    """Return the package or address behind an alias: `name@npm:other@1`, `name@https://...`."""
    address = spec[1:].partition("@")[2]
    return address.removeprefix("npm:")


def _parse_location(kind: str, spec: str) -> PackageRequest | None:
    lower = spec.lower()
    if lower.startswith(("git+", "git://", "git@", "ssh://", "hg+", "svn+", "bzr+")):
        return PackageRequest(source="git", host=get_source_host(spec), name=spec)
    if lower.startswith(("http://", "https://", "ftp://")):
        is_git = lower.partition("#")[0].endswith(".git")
        return PackageRequest(source="git" if is_git else "url", host=get_source_host(spec) or "localhost", name=spec)
    if spec.startswith((".", "/", "~", "file:", "link:", "workspace:", "portal:")) or spec.endswith("/"):
        return PackageRequest(source="path", name=spec)
    if lower.endswith(_ARCHIVES):
        return PackageRequest(source="path", name=spec)
    if kind == "npm" and not spec.startswith("@") and spec.partition("#")[0].count("/") == 1:
        return PackageRequest(source="git", host="github" if ":" not in spec else spec.partition(":")[0], name=spec)
    return None


def _split_version(kind: str, spec: str) -> tuple[str, str]:
    if kind == "pypi":
        return _split_requirement(spec)
    separator = {"deb": "=", "apk": "=", "conda": "=", "composer": ":", "gem": ":"}.get(kind, "@")
    name, _, version = spec[1:].partition(separator)
    version = version.strip("=v") if kind != "golang" else version
    return spec[:1] + name, version if _is_exact(version) else ""


def _split_requirement(spec: str) -> tuple[str, str]:
    """Split `name[extra]==1.0; marker` into the name and its exact version."""
    end = next((at for at, letter in enumerate(spec) if letter not in _UNRESERVED or letter == "~"), len(spec))
    name, rest = spec[:end], spec[end:]
    if rest.startswith("["):
        rest = rest.partition("]")[2]
    rest = rest.partition(";")[0].strip()
    version = rest.lstrip("=").strip() if rest.startswith("==") else rest[1:].strip() if rest.startswith("@") else ""
    return name or spec, version if _is_exact(version) else ""


def _is_exact(version: str) -> bool:
    """Return whether this is one version, not a range or a name such as `latest`."""
    plain = version.removeprefix("v")
    return plain[:1].isdigit() and _UNRESERVED.issuperset(plain.replace("+", "").replace("!", ""))
