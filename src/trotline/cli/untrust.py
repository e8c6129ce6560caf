"""trotline untrust: take trust in a workspace back."""

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import envelope
from trotline.config.places import Roots
from trotline.config.trust import TrustStore

HELP = """Take trust in this workspace back; its hooks no longer run.

\b
  trotline untrust
  trotline untrust --project ../other
"""


@click.command("untrust", help=HELP)
@json_option
@roots_options
def command(as_json: bool, roots: Roots) -> int:
    store = TrustStore(roots.state / "trust")
    taken = {str(root): store.revoke(str(root)) for root in roots.projects}
    if as_json:
        click.echo(envelope("trotline.untrust/1", ok=True, data=taken, problems=[]))
        return 0
    for root, had in taken.items():
        click.echo(f"{root}: {'no longer trusted' if had else 'was not trusted'}")
    return 0
