"""Web clients: curl, wget, HTTPie, downloaders, browsers."""

import re

from trotline.analysis.options import ParsedOptions
from trotline.analysis.programs.network_effects import (
    NETWORK_STREAM,
    add_listener,
    add_request,
    get_download_name,
    get_header_stream,
    get_text_stream,
    read_sent_file,
    save_download,
)
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, Stream, join_streams
from trotline.formats.lazy_regex import lazy_regex

_CURL_VALUED = (
    "A b c C d D e E F H K m o P Q r t T u U w x X y Y z cert cert-type ciphers config connect-timeout connect-to"
    " continue-at cookie cookie-jar data data-ascii data-binary data-raw data-urlencode dns-servers dump-header"
    " engine expect100-timeout form form-string ftp-port header interface json keepalive-time key limit-rate"
    " local-port mail-auth mail-from mail-rcpt max-filesize max-redirs max-time netrc-file noproxy output output-dir"
    " parallel-max pass pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-header proxy-user quote range"
    " rate referer request request-target resolve retry retry-delay retry-max-time socks4 socks4a socks5"
    " socks5-hostname speed-limit speed-time stderr tls-max trace trace-ascii unix-socket abstract-unix-socket"
    " upload-file url url-query user user-agent write-out cacert capath crlfile doh-url variable"
)
_WGET_VALUED = (
    "a A B D e i I l o O P Q R t T U w X accept append-output base body-data body-file ca-certificate config"
    " connect-timeout cut-dirs directory-prefix domains exclude-directories execute header http-password http-user"
    " include-directories input-file level limit-rate load-cookies method output-document output-file password"
    " post-data post-file private-key quota referer reject save-cookies timeout tries user user-agent use-askpass wait"
    " warc-file"
)


def _get_exact_values(options: ParsedOptions, *names: str) -> list[Argument]:
    """Return the values of exactly these options: `--data` is not an abbreviation of `--data-binary`."""
    return [value for name in names for value in options.flags.get(name, []) if value is not None]


def _handle_curl(call: Invocation) -> None:
    has_head = any(word.text == "--head" for word in call.args)  # not an abbreviation of `--header`
    call.args = [word for word in call.args if word.text != "--head"]
    options = call.parse_options(_CURL_VALUED)
    if options.flags.keys() & {"V", "version", "h", "help", "M", "manual"}:
        call.stdout = EMPTY_STREAM
        return
    data = _read_curl_data(call, options)
    uploads = _get_exact_values(options, "T", "upload-file")
    data += [read_sent_file(call, arg, arg.text) for arg in uploads]
    has_head = has_head or "I" in options.flags
    posts = data and not options.flags.keys() & {"G", "get"}
    method = "HEAD" if has_head else "PUT" if uploads else "POST" if posts else "GET"
    for arg in _get_exact_values(options, "X", "request"):
        method = arg.text.upper()
    headers = _get_exact_values(options, "H", "header", "A", "user-agent", "e", "referer")
    data += [get_header_stream(arg) for arg in headers]
    logins = _get_exact_values(options, "b", "cookie", "u", "user")  # they are expected to contain a secret
    data += [arg.stream.remove_origin("secret") for arg in logins if arg.stream is not None]
    _analyze_curl_files(call, options)
    urls = [*options.rest, *_get_exact_values(options, "url")]
    out = join_streams([add_request(call, url, method, data) for url in urls]) if urls else EMPTY_STREAM
    call.stdout = _save_curl_output(call, options, urls, out)


def _read_curl_data(call: Invocation, options: ParsedOptions) -> list[Stream]:
    streams = [get_text_stream(arg) for arg in _get_exact_values(options, "data-raw", "form-string", "url-query")]
    streams += [
        read_sent_file(call, arg, arg.text[1:]) if arg.text.startswith("@") else get_text_stream(arg)
        for arg in _get_exact_values(options, "d", "data", "data-ascii", "data-binary", "json")
    ]
    for arg in _get_exact_values(options, "data-urlencode"):
        name, at_sign, path = arg.text.partition("@")
        streams.append(read_sent_file(call, arg, path) if at_sign and "=" not in name else get_text_stream(arg))
    for arg in _get_exact_values(options, "F", "form"):
        value = arg.text.partition("=")[2]
        files = value[1:].partition(";")[0].split(",") if value[:1] in {"@", "<"} else []
        streams += [read_sent_file(call, arg, path.strip('"')) for path in files] or [get_text_stream(arg)]
    return streams


def _analyze_curl_files(call: Invocation, options: ParsedOptions) -> None:
    """Add settings, cookies, sockets and proxies."""
    for arg in _get_exact_values(options, "K", "config"):
        call.add_read(arg)
        call.add_opaque("what curl does is written in a file", arg, kind="connect")
    for arg in _get_exact_values(options, "b", "cookie"):
        if "=" not in arg.text and arg.is_known:
            call.add_read(arg, verb="authenticate")
    for arg in _get_exact_values(options, "D", "dump-header", "c", "cookie-jar", "trace", "trace-ascii", "stderr"):
        if arg.text not in {"-", "%"}:
            call.add_write(arg, verb="download")
    for arg in _get_exact_values(options, "unix-socket", "abstract-unix-socket"):
        call.add_effect("connect", "socket", arg, path=call.resolve(arg))
    for arg in _get_exact_values(options, "x", "proxy", "preproxy", "socks5", "socks5-hostname", "socks4", "socks4a"):
        call.add_effect("connect", "proxy", arg, host=arg.text)


def _save_curl_output(call: Invocation, options: ParsedOptions, urls: list[Argument], out: Stream) -> Stream:
    files = _get_exact_values(options, "o", "output")
    if options.flags.keys() & {"O", "remote-name", "remote-name-all", "J"}:
        files += [get_download_name(url, "curl_response") for url in urls]
    folder = _get_exact_values(options, "output-dir")
    for arg in files:
        if arg.text not in {"-", "/dev/stdout"}:
            save_download(call, arg._replace(text=f"{folder[-1].text}/{arg.text}") if folder else arg, out)
    return EMPTY_STREAM if files and not any(arg.text in {"-", "/dev/stdout"} for arg in files) else out


def _handle_wget(call: Invocation) -> None:
    options = call.parse_options(_WGET_VALUED)
    if options.has("V", "version", "h", "help"):
        return
    data = [get_text_stream(arg) for arg in options.values("post-data", "body-data")]
    data += [get_header_stream(arg) for arg in options.values("header", "U", "user-agent", "referer")]
    files = options.values("post-file", "body-file")
    data += [read_sent_file(call, arg, arg.text) for arg in files]
    method = (options.value("method") or ("POST" if files or options.has("post-data") else "GET")).upper()
    for arg in options.values("e", "execute"):
        method = _analyze_wget_setting(call, arg, data) or method
    for arg in options.values("use-askpass"):
        call.analyze_command([arg])
    for arg in options.values("i", "input-file"):
        call.add_read(arg)
        call.add_opaque("which addresses are fetched is written in a file", arg, kind="fetch")
    out = join_streams([add_request(call, url, method, data) for url in options.rest]) if options.rest else EMPTY_STREAM
    call.stdout = EMPTY_STREAM if options.has("spider") else _save_wget_output(call, options, out)


def _analyze_wget_setting(call: Invocation, arg: Argument, data: list[Stream]) -> str:
    """Analyze `-e post_file=x`, which is the option `--post-file`, and return the method or nothing."""
    name, _, value = arg.text.partition("=")
    plain, value = name.strip().replace("-", "_").lower(), value.strip()
    if plain in {"post_file", "body_file"}:
        data.append(read_sent_file(call, arg, value))
        return "POST"
    if plain == "use_askpass":
        call.analyze_command([arg._replace(text=value)])
    return value.upper() if plain == "method" else ""


def _save_wget_output(call: Invocation, options: ParsedOptions, out: Stream) -> Stream:
    targets = options.values("O", "output-document")
    if any(arg.text in {"-", "/dev/stdout"} for arg in targets):
        return out
    folder = options.value("P", "directory-prefix")
    for arg in targets or [get_download_name(url) for url in options.rest]:
        save_download(call, arg._replace(text=f"{folder}/{arg.text}") if folder and not targets else arg, out)
    return EMPTY_STREAM


_HTTPIE_ITEM = lazy_regex(r"^[^:=@\s]+(:=@|=@|:=|==|=|@|:)(.*)$", re.DOTALL)


def _handle_httpie(call: Invocation) -> None:
    options = call.parse_options("a A o p s v verify proxy cert timeout auth auth-type output print session style")
    words = list(options.rest)
    method = words.pop(0).text.upper() if words and words[0].text.isalpha() and words[0].text.isupper() else ""
    data: list[Stream] = [call.stdin] if call.stdin.effect_source or call.stdin.text else []
    url, items = words[:1], words[1:]
    posts = bool(data) or options.has("f", "form", "raw")
    for item in items:
        match = _HTTPIE_ITEM.match(item.text)
        separator = match[1] if match else "="
        if "@" in separator and match:
            data.append(read_sent_file(call, item, match[2]))
        elif separator != ":":
            data.append(get_text_stream(item))
        posts |= separator not in {"==", ":"}
    method = method or ("POST" if posts else "GET")
    out = join_streams([add_request(call, arg, method, data) for arg in url] or [EMPTY_STREAM])
    targets = options.values("o", "output")
    if options.has("d", "download") and not targets:
        targets = [get_download_name(arg) for arg in url]
    for arg in targets:
        save_download(call, arg)
    call.stdout = EMPTY_STREAM if targets else out


_URL = lazy_regex(r"(?i)^(?:[a-z][a-z0-9+.-]*:|[\w-]+(?:\.[\w-]+)+(?:[:/]|$))")


def _handle_downloader(call: Invocation) -> None:
    """`aria2c`, `axel`, `fetch` save what they fetch."""
    options = call.parse_options("o d n j x s output dir", reads="i input-file")
    for url in options.rest:
        content = add_request(call, url)
        files = options.values("o", "output")
        folder = options.value("d", "dir")
        target = files[-1] if files else get_download_name(url)
        if target.text != "-":
            save_download(call, target._replace(text=f"{folder}/{target.text}") if folder else target, content)
    call.stdout = NETWORK_STREAM if options.value("o", "output") == "-" else EMPTY_STREAM


def _handle_youtube_dl(call: Invocation) -> None:
    valued = "o f P output format paths cookies config-locations batch-file a"
    for url in call.parse_options(valued, scripts="exec").rest:
        add_request(call, url)


def _handle_browser(call: Invocation) -> None:
    """Terminal browsers print a web page or a file."""
    options = call.parse_options("cfg T cmd_script o", long_dash=True)
    for url in options.rest:
        if _URL.match(url.text) or not url.is_known:
            add_request(call, url)
        else:
            call.add_read(url)
    call.stdout = NETWORK_STREAM


def _handle_open(call: Invocation) -> None:
    """A URL opens in the browser, and a file in the program for its type."""
    options = call.parse_options("a b n", long_dash=True)
    for arg in options.rest:
        if "://" in arg.text and not arg.text.startswith("file:"):
            add_request(call, arg)
        else:
            call.add_effect("execute", "open", arg, path=call.resolve(arg), source="file")


def _handle_grpcurl(call: Invocation) -> None:
    options = call.parse_options("d H import-path proto protoset cert key cacert authority max-time", long_dash=True)
    words = options.rest
    data = [
        read_sent_file(call, arg, arg.text[1:] or "-") if arg.text.startswith("@") else get_text_stream(arg)
        for arg in options.values("d")
    ]
    name = words[-1].text.rpartition("/")[2].rpartition(".")[2] if len(words) > 1 else "list"
    reads = name.lower().startswith(("get", "list", "describe", "search", "watch", "check", "find", "read", "count"))
    deletes = name.lower().startswith(("delete", "remove"))
    for arg in words[:1]:
        add_request(call, arg, "GET" if reads else "DELETE" if deletes else "POST", data)
    call.stdout = NETWORK_STREAM


def _handle_websocat(call: Invocation) -> None:
    options = call.parse_options("H c x s connect header execute")
    urls = [*(arg for arg in options.rest if "://" in arg.text), *options.values("c", "connect")]
    messages = [arg for arg in options.rest if "://" not in arg.text] + options.values("x", "execute")
    data = [get_text_stream(arg) for arg in messages]
    data += [call.stdin] if call.stdin.text or call.stdin.effect_source else []
    for arg in options.values("s"):
        add_listener(call, arg.text, arg)
    for url in urls:
        add_request(call, url, "POST" if data else "GET", data)
    call.stdout = NETWORK_STREAM


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("aria2c axel fetch".split(), _handle_downloader),
    **dict.fromkeys("curl curlie".split(), _handle_curl),
    **dict.fromkeys("elinks links lynx w3m".split(), _handle_browser),
    **dict.fromkeys("http https xh xhs".split(), _handle_httpie),
    **dict.fromkeys("open sensible-browser xdg-open".split(), _handle_open),
    **dict.fromkeys("websocat wscat".split(), _handle_websocat),
    **dict.fromkeys("wget wget2".split(), _handle_wget),
    **dict.fromkeys("youtube-dl yt-dlp".split(), _handle_youtube_dl),
    "grpcurl": _handle_grpcurl,
}
