"""Hosts in addresses: whose they are, as far as a name tells."""

import ipaddress

from trotline.pattern import pattern

_SCHEME = pattern(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = ("localhost", "ip6-localhost", "host.docker.internal", "::1", "::", "0.0.0.0")  # noqa: S104 - names to recognise
_METADATA = frozenset({"metadata", "instance-data"})
_METADATA_NUMBERS = frozenset(
    {0xA9FEA9FE, 0xA9FEAA02, 0x646464C8, 0xFD000EC2 << 96 | 0x254}  # under which clouds answer for the machine itself
)
_FOR_THE_OLDER = frozenset({0, 0xFFFF, 0x64FF9B << 64, 0xFFFF << 16})
"""What stands before an IPv4 address in an IPv6 address."""

_SHOWN = tuple(
    (pattern(text), what)
    for text, what in (
        (r"/actuator/(?:env|heapdump|configprops|threaddump)/", "the settings and the memory of a running program"),
        (r"/api/v1/(?:namespaces/[^/]+/)?secrets/", "the secrets of a cluster"),
        (r"/v1/(?:secret|kv)/", "secrets of a keeper"),
    )
)
LONGEST_ADDRESS = 300
ENGINES = ("docker.sock", "containerd.sock", "podman.sock", "crio.sock", "cri-dockerd.sock")
"""Sockets of those who start containers: whoever talks to one has the machine."""

_DROPS = tuple(
    "pastebin.com paste.ee paste.rs hastebin ix.io 0x0.st sprunge.us termbin.com dpaste ghostbin rentry.co transfer.sh"
    " file.io tmpfiles.org gofile.io anonfiles catbox.moe bashupload temp.sh oshi.at uguu.se filebin webhook.site"
    " ntfy.sh requestbin pipedream.net hookbin beeceptor requestcatcher interact.sh oast. burpcollab dnslog ceye.io"
    " ngrok trycloudflare serveo localhost.run loca.lt discord.com/api/webhooks api.telegram.org"
    " hooks.slack.com".split()
)


def host_of(url: str) -> str:
    """The host that an address names: `https://u:p@example.org:8080/x`, `example.org/x`, `git@example.org:x`."""
    rest = _SCHEME.sub("", url)
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    host = rest[:end].rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def path_of(url: str) -> str:
    """What an address names on its host, whatever stands where the host should."""
    rest = _SCHEME.sub("", url)
    end = min((at for at in map(rest.find, "?#") if at >= 0), default=len(rest))
    return rest[:end].partition("/")[2]


def is_local(host: str) -> bool:
    """This very machine."""
    return host in _LOCAL or host.endswith(".localhost") or (host.startswith("127.") and host[-1:].isdigit())


def is_metadata(host: str) -> bool:
    """The service of a cloud that gives a machine its own credentials, in any spelling of its address."""
    return host.partition(".")[0] in _METADATA or _number(host) in _METADATA_NUMBERS


def is_metadata_address(text: str) -> bool:
    """The same for a text of which nobody says that it is a host: `metadata.json` is a file."""
    host = text if text.count(":") > 1 and "/" not in text else host_of(text)
    named = host.endswith(".internal") and is_metadata(host)
    return len(text) < LONGEST_ADDRESS and (named or _number(host) in _METADATA_NUMBERS)


def shown_at(url: str) -> str:
    """What secrets an address is known to show to whoever asks: of a cluster, of a program that runs, of a keeper."""
    path = _SCHEME.sub("", url).partition("?")[0].partition("#")[0].partition("/")[2].lower()
    return next((what for pattern, what in _SHOWN if pattern.search(f"/{path}/".replace("//", "/"))), "")


def _number(host: str) -> int | None:
    """An IPv4 address as libraries of C read it: octal and hexadecimal parts, fewer than four of them; one that stands
    in an IPv6 address; or that address itself."""
    if ":" in host:
        return _sixth(host)
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


def _sixth(host: str) -> int | None:
    """The number of an IPv6 address, or of the IPv4 address that it stands for: mapped, or behind a translator."""
    try:
        number = int(ipaddress.IPv6Address(host.strip("[]").partition("%")[0]))
    except ValueError:
        return None
    return number & 0xFFFFFFFF if number >> 32 in _FOR_THE_OLDER else number


def is_drop(url: str) -> bool:
    """A place where anybody may leave something for anybody to fetch: pastes, one-time files, webhooks, tunnels."""
    plain = _SCHEME.sub("", url.lower())
    host = host_of(url)
    return any(drop in plain if "/" in drop else drop in host for drop in _DROPS)
