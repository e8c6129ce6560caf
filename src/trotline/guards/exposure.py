"""Guard: ways into the machine (ports, tunnels, firewalls, sockets) and what can be seen or heard on it."""

from trotline.analysis.network_addresses import CONTAINER_SOCKETS
from trotline.domain.effects import Effect
from trotline.guards.guard import HIGH, LOW, MEDIUM, Filter, GuardContext, build_guard, is_remote, rule

_ALL_INTERFACES = frozenset({"", "*", "::", "0.0.0.0"})  # noqa: S104 - names to recognise


def _is_daemon_socket(effect: Effect, _: GuardContext) -> bool:
    return effect.path.endswith(CONTAINER_SOCKETS)


def _is_daemon_port(effect: Effect, _: GuardContext) -> bool:
    """Return whether the target is the port at which a container daemon takes unauthenticated requests."""
    return ":2375" in effect.target.partition("://")[2].partition("/")[0]


def _is_raw_connection(effect: Effect, context: GuardContext) -> bool:
    return not effect.path and is_remote(effect, context)


def _listens_everywhere(effect: Effect, context: GuardContext) -> bool:
    return effect.host in _ALL_INTERFACES or is_remote(effect, context)


def _has_remote_host(effect: Effect, context: GuardContext) -> bool:
    return effect.host != "" and is_remote(effect, context)


GUARD = build_guard(
    "exposure",
    "ways into the machine that were shut, and what is seen on it",
    {
        "tunnel": rule(
            "connect: tunnel",
            HIGH,
            "{target} opens a way into this machine from everywhere",
            "serve on localhost, and let the person share it",
        ),
        "daemon's socket": rule(
            Filter("connect: socket", when=_is_daemon_socket), HIGH, "{path} obeys everybody who reaches it, as root"
        ),
        "daemon's port": rule(
            Filter("fetch|send: *", when=_is_daemon_port),
            HIGH,
            "a container daemon obeys everybody who reaches it, as root",
        ),
        "firewall": rule("system: firewall", HIGH, "the firewall would be changed: {target}"),
        "raw connection": rule(
            Filter("connect: socket", when=_is_raw_connection),
            HIGH,
            "the shell itself would connect to {host}",
            "use curl",
        ),
        "way back": rule("connect: way back", MEDIUM, "{host} would get a way into this network"),
        "listening": rule(
            Filter("connect: listen", when=_listens_everywhere),
            MEDIUM,
            "everybody who reaches port {target} talks to this machine",
        ),
        "plain connection": rule(
            Filter("connect: nc|ncat|netcat|rlogin|socat|telnet", when=is_remote),
            MEDIUM,
            "a connection to {host} that nobody can read along",
        ),
        "scan": rule(Filter("connect: scan", when=is_remote), HIGH, "machines of others would be tried out: {target}"),
        "traffic": rule("read: traffic", HIGH, "traffic of others would be read: {target}"),
        "screen": rule("read: screen", HIGH, "what is on the person's screen would be read"),
        "fetched": rule(
            Filter("fetch: *", when=_has_remote_host), LOW, "{host} would be asked, and a model reads what it answers"
        ),
        "clipboard": rule("read: clipboard", MEDIUM, "the person's clipboard would be read"),
    },
)
