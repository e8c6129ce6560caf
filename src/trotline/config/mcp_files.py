"""MCP servers in the configuration files of agents, and how each is reached.

Variables of a server are often secrets and are never read here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trotline.agents import AGENTS, get_agent
from trotline.config.paths import Roots
from trotline.config.problems import Problem, build_read_problem
from trotline.config.text_report import TextReport
from trotline.domain.hooks import Place
from trotline.formats.jsonc import JsonKind, JsonNode, parse_jsonc
from trotline.system.files import read_file

TOLERATED_CODES = frozenset({"TL102", "TL103", "TL106", "TL107"})
"""Problems that matter only to Cursor, and only in hooks.json."""

ADDRESSES = ("url", "serverUrl", "httpUrl")


class ConfiguredServer(NamedTuple):
    """A configured server: its name, its place in the file, and its address or command line."""

    server: str
    place: Place
    runs: str


class Servers(NamedTuple):
    """The configured servers, and the problems of their files."""

    configured: tuple[ConfiguredServer, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_servers(roots: Roots) -> Servers:
    """Read the servers of the user and of the projects."""
    agents = [get_agent(name) for name in AGENTS]
    by_root = [(roots.home, "user"), *((project, "project") for project in roots.projects)]
    files = [
        (root / file, key)
        for root, layer in by_root
        for agent in agents
        for file, key in agent.mcp_files.get(layer, {}).items()
    ]
    configured: list[ConfiguredServer] = []
    problems: list[Problem] = []
    for file, key in dict(files).items():
        report = _read_report(file, problems)
        if report is not None:
            configured += _list_servers(report, key)
            problems += report.problems
    return Servers(tuple(configured), tuple(problems))


def _read_report(file: Path, problems: list[Problem]) -> TextReport | None:
    try:
        data = read_file(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problems.append(build_read_problem(file, error))
        return None
    report = TextReport(str(file), parse_jsonc(data))
    report.report_faults(TOLERATED_CODES)
    return report


def _list_servers(report: TextReport, key: str) -> Iterator[ConfiguredServer]:
    root = report.document.root
    listed = root.get(key) if root is not None else None
    if listed is None:
        return
    if listed.kind is not JsonKind.OBJECT:
        report.report("TL213", listed, f"`{key}` is an object: one entry for each server")
        return
    for name, member in listed.members.items():
        if member.value.kind is JsonKind.OBJECT:
            yield ConfiguredServer(name, report.get_place(member.key), _describe_launch(member.value))
        else:
            report.report("TL213", member.value, f"the server `{name}` is an object")


def _describe_launch(entry: JsonNode) -> str:
    address = next((node.value for name in ADDRESSES if (node := entry.get(name)) is not None), None)
    if isinstance(address, str):
        return address
    command, arguments = entry.get("command"), entry.get("args")
    words = [node.value for node in (command, *(arguments.items if arguments is not None else ())) if node is not None]
    return " ".join(word for word in words if isinstance(word, str))
