"""trotline trust: show the hooks of a workspace and what trust covers, ask, and trust them; or revoke trust."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from trotline.cli.command import declare, wants_json
from trotline.cli.output import Result, bold, dim, paint, plural, printable
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.config.trust import Trust, TrustState, TrustStore
from trotline.domain.errors import TrotlineError, UsageError
from trotline.domain.hooks import Hook
from trotline.engine.dispatch import Dispatcher
from trotline.machine import read_clock

HELP = """Trust the hooks of this workspace: show what would run, what is covered, and ask.

Trust is bound to content: the configuration, every file of the workspace that a command names, and the whole of
.cursor/hooks and .claude/hooks. When one byte of that changes, it is gone, and this command shows the difference.

\b
  trotline trust              look, and decide
  trotline trust --yes        the same without the question, for scripts
  trotline trust --status     only say how things stand; exit 1 if it is not trusted
  trotline trust --revoke     take trust back; its hooks no longer run
  trotline fire ... --trust-digest DIGEST     in CI, where nobody can be asked
"""


@declare("trust", "trotline.trust/1", help=HELP)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--status", is_flag=True, help="Only say how things stand.")
@click.option("--revoke", is_flag=True, help="Take trust back.")
def command(yes: bool, status: bool, revoke: bool, roots: Roots) -> Result:
    if revoke:
        if yes or status:
            raise UsageError("--revoke is asked alone", hint="leave out --yes and --status")
        return _revoke(roots)
    dispatcher = Dispatcher(roots, os.environ, read_clock)
    seen = []
    for root in roots.projects:
        trust = dispatcher.get_trust(root)
        if not wants_json():
            click.echo("\n".join(_format_trust(dispatcher, root, trust)))
        is_trusted = trust.state is TrustState.TRUSTED
        if not status and not is_trusted:
            is_trusted = _ask(dispatcher, trust, yes=yes)
        seen.append(_build_data(dispatcher, root, trust, trusted=is_trusted))
    return Result(seen, ok=all(root["trusted"] for root in seen))


def _revoke(roots: Roots) -> Result:
    store = TrustStore(roots.state / "trust")
    revoked = {str(root): store.revoke(str(root)) for root in roots.projects}
    lines = [f"{root}: {'no longer trusted' if had else 'was not trusted'}" for root, had in revoked.items()]
    return Result(revoked, lines, schema="trotline.trust.revoke/1")


def _ask(dispatcher: Dispatcher, trust: Trust, *, yes: bool) -> bool:
    """Grant trust if the person agrees."""
    if trust.state is TrustState.UNUSABLE:
        raise TrotlineError(trust.reason)
    if not yes:
        if not sys.stdin.isatty():
            hint = "run it in a terminal, or add --yes; in CI use `fire --trust-digest`"
            raise TrotlineError("nobody is here to be asked, so nothing was trusted", hint=hint)
        if not click.confirm("Trust these hooks to run as you?", default=False):
            click.echo("nothing was changed")
            return False
    dispatcher.trust_store.grant(trust.coverage, dispatcher.clock())
    click.echo(f"trusted: {trust.coverage.root}", err=True)
    return True


def _list_hooks(dispatcher: Dispatcher, root: Path) -> list[Hook]:
    reads = dispatcher.current.configuration.layers
    return [
        hook for read in reads for hook in read.hooks if hook.layer.kind.needs_trust and hook.layer.root == str(root)
    ]


def _format_trust(dispatcher: Dispatcher, root: Path, trust: Trust) -> Iterator[str]:
    colour = Severity.NOTE if trust.state is TrustState.TRUSTED else Severity.WARNING
    yield f"{bold(str(root))}  {paint(trust.state.value, colour)}"
    hooks = _list_hooks(dispatcher, root)
    yield f"\n{plural(len(hooks), 'hook')} would run as you:"
    for hook in hooks:
        yield f"  {hook.event:<22} {printable(hook.label)}"
    yield f"\ncovered, {plural(len(trust.coverage.files), 'file')}; a changed byte in one of them ends trust:"
    for name, digest in trust.coverage.files.items():
        yield f"  {digest[:12]}  {printable(name)}"
    if trust.coverage.not_covered:
        yield "\nnot covered, and used all the same (with whatever scripts import):"
        for word in trust.coverage.not_covered:
            yield f"  {printable(word)}"
    if trust.state is TrustState.CHANGED:
        yield "\nwhat changed since:"
        for line in dispatcher.trust_store.build_diff(trust).splitlines():
            yield f"  {printable(line)}"
    yield dim(f"\ndigest {trust.coverage.digest}")


def _build_data(dispatcher: Dispatcher, root: Path, trust: Trust, *, trusted: bool) -> dict[str, Any]:
    return {
        "root": str(root),
        "state": trust.state,
        "trusted": trusted,
        "digest": trust.coverage.digest,
        "covered": trust.coverage.files,
        "not_covered": list(trust.coverage.not_covered),
        "changes": list(trust.changes),
        "hooks": [
            {"event": hook.event, "line": hook.label, "place": str(hook.place)}
            for hook in _list_hooks(dispatcher, root)
        ],
    }
