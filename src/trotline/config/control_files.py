"""Control files: what an agent or an editor obeys. Which they are, and which commands the hooks in them would run."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from trotline.config.configuration import read_layer
from trotline.config.jsonc import Document, Node
from trotline.config.jsonc_reader import read
from trotline.config.layers import layer_of
from trotline.config.places import Roots
from trotline.config.problems import CODES, Problem, Severity
from trotline.hooks import Place
from trotline.hosts import HOSTS, host_named
from trotline.hosts.cursor_editions import NEWEST, edition

OBEYED: tuple[str, ...] = (
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "QWEN.md",
    "SKILL.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".clinerules/*",
    ".cursor/*",
    ".claude/*",
    ".codex/*",
    ".gemini/*",
    ".qwen/*",
    ".factory/*",
    ".windsurf/*",
    ".codeium/*",
    ".openhands/*",
    ".opencode/*",
    ".config/opencode/*",
    ".copilot/*",
    "opencode.json",
    "opencode.jsonc",
    ".github/hooks/*",
    ".github/copilot-instructions.md",
    ".github/instructions/*",
    ".github/prompts/*",
    ".github/agents/*",
    ".mcp.json",
    "mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".vscode/mcp.json",
    ".vscode/launch.json",
    ".devcontainer/*",
    ".devcontainer.json",
)
"""Files by the end of their path; `*` is anything, directories included."""

OF_THE_MACHINE = frozenset({"TL403", "TL406", "TL408", "TL504", "TL411"})
"""Problems about the machine that looks, not about the file: a checkout has no say in them."""


class HookLine(NamedTuple):
    """A command that a host would run. The place is in characters, from 1, and in bytes from the beginning."""

    host: str
    event: str
    command: str
    line: int
    column: int
    offset: int


@cache
def hook_files() -> dict[str, list[tuple[str, str]]]:
    """The files in which hosts keep the hooks of a project -> each host, and the key under which a command stands."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in HOSTS:
        wiring = host_named(name).wiring
        for layer, file in wiring.files.items() if wiring else ():
            if layer != "enterprise" and wiring:
                found.setdefault(file, []).append((name, wiring.command_key))
    return found


def is_control_file(path: str) -> bool:
    """By its path, with forward slashes; the names mean the same in every directory of a tree."""
    parts = path.split("/")
    return any(fnmatchcase("/".join(parts[at:]), pattern) for at in range(len(parts)) for pattern in OBEYED)


def holds_hooks(path: str) -> bool:
    return any(_is(path, file) for file in (*hook_files(), ".claude/settings.local.json", ".github/hooks/*.json"))


def hook_lines(path: str, data: bytes) -> Iterator[HookLine]:
    """Every command that stands in a file of hooks, whoever reads it."""
    if not holds_hooks(path):
        return
    hosts = next((hosts for file, hosts in hook_files().items() if _is(path, file)), [])
    keys = {key for _, key in hosts} | {"command", "bash", "powershell"}
    host = ", ".join(name for name, _ in hosts)
    document = read(data)
    hooks = document.root.get("hooks") if document.root is not None else None
    for event, member in hooks.members.items() if hooks is not None else ():
        for item in member.value.items:
            yield from _lines(document, host, event, item, keys)


def _lines(document: Document, host: str, event: str, item: Node, keys: set[str]) -> Iterator[HookLine]:
    group = item.get("hooks")
    for entry in group.items if group is not None else [item]:
        for key in sorted(keys & entry.members.keys()):
            node = entry.members[key].value
            if isinstance(node.value, str):
                offset = len(document.text[: node.start].encode("utf-8", "surrogatepass"))
                yield HookLine(host, event, node.value, *document.position(node.start), offset)


def _is(path: str, file: str) -> bool:
    return fnmatchcase(f"/{path}", f"*/{file}")


def problems_of(path: Path, roots: Roots, *, too_large: bool = False) -> list[Problem]:
    """What is wrong with a hooks file of Cursor or a settings file of Claude Code, the machine's own part left out.

    A file of anybody's hooks that is too large to be read for them is a Problem: padding must not hide a hook.
    """
    if not any(_is(path.as_posix(), file) for file in READ_WHOLE):
        large = too_large and holds_hooks(path.as_posix())
        why = "the file is over a megabyte; its text was scanned, the hooks in it were not listed"
        severity = CODES["TL108"].severity
        return [Problem(code="TL108", severity=severity, place=Place(str(path)), message=why)] if large else []
    newest = edition(NEWEST)
    found = read_layer(layer_of(path, roots, newest), roots, newest).problems
    return [
        problem for problem in found if problem.severity is not Severity.NOTE and problem.code not in OF_THE_MACHINE
    ]


READ_WHOLE = (".cursor/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
