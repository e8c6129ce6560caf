"""Guard: secrets that the agent, and with it the provider of its model, would read."""

from trotline.analysis.locations import Location
from trotline.analysis.network_addresses import is_metadata
from trotline.analysis.secret_files import (
    MANAGER_SOURCE,
    MEMORY_SOURCE,
    classify_secret_file,
    is_dotenv,
    is_key_by_location,
    is_secret_directory,
)
from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, DENY, HIGH, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

_SHOWS_NO_CONTENT = frozenset({"look", "authenticate"})
"""Verbs that list names and sizes, or use a key without showing it."""


def _get_credential(effect: Effect) -> str:
    """Return which kind of credential the effect is about, or ""."""
    return classify_secret_file(effect.path) or classify_secret_file(effect.target)


def _shows_content(effect: Effect) -> bool:
    return effect.verb not in _SHOWS_NO_CONTENT


def _shows_key(effect: Effect, _: GuardContext) -> bool:
    kind = _get_credential(effect)
    return _shows_content(effect) and kind != "" and not is_dotenv(kind)


def _shows_dotenv(effect: Effect, _: GuardContext) -> bool:
    return _shows_content(effect) and is_dotenv(_get_credential(effect))


def _shows_key_directory(effect: Effect, _: GuardContext) -> bool:
    whole = effect.recursive or effect.path.endswith("*") or effect.verb == "copy"
    return _shows_content(effect) and whole and is_secret_directory(effect.path)


def _is_not_in_secret_manager(effect: Effect, _: GuardContext) -> bool:
    return effect.source != MANAGER_SOURCE


def _asks_metadata_service(effect: Effect, _: GuardContext) -> bool:
    return is_metadata(effect.host)


def _replaces_key(effect: Effect, context: GuardContext) -> bool:
    """Return whether existing keys or passwords are overwritten. Devices belong to the guard `disks`."""
    kind = _get_credential(effect)
    if kind == "" or is_dotenv(kind) or is_key_by_location(kind) or kind == "a token":
        return False
    return not _is_new_file(effect.path, context) and context.locate(effect) is not Location.DEVICE


def _is_new_file(path: str, context: GuardContext) -> bool:
    """Return whether the disk can be read and has no file of that name."""
    directory, _, name = path.rpartition("/")
    names = context.environment.list_names(directory or "/")
    return names is not None and name not in names


GUARD = build_guard(
    "credentials",
    "secrets that the agent, and with it a model's provider, would read",
    {
        "key or password": rule(
            Filter("link|read: *", when=_shows_key),
            CRITICAL,
            "{path} holds secrets; what an agent reads goes to a model",
            "ask the person to do what needs the secret, or use a program that reads it itself",
        ),
        "directory of keys": rule(
            Filter("link|read: *", when=_shows_key_directory),
            CRITICAL,
            "{path} is full of secrets",
            "name the one file that you need, if it is no secret",
        ),
        # Teams keep example values in these files as often as real ones; the scanner inspects the content.
        "environment file": rule(
            Filter("link|read: *", when=_shows_dotenv),
            (PASS, DENY, DENY),
            "{path} often holds secrets",
            "read the example file beside it, or ask for the names only",
        ),
        "the machine's own": rule(
            Filter("read: secret", when=_asks_metadata_service),
            HIGH,
            "{host} gives this machine's own credentials to whoever asks",
            "let the cloud's own program ask, which shows no credentials",
        ),
        "stolen": rule(
            Filter("read: secret", sources={MEMORY_SOURCE}),
            CRITICAL,
            "{target} would be taken out of the memory of this machine",
        ),
        "all secrets": rule(
            Filter("read: secret", recursive=True),
            HIGH,
            "all of {target} would be shown, not one secret that is needed",
            "let the program that needs one fetch it by its name",
        ),
        # Fetching one secret by name is the purpose of these programs.
        "secret manager": rule(
            Filter("read: secret", when=_is_not_in_secret_manager),
            MEDIUM,
            "a secret would be shown: {target}",
            "let the program that needs it fetch it",
        ),
        "key replaced": rule(
            Filter("write: *", when=_replaces_key), HIGH, "{path} holds secrets, and would be written over"
        ),
    },
)
