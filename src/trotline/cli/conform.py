"""trotline conform: put an engine into the situations of the corpus, and say where it agrees."""

import sys
from collections import Counter

import click

from trotline.cli.options import json_option
from trotline.cli.output import bold, dim, envelope, plural, printable
from trotline.errors import UsageError
from trotline.testing.conformance import Agreement, Door, conform
from trotline.testing.situations import RULES, Case, all_cases

HELP = """Put an engine into every situation of the published corpus, and say where it agrees with the contract.

COMMAND is a small adapter around the engine: it reads a line of JSON with a situation, and prints a line of JSON with
what the engine saw (docs/conformance.md). Without one, Trotline's own engine goes through the same door. The last
columns say what was measured on Cursor's own engine. Exit 1 if there is a difference.

\b
  trotline conform                         our own engine
  trotline conform -- node adapter.js      another one
  trotline conform --rule void --list      what voids a file: the situations
  trotline conform --case merge_a_deny_beats_an_ask_and_both_are_heard -- ./adapter
"""

MEASURED = "Cursor: agrees  differs  unmeasured"
"""Of Cursor's own engine: how often it was seen to agree with the contract, and to differ."""

WORDS = ("agrees", "differs", "not told", "failed")


@click.command("conform", help=HELP, context_settings={"ignore_unknown_options": False})
@click.option("--rule", "rules", type=click.Choice(list(RULES)), multiple=True, help="Only this part of the contract.")
@click.option("--case", "names", multiple=True, metavar="NAME", help="Only this situation.")
@click.option("--edition", "edition_name", help="Only situations of this edition.")
@click.option("--list", "listing", is_flag=True, help="Name the situations, and stop.")
@json_option
@click.argument("engine", nargs=-1, metavar="[-- COMMAND...]")
def command(
    rules: tuple[str, ...],
    names: tuple[str, ...],
    edition_name: str | None,
    listing: bool,
    as_json: bool,
    engine: tuple[str, ...],
) -> int:
    cases = _chosen(rules, names, edition_name)
    if listing:
        _list(cases, as_json=as_json)
        return 0
    ours = (sys.executable, "-I", "-m", "trotline.testing.door")
    found: list[Agreement] = []
    with Door(engine or ours) as door:
        for number, agreement in enumerate(conform(door, cases), 1):
            found.append(agreement)
            _progress(number, len(cases))
    click.echo(_as_json(found) if as_json else _table(found))
    return 1 if any(one.word in {"differs", "failed"} for one in found) else 0


def _chosen(rules: tuple[str, ...], names: tuple[str, ...], edition_name: str | None) -> list[Case]:
    cases = all_cases()
    unknown = set(names) - {case.name for case in cases}
    if unknown:
        raise UsageError(f"there is no situation `{min(unknown)}`", hint="`trotline conform --list` names them")
    return [
        case
        for case in cases
        if (not rules or case.rule in rules)
        and (not names or case.name in names)
        and (edition_name is None or case.edition == edition_name)
    ]


def _list(cases: list[Case], *, as_json: bool) -> None:
    if as_json:
        data = [{"case": case.name, "rule": case.rule, "edition": case.edition, **_about(case)} for case in cases]
        click.echo(envelope("trotline.conform.list/1", ok=True, data=data, problems=[]))
        return
    for case in cases:
        click.echo(f"{case.name}\n  {dim(str(case.body['note']))}")


def _about(case: Case) -> dict[str, str | None]:
    return {"note": case.body["note"], "source": case.body["source"], "measured": case.measured or None}


def _progress(number: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\r" if number < total else "\r\x1b[K"
        click.echo(f"{number} of {total} situations{end}", nl=False, err=True)


def _table(found: list[Agreement]) -> str:
    lines = [f"{'':<60}{'agrees':>7}{'differs':>9}{'not told':>10}{'failed':>8}   {dim(MEASURED)}"]
    for rule, title in RULES.items():
        of_rule = [one for one in found if one.case.rule == rule]
        if of_rule:
            lines.append(f"{title:<60}{_counts(of_rule)}   {_measured(of_rule)}")
    lines.append(bold(f"{'all':<60}{_counts(found)}   {_measured(found)}"))
    for one in (one for one in found if one.word in {"differs", "failed"}):
        lines += [
            "",
            f"{bold(one.word)} {one.case.name}",
            f"  {one.case.body['note']}",
            dim(f"  {one.case.body['source']}"),
        ]
        lines += [f"  {printable(text)}" for text in (*one.differs, *filter(None, [one.trouble]))]
        lines += [f"  Cursor's own engine: {one.case.measured}"] if one.case.measured else []
    differing = [one.case for one in found if one.case.measured.startswith("differs")]
    if differing:
        lines += ["", f"Where Cursor's own engine was seen to differ ({plural(len(differing), 'situation')}):"]
        lines += [f"  {case.name}: {case.measured.removeprefix('differs: ')}" for case in differing]
    return "\n".join(lines)


def _counts(found: list[Agreement]) -> str:
    counts = Counter(one.word for one in found)
    return "".join(f"{counts[word]:>{width}}" for word, width in zip(WORDS, (7, 9, 10, 8), strict=True))


def _measured(found: list[Agreement]) -> str:
    counts = Counter(one.case.measured.partition(":")[0] for one in found)
    return f"{counts['agrees']:>14}{counts['differs']:>9}{counts['']:>12}"


def _as_json(found: list[Agreement]) -> str:
    data = {
        "counts": dict(Counter(one.word for one in found)),
        "situations": [
            {
                "case": one.case.name,
                "rule": one.case.rule,
                "result": one.word,
                "differences": list(one.differs),
                "trouble": one.trouble or None,
                **_about(one.case),
            }
            for one in found
        ],
    }
    ok = all(one.word not in {"differs", "failed"} for one in found)
    return envelope("trotline.conform/1", ok=ok, data=data, problems=[])
