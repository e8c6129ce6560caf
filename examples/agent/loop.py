"""The agent's loop: a message, the model, its tool calls, and a stop, after which hooks may send a follow-up.

Your own agent needs four things: fire the events, respect refusals, pass on context from hooks, and take a follow-up
as the next message.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from agent.calls import perform_call
from agent.model import Message, Model, ModelError, Reply, ToolCall
from agent.tool_context import AbsentPerson, Person, ToolContext, ToolOutput, Workspace
from agent.tools import Tool, list_tools
from agent.transcript import Transcript, add_context
from trotline import (
    AfterAgentResponse,
    AfterAgentThought,
    BeforeSubmitPrompt,
    Engine,
    PreCompact,
    Session,
    Stop,
)
from trotline.engine.session import SubagentSession

SYSTEM = "You are a coding agent. Use the tools. A refusal is final: do not look for a way around it."
INTERRUPTED = "The person interrupted this."


class Limits(NamedTuple):
    """The limits of a turn and of the context. `transcript` is a file for all messages."""

    steps: int = 50
    tokens: int = 20_000
    transcript: Path | None = None


DEFAULT_LIMITS = Limits()
USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Agent:
    """A conversation. A sub-agent is one too, with a session that has a parent."""

    def __init__(
        self, session: Session, model: Model, workspace: Workspace, person: Person, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.session = session
        self.model = model
        self.limits = limits
        self.tool_context = ToolContext(session, workspace, person)
        self.tools = list_tools(workspace)
        if not session.parent:  # sub-agents cannot start others
            self.tools["Task"] = Tool("Give a task to a sub-agent.", TASK, self.delegate)
        self.tool_calls = self.compactions = 0
        self.usage: dict[str, Any] = dict.fromkeys(USAGE, 0)
        context = session.start.context if session.start else ""
        self.transcript = Transcript(add_context(SYSTEM, context), limits.tokens, limits.transcript)

    def converse(self, prompt: str) -> str:
        """Process a message of the person and all follow-ups; return the last message of the agent."""
        message = prompt
        while message and self.submit(message):
            status = self.work()
            outcome = self.session.fire(Stop(status=status, **self.usage))
            message = outcome.follow_up if status == "completed" else ""
        return self.transcript.last_message

    def submit(self, message: str) -> bool:
        """Add a message to the transcript; return False if a hook refuses it."""
        outcome = self.session.fire(BeforeSubmitPrompt(prompt=message))
        if outcome.is_denied:
            self.tool_context.person.show(outcome.user_message)
            return False
        self.transcript.add(Message("user", add_context(message, outcome.context)))
        return True

    def work(self) -> str:
        """Run the model and its tool calls until it makes none; return the status of the stop."""
        try:
            for _ in range(self.limits.steps):
                self.compact_if_full()
                reply = self.think()
                if not reply.calls:
                    return "completed"
                self.act(reply.calls)
        except ModelError as error:
            self.tool_context.person.show(str(error))
            return "error"
        except KeyboardInterrupt:
            return "aborted"
        self.tool_context.person.show(f"the agent did not finish in {self.limits.steps} steps")
        return "error"

    def think(self) -> Reply:
        """Return the next reply of the model."""
        start = time.monotonic()
        specs = [tool.build_spec(name) for name, tool in self.tools.items()]
        reply = self.model.reply(self.transcript.messages, specs)
        calls = tuple(call if call.id else call._replace(id=f"tool_{uuid4()}") for call in reply.calls)
        if reply.thought:
            self.session.fire(AfterAgentThought(text=reply.thought, duration_ms=(time.monotonic() - start) * 1000))
        read = self.transcript.tokens
        self.transcript.add(Message("assistant", reply.text, calls))
        written = self.transcript.tokens - read
        self.usage["input_tokens"] += read
        self.usage["output_tokens"] += written
        if reply.text:
            self.session.fire(AfterAgentResponse(text=reply.text, **self.usage))
        return reply._replace(calls=calls)

    def act(self, calls: Sequence[ToolCall]) -> None:
        """Execute tool calls. Each gets an answer, also if the person interrupts."""
        answered = 0
        try:
            for call in calls:
                text = self.execute_call(call)
                self.transcript.add(Message("tool", text, call_id=call.id))
                answered += 1
        finally:
            for call in calls[answered:]:
                self.transcript.add(Message("tool", INTERRUPTED, call_id=call.id))

    def execute_call(self, call: ToolCall) -> str:
        tool = self.tools.get(call.name)
        if tool is None:
            return f"Failed: there is no tool `{call.name}`"
        problem = call.problem or tool.find_problem(call.input)
        if problem:
            return f"Failed: {problem}"
        self.tool_calls += 1
        return perform_call(self.tool_context, tool, call)

    def compact_if_full(self) -> None:
        """Compact the transcript if it is over its budget. Hooks get an event first and cannot prevent it."""
        transcript = self.transcript
        shorter = transcript.compact()
        if shorter is None:
            return
        outcome = self.session.fire(
            PreCompact(
                context_usage_percent=100 * transcript.tokens / transcript.budget,
                context_tokens=transcript.tokens,
                context_window_size=transcript.budget,
                message_count=len(transcript.messages),
                messages_to_compact=len(transcript.messages) - len(shorter) + 1,
                is_first_compaction=not self.compactions,
                trigger="auto",
            )
        )
        if outcome.user_message:
            self.tool_context.person.show(outcome.user_message)
        transcript.messages = shorter
        self.compactions += 1

    def delegate(self, context: ToolContext, call: ToolCall) -> ToolOutput:
        """Run a sub-agent with its own model and transcript, and the same workspace, person and hooks.

        A refused sub-agent never starts, so it has no subagentStop.
        """
        kind, task = call.input["subagent_type"], call.input["prompt"]
        model = self.model.for_subagent(kind)
        session = self.session.subagent(kind, task, model=model.name, call_id=call.id)
        session.description = call.input["description"]
        session.begin()
        if session.start:
            context.check_permission(session.start)
        agent = Agent(session, model, context.workspace, context.person, self.limits._replace(transcript=None))
        status = agent.run_task(session, task)
        for path in agent.tool_context.modified:
            context.note_modified(Path(path))
        if status == "aborted":
            raise KeyboardInterrupt
        return ToolOutput(session.summary or "", {"status": status, "summary": session.summary})

    def run_task(self, session: SubagentSession, task: str) -> str:
        """Run the task of a sub-agent and the follow-ups of subagentStop hooks.

        There is no person, so there is no beforeSubmitPrompt and no stop.
        """
        while True:
            self.transcript.add(Message("user", task))
            status = self.work()
            session.summary = self.transcript.last_message
            session.message_count = len(self.transcript.messages)
            session.tool_call_count = self.tool_calls
            session.modified_files = tuple(self.tool_context.modified)
            task = session.end(status).follow_up
            if not task:
                return status


TASK = {"description": "", "prompt": None, "subagent_type": "generalPurpose"}


def run_conversation(
    engine: Engine,
    model: Model,
    prompts: Sequence[str],
    workspace: Workspace,
    *,
    person: Person | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Agent | None:
    """Run a conversation from sessionStart to sessionEnd; return None if a hook refuses to start it."""
    person = person or AbsentPerson()
    path = str(limits.transcript) if limits.transcript else None
    with engine.session(model=model.name, model_id=model.name, transcript_path=path) as session:
        if session.is_refused:
            person.show(session.start.user_message if session.start else "")
            return None
        agent = Agent(session, model, workspace, person, limits)
        for prompt in prompts:
            agent.converse(prompt)
        return agent
