"""Analyze the action that an event announces. This is the entry point of the analysis."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from trotline.agents.derived_events import list_texts
from trotline.analysis import file_contents
from trotline.analysis.kube.kube_manifests import add_manifest_effects
from trotline.analysis.packages.malware_reports import add_malware_reports
from trotline.analysis.shell.invocation import UNKNOWN_TEXT, Invocation
from trotline.analysis.shell.shell_analyzer import ShellAnalyzer
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument, Environment, ShellState
from trotline.analysis.shell.streams import Stream
from trotline.domain.effects import Effect
from trotline.domain.event_texts import PATCHED
from trotline.domain.events import (
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    BeforeTabFileRead,
    Event,
    PreToolUse,
    SubagentStart,
)
from trotline.domain.hooks import split_mcp_name

FILE_EFFECTS = frozenset({"read", "write", "delete", "permissions", "link", "execute"})
"""Effects whose path is resolved on the disk."""


MAX_CACHED = 4096
"""Longer lines, in characters, are not cached for the second event about the same action."""


class Analysis(NamedTuple):
    """The result of an analysis: programs that would run, as a tree, and all effects in the order of the line."""

    effects: tuple[Effect, ...]
    invocations: tuple[Invocation, ...] = ()
    depends_on_files: bool = False  # the result depends on the current content of a file
    is_tool: bool = False  # the first invocation is a tool of the agent, not a program

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of all programs that would run, without duplicates."""
        waiting = (
            [inner for call in self.invocations for inner in call.children] if self.is_tool else list(self.invocations)
        )
        names: dict[str, None] = {}
        while waiting:
            call = waiting.pop(0)
            names[call.name.replace(UNKNOWN_CHAR, UNKNOWN_TEXT)] = None
            waiting += call.children
        return tuple(names)


NO_ANALYSIS = Analysis(())


def analyze_event(event: Event, environment: Environment) -> Analysis:
    """Return the effects of the action that an event announces; events about the past have none."""
    analyze = EVENT_ANALYZERS.get(type(event))
    return analyze(event, environment) if analyze is not None else NO_ANALYSIS


def analyze_command(command: str, environment: Environment) -> Analysis:
    """Return the effects of a command line."""
    analyze = _analyze_line if len(command) <= MAX_CACHED else _analyze_line.__wrapped__
    analysis = analyze(command, environment)
    if analysis.depends_on_files:
        _analyze_line.cache_clear()  # the file may have changed the next time
    return _resolve_effects(analysis, environment)


@functools.lru_cache(maxsize=128)
def _analyze_line(command: str, environment: Environment) -> Analysis:
    """Analyze a line. It is cached because some agents raise two events for one action."""
    analyzer = ShellAnalyzer(environment)
    state = analyzer.analyze_line(command)
    if state.written_texts:
        file_contents.check_written_files(analyzer, state)
    return Analysis(tuple(analyzer.effects), tuple(analyzer.invocations), analyzer.depends_on_files)


def analyze_tool(name: str, tool_input: Mapping[str, Any], environment: Environment) -> Analysis:
    """Return the effects of a tool call. `name` is Cursor's name of the tool."""
    if name == "Shell":
        return _analyze_commands(list_texts(tool_input.get("command") or tool_input.get("text") or ""), environment)
    server, tool = split_mcp_name(name)
    if tool:
        return analyze_mcp_call(server, tool, tool_input, environment)
    handler = TOOL_ANALYZERS.get(name)
    return (
        _analyze_call(name, lambda call: handler(call, tool_input), environment) if handler is not None else NO_ANALYSIS
    )


def _analyze_commands(commands: list[str], environment: Environment) -> Analysis:
    """Analyze several lines, each in a separate shell."""
    if len(commands) == 1:
        return analyze_command(commands[0], environment)
    analyses = [analyze_command(command, environment) for command in commands]
    return Analysis(
        effects=tuple(effect for analysis in analyses for effect in analysis.effects),
        invocations=tuple(call for analysis in analyses for call in analysis.invocations),
        depends_on_files=any(analysis.depends_on_files for analysis in analyses),
    )


def analyze_mcp_call(
    server: str, tool: str, tool_input: Mapping[str, Any], environment: Environment, server_address: str = ""
) -> Analysis:
    """Return the effects of a call of an MCP server, as far as its name and arguments tell."""
    from trotline.analysis.mcp.mcp_calls import add_mcp_effects  # noqa: PLC0415 - most actions are not MCP calls

    return _analyze_call(tool, lambda call: add_mcp_effects(call, server, tool_input, server_address), environment)


def _analyze_call(name: str, handler: Callable[[Invocation], None], environment: Environment) -> Analysis:
    analyzer = ShellAnalyzer(environment)
    call = Invocation(analyzer, ShellState(environment), [Argument(name)], Stream())
    analyzer.invocations.append(call)
    handler(call)
    if call.state.written_texts:
        file_contents.check_written_files(analyzer, call.state)
    return _resolve_effects(Analysis(tuple(analyzer.effects), tuple(analyzer.invocations), is_tool=True), environment)


def _resolve_effects(analysis: Analysis, environment: Environment) -> Analysis:
    """Set the target of each effect whose path is a link on the disk, and look up packages and applied manifests."""
    if environment.real_path is str:
        return analysis
    effects = [_resolve_effect(effect, environment) for effect in analysis.effects]
    kinds = [effect.kind for effect in effects]
    if "install" in kinds:
        effects = add_malware_reports(effects, environment)
    if "kube" in kinds:
        effects = add_manifest_effects(effects, environment)
    return analysis._replace(effects=tuple(effects))


def _resolve_effect(effect: Effect, environment: Environment) -> Effect:
    path = effect.path
    if effect.kind not in FILE_EFFECTS or not path.startswith("/") or UNKNOWN_TEXT in path or effect.target:
        return effect
    head, _, tail = path.rpartition("/")
    whole = effect.kind != "delete" or not tail or "*" in tail  # deleting a link deletes only the link
    real = environment.real_path(path) if whole else f"{environment.real_path(head or '/').rstrip('/')}/{tail}"
    return effect if real == path else msgspec.structs.replace(effect, target=real)


# Tools


def _add_file_read(call: Invocation, tool_input: Mapping[str, Any]) -> None:
    for path in _get_paths(tool_input):
        call.add_read(Argument(path), verb="read")


def _add_search(call: Invocation, tool_input: Mapping[str, Any]) -> None:
    for path in _get_paths(tool_input):
        call.add_read(Argument(path), verb="search", recursive=True)


def _add_file_write(call: Invocation, tool_input: Mapping[str, Any]) -> None:
    patch = _format_input(tool_input.get("patch"))
    named = PATCHED.findall(patch)
    for path in named or _get_paths(tool_input):
        call.add_write(Argument(path), verb="edit")
        if not named:
            file_contents.check_edit(call, Argument(path), tool_input)
    if named:
        file_contents.check_patch(call, patch)


def _add_file_delete(call: Invocation, tool_input: Mapping[str, Any]) -> None:
    for path in _get_paths(tool_input):
        call.add_delete(Argument(path), verb="delete")


def _add_delegation(call: Invocation, tool_input: Mapping[str, Any]) -> None:
    call.add_effect(
        "delegate",
        "task",
        target=_format_input(tool_input.get("subagent_type")),
        source=_format_input(tool_input.get("model")),
    )


TOOL_ANALYZERS: dict[str, Callable[[Invocation, Mapping[str, Any]], None]] = {
    "Delete": _add_file_delete,
    "Grep": _add_search,
    "Read": _add_file_read,
    "Task": _add_delegation,
    "Write": _add_file_write,
}


def _get_paths(tool_input: Mapping[str, Any]) -> list[str]:
    value = tool_input.get("file_path", tool_input.get("path"))
    values = value if isinstance(value, list) else [value]
    return [_format_input(item) for item in values if item]


def _format_input(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("path"), str):
        return str(value["path"])
    return "" if value is None else json.dumps(value)


def parse_tool_input(value: object) -> Mapping[str, Any]:
    """Return the input of a tool, which some agents encode as a JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"text": value}
    return value if isinstance(value, dict) else {}


def _analyze_read_event(event: BeforeReadFile | BeforeTabFileRead, environment: Environment) -> Analysis:
    return analyze_tool("Read", {"file_path": event.file_path}, environment)


def _analyze_mcp_event(event: BeforeMCP, environment: Environment) -> Analysis:
    address = event.mcp_server_url or event.url or event.command or ""
    tool_input = parse_tool_input(event.tool_input)
    return analyze_mcp_call(event.mcp_server_name or "", event.tool_name, tool_input, environment, address)


EVENT_ANALYZERS: dict[type[Event], Callable[[Any, Environment], Analysis]] = {
    BeforeMCP: _analyze_mcp_event,
    BeforeReadFile: _analyze_read_event,
    BeforeShell: lambda event, environment: analyze_command(event.command, environment),
    BeforeTabFileRead: _analyze_read_event,
    PreToolUse: lambda event, environment: analyze_tool(
        event.tool_name, parse_tool_input(event.tool_input), environment
    ),
    SubagentStart: lambda event, environment: analyze_tool(
        "Task", {"subagent_type": event.subagent_type, "model": event.subagent_model}, environment
    ),
}


MAX_FLAT_ARGUMENTS = 10_000
MAX_ARGUMENT_DEPTH = 16


def flatten_arguments(tool_input: Mapping[str, object]) -> dict[str, str]:
    """Return all values as texts under dotted names: `filter.state`, `labels.0`.

    If there are too many, one is named `…`, so that a rule can deny that.
    """
    found: dict[str, str] = {}
    for name, text in _iterate_values(tool_input, "", 0):
        if len(found) >= MAX_FLAT_ARGUMENTS:
            found[UNKNOWN_TEXT] = UNKNOWN_TEXT
            break
        found[name] = text
    return found


def _iterate_values(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_ARGUMENT_DEPTH:
        yield UNKNOWN_TEXT, UNKNOWN_TEXT
    elif isinstance(value, Mapping | list):
        inner = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in inner:
            yield from _iterate_values(item, f"{name}.{key}" if name else str(key), depth + 1)
    else:
        yield name, _format_value(value)


def _format_value(value: object) -> str:
    """Format a value as JSON does, but texts without quotes."""
    words = {True: "true", False: "false", None: "null"}
    return words[value] if value is None or isinstance(value, bool) else str(value)
