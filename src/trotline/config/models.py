"""The models that answer prompt hooks: `[models]` in trotline.toml of the user and of the machine.

Project files cannot have this section: someone who can commit to a repository must not choose where events are sent, or
with whose key. The files contain no keys either; they name a variable that holds the key, or a command that prints it.
"""

import shlex
import stat
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec

from trotline.config.config_file import ConfigFile, RefusedKeys, read_config_files
from trotline.config.paths import Roots
from trotline.config.problems import Problem

DEFAULT_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
"""The protocols of providers, each with its default address."""

Words = Annotated[
    tuple[Annotated[str, msgspec.Meta(min_length=1)], ...],
    msgspec.Meta(min_length=1, description="a list of words; no shell reads it"),
]


REFUSED_KEYS = RefusedKeys(
    frozenset({"key", "api_key", "apikey", "token", "secret", "password"}),
    "TL253",
    "keys do not belong into files",
    "put it into a variable and name that as `key_env`, or name a `key_command` that prints it",
)


class ProviderTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[models.providers.NAME]`: the protocol, the address, the model and the source of the key."""

    noun = "a provider"
    missing_code = "TL252"
    refused = REFUSED_KEYS

    protocol: Annotated[
        Literal["openai", "anthropic", "ollama"], msgspec.Meta(description="the protocol", extra={"code": "TL252"})
    ]
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
    """Limits of the cache of answers: the seconds for which one is reused for equal content, and their number."""

    noun = "`cache`"

    seconds: Annotated[float, msgspec.Meta(ge=0, description="a number of seconds; 0 is off")] = 0
    entries: Annotated[int, msgspec.Meta(ge=1, description="a number from 1")] = 256


class ModelsTable(msgspec.Struct, kw_only=True):
    """`[models]`: the providers, and which of them answers for a model that hooks name."""

    noun = "`[models]`"
    refused = REFUSED_KEYS

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
    for config in read_config_files(roots, "TL251"):
        if config.source.data is not None or config.fault:
            models.files += (config.file,)
        if config.fault:
            models.broken = {**models.broken, config.file: config.fault}
        if "models" in config.body:
            _add_models(models, config)
            if config.source.mode & stat.S_IWOTH:
                hint = f"chmod go-w {shlex.quote(config.file)}"
                config.report("TL504", (0, 0), "the file can be written by others", hint)
        models.problems += config.problems
    if not models.default and len(models.providers) == 1:
        models.default = next(iter(models.providers))
    return models


def _add_models(models: Models, config: ConfigFile) -> None:
    """Add the models of one file to those of earlier files, which win."""
    values = config.convert_table(config.body["models"], ModelsTable, "models")
    for name, table in values.get("providers", {}).items():
        provider = _build_provider(config, name, table)
        if provider is not None:
            models.providers = {name: provider, **models.providers}
    for name, provider_name in values.get("names", {}).items():
        if _check_name(config, models, f"models.names.{name}", provider_name):
            models.names = {name: provider_name, **models.names}
    if models.cache == Cache():
        models.cache = values.get("cache", Cache())
    default = values.get("default", "")
    if default and _check_name(config, models, "models.default", default):
        models.default = models.default or default


def _check_name(config: ConfigFile, models: Models, key: str, name: str) -> bool:
    if name not in models.providers:
        known = ", ".join(sorted(models.providers)) or "none that can be used"
        config.report_key(key, f"there is no provider `{name}`", f"providers: {known}", "TL255")
    return name in models.providers


def _build_provider(config: ConfigFile, name: str, table: ProviderTable) -> Provider | None:
    values = msgspec.structs.asdict(table)
    provider = Provider(**{**values, "url": table.url or DEFAULT_URLS[table.protocol]}, name=name)
    faults = list(_find_faults(provider))
    for code, message, hint in faults:
        config.report_key(f"models.providers.{name}.url", f"`providers.{name}`: {message}", hint, code)
    return None if faults else provider


def _find_faults(provider: Provider) -> Iterator[tuple[str, str, str]]:
    """Yield the code, message and hint of everything that makes a provider unusable."""
    for field, url in (("url", provider.url), ("proxy", provider.proxy)):
        parts = split_url(url)
        if url and (parts.scheme not in {"http", "https"} or not parts.hostname):
            message, hint = (
                f"`{field}` is no http or https address: `{url}`",
                f"such as {DEFAULT_URLS[provider.protocol]}",
            )
            yield "TL252", message, hint
            break
    parts = split_url(provider.url)
    has_key = bool(provider.key_env or provider.key_command)
    if has_key and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        yield "TL254", "its key would travel unencrypted", "write https, or leave the key out"
    elif parts.username or parts.password:
        yield "TL253", "keys do not belong into addresses", "name a `key_env` or a `key_command`"
    if provider.key_env and provider.key_command:
        yield "TL252", "it has both `key_env` and `key_command`", "keep one of them"


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
