"""Export records for other programs as JSON lines, CSV, OCSF events (API Activity, class 6003) or OTLP.

Records were redacted before they were written; nothing is added here.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from trotline import __version__
from trotline.audit.export.otlp import format_otlp
from trotline.audit.record.record import MAX_TIME_US, Record, clean_text
from trotline.audit.record.record_reader import convert_record

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


def format_time(at_us: int) -> str:
    """Return the time in ISO 8601."""
    return to_datetime(at_us).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_datetime(at_us: int) -> datetime:
    """Convert microseconds to a UTC datetime, limited to what a datetime can hold in case a clock was wrong."""
    return datetime.fromtimestamp(max(0, min(at_us, MAX_TIME_US)) / 1_000_000, UTC)


def format_jsonl(records: Iterable[Record]) -> Iterator[str]:
    """Yield each record as a line of JSON."""
    for record in records:
        yield json.dumps(record.to_dict(), ensure_ascii=True)


def format_csv(records: Iterable[Record]) -> Iterator[str]:
    """Yield the header and a CSV row for each record."""
    yield _format_row(CSV_FIELDS)
    for record in records:
        cells = {
            **record.to_dict(),
            "time": format_time(record.at_us),
            "verdict": record.effective_verdict,
            "deciders": " ".join(record.deciders),
            "subject": record.subject,
        }
        yield _format_row([_escape_formula(clean_text(cells.get(name, ""))) for name in CSV_FIELDS])


def format_ocsf(records: Iterable[Record]) -> Iterator[str]:
    """Yield each record as an OCSF event in a line of JSON."""
    for record in records:
        verdict, failure, detail = record.effective_verdict, record.failure, record.detail_or_empty
        status_id, status = OCSF_STATUS["deny"] if failure else OCSF_STATUS.get(verdict, (1, "Success"))
        user = {"user": {"name": detail.user}} if detail.user else {}
        yield json.dumps(
            {
                "class_uid": 6003,
                "category_uid": 6,
                "activity_id": 99,
                "activity_name": record.event,
                "type_uid": 600_399,
                "time": record.at_us // 1000,
                "severity_id": 3 if verdict == "deny" else 1,
                "status_id": status_id,
                "status": status,
                "status_detail": ", ".join(record.deciders) or failure,
                "actor": {"app_name": record.agent, "session": {"uid": record.conversation}, **user},
                "api": {"operation": record.tool or record.event, "request": {"uid": record.id}},
                "src_endpoint": {"name": detail.machine or "localhost"},
                "metadata": {
                    "version": OCSF_VERSION,
                    "product": {"name": "Trotline", "vendor_name": "Trotline", "version": __version__},
                    "uid": record.id,
                    "sequence": record.seq,
                },
                "unmapped": {"verdict": verdict, "subject": record.subject, "record": record.to_dict()},
            },
            ensure_ascii=True,
        )


FORMATS: dict[str, Callable[[Iterable[Record]], Iterator[str]]] = {
    "jsonl": format_jsonl,
    "csv": format_csv,
    "ocsf": format_ocsf,
    "otlp": format_otlp,
}


def format_records(form: str, records: Iterable[Record], *, with_detail: bool) -> Iterator[str]:
    """Return the lines of the export; without `with_detail` they contain nothing that an agent or its tools wrote."""
    if form == "otlp":
        return format_otlp(
            records, with_detail=with_detail
        )  # it removes the detail itself but keeps tokens and durations
    return FORMATS[form](records if with_detail else map(_remove_agent_texts, records))


def _remove_agent_texts(record: Record) -> Record:
    """Remove text written by the agent; measures, machine and user stay, as they are stored at every detail level."""
    body = record.to_dict()
    detail = body.pop("detail", {})
    body.pop("invalid", None)
    fields = {name: detail[name] for name in PLAIN_DETAIL_FIELDS if name in detail}
    if "measures" in fields:
        fields["measures"] = {name: value for name, value in fields["measures"].items() if name != AGENT_CHOSEN_MEASURE}
    return convert_record({**body, "detail": fields} if fields else body)


def _format_row(values: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator=LINE_END).writerow(values)
    return line.getvalue().removesuffix(LINE_END)


def _escape_formula(value: str) -> str:
    """Mark a cell as text where a spreadsheet would run it as a formula: an agent may have written it.

    This applies to each line of the cell, because a program that reads the file line by line takes it for a new cell.
    """
    return FORMULA_START.sub("'", value)
