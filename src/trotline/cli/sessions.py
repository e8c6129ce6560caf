"""trotline sessions: what conversations left behind, and forgetting it."""

import click
import msgspec

from trotline.audit.names import Names
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, envelope, paint, plural, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.engine.sessions import Remembered, Sessions

HELP = """List what is remembered between the events of a conversation: variables for later hooks, follow-ups so far.

Values of variables are not shown; they may be secrets.

\b
  trotline sessions                  list them
  trotline sessions --clear ID       forget one conversation, by its id or as it is listed
  trotline sessions --clear-all      forget all
"""


@click.command("sessions", help=HELP)
@click.option("--clear", metavar="ID", help="Forget this conversation.")
@click.option("--clear-all", is_flag=True, help="Forget all of them.")
@json_option
@roots_options
def command(clear: str | None, clear_all: bool, as_json: bool, roots: Roots) -> int:
    sessions = Sessions(roots.state / "sessions")
    if clear is not None or clear_all:
        count = sessions.clear(None if clear_all else clear)
        if as_json:
            click.echo(envelope("trotline.sessions/1", ok=True, data={"forgotten": count}, problems=[]))
        else:
            click.echo(f"{plural(count, 'conversation')} forgotten")
        return 0 if count or clear_all else 1
    names = Names(roots)
    remembered = [_clean(one, names) for one in sessions.all()]
    if as_json:
        click.echo(envelope("trotline.sessions/1", ok=True, data=[_data(one) for one in remembered], problems=[]))
        return 0
    for one in remembered:
        _tell(one)
    if not remembered:
        click.echo("nothing is remembered")
    return 0


def _clean(one: Remembered, names: Names) -> Remembered:
    """What an earlier version wrote may hold names as hosts give them."""
    session = one.session
    kept = {names.kept(name): count for name, count in session.follow_ups.items()}
    clean = msgspec.structs.replace(session, conversation=names.kept(session.conversation), follow_ups=kept)
    return msgspec.structs.replace(one, session=clean)


def _data(one: Remembered) -> dict[str, object]:
    session = one.session
    return {
        "conversation": session.conversation,
        "variables": sorted(session.env),
        "follow_ups": session.follow_ups,
        "updated_us": session.updated_us,
        "alarm": one.alarm or None,
    }


def _tell(one: Remembered) -> None:
    session = one.session
    click.echo(bold(printable(session.conversation) or "a damaged session"))
    if one.alarm:
        click.echo(f"  {paint(printable(one.alarm), Severity.ERROR)}")
    if session.env:
        click.echo(f"  variables: {printable(', '.join(sorted(session.env)))}")
    for hook, count in session.follow_ups.items():
        click.echo(f"  {plural(count, 'follow-up')} by hook {printable(hook)}")
