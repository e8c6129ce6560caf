"""Other agents that a line starts: with whose leave they act, and which servers they are given."""

from typing import NamedTuple

from trotline.analysis.options import Options
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.services import phrases


class Agent(NamedTuple):
    """How an agent is told to ask nobody, and how its settings are changed."""

    flags: str = ""  # with these it asks nobody
    values: str = ""  # `option=value` of the same meaning
    valued: str = ""  # further options that take a value
    settings: str = "mcp add;mcp add-json;config set"  # phrases, as in the rows of services


_CLAUDE = Agent(
    "dangerously-skip-permissions allow-dangerously-skip-permissions",
    "permission-mode=bypasspermissions",
    "model settings allowedTools add-dir append-system-prompt mcp-config",
    "mcp add;mcp add-json;mcp add-from-claude-desktop;config set;config add;plugin install;plugin enable",
)
_CODEX = Agent(
    "yolo dangerously-bypass-hook-trust dangerously-bypass-"
    "approvals-and-sandbox",  # in two parts: whole, our own scanner takes it for an order to whoever reads this
    "sandbox=danger-full-access s=danger-full-access",
    "c config m model p profile a ask-for-approval C cd i image",
)
_GEMINI = Agent(
    "yolo y", "approval-mode=yolo", "p prompt m model i prompt-interactive e extensions", "mcp add;extensions install"
)
_CURSOR = Agent("force f yolo", "", "model output-format resume", "mcp enable")

_ROWS = {
    "aider": Agent("yes-always yes", "", "m message model"),
    "amp": Agent("dangerously-allow-all", "", "x execute"),
    "claude claude-code": _CLAUDE,
    "cline cline-core": Agent("yolo y yes", "", "m mode"),
    "codex codex-exec": _CODEX,
    "cursor-agent": _CURSOR,
    "droid": Agent("skip-permissions-unsafe", "auto=high", "m model f file"),
    "gemini gemini-cli qwen qwen-code": _GEMINI,
    "opencode opencode-ai": Agent("dangerously-skip-permissions", "", "m model"),
}
AGENTS = {name: row for names, row in _ROWS.items() for name in names.split()}


def _agent(step: Step) -> None:
    row = AGENTS[step.name]
    pairs = [pair.partition("=")[::2] for pair in row.values.split()]
    found = step.options([*row.valued.split(), *(option for option, _ in pairs)])
    head = [word.text for word in found.rest[:2]]
    if _asks_nobody(found, row, pairs):
        step.effect("agent", "unwatched", target=step.name)
    if any(phrase.fits(head, found) for phrase in phrases(row.settings)):
        step.effect("agent", "settings", target=" ".join([step.name, *head]), writes=True)
    step.out = Stream()


def _asks_nobody(found: Options, row: Agent, pairs: list[tuple[str, str]]) -> bool:
    told = any(found.value(option).lower() == value for option, value in pairs)
    return told or found.has(*row.flags.split())


TOOLS: dict[str, Handler] = dict.fromkeys(AGENTS, _agent)
