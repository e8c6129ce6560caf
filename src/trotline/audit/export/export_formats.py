"""Export records for other programs as JSON lines, CSV, OCSF events (API Activity, class 6003) or OTLP.

Records were redacted before they were written; nothing is added here.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from trotline import __version__
from trotline.audit.export.otlp import format_otlp
from trotline.audit.record.record_reader import MAX_TIME_US, as_dict, clean_text, get_failure, get_verdict
from trotline.audit.store.record_index import get_subject

CSV_FIELDS = ("seq", "id", "time", "agent", "event", "conversation", "tool", "verdict", "deciders", "subject", "micros")
"""Columns of the CSV format."""

LINE_END = "\r\n"
"""Line terminator for `csv.writer`, which quotes these characters and, in Python 3.11, no other newline."""

FORMULA_START = re.compile(r"(?:\A|(?<=[\n\r]))(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])")
"""Positions at which a spreadsheet would see a formula; East Asian ones also accept full-width characters."""

OCSF_STATUS = {"deny": (2, "Failure"), "ask": (99, "Other")}
"""OCSF status by verdict. Actions that were only monitored went through and count as success."""

PLAIN_DETAIL_FIELDS = ("schema", "id", "level", "machine", "user", "version", "measures", "redacted", "missing")
AGENT_CHOSEN_MEASURE = "subagent_type"
"""The measure that an agent may choose; no other part of PLAIN_DETAIL_FIELDS is written by an agent."""

OCSF_VERSION = "1.3.0"


def format_time(at_us: Any) -> str:
    """Return the time in ISO 8601; an invalid time is shown as 1970, under which the index also has it."""
    return to_datetime(at_us).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_datetime(at_us: Any) -> datetime:
    """Convert microseconds to a UTC datetime, limited to what a datetime can hold in case a clock was wrong."""
    return datetime.fromtimestamp(max(0, min(at_us if isinstance(at_us, int) else 0, MAX_TIME_US)) / 1_000_000, UTC)


def format_jsonl(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield each record as a line of JSON."""
    for record in records:
        yield json.dumps(record, ensure_ascii=True)


def format_csv(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the header and a CSV row for each record."""
    yield _format_row(CSV_FIELDS)
    for record in records:
        known = {
            **record,
            "time": format_time(record["at_us"]),
            "verdict": get_verdict(record),
            "subject": get_subject(record),
        }
        known["deciders"] = " ".join(map(str, record.get("deciders", ())))
        yield _format_row([_escape_formula(clean_text(known.get(name, ""))) for name in CSV_FIELDS])


def format_ocsf(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield each record as an OCSF event in a line of JSON."""
    for record in records:
        verdict, failure = get_verdict(record), get_failure(record)
        status, word = OCSF_STATUS["deny"] if failure else OCSF_STATUS.get(verdict, (1, "Success"))
        detail = as_dict(record.get("detail"))
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
                "actor": {"app_name": record["agent"], "session": session, **user},
                "api": {"operation": record.get("tool") or record["event"], "request": {"uid": record["id"]}},
                "src_endpoint": {"name": str(detail.get("machine") or "localhost")},
                "metadata": {
                    "version": OCSF_VERSION,
                    "product": {"name": "Trotline", "vendor_name": "Trotline", "version": __version__},
                    "uid": record["id"],
                    "sequence": record["seq"],
                },
                "unmapped": {"verdict": verdict, "subject": get_subject(record), "record": record},
            },
            ensure_ascii=True,
        )


FORMATS: dict[str, Callable[[Iterable[dict[str, Any]]], Iterator[str]]] = {
    "jsonl": format_jsonl,
    "csv": format_csv,
    "ocsf": format_ocsf,
    "otlp": format_otlp,
}


def format_records(form: str, records: Iterable[dict[str, Any]], *, words: bool) -> Iterator[str]:
    """Return the lines of the export; without `words` they contain nothing that an agent or its tools wrote."""
    if form == "otlp":
        return format_otlp(records, words=words)  # it removes the detail itself but keeps tokens and durations
    return FORMATS[form](records if words else map(_remove_detail, records))


def _remove_detail(record: dict[str, Any]) -> dict[str, Any]:
    """Remove text written by the agent; measures, machine and user stay, as they are kept at every detail level."""
    detail = as_dict(record.get("detail"))
    kept = {name: detail[name] for name in PLAIN_DETAIL_FIELDS if name in detail}
    if "measures" in kept:
        kept["measures"] = {
            name: told for name, told in as_dict(kept["measures"]).items() if name != AGENT_CHOSEN_MEASURE
        }
    bare = {name: value for name, value in record.items() if name not in {"detail", "odd"}}
    return {**bare, "detail": kept} if kept else bare


def _format_row(values: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator=LINE_END).writerow(values)
    return line.getvalue().removesuffix(LINE_END)


def _escape_formula(value: str) -> str:
    """Mark a cell as text where a spreadsheet would run it as a formula: an agent may have written it.

    This applies to each line of the cell, because a program that reads the file line by line takes it for a new cell.
    """
    return FORMULA_START.sub("'", value)
