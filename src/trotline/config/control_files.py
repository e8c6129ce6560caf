"""Control files, which agents and editors obey, and the commands that the hooks in them would run."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from trotline.agents import AGENTS, get_agent
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.agents.generated_tables import CONTROL_DIRECTORIES, CONTROL_FILES, INSTRUCTIONS
from trotline.config.hooks_json.configuration import read_layer
from trotline.config.hooks_json.hooks_file import iterate_entries
from trotline.config.hooks_json.layers import get_layer
from trotline.config.paths import Roots
from trotline.config.problems import Problem, Severity, build_problem
from trotline.domain.hooks import Place
from trotline.formats.jsonc import parse_jsonc

OTHER_CONTROL_FILES = (
    "*/skill.md",
    "*/.codeium/*",
    "*/mcp.json",
    "*/.vscode/tasks.json",
    "*/.vscode/settings.json",
    "*/.vscode/mcp.json",
    "*/.vscode/launch.json",
    "*/.devcontainer/*",
    "*/.devcontainer.json",
)
"""Control files of editors, and files that several agents read."""

MACHINE_CODES = frozenset({"TL403", "TL406", "TL408", "TL504", "TL411"})
"""Codes of problems that depend on the machine and not on the file."""


class FoundCommand(NamedTuple):
    """A command that an agent would run. Line and column count characters from 1; the offset counts bytes from 0."""

    agent: str
    event: str
    command: str
    line: int
    column: int
    offset: int


@cache
def get_agents_by_hook_file() -> dict[str, list[tuple[str, str]]]:
    """Return the hook files of users and projects, each with its agents and their keys for a command."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in AGENTS:
        wiring = get_agent(name).wiring
        for layer, file in wiring.files.items() if wiring else ():
            if layer != "enterprise" and wiring:
                found.setdefault(file, []).append((name, wiring.command_key))
    return found


def is_control_file(path: str) -> bool:
    """Return whether a path with forward slashes is a control file, in any directory of a tree."""
    directories = (f"*/{name}/*" for name in CONTROL_DIRECTORIES)
    patterns = (*CONTROL_FILES, *INSTRUCTIONS, *directories, *OTHER_CONTROL_FILES)
    return any(fnmatchcase("/" + path.lower().lstrip("/"), pattern) for pattern in patterns)


def is_hook_file(path: str) -> bool:
    """Return whether a path is a file in which an agent keeps hooks."""
    return any(
        _matches(path, file)
        for file in (*get_agents_by_hook_file(), ".claude/settings.local.json", ".github/hooks/*.json")
    )


def find_hook_commands(path: str, data: bytes) -> Iterator[FoundCommand]:
    """Yield every command in a hook file, for all agents that read it."""
    if not is_hook_file(path):
        return
    agents = next((agents for file, agents in get_agents_by_hook_file().items() if _matches(path, file)), [])
    keys = {key for _, key in agents} | {"command", "bash", "powershell"}
    agent = ", ".join(name for name, _ in agents)
    document = parse_jsonc(data)
    for event, entry in iterate_entries(document):
        for key in sorted(keys & entry.members.keys()):
            node = entry.members[key].value
            if isinstance(node.value, str):
                offset = len(document.text[: node.start].encode("utf-8", "surrogatepass"))
                yield FoundCommand(agent, event, node.value, *document.position(node.start), offset)


def _matches(path: str, file: str) -> bool:
    return fnmatchcase(f"/{path}", f"*/{file}")


def find_file_problems(path: Path, roots: Roots, *, too_large: bool = False) -> list[Problem]:
    """Return the problems of a Cursor hooks file or Claude Code settings file that any machine would have.

    For other hook files that are too large to be read, return a Problem: padding must not hide a hook.
    """
    if not any(_matches(path.as_posix(), file) for file in READ_WHOLE):
        large = too_large and is_hook_file(path.as_posix())
        why = "the file is over a megabyte; its text was scanned, the hooks in it were not listed"
        return [build_problem("TL108", why, place=Place(str(path)))] if large else []
    newest = get_edition(NEWEST_EDITION)
    found = read_layer(get_layer(path, roots, newest), roots, newest).problems
    return [problem for problem in found if problem.severity is not Severity.NOTE and problem.code not in MACHINE_CODES]


READ_WHOLE = (".cursor/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
