"""Guard: secrets and files that leave the machine, and requests that change something elsewhere."""

from trotline.analysis.locations import Location, locate
from trotline.analysis.network_addresses import get_url_path, is_drop_site
from trotline.analysis.secret_files import classify_secret_file, is_secret_directory
from trotline.analysis.service_verbs import VerbKind, classify_request
from trotline.domain.effects import Effect
from trotline.guards.guard import (
    CRITICAL,
    DENY,
    HIGH,
    LOW,
    MEDIUM,
    PASS,
    Filter,
    GuardContext,
    build_guard,
    is_remote,
    rule,
)

_PRIVATE = {Location.SYSTEM, Location.HOME, Location.PERSONAL, Location.ROOT, Location.GIT}
_SECRET_VALUES = frozenset({"variable", "clipboard", "screen"})


def _split_sources(effect: Effect) -> list[str]:
    return [source for source in effect.source.split(",") if source]


def _is_secret(source: str) -> bool:
    """Return whether the source is a credential file, or the output of a secret manager."""
    return source == "secret" or classify_secret_file(source) != "" or is_secret_directory(source)


def _sends_secret(effect: Effect, context: GuardContext) -> bool:
    return any(_is_secret(source) for source in _split_sources(effect)) and is_remote(effect, context)


def _sends_environment(effect: Effect, context: GuardContext) -> bool:
    return "environment" in _split_sources(effect) and is_remote(effect, context)


def _sends_secret_value(effect: Effect, context: GuardContext) -> bool:
    return not _SECRET_VALUES.isdisjoint(_split_sources(effect)) and is_remote(effect, context)


def _writes_remote_system(effect: Effect, context: GuardContext) -> bool:
    """Return whether the copy goes to where programs and settings of the other machine are."""
    absolute = effect.target.startswith("/")
    return absolute and locate(effect.target, context.environment) in {Location.SYSTEM, Location.ROOT}


def _sends_private_file(effect: Effect, context: GuardContext) -> bool:
    """Return whether files of the person or the system are sent, which no task in the workspace needs elsewhere."""
    paths = [source for source in _split_sources(effect) if source.startswith("/")]
    private = any(locate(path, context.environment) in _PRIVATE for path in paths)
    return private and is_remote(effect, context)


def _sends_to_drop_site(effect: Effect, _: GuardContext) -> bool:
    return (is_drop_site(effect.target) or is_drop_site(effect.host)) and (effect.writes or bool(effect.source))


def _sends_file(effect: Effect, context: GuardContext) -> bool:
    return bool(_split_sources(effect)) and is_remote(effect, context)


def _requests_deletion(effect: Effect, _: GuardContext) -> bool:
    return classify_request(effect.verb, effect.target) is VerbKind.DESTROY


def _requests_remote_deletion(effect: Effect, context: GuardContext) -> bool:
    return _requests_deletion(effect, context) and is_remote(effect, context)


def _requests_deletion_of_all(effect: Effect, context: GuardContext) -> bool:
    """Return whether one request deletes every index, as Elasticsearch and similar services allow."""
    return _requests_deletion(effect, context) and not {"_all", "*"}.isdisjoint(get_url_path(effect.target).split("/"))


def _stops_service(effect: Effect, _: GuardContext) -> bool:
    return classify_request(effect.verb, effect.target) is VerbKind.STOP


GUARD = build_guard(
    "exfiltration",
    "secrets and files that leave the machine, and changes made elsewhere",
    {
        "secret": rule(
            Filter("send: *", when=_sends_secret),
            CRITICAL,
            "secrets would be sent to {host}: {source}",
            "let the person send what has to be sent",
            mandatory=True,
        ),
        "environment": rule(
            Filter("send: *", when=_sends_environment),
            CRITICAL,
            "all variables, secrets among them, would be sent to {host}",
            "send the one value that is needed",
            mandatory=True,
        ),
        "in a name": rule("send: name", HIGH, "the output of a command would leave in a name that is looked up"),
        "secret variable": rule(
            Filter("send: *", when=_sends_secret_value), HIGH, "a secret would be sent to {host} as data"
        ),
        "system elsewhere": rule(
            Filter("send: rsync|scp", when=_writes_remote_system),
            (PASS, DENY, DENY),
            "{target} on {host} would be written over",
            "copy it to a home directory there",
        ),
        "own machine": rule("send: rsync|scp|ssh", LOW, "{source} would be copied to {host}"),
        "private file": rule(
            Filter("send: *", when=_sends_private_file),
            HIGH,
            "{source} would be sent to {host}",
            "send files of the workspace",
        ),
        "drop": rule(
            Filter("send: *", when=_sends_to_drop_site),
            HIGH,
            "what is sent to {host} can be fetched by others",
            "keep it on this machine",
        ),
        "mail": rule("send: mail", HIGH, "a message would be sent to {target}", "write it, and let the person send it"),
        "file": rule(
            Filter("send: *", when=_sends_file),
            MEDIUM,
            "{source} would be sent to {host}",
            "ask the person whether it may leave",
        ),
        # The same actions as for the command line program of the service.
        "deletes elsewhere": rule(
            Filter("send: *", writes=True, when=_requests_remote_deletion),
            HIGH,
            "{target} would be deleted, and this machine cannot bring it back",
            "look at it first; a person should delete it",
        ),
        "deletes all here": rule(
            Filter("send: *", writes=True, when=_requests_deletion_of_all),
            HIGH,
            "{target}: all that the service holds would be deleted",
            "name the one thing that you mean",
        ),
        # A service on this machine is usually one under development.
        "deletes here": rule(
            Filter("send: *", writes=True, when=_requests_deletion),
            MEDIUM,
            "{target} would be deleted",
            "ask for it first, and show it",
        ),
        "stops": rule(
            Filter("send: *", writes=True, when=_stops_service),
            (PASS, DENY, DENY),
            "{target} steers a service that others may use",
        ),
        "changes elsewhere": rule(
            Filter("send: *", writes=True, when=is_remote), MEDIUM, "something would be changed on {host}"
        ),
    },
)
