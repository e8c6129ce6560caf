"""An adapter for the OpenAI Agents SDK: wraps the prompt, tools, MCP servers and handoffs of an agent with hooks.

The SDK's guardrails cannot change input and its lifecycle hooks cannot refuse, so tools and handoffs are wrapped where
the SDK invokes them. `find_losses` lists what runs at the provider, out of reach of hooks.
"""

import asyncio
import copy
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

try:
    import agents
    from agents.sandbox import SandboxAgent
except ImportError as error:
    raise ImportError(
        "trotline.adapters.openai_agents needs the package `openai-agents`: pip install 'openai-agents>=0.24'"
    ) from error

from trotline.adapters import mcp
from trotline.adapters.openai_agents_tools import (
    FUNCTION_FORMAT,
    GUARDRAIL_NAME,
    GuardSettings,
    guard_tool,
    resolve,
    running_session,
)
from trotline.adapters.tool_call import AskPerson, SubagentKind, await_or_log, get_approval, to_async_session
from trotline.domain.errors import UsageError
from trotline.domain.events import AfterAgentResponse, AfterAgentThought, BeforeSubmitPrompt, Stop
from trotline.domain.outcomes import Loss, Outcome
from trotline.engine.session import AsyncSession, AsyncSubagentSession, Session

C = TypeVar("C")
Agent = agents.Agent[Any]
Handoff = agents.Handoff[Any, Any]


def guard_agent(
    agent: agents.Agent[C],
    session: Session | AsyncSession,
    *,
    ask: AskPerson | None = None,
    shells: Mapping[str, str] | None = None,
) -> agents.Agent[C]:
    """Wrap an agent with hooks. A refused prompt raises the SDK's InputGuardrailTripwireTriggered.

    `shells` maps the names of function tools that run a command to the argument that contains it.
    """
    settings = GuardSettings(to_async_session(session), ask, shells or {})
    if isinstance(agent.hooks, _EventHooks):
        return agent.hooks.guard.check_guarded(agent, settings.session)
    guard = _ConversationGuard(settings)
    copied = guard.guard(agent)
    unknown = sorted(set(settings.shells) - guard.tools)
    if unknown:
        raise UsageError(f"no agent has a function tool `{unknown[0]}`", hint="a shell is named by its tool's name")
    return copied


async def run(
    agent: agents.Agent[C],
    prompt: Any,
    session: Session | AsyncSession,
    /,
    *,
    ask: AskPerson | None = None,
    shells: Mapping[str, str] | None = None,
    **options: Any,
) -> agents.RunResult:
    """Call `Runner.run` with the guarded agent and fire `stop`. Follow-ups of hooks are the next messages."""
    guarded = guard_agent(agent, session, ask=ask, shells=shells)
    result = await _run(guarded, prompt, options)
    while follow_up := _get_follow_up(result):
        prompt, options = _build_next_message(result, follow_up, options)
        try:
            result = await _run(result.last_agent, prompt, options)
        except agents.InputGuardrailTripwireTriggered as tripped:
            if not _is_refused_prompt(tripped):
                raise
            return result  # no person typed this message, so its refusal is not an error
    return result


def find_losses(agent: Agent) -> tuple[Loss, ...]:
    """Return what hooks cannot see of this agent and of every agent that it can hand over to."""
    return tuple(
        Loss("openai-agents", name, reason)
        for reachable in _find_reachable(agent, set())
        for name, reason in _find_unguarded(reachable)
    )


class _ConversationGuard:
    """The state that all agents of a conversation share, and the wrappers of their parts."""

    def __init__(self, settings: GuardSettings) -> None:
        self.settings = settings
        self.tools: set[str] = set()
        self.ended: Outcome | None = None
        self._prompt = ""
        self._context = ""
        self._child: AsyncSubagentSession | None = None
        # By the id of the original, which is stored too, so that no other object gets its id.
        self._copies: dict[int, tuple[Agent, Agent]] = {}

    def guard(self, agent: Agent) -> Agent:
        """Return a copy of the agent whose prompt, tools, servers and handoffs are wrapped with hooks."""
        if isinstance(agent.hooks, _EventHooks):
            return agent
        if id(agent) in self._copies:
            return self._copies[id(agent)][1]
        self.tools |= {tool.name for tool in agent.tools if isinstance(tool, agents.FunctionTool)}
        guardrail = agents.InputGuardrail(self._check_prompt, name=GUARDRAIL_NAME, run_in_parallel=False)
        copied = agent.clone(
            tools=[guard_tool(tool, self.settings) or tool for tool in agent.tools],
            mcp_servers=[self._guard_server(server) for server in agent.mcp_servers],
            handoffs=[],
            instructions=self._build_instructions(agent),
            input_guardrails=[guardrail, *agent.input_guardrails],
            hooks=_EventHooks(self, agent.hooks),
        )
        self._copies[id(agent)] = (agent, copied)
        # Set after the copy is registered, because handoffs may lead back to this agent.
        copied.handoffs = [self._guard_handoff(item, copied) for item in agent.handoffs]
        return copied

    def check_guarded(self, agent: Agent, session: AsyncSession) -> Agent:
        """Return an agent that is already guarded; raise if it was changed or belongs to another session."""
        if session.session is not self.settings.session.session:
            raise UsageError(f"the agent `{agent.name}` is under the hooks of another conversation already")
        if all(copied is not agent for _, copied in self._copies.values()):
            raise UsageError(f"the agent `{agent.name}` was changed after it was guarded", hint="guard it last")
        return agent

    @property
    def is_nested(self) -> bool:
        """Check whether the agent runs as a sub-agent, inside a tool of the same conversation."""
        return running_session.get() is self.settings.session.session

    async def fire_response(self, response: agents.ModelResponse) -> None:
        """Fire an event for each message and reasoning summary of the model."""
        session = self.settings.session
        for item in response.output:
            if item.type == "reasoning":
                await session.fire(AfterAgentThought(text="\n".join(part.text for part in item.summary)))
            elif text := agents.ItemHelpers.extract_text(item):
                await session.fire(AfterAgentResponse(text=text))

    async def end(self, status: str, summary: str = "") -> None:
        """Fire `stop`. For a sub-agent, the tool that runs it fires `subagentStop` instead."""
        await self._end_child(status, summary)
        if not self.is_nested:
            self.ended = await await_or_log(self.settings.session.fire(Stop(status=status)))

    async def _end_child(self, status: str, summary: str = "") -> None:
        child, self._child = self._child, None
        if child is not None:
            child.session.summary = summary
            await await_or_log(asyncio.to_thread(child.session.end, status))

    async def _check_prompt(self, _context: Any, _agent: Any, messages: Any) -> agents.GuardrailFunctionOutput:
        if self.is_nested:
            return agents.GuardrailFunctionOutput(output_info="the task of a sub-agent", tripwire_triggered=False)
        self.ended = None
        refusal, outcome = await get_approval(self._submit_prompt(messages), self.settings.ask)
        self._context = outcome.context if outcome is not None else ""
        return agents.GuardrailFunctionOutput(output_info=refusal, tripwire_triggered=bool(refusal))

    async def _submit_prompt(self, messages: Any) -> Outcome:
        self._prompt = _get_last_message(messages)
        return await self.settings.session.fire(BeforeSubmitPrompt(prompt=self._prompt))

    def _build_instructions(self, agent: Agent) -> Callable[[Any, Any], Awaitable[Any]]:
        """Build instructions that add the context of sessionStart and beforeSubmitPrompt to the agent's own."""
        session = self.settings.session

        async def instructions(context: Any, _: Any) -> Any:
            instructions_text = await agent.get_system_prompt(context)
            start = session.start.context if session.start is not None else ""
            return "\n\n".join(filter(None, (instructions_text, start, self._context))) or instructions_text

        return instructions

    def _guard_server(self, server: Any) -> Any:
        params = getattr(server, "params", None)
        url = params.get("url") if isinstance(params, Mapping) else None
        return mcp.guard_client(server, self.settings.session, server=server.name, url=url, ask=self.settings.ask)

    def _guard_handoff(self, item: Agent | Handoff, source: Agent) -> Handoff:
        """Guard a handoff. A refused one returns to its source, and the model reads the reason as its output."""
        handoff: Handoff = copy.copy(item) if isinstance(item, agents.Handoff) else agents.handoff(item)
        invoke, get_message, input_filter = (
            handoff.on_invoke_handoff,
            handoff.get_transfer_message,
            handoff.input_filter,
        )
        refusal = ""

        async def guarded_invoke(context: Any, arguments: str) -> Agent:
            nonlocal refusal
            refusal = await self._start_child(handoff.agent_name, arguments)
            return source if refusal else self.guard(await invoke(context, arguments))

        async def guarded_filter(data: agents.HandoffInputData) -> Any:
            return await resolve(input_filter(data)) if input_filter is not None and not refusal else data

        vars(handoff).update(
            on_invoke_handoff=guarded_invoke,
            get_transfer_message=lambda agent: refusal or get_message(agent),
            input_filter=guarded_filter if input_filter is not None else None,
        )
        target = _get_target(handoff)
        if target is not None:  # the SDK uses this to find agents when it resumes a run
            vars(handoff).update(_agent_ref=weakref.ref(self.guard(target)))
        return handoff

    async def _start_child(self, name: str, arguments: str) -> str:
        """Start a sub-agent session for a handoff; return the reason if a hook refuses it."""
        task = self._prompt if arguments.strip() in {"", "{}"} else arguments
        child = self.settings.session.subagent(name, task)
        refusal, _ = await get_approval(SubagentKind(child).fire_before({}), self.settings.ask)
        if not refusal:
            await self._end_child("completed")
            self._child = child
        return refusal


class _EventHooks(agents.AgentHooks[Any]):
    """Fires events for responses and ends of an agent, in addition to the lifecycle hooks that it had."""

    def __init__(self, guard: _ConversationGuard, original: Any) -> None:
        self.guard, self.original = guard, original or agents.AgentHooks[Any]()
        for name in ("on_start", "on_handoff", "on_tool_start", "on_tool_end", "on_llm_start"):
            setattr(self, name, getattr(self.original, name))

    async def on_llm_end(self, context: Any, agent: Any, response: agents.ModelResponse) -> None:
        await self.original.on_llm_end(context, agent, response)
        await await_or_log(self.guard.fire_response(response))

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        await self.original.on_end(context, agent, output)
        await await_or_log(self.guard.end("completed", FUNCTION_FORMAT.to_text(output)))


async def _run(agent: Agent, prompt: Any, options: dict[str, Any]) -> agents.RunResult:
    try:
        return await agents.Runner.run(agent, prompt, **options)
    except Exception as error:
        if isinstance(agent.hooks, _EventHooks) and not _is_refused_prompt(error) and agent.hooks.guard.ended is None:
            await agent.hooks.guard.end("error")
        raise


def _is_refused_prompt(error: Exception) -> bool:
    """Check whether the error is a hook's refusal of the prompt."""
    return (
        isinstance(error, agents.InputGuardrailTripwireTriggered)
        and error.guardrail_result.guardrail.get_name() == GUARDRAIL_NAME
    )


def _get_follow_up(result: agents.RunResult) -> str:
    hooks = result.last_agent.hooks
    ended = hooks.guard.ended if isinstance(hooks, _EventHooks) and not result.interruptions else None
    return ended.follow_up if ended is not None else ""


def _build_next_message(
    result: agents.RunResult, follow_up: str, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Build the next message, with the history unless the SDK's session or the provider keeps it."""
    if options.get("previous_response_id") or options.get("auto_previous_response_id"):
        return follow_up, {**options, "previous_response_id": result.last_response_id}
    if options.get("session") or options.get("conversation_id"):
        return follow_up, options
    return [*result.to_input_list(), {"role": "user", "content": follow_up}], options


def _get_last_message(messages: Any) -> str:
    """Return the text of the user's last message."""
    if isinstance(messages, str):
        return messages
    for item in reversed(messages):
        if isinstance(item, Mapping) and item.get("role") == "user":
            content = item.get("content", "")
            parts = [{"text": content}] if isinstance(content, str) else content
            return "\n".join(str(part["text"]) for part in parts if "text" in part)
    return ""


def _get_target(item: Any) -> Agent | None:
    """Return the agent that a handoff leads to; None if that is decided when it is invoked."""
    if isinstance(item, agents.Agent):
        return item
    reference = getattr(item, "_agent_ref", None)
    return reference() if reference is not None else None


def _find_reachable(agent: Agent, seen: set[int]) -> Iterator[Agent]:
    if id(agent) in seen:
        return
    seen.add(id(agent))
    yield agent
    for target in filter(None, map(_get_target, agent.handoffs)):
        yield from _find_reachable(target, seen)


def _find_unguarded(agent: Agent) -> Iterator[tuple[str, str]]:
    for tool in agent.tools:
        inner = getattr(tool, "_agent_instance", None)
        if isinstance(tool, agents.ComputerTool):
            yield f"{agent.name}: {tool.name}", "what it does with the computer is no call that could be refused"
        elif not isinstance(tool, LOCAL_TOOLS) or (isinstance(tool, agents.ShellTool) and tool.executor is None):
            yield f"{agent.name}: {tool.name}", "it runs at the provider"
        elif inner is not None and not isinstance(inner.hooks, _EventHooks):
            yield f"{agent.name}: inside of {tool.name}", "that agent was not guarded before it was made a tool"
    if isinstance(agent, SandboxAgent):
        yield f"{agent.name}: the tools of its sandbox", "the SDK adds them when the run begins"
    if agent.prompt is not None:
        yield f"{agent.name}: the tools of its stored prompt", "they run at the provider"


LOCAL_TOOLS = (agents.FunctionTool, agents.ShellTool, agents.LocalShellTool, agents.CustomTool, agents.ApplyPatchTool)
