"""The tools of the agent. Each fires its specific events; calls.py fires the generic ones."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import re2

from agent.mcp_client import Server, ServerError
from agent.model import ToolCall, ToolSpec
from agent.tool_context import ToolContext, ToolOutput, Workspace
from trotline import AfterFileEdit, AfterMCP, AfterShell, BeforeMCP, BeforeReadFile, BeforeShell, Edit

MAX_OUTPUT = 20_000
"""The number of characters of a command's output that the model reads."""


class Tool(NamedTuple):
    """A tool. `parameters` has the default of each argument; None for a required one."""

    description: str
    parameters: dict[str, Any]
    run: Callable[[ToolContext, ToolCall], ToolOutput]
    schema: dict[str, Any] | None = None  # for MCP tools

    def build_spec(self, name: str) -> ToolSpec:
        types = {str: "string", int: "integer", type(None): "string"}
        properties = {key: {"type": types[type(default)]} for key, default in self.parameters.items()}
        required = [key for key, default in self.parameters.items() if default is None]
        schema = {"type": "object", "properties": properties, "required": required}
        return ToolSpec(name, self.description, self.schema or schema)

    def find_problem(self, arguments: dict[str, Any]) -> str:
        """Return what is wrong with these arguments, or an empty text."""
        return next(
            (
                f"`{key}` is missing"
                for key, default in self.parameters.items()
                if default is None and key not in arguments
            ),
            "",
        )

    def complete_input(self, arguments: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
        """Return all arguments as hooks see them, with defaults and resolved paths."""
        complete = {**self.parameters, **arguments}
        if "file_path" in self.parameters:
            complete["file_path"] = str(workspace.resolve(str(complete["file_path"])))
        return complete


def shell(context: ToolContext, call: ToolCall) -> ToolOutput:
    """Run a command. It does not get the variables of sessionStart hooks, which are for later hooks."""
    command, directory = call.input["command"], context.workspace.find(call.input["cwd"])
    context.check_permission(context.session.fire(BeforeShell(command=command, cwd=str(directory), sandbox=False)))
    start = time.monotonic()
    output, code = _run(command, directory, call.input["timeout"] / 1000)
    milliseconds = (time.monotonic() - start) * 1000
    context.session.fire(
        AfterShell(command=command, output=output, duration=milliseconds, sandbox=False)
    )  # one that was killed has run too
    if code is None:
        raise TimeoutError(f"the command was stopped after {call.input['timeout']} ms\n{output}".rstrip())
    return ToolOutput(f"exit code {code}\n{output}".rstrip(), {"output": output, "exitCode": code})


def _run(command: str, directory: Path, seconds: float) -> tuple[str, int | None]:
    """Return the output and exit code of a command; kill its process group and return None after the timeout."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return _shorten(_kill(process)), None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return _shorten(output), process.returncode


def _kill(process: "subprocess.Popen[bytes]") -> bytes:
    """Kill the process group and return its output. A child outside the group may hold the pipe open."""
    os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=1)[0]
    except subprocess.TimeoutExpired as error:
        return error.output or b""


def _shorten(output: bytes) -> str:
    text = output.decode("utf-8", "replace")
    return text if len(text) <= MAX_OUTPUT else f"{text[:MAX_OUTPUT]}\n... and {len(text) - MAX_OUTPUT} more"


def read(context: ToolContext, call: ToolCall) -> ToolOutput:
    """Read a file. Hooks see the content first; if one refuses, the model never sees it."""
    path = context.workspace.find(call.input["file_path"])
    content = path.read_text("utf-8")
    context.check_permission(context.session.fire(BeforeReadFile(file_path=str(path), content=content)))
    return ToolOutput(content, {"file_path": str(path), "content_length": len(content)})


def write(context: ToolContext, call: ToolCall) -> ToolOutput:
    path = context.workspace.find_writable(call.input["file_path"])
    before = path.read_text("utf-8") if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(call.input["content"], "utf-8")
    context.note_modified(path)
    context.session.fire(
        AfterFileEdit(
            file_path=str(path), edits=tuple([] if before is None else _build_edits(before, call.input["content"]))
        )
    )
    return ToolOutput(f"wrote {path}", {"file_path": str(path), "success": True})


def _build_edits(before: str, after: str) -> list[Edit]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Edit("".join(old[a:b]), "".join(new[c:d])) for kind, a, b, c, d in changes if kind != "equal"]


def grep(context: ToolContext, call: ToolCall) -> ToolOutput:
    """Search in linear time. Hidden files are skipped, because the tool has no specific event."""
    options = re2.Options()
    options.log_errors = False
    pattern = re2.compile(call.input["pattern"], options)
    found: list[str] = []
    for path in _list_files(context.workspace, call.input["file_path"]):
        name = path.relative_to(context.workspace.root)
        is_selected = not call.input["glob"] or fnmatch(path.name, call.input["glob"])
        lines = path.read_text("utf-8", "replace").splitlines() if is_selected else []
        hits = [f"{name}:{number}:{line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
        found += [str(name)] if hits and call.input["output_mode"] == "files_with_matches" else hits
    return ToolOutput("\n".join(found) or "nothing found", {"pattern": call.input["pattern"], "success": True})


def _list_files(workspace: Workspace, scope: str) -> Iterator[Path]:
    """Yield the files below a directory, without hidden files and links."""
    top = workspace.find(scope)
    for path in [top] if top.is_file() else sorted(top.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(workspace.root).parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield path


def ls(context: ToolContext, call: ToolCall) -> ToolOutput:
    path = context.workspace.find(call.input["file_path"])
    entries = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir())
    return ToolOutput("\n".join(entries), {"file_path": str(path), "entries": len(entries)})


def delete(context: ToolContext, call: ToolCall) -> ToolOutput:
    path = context.workspace.find_writable(call.input["file_path"])
    path.unlink()
    context.note_modified(path)
    return ToolOutput(f"deleted {path}", {"file_path": str(path), "success": True})


def mcp(server: Server, context: ToolContext, call: ToolCall) -> ToolOutput:
    """Call an MCP tool. Its name has the prefix `MCP:` in generic events only."""
    name = call.name.removeprefix("MCP:")
    context.check_permission(
        context.session.fire(
            BeforeMCP(
                tool_name=name, tool_input=call.input, mcp_server_name=server.name, command=" ".join(server.command)
            )
        )
    )
    start = time.monotonic()
    result = server.call(name, call.input)
    milliseconds = (time.monotonic() - start) * 1000
    context.session.fire(
        AfterMCP(
            tool_name=name,
            tool_input=call.input,
            result_json=json.dumps(result),
            mcp_server_name=server.name,
            duration=milliseconds,
        )
    )
    if result.get("isError"):
        raise ServerError(format_result(result))
    return ToolOutput(format_result(result), result)


def format_result(result: dict[str, Any]) -> str:
    """Return an MCP result as the model reads it."""
    texts = [part["text"] for part in result.get("content", []) if part.get("type") == "text"]
    return "\n".join(texts) if texts else json.dumps(result)


TOOLS = {
    "Shell": Tool("Run a command in the workspace.", {"command": None, "cwd": "", "timeout": 30_000}, shell),
    "Read": Tool("Read a file.", {"file_path": None}, read),
    "Write": Tool("Write a whole file, new or not.", {"file_path": None, "content": None}, write),
    "Grep": Tool(
        "Search files for a regular expression.",
        {"pattern": None, "file_path": "", "glob": "", "output_mode": "content"},
        grep,
    ),
    "LS": Tool("List a directory.", {"file_path": ""}, ls),
    "Delete": Tool("Delete a file.", {"file_path": None}, delete),
}


def list_tools(workspace: Workspace) -> dict[str, Tool]:
    """Return all tools, including those of MCP servers, by their names in generic events."""
    offered = [(server, tool) for server in workspace.servers.values() for tool in server.list_tools()]
    return TOOLS | {
        f"MCP:{tool['name']}": Tool(tool.get("description", ""), {}, partial(mcp, server), tool["inputSchema"])
        for server, tool in offered
    }
