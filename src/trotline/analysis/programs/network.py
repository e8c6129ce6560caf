"""Programs that reach other machines: mail, tunnels, scanners, netcat, ftp, DNS."""

import re
import shlex
from typing import NamedTuple

from trotline.analysis.network_addresses import get_host
from trotline.analysis.programs.network_effects import (
    NETWORK_STREAM,
    add_connection,
    add_listener,
    read_sent_file,
    save_download,
)
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, UNKNOWN_STREAM, Stream, join_streams
from trotline.formats.lazy_regex import lazy_regex

# Mail, tunnels, scanners

MAX_RECIPIENTS = 4


def _handle_mail(call: Invocation) -> None:
    """A message is sent as soon as it has a recipient."""
    options = call.parse_options("a A s c b r S f q E i H F C o e h t to from server subject attach body header")
    files = [arg for arg in options.values("a", "A", "attach", "q") if ":" not in arg.text]
    data = join_streams([call.stdin, *(read_sent_file(call, arg, arg.text) for arg in files)])
    recipients = [arg for arg in (*options.rest, *options.values("to", "c", "b")) if arg.text != "-t"]
    if not recipients and call.name in {"sendmail", "msmtp", "ssmtp"} and options.has("t"):
        recipients = [call.program]
    for arg in recipients[:MAX_RECIPIENTS]:
        host = arg.text.rpartition("@")[2]
        call.add_effect("send", "mail", arg, host=host, target=arg.text, source=data.effect_source)


_TUNNELS = (
    "bore chisel cloudflared devtunnel frpc gotty iodine localtunnel lt ngrok pagekite tailscale tmate ttyd upterm zrok"
).split()
_NO_TUNNEL = frozenset(
    "--help --version -V -h -v config credits diagnose help info list login overview session show status update user"
    " verify version".split()
)
"""First words that open no tunnel."""


def _handle_tunnel(call: Invocation) -> None:
    """A tunnel lets anyone on the internet reach this machine."""
    words = [word.text for word in call.args]
    if not words and call.name not in {"tmate", "lt", "localtunnel"}:
        return
    opens = words[:1] in (["funnel"], ["serve"], ["ssh"]) if call.name == "tailscale" else not _NO_TUNNEL & {*words[:1]}
    if opens and not {"list", "info", "show", "login", "help", "--help", "status"} & {*words[1:2]}:
        call.add_effect("connect", "tunnel", target=" ".join([call.name, *words[:2]]))


def _handle_sniffer(call: Invocation) -> None:
    """A sniffer reads the traffic of others."""
    options = call.parse_options("i w r c s W C G F Y f")
    if options.has("r", "D", "version", "h", "help"):
        return
    call.add_effect("read", "traffic", target=options.value("i") or "the network")
    for arg in options.values("w"):
        if arg.text != "-":
            call.add_write(arg)


def _handle_scanner(call: Invocation) -> None:
    """A scanner probes or attacks other machines."""
    options = call.parse_options()
    targets = [arg.text for arg in options.rest if arg.is_known]
    target = targets[-1] if targets else ""
    call.add_effect("connect", "scan", target=target, host=target)


def _handle_web_server(call: Invocation) -> None:
    """A file server publishes a whole directory."""
    options = call.parse_options("p l listen port host a address d directory")
    add_listener(call, options.value("p", "port", "l", "listen"), address=options.value("host", "a", "address"))


# Connections

_NETCAT_VALUED = (
    "c e g G i I m O p P q s T V w W x X exec sh-exec proxy proxy-type source-port source wait idle-timeout"
    " allow deny output max-conns ssl-cert ssl-key"
)


def _handle_netcat(call: Invocation) -> None:
    options = call.parse_options(_NETCAT_VALUED, runs="lua-exec")
    listens = options.has("l", "listen")
    words = options.rest
    sent = call.stdin
    for arg in options.values("e", "exec"):
        sent = call.analyze_command([arg._replace(text=part) for part in arg.text.split()], NETWORK_STREAM)
    for arg in options.values("c", "sh-exec"):
        sent = call.analyze_script(arg, NETWORK_STREAM)
    if options.has("z"):
        call.stdout = EMPTY_STREAM
        for arg in words[:1]:
            call.add_effect("connect", "probe", arg, host=arg.text)
        return
    if listens:
        add_listener(call, words[-1].text if words else options.value("p"), words[-1] if words else None)
        if sent.effect_source:
            call.add_send("", source=sent.effect_source)
    for arg in () if listens else words[:1]:
        if options.has("U"):
            call.add_effect("connect", "socket", arg, path=call.resolve(arg))
        else:
            add_connection(call, arg, sent, call.name)
    call.stdout = NETWORK_STREAM if words or listens else EMPTY_STREAM


class SocatAddress(NamedTuple):
    """One of the two addresses of socat."""

    kind: str
    text: str
    arg: Argument


_SOCAT_PROGRAMS = frozenset({"exec", "system", "shell"})
_LISTEN_ADDRESS = lazy_regex(r"(?i)^(?:tcp|udp|ssl|openssl|sctp|vsock)[46l]?-?(?:l|listen|recv|recvfrom)$")
_HOST_ADDRESS = lazy_regex(r"(?i)^(?:tcp|udp|ssl|openssl|sctp|socks|proxy|quic|dtls|vsock)[-a-z0-9]*$")


def _parse_address(arg: Argument) -> SocatAddress:
    kind, colon, rest = arg.text.partition(":")
    kind = kind.partition(",")[0].lower()
    if not colon:
        file = "unix" if arg.text.endswith((".sock", ".socket")) else "file"
        is_stdio = kind in {"-", "stdio", "stdin", "stdout", "pipe"}
        return SocatAddress("stdio" if is_stdio else file, arg.text, arg)
    target = rest.partition(",")[0]
    if kind in _SOCAT_PROGRAMS:
        return SocatAddress(kind, _cut_at_comma(rest), arg)
    if _LISTEN_ADDRESS.match(kind):
        return SocatAddress("listen", target, arg)
    if kind.startswith(("unix", "abstract")):
        return SocatAddress("unix", target, arg)
    if _HOST_ADDRESS.match(kind):
        parts = target.split(":")
        has_proxy = kind.startswith(("socks", "proxy")) and len(parts) > 1
        return SocatAddress("host", parts[1] if has_proxy else parts[0], arg)
    return SocatAddress("fd" if kind == "fd" else "file", target, arg)


def _cut_at_comma(text: str) -> str:
    """Return the text before the first comma outside of quotes and without a backslash."""
    quote, index = "", 0
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
        elif char in "\"'":
            quote = "" if quote == char else quote or char
        elif char == "," and not quote:
            return text[:index]
        index += 1
    return text


def _handle_socat(call: Invocation) -> None:
    options = call.parse_options("b t T l s S lf L W", long_dash=True)
    ends = [_parse_address(arg) for arg in options.rest[:2]]
    if len(ends) < 2:
        return
    for end, other in (ends, ends[::-1]):
        if end.kind == "listen":
            add_listener(call, end.text, end.arg)
        elif end.kind == "unix":
            _add_socket_message(call, end)
        if end.kind in _SOCAT_PROGRAMS and other.kind not in _SOCAT_PROGRAMS:
            _send_to(call, other, _analyze_socat_program(call, end, _get_stream(call, other)))
        elif other.kind in _SOCAT_PROGRAMS:
            continue
        else:
            _send_to(call, end, _get_stream(call, other))
    call.stdout = NETWORK_STREAM if any(end.kind in {"host", "listen"} for end in ends) else UNKNOWN_STREAM


_QUERY_VERBS = ("show", "help", "info", "get", "list", "stat", "ping", "status", "version", "describe")


def _add_socket_message(call: Invocation, end: SocatAddress) -> None:
    """Add a message to a service through its socket; every message except a query is a command."""
    path = call.resolve(end.arg._replace(text=end.text))
    message = (call.stdin.text or "").strip().lower()
    if message and not message.startswith(_QUERY_VERBS):
        call.add_effect("send", "socket", end.arg, path=path, host=path, target=message, writes=True)
    else:
        call.add_effect("connect", "socket", end.arg, path=path)


def _get_stream(call: Invocation, end: SocatAddress) -> Stream:
    if end.kind in {"host", "listen"}:
        return NETWORK_STREAM
    if end.kind == "file":
        return read_sent_file(call, end.arg, end.text)
    if end.kind == "fd":
        return call.state.descriptors.get(end.text, ("", call.stdin))[1]
    return call.stdin if end.kind == "stdio" else UNKNOWN_STREAM


def _analyze_socat_program(call: Invocation, end: SocatAddress, stdin: Stream) -> Stream:
    if end.kind != "exec":
        return call.analyze_script(end.arg._replace(text=end.text), stdin)
    try:
        words = shlex.split(end.text)
        # A shell removed one layer of quotes, socat removes the next.
        words = shlex.split(words[0]) if len(words) == 1 and " " in words[0] else words
    except ValueError:
        words = end.text.split()
    return call.analyze_command([end.arg._replace(text=word) for word in words], stdin)


def _send_to(call: Invocation, end: SocatAddress, stream: Stream) -> None:
    """Add the effects of a stream that flows to an address."""
    if end.kind == "host":
        add_connection(call, end.arg._replace(text=end.text), stream, "socat")
    elif end.kind == "listen" and stream.effect_source:
        call.add_send("", end.arg, source=stream.effect_source)
    elif end.kind == "fd":
        path = call.state.descriptors.get(end.text, ("", stream))[0]
        if path.startswith("/dev/tcp/"):
            call.add_send(path.split("/")[3], end.arg, source=stream.effect_source)
    elif end.kind == "file" and "network" in stream.origins:
        save_download(call, end.arg._replace(text=end.text), stream)


def _handle_telnet(call: Invocation) -> None:
    for arg in call.parse_options("l b e n S X").rest[:1]:
        add_connection(call, arg, call.stdin, call.name)
    call.stdout = NETWORK_STREAM


_PUT_VERBS = frozenset({"put", "mput", "send", "reput", "append", "mirror"})


def _handle_ftp(call: Invocation) -> None:
    """`ftp`, `sftp`, `lftp`, `tftp`, `smbclient`: commands come from options, a file or a pipe."""
    options = call.parse_options("b c e P p u U i o F l s B R D S T N W I A d m")
    texts = [arg.text for arg in options.values("c", "e")]
    texts += [read_sent_file(call, arg, arg.text).text or "" for arg in options.values("b")]
    texts.append(call.stdin.text or "")
    hosts = list(options.rest[:1])
    host = hosts[0].text.rpartition("@")[2].lstrip("/").partition("/")[0].partition(":")[0] if hosts else ""
    call.add_effect("connect", call.name, hosts[0] if hosts else None, host=host)
    for line in re.split(r"[;\n]", "\n".join(texts)):
        _analyze_ftp_command(call, line.split(), host)
    call.stdout = NETWORK_STREAM


def _handle_sftp(call: Invocation) -> None:
    from trotline.analysis.programs.remote import analyze_ssh_options  # noqa: PLC0415 - other programs do not need it

    options = call.parse_options("B b c D F i J l o P R s X", scripts="S")
    analyze_ssh_options(call, options.values("o"))
    _handle_ftp(call)


def _analyze_ftp_command(call: Invocation, words: list[str], host: str) -> None:
    if not words:
        return
    verb = words[0].lower()
    if verb.startswith("!"):
        call.analyze_script(call.program._replace(text=" ".join(words)[1:]))
    files = [word for word in words[1:] if not word.startswith("-")]
    sends = verb in _PUT_VERBS and (verb != "mirror" or "-R" in words or "--reverse" in words)
    if sends:
        stream = read_sent_file(call, call.program, files[0]) if files else UNKNOWN_STREAM
        call.add_send(host, source=stream.effect_source, verb="put")
    elif verb in {"get", "mget"} and files:
        save_download(call, call.program._replace(text=files[-1].rpartition("/")[2]))
    elif verb in {"rm", "mrm", "rmdir", "del", "mdelete", "delete", "glob"}:
        call.add_effect("send", "delete", host=host, target=f"{host}/{files[0] if files else ''}", writes=True)


def _handle_dns_lookup(call: Invocation) -> None:
    """The DNS server of a domain sees the name that is looked up, so that a name can carry data out."""
    options = call.parse_options("c i W w t s I S l p m M x y k q f b4 type port")
    for arg in options.rest:
        has_fixed_part = arg.text.strip(UNKNOWN_CHAR + "@") != ""  # a whole name may come from a list
        if arg.stream is not None and has_fixed_part and (not arg.is_known or arg.stream.effect_source):
            call.add_send(arg.text, arg, source=arg.stream.effect_source, verb="name")
    call.stdout = NETWORK_STREAM


def _handle_ztcp(call: Invocation) -> None:
    """A builtin of zsh that opens a connection."""
    options = call.parse_options("d l")
    for port in options.values("l"):
        add_listener(call, port.text, port)
    for host in options.rest[:1] if not options.has("l", "c", "L") else ():
        call.add_effect("connect", "socket", host, host=get_host(host.text))


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(_TUNNELS, _handle_tunnel),
    **dict.fromkeys("mail mailx mutt neomutt sendmail msmtp ssmtp swaks s-nail".split(), _handle_mail),
    **dict.fromkeys("tcpdump tshark dumpcap wireshark ettercap bettercap dsniff ngrep".split(), _handle_sniffer),
    **dict.fromkeys(
        "nmap masscan zmap rustscan nikto dirb gobuster feroxbuster ffuf wfuzz whatweb sqlmap hydra medusa patator"
        " wpscan nuclei amass subfinder msfconsole msfvenom john hashcat aircrack-ng responder enum4linux"
        " crackmapexec arp-scan fping hping3 nbtscan unicornscan dnsrecon fierce dnsenum theharvester recon-ng dnsx"
        " assetfinder bloodhound-python ldeep windapsearch enum4linux-ng searchsploit beef-xss".split(),
        _handle_scanner,
    ),
    **dict.fromkeys("http-server serve miniserve darkhttpd webfsd".split(), _handle_web_server),
    **dict.fromkeys("dig drill host nslookup ping ping6 traceroute whois".split(), _handle_dns_lookup),
    **dict.fromkeys("ftp lftp ncftpput smbclient tftp".split(), _handle_ftp),
    **dict.fromkeys("nc ncat netcat".split(), _handle_netcat),
    **dict.fromkeys("rlogin telnet".split(), _handle_telnet),
    "sftp": _handle_sftp,
    "socat": _handle_socat,
    "ztcp": _handle_ztcp,
}
