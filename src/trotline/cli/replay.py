"""trotline replay: which recorded decisions would change under another policy, preset or hook set?"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import click
import msgspec

from trotline.audit.export.export_formats import format_time
from trotline.audit.query.query import Query
from trotline.cli.command import declare
from trotline.cli.dispatcher import build_dispatcher
from trotline.cli.log_query import find_record, open_log, query_options
from trotline.cli.output import Result, bold, dim, paint, plural, printable
from trotline.config.paths import Roots
from trotline.config.problems import Problem, Severity
from trotline.domain.errors import TrotlineError, UsageError
from trotline.engine.dispatch import Options
from trotline.evaluation.machine_panel import build_scanning
from trotline.guards.guard import PRESETS
from trotline.machine import get_today
from trotline.policy.policy import POLICY_LAYERS
from trotline.replay.call_sources import CallSelection, LineFormat, find_calls, read_calls
from trotline.replay.candidate import (
    IN_FORCE,
    PROJECT,
    Candidate,
    SingleHookDispatcher,
    load_candidate_hooks,
    read_candidate_policy,
)
from trotline.replay.comparison import (
    CallChange,
    ChangeGroup,
    ChangeKind,
    compare_calls,
    count_unknown,
    group_changes,
)
from trotline.replay.trial import Trial

HELP = """Judge what happened once more, by a candidate, and show which decisions would change.

Without a candidate it is judged by what is in force now: nothing changes, unless something else has changed since.
Nothing is written, no conversation learns of it, and nothing is sent. What was redacted, cut or not kept cannot be
judged again: such calls are counted, and said to be so.

Exit 0 when no decision would be another, 1 when one would.

\b
  trotline replay --since 7d --policy new.toml
  trotline replay --since 7d --preset strict --event beforeShellExecution
  trotline replay --hooks new-hooks.json --conversation ID
  trotline replay --events payloads.jsonl --preset paranoid
  trotline replay 12                     one call, by its number or its id
"""
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
DEFAULT_EXAMPLES = 3
MAX_SUBJECT = 140

SHOWN_KINDS = (ChangeKind.CHANGED, ChangeKind.DRIFTED, ChangeKind.OTHERS)
FINDINGS = frozenset({ChangeKind.CHANGED, ChangeKind.DRIFTED})
TITLES = {
    ChangeKind.CHANGED: "",
    ChangeKind.DRIFTED: ", and not because of the candidate: what is in force says so too, now",
    ChangeKind.OTHERS: ", the same decision by others",
}
SEVERITIES = {"deny": Severity.ERROR, "ask": Severity.WARNING}
RESPONSE_WORDS = {"none": "a warning"}
"""The word for the response of an author that spoke without an opinion."""


@declare("replay", "trotline.replay/1", help=HELP)
@click.argument("name", metavar="[ID]", required=False)
@click.option("--policy", "policy_file", type=FILE, help="Judge by this policy instead of the one of its layer.")
@click.option(
    "--layer", type=click.Choice(POLICY_LAYERS), help="Whose policy it would be; without it, by its place, or user."
)
@click.option("--preset", type=click.Choice(PRESETS), help="Judge by this preset, whatever the policies say.")
@click.option("--hooks", "hooks_file", type=FILE, help="Ask the hooks of this hooks.json as well; they are run.")
@click.option("--trust-digest", multiple=True, metavar="DIGEST", help="Trust this content; see `trotline trust`.")
@click.option(
    "--examples", type=click.IntRange(0), default=DEFAULT_EXAMPLES, show_default=True, help="Calls shown of a kind."
)
@click.option("--events", type=click.File("rb"), help="JSON lines instead of the audit log; - for stdin.")
@click.option("--here", is_flag=True, help="As if the calls had been made in this project.")
@query_options
def command(
    name: str | None, examples: int, events: BinaryIO | None, here: bool, query: Query, roots: Roots, **options: Any
) -> Result:
    with _errors_as_usage(), TemporaryDirectory(prefix="trotline-replay-") as scratch:
        selection = _select_calls(name, events, query, roots)
        calls = selection.calls
        if here:
            calls = [call.move_to(str(roots.projects[0])) for call in calls]
        directory = Path(scratch)
        candidate = _build_candidate(roots, options, directory)
        old = Trial(IN_FORCE, roots, directory / "old", get_today())
        new = Trial(candidate, roots, directory / "new", get_today())
        changes = list(compare_calls(calls, old, new, selection.selected))
    problems = [problem for problem in new.problems if problem not in old.problems]
    elsewhere = 0
    if candidate.layer == PROJECT:
        elsewhere = sum(not change.call.was_made_in(roots) for change in changes)
    is_ok = not problems and not any(change.kind in FINDINGS for change in changes)
    lines = [*_format_problems(problems), *_format_changes(changes, examples, elsewhere)]
    return Result({**_build_data(changes), "elsewhere": elsewhere}, lines, problems, ok=is_ok)


@contextmanager
def _errors_as_usage() -> Iterator[None]:
    """Exit 1 means that a decision would change. So a call that cannot be evaluated at all is a usage error."""
    try:
        yield
    except TrotlineError as error:
        if error.exit_code != TrotlineError.exit_code:
            raise
        raise UsageError(error.message, hint=error.hint) from None


def _select_calls(name: str | None, events: BinaryIO | None, query: Query, roots: Roots) -> CallSelection:
    """Return one call of the audit log, the calls that match a query, or all calls of a file."""
    if name is not None and msgspec.structs.replace(query, include_self_tests=False) != Query():
        raise UsageError("an ID is one call, and conditions choose among many", hint="leave out the one or the others")
    if events is None:
        with open_log(roots.state) as store:
            if name is None:
                return find_calls(store, query)
            seq = find_record(store, name).seq
            return find_calls(store, Query(after_seq=seq - 1, until_seq=seq + 1, include_self_tests=True))
    if name is not None or msgspec.structs.replace(query, agent="", event="") != Query():
        raise UsageError("what is given with --events is all judged", hint="only --agent and --event go with it")
    scanners = build_scanning(roots).scanners()
    form = LineFormat(query.agent, query.event, [scanners[scanner] for scanner in ("secrets", "pii")])
    calls = read_calls(events, form)
    if not calls:
        raise UsageError(f"the input is empty: nothing is in `{events.name}`", hint="one payload on each line")
    return CallSelection(calls)


def _build_candidate(roots: Roots, options: dict[str, Any], directory: Path) -> Candidate:
    def build(where: Roots, settings: Options) -> SingleHookDispatcher:
        return build_dispatcher(SingleHookDispatcher, where, settings)

    candidate = Candidate(preset=options["preset"] or "")
    policy_file, hooks_file = options["policy_file"], options["hooks_file"]
    if options["layer"] and policy_file is None:
        raise UsageError("--layer says whose policy a file would be", hint="give the file with --policy")
    if policy_file is not None:
        layer, policies = read_candidate_policy(policy_file, options["layer"], roots)
        candidate = candidate._replace(layer=layer, policies=policies)
    if hooks_file is not None:
        hooks = load_candidate_hooks(hooks_file, roots, build, directory / "hooks", options["trust_digest"])
        candidate = candidate._replace(hooks=hooks)
    return candidate


# For people


def _format_problems(problems: Iterable[Problem]) -> Iterator[str]:
    for problem in problems:
        yield f"{printable(str(problem.place))}: {paint(problem.severity, problem.severity)} {problem.message}"


def _format_changes(changes: Sequence[CallChange], examples: int, elsewhere: int) -> Iterator[str]:
    """Yield the changes in groups with examples, and why the rest is unknown."""
    if not changes:
        yield "no matching records"
        return
    where = "was in another workspace" if elsewhere == 1 else "were in other workspaces"
    yield bold(_format_summary(changes) + (f"; {elsewhere} {where}, which this does not reach" if elsewhere else ""))
    for group in group_changes(changes, SHOWN_KINDS):
        yield ""
        yield from _format_group(group, examples)
    if reasons := count_unknown(changes):
        yield from ("", bold("cannot be said"))
        yield from (f"{count:>6}  {printable(why)}" for why, count in reasons)


def _format_summary(changes: Sequence[CallChange]) -> str:
    numbers = _count_kinds(changes)
    parts = [f"{numbers['changed'] + numbers['drifted']} would be decided otherwise"]
    parts += [f"{numbers['same'] + numbers['others']} the same"]
    parts += [f"{numbers['unknown']} cannot be said"] if numbers["unknown"] else []
    return f"{plural(len(changes), 'call')}: {', '.join(parts)}"


def _format_group(group: ChangeGroup, examples: int) -> Iterator[str]:
    calls = plural(len(group.changes), "call")
    old, new = group.decisions
    unknown = f", and whether what is in force says so too cannot be said: {printable(group.why)}" if group.why else ""
    yield f"{bold(printable(old))} -> {_paint_decision(new)}: {calls}{TITLES[group.kind]}{unknown}"
    yield from (f"  {line}" for line in _format_authors(group))
    yield from (dim(f"  {_format_example(change)}") for change in group.changes[:examples])
    more = len(group.changes) - examples
    if more > 0 and examples:
        yield dim(f"         and {more} more")


def _format_authors(group: ChangeGroup) -> Iterator[str]:
    """Yield the authors whose responses changed, with the reasons of the first call."""
    removed = dict(group.removed)
    for author, reason in group.changes[0].reasons:
        word = removed.pop(author, "")
        verb = f"says otherwise (it was {RESPONSE_WORDS.get(word, printable(word))})" if word else "now speaks"
        yield f"{verb}: {printable(reason)}"
    for author, word in removed.items():
        yield f"no longer speaks: {printable(author)} ({RESPONSE_WORDS.get(word, printable(word))})"


def _format_example(change: CallChange) -> str:
    call = change.call
    subject = printable(" ".join(call.subject.split()))[:MAX_SUBJECT]
    when = f" {format_time(call.at_us)}" if call.at_us else ""
    return f"{call.seq:>6}{when} {printable(call.agent)} {printable(call.event)}: {subject}"


def _paint_decision(decision: str) -> str:
    severity = SEVERITIES.get(decision.replace(" (", ",").partition(",")[0])
    return paint(decision, severity) if severity else bold(decision)


# For programs


def _count_kinds(changes: Iterable[CallChange]) -> dict[str, int]:
    kinds = [change.kind for change in changes]
    return {str(kind): kinds.count(kind) for kind in ChangeKind}


def _build_data(changes: Sequence[CallChange]) -> dict[str, Any]:
    """Return the counts, and every call whose decision or authors change or are unknown."""
    shown = [_build_change(change) for change in changes if change.kind is not ChangeKind.SAME]
    return {"calls": len(changes), "counts": _count_kinds(changes), "changes": shown}


def _build_change(change: CallChange) -> dict[str, Any]:
    call = change.call
    call_data = {"seq": call.seq, "id": call.id, "agent": call.agent, "event": call.event, "subject": call.subject}
    if change.kind is ChangeKind.UNKNOWN:
        return {**call_data, "kind": change.kind, "why": change.why}
    sent = zip(change.sent, (change.old, change.new.partition(",")[0]), strict=True)
    return {
        **call_data,
        "kind": change.kind,
        "old": change.old,
        "new": change.new,
        **({"sent": [permission or decided for permission, decided in sent]} if any(change.sent) else {}),
        "added": list(map(list, change.added)),
        "removed": list(map(list, change.removed)),
        "reasons": [reason for _, reason in change.reasons],
        **({"why": change.why} if change.why else {}),
    }
