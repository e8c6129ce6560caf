"""Cloud options that remove protection, open something to everyone or scale it to zero.

They are the same for all verbs that change something, so they are found by the name and value of the option.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from trotline.analysis.shell.shell_state import Argument
from trotline.formats.lazy_regex import lazy_regex


class CloudSetting(StrEnum):
    """The kind of a risky setting; it becomes the source of an effect."""

    UNPROTECTED = "unprotected"
    OPEN = "open"
    STOPPED = "stopped"
    REMOTE = "remote"


class CloudOption(NamedTuple):
    """An option with its value."""

    name: str
    value: str


_EVERYONE = "0.0.0.0/0 ::/0 0.0.0.0 * Internet Any allUsers allAuthenticatedUsers"
_OPTIONS = {
    CloudSetting.UNPROTECTED: {
        "no-deletion-protection no-deletion-protection-enabled no-disable-api-termination no-disable-api-stop": "",
        "no-enable-termination-protection no-termination-protection no-backup no-enable-deletion-protection": "",
        "no-retained-backups no-enable-point-in-time-recovery clear-retention-period disable-purge-protection": "",
        "deletion-protection disable-api-termination delete-protection enable-purge-protection": "false Disabled off",
        "backup-retention-period retained-backups-count retention-period-days": "0",
        "versioning-configuration": "Suspended",
        "point-in-time-recovery-specification": "false",
        "attributes load-balancer-attributes": "deletion_protection.enabled+false",
    },
    CloudSetting.OPEN: {
        "publicly-accessible allow-unauthenticated allow-unauthenticated-access": "",
        "source-ranges authorized-networks master-authorized-networks cidr cidr-ip source-addresses": _EVERYONE,
        "source-address-prefix source-address-prefixes start-ip-address ip-address member members": _EVERYONE,
        "public-access allow-blob-public-access public-network-access": "true Enabled blob container",
        "resources-vpc-config": "endpointPublicAccess=true",
        "auth-type authorization-type": "NONE",
        "acl": "public-read public-read-write",
    },
    CloudSetting.STOPPED: {
        "desired-count desired-capacity max-size replicas num-nodes node-count max-instances instance-count size": "0",
        "reserved-concurrent-executions max-replicas number-of-workers": "0",
        "activation-policy": "NEVER",
    },
    CloudSetting.REMOTE: {
        "metadata metadata-from-file": "startup-script startup-script-url windows-startup-script-ps1 shutdown-script",
        "user-data": "",
    },
}
"""Option names and the values that make them risky: one of the words is enough, `a+b` needs both, none means any."""

_BY_OPTION = {
    name: (setting, frozenset(values.lower().split()))
    for setting, rows in _OPTIONS.items()
    for names, values in rows.items()
    for name in names.split()
}
_PARTS = lazy_regex(r"[\s,;\"'{}\[\]()]+")
_CREATING_VERBS = ("create", "run", "deploy", "register", "launch")
"""Creating something without protection or without instances takes nothing away."""

_SCALE_TO_ZERO = lazy_regex(r"[\w-]+[=:]0|0")


def get_long_options(words: Sequence[Argument]) -> list[CloudOption]:
    """Return the long options, each with the words up to the next one as its value."""
    found: list[CloudOption] = []
    for word in words:
        if word.text.startswith("--"):
            name, _, value = word.text[2:].partition("=")
            found.append(CloudOption(name, value))
        elif found:
            found[-1] = found[-1]._replace(value=f"{found[-1].value} {word.text}".strip())
    return found


def find_cloud_setting(words: Sequence[Argument], head: Sequence[str]) -> tuple[CloudSetting, CloudOption] | None:
    """Return the first risky setting and the option that makes it."""
    creates = any(word.lower().startswith(_CREATING_VERBS) for word in head)
    for option in get_long_options(words):
        setting, values = _BY_OPTION.get(option.name, (None, frozenset()))
        if setting is None or (
            creates and setting in {CloudSetting.UNPROTECTED, CloudSetting.STOPPED, CloudSetting.REMOTE}
        ):
            continue
        parts = _split_value(option.value)
        if not values or any({*value.split("+")} <= parts for value in values):
            return setting, option
    scales = next((at for at, word in enumerate(words) if word.text.rpartition(":")[2] == "scale"), None)
    if scales is not None and any(_SCALE_TO_ZERO.fullmatch(word.text) for word in words[scales + 1 :]):
        return CloudSetting.STOPPED, CloudOption("", "")
    return None


def _split_value(value: str) -> set[str]:
    """Return the parts of a value: `Status=Suspended` gives the whole, the key and the value."""
    whole = [part.lower() for part in _PARTS.split(value) if part]
    return {*whole, *(piece for part in whole for piece in part.split("=", 1))}
