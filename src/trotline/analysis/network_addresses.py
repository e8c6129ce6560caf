"""Classify network hosts and URLs: local, cloud metadata, drop sites, addresses that show secrets."""

import ipaddress

from trotline.formats.lazy_regex import lazy_regex

_SCHEME = lazy_regex(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL_HOSTS = ("localhost", "ip6-localhost", "host.docker.internal", "::1", "::", "0.0.0.0")  # noqa: S104 - names to recognise
_METADATA_NAMES = frozenset({"metadata", "instance-data"})
_METADATA_ADDRESSES = frozenset(
    {0xA9FEA9FE, 0xA9FEAA02, 0x646464C8, 0xFD000EC2 << 96 | 0x254}  # the metadata services of the clouds
)
_IPV4_PREFIXES = frozenset({0, 0xFFFF, 0x64FF9B << 64, 0xFFFF << 16})
"""Prefixes of IPv6 addresses that contain an IPv4 address."""

_EXPOSED_SECRETS = (
    (
        lazy_regex(r"/actuator/(?:env|heapdump|configprops|threaddump)/"),
        "the settings and the memory of a running program",
    ),
    (lazy_regex(r"/api/v1/(?:namespaces/[^/]+/)?secrets/"), "the secrets of a cluster"),
    (lazy_regex(r"/v1/(?:secret|kv)/"), "secrets of a keeper"),
)
MAX_ADDRESS = 300
CONTAINER_SOCKETS = ("docker.sock", "containerd.sock", "podman.sock", "crio.sock", "cri-dockerd.sock")
"""Sockets of container engines; access to one is access to the machine."""

_DROP_SITES = tuple(
    "pastebin.com paste.ee paste.rs hastebin ix.io 0x0.st sprunge.us termbin.com dpaste ghostbin rentry.co transfer.sh"
    " file.io tmpfiles.org gofile.io anonfiles catbox.moe bashupload temp.sh oshi.at uguu.se filebin webhook.site"
    " ntfy.sh requestbin pipedream.net hookbin beeceptor requestcatcher interact.sh oast. burpcollab dnslog ceye.io"
    " ngrok trycloudflare serveo localhost.run loca.lt discord.com/api/webhooks api.telegram.org"
    " hooks.slack.com".split()
)


def get_host(url: str) -> str:
    """Return the host of an address: `https://u:p@example.org:8080/x`, `example.org/x`, `git@example.org:x`."""
    rest = _SCHEME.sub("", url)
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    host = rest[:end].rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def get_url_path(url: str) -> str:
    """Return the path of an address without its first slash."""
    rest = _SCHEME.sub("", url)
    end = min((at for at in map(rest.find, "?#") if at >= 0), default=len(rest))
    return rest[:end].partition("/")[2]


def is_local(host: str) -> bool:
    """Return whether a host is this machine."""
    return host in _LOCAL_HOSTS or host.endswith(".localhost") or (host.startswith("127.") and host[-1:].isdigit())


def is_metadata(host: str) -> bool:
    """Return whether a host is a cloud's metadata service, which gives out credentials, in any spelling."""
    return host.partition(".")[0] in _METADATA_NAMES or _parse_ip(host) in _METADATA_ADDRESSES


def is_metadata_address(text: str) -> bool:
    """Return whether a text, which need not be an address, names a metadata service: `metadata.json` is a file."""
    host = text if text.count(":") > 1 and "/" not in text else get_host(text)
    named = host.endswith(".internal") and is_metadata(host)
    return len(text) < MAX_ADDRESS and (named or _parse_ip(host) in _METADATA_ADDRESSES)


def find_exposed_secrets(url: str) -> str:
    """Return which secrets an address is known to show, or an empty text."""
    path = f"/{get_url_path(url).lower()}/".replace("//", "/")
    return next((description for pattern, description in _EXPOSED_SECRETS if pattern.search(path)), "")


def _parse_ip(host: str) -> int | None:
    """Return an IP address as a number. IPv4 may have octal or hexadecimal parts, or fewer than four, as in C."""
    if ":" in host:
        return _parse_ipv6(host)
    if not host[:1].isdigit():
        return None
    try:
        return int(ipaddress.IPv4Address(host))
    except ValueError:
        pass
    parts = host.removesuffix(".").split(".")
    try:
        numbers = [int(part, 16 if part[:2].lower() == "0x" else 8 if part[:1] == "0" else 10) for part in parts]
    except ValueError:
        return None
    if len(numbers) > 4:
        return None
    total = numbers[-1]
    for at, number in enumerate(numbers[:-1]):
        total += number << (8 * (3 - at))
    return total


def _parse_ipv6(host: str) -> int | None:
    """Return the number of an IPv6 address, or of the IPv4 address in it."""
    try:
        number = int(ipaddress.IPv6Address(host.strip("[]").partition("%")[0]))
    except ValueError:
        return None
    return number & 0xFFFFFFFF if number >> 32 in _IPV4_PREFIXES else number


def is_drop_site(url: str) -> bool:
    """Return whether an address is a public place to leave data: pastes, one-time files, webhooks, tunnels."""
    plain = _SCHEME.sub("", url.lower())
    host = get_host(url)
    return any(drop in plain if "/" in drop else drop in host for drop in _DROP_SITES)
