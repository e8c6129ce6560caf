"""trotline schema: JSON Schemas for editors and tests."""

import click

from trotline.audit.record_schema import SCHEMAS
from trotline.cli.options import accepts_roots, json_option
from trotline.cli.output import as_json as shown
from trotline.cli.output import envelope
from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.schemas import hooks_schema, payload_schema, reply_schema

HELP = """Print a JSON Schema (draft 2020-12).

\b
  trotline schema                       hooks.json
  trotline schema preToolUse            what a hook reads
  trotline schema preToolUse --reply    what it may print
  trotline schema record                a line of `trotline log export`; record-csv, record-ocsf: of its other formats
  trotline schema alert                 what a command or a webhook gets of an alert

An editor can use it without a `$schema` line in the file (which would void it, TL107). In VS Code:

\b
  "json.schemas": [{"fileMatch": [".cursor/hooks.json"], "url": "./hooks.schema.json"}]
"""


@click.command("schema", help=HELP)
@click.argument("event", required=False)
@click.option("--reply", is_flag=True, help="The reply instead of the payload.")
@json_option
@accepts_roots
def command(event: str | None, reply: bool, as_json: bool) -> int:
    if event is None:
        if reply:
            raise UsageError("--reply needs an event", hint="trotline schema preToolUse --reply")
        schema = hooks_schema()
    elif event in SCHEMAS and not reply:
        schema = SCHEMAS[event]()
    elif event in EVENTS:
        schema = reply_schema(event) if reply else payload_schema(event)
    else:
        raise UsageError(f"there is no event `{event}`", hint="`trotline events` lists them")
    if as_json:
        click.echo(envelope("trotline.schema/1", ok=True, data=schema, problems=[]))
    else:
        click.echo(shown(schema))
    return 0
