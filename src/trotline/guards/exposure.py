"""Ways into the machine that were shut: ports, tunnels, firewalls, sockets; and what is seen and heard on it."""

from trotline.analysis.addresses import ENGINES, is_local
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, Test

_EVERYWHERE = frozenset({"", "*", "::", "0.0.0.0"})  # noqa: S104 - names to recognise


def _verb(kind: str, *verbs: str) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.kind == kind and effect.verb in verbs

    return test


def _socket(effect: Effect, _: Sight) -> bool:
    return effect.kind == "connect" and effect.verb == "socket" and effect.path.endswith(ENGINES)


def _daemon(effect: Effect, _: Sight) -> bool:
    """The port under which a container daemon obeys everybody."""
    return effect.kind in {"fetch", "send"} and ":2375" in effect.target.partition("://")[2].partition("/")[0]


def _raw(effect: Effect, _: Sight) -> bool:
    return effect.kind == "connect" and effect.verb == "socket" and not effect.path and not is_local(effect.host)


def _plain(effect: Effect, _: Sight) -> bool:
    talks = effect.kind == "connect" and effect.verb in {"nc", "ncat", "netcat", "telnet", "socat", "rlogin"}
    return talks and not is_local(effect.host)


def _listens(effect: Effect, _: Sight) -> bool:
    everywhere = effect.host in _EVERYWHERE or not is_local(effect.host)
    return effect.kind == "connect" and effect.verb == "listen" and everywhere


def _scans(effect: Effect, _: Sight) -> bool:
    return effect.kind == "connect" and effect.verb == "scan" and not is_local(effect.host)


def _fetched(effect: Effect, _: Sight) -> bool:
    return effect.kind == "fetch" and effect.host != "" and not is_local(effect.host)


GUARD = Guard(
    name="exposure",
    danger="ways into the machine that were shut, and what is seen on it",
    kinds=frozenset({"connect", "system", "read", "fetch", "send"}),
    rows=(
        Row(
            "tunnel",
            _verb("connect", "tunnel"),
            "ask deny deny",
            "{target} opens a way into this machine from everywhere",
            "serve on localhost, and let the person share it",
        ),
        Row("daemon's socket", _socket, "ask deny deny", "{path} obeys everybody who reaches it, as root"),
        Row("daemon's port", _daemon, "ask deny deny", "a container daemon obeys everybody who reaches it, as root"),
        Row("firewall", _verb("system", "firewall"), "ask deny deny", "the firewall would be changed: {target}"),
        Row("raw connection", _raw, "ask deny deny", "the shell itself would connect to {host}", "use curl"),
        Row("way back", _verb("connect", "way back"), "pass ask deny", "{host} would get a way into this network"),
        Row("listening", _listens, "pass ask deny", "everybody who reaches port {target} talks to this machine"),
        Row("plain connection", _plain, "pass ask deny", "a connection to {host} that nobody can read along"),
        Row("scan", _scans, "ask deny deny", "machines of others would be tried out: {target}"),
        Row("traffic", _verb("read", "traffic"), "ask deny deny", "traffic of others would be read: {target}"),
        Row("screen", _verb("read", "screen"), "ask deny deny", "what is on the person's screen would be read"),
        Row("fetched", _fetched, "pass pass ask", "{host} would be asked, and a model reads what it answers"),
        Row("clipboard", _verb("read", "clipboard"), "pass ask deny", "the person's clipboard would be read"),
    ),
    stops=(
        "ngrok http 8080",
        "cloudflared tunnel --url localhost:8080",
        "tailscale funnel 8080",
        "curl --unix-socket /var/run/docker.sock http://x/info",
        "sudo iptables -F INPUT",
        "ufw disable",
        "Set-NetFirewallProfile -Profile Public -Enabled False",
        "nc -l 9001",
        "python3 -m http.server 9001",
        "exec 3<>/dev/tcp/192.0.2.7/80",
        "tcpdump -i en0",
        "nmap 192.0.2.0/24",
        "socat tcp-listen:9001,fork tcp:10.9.9.9:22",
        "pfctl -d",
        "ssh -R 9001:localhost:22 in.example.net",
    ),
    passes=(
        "ufw status",
        "iptables -L",
        "ngrok version",
        "nc -z localhost 6543",
        "curl http://localhost:8123/ok",
        "timeout 1 bash -c '</dev/tcp/localhost/5432'",
        "tailscale status",
        "echo ngrok http 80",
        "cloudflared --version",
        "npm run dev -- --port 3000",
        "nmap localhost",
    ),
)
