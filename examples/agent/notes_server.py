#!/usr/bin/env python3
"""An MCP server that keeps notes in a file, one a line: `notes_server.py NOTES`."""

import json
import sys
from pathlib import Path
from typing import Any

TOOLS = [
    {
        "name": "find_notes",
        "description": "The notes that have this word in them.",
        "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
    {
        "name": "add_note",
        "description": "Keep a note of one line.",
        "inputSchema": {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]},
    },
]
METHOD_NOT_FOUND = -32601


class ToolError(Exception):
    """An error that the client gets instead of a result."""


def main() -> None:
    file = Path(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **_build_answer(request, file)}), flush=True)


def _build_answer(request: dict[str, Any], file: Path) -> dict[str, Any]:
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        version = params.get("protocolVersion")
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return {"result": _call(params["name"], params.get("arguments", {}), file)}
    return {"error": {"code": METHOD_NOT_FOUND, "message": f"there is no method `{method}`"}}


def _call(tool: str, arguments: dict[str, Any], file: Path) -> dict[str, Any]:
    try:
        return {"content": [{"type": "text", "text": _run_tool(tool, arguments, file)}], "isError": False}
    except (ToolError, KeyError, OSError) as error:
        return {"content": [{"type": "text", "text": f"{tool}: {error}"}], "isError": True}


def _run_tool(tool: str, arguments: dict[str, Any], file: Path) -> str:
    notes = file.read_text("utf-8").splitlines()
    if tool == "find_notes":
        return "\n".join(note for note in notes if arguments["word"].lower() in note.lower()) or "no such note"
    if tool == "add_note":
        file.write_text("\n".join([*notes, arguments["note"]]) + "\n", "utf-8")
        return f"{len(notes) + 1} notes"
    raise ToolError("there is no such tool")


if __name__ == "__main__":
    main()
