"""Servers of the web that are told to stop by their own program."""

from typing import NamedTuple

from trotline.analysis.step import Handler, Step


class Server(NamedTuple):
    """How it is told: the option that takes a signal, words, or flags."""

    signal: str = ""
    words: str = ""
    flags: str = ""
    signals: str = "stop quit graceful-stop"


SERVERS = {
    "apache2ctl": Server("k", "stop graceful-stop"),
    "apachectl": Server("k", "stop graceful-stop"),
    "caddy": Server(words="stop"),
    "haproxy": Server(flags="sf st"),
    "httpd": Server("k"),
    "nginx": Server("s"),
    "openresty": Server("s"),
    "tengine": Server("s"),
    "varnishadm": Server(words="stop"),
}


def _server(step: Step) -> None:
    row = SERVERS[step.name]
    found = step.options(f"{row.signal} c p g f".split(), long_dash=bool(row.flags))
    told = found.value(row.signal) if row.signal else ""
    words = {word.text for word in found.rest[:1]}
    if told in row.signals.split() or words & {*row.words.split()} or {*found.flags} & {*row.flags.split()}:
        step.effect("system", "stop service", target=step.name, source="stop", writes=True)


TOOLS: dict[str, Handler] = dict.fromkeys(SERVERS, _server)
