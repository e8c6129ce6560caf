"""A review as a comment on a pull request. Whatever others wrote stands in code spans, so that it stays text."""

import re
from collections.abc import Iterator

from trotline.replay.comparison import Group, Kind, grouped, unsaid
from trotline.replay.differences import Difference
from trotline.replay.review import Reviewed

LONGEST = 160
MOST_ROWS = 40
EXAMPLES = 3
WHOLE = "when"
"""What a rule is about: half of it is another rule."""


def code(text: str, longest: int | None = LONGEST) -> str:
    """A code span that nothing in the text can end, on one line; of a long text the beginning, and a sign of that."""
    shown = "".join(char if char.isprintable() else " " for char in text).strip()
    if longest is not None and len(shown) > longest:
        shown = f"{shown[: longest - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    if not shown:
        return ""
    ticks = max(map(len, re.findall("`+", shown)), default=0)
    fence, space = "`" * (ticks + 1), " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"


def cell(text: str, longest: int | None = LONGEST) -> str:
    """The same in a table, where a bar would end the cell in spite of all code spans; elsewhere its escape is shown."""
    return code(text, longest).replace("|", "\\|")


def comment(found: Reviewed, summary: str) -> Iterator[str]:
    yield f"### Hooks and policy: {code(found.old)} to {code(found.new)}"
    yield ""
    yield from _configured(found)
    for problem in found.problems:
        yield f"- problem: {code(str(problem.place))} {code(problem.message)}"
    yield ""
    yield f"**{summary}**"
    groups = grouped(found.rows, (Kind.CHANGED, Kind.OTHERS))
    if groups:
        yield ""
        yield "| calls | was | would be | who | for example |"
        yield "|---|---|---|---|---|"
        yield from (_group(group) for group in groups[:MOST_ROWS])
        yield from _left_out(len(groups))
    reasons = unsaid(found.rows)
    if reasons:
        yield ""
        yield "What cannot be said:"
        yield ""
        yield from (f"- {count}: {code(why)}" for why, count in reasons)


def _configured(found: Reviewed) -> Iterator[str]:
    if not found.differences:
        yield "Nothing that is configured differs."
        return
    yield "| | what | where | name | how | recorded calls it would be asked about |"
    yield "|---|---|---|---|---|---|"
    rows = list(zip(found.differences, found.asked, strict=True))
    yield from (_difference(difference, asked) for difference, asked in rows[:MOST_ROWS])
    yield from _left_out(len(rows))


def _difference(difference: Difference, asked: int) -> str:
    fields = [f"{name} {_way(was, now, None if name == WHOLE else LONGEST)}" for name, was, now in difference.fields]
    how = "; ".join([*fields, *filter(None, [difference.note])])
    calls = str(asked) if difference.hooks else ""
    what = f"{difference.change} | {difference.what} | {difference.where}"
    return f"| {what} | {cell(difference.name)} | {how} | {calls} |"


def _way(was: str, now: str, longest: int | None) -> str:
    before, after = cell(was, longest), cell(now, longest)
    return f"{before} to {after}" if was and now else after or f"no longer {before}"


def _group(group: Group) -> str:
    speak = [cell(text) for _, text in group.rows[0].reasons]
    gone = {author for author, _ in group.silent} - {author for author, _ in group.speaks}
    who = "; ".join([*speak, *(f"no longer {cell(author)}" for author in sorted(gone))])
    subjects = list(dict.fromkeys(row.one.subject for row in group.rows if row.one.subject))
    examples = ", ".join(map(cell, subjects[:EXAMPLES]))
    was, would = group.told
    return f"| {len(group.rows)} | {was} | {would} | {who} | {examples} |"


def _left_out(rows: int) -> Iterator[str]:
    if rows > MOST_ROWS:
        yield ""
        yield f"And {rows - MOST_ROWS} more rows."
