"""Calls of MCP servers as records tell of them: which tool of which server."""

from typing import Any

from trotline.audit.kept_effects import effects_in
from trotline.audit.shapes import dict_of
from trotline.hooks import mcp_parts

ASKED, DONE = "beforeMCPExecution", "afterMCPExecution"


def called_tool(record: dict[str, Any]) -> tuple[str, str]:
    """Server and tool of a call; two empty texts for one that is not MCP's."""
    name = str(record.get("tool") or "")
    server, tool = mcp_parts(name)
    if tool:
        return server, tool
    if record.get("event") not in {ASKED, DONE}:
        return "", ""
    for effect in effects_in(record):
        if effect["kind"] == "mcp" and str(effect["to"]).endswith(f":{name}"):
            return str(effect["to"])[: -len(name) - 1], name
    given = dict_of(dict_of(record.get("detail")).get("payload"))
    return str(given.get("mcp_server_name") or given.get("server") or ""), name


def is_of_a_server(record: dict[str, Any]) -> bool:
    return record.get("event") in {ASKED, DONE} or bool(mcp_parts(str(record.get("tool") or ""))[1])
