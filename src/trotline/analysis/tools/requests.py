"""What clients of the network have in common: something is fetched, something is sent, something listens."""

import re

from trotline.analysis.addresses import host_of, is_local, is_metadata, shown_at
from trotline.analysis.scene import Argument
from trotline.analysis.step import Step
from trotline.analysis.streams import SILENT, UNSEEN, Stream, joined

NETWORK = Stream(None, frozenset({"network"}))
READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", ""})
_SECRET_VARIABLE = re.compile(r"(?i)\$\w*(?:SECRET|TOKEN|PASSW|API_?KEY|PRIVATE|CREDENTIAL|ACCESS_?KEY)")

_SAYS_WHO_ASKS = re.compile(r"(?i)auth|cookie|token|key|secret|session|credential|password|signature")
_NEVER_TOLD = re.compile(r"(?i)\$\w*(?:SECRET_?ACCESS_?KEY|PRIVATE_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY)")
"""Secrets that a program works with and sends to nobody, not even to who gave them."""


def text_of(at: Argument) -> Stream:
    """A text that is handed on as it is, with what it was made of."""
    stream = at.stream or UNSEEN
    if not at.known and _SECRET_VARIABLE.search(at.why):
        stream = stream.also("variable")
    return Stream(at.text if at.known else None, stream.origins, stream.paths)


def header_of(at: Argument) -> Stream:
    """A header: a token belongs where it says who asks; in any other it is data."""
    name, colon, _ = at.text.partition(":")
    if colon and _SAYS_WHO_ASKS.search(name) and not _NEVER_TOLD.search(at.why):
        return (at.stream or UNSEEN).without("secret")
    return text_of(at)


def file_of(step: Step, at: Argument, path: str) -> Stream:
    """A file that is read to be sent; `-` is what comes in."""
    if path in {"-", "/dev/stdin", "."}:
        return step.stdin
    if at.pipe is not None:
        return at.pipe
    at = at._replace(text=path)
    step.read(at, verb="send")
    return step.scene.content(step.path(at))


def request(step: Step, url: Argument, method: str = "GET", data: list[Stream] | None = None) -> Stream:
    """One address is asked for, with what goes along; gives what comes back."""
    text = url.text
    if text.lower().startswith("file:"):
        at = url._replace(text="/" + text[5:].lstrip("/"))
        step.read(at)
        return step.scene.content(step.path(at))
    host = host_of(text)
    along = joined([text_of(url), *(data or [])])
    if method == "POST" and _asks(text, data or []):
        method = "GET"
    shown = "the credentials of this machine" if is_metadata(host) else "" if is_local(host) else shown_at(text)
    if shown:
        step.effect("read", "secret", url, host=host, target=shown)
    kind = "fetch" if method in READING and not along.carried else "send"
    writes = method not in READING
    step.effect(kind, method.lower() or "get", url, host=host, target=text, source=along.carried, writes=writes)
    return NETWORK


def _asks(url: str, data: list[Stream]) -> bool:
    """A question that is too long for an address: a search, or a query of GraphQL."""
    last = url.partition("?")[0].rstrip("/").rpartition("/")[2].lower()
    if last in {"_search", "_count", "_msearch"}:
        return True
    texts = [stream.text or "" for stream in data]
    return last == "graphql" and bool(texts) and not any("mutation" in text or not text for text in texts)


def saved(step: Step, at: Argument, content: Stream = NETWORK, *, verb: str = "download") -> None:
    """What was fetched goes into a file."""
    step.write(at, verb=verb, source="network")
    step.scene.keep(step.path(at), content)


def name_in(url: Argument, fallback: str = "index.html") -> Argument:
    """The file that an address is saved under when nobody names one."""
    path = url.text.partition("://")[2] or url.text
    name = path.partition("?")[0].partition("#")[0].partition("/")[2].rstrip("/").rpartition("/")[2]
    return url._replace(text=name or fallback)


def listening(step: Step, port: str, at: Argument | None = None, *, address: str = "") -> None:
    """A port is opened; whoever reaches it talks to what is behind."""
    step.effect("connect", "listen", at, host=address, target=port)


def connected(step: Step, host: Argument, stdin: Stream, verb: str = "") -> None:
    """A connection in both directions: what comes in is sent."""
    if stdin.carried or (stdin != SILENT and stdin.text):
        step.send(host_of(host.text), host, source=stdin.carried, verb=verb)
    else:
        step.effect("connect", verb, host, host=host_of(host.text))
