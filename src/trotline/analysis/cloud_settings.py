"""Settings of clouds that take protection away, open something to everybody, or leave nothing of it running.

They are the same in all verbs that change something, so they are known by the name of the option and what it is given.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from trotline.analysis.scene import Argument
from trotline.pattern import pattern


class Setting(StrEnum):
    """What a setting does; the source of an effect."""

    UNPROTECTED = "unprotected"
    OPEN = "open"
    STOPPED = "stopped"
    REMOTE = "remote"


class Given(NamedTuple):
    """An option as it stands on the line."""

    name: str
    value: str


_EVERYBODY = "0.0.0.0/0 ::/0 0.0.0.0 * Internet Any allUsers allAuthenticatedUsers"
_ROWS = {
    Setting.UNPROTECTED: {
        "no-deletion-protection no-deletion-protection-enabled no-disable-api-termination no-disable-api-stop": "",
        "no-enable-termination-protection no-termination-protection no-backup no-enable-deletion-protection": "",
        "no-retained-backups no-enable-point-in-time-recovery clear-retention-period disable-purge-protection": "",
        "deletion-protection disable-api-termination delete-protection enable-purge-protection": "false Disabled off",
        "backup-retention-period retained-backups-count retention-period-days": "0",
        "versioning-configuration": "Suspended",
        "point-in-time-recovery-specification": "false",
        "attributes load-balancer-attributes": "deletion_protection.enabled+false",
    },
    Setting.OPEN: {
        "publicly-accessible allow-unauthenticated allow-unauthenticated-access": "",
        "source-ranges authorized-networks master-authorized-networks cidr cidr-ip source-addresses": _EVERYBODY,
        "source-address-prefix source-address-prefixes start-ip-address ip-address member members": _EVERYBODY,
        "public-access allow-blob-public-access public-network-access": "true Enabled blob container",
        "resources-vpc-config": "endpointPublicAccess=true",
        "auth-type authorization-type": "NONE",
        "acl": "public-read public-read-write",
    },
    Setting.STOPPED: {
        "desired-count desired-capacity max-size replicas num-nodes node-count max-instances instance-count size": "0",
        "reserved-concurrent-executions max-replicas number-of-workers": "0",
        "activation-policy": "NEVER",
    },
    Setting.REMOTE: {
        "metadata metadata-from-file": "startup-script startup-script-url windows-startup-script-ps1 shutdown-script",
        "user-data": "",
    },
}
"""By names of options: what one of them must be given, in words of which one is enough; `a+b` are both needed."""

_TABLE = {
    name: (setting, frozenset(values.lower().split()))
    for setting, rows in _ROWS.items()
    for names, values in rows.items()
    for name in names.split()
}
_PARTS = pattern(r"[\s,;\"'{}\[\]()]+")
_MAKES = ("create", "run", "deploy", "register", "launch")
"""Who makes something anew without protection or without a machine takes nothing away from anybody."""

_ENDS_EMPTY = pattern(r"[\w-]+[=:]0|0")


def given(words: Sequence[Argument]) -> list[Given]:
    """Long options, each with the words behind it up to the next one."""
    found: list[Given] = []
    for word in words:
        if word.text.startswith("--"):
            name, _, value = word.text[2:].partition("=")
            found.append(Given(name, value))
        elif found:
            found[-1] = found[-1]._replace(value=f"{found[-1].value} {word.text}".strip())
    return found


def setting_of(words: Sequence[Argument], head: Sequence[str]) -> tuple[Setting, Given] | None:
    """The first setting of this kind, and the option that makes it."""
    makes = any(word.lower().startswith(_MAKES) for word in head)
    for option in given(words):
        setting, values = _TABLE.get(option.name, (None, frozenset()))
        if setting is None or (makes and setting in {Setting.UNPROTECTED, Setting.STOPPED, Setting.REMOTE}):
            continue
        parts = _parts(option.value)
        if not values or any({*value.split("+")} <= parts for value in values):
            return setting, option
    scales = next((at for at, word in enumerate(words) if word.text.rpartition(":")[2] == "scale"), None)
    if scales is not None and any(_ENDS_EMPTY.fullmatch(word.text) for word in words[scales + 1 :]):
        return Setting.STOPPED, Given("", "")
    return None


def _parts(value: str) -> set[str]:
    """`Status=Suspended` is both: the whole, and what it is set to."""
    whole = [part.lower() for part in _PARTS.split(value) if part]
    return {*whole, *(piece for part in whole for piece in part.split("=", 1))}
