"""Which models answer prompt hooks: `models.json` of the person, and above it the one of the managed machine.

Never a file of a project: whoever can commit to a repository must not choose where events are sent, or with whose key.
No key stands in these files either; they say which variable holds it, or which command prints it.
"""

import shlex
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from trotline.config.files import content, unreadable
from trotline.config.jsonc import Kind, Node
from trotline.config.jsonc_reader import read
from trotline.config.page import Page
from trotline.config.places import Roots
from trotline.config.problems import CODES, Problem
from trotline.hooks import Hook

SPOKEN = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
"""The protocols that providers speak, each with its usual address."""

KEYS_IN_FILES = frozenset({"key", "api_key", "apiKey", "token", "secret", "password"})

ACCEPTED_HERE = frozenset({"TL102", "TL103", "TL106", "TL107"})
"""What Cursor refuses in hooks.json and is no mistake in a file that only we read."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who answers: the protocol, the address, the model, and where its key comes from."""

    name: str
    speaks: str
    url: str
    model: str
    key_env: str = ""
    key_command: tuple[str, ...] = ()
    proxy: str = ""
    structured: bool = True  # whether it takes a schema for its answer; some servers refuse requests that have one


class Cache(msgspec.Struct, frozen=True):
    """For how long an answer about equal content is taken again, and how many are kept. Zero seconds is off."""

    seconds: float = 0
    entries: int = 256


class Chosen(NamedTuple):
    """Who is asked, and for which model."""

    provider: Provider
    model: str


class Models(msgspec.Struct, kw_only=True):
    """Everything that is configured about models, all files together; earlier files have the last word."""

    providers: dict[str, Provider] = {}
    names: dict[str, str] = {}  # what hooks call a model -> the provider that stands in for it
    default: str = ""
    cache: Cache = Cache()
    files: tuple[str, ...] = ()
    problems: list[Problem] = []
    void: dict[str, str] = {}  # file -> why nothing of it is in force

    def choose(self, wanted: str | None) -> Chosen | None:
        """Who answers a hook that wants this model; None when nobody can."""
        by_name = self.providers.get(self.names.get(wanted or "", wanted or ""))
        if by_name is not None:
            return Chosen(by_name, by_name.model)
        provider = self.providers.get(self.default)
        return Chosen(provider, wanted or provider.model) if provider is not None else None


def model_files(roots: Roots) -> tuple[Path, ...]:
    """In the order of authority."""
    return (roots.managed_config / "models.json", roots.config / "models.json")


def read_models(roots: Roots) -> Models:
    """Read both files; whatever is wrong with them is in the result, and nothing is raised."""
    models = Models()
    for file in model_files(roots):
        try:
            data, mode = content(file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = unreadable(file, error)
            models.files += (str(file),)
            models.void = {**models.void, str(file): problem.message}
            models.problems += [problem]
            continue
        models.files += (str(file),)
        page = Page(str(file), read(data))
        _Reading(page, models).run()
        if mode & stat.S_IWOTH:
            page.report("TL504", (0, 0), "the file can be written by others", f"chmod go-w {shlex.quote(str(file))}")
        models.problems += page.problems
    _default(models)
    return models


def unanswered(models: Models, hooks: Iterable[Hook]) -> list[Problem]:
    """A Problem for every prompt hook that nobody would answer."""
    hint = "name a provider in ~/.config/trotline/models.json: docs/prompt-hooks.md"
    message = "no model is configured that would answer this prompt hook; it fails every time"
    return [
        Problem(
            code="TL411",
            severity=CODES["TL411"].severity,
            place=hook.place,
            message=message,
            hint=hint,
            entry=hook.event,
        )
        for hook in hooks
        if hook.prompt and models.choose(hook.model) is None
    ]


def _default(models: Models) -> None:
    """The only provider there is needs no further word."""
    if not models.default and len(models.providers) == 1:
        models.default = next(iter(models.providers))


class _Reading:
    """One file, read into what the files before it left open."""

    def __init__(self, page: Page, models: Models) -> None:
        self.page = page
        self.models = models

    def run(self) -> None:
        faults = [fault for fault in self.page.document.faults if fault.code not in ACCEPTED_HERE]
        for fault in faults:
            self.page.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
        root = self.page.document.root
        if faults or root is None or root.kind is not Kind.OBJECT:
            if not faults:
                self.page.report("TL251", root or (0, 0), "a models file is an object with `providers`")
            self.models.void = {**self.models.void, self.page.file: self.page.problems[0].message}
            return
        self._known_keys(root, {"version", "$schema", "providers", "names", "default", "cache"}, "a models file")
        self._providers(root.get("providers"))
        self._names(root.get("names"))
        self._cache(root.get("cache"))
        default = self._value(root, "default", Kind.STRING)
        if (
            isinstance(default, str)
            and self._exists(default, root.members["default"].value)
            and not self.models.default
        ):
            self.models.default = default

    def _providers(self, node: Node | None) -> None:
        for name, member in self._members(node, "providers"):
            provider = self._provider(name, member)
            if provider is not None:
                self.models.providers = {name: provider, **self.models.providers}

    def _names(self, node: Node | None) -> None:
        for name, value in self._members(node, "names"):
            if value.kind is not Kind.STRING:
                self.page.report("TL251", value, f"`names.{name}` is {value.kind.value}; it must name a provider")
            elif self._exists(str(value.value), value):
                self.models.names = {name: str(value.value), **self.models.names}

    def _exists(self, name: str, node: Node) -> bool:
        if name in self.models.providers:
            return True
        known = ", ".join(sorted(self.models.providers)) or "none that can be used"
        self.page.report("TL255", node, f"there is no provider `{name}`", f"providers: {known}")
        return False

    def _cache(self, node: Node | None) -> None:
        if node is None or node.kind is not Kind.OBJECT:
            self._members(node, "cache")
            return
        self._known_keys(node, {"seconds", "entries"}, "`cache`")
        seconds, entries = (self._value(node, key, Kind.NUMBER) for key in ("seconds", "entries"))
        if self.models.cache == Cache():
            kept = int(entries) if isinstance(entries, int | float) and entries >= 1 else Cache().entries
            self.models.cache = Cache(max(0.0, float(seconds)) if isinstance(seconds, int | float) else 0.0, kept)

    def _provider(self, name: str, node: Node) -> Provider | None:
        """The provider that stands here; None, with a Problem, when it cannot be asked as it is written."""
        if node.kind is not Kind.OBJECT:
            self.page.report("TL251", node, f"`providers.{name}` is {node.kind.value}; it must be an object")
            return None
        before = len(self.page.problems)
        self._known_keys(node, {*Provider.__struct_fields__} - {"name"}, f"`providers.{name}`")
        text = {key: self._value(node, key, Kind.STRING) for key in ("speaks", "url", "model", "key_env", "proxy")}
        given = {key: str(value) for key, value in text.items() if value is not None}
        structured = self._value(node, "structured", Kind.TRUTH)
        command = self._words(node, "key_command")
        if given.get("speaks") not in SPOKEN:
            words = ", ".join(f"`{word}`" for word in SPOKEN)
            self.page.report(
                "TL252", _head(node.get("speaks") or node), f"`providers.{name}.speaks` must be one of {words}"
            )
            return None
        if not given.get("model"):
            if len(self.page.problems) == before:
                self.page.report("TL252", _head(node), f"`providers.{name}` names no `model`", 'add `"model": "..."`')
            return None
        given.setdefault("url", SPOKEN[given["speaks"]])
        provider = Provider(name=name, **given, key_command=command, structured=structured is not False)
        for check in ADDRESS_RULES:
            fault = check(provider)
            if fault:
                self.page.report(fault[0], _head(node.get("url") or node), f"`providers.{name}`: {fault[1]}", fault[2])
        return provider if len(self.page.problems) == before else None

    def _words(self, node: Node, key: str) -> tuple[str, ...]:
        value = node.get(key)
        if value is None:
            return ()
        if value.kind is not Kind.ARRAY or not value.items or any(one.kind is not Kind.STRING for one in value.items):
            self.page.report("TL251", value, f"`{key}` must be a list of words; no shell reads it")
            return ()
        return tuple(str(one.value) for one in value.items)

    def _value(self, node: Node, key: str, kind: Kind) -> object:
        value = node.get(key)
        if value is not None and value.kind is not kind:
            self.page.report("TL251", value, f"`{key}` is {value.kind.value}; it must be {kind.value}")
            return None
        return value.value if value is not None else None

    def _members(self, node: Node | None, name: str) -> list[tuple[str, Node]]:
        if node is not None and node.kind is not Kind.OBJECT:
            self.page.report("TL251", node, f"`{name}` is {node.kind.value}; it must be an object")
        return [(key, member.value) for key, member in node.members.items()] if node is not None else []

    def _known_keys(self, node: Node, known: set[str], what: str) -> None:
        for key, member in node.members.items():
            if key in KEYS_IN_FILES:
                hint = "put it into a variable and name that as `key_env`, or name a `key_command` that prints it"
                self.page.report("TL253", member.key, f"`{key}`: keys do not belong into files", hint)
            elif key not in known:
                self.page.report("TL251", member.key, f"{what} has no `{key}`", f"known: {', '.join(sorted(known))}")


def _head(node: Node) -> Node:
    """An object is shown by its opening brace."""
    return Node(node.kind, node.start, node.start + 1) if node.kind is Kind.OBJECT else node


Fault = tuple[str, str, str]


def _is_an_address(provider: Provider) -> Fault | None:
    for what, url in (("url", provider.url), ("proxy", provider.proxy)):
        parts = urlsplit(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
            return "TL252", f"`{what}` is no http or https address: `{url}`", f"such as {SPOKEN[provider.speaks]}"
    return None


def _keeps_the_key_to_itself(provider: Provider) -> Fault | None:
    parts = urlsplit(provider.url)
    has_key = bool(provider.key_env or provider.key_command)
    if has_key and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "TL254", "its key would travel unencrypted", "write https, or leave the key out"
    if parts.username or parts.password:
        return "TL253", "keys do not belong into addresses", "name a `key_env` or a `key_command`"
    return None


def _has_one_key(provider: Provider) -> Fault | None:
    if provider.key_env and provider.key_command:
        return "TL252", "it has both `key_env` and `key_command`", "keep one of them"
    return None


ADDRESS_RULES: tuple[Callable[[Provider], Fault | None], ...] = (
    _is_an_address,
    _keeps_the_key_to_itself,
    _has_one_key,
)


def is_loopback(host: str) -> bool:
    import ipaddress  # noqa: PLC0415 - most machines have no such file

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
