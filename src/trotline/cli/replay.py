"""trotline replay: what happened, judged again by a candidate; which decisions would change, and why."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from trotline.cli import changes
from trotline.cli.hosting import hosting
from trotline.cli.options import json_option
from trotline.cli.output import bold, envelope, paint, printable, problem_data
from trotline.config.places import Roots
from trotline.config.problems import Problem, Severity
from trotline.engine.engine import Options
from trotline.errors import TrotlineError, UsageError
from trotline.guards.guard import PRESETS
from trotline.guards.policy import AUTHORITY
from trotline.hosts import HOSTS, host_named
from trotline.machine import today
from trotline.replay.abroad import abroad
from trotline.replay.candidates import PROJECT, Candidate, candidate_policy
from trotline.replay.comparison import compared
from trotline.replay.hooks import OneFile, judges_in
from trotline.replay.recalled import Recalled
from trotline.replay.removal import is_here
from trotline.replay.sources import Calls
from trotline.replay.trials import IN_FORCE, Judged, State, Trial

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
  trotline replay 12 --as claude-code    what another agent would be answered to it
"""
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
EXAMPLES = 3


@click.command("replay", help=HELP)
@click.argument("name", metavar="[ID]", required=False)
@click.option("--policy", "policy_file", type=FILE, help="Judge by this policy instead of the one of its layer.")
@click.option(
    "--layer", type=click.Choice(AUTHORITY), help="Whose policy it would be; without it, by its place, or user."
)
@click.option("--preset", type=click.Choice(PRESETS), help="Judge by this preset, whatever the policies say.")
@click.option("--hooks", "hooks_file", type=FILE, help="Ask the hooks of this hooks.json as well; they are run.")
@click.option("--trust-digest", multiple=True, metavar="DIGEST", help="Trust this content; see `trotline trust`.")
@click.option("--as", "as_host", type=click.Choice(list(HOSTS)), help="What this agent would be answered; with an ID.")
@click.option("--examples", type=click.IntRange(0), default=EXAMPLES, show_default=True, help="Calls shown of a kind.")
@changes.calls_options
@json_option
def command(calls: Calls, roots: Roots, *, as_json: bool, name: str | None, examples: int, **asked: Any) -> int:
    if asked["as_host"] and name is None:
        raise UsageError("--as is about one call", hint="`trotline log` lists them; the number stands first")
    with TemporaryDirectory(prefix="trotline-replay-") as made:
        directory = Path(made)
        layer, state = _candidate(roots, asked, directory)
        new = Trial(state, roots, directory / "new", today())
        if asked["as_host"]:
            return _elsewhere(calls.every, new, asked["as_host"], as_json=as_json)
        old = Trial(IN_FORCE, roots, directory / "old", today())
        rows = list(compared(calls.every, old, new, calls.wanted))
    problems = [problem for problem in new.problems if problem not in old.problems]
    ok = not problems and not any(row.kind in changes.FOUND for row in rows)
    far = sum(not is_here(row.one, roots) for row in rows) if layer == PROJECT else 0
    if as_json:
        faults = [problem_data(problem) for problem in problems]
        data = {**changes.data(rows), "elsewhere": far}
        click.echo(envelope("trotline.replay/1", ok=ok, data=data, problems=faults))
    else:
        click.echo("\n".join([*_wrong(problems), *changes.told(rows, examples, far)]))
    return 0 if ok else 1


def _candidate(roots: Roots, asked: dict[str, Any], directory: Path) -> tuple[str, State]:
    """What is judged by, and whose policy is another in it."""

    def engine(where: Roots, options: Options) -> OneFile:
        return hosting(OneFile, where, options)

    file, hooks = asked["policy_file"], asked["hooks_file"]
    if asked["layer"] and file is None:
        raise UsageError("--layer says whose policy a file would be", hint="give the file with --policy")
    policy = candidate_policy(file, asked["layer"], roots) if file else Candidate()
    judges = judges_in(hooks, roots, engine, directory / "hooks", asked["trust_digest"]) if hooks else ()
    return policy.layer, State(policy.instead, asked["preset"] or "", judges)


def _wrong(problems: Iterable[Problem]) -> Iterable[str]:
    for problem in problems:
        yield f"{printable(str(problem.place))}: {paint(problem.severity, problem.severity)} {problem.message}"


# Another host


def _elsewhere(calls: Sequence[Recalled], trial: Trial, name: str, *, as_json: bool) -> int:
    """The last of these calls as another host would make it, after all that came before it."""
    *earlier, one = calls
    for call in earlier:
        trial.judge(call, aside=True)
    host = host_named(name)
    there = abroad(one, host)
    judged = trial.judge(there, host)
    if judged.outcome is None:
        raise TrotlineError(f"what record {one.seq} would be answered cannot be said: {judged.unsaid}")
    data = _answered(one, there, judged)
    same = not data["losses"] and data["decision"] == data["was"]
    if as_json:
        click.echo(envelope("trotline.replay.as/1", ok=same, data=data, problems=[]))
    else:
        click.echo("\n".join(_there(data)))
    return 0 if same else 1


def _answered(one: Recalled, there: Recalled, judged: Judged) -> dict[str, Any]:
    sent, outcome = judged.answer, judged.outcome
    if sent is None or outcome is None:
        return {}
    return {
        "seq": one.seq,
        "id": one.id,
        "was": one.said.permission if one.said else "",
        "host": there.host,
        "event": there.event,
        "payload": there.payload.decode(),
        "decision": outcome.decision.permission.word,
        "deciders": list(outcome.decision.deciders),
        "losses": [[loss.what, loss.why] for loss in sent.losses],
        "stdout": sent.stdout,
        "stderr": sent.stderr,
        "exit": sent.exit_code,
    }


def _there(data: dict[str, Any]) -> Iterable[str]:
    by = f", by {printable(', '.join(data['deciders']))}" if data["deciders"] else ""
    was = f"record {data['seq']} was {printable(data['was'])}"
    yield f"{bold(data['host'])} {data['event']}: {bold(data['decision'])}{by}; {was}"
    yield f"  called with: {printable(data['payload'])}"
    yield from (paint(f"  lost: {what}: {printable(why)}", Severity.WARNING) for what, why in data["losses"])
    yield f"  answered with exit {data['exit']}: {printable(data['stdout'])}"
    yield from (f"  and on standard error: {printable(line)}" for line in data["stderr"].splitlines())
