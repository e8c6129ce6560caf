"""An action of an agent, and what it would do: one entry for each kind of action that an event can be."""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from trotline.analysis import written
from trotline.analysis.applied import applied
from trotline.analysis.installed import reported
from trotline.analysis.reading import Reading
from trotline.analysis.scene import UNKNOWN, Argument, Scene, World
from trotline.analysis.step import GAP, Step
from trotline.analysis.streams import Stream
from trotline.effects import Effect
from trotline.events import BeforeMCP, BeforeReadFile, BeforeShell, BeforeTabFileRead, Event, PreToolUse, SubagentStart
from trotline.hooks import mcp_parts
from trotline.hosts.specific import texts_of
from trotline.texts import PATCHED

FILES = frozenset({"read", "write", "delete", "permissions", "link", "execute"})
"""Effects whose path is looked up on the disk."""


LONGEST_KEPT = 4096
"""Characters of a line that is kept for the second event about it."""


class Analysis(NamedTuple):
    """The programs that would run, as a tree, and all effects in the order of the line."""

    effects: tuple[Effect, ...]
    steps: tuple[Step, ...] = ()
    looked: bool = False  # whether it depends on what is in a file now
    tool: bool = False  # the first step is a tool of the agent and no program

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of all programs that would run, whatever runs them; each once."""
        waiting = [inner for step in self.steps for inner in step.inner] if self.tool else list(self.steps)
        names: dict[str, None] = {}
        while waiting:
            step = waiting.pop(0)
            names[step.name.replace(UNKNOWN, GAP)] = None
            waiting += step.inner
        return tuple(names)


NOTHING = Analysis(())


def of_event(event: Event, world: World) -> Analysis:
    """What an event announces; nothing for those that only tell what was."""
    reader = READERS.get(type(event))
    return reader(event, world) if reader is not None else NOTHING


def of_command(command: str, world: World) -> Analysis:
    """What a command line would do."""
    read = _read_line if len(command) <= LONGEST_KEPT else _read_line.__wrapped__
    analysis = read(command, world)
    if analysis.looked:
        _read_line.cache_clear()  # the file may be another one the next time
    return _looked_up(analysis, world)


@functools.lru_cache(maxsize=128)
def _read_line(command: str, world: World) -> Analysis:
    """A host that raises two events for one action has its line read once."""
    reading = Reading(world)
    scene = reading.line(command)
    if scene.written:
        written.kept(reading, scene)
    return Analysis(tuple(reading.effects), tuple(reading.steps), reading.looked)


def of_tool(name: str, given: Mapping[str, Any], world: World) -> Analysis:
    """What a tool would do with its input, by the names that Cursor gives to tools."""
    if name == "Shell":
        return _of_commands(texts_of(given.get("command") or given.get("text") or ""), world)
    server, tool = mcp_parts(name)
    if tool:
        return of_server(server, tool, given, world)
    work = TOOLS.get(name)
    return _worked(name, lambda step: work(step, given), world) if work is not None else NOTHING


def _of_commands(commands: list[str], world: World) -> Analysis:
    """Several lines of one call: each is given to a shell of its own."""
    if len(commands) == 1:
        return of_command(commands[0], world)
    found = [of_command(command, world) for command in commands]
    return Analysis(
        effects=tuple(effect for one in found for effect in one.effects),
        steps=tuple(step for one in found for step in one.steps),
        looked=any(one.looked for one in found),
    )


def of_server(server: str, tool: str, given: Mapping[str, Any], world: World, place: str = "") -> Analysis:
    """What a call of an MCP server would do, as far as its words tell."""
    from trotline.analysis import servers  # noqa: PLC0415 - most actions are no calls of servers

    return _worked(tool, lambda step: servers.called(step, server, given, place), world)


def _worked(name: str, work: Callable[[Step], None], world: World) -> Analysis:
    reading = Reading(world)
    step = Step(reading, Scene(world), [Argument(name)], Stream())
    reading.steps.append(step)
    work(step)
    if step.scene.written:
        written.kept(reading, step.scene)
    return _looked_up(Analysis(tuple(reading.effects), tuple(reading.steps), tool=True), world)


def _looked_up(analysis: Analysis, world: World) -> Analysis:
    """The same effects; where a path is another one on the disk, that one is their target."""
    if world.real is str:
        return analysis
    effects = [_real(effect, world) for effect in analysis.effects]
    kinds = [effect.kind for effect in effects]
    if "install" in kinds:
        effects = reported(effects, world)
    if "kube" in kinds:
        effects = applied(effects, world)
    return analysis._replace(effects=tuple(effects))


def _real(effect: Effect, world: World) -> Effect:
    path = effect.path
    if effect.kind not in FILES or not path.startswith("/") or GAP in path or effect.target:
        return effect
    head, _, tail = path.rpartition("/")
    whole = effect.kind != "delete" or not tail or "*" in tail  # to delete a link deletes no more than the link
    real = world.real(path) if whole else f"{world.real(head or '/').rstrip('/')}/{tail}"
    return effect if real == path else msgspec.structs.replace(effect, target=real)


# Tools


def _read_file(step: Step, given: Mapping[str, Any]) -> None:
    for path in _paths(given):
        step.read(Argument(path), verb="read")


def _search(step: Step, given: Mapping[str, Any]) -> None:
    for path in _paths(given):
        step.read(Argument(path), verb="search", recursive=True)


def _write(step: Step, given: Mapping[str, Any]) -> None:
    patch = _text(given.get("patch"))
    named = PATCHED.findall(patch)
    for path in named or _paths(given):
        step.write(Argument(path), verb="edit")
        if not named:
            written.edited(step, Argument(path), given)
    if named:
        written.patched(step, patch)


def _delete(step: Step, given: Mapping[str, Any]) -> None:
    for path in _paths(given):
        step.delete(Argument(path), verb="delete")


def _delegate(step: Step, given: Mapping[str, Any]) -> None:
    step.effect("delegate", "task", target=_text(given.get("subagent_type")), source=_text(given.get("model")))


TOOLS: dict[str, Callable[[Step, Mapping[str, Any]], None]] = {
    "Delete": _delete,
    "Grep": _search,
    "Read": _read_file,
    "Task": _delegate,
    "Write": _write,
}


def _paths(given: Mapping[str, Any]) -> list[str]:
    value = given.get("file_path", given.get("path"))
    values = value if isinstance(value, list) else [value]
    return [_text(one) for one in values if one]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("path"), str):
        return str(value["path"])
    return "" if value is None else json.dumps(value)


def given_of(value: object) -> Mapping[str, Any]:
    """The input of a tool, which some hosts write as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"text": value}
    return value if isinstance(value, dict) else {}


# Events


def _shell(event: BeforeShell, world: World) -> Analysis:
    return of_command(event.command, world)


def _file(event: BeforeReadFile | BeforeTabFileRead, world: World) -> Analysis:
    return of_tool("Read", {"file_path": event.file_path}, world)


def _tool(event: PreToolUse, world: World) -> Analysis:
    return of_tool(event.tool_name, given_of(event.tool_input), world)


def _mcp(event: BeforeMCP, world: World) -> Analysis:
    place = event.mcp_server_url or event.url or event.command or ""
    return of_server(event.mcp_server_name or "", event.tool_name, given_of(event.tool_input), world, place)


def _subagent(event: SubagentStart, world: World) -> Analysis:
    return of_tool("Task", {"subagent_type": event.subagent_type, "model": event.subagent_model}, world)


READERS: dict[type[Event], Callable[[Any, World], Analysis]] = {
    BeforeMCP: _mcp,
    BeforeReadFile: _file,
    BeforeShell: _shell,
    BeforeTabFileRead: _file,
    PreToolUse: _tool,
    SubagentStart: _subagent,
}
