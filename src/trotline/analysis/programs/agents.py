"""Coding agents that a command starts, and Trotline and other guards that it may change."""

from trotline.agents.generated_tables import COMMAND_LINES
from trotline.analysis.control_paths import OTHER_GUARDS
from trotline.analysis.programs.phrases import Act, ProgramRow, analyze_program, expand_names, program
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.streams import Stream

_OTHERS = {
    "aider": ("+yes-always|yes", "m message model", "mcp add|add-json; config set"),
    "amp": ("+dangerously-allow-all", "x execute", "mcp add|add-json; config set"),
}
"""Agents without an adapter; the command line of every other agent is in its file in `agents/`."""


def _build_agent_row(unattended: str, valued: str, settings: str) -> ProgramRow:
    """Return the row of an agent: phrases that disable its confirmations, and phrases that change its settings."""
    acts = (Act("agent: unwatched", unattended, "{name}", writes=False), Act("agent: settings", settings))
    return program(*acts, valued=valued, dry="", depth=2, shown=2)


_ROWS = {names: _build_agent_row(*row) for names, row in {**COMMAND_LINES, **_OTHERS}.items()}
AGENTS = expand_names(_ROWS)


def _handle_agent(call: Invocation) -> None:
    analyze_program(call, AGENTS[call.name])
    call.stdout = Stream()


_GUARDS = (*OTHER_GUARDS, "trotline")
_CHANGES = frozenset(
    "add allow apply clear delete disable edit enable fix forget grant import init install kill off override pause"
    " remove reset restart restore revoke rotate set start stop suspend trust uninstall unset untrust update upgrade"
    " waive".split()
)


def _handle_guard(call: Invocation) -> None:
    """An agent may look at its guard, and may not change it."""
    rest = call.parse_options(stops=True).rest
    words = [word.text.lower() for word in rest]
    if not words or not {"--dry-run", "--help"}.isdisjoint(words):
        return
    options = {word.text.lstrip("-") for word in rest if word.text.startswith("-")}
    if not _CHANGES.isdisjoint(words[:3]) or not _CHANGES.isdisjoint(options):
        call.add_effect("control", words[0], target=" ".join([call.name, *words[:2]]))


PROGRAMS: dict[str, Handler] = {**dict.fromkeys(AGENTS, _handle_agent), **dict.fromkeys(_GUARDS, _handle_guard)}
