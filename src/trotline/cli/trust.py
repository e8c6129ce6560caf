"""trotline trust: say what would run in a workspace, what trust covers, and take a person's word for it."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.trust import Trust, TrustState
from trotline.engine.engine import Engine
from trotline.errors import TrotlineError
from trotline.hooks import Hook
from trotline.machine import clock

HELP = """Trust the hooks of this workspace: show what would run, what is covered, and ask.

Trust is bound to content: the configuration, every file of the workspace that a command names, and the whole of
.cursor/hooks and .claude/hooks. When one byte of that changes, it is gone, and this command shows the difference.

\b
  trotline trust              look, and decide
  trotline trust --yes        the same without the question, for scripts
  trotline trust --status     only say how things stand; exit 1 if it is not trusted
  trotline fire ... --trust-digest DIGEST     in CI, where nobody can be asked
"""


@click.command("trust", help=HELP)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--status", is_flag=True, help="Only say how things stand.")
@json_option
@roots_options
def command(yes: bool, status: bool, as_json: bool, roots: Roots) -> int:
    engine = Engine(roots, os.environ, clock)
    code = 0
    seen = []
    for root in roots.projects:
        trust = engine.trust(root)
        if not as_json:
            _tell(engine, root, trust)
        trusted = trust.state is TrustState.TRUSTED
        if not status and not trusted:
            trusted = _granted(engine, trust, yes=yes)
        code = code or (0 if trusted else 1)
        seen.append(_data(engine, root, trust, trusted=trusted))
    if as_json:
        click.echo(envelope("trotline.trust/1", ok=code == 0, data=seen, problems=[]))
    return code


def _granted(engine: Engine, trust: Trust, *, yes: bool) -> bool:
    if trust.state is TrustState.UNUSABLE:
        raise TrotlineError(trust.why_not)
    if not yes:
        if not sys.stdin.isatty():
            hint = "run it in a terminal, or add --yes; in CI use `fire --trust-digest`"
            raise TrotlineError("nobody is here to be asked, so nothing was trusted", hint=hint)
        if not click.confirm("Trust these hooks to run as you?", default=False):
            click.echo("nothing was changed")
            return False
    engine.trust_store.grant(trust.coverage, engine.clock())
    click.echo(f"trusted: {trust.coverage.root}", err=True)
    return True


def _hooks(engine: Engine, root: Path) -> list[Hook]:
    reads = engine.current.configuration.layers
    return [
        hook for read in reads for hook in read.hooks if hook.layer.kind.needs_trust and hook.layer.root == str(root)
    ]


def _tell(engine: Engine, root: Path, trust: Trust) -> None:
    colour = Severity.NOTE if trust.state is TrustState.TRUSTED else Severity.WARNING
    click.echo(f"{bold(str(root))}  {paint(trust.state.value, colour)}")
    hooks = _hooks(engine, root)
    click.echo(f"\n{plural(len(hooks), 'hook')} would run as you:")
    for hook in hooks:
        click.echo(f"  {hook.event:<22} {printable(hook.line)}")
    click.echo(f"\ncovered, {plural(len(trust.coverage.files), 'file')}; a changed byte in one of them ends trust:")
    for name, digest in trust.coverage.files.items():
        click.echo(f"  {digest[:12]}  {printable(name)}")
    if trust.coverage.not_covered:
        click.echo("\nnot covered, and used all the same (with whatever scripts import):")
        for word in trust.coverage.not_covered:
            click.echo(f"  {printable(word)}")
    if trust.state is TrustState.CHANGED:
        click.echo("\nwhat changed since:")
        for line in engine.trust_store.difference(trust).splitlines():
            click.echo(f"  {printable(line)}")
    click.echo(dim(f"\ndigest {trust.coverage.digest}"))


def _data(engine: Engine, root: Path, trust: Trust, *, trusted: bool) -> dict[str, Any]:
    return {
        "root": str(root),
        "state": trust.state,
        "trusted": trusted,
        "digest": trust.coverage.digest,
        "covered": trust.coverage.files,
        "not_covered": list(trust.coverage.not_covered),
        "changes": list(trust.changes),
        "hooks": [{"event": hook.event, "line": hook.line, "place": str(hook.place)} for hook in _hooks(engine, root)],
    }
