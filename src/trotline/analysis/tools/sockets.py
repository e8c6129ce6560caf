"""Programs that connect two ends: a port, a file, a program. What is run at one end obeys the other."""

import re
from typing import NamedTuple

from trotline.analysis.addresses import host_of
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SILENT, UNSEEN, Stream
from trotline.analysis.tools.requests import NETWORK, connected, file_of, listening, saved
from trotline.analysis.tools.ssh_options import started

_NC = "c e g G i I m O p P q s T V w W x X exec sh-exec lua-exec proxy proxy-type source-port source wait idle-timeout"


def _netcat(step: Step) -> None:
    found = step.options([*_NC.split(), "allow", "deny", "output", "max-conns", "ssl-cert", "ssl-key"])
    listens = found.has("l", "listen")
    words = found.rest
    out = step.stdin
    for at in found.values("e", "exec"):
        out = step.run([at._replace(text=part) for part in at.text.split()], NETWORK)
    for at in found.values("c", "sh-exec"):
        out = step.script(at, NETWORK)
    for at in found.values("lua-exec"):
        step.effect("execute", "run", at, path=step.path(at), source="file")
    if found.has("z"):
        step.out = SILENT
        for at in words[:1]:
            step.effect("connect", "probe", at, host=at.text)
        return
    if listens:
        listening(step, words[-1].text if words else found.value("p"), words[-1] if words else None)
        if out.carried:
            step.send("", source=out.carried)
    for at in () if listens else words[:1]:
        if found.has("U"):
            step.effect("connect", "socket", at, path=step.path(at))
        else:
            connected(step, at, out, step.name)
    step.out = NETWORK if words or listens else SILENT


class _End(NamedTuple):
    """One of the two addresses of socat."""

    kind: str
    text: str
    at: Argument


_LISTENS = re.compile(r"(?i)^(?:tcp|udp|ssl|openssl|sctp|vsock)[46l]?-?(?:l|listen|recv|recvfrom)$")
_HOSTS = re.compile(r"(?i)^(?:tcp|udp|ssl|openssl|sctp|socks|proxy|quic|dtls|vsock)[-a-z0-9]*$")


def _end(at: Argument) -> _End:
    kind, colon, rest = at.text.partition(":")
    kind = kind.partition(",")[0].lower()
    if not colon:
        files = {"-": "stdio", "stdio": "stdio", "stdin": "stdio", "stdout": "stdio", "pipe": "stdio"}
        bare = "unix" if at.text.endswith((".sock", ".socket")) else "file"
        return _End(files.get(kind, bare), at.text, at)
    if kind in {"exec", "system", "shell"}:
        return _End(kind, _before_comma(rest), at)
    if _LISTENS.match(kind):
        return _End("listen", rest.partition(",")[0], at)
    if kind.startswith(("unix", "abstract")):
        return _End("unix", rest.partition(",")[0], at)
    if _HOSTS.match(kind):
        parts = rest.partition(",")[0].split(":")
        return _End("host", parts[1] if kind.startswith(("socks", "proxy")) and len(parts) > 1 else parts[0], at)
    if kind == "fd":
        return _End("fd", rest.partition(",")[0], at)
    return _End("file", rest.partition(",")[0], at)


def _before_comma(text: str) -> str:
    """What comes before the first comma that no quote and no backslash protects."""
    quote, at = "", 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char in "\"'":
            quote = "" if quote == char else quote or char
        elif char == "," and not quote:
            return text[:at]
        at += 1
    return text


def _socat(step: Step) -> None:
    found = step.options("b t T l s S lf L W".split(), long_dash=True)
    ends = [_end(at) for at in found.rest[:2]]
    if len(ends) < 2:
        return
    for end, other in (ends, ends[::-1]):
        if end.kind == "listen":
            listening(step, end.text, end.at)
        elif end.kind == "unix":
            _told(step, end)
        if end.kind in {"exec", "system", "shell"} and other.kind not in {"exec", "system", "shell"}:
            _sent(step, other, _started(step, end, _flow(step, other)))
        elif other.kind in {"exec", "system", "shell"}:
            continue
        else:
            _sent(step, end, _flow(step, other))
    step.out = NETWORK if any(end.kind in {"host", "listen"} for end in ends) else UNSEEN


_ASKS = ("show", "help", "info", "get", "list", "stat", "ping", "status", "version", "describe")


def _told(step: Step, end: _End) -> None:
    """A service is spoken to through its socket: what is no question is an order."""
    path = step.path(end.at._replace(text=end.text))
    said = (step.stdin.text or "").strip().lower()
    if said and not said.startswith(_ASKS):
        step.effect("send", "socket", end.at, path=path, host=path, target=said, writes=True)
    else:
        step.effect("connect", "socket", end.at, path=path)


def _flow(step: Step, end: _End) -> Stream:
    if end.kind in {"host", "listen"}:
        return NETWORK
    if end.kind == "file":
        return file_of(step, end.at, end.text)
    if end.kind == "fd":
        return step.scene.descriptors.get(end.text, ("", step.stdin))[1]
    return step.stdin if end.kind == "stdio" else UNSEEN


def _started(step: Step, end: _End, stdin: Stream) -> Stream:
    import shlex  # noqa: PLC0415 - seldom

    if end.kind != "exec":
        return step.script(end.at._replace(text=end.text), stdin)
    try:
        words = shlex.split(end.text)
        # A shell removed one layer of quotes, socat removes the next.
        words = shlex.split(words[0]) if len(words) == 1 and " " in words[0] else words
    except ValueError:
        words = end.text.split()
    return step.run([end.at._replace(text=word) for word in words], stdin)


def _sent(step: Step, end: _End, stream: Stream) -> None:
    """What flows into an end."""
    if end.kind == "host":
        connected(step, end.at._replace(text=end.text), stream, "socat")
    elif end.kind == "listen" and stream.carried:
        step.send("", end.at, source=stream.carried)
    elif end.kind == "fd":
        path = step.scene.descriptors.get(end.text, ("", stream))[0]
        if path.startswith("/dev/tcp/"):
            step.send(path.split("/")[3], end.at, source=stream.carried)
    elif end.kind == "file" and "network" in stream.origins:
        saved(step, end.at._replace(text=end.text), stream)


def _telnet(step: Step) -> None:
    for at in step.options("l b e n S X".split()).rest[:1]:
        connected(step, at, step.stdin, step.name)
    step.out = NETWORK


_PUTS = frozenset({"put", "mput", "send", "reput", "append", "mirror"})


def _session(step: Step) -> None:
    """`ftp`, `sftp`, `lftp`, `tftp`, `smbclient`: commands come as words, from a file, or through a pipe."""
    found = step.options("b c e P p u U i o F l s B R D S T N W I A d m".split(), stops=False)
    texts = [at.text for at in found.values("c", "e")]
    texts += [file_of(step, at, at.text).text or "" for at in found.values("b")]
    texts.append(step.stdin.text or "")
    hosts = list(found.rest[:1])
    host = hosts[0].text.rpartition("@")[2].lstrip("/").partition("/")[0].partition(":")[0] if hosts else ""
    step.effect("connect", step.name, hosts[0] if hosts else None, host=host)
    for line in re.split(r"[;\n]", "\n".join(texts)):
        _said(step, line.split(), host)
    step.out = NETWORK


def _sftp(step: Step) -> None:
    found = step.options("B b c D F i J l o P R S s X".split())
    started(step, found.values("o"))
    for program in found.values("S"):  # in the place of ssh
        step.script(program)
    _session(step)


def _said(step: Step, words: list[str], host: str) -> None:
    if not words:
        return
    verb = words[0].lower()
    if verb.startswith("!"):
        step.script(step.program._replace(text=" ".join(words)[1:]))
    files = [word for word in words[1:] if not word.startswith("-")]
    sends = verb in _PUTS and (verb != "mirror" or "-R" in words or "--reverse" in words)
    if sends:
        stream = file_of(step, step.program, files[0]) if files else UNSEEN
        step.send(host, source=stream.carried, verb="put")
    elif verb in {"get", "mget"} and files:
        saved(step, step.program._replace(text=files[-1].rpartition("/")[2]))
    elif verb in {"rm", "mrm", "rmdir", "del", "mdelete", "delete", "glob"}:
        step.effect("send", "delete", host=host, target=f"{host}/{files[0] if files else ''}", writes=True)


def _lookup(step: Step) -> None:
    """Names that are looked up reach the server of their domain: what is in the name is told to it."""
    found = step.options("c i W w t s I S l p m M x y k q f b4 type port".split())
    for at in found.rest:
        told = at.stream is not None and at.text.strip(UNKNOWN + "@") != ""  # a whole name may come from a list
        if at.stream is not None and told and (not at.known or at.stream.carried):
            step.send(at.text, at, source=at.stream.carried, verb="name")
    step.out = NETWORK


def _ztcp(step: Step) -> None:
    """A builtin of zsh that connects the shell itself."""
    found = step.options("d l".split())
    for port in found.values("l"):
        listening(step, port.text, port)
    for host in found.rest[:1] if not found.has("l", "c", "L") else ():
        step.effect("connect", "socket", host, host=host_of(host.text))


TOOLS: dict[str, Handler] = {
    "dig": _lookup,
    "drill": _lookup,
    "ftp": _session,
    "host": _lookup,
    "lftp": _session,
    "nc": _netcat,
    "ncat": _netcat,
    "ncftpput": _session,
    "netcat": _netcat,
    "nslookup": _lookup,
    "ping": _lookup,
    "ping6": _lookup,
    "rlogin": _telnet,
    "sftp": _sftp,
    "smbclient": _session,
    "socat": _socat,
    "telnet": _telnet,
    "tftp": _session,
    "traceroute": _lookup,
    "whois": _lookup,
    "ztcp": _ztcp,
}
