"""The models that answer prompt hooks: `[models]` in trotline.toml of the user and of the machine.

Project files cannot have this section: someone who can commit to a repository must not choose where events are sent, or
with whose key. The files contain no keys either; they name a variable that holds the key, or a command that prints it.
"""

import shlex
import stat
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec

from trotline.config.config_file import ConfigFile, find_config_files
from trotline.config.paths import Roots
from trotline.config.problems import Problem

DEFAULT_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
"""The protocols of providers, each with its default address."""

SECRET_KEYS = frozenset({"key", "api_key", "apiKey", "token", "secret", "password"})

Words = Annotated[
    tuple[Annotated[str, msgspec.Meta(min_length=1)], ...],
    msgspec.Meta(min_length=1, description="a list of words; no shell reads it"),
]


class ProviderTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[models.providers.NAME]`: the protocol, the address, the model and the source of the key."""

    speaks: Annotated[Literal["openai", "anthropic", "ollama"], msgspec.Meta(description="the protocol")]
    model: Annotated[str, msgspec.Meta(min_length=1)]
    url: str = ""
    key_env: str = ""
    key_command: Words = ()
    proxy: str = ""
    structured: bool = True  # some servers refuse requests with a schema for the answer


class Provider(ProviderTable, frozen=True, kw_only=True):
    """A provider with its name and address."""

    name: str


class Cache(msgspec.Struct, frozen=True):
    """How long an answer about equal content is reused, and how many are kept. Zero seconds means off."""

    seconds: Annotated[float, msgspec.Meta(ge=0, description="a number of seconds; 0 is off")] = 0
    entries: Annotated[int, msgspec.Meta(ge=1, description="a number from 1")] = 256


class ModelsTable(msgspec.Struct, kw_only=True):
    """`[models]`: the providers, and which of them answers for a model that hooks name."""

    default: Annotated[str, msgspec.Meta(description="the name of a provider")] = ""
    names: dict[str, str] = {}
    cache: Cache = Cache()
    providers: dict[str, ProviderTable] = {}


class ModelChoice(NamedTuple):
    """The chosen provider, and the model to request from it."""

    provider: Provider
    model: str


class Models(msgspec.Struct, kw_only=True):
    """The merged models of all files; earlier files win."""

    providers: dict[str, Provider] = {}
    names: dict[str, str] = {}  # name of a model in hooks -> provider that answers for it
    default: str = ""
    cache: Cache = Cache()
    files: tuple[str, ...] = ()
    problems: list[Problem] = []
    broken: dict[str, str] = {}  # file -> reason why nothing in it is in force

    def choose(self, wanted: str | None) -> ModelChoice | None:
        """Return the provider and model for a hook that wants this model, or None."""
        by_name = self.providers.get(self.names.get(wanted or "", wanted or ""))
        if by_name is not None:
            return ModelChoice(by_name, by_name.model)
        provider = self.providers.get(self.default)
        return ModelChoice(provider, wanted or provider.model) if provider is not None else None


def read_models(roots: Roots) -> Models:
    """Read the models of the machine and of the user. Problems are returned and never raised."""
    models = Models()
    for found in find_config_files(roots):
        models.problems += found.problems
        if found.data is None and not found.is_unreadable:
            continue
        models.files += (found.file,)
        if found.data is None:
            models.broken = {**models.broken, found.file: found.problems[-1].message}
            continue
        config = ConfigFile(found.layer, found.file, found.data, "TL251")
        if not config.is_valid:
            models.broken = {**models.broken, found.file: config.problems[0].message}
        if "models" in config.body:
            _ModelsReader(config, models).run()
            if found.mode & stat.S_IWOTH:
                hint = f"chmod go-w {shlex.quote(found.file)}"
                config.report("TL504", (0, 0), "the file can be written by others", hint)
        models.problems += config.problems
    if not models.default and len(models.providers) == 1:
        models.default = next(iter(models.providers))
    return models


class _ModelsReader:
    """A reader that adds the models of one file to those of earlier files, which win."""

    def __init__(self, config: ConfigFile, models: Models) -> None:
        self.config = config
        self.models = models

    def run(self) -> None:
        """Read `[models]` and report its problems."""
        table = self.config.body["models"]
        if not isinstance(table, dict):
            self.config.report_key("models", "`models` is a table with `providers`")
            return
        self._report_secrets(table, "models")
        tables = {"providers", "cache", *SECRET_KEYS}
        plain = {name: value for name, value in table.items() if name not in tables}
        values = self.config.convert_table(plain, ModelsTable, "models") or {}
        for name, provider in self._get_table(table, "providers").items():
            self._add_provider(name, provider)
        for name, provider in values.get("names", {}).items():
            if self._exists(provider, f"models.names.{name}"):
                self.models.names = {name: provider, **self.models.names}
        if self.models.cache == Cache():
            found = self.config.convert_table(self._get_table(table, "cache"), Cache, "models.cache") or {}
            self.models.cache = Cache(**found)
        default = values.get("default", "")
        if default and self._exists(default, "models.default") and not self.models.default:
            self.models.default = default

    def _get_table(self, table: dict[str, Any], name: str) -> dict[str, Any]:
        value = table.get(name, {})
        if not isinstance(value, dict):
            self.config.report_key(f"models.{name}", f"`{name}` is a table")
            return {}
        return value

    def _exists(self, name: str, key: str) -> bool:
        if name in self.models.providers:
            return True
        known = ", ".join(sorted(self.models.providers)) or "none that can be used"
        self.config.report_key(key, f"there is no provider `{name}`", f"providers: {known}", "TL255")
        return False

    def _report_secrets(self, table: dict[str, Any], key: str) -> None:
        for name in table.keys() & SECRET_KEYS:
            hint = "put it into a variable and name that as `key_env`, or name a `key_command` that prints it"
            self.config.report_key(f"{key}.{name}", f"`{name}`: keys do not belong into files", hint, "TL253")

    def _add_provider(self, name: str, table: object) -> None:
        key = f"models.providers.{name}"
        self.config.has_section_problem = False
        if isinstance(table, dict):
            self._report_secrets(table, key)
            table = {field: value for field, value in table.items() if field not in SECRET_KEYS}
            if table.get("speaks", "openai") not in DEFAULT_URLS:
                protocols = ", ".join(f"`{name}`" for name in DEFAULT_URLS)
                message = f"`providers.{name}.speaks` must be one of {protocols}"
                self.config.report_key(f"{key}.speaks", message, code="TL252")
                return
        values = self.config.convert_table(table, ProviderTable, key)
        if values is None:
            return
        for field in ("speaks", "model"):
            if not self.config.has_section_problem and field not in values:
                self.config.report_key(key, f"`providers.{name}` names no `{field}`", f'add `{field} = "..."`', "TL252")
        if self.config.has_section_problem:
            return
        values["url"] = values.get("url") or DEFAULT_URLS[values["speaks"]]
        provider = Provider(name=name, **values)
        for check in PROVIDER_CHECKS:
            fault = check(provider)
            if fault:
                self.config.report_key(f"{key}.url", f"`providers.{name}`: {fault[1]}", fault[2], fault[0])
        if not self.config.has_section_problem:
            self.models.providers = {name: provider, **self.models.providers}


ProviderFault = tuple[str, str, str]


def _check_addresses(provider: Provider) -> ProviderFault | None:
    for field, url in (("url", provider.url), ("proxy", provider.proxy)):
        parts = split_url(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
            return (
                "TL252",
                f"`{field}` is no http or https address: `{url}`",
                f"such as {DEFAULT_URLS[provider.speaks]}",
            )
    return None


def _check_key_is_protected(provider: Provider) -> ProviderFault | None:
    parts = split_url(provider.url)
    has_key = bool(provider.key_env or provider.key_command)
    if has_key and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "TL254", "its key would travel unencrypted", "write https, or leave the key out"
    if parts.username or parts.password:
        return "TL253", "keys do not belong into addresses", "name a `key_env` or a `key_command`"
    return None


def _check_single_key(provider: Provider) -> ProviderFault | None:
    if provider.key_env and provider.key_command:
        return "TL252", "it has both `key_env` and `key_command`", "keep one of them"
    return None


PROVIDER_CHECKS: tuple[Callable[[Provider], ProviderFault | None], ...] = (
    _check_addresses,
    _check_key_is_protected,
    _check_single_key,
)


def split_url(url: str) -> SplitResult:
    """Split an address; an invalid address has no parts."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return urlsplit("")
    return parts


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself."""
    import ipaddress  # noqa: PLC0415 - most machines configure no address

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
