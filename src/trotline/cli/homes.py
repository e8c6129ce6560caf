"""Whose home is meant, where HOME and the password database name two. Who writes must not have to guess."""

from pathlib import Path

import click

from trotline.cli.output import paint, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import UsageError
from trotline.machine import environment


def doubt_about_home(roots: Roots) -> str:
    """What a person must know before anything is written; nothing, if both are the same or --home says it."""
    said = environment().get("HOME", "")
    given = click.get_current_context().params.get("home") is not None
    if given or not said or Path(said).resolve() == roots.home:
        return ""
    return f"HOME is {printable(said)}, and the password database says {printable(str(roots.home))}"


def make_sure_of_home(roots: Roots, *, asks: bool) -> None:
    """Said where somebody is asked next; where nobody is, nothing is written into a home that may be another's."""
    doubt = doubt_about_home(roots)
    if doubt and not asks:
        said = printable(environment()["HOME"])
        hint = f"say which is meant: --home {said} or --home {printable(str(roots.home))}"
        raise UsageError(f"{doubt}: nothing was written", hint=hint)
    if doubt:
        which = f"it is written into {printable(str(roots.home))}, unless --home says otherwise"
        click.echo(paint(f"{doubt}: {which}", Severity.WARNING), err=True)
