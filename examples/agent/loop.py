"""The agent's loop: a message, the model, the tools it wants, until it wants none; then a stop, which hooks may follow.

An agent of your own needs four things of this: raise the events, heed what is refused, pass on what hooks add, and
take a follow-up as the next message.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from agent.calls import perform
from agent.hand import Done, Hand, Nobody, Person, Workspace
from agent.model import Message, Model, ModelError, Reply, ToolCall
from agent.tools import Tool, tools_of
from agent.transcript import Transcript, with_context
from trotline import Engine, Session, Tokens
from trotline.session import SubSession

SYSTEM = "You are a coding agent. Use the tools. A refusal is final: do not look for a way around it."
INTERRUPTED = "The person interrupted this."


class Limits(NamedTuple):
    """What ends a turn, and what is kept of a long one. `transcript` is a file that gets every message."""

    steps: int = 50
    tokens: int = 20_000
    transcript: Path | None = None


USUAL = Limits()


class Agent:
    """One conversation. A sub-agent is one too, with a session that knows its parent."""

    def __init__(
        self, session: Session, model: Model, workspace: Workspace, person: Person, limits: Limits = USUAL
    ) -> None:
        self.session = session
        self.model = model
        self.limits = limits
        self.hand = Hand(session, workspace, person)
        self.tools = tools_of(workspace)
        if not session.parent:  # sub-agents have none of their own
            self.tools["Task"] = Tool("Give a task to a sub-agent.", TASK, self.delegate)
        self.tool_calls = self.compactions = 0
        self.spent = Tokens()
        context = session.start.context if session.start else ""
        self.transcript = Transcript(with_context(SYSTEM, context), limits.tokens, limits.transcript)

    def converse(self, prompt: str) -> str:
        """One message of the person and all that follows from it. Gives the agent's last words."""
        message = prompt
        while message and self.submit(message):
            status = self.work()
            outcome = self.session.stop(status, tokens=self.spent)
            message = outcome.follow_up if status == "completed" else ""
        return self.transcript.last_words

    def submit(self, message: str) -> bool:
        """Whether the message reached the model's desk."""
        outcome = self.session.before_submit_prompt(message)
        if outcome.denied:
            self.hand.person.reads(outcome.user_message)
            return False
        self.transcript.add(Message("user", with_context(message, outcome.context)))
        return True

    def work(self) -> str:
        """Think and act until there is nothing left to do: completed, aborted by the person, or error."""
        try:
            for _ in range(self.limits.steps):
                self.make_room()
                reply = self.think()
                if not reply.calls:
                    return "completed"
                self.act(reply.calls)
        except ModelError as error:
            self.hand.person.reads(str(error))
            return "error"
        except KeyboardInterrupt:
            return "aborted"
        self.hand.person.reads(f"the agent did not finish in {self.limits.steps} steps")
        return "error"

    def think(self) -> Reply:
        begun = time.monotonic()
        specs = [tool.spec(name) for name, tool in self.tools.items()]
        reply = self.model.reply(self.transcript.messages, specs)
        calls = tuple(call if call.id else call._replace(id=f"tool_{uuid4()}") for call in reply.calls)
        if reply.thought:
            self.session.after_agent_thought(reply.thought, duration_ms=(time.monotonic() - begun) * 1000)
        read = self.transcript.tokens
        self.transcript.add(Message("assistant", reply.text, calls))
        written = self.transcript.tokens - read
        self.spent = Tokens(self.spent.input_tokens + read, self.spent.output_tokens + written)
        if reply.text:
            self.session.after_agent_response(reply.text, tokens=self.spent)
        return reply._replace(calls=calls)

    def act(self, calls: Sequence[ToolCall]) -> None:
        """Every wish gets its answer, also when the person interrupts in the middle."""
        answered = 0
        try:
            for call in calls:
                told = self.carry_out(call)
                self.transcript.add(Message("tool", told, call_id=call.id))
                answered += 1
        finally:
            for call in calls[answered:]:
                self.transcript.add(Message("tool", INTERRUPTED, call_id=call.id))

    def carry_out(self, call: ToolCall) -> str:
        tool = self.tools.get(call.name)
        if tool is None:
            return f"Failed: there is no tool `{call.name}`"
        flaw = call.flaw or tool.missing(call.input)
        if flaw:
            return f"Failed: {flaw}"
        self.tool_calls += 1
        return perform(self.hand, tool, call)

    def make_room(self) -> None:
        """When the context is over its budget, what is old is folded; hooks hear of it first and cannot prevent it."""
        transcript = self.transcript
        shorter = transcript.folded()
        if shorter is None:
            return
        outcome = self.session.pre_compact(
            context_usage_percent=100 * transcript.tokens / transcript.budget,
            context_tokens=transcript.tokens,
            context_window_size=transcript.budget,
            message_count=len(transcript.messages),
            messages_to_compact=len(transcript.messages) - len(shorter) + 1,
            is_first_compaction=not self.compactions,
        )
        if outcome.user_message:
            self.hand.person.reads(outcome.user_message)
        transcript.messages = shorter
        self.compactions += 1

    def delegate(self, hand: Hand, call: ToolCall) -> Done:
        """A sub-agent: its own model and transcript, the same workspace, person and hooks.

        One that is refused never begins, so it never ends either: no subagentStop.
        """
        kind, task = call.input["subagent_type"], call.input["prompt"]
        model = self.model.for_subagent(kind)
        session = self.session.subagent(kind, task, model=model.name, call_id=call.id)
        session.description = call.input["description"]
        session.begin()
        if session.start:
            hand.pass_gate(session.start)
        agent = Agent(session, model, hand.workspace, hand.person, self.limits._replace(transcript=None))
        status = agent.obey(session, task)
        for path in agent.hand.modified:
            hand.touched(Path(path))
        if status == "aborted":
            raise KeyboardInterrupt
        return Done(session.summary or "", {"status": status, "summary": session.summary})

    def obey(self, session: SubSession, task: str) -> str:
        """A sub-agent's conversation: its task, and what hooks of subagentStop want it to do after that.

        No person speaks in it, so there is no beforeSubmitPrompt, and no stop.
        """
        while True:
            self.transcript.add(Message("user", task))
            status = self.work()
            session.summary = self.transcript.last_words
            session.message_count = len(self.transcript.messages)
            session.tool_call_count = self.tool_calls
            session.modified_files = tuple(self.hand.modified)
            task = session.end(status).follow_up
            if not task:
                return status


TASK = {"description": "", "prompt": None, "subagent_type": "generalPurpose"}


def play(
    engine: Engine,
    model: Model,
    prompts: Sequence[str],
    workspace: Workspace,
    *,
    person: Person | None = None,
    limits: Limits = USUAL,
) -> Agent | None:
    """A whole conversation, from sessionStart to sessionEnd; none if a hook refused that it begins."""
    person = person or Nobody()
    path = str(limits.transcript) if limits.transcript else None
    with engine.session(model=model.name, model_id=model.name, transcript_path=path) as session:
        if session.refused:
            person.reads(session.start.user_message if session.start else "")
            return None
        agent = Agent(session, model, workspace, person, limits)
        for prompt in prompts:
            agent.converse(prompt)
        return agent
