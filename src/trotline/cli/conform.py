"""trotline conform: run an engine through the conformance corpus and report where it agrees."""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from trotline.cli.command import declare
from trotline.cli.output import Result, bold, dim, plural, printable
from trotline.domain.errors import UsageError
from trotline.testing.conformance import CASE_GROUPS, CaseResult, ConformanceCase, EngineProcess, load_cases, run_cases

HELP = """Put an engine into every situation of the published corpus, and say where it agrees with the contract.

COMMAND is a small adapter around the engine: it reads a line of JSON with a situation, and prints a line of JSON with
what the engine saw (docs/conformance.md). Without one, Trotline's own engine goes through the same door. The last
columns say what was measured on Cursor's own engine. Exit 1 if there is a difference.

\b
  trotline conform                         our own engine
  trotline conform -- node adapter.js      another one
  trotline conform --rule fatal --list     what makes Cursor ignore a file: the situations
  trotline conform --case merge_a_deny_beats_an_ask_and_both_are_heard -- ./adapter
"""

MEASURED = "Cursor: agrees  differs  unmeasured"
"""The header of the columns about measurements on Cursor's own engine."""

RESULTS = ("agrees", "differs", "not told", "failed")
BAD_RESULTS = frozenset({"differs", "failed"})


@declare("conform", "trotline.conform/1", help=HELP, roots=False)
@click.option(
    "--rule", "rules", type=click.Choice(list(CASE_GROUPS)), multiple=True, help="Only this part of the contract."
)
@click.option("--case", "names", multiple=True, metavar="NAME", help="Only this situation.")
@click.option("--edition", "edition_name", help="Only situations of this edition.")
@click.option("--list", "should_list", is_flag=True, help="Name the situations, and stop.")
@click.argument("engine", nargs=-1, metavar="[-- COMMAND...]")
def command(
    rules: tuple[str, ...],
    names: tuple[str, ...],
    edition_name: str | None,
    should_list: bool,
    engine: tuple[str, ...],
) -> Result:
    cases = _choose_cases(rules, names, edition_name)
    if should_list:
        return _list_cases(cases)
    ours = (sys.executable, "-I", "-m", "trotline.testing.conformance_engine")
    results: list[CaseResult] = []
    with EngineProcess(engine or ours) as process:
        for number, result in enumerate(run_cases(process, cases), 1):
            results.append(result)
            _show_progress(number, len(cases))
    is_ok = all(result.status not in BAD_RESULTS for result in results)
    return Result(_build_data(results), _format_table(results), ok=is_ok)


def _choose_cases(rules: tuple[str, ...], names: tuple[str, ...], edition_name: str | None) -> list[ConformanceCase]:
    cases = load_cases()
    unknown = set(names) - {case.name for case in cases}
    if unknown:
        raise UsageError(f"there is no situation `{min(unknown)}`", hint="`trotline conform --list` names them")
    return [
        case
        for case in cases
        if (not rules or case.group in rules)
        and (not names or case.name in names)
        and (edition_name is None or case.edition == edition_name)
    ]


def _list_cases(cases: list[ConformanceCase]) -> Result:
    data = [
        {"case": case.name, "rule": case.group, "edition": case.edition, **_build_case_notes(case)} for case in cases
    ]
    lines = [f"{case.name}\n  {dim(str(case.body['note']))}" for case in cases]
    return Result(data, lines, schema="trotline.conform.list/1")


def _build_case_notes(case: ConformanceCase) -> dict[str, str | None]:
    return {"note": case.body["note"], "source": case.body["source"], "measured": case.measured or None}


def _show_progress(number: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\r" if number < total else "\r\x1b[K"
        click.echo(f"{number} of {total} situations{end}", nl=False, err=True)


def _format_table(results: list[CaseResult]) -> Iterator[str]:
    yield f"{'':<60}{'agrees':>7}{'differs':>9}{'not told':>10}{'failed':>8}   {dim(MEASURED)}"
    for rule, title in CASE_GROUPS.items():
        rule_results = [result for result in results if result.case.group == rule]
        if rule_results:
            yield f"{title:<60}{_format_counts(rule_results)}   {_format_measured(rule_results)}"
    yield bold(f"{'all':<60}{_format_counts(results)}   {_format_measured(results)}")
    for result in (result for result in results if result.status in BAD_RESULTS):
        yield from ("", f"{bold(result.status)} {result.case.name}", f"  {result.case.body['note']}")
        yield dim(f"  {result.case.body['source']}")
        yield from (f"  {printable(text)}" for text in (*result.differences, *filter(None, [result.error])))
        if result.case.measured:
            yield f"  Cursor's own engine: {result.case.measured}"
    differing = [result.case for result in results if result.case.measured.startswith("differs")]
    if differing:
        yield from ("", f"Where Cursor's own engine was seen to differ ({plural(len(differing), 'situation')}):")
        yield from (f"  {case.name}: {case.measured.removeprefix('differs: ')}" for case in differing)


def _format_counts(results: list[CaseResult]) -> str:
    counts = Counter(result.status for result in results)
    return "".join(f"{counts[word]:>{width}}" for word, width in zip(RESULTS, (7, 9, 10, 8), strict=True))


def _format_measured(results: list[CaseResult]) -> str:
    counts = Counter(result.case.measured.partition(":")[0] for result in results)
    return f"{counts['agrees']:>14}{counts['differs']:>9}{counts['']:>12}"


def _build_data(results: list[CaseResult]) -> dict[str, Any]:
    return {
        "counts": dict(Counter(result.status for result in results)),
        "situations": [
            {
                "case": result.case.name,
                "rule": result.case.group,
                "result": result.status,
                "differences": list(result.differences),
                "trouble": result.error or None,
                **_build_case_notes(result.case),
            }
            for result in results
        ],
    }
