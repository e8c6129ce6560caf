"""The files in which agents are told their MCP servers: which servers there are, and how each is reached.

Variables of a server are often secrets and are never read here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trotline.config.files import content, unreadable
from trotline.config.jsonc import Kind, Node
from trotline.config.jsonc_reader import read
from trotline.config.models import ACCEPTED_HERE
from trotline.config.page import Page
from trotline.config.places import Roots
from trotline.config.problems import Problem
from trotline.hooks import Place

KEY = "mcpServers"
OF_HOMES: dict[str, str] = {
    ".cursor/mcp.json": KEY,
    ".claude.json": KEY,
    ".gemini/settings.json": KEY,
    ".qwen/settings.json": KEY,
    ".codeium/windsurf/mcp_config.json": KEY,
    ".factory/mcp.json": KEY,
}
OF_PROJECTS: dict[str, str] = {
    ".cursor/mcp.json": KEY,
    ".mcp.json": KEY,
    ".gemini/settings.json": KEY,
    ".qwen/settings.json": KEY,
    ".factory/mcp.json": KEY,
    ".vscode/mcp.json": "servers",
}
"""Files -> the key under which the servers stand."""

ADDRESSES = ("url", "serverUrl", "httpUrl")


class Configured(NamedTuple):
    """A server that somebody has configured: its name, where, and its address or the line that starts it."""

    server: str
    place: Place
    runs: str


class Servers(NamedTuple):
    configured: tuple[Configured, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_servers(roots: Roots) -> Servers:
    """Of this person and of these projects."""
    files = [(roots.home / file, key) for file, key in OF_HOMES.items()]
    files += [(project / file, key) for project in roots.projects for file, key in OF_PROJECTS.items()]
    configured: list[Configured] = []
    problems: list[Problem] = []
    for file, key in dict(files).items():
        page = _page(file, problems)
        if page is not None:
            configured += _servers(page, key)
            problems += page.problems
    return Servers(tuple(configured), tuple(problems))


def _page(file: Path, problems: list[Problem]) -> Page | None:
    try:
        data, _ = content(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problems.append(unreadable(file, error))
        return None
    page = Page(str(file), read(data))
    for fault in page.document.faults:
        if fault.code not in ACCEPTED_HERE:
            page.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
    return page


def _servers(page: Page, key: str) -> Iterator[Configured]:
    root = page.document.root
    listed = root.get(key) if root is not None else None
    if listed is None:
        return
    if listed.kind is not Kind.OBJECT:
        page.report("TL213", listed, f"`{key}` is an object: one entry for each server")
        return
    for name, member in listed.members.items():
        if member.value.kind is Kind.OBJECT:
            yield Configured(name, page.place(member.key), _runs(member.value))
        else:
            page.report("TL213", member.value, f"the server `{name}` is an object")


def _runs(entry: Node) -> str:
    address = next((node.value for name in ADDRESSES if (node := entry.get(name)) is not None), None)
    if isinstance(address, str):
        return address
    command, words = entry.get("command"), entry.get("args")
    given = [node.value for node in (command, *(words.items if words is not None else ())) if node is not None]
    return " ".join(word for word in given if isinstance(word, str))
