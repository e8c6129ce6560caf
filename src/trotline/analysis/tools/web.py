"""Clients of the web: what they fetch, where they put it, and what they send along."""

import re

from trotline.analysis.options import Options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SILENT, Stream, joined
from trotline.analysis.tools.requests import NETWORK, file_of, header_of, listening, name_in, request, saved, text_of

_CURL = (
    "A b c C d D e E F H K m o P Q r t T u U w x X y Y z cert cert-type ciphers config connect-timeout connect-to"
    " continue-at cookie cookie-jar data data-ascii data-binary data-raw data-urlencode dns-servers dump-header"
    " engine expect100-timeout form form-string ftp-port header interface json keepalive-time key limit-rate"
    " local-port mail-auth mail-from mail-rcpt max-filesize max-redirs max-time netrc-file noproxy output output-dir"
    " parallel-max pass pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-header proxy-user quote range"
    " rate referer request request-target resolve retry retry-delay retry-max-time socks4 socks4a socks5"
    " socks5-hostname speed-limit speed-time stderr tls-max trace trace-ascii unix-socket abstract-unix-socket"
    " upload-file url url-query user user-agent write-out cacert capath crlfile doh-url variable"
).split()
_WGET = (
    "a A B D e i I l o O P Q R t T U w X accept append-output base body-data body-file ca-certificate config"
    " connect-timeout cut-dirs directory-prefix domains exclude-directories execute header http-password http-user"
    " include-directories input-file level limit-rate load-cookies method output-document output-file password"
    " post-data post-file private-key quota referer reject save-cookies timeout tries user user-agent use-askpass wait"
    " warc-file"
).split()


def _exactly(found: Options, *names: str) -> list[Argument]:
    """Values of these very names: `--data` is no short form of `--data-binary`."""
    return [value for name in names for value in found.flags.get(name, []) if value is not None]


def _curl(step: Step) -> None:
    asks_head = any(word.text == "--head" for word in step.words)
    words = [word for word in step.words if word.text != "--head"]
    step.words = words
    found = step.options(_CURL)
    if found.flags.keys() & {"V", "version", "h", "help", "M", "manual"}:
        step.out = SILENT
        return
    data = _curl_data(step, found)
    uploads = _exactly(found, "T", "upload-file")
    data += [file_of(step, at, at.text) for at in uploads]
    asks = asks_head or bool(found.flags.keys() & {"I", "G", "get"})
    method = "HEAD" if asks_head or "I" in found.flags else "PUT" if uploads else "POST" if data and not asks else "GET"
    for at in _exactly(found, "X", "request"):
        method = at.text.upper()
    data += [header_of(at) for at in _exactly(found, "H", "header", "A", "user-agent", "e", "referer")]
    along = _exactly(found, "b", "cookie", "u", "user")
    data += [at.stream.without("secret") for at in along if at.stream is not None]  # a token belongs there
    _curl_surroundings(step, found)
    urls = [*found.rest, *_exactly(found, "url")]
    out = joined([request(step, url, method, data) for url in urls]) if urls else SILENT
    step.out = _curl_saved(step, found, urls, out)


def _curl_data(step: Step, found: Options) -> list[Stream]:
    streams = [text_of(at) for at in _exactly(found, "data-raw", "form-string", "url-query")]
    streams += [
        file_of(step, at, at.text[1:]) if at.text.startswith("@") else text_of(at)
        for at in _exactly(found, "d", "data", "data-ascii", "data-binary", "json")
    ]
    for at in _exactly(found, "data-urlencode"):
        name, mark, path = at.text.partition("@")
        streams.append(file_of(step, at, path) if mark and "=" not in name else text_of(at))
    for at in _exactly(found, "F", "form"):
        value = at.text.partition("=")[2]
        files = value[1:].partition(";")[0].split(",") if value[:1] in {"@", "<"} else []
        streams += [file_of(step, at, path.strip('"')) for path in files] or [text_of(at)]
    return streams


def _curl_surroundings(step: Step, found: Options) -> None:
    """Settings, cookies, sockets and proxies."""
    for at in _exactly(found, "K", "config"):
        step.read(at)
        step.opaque("what curl does is written in a file", at, kind="connect")
    for at in _exactly(found, "b", "cookie"):
        if "=" not in at.text and at.known:
            step.read(at, verb="authenticate")
    for at in _exactly(found, "D", "dump-header", "c", "cookie-jar", "trace", "trace-ascii", "stderr"):
        if at.text not in {"-", "%"}:
            step.write(at, verb="download")
    for at in _exactly(found, "unix-socket", "abstract-unix-socket"):
        step.effect("connect", "socket", at, path=step.path(at))
    for at in _exactly(found, "x", "proxy", "preproxy", "socks5", "socks5-hostname", "socks4", "socks4a"):
        step.effect("connect", "proxy", at, host=at.text)


def _curl_saved(step: Step, found: Options, urls: list[Argument], out: Stream) -> Stream:
    files = _exactly(found, "o", "output")
    if found.flags.keys() & {"O", "remote-name", "remote-name-all", "J"}:
        files += [name_in(url, "curl_response") for url in urls]
    folder = _exactly(found, "output-dir")
    for at in files:
        if at.text not in {"-", "/dev/stdout"}:
            saved(step, at._replace(text=f"{folder[-1].text}/{at.text}") if folder else at, out)
    return SILENT if files and not any(at.text in {"-", "/dev/stdout"} for at in files) else out


def _wget(step: Step) -> None:
    found = step.options(_WGET)
    if found.has("V", "version", "h", "help"):
        return
    data = [text_of(at) for at in found.values("post-data", "body-data")]
    data += [header_of(at) for at in found.values("header", "U", "user-agent", "referer")]
    files = found.values("post-file", "body-file")
    data += [file_of(step, at, at.text) for at in files]
    method = (found.value("method") or ("POST" if files or found.has("post-data") else "GET")).upper()
    for at in found.values("e", "execute"):
        method = _wget_setting(step, at, data) or method
    for at in found.values("use-askpass"):
        step.run([at])
    for at in found.values("i", "input-file"):
        step.read(at)
        step.opaque("which addresses are fetched is written in a file", at, kind="fetch")
    out = joined([request(step, url, method, data) for url in found.rest]) if found.rest else SILENT
    step.out = SILENT if found.has("spider") else _wget_saved(step, found, out)


def _wget_setting(step: Step, at: Argument, data: list[Stream]) -> str:
    """`-e post_file=x` is the option by another name."""
    name, _, value = at.text.partition("=")
    plain, value = name.strip().replace("-", "_").lower(), value.strip()
    if plain in {"post_file", "body_file"}:
        data.append(file_of(step, at, value))
        return "POST"
    if plain == "use_askpass":
        step.run([at._replace(text=value)])
    return value.upper() if plain == "method" else ""


def _wget_saved(step: Step, found: Options, out: Stream) -> Stream:
    targets = found.values("O", "output-document")
    if any(at.text in {"-", "/dev/stdout"} for at in targets):
        return out
    folder = found.value("P", "directory-prefix")
    for at in targets or [name_in(url) for url in found.rest]:
        saved(step, at._replace(text=f"{folder}/{at.text}") if folder and not targets else at, out)
    return SILENT


_ITEM = re.compile(r"^[^:=@\s]+(:=@|=@|:=|==|=|@|:)(.*)$", re.DOTALL)


def _httpie(step: Step) -> None:
    found = step.options("a A o p s v verify proxy cert timeout auth auth-type output print session style".split())
    words = list(found.rest)
    method = words.pop(0).text.upper() if words and words[0].text.isalpha() and words[0].text.isupper() else ""
    data: list[Stream] = [step.stdin] if step.stdin.carried or step.stdin.text else []
    url, items = words[:1], words[1:]
    posts = bool(data) or found.has("f", "form", "raw")
    for item in items:
        match = _ITEM.match(item.text)
        mark = match[1] if match else "="
        if "@" in mark and match:
            data.append(file_of(step, item, match[2]))
        elif mark != ":":
            data.append(text_of(item))
        posts |= mark not in {"==", ":"}
    out = joined([request(step, at, method or ("POST" if posts else "GET"), data) for at in url] or [SILENT])
    targets = found.values("o", "output")
    if found.has("d", "download") and not targets:
        targets = [name_in(at) for at in url]
    for at in targets:
        saved(step, at)
    step.out = SILENT if targets else out


_ADDRESS = re.compile(r"(?i)^(?:[a-z][a-z0-9+.-]*:|[\w-]+(?:\.[\w-]+)+(?:[:/]|$))")


def _downloader(step: Step) -> None:
    """`aria2c`, `axel`, `fetch`: what they fetch goes into a file."""
    found = step.options("o d i n j x s output dir input-file".split())
    for at in found.values("i", "input-file"):
        step.read(at)
    for url in found.rest:
        content = request(step, url)
        named = found.values("o", "output")
        folder = found.value("d", "dir")
        target = named[-1] if named else name_in(url)
        if target.text != "-":
            saved(step, target._replace(text=f"{folder}/{target.text}") if folder else target, content)
    step.out = NETWORK if found.value("o", "output") == "-" else SILENT


def _youtube(step: Step) -> None:
    found = step.options("o f P exec output format paths cookies config-locations batch-file a".split())
    for at in found.values("exec"):
        step.script(at)
    for url in found.rest:
        request(step, url)


def _browser(step: Step) -> None:
    """Browsers of the terminal print what they fetch; a file is one too."""
    found = step.options("cfg T cmd_script o".split(), long_dash=True)
    for url in found.rest:
        if _ADDRESS.match(url.text) or not url.known:
            request(step, url)
        else:
            step.read(url)
    step.out = NETWORK


def _open(step: Step) -> None:
    """An address is opened by a person's browser; a file by whatever knows it."""
    found = step.options("a b n".split(), long_dash=True)
    for at in found.rest:
        if "://" in at.text and not at.text.startswith("file:"):
            request(step, at)
        else:
            step.effect("execute", "open", at, path=step.path(at), source="file")


def _grpc(step: Step) -> None:
    found = step.options("d H import-path proto protoset cert key cacert authority max-time".split(), long_dash=True)
    words = found.rest
    data = [
        file_of(step, at, at.text[1:] or "-") if at.text.startswith("@") else text_of(at) for at in found.values("d")
    ]
    name = words[-1].text.rpartition("/")[2].rpartition(".")[2] if len(words) > 1 else "list"
    reads = name.lower().startswith(("get", "list", "describe", "search", "watch", "check", "find", "read", "count"))
    for at in words[:1]:
        request(
            step, at, "GET" if reads else "DELETE" if name.lower().startswith(("delete", "remove")) else "POST", data
        )
    step.out = NETWORK


def _websocket(step: Step) -> None:
    found = step.options("H c x s connect header execute".split())
    urls = [*(at for at in found.rest if "://" in at.text), *found.values("c", "connect")]
    said = [at for at in found.rest if "://" not in at.text] + found.values("x", "execute")
    data = [text_of(at) for at in said] + ([step.stdin] if step.stdin.text or step.stdin.carried else [])
    for at in found.values("s"):
        listening(step, at.text, at)
    for url in urls:
        request(step, url, "POST" if data else "GET", data)
    step.out = NETWORK


TOOLS: dict[str, Handler] = {
    "aria2c": _downloader,
    "axel": _downloader,
    "curl": _curl,
    "curlie": _curl,
    "elinks": _browser,
    "fetch": _downloader,
    "grpcurl": _grpc,
    "http": _httpie,
    "https": _httpie,
    "links": _browser,
    "lynx": _browser,
    "open": _open,
    "sensible-browser": _open,
    "w3m": _browser,
    "websocat": _websocket,
    "wget": _wget,
    "wget2": _wget,
    "wscat": _websocket,
    "xdg-open": _open,
    "xh": _httpie,
    "xhs": _httpie,
    "youtube-dl": _youtube,
    "yt-dlp": _youtube,
}
