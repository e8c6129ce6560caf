"""trotline test: tests of what is configured here. `new --from ID` writes one from a recorded call."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from trotline.audit.export import moment
from trotline.audit.query import Query
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, envelope, plural, printable
from trotline.cli.patience import opened_trail
from trotline.cli.showing import record_named
from trotline.config.files import content
from trotline.config.places import Roots, policy_files
from trotline.config.policies import WHEN_UNREADABLE
from trotline.errors import TrotlineError
from trotline.replay.recalled import Recalled
from trotline.replay.reduction import WORKSPACE, Example, Stage, reduced, wanted_of
from trotline.replay.sources import in_order
from trotline.replay.written import About, name_of, text_of
from trotline.starters.sheets import Sheet, missing, write

HELP = """Tests of what is configured here.

\b
  trotline test new --from 12              a pytest test from a recorded call
  trotline test new --from 12 --to tests/test_force_push.py
"""
DIRECTORY = Path(".trotline") / "tests"
REDACTED = "redacted: "


class Made(NamedTuple):
    """A test that was written, and what a person should know of it."""

    sheet: Sheet
    example: Example
    redacted: tuple[str, ...]


@click.group("test", help=HELP)
def command() -> None:
    pass


@command.command("new")
@click.option("--from", "name", required=True, metavar="ID", help="The call, by its number or its id.")
@click.option("--to", "target", type=click.Path(path_type=Path, dir_okay=False), help="The file to write.")
@json_option
@roots_options
def new(name: str, target: Path | None, as_json: bool, roots: Roots) -> int:
    """Write a pytest test from a recorded call, with no more in it than it takes for the same Outcome.

    The test plays the call to the guards, under as much of the policies as it needs. Nothing that is there is
    overwritten.
    """
    if target is not None and target.suffix != ".py":
        raise click.UsageError(f"pytest reads files that end in `.py`, and `{target}` does not")
    with opened_trail(roots.state) as store:
        record = record_named(store, name)
        seq = int(record["seq"])
        calls = in_order(store, Query(after_seq=seq - 1, until_seq=seq + 1, own=True)).every
    made = _made(record, calls, target, roots)
    root = roots.projects[0] if target is None else made.sheet.path.parent
    absent = missing([made.sheet], root, hint="say another file with --to")
    write(absent)
    if as_json:
        click.echo(envelope("trotline.test/1", ok=True, data=_data(made, seq), problems=[]))
        return 0
    shown = _shown(made.sheet.path, roots)
    click.echo(f"{'wrote' if absent else 'kept'} {bold(shown)}")
    click.echo("\n".join(f"  {line}" for line in _told(made)))
    click.echo(f"next:\n  pytest {shown}")
    return 0


def _told(made: Made) -> Iterator[str]:
    before = len(made.example.before)
    yield f"left of it: {made.example.left_out}" + (f", after {plural(before, 'earlier event')}" if before else "")
    yield from (f"it holds a part of the {layer} policy" for layer in made.example.policies)
    yield from map(printable, made.redacted or ("nothing was redacted",))


def _shown(path: Path, roots: Roots) -> str:
    root = roots.projects[0]
    return printable(str(path.relative_to(root) if path.is_relative_to(root) else path))


def _made(record: dict[str, Any], calls: Sequence[Recalled], target: Path | None, roots: Roots) -> Made:
    last = calls[-1]
    redacted = tuple(part for part in last.missing.split("; ") if part.startswith(REDACTED))
    if last.missing and "; ".join(redacted) != last.missing:
        raise TrotlineError(f"no test can be made from record {last.seq}: {last.missing}")
    earlier = [one for one in calls[:-1] if not one.missing]
    with TemporaryDirectory(prefix="trotline-test-") as directory:
        stage = Stage(Path(directory).resolve(), wanted_of(record))
        agent = stage.agent
        homes = {str(roots.home): str(agent.home), WORKSPACE: str(agent.project)}
        example = reduced([*earlier, last], stage, homes, _policies(roots))
        places = {str(agent.project): "agent.project", str(agent.home): "agent.home"}
        deciders = tuple(str(one) for one in record.get("deciders", ()))
        about = About(last.seq, last.host, moment(last.at_us)[:10], deciders, redacted)
        text = text_of(example, about, places)
    path = target or roots.projects[0] / DIRECTORY / f"{name_of(example, places)}.py"
    return Made(Sheet(path.absolute(), text), example, redacted)


def _policies(roots: Roots) -> dict[str, str]:
    """What is in force, layer by layer; the project is the one that we stand in."""
    found: dict[str, str] = {}
    for layer, file in policy_files(roots, map(str, roots.projects[:1])):
        try:
            found[layer] = content(Path(file))[0].decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # what is in force then is what a file that says so would say
            found[layer] = f'preset = "{WHEN_UNREADABLE}"\n'
    return found


def _data(made: Made, seq: int) -> dict[str, Any]:
    return {
        "seq": seq,
        "file": str(made.sheet.path),
        "text": made.sheet.text,
        "left": made.example.left_out,
        "earlier": len(made.example.before),
        "policies": sorted(made.example.policies),
        "redacted": list(made.redacted),
    }
