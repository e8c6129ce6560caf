"""When an alert is due: what each occasion wants of a record, as data."""

from collections.abc import Callable
from typing import Any

from trotline.audit.actions import verdict_of
from trotline.config.alerts_file import Alert

STOPPED = "stop"


def is_due(alert: Alert, record: dict[str, Any]) -> bool:
    """Whether this record is one to tell of. Occasions that are about no single record are asked elsewhere."""
    wanted = (
        (alert.host, record.get("host") == alert.host),
        (alert.event, record.get("event") == alert.event),
        (alert.guard, alert.guard in list_of(record, "deciders")),
    )
    fits = all(holds for given, holds in wanted if given)
    return fits and alert.on in RECORDS and RECORDS[alert.on](alert, record)


def _is_denied(_: Alert, record: dict[str, Any]) -> bool:
    return verdict_of(record) == "deny"


def _is_found(alert: Alert, record: dict[str, Any]) -> bool:
    found = [one[0] for one in list_of(record, "findings") if isinstance(one, list) and one]
    return alert.scanner in found if alert.scanner else bool(found)


def _is_slow(alert: Alert, record: dict[str, Any]) -> bool:
    return micros_of(record) >= alert.over_us


def _is_failing(_: Alert, record: dict[str, Any]) -> bool:
    return any(isinstance(one, dict) and one.get("failure") for one in list_of(record, "voices"))


def _is_finished(_: Alert, record: dict[str, Any]) -> bool:
    return record.get("event") == STOPPED


RECORDS: dict[str, Callable[[Alert, dict[str, Any]], bool]] = {
    "denied": _is_denied,
    "found": _is_found,
    "slow": _is_slow,
    "failing": _is_failing,
    "finished": _is_finished,
}


def list_of(record: dict[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    return value if isinstance(value, list) else []


def micros_of(record: dict[str, Any]) -> int:
    micros = record.get("micros")
    return micros if isinstance(micros, int) else 0
