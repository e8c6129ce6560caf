"""Tells in sentences what the agent wants, which hook of which layer said what, and what came of it.

It knows nothing but Outcomes: whatever it tells, a hook could have seen. A hook without an opinion is not mentioned.
"""

import json
import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from agent.tools import text_of
from trotline import Engine, Event, Outcome
from trotline import events as raised
from trotline.outcomes import Call, Run, Voice

WIDTH = 96
COLOURS = {"deny": 31, "failed": 31, "ask": 33, "allow": 32, "layer": 36, "lead": 1}


def watched(sink: Callable[[Outcome], object]) -> type[Engine]:
    """An engine that also tells somebody of every Outcome."""

    class Watched(Engine):
        def dispatch(self, event: Event, call: Call | None = None) -> Outcome:
            outcome = super().dispatch(event, call)
            sink(outcome)
            return outcome

    return Watched


def printable(text: str) -> str:
    """A text that cannot play with the terminal: hooks, models and files may say anything."""
    return "".join(char if char.isprintable() else " " for char in text)


class Narrator:
    """A Sink that prints. `shown` makes of a text what a person should see of it."""

    def __init__(self, shown: Callable[[str], str] = str) -> None:
        self.shown = shown
        self.depth = 0
        self.events: list[str] = []
        self.runs = 0
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, outcome: Outcome) -> None:
        event = outcome.event
        self.events.append(event.wire_name)
        self.runs += sum(isinstance(voice, Run) for voice in outcome.voices)
        if isinstance(event, raised.SubagentStop):
            self.depth -= 1
        sentence = _sentence(event)
        if sentence:
            self.say(sentence, lead=isinstance(event, LEADS))
        for voice in outcome.voices:
            self._tell(voice)
        if outcome.replaced_output is not None:
            self.say(f"The model reads: {text_of(outcome.replaced_output)}")
        for line in (*outcome.alarms, *(f"not run: {one.hook.line}, {one.why}" for one in outcome.not_run)):
            self.say(f"  ! {line}")
        if isinstance(event, raised.SubagentStart) and not outcome.denied:
            self.depth += 1

    def say(self, text: str, *, lead: bool = False) -> None:
        """A sentence. One that begins something stands apart and at the left."""
        indent = "    " * self.depth + ("" if lead else "  ")
        lines = textwrap.wrap(
            printable(self.shown(text)), WIDTH, initial_indent=indent, subsequent_indent=indent + "  "
        )
        if lead:
            print()
        print("\n".join(self._paint(line, "lead") if lead else line for line in lines), flush=True)

    def _tell(self, voice: Voice) -> None:
        said = _said(voice)
        if not said:
            return
        head = f"{'    ' * self.depth}    {voice.layer} {printable(PurePath(voice.name).name)}: "
        lines = textwrap.wrap(printable(self.shown(said)), WIDTH, initial_indent=head, subsequent_indent="        ")
        first = lines[0].replace(voice.layer, self._paint(voice.layer, "layer"), 1)
        word = said.split(",")[0].split(" ")[0]
        print("\n".join([first.replace(f": {word}", f": {self._paint(word, word)}", 1), *lines[1:]]), flush=True)

    def _paint(self, text: str, kind: str) -> str:
        return f"\033[{COLOURS[kind]}m{text}\033[0m" if self._colours and kind in COLOURS else text


LEADS = (
    raised.WorkspaceOpen,
    raised.BeforeTabFileRead,
    raised.SessionStart,
    raised.BeforeSubmitPrompt,
    raised.AfterAgentThought,
    raised.Stop,
    raised.SessionEnd,
    raised.PreCompact,
)
"""Events that begin a paragraph."""


def _said(voice: Voice) -> str:
    """What a person would want to know of a voice; nothing, if it had nothing to say."""
    verdict = voice.verdict
    if voice.failure:
        return f"failed, {voice.failure.detail}"
    parts = [verdict.permission.word] if verdict.permission else []
    parts += [f'"{verdict.user_message}"'] if verdict.user_message else []
    parts += [f'adds for the model: "{verdict.context}"'] if verdict.context else []
    parts += [f"sets {name}={value} for later hooks" for name, value in verdict.env.items()]
    parts += [f"changes the input to {json.dumps(verdict.edited_input)}"] if verdict.edited_input else []
    parts += ["changes the result before the model reads it"] if verdict.replaced_output else []
    parts += [f'wants it to go on: "{verdict.follow_up}"'] if verdict.follow_up else []
    parts += [voice.stderr.decode("utf-8", "replace").strip()] if isinstance(voice, Run) and voice.stderr else []
    return ", ".join(parts + list(voice.warnings))


def _wish(event: raised.PreToolUse) -> str:
    given: dict[str, Any] = event.tool_input if isinstance(event.tool_input, dict) else {}
    if event.tool_name.startswith("MCP:"):
        return f"ask the MCP tool {event.tool_name[4:]}: {json.dumps(given)}"
    sentences = {
        "Shell": "run `{command}`",
        "Read": "read {file_path}",
        "Write": "write {file_path}",
        "Grep": "search for `{pattern}`",
        "LS": "list {file_path}",
        "Delete": "delete {file_path}",
        "Task": 'start a sub-agent ({subagent_type}): "{prompt}"',
    }
    return sentences.get(event.tool_name, event.tool_name).format_map(defaultdict(str, given))


def _result(event: raised.PostToolUse) -> str:
    output = json.loads(event.tool_output)
    if event.tool_name == "Shell":
        last = output["output"].strip().splitlines()[-1:]
        return f"It ran, exit code {output['exitCode']}" + (f": {last[0]}" if last else ".")
    return f"The model reads: {output['summary']}" if event.tool_name == "Task" else "Done."


def _sentence(event: Event) -> str:
    """What happened; empty for an event whose neighbour tells it."""
    match event:
        case raised.WorkspaceOpen():
            return "The editor opens the workspace."
        case raised.BeforeTabFileRead():
            return f"Tab wants to read {event.file_path}."
        case raised.AfterTabFileEdit():
            return f"Tab completed line {event.edits[0].range.start_line_number} of {event.file_path}."
        case raised.SessionStart():
            return "A conversation begins."
        case raised.BeforeSubmitPrompt():
            return f'The agent is told: "{event.prompt}"'
        case raised.AfterAgentThought():
            return f"It thinks: {event.text}"
        case raised.AfterAgentResponse():
            return f'It says: "{event.text}"'
        case raised.PreToolUse():
            return f"It wants to {_wish(event)}"
        case raised.PostToolUse():
            return _result(event)
        case raised.PostToolUseFailure():
            return f"Not done, {event.failure_type}. The model reads: {event.error_message}"
        case raised.PreCompact():
            return f"The context is full: {event.messages_to_compact} messages are folded into one."
        case raised.SubagentStop():
            return f"The sub-agent ends, {event.status}. Tool calls: {event.tool_call_count}."
        case raised.Stop():
            return f"It stops, {event.status}."
        case raised.SessionEnd():
            return "The conversation ends."
    return ""
