"""trotline log mcp: the MCP servers and tools that were called, and those that are configured."""

from collections.abc import Iterable, Iterator
from typing import Any

import click
import msgspec

from trotline.audit.export.export_formats import format_time
from trotline.audit.query.mcp_inventory import McpTool, list_mcp_tools
from trotline.audit.query.query import VERDICT_LABELS, Query
from trotline.cli.command import declare
from trotline.cli.log_query import TimeType, open_log
from trotline.cli.output import Result, bold, dim, format_problems, paint, plural, printable
from trotline.config.mcp_files import ConfiguredServer, read_servers
from trotline.config.paths import Roots
from trotline.config.problems import Severity

HELP = """The MCP servers and tools that agents have called, from the audit log, and the servers that are configured.

\b
  trotline log mcp                 server, tool, calls, verdicts, first and last time
  trotline log mcp --since 7d
  trotline log mcp --allow-list    a list for trotline.toml that lets pass what was called and not refused
"""
DENIED = {"deny", "would_deny"}
SHOWN_VERDICTS = (*sorted(DENIED), "ask", "would_ask")
NO_NAME = "server not told"


@declare("mcp", "trotline.log.mcp/1", help=HELP)
@click.option("--since", "since_us", type=TimeType(), default=0, help="Calls not before this: 2h, 7d, 2026-03-01.")
@click.option("--agent", default="", help="Only calls under this agent.")
@click.option("--allow-list", is_flag=True, help="Print a list for trotline.toml instead.")
def mcp(since_us: int, agent: str, allow_list: bool, roots: Roots) -> Result:
    with open_log(roots.state) as store:
        seen = list_mcp_tools(store.search(Query(since_us=since_us, agent=agent)))
    if allow_list:
        names = [tool.name for tool in seen if tool.named and not set(tool.verdicts) <= DENIED]
        return Result({"allow_mcp": names}, _format_allow_list(names))
    servers = read_servers(roots)
    configured = _redact_servers(servers.configured, roots)
    places = [{"server": item.server, "place": str(item.place), "runs": item.runs} for item in configured]
    lines = [*_format_servers(seen, configured), *format_problems(servers.problems, len(servers.problems))]
    data = {"tools": msgspec.to_builtins(seen), "configured": places}
    return Result(data, lines, servers.problems, ok=not servers.problems)


def _redact_servers(servers: Iterable[ConfiguredServer], roots: Roots) -> list[ConfiguredServer]:
    """Redact names and commands like records do, so that a server has the same name in both."""
    from trotline.audit.record.detail_policy import NameRedactor, load_redaction_scanners
    from trotline.config.install.install_key import read_or_create_key
    from trotline.scanners.redaction import redact

    redacted = []
    for server in servers:
        runs = redact(server.runs, read_or_create_key(roots.state), load_redaction_scanners(roots))[0]
        redacted.append(server._replace(server=NameRedactor(roots).redact(server.server), runs=runs))
    return redacted


def _format_allow_list(names: Iterable[str]) -> list[str]:
    """Return TOML for a person to review; denied tools are not in it."""
    import json

    return ["[lists]", "allow_mcp = [", *(f"  {json.dumps(name)}," for name in names), "]"]


def _format_servers(seen: list[McpTool], configured: list[ConfiguredServer]) -> Iterator[str]:
    names: dict[str, Any] = dict.fromkeys([*(tool.server for tool in seen), *(item.server for item in configured)])
    for name in sorted(names):
        yield bold(printable(name) or NO_NAME)
        places = [item for item in configured if item.server == name]
        yield from (dim(f"  {printable(str(item.place))}: {printable(item.runs)}") for item in places)
        if name and not places:
            yield paint("  configured in no file that is known", Severity.NOTE)
        tools = [tool for tool in seen if tool.server == name]
        yield from (f"  {_format_tool(tool)}" for tool in tools)
        if not tools:
            yield dim("  not called")
    if not names:
        yield "no MCP server was called, and none is configured"


def _format_tool(tool: McpTool) -> str:
    counts = sorted(tool.verdicts.items())
    verdicts = [f"{count} {VERDICT_LABELS.get(word, word)}" for word, count in counts if word in SHOWN_VERDICTS]
    text = ", ".join([plural(tool.calls, "call"), *verdicts, *tool.agents])
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(tool.found.items()))
    findings = paint(f"; in results: {printable(found)}", Severity.WARNING) if found else ""
    when = dim(f" ({format_time(tool.first_us)} to {format_time(tool.last_us)})")
    return f"{printable(tool.tool)}: {printable(text)}{findings}{when}"
