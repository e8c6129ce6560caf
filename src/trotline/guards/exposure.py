"""Guard: ways into the machine (ports, tunnels, firewalls, sockets) and what can be seen or heard on it."""

from trotline.analysis.network_addresses import CONTAINER_SOCKETS
from trotline.domain.effects import Effect
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardContext, GuardRule, is_remote

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


GUARD = Guard(
    name="exposure",
    danger="ways into the machine that were shut, and what is seen on it",
    kinds={"connect", "system", "read", "fetch", "send"},
    rules=(
        GuardRule(
            "tunnel",
            Filter(kinds={"connect"}, verbs={"tunnel"}),
            (ASK, DENY, DENY),
            "{target} opens a way into this machine from everywhere",
            "serve on localhost, and let the person share it",
        ),
        GuardRule(
            "daemon's socket",
            Filter(kinds={"connect"}, verbs={"socket"}, when=_is_daemon_socket),
            (ASK, DENY, DENY),
            "{path} obeys everybody who reaches it, as root",
        ),
        GuardRule(
            "daemon's port",
            Filter(kinds={"fetch", "send"}, when=_is_daemon_port),
            (ASK, DENY, DENY),
            "a container daemon obeys everybody who reaches it, as root",
        ),
        GuardRule(
            "firewall",
            Filter(kinds={"system"}, verbs={"firewall"}),
            (ASK, DENY, DENY),
            "the firewall would be changed: {target}",
        ),
        GuardRule(
            "raw connection",
            Filter(kinds={"connect"}, verbs={"socket"}, when=_is_raw_connection),
            (ASK, DENY, DENY),
            "the shell itself would connect to {host}",
            "use curl",
        ),
        GuardRule(
            "way back",
            Filter(kinds={"connect"}, verbs={"way back"}),
            (PASS, ASK, DENY),
            "{host} would get a way into this network",
        ),
        GuardRule(
            "listening",
            Filter(kinds={"connect"}, verbs={"listen"}, when=_listens_everywhere),
            (PASS, ASK, DENY),
            "everybody who reaches port {target} talks to this machine",
        ),
        GuardRule(
            "plain connection",
            Filter(kinds={"connect"}, verbs={"nc", "ncat", "netcat", "telnet", "socat", "rlogin"}, when=is_remote),
            (PASS, ASK, DENY),
            "a connection to {host} that nobody can read along",
        ),
        GuardRule(
            "scan",
            Filter(kinds={"connect"}, verbs={"scan"}, when=is_remote),
            (ASK, DENY, DENY),
            "machines of others would be tried out: {target}",
        ),
        GuardRule(
            "traffic",
            Filter(kinds={"read"}, verbs={"traffic"}),
            (ASK, DENY, DENY),
            "traffic of others would be read: {target}",
        ),
        GuardRule(
            "screen",
            Filter(kinds={"read"}, verbs={"screen"}),
            (ASK, DENY, DENY),
            "what is on the person's screen would be read",
        ),
        GuardRule(
            "fetched",
            Filter(kinds={"fetch"}, when=_has_remote_host),
            (PASS, PASS, ASK),
            "{host} would be asked, and a model reads what it answers",
        ),
        GuardRule(
            "clipboard",
            Filter(kinds={"read"}, verbs={"clipboard"}),
            (PASS, ASK, DENY),
            "the person's clipboard would be read",
        ),
    ),
)
