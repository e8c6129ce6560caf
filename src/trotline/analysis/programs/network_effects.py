"""Effects that clients of the network share: requests, downloads, uploads, listeners."""

from trotline.analysis.network_addresses import find_exposed_secrets, get_host, is_local, is_metadata
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import UNKNOWN_STREAM, Stream, join_streams
from trotline.formats.lazy_regex import lazy_regex

NETWORK_STREAM = Stream(None, frozenset({"network"}))
READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", ""})
_SECRET_VARIABLE = lazy_regex(r"(?i)\$\w*(?:SECRET|TOKEN|PASSW|API_?KEY|PRIVATE|CREDENTIAL|ACCESS_?KEY)")

_AUTHENTICATION_HEADER = lazy_regex(r"(?i)auth|cookie|token|key|secret|session|credential|password|signature")
_PRIVATE_KEY_VARIABLE = lazy_regex(r"(?i)\$\w*(?:SECRET_?ACCESS_?KEY|PRIVATE_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY)")
"""Secrets that no program sends, not even to the service that issued them."""


def get_text_stream(arg: Argument) -> Stream:
    """Return a sent text with the origins of its parts."""
    stream = arg.stream or UNKNOWN_STREAM
    if not arg.is_known and _SECRET_VARIABLE.search(arg.why):
        stream = stream.add_origins("variable")
    return Stream(arg.text if arg.is_known else None, stream.origins, stream.paths)


def get_header_stream(arg: Argument) -> Stream:
    """Return a sent header; a token is expected in one that authenticates, and data in any other."""
    name, colon, _ = arg.text.partition(":")
    if colon and _AUTHENTICATION_HEADER.search(name) and not _PRIVATE_KEY_VARIABLE.search(arg.why):
        return (arg.stream or UNKNOWN_STREAM).remove_origin("secret")
    return get_text_stream(arg)


def read_sent_file(call: Invocation, arg: Argument, path: str) -> Stream:
    """Add the read of a file that is sent, and return its content; `-` is the standard input."""
    if path in {"-", "/dev/stdin", "."}:
        return call.stdin
    if arg.pipe is not None:
        return arg.pipe
    arg = arg._replace(text=path)
    call.add_read(arg, verb="send")
    return call.state.get_content(call.resolve(arg))


def add_request(call: Invocation, url: Argument, method: str = "GET", data: list[Stream] | None = None) -> Stream:
    """Add a request with its data, and return the response."""
    text = url.text
    if text.lower().startswith("file:"):
        file = url._replace(text="/" + text[5:].lstrip("/"))
        call.add_read(file)
        return call.state.get_content(call.resolve(file))
    host = get_host(text)
    sent = join_streams([get_text_stream(url), *(data or [])])
    if method == "POST" and _is_query(text, data or []):
        method = "GET"
    secret = "" if is_local(host) else find_exposed_secrets(text)
    secret = "the credentials of this machine" if is_metadata(host) else secret
    if secret:
        call.add_effect("read", "secret", url, host=host, target=secret)
    kind = "fetch" if method in READ_METHODS and not sent.effect_source else "send"
    fields = {"host": host, "target": text, "source": sent.effect_source}
    call.add_effect(kind, method.lower() or "get", url, writes=method not in READ_METHODS, **fields)
    return NETWORK_STREAM


def _is_query(url: str, data: list[Stream]) -> bool:
    """Return whether a POST only reads: a search, or a GraphQL query."""
    last = url.partition("?")[0].rstrip("/").rpartition("/")[2].lower()
    if last in {"_search", "_count", "_msearch"}:
        return True
    texts = [stream.text or "" for stream in data]
    return last == "graphql" and bool(texts) and not any("mutation" in text or not text for text in texts)


def save_download(call: Invocation, arg: Argument, content: Stream = NETWORK_STREAM, *, verb: str = "download") -> None:
    """Add the write of a downloaded file."""
    call.add_write(arg, verb=verb, source="network")
    call.state.record_write(call.resolve(arg), content)


def get_download_name(url: Argument, fallback: str = "index.html") -> Argument:
    """Return the default file name of a download."""
    path = url.text.partition("://")[2] or url.text
    name = path.partition("?")[0].partition("#")[0].partition("/")[2].rstrip("/").rpartition("/")[2]
    return url._replace(text=name or fallback)


def add_listener(call: Invocation, port: str, arg: Argument | None = None, *, address: str = "") -> None:
    """Add a port that is opened to others."""
    call.add_effect("connect", "listen", arg, host=address, target=port)


def add_connection(call: Invocation, host: Argument, sent: Stream, verb: str = "") -> None:
    """Add `send` if data or a secret goes over the connection, `connect` otherwise."""
    if sent.effect_source or sent.text:
        call.add_send(get_host(host.text), host, source=sent.effect_source, verb=verb)
    else:
        call.add_effect("connect", verb, host, host=get_host(host.text))
