"""Records for other programs: as they are, as a table, as events of OCSF (API Activity, class 6003), or as OTLP.

All of it was redacted before it was written; nothing is added here.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from trotline import __version__
from trotline.audit.actions import verdict_of
from trotline.audit.columns import subject_of
from trotline.audit.deeds import failure_of
from trotline.audit.otlp import as_otlp
from trotline.audit.shapes import LATEST_US, dict_of, text_of

FIELDS = ("seq", "id", "time", "host", "event", "conversation", "tool", "verdict", "deciders", "subject", "micros")
"""The columns of a table."""

END = "\r\n"
"""A writer of tables quotes the signs that stand in its end of a line, and in Python 3.11 no other newline."""

CALCULATED = re.compile(r"(?:\A|(?<=[\n\r]))(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet begins to calculate; those of East Asia also take the wide signs."""

STATUS = {"deny": (2, "Failure"), "ask": (99, "Other")}
"""By what became of it. What would have been denied, and was only monitored, went through."""

KEPT = ("schema", "id", "level", "machine", "user", "version", "measures", "redacted", "missing")
CHOSEN = "subagent_type"
"""What of a detail no agent wrote, and the one measure that an agent may choose."""

OCSF_VERSION = "1.3.0"


def moment(at_us: Any) -> str:
    """What is no time is shown as the beginning of all times, which is also what it is found by."""
    return when(at_us).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def when(at_us: Any) -> datetime:
    """The same on every calendar: a clock that was wrong by centuries is wrong by fewer."""
    return datetime.fromtimestamp(max(0, min(at_us if isinstance(at_us, int) else 0, LATEST_US)) / 1_000_000, UTC)


def as_lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        yield json.dumps(record, ensure_ascii=True)


def as_table(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield _row(FIELDS)
    for record in records:
        known = {
            **record,
            "time": moment(record["at_us"]),
            "verdict": verdict_of(record),
            "subject": subject_of(record),
        }
        known["deciders"] = " ".join(map(str, record.get("deciders", ())))
        yield _row([_harmless(text_of(known.get(name, ""))) for name in FIELDS])


def as_ocsf(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        verdict, failure = verdict_of(record), failure_of(record)
        status, word = STATUS["deny"] if failure else STATUS.get(verdict, (1, "Success"))
        detail = dict_of(record.get("detail"))
        user = {"user": {"name": str(detail["user"])}} if detail.get("user") else {}
        session = {"uid": record.get("conversation") or ""}
        yield json.dumps(
            {
                "class_uid": 6003,
                "category_uid": 6,
                "activity_id": 99,
                "activity_name": record["event"],
                "type_uid": 600_399,
                "time": record["at_us"] // 1000,
                "severity_id": 3 if verdict == "deny" else 1,
                "status_id": status,
                "status": word,
                "status_detail": ", ".join(map(str, record.get("deciders", ()))) or failure,
                "actor": {"app_name": record["host"], "session": session, **user},
                "api": {"operation": record.get("tool") or record["event"], "request": {"uid": record["id"]}},
                "src_endpoint": {"name": str(detail.get("machine") or "localhost")},
                "metadata": {
                    "version": OCSF_VERSION,
                    "product": {"name": "Trotline", "vendor_name": "Trotline", "version": __version__},
                    "uid": record["id"],
                    "sequence": record["seq"],
                },
                "unmapped": {"verdict": verdict, "subject": subject_of(record), "record": record},
            },
            ensure_ascii=True,
        )


FORMATS: dict[str, Callable[[Iterable[dict[str, Any]]], Iterator[str]]] = {
    "jsonl": as_lines,
    "csv": as_table,
    "ocsf": as_ocsf,
    "otlp": as_otlp,
}


def exported(form: str, records: Iterable[dict[str, Any]], *, words: bool) -> Iterator[str]:
    """Its lines; without words there is nothing in them that an agent or its tools wrote."""
    if form == "otlp":
        return as_otlp(records, words=words)  # tokens and times are no words, and it knows them apart
    return FORMATS[form](records if words else map(_without_words, records))


def _without_words(record: dict[str, Any]) -> dict[str, Any]:
    """What the host counted, where and as whom stays: it is in every trail, also in one that keeps no words."""
    detail = dict_of(record.get("detail"))
    kept = {name: detail[name] for name in KEPT if name in detail}
    if "measures" in kept:
        kept["measures"] = {name: told for name, told in dict_of(kept["measures"]).items() if name != CHOSEN}
    bare = {name: value for name, value in record.items() if name not in {"detail", "odd"}}
    return {**bare, "detail": kept} if kept else bare


def _row(values: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator=END).writerow(values)
    return line.getvalue().removesuffix(END)


def _harmless(value: str) -> str:
    """A cell that a spreadsheet would calculate is text: what an agent wrote must not run in one.

    So is each of its lines: who reads a table line by line sees the beginning of a cell where there is none.
    """
    return CALCULATED.sub("'", value)
