"""One record on a terminal: everything about it, the short before the long."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import RenderableType
from rich.highlighter import JSONHighlighter
from rich.padding import Padding
from rich.table import Table as Grid

from trotline.audit.columns import columns_of, subject_of
from trotline.audit.kept_effects import effects_in
from trotline.audit.shapes import dict_of, list_of
from trotline.cli.drawing import grid, moment, names, show, text, title, verdict
from trotline.cli.output import as_json
from trotline.cli.showing import WIDTH, missing_of

OF_LINES = {"+": "green", "-": "red", "@": "cyan"}
INWARD = (0, 0, 0, 2)


def draw_record(record: dict[str, Any], observed: list[int]) -> None:
    show(*_sheet(record, dict_of(record.get("detail")), observed))


def _sheet(record: dict[str, Any], detail: dict[str, Any], observed: list[int]) -> Iterator[RenderableType]:
    yield text(f"{record.get('event')} ", "bold") + verdict(record) + text(f"  {_in_a_line(subject_of(record))}")
    yield _pairs(_facts(record, detail, observed))
    yield from _rows("said by", ("who", "layer", "said", "ms", "exit", "why"), _voices(record, detail))
    yield from _rows("would do", ("what", "how", "to", "and"), map(_effect, effects_in(record)))
    yield from _rows("found", ("by", "kind", "certainty", "digest", "line"), list_of(record.get("findings")))
    yield from _rows("the host could not hear", ("what", "why"), list_of(record.get("losses")))
    yield from _rows("not run", ("hook", "line", "why"), list_of(detail.get("not_run")))
    yield from _rows("warnings", ("",), ([warning] for warning in list_of(detail.get("warnings"))))
    yield from _rows("attached", ("type", "path"), list_of(detail.get("attachments")))
    sizes = dict_of(detail.get("sizes"))
    yield from _rows(
        "texts", ("name", "characters", "digest"), ([name, *list_of(told)] for name, told in sizes.items())
    )
    for path, diff, *_ in filter(_is_pair, list_of(detail.get("diffs"))):
        yield title(path or "a file")
        yield from (Padding(text(line, OF_LINES.get(line[:1], "")), INWARD) for line in str(diff).split("\n"))
    if detail.get("payload") is not None:
        yield title("asked with")
        yield Padding(JSONHighlighter()(as_json(detail["payload"])), INWARD)
    if detail.get("reply"):
        yield title("answered with")
        yield Padding(text(detail["reply"]), INWARD)


def _in_a_line(subject: str) -> str:
    """A script or a patch by its beginning; the whole of it stands below, in what was asked with."""
    line = " ".join(subject.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}\N{HORIZONTAL ELLIPSIS}"


def _facts(record: dict[str, Any], detail: dict[str, Any], observed: list[int]) -> Iterator[tuple[str, Any]]:
    yield "number, id", f"{record['seq']}, {record['id']}"
    yield "time", moment(columns_of(record).at_us, "%Y-%m-%d %H:%M:%S.%f UTC")
    yield "host", f"{record.get('host')} {detail.get('version', '')}".strip()
    yield "conversation", record.get("conversation")
    yield "turn", record.get("generation")
    yield "tool", record.get("tool")
    yield "machine, user", ", ".join(str(detail[name]) for name in ("machine", "user") if detail.get(name))
    yield "asked, sent", f"{record.get('asked')}, {record.get('sent')}"
    yield "observed", f"done, says {', '.join(map(str, observed))}" if observed else ""
    yield "took", f"{_ms(record.get('micros'))} ms"
    yield "redacted", ", ".join(map(str, list_of(detail.get("redacted"))))
    yield "missing", missing_of(record)
    for name, measure in dict_of(detail.get("measures")).items():
        yield str(name).replace("_", " "), measure


def _voices(record: dict[str, Any], detail: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    reasons = {str(pair[0]): pair[1] for pair in filter(_is_pair, list_of(detail.get("reasons")))}
    for voice in map(dict_of, list_of(record.get("voices"))):
        author = voice.get("author")
        said = f"failed, {voice['failure']}" if voice.get("failure") else voice.get("said")
        why = reasons.get(str(author), "only noted" if voice.get("noted") else "")
        took = _ms(voice.get("micros"))
        yield names(record, [author])[0], voice.get("layer"), said, took, voice.get("exit"), why


def _effect(effect: dict[str, Any]) -> tuple[Any, ...]:
    """What stands in a column of its own, then whatever else is known of it."""
    shown = (effect["kind"], effect["verb"], effect["to"])
    more = (name if told is True else f"{name} {told}" for name, told in effect.items() if told not in shown)
    return *shown, ", ".join(more)


def _ms(micros: Any) -> str:
    return f"{micros / 1000:g}" if isinstance(micros, int) else "?"


def _is_pair(found: Any) -> bool:
    return isinstance(found, list) and len(found) >= 2


def _pairs(facts: Iterable[tuple[str, Any]]) -> Grid:
    drawn = grid(is_headed=False)
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in facts:
        if value not in ("", None):
            drawn.add_row(text(name), text(value))
    return drawn


def _rows(name: str, columns: tuple[str, ...], rows: Iterable[Any]) -> Iterator[RenderableType]:
    drawn = grid(is_headed=any(columns))
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*(text("" if cell is None else cell) for cell in list(row)[: len(columns)]))
    if drawn.row_count:
        yield title(name)
        yield drawn
