"""Settings of package managers: where packages come from, and whether anybody checks them."""

from trotline.analysis.scene import Argument
from trotline.analysis.tools.packages_installs import Line, foreign
from trotline.analysis.tools.packages_specs import host_of

_OFF = frozenset("false off 0 no *".split())
_CHECKS = frozenset("strict-ssl secure-http disable-tls ssl_verify verify_ssl sslverify".split())
_LOOSE = frozenset("trusted-host goinsecure gonosumdb gonosumcheck gonoproxy script-shell".split())


def setting(line: Line) -> None:
    """A key and what it is set to, as two words or as `key=value`."""
    found, step = line.found, line.step
    if found.has("list", "l", "get", "unset", "u", "delete") or (step.name == "go" and not found.has("w")):
        return
    words = [*found.values("set"), *found.rest]
    if words and words[0].text in {"--global", "--local", "set"}:
        words = words[1:]
    if not words:
        return
    key, equals, value = words[0].text.partition("=")
    if not equals:
        if len(words) < 2:
            return
        value = words[1].text
    _set(line, key, words[0] if equals else words[1], value)


def _set(line: Line, key: str, at: Argument, value: str) -> None:
    step = line.step
    if key.startswith("scripts."):
        step.script(at._replace(text=value))  # what `run` will run
    if any(word.text == "pkg" for word in step.words[:2]):
        step.effect("install", "setting", at, target=key, source=value, writes=True)
        return  # a field of the project's own file
    name = key.rpartition(".")[2].lower()
    host = foreign(line.manager.kind, value)
    if loosens(name, value):
        step.effect("install", "unverified", at, target=key, source=value, writes=True)
    elif host:
        step.effect("install", "source", at, target=key, host=host, source=value, writes=True)
    else:
        step.effect("install", "setting", at, target=key, source=value, writes=True)


def loosens(name: str, value: str) -> bool:
    """Whether nobody checks any more who made a package, or its scripts run again."""
    off = value.lower() in _OFF
    return name in _LOOSE or (off and name in _CHECKS | {"ignore-scripts"}) or (name == "gosumdb" and value == "off")


def source(line: Line) -> None:
    """Another place that packages come from: `gem sources --add`, `brew tap`, `conda config --add channels`."""
    found, step = line.found, line.step
    words = [*found.values("add", "a", "add-repo"), *found.rest]
    if found.has("remove", "r", "list", "l", "show", "get") and not found.has("add", "a"):
        return
    for word in words:
        host = foreign(line.manager.kind, word.text) or (host_of(word.text) if word.text.startswith("git@") else "")
        if host:
            step.effect("install", "source", word, target=word.text, host=host, source=word.text, writes=True)
            return
    if line.manager.kind in {"brew", "deb"} and words and not words[0].text.startswith("homebrew/"):
        step.effect("install", "source", words[0], target=words[0].text, source="name", writes=True)
