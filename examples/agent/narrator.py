"""Prints in sentences what the agent does, what each hook answered, and what happened.

It reads Outcomes only, so it prints nothing that a hook could not see. Hooks without an opinion are not mentioned.
"""

import json
import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from agent.tools import format_result
from trotline import Engine, Event, Outcome
from trotline.domain import events
from trotline.domain.outcomes import Call, Response, Run

WIDTH = 96
COLOURS = {"deny": 31, "failed": 31, "ask": 33, "allow": 32, "layer": 36, "lead": 1}


def make_watched_engine(sink: Callable[[Outcome], object]) -> type[Engine]:
    """Return an engine class that passes every Outcome to a function."""

    class Watched(Engine):
        def dispatch(self, event: Event, call: Call | None = None) -> Outcome:
            outcome = super().dispatch(event, call)
            sink(outcome)
            return outcome

    return Watched


def make_printable(text: str) -> str:
    """Replace control characters, because texts of hooks, models and files may contain escape sequences."""
    return "".join(char if char.isprintable() else " " for char in text)


class Narrator:
    """Prints Outcomes. `display` converts texts for display."""

    def __init__(self, display: Callable[[str], str] = str) -> None:
        self.display = display
        self.depth = 0
        self.events: list[str] = []
        self.runs = 0
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, outcome: Outcome) -> None:
        event = outcome.event
        self.events.append(event.wire_name)
        self.runs += sum(isinstance(response, Run) for response in outcome.responses)
        if isinstance(event, events.SubagentStop):
            self.depth -= 1
        sentence = _describe_event(event)
        if sentence:
            self.say(sentence, lead=isinstance(event, LEADS))
        for response in outcome.responses:
            self._print_response(response)
        if outcome.replaced_output is not None:
            self.say(f"The model reads: {format_result(outcome.replaced_output)}")
        for line in (*outcome.alarms, *(f"not run: {entry.hook.label}, {entry.why}" for entry in outcome.not_run)):
            self.say(f"  ! {line}")
        if isinstance(event, events.SubagentStart) and not outcome.is_denied:
            self.depth += 1

    def say(self, text: str, *, lead: bool = False) -> None:
        """Print a sentence; a leading one after an empty line and less indented."""
        indent = "    " * self.depth + ("" if lead else "  ")
        lines = textwrap.wrap(
            make_printable(self.display(text)), WIDTH, initial_indent=indent, subsequent_indent=indent + "  "
        )
        if lead:
            print()
        print("\n".join(self._paint(line, "lead") if lead else line for line in lines), flush=True)

    def _print_response(self, response: Response) -> None:
        text = _describe_response(response)
        if not text:
            return
        head = f"{'    ' * self.depth}    {response.layer} {make_printable(PurePath(response.name).name)}: "
        lines = textwrap.wrap(
            make_printable(self.display(text)), WIDTH, initial_indent=head, subsequent_indent="        "
        )
        first = lines[0].replace(response.layer, self._paint(response.layer, "layer"), 1)
        word = text.split(",")[0].split(" ")[0]
        print("\n".join([first.replace(f": {word}", f": {self._paint(word, word)}", 1), *lines[1:]]), flush=True)

    def _paint(self, text: str, kind: str) -> str:
        return f"\033[{COLOURS[kind]}m{text}\033[0m" if self._colours and kind in COLOURS else text


LEADS = (
    events.WorkspaceOpen,
    events.BeforeTabFileRead,
    events.SessionStart,
    events.BeforeSubmitPrompt,
    events.AfterAgentThought,
    events.Stop,
    events.SessionEnd,
    events.PreCompact,
)
"""Events that begin a paragraph."""


def _describe_response(response: Response) -> str:
    """Describe a response in a sentence; empty if it has no opinion."""
    verdict = response.verdict
    if response.failure:
        return f"failed, {response.failure.detail}"
    parts = [verdict.permission.word] if verdict.permission else []
    parts += [f'"{verdict.user_message}"'] if verdict.user_message else []
    parts += [f'adds for the model: "{verdict.context}"'] if verdict.context else []
    parts += [f"sets {name}={value} for later hooks" for name, value in verdict.env.items()]
    parts += [f"changes the input to {json.dumps(verdict.edited_input)}"] if verdict.edited_input else []
    parts += ["changes the result before the model reads it"] if verdict.replaced_output else []
    parts += [f'wants it to go on: "{verdict.follow_up}"'] if verdict.follow_up else []
    parts += (
        [response.stderr.decode("utf-8", "replace").strip()] if isinstance(response, Run) and response.stderr else []
    )
    return ", ".join(parts + list(response.warnings))


def _describe_call(event: events.PreToolUse) -> str:
    arguments: dict[str, Any] = event.tool_input if isinstance(event.tool_input, dict) else {}
    if event.tool_name.startswith("MCP:"):
        return f"ask the MCP tool {event.tool_name[4:]}: {json.dumps(arguments)}"
    sentences = {
        "Shell": "run `{command}`",
        "Read": "read {file_path}",
        "Write": "write {file_path}",
        "Grep": "search for `{pattern}`",
        "LS": "list {file_path}",
        "Delete": "delete {file_path}",
        "Task": 'start a sub-agent ({subagent_type}): "{prompt}"',
    }
    return sentences.get(event.tool_name, event.tool_name).format_map(defaultdict(str, arguments))


def _describe_result(event: events.PostToolUse) -> str:
    output = json.loads(event.tool_output)
    if event.tool_name == "Shell":
        last = output["output"].strip().splitlines()[-1:]
        return f"It ran, exit code {output['exitCode']}" + (f": {last[0]}" if last else ".")
    return f"The model reads: {output['summary']}" if event.tool_name == "Task" else "Done."


def _describe_event(event: Event) -> str:
    """Describe an event in a sentence; empty if a paired event describes it."""
    match event:
        case events.WorkspaceOpen():
            return "The editor opens the workspace."
        case events.BeforeTabFileRead():
            return f"Tab wants to read {event.file_path}."
        case events.AfterTabFileEdit():
            return f"Tab completed line {event.edits[0].range.start_line_number} of {event.file_path}."
        case events.SessionStart():
            return "A conversation begins."
        case events.BeforeSubmitPrompt():
            return f'The agent is told: "{event.prompt}"'
        case events.AfterAgentThought():
            return f"It thinks: {event.text}"
        case events.AfterAgentResponse():
            return f'It says: "{event.text}"'
        case events.PreToolUse():
            return f"It wants to {_describe_call(event)}"
        case events.PostToolUse():
            return _describe_result(event)
        case events.PostToolUseFailure():
            return f"Not done, {event.failure_type}. The model reads: {event.error_message}"
        case events.PreCompact():
            return f"The context is full: {event.messages_to_compact} messages are folded into one."
        case events.SubagentStop():
            return f"The sub-agent ends, {event.status}. Tool calls: {event.tool_call_count}."
        case events.Stop():
            return f"It stops, {event.status}."
        case events.SessionEnd():
            return "The conversation ends."
    return ""
