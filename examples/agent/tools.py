"""The tools: each really does its work, and raises the events that are its own.

The generic events around every tool are raised by whoever calls it (calls.py).
"""

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

from agent.hand import Done, Hand, Workspace
from agent.mcp_client import Server, ServerError
from agent.model import ToolCall, ToolSpec
from trotline import Edit

LONGEST_OUTPUT = 20_000
"""Characters of a command's output that the model reads."""


class Tool(NamedTuple):
    """A tool as the agent knows it. `takes` gives each argument its default; None means that there is none."""

    about: str
    takes: dict[str, Any]
    run: Callable[[Hand, ToolCall], Done]
    schema: dict[str, Any] | None = None  # of an MCP tool, whose arguments are its server's business

    def spec(self, name: str) -> ToolSpec:
        types = {str: "string", int: "integer", type(None): "string"}
        properties = {key: {"type": types[type(default)]} for key, default in self.takes.items()}
        required = [key for key, default in self.takes.items() if default is None]
        made = {"type": "object", "properties": properties, "required": required}
        return ToolSpec(name, self.about, self.schema or made)

    def missing(self, given: dict[str, Any]) -> str:
        """What is wrong with these arguments, if anything."""
        return next(
            (f"`{key}` is missing" for key, default in self.takes.items() if default is None and key not in given), ""
        )

    def whole(self, given: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
        """All arguments, as hooks see them: defaults filled in, a path as the place that it stands for."""
        filled = {**self.takes, **given}
        if "file_path" in self.takes:
            filled["file_path"] = str(workspace.absolute(str(filled["file_path"])))
        return filled


def shell(hand: Hand, call: ToolCall) -> Done:
    """What sessionStart hooks set as `env` is for later hooks; the agent's own shell does not get it."""
    command, where = call.input["command"], hand.workspace.find(call.input["cwd"])
    hand.pass_gate(hand.session.before_shell(command, cwd=str(where), sandbox=False))
    begun = time.monotonic()
    output, code = _run(command, where, call.input["timeout"] / 1000)
    milliseconds = (time.monotonic() - begun) * 1000
    hand.session.after_shell(command, output, duration=milliseconds, sandbox=False)  # one that was killed has run too
    if code is None:
        raise TimeoutError(f"the command was stopped after {call.input['timeout']} ms\n{output}".rstrip())
    return Done(f"exit code {code}\n{output}".rstrip(), {"output": output, "exitCode": code})


def _run(command: str, where: Path, seconds: float) -> tuple[str, int | None]:
    """What a command printed, and its exit code; none if its time was up, and then all of its group is killed."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=where,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return _shown(_killed(process)), None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return _shown(output), process.returncode


def _killed(process: "subprocess.Popen[bytes]") -> bytes:
    """What it had printed. A child that left the group may hold the pipe open; nobody waits for that."""
    os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=1)[0]
    except subprocess.TimeoutExpired as late:
        return late.output or b""


def _shown(output: bytes) -> str:
    text = output.decode("utf-8", "replace")
    return (
        text if len(text) <= LONGEST_OUTPUT else f"{text[:LONGEST_OUTPUT]}\n... and {len(text) - LONGEST_OUTPUT} more"
    )


def read(hand: Hand, call: ToolCall) -> Done:
    """The hooks see the content first; if one refuses, the model never does."""
    path = hand.workspace.find(call.input["file_path"])
    content = path.read_text("utf-8")
    hand.pass_gate(hand.session.before_read_file(str(path), content))
    return Done(content, {"file_path": str(path), "content_length": len(content)})


def write(hand: Hand, call: ToolCall) -> Done:
    path = hand.workspace.writable(call.input["file_path"])
    before = path.read_text("utf-8") if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(call.input["content"], "utf-8")
    hand.touched(path)
    hand.session.after_file_edit(str(path), [] if before is None else _edits(before, call.input["content"]))
    return Done(f"wrote {path}", {"file_path": str(path), "success": True})


def _edits(before: str, after: str) -> list[Edit]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Edit("".join(old[a:b]), "".join(new[c:d])) for kind, a, b, c, d in changes if kind != "equal"]


def grep(hand: Hand, call: ToolCall) -> Done:
    """Linear in the text, whatever the pattern. It has no event of its own, so what is hidden stays hidden."""
    options = re2.Options()
    options.log_errors = False
    pattern = re2.compile(call.input["pattern"], options)
    found: list[str] = []
    for path in _files(hand.workspace, call.input["file_path"]):
        name = path.relative_to(hand.workspace.root)
        wanted = not call.input["glob"] or fnmatch(path.name, call.input["glob"])
        lines = path.read_text("utf-8", "replace").splitlines() if wanted else []
        hits = [f"{name}:{number}:{line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
        found += [str(name)] if hits and call.input["output_mode"] == "files_with_matches" else hits
    return Done("\n".join(found) or "nothing found", {"pattern": call.input["pattern"], "success": True})


def _files(workspace: Workspace, scope: str) -> Iterator[Path]:
    """The files below a place, without hidden ones, and without links, which may lead anywhere."""
    top = workspace.find(scope)
    for path in [top] if top.is_file() else sorted(top.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(workspace.root).parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield path


def ls(hand: Hand, call: ToolCall) -> Done:
    path = hand.workspace.find(call.input["file_path"])
    entries = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir())
    return Done("\n".join(entries), {"file_path": str(path), "entries": len(entries)})


def delete(hand: Hand, call: ToolCall) -> Done:
    path = hand.workspace.writable(call.input["file_path"])
    path.unlink()
    hand.touched(path)
    return Done(f"deleted {path}", {"file_path": str(path), "success": True})


def mcp(server: Server, hand: Hand, call: ToolCall) -> Done:
    """In its own events the tool has its bare name; the generic ones say `MCP:` before it."""
    name = call.name.removeprefix("MCP:")
    hand.pass_gate(hand.session.before_mcp(name, call.input, server=server.name, command=" ".join(server.command)))
    begun = time.monotonic()
    result = server.call(name, call.input)
    milliseconds = (time.monotonic() - begun) * 1000
    hand.session.after_mcp(name, call.input, json.dumps(result), server=server.name, duration=milliseconds)
    if result.get("isError"):
        raise ServerError(text_of(result))
    return Done(text_of(result), result)


def text_of(result: dict[str, Any]) -> str:
    """An MCP result as the model reads it."""
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


def tools_of(workspace: Workspace) -> dict[str, Tool]:
    """Every tool by the name that the generic events give it, those of the MCP servers too."""
    offered = [(server, one) for server in workspace.servers.values() for one in server.tools()]
    return TOOLS | {
        f"MCP:{one['name']}": Tool(one.get("description", ""), {}, partial(mcp, server), one["inputSchema"])
        for server, one in offered
    }
