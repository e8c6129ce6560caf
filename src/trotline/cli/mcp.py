"""trotline mcp: which MCP servers and tools there are, which were called, and what was said about them."""

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from trotline.audit.export import moment
from trotline.audit.inventory import ToolSeen, tools_seen
from trotline.audit.names import Names
from trotline.audit.query import SAID, Query
from trotline.audit.wording import scanners_of
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.cli.patience import opened_trail
from trotline.cli.questions import Moment
from trotline.config.install_key import install_key
from trotline.config.mcp_files import Configured, read_servers
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.scanners.redaction import redacted

HELP = """The MCP servers and tools that agents have called, from the trail, and the servers that are configured.

\b
  trotline mcp                 server, tool, calls, verdicts, first and last time
  trotline mcp --since 7d
  trotline mcp --allow-list    a list for policy.toml that lets pass what was called and not refused
"""
REFUSED = {"deny", "would_deny"}
TOLD = (*sorted(REFUSED), "ask", "would_ask")
NOT_TOLD = "server not told"


@click.command("mcp", help=HELP)
@click.option("--since", "since_us", type=Moment(), default=0, help="Calls not before this: 2h, 7d, 2026-03-01.")
@click.option("--host", default="", help="Only calls under this host.")
@click.option("--allow-list", is_flag=True, help="Print a list for policy.toml instead.")
@json_option
@roots_options
def command(since_us: int, host: str, allow_list: bool, as_json: bool, roots: Roots) -> int:
    with opened_trail(roots.state) as store:
        seen = tools_seen(store.search(Query(since_us=since_us, host=host)))
    if allow_list:
        click.echo(_list(seen))
        return 0
    servers = read_servers(roots)
    configured = [_clean(one, roots) for one in servers.configured]
    code = 1 if servers.problems else 0
    if as_json:
        problems = [problem_data(problem) for problem in servers.problems]
        click.echo(envelope("trotline.mcp/1", ok=not code, data=_data(seen, configured), problems=problems))
        return code
    _tell(seen, configured)
    for problem in servers.problems:
        click.echo(f"{printable(str(problem.place))}: {paint(problem.severity, problem.severity)} {problem.message}")
    return code


def _clean(one: Configured, roots: Roots) -> Configured:
    """As the trail keeps it: without secrets, and known again by a name that holds one."""
    runs = redacted(one.runs, install_key(roots.state), scanners_of(roots))[0]
    return one._replace(server=Names(roots).kept(one.server), runs=runs)


def _list(seen: Iterable[ToolSeen]) -> str:
    """TOML that a person looks through before it is used; a tool that was refused is not in it."""
    import json

    names = [one.name for one in seen if one.named and not set(one.verdicts) <= REFUSED]
    return "\n".join(["[lists]", "allow_mcp = [", *(f"  {json.dumps(name)}," for name in names), "]"])


def _data(seen: list[ToolSeen], configured: list[Configured]) -> dict[str, Any]:
    servers = [{"server": one.server, "place": str(one.place), "runs": one.runs} for one in configured]
    return {"tools": msgspec.to_builtins(seen), "configured": servers}


def _tell(seen: list[ToolSeen], configured: list[Configured]) -> None:
    names = dict.fromkeys([*(one.server for one in seen), *(one.server for one in configured)])
    for name in sorted(names):
        click.echo(bold(printable(name) or NOT_TOLD))
        places = [one for one in configured if one.server == name]
        for one in places:
            click.echo(dim(f"  {printable(str(one.place))}: {printable(one.runs)}"))
        if name and not places:
            click.echo(paint("  configured in no file that is known", Severity.NOTE))
        tools = [one for one in seen if one.server == name]
        for tool in tools:
            click.echo(f"  {_line(tool)}")
        if not tools:
            click.echo(dim("  not called"))
    if not names:
        click.echo("no MCP server was called, and none is configured")


def _line(one: ToolSeen) -> str:
    said = [f"{count} {SAID.get(word, word)}" for word, count in sorted(one.verdicts.items()) if word in TOLD]
    told = ", ".join([plural(one.calls, "call"), *said, *one.hosts])
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(one.found.items()))
    holds = paint(f"; in results: {printable(found)}", Severity.WARNING) if found else ""
    when = dim(f" ({moment(one.first_us)} to {moment(one.last_us)})")
    return f"{printable(one.tool)}: {printable(told)}{holds}{when}"
