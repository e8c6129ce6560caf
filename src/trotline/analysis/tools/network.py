"""Messages, tunnels, keys and what else reaches other machines or other people."""

import re

from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream, joined
from trotline.analysis.tools.requests import NETWORK, file_of, listening


def _mail(step: Step) -> None:
    """A message leaves as soon as it has somebody to go to."""
    found = step.options("a A s c b r S f q E i H F C o e h t to from server subject attach body header".split())
    files = [at for at in found.values("a", "A", "attach", "q") if ":" not in at.text]
    data = joined([step.stdin, *(file_of(step, at, at.text) for at in files)])
    people = [at for at in (*found.rest, *found.values("to", "c", "b")) if at.text != "-t"]
    wanted = people or ([step.program] if step.name in {"sendmail", "msmtp", "ssmtp"} and found.has("t") else [])
    for at in wanted[:4]:
        step.effect("send", "mail", at, host=at.text.rpartition("@")[2], target=at.text, source=data.carried)


_TUNNELS = {
    # the words that only show something, or nothing at all
    "bore": "help version",
    "chisel": "--help --version",
    "cloudflared": "help version update login list info --version",
    "devtunnel": "help list show user --version",
    "frpc": "help verify --version -v",
    "gotty": "--help --version",
    "iodine": "-h -v",
    "localtunnel": "--help --version",
    "lt": "--help --version",
    "ngrok": "help version config update credits diagnose --version",
    "pagekite": "--help",
    "tailscale": "status ip version ping netcheck whois up down login logout set help cert file bugreport",
    "tmate": "-V",
    "ttyd": "--help --version -h -v",
    "upterm": "version help session",
    "zrok": "version help status overview",
}


def _tunnel(step: Step) -> None:
    """A way into this machine from everywhere."""
    words = [word.text for word in step.words]
    harmless = _TUNNELS[step.name].split()
    if not words and step.name not in {"tmate", "lt", "localtunnel"}:
        return
    second = words[1] if len(words) > 1 else ""
    if words and (words[0] in harmless or second in {"list", "info", "show", "login", "help", "--help", "status"}):
        return
    if step.name == "tailscale" and words[:1] not in (["funnel"], ["serve"], ["ssh"]):
        return
    step.effect("connect", "tunnel", target=" ".join([step.name, *words[:2]]))


def _ssh_copy_id(step: Step) -> None:
    found = step.options("i p o t".split())
    for at in found.rest[:1]:
        host = at.text.rpartition("@")[2]
        step.effect("persist", "ssh key", at, host=host, target=f"the authorized keys of {host}", writes=True)


def _ssh_keygen(step: Step) -> None:
    found = step.options("a b C E e F f I i K k l M m N n O P R r s t V w Y Z".split())
    if found.has("R"):
        step.effect("system", "settings", target="the known hosts", writes=True)
    if found.has("l", "y", "F", "H", "e", "B", "Q", "L", "R"):
        return
    for at in found.values("f"):
        step.write(at, verb="key")


def _ssh_add(step: Step) -> None:
    found = step.options("E e H h S s t".split())
    for at in found.rest:
        step.read(at, verb="authenticate")
    if found.has("D"):
        step.effect("system", "remove key", target="the keys that the agent holds")


def _keyscan(step: Step) -> None:
    for at in step.options("f p T t".split()).rest:
        step.effect("fetch", "get", at, host=at.text)
    step.out = NETWORK


def _gpg(step: Step) -> None:
    found = step.options("o r u output recipient local-user homedir keyserver passphrase passphrase-file".split())
    if any(flag.startswith("export-sec") for flag in found.flags):  # `--export` is no short form of it
        step.effect("read", "secret", target="private keys", recursive=True)
        step.out = Stream(None, frozenset({"file"}), (f"{step.scene.world.home}/.gnupg/private-keys-v1.d",))
    if any(flag.startswith("delete-sec") for flag in found.flags):
        step.effect("system", "remove key", target="a private key")
    for at in found.values("o", "output"):
        step.write(at)
    for at in found.values("passphrase-file"):
        step.read(at)
    decrypts = found.has("d", "decrypt") or not found.flags
    if decrypts:
        stream = joined([file_of(step, at, at.text) for at in found.rest[:1]] or [step.stdin])
        step.out = stream.passed_on().also("decoded")


def _age(step: Step) -> None:
    found = step.options("i o r R p identity output recipient recipients-file".split())
    for at in found.values("i", "identity"):
        step.read(at, verb="authenticate")
    for at in found.values("o", "output"):
        step.write(at)
    stream = joined([file_of(step, at, at.text) for at in found.rest[:1]] or [step.stdin])
    step.out = stream.passed_on().also("decoded") if found.has("d", "decrypt") else stream.passed_on()


_SHELL_SCRIPT = re.compile(r'(?i)do\s*(?:shell\s*)?script\s*(?:\(\s*)?"((?:[^"\\]|\\.)*)"')
_HIDDEN = re.compile(r"(?i)hidden answer")


def _osascript(step: Step) -> None:
    found = step.options("e l s i".split())
    texts = found.values("e") or [step.program._replace(text=step.stdin.text or "")]
    piped = not found.has("e") and (not found.rest or found.rest[0].text == "-")
    if piped and step.stdin.origins & {"network", "decoded"}:
        step.effect("execute", "pipe", source=step.stdin.origin, why="osascript runs what comes through the pipe")
    for at in texts:
        for match in _SHELL_SCRIPT.finditer(at.text):
            step.script(at._replace(text=match[1].replace('\\"', '"').replace("\\\\", "\\")))
        if _HIDDEN.search(at.text):
            step.effect("read", "secret", at, target="a password that the person is asked for")
        if "administrator privileges" in at.text.lower():
            step.effect("privilege", "osascript", at)
    for at in found.rest[:1] if not found.has("e") else ():
        step.effect("execute", "run", at, path=step.path(at), source="file")


def _clipboard(step: Step) -> None:
    """The clipboard of the person: taken, or filled."""
    found = step.options("selection sel display d".split(), long_dash=True)
    takes = step.name in {"pbpaste", "wl-paste"} or bool(found.flags.keys() & {"o", "out", "output", "b-o", "ob", "bo"})
    if not takes:
        return
    step.effect("read", "clipboard", target="clipboard")
    step.out = Stream(None, frozenset({"clipboard"}))


def _screen(step: Step) -> None:
    files = [word for word in step.words if word.known and not word.text.startswith("-")]
    step.effect("read", "screen", target="screen")
    for at in files[-1:]:
        step.write(at)
        step.scene.keep(step.path(at), Stream(None, frozenset({"screen"})))


def _sniffer(step: Step) -> None:
    """Traffic of others, as it passes."""
    found = step.options("i w r c s W C G F Y f".split())
    if found.has("r", "D", "version", "h", "help"):
        return
    step.effect("read", "traffic", target=found.value("i") or "the network")
    for at in found.values("w"):
        if at.text != "-":
            step.write(at)


def _scanner(step: Step) -> None:
    """Machines of others are tried out."""
    found = step.options()
    targets = [at for at in found.rest if at.known]
    step.effect("connect", "scan", target=targets[-1].text if targets else "", host=_host(targets))


def _host(targets: list[Argument]) -> str:
    return targets[-1].text if targets else ""


def _web_server(step: Step) -> None:
    """Servers of files that need one word to serve a whole directory."""
    found = step.options("p l listen port host a address d directory".split())
    listening(step, found.value("p", "port", "l", "listen"), address=found.value("host", "a", "address"))


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(_TUNNELS, _tunnel),
    **dict.fromkeys("mail mailx mutt neomutt sendmail msmtp ssmtp swaks s-nail".split(), _mail),
    **dict.fromkeys("pbcopy pbpaste xclip xsel wl-copy wl-paste".split(), _clipboard),
    **dict.fromkeys("screencapture scrot gnome-screenshot grim spectacle maim".split(), _screen),
    **dict.fromkeys("tcpdump tshark dumpcap wireshark ettercap bettercap dsniff ngrep".split(), _sniffer),
    **dict.fromkeys(
        "nmap masscan zmap rustscan nikto dirb gobuster feroxbuster ffuf wfuzz whatweb sqlmap hydra medusa patator"
        " wpscan nuclei amass subfinder msfconsole msfvenom john hashcat aircrack-ng responder enum4linux"
        " crackmapexec arp-scan fping hping3 nbtscan unicornscan dnsrecon fierce dnsenum theharvester recon-ng dnsx"
        " assetfinder bloodhound-python ldeep windapsearch enum4linux-ng searchsploit beef-xss".split(),
        _scanner,
    ),
    **dict.fromkeys("http-server serve miniserve darkhttpd webfsd".split(), _web_server),
    "age": _age,
    "gpg": _gpg,
    "gpg2": _gpg,
    "osascript": _osascript,
    "ssh-add": _ssh_add,
    "ssh-copy-id": _ssh_copy_id,
    "ssh-keygen": _ssh_keygen,
    "ssh-keyscan": _keyscan,
}
