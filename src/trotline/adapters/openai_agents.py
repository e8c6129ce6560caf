"""An agent of the OpenAI Agents SDK under the hooks of a conversation: its prompt, its tools, servers and handoffs.

Its guardrails cannot rewrite input and its lifecycle hooks cannot refuse, so tools and handoffs are wrapped where the
SDK invokes them. What runs at the provider is out of reach; `losses` names it.
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
from trotline.adapters.call import Ask, Subagent, awaitable, heard, judged
from trotline.adapters.openai_agents_tools import FUNCTION, NAME, Rules, at_work, guarded_tool, settled
from trotline.awaited import AsyncSession, AsyncSubSession
from trotline.errors import UsageError
from trotline.outcomes import Loss, Outcome
from trotline.session import Session

C = TypeVar("C")
Agent = agents.Agent[Any]
Handoff = agents.Handoff[Any, Any]


def guarded(
    agent: agents.Agent[C],
    session: Session | AsyncSession,
    *,
    ask: Ask | None = None,
    shells: Mapping[str, str] | None = None,
) -> agents.Agent[C]:
    """The agent under hooks, for any way to run it. A refused prompt is the SDK's InputGuardrailTripwireTriggered.

    `shells` names the function tools that run a command, each with the argument that holds it.
    """
    rules = Rules(awaitable(session), ask, shells or {})
    if isinstance(agent.hooks, _Listening):
        return agent.hooks.guard.own(agent, rules.session)
    guard = _Guard(rules)
    twin = guard.agent(agent)
    unknown = sorted(set(rules.shells) - guard.tools)
    if unknown:
        raise UsageError(f"no agent has a function tool `{unknown[0]}`", hint="a shell is named by its tool's name")
    return twin


async def run(
    agent: agents.Agent[C],
    prompt: Any,
    session: Session | AsyncSession,
    /,
    *,
    ask: Ask | None = None,
    shells: Mapping[str, str] | None = None,
    **options: Any,
) -> agents.RunResult:
    """`Runner.run` of the guarded agent, then `stop`; while a hook has a follow-up, that is the next message."""
    starting = guarded(agent, session, ask=ask, shells=shells)
    result = await _run(starting, prompt, options)
    while follow_up := _follow_up(result):
        prompt, options = _continued(result, follow_up, options)
        try:
            result = await _run(result.last_agent, prompt, options)
        except agents.InputGuardrailTripwireTriggered as tripped:
            if not _ours(tripped):
                raise
            return result  # nobody typed it, so nobody waits to hear why it was refused
    return result


def losses(agent: Agent) -> tuple[Loss, ...]:
    """What of this agent, and of every agent that it can hand over to, no hook will hear of."""
    return tuple(Loss("openai-agents", what, why) for one in _reachable(agent, set()) for what, why in _unheard(one))


class _Guard:
    """One conversation: what its agents share, and how each thing of theirs is put under hooks."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.tools: set[str] = set()
        self.ended: Outcome | None = None
        self._prompt = ""
        self._context = ""
        self._child: AsyncSubSession | None = None
        self._twins: dict[int, tuple[Agent, Agent]] = {}  # with the original, so that its id stays taken

    def agent(self, agent: Agent) -> Agent:
        if isinstance(agent.hooks, _Listening):
            return agent
        if id(agent) in self._twins:
            return self._twins[id(agent)][1]
        self.tools |= {tool.name for tool in agent.tools if isinstance(tool, agents.FunctionTool)}
        judge = agents.InputGuardrail(self._judge_prompt, name=NAME, run_in_parallel=False)
        twin = agent.clone(
            tools=[guarded_tool(tool, self.rules) or tool for tool in agent.tools],
            mcp_servers=[self._server(server) for server in agent.mcp_servers],
            handoffs=[],
            instructions=self._instructions(agent),
            input_guardrails=[judge, *agent.input_guardrails],
            hooks=_Listening(self, agent.hooks),
        )
        self._twins[id(agent)] = (agent, twin)
        twin.handoffs = [self._handoff(item, twin) for item in agent.handoffs]  # they may lead back to this one
        return twin

    def own(self, agent: Agent, session: AsyncSession) -> Agent:
        """An agent that was guarded before, if it is still the one that was."""
        if session.session is not self.rules.session.session:
            raise UsageError(f"the agent `{agent.name}` is under the hooks of another conversation already")
        if all(twin is not agent for _, twin in self._twins.values()):
            raise UsageError(f"the agent `{agent.name}` was changed after it was guarded", hint="guard it last")
        return agent

    @property
    def nested(self) -> bool:
        """Whether this runs inside of a tool of the same conversation, as a sub-agent."""
        return at_work.get() is self.rules.session.session

    async def said(self, response: agents.ModelResponse) -> None:
        session = self.rules.session
        for item in response.output:
            if item.type == "reasoning":
                await session.after_agent_thought("\n".join(part.text for part in item.summary))
            elif text := agents.ItemHelpers.extract_text(item):
                await session.after_agent_response(text)

    async def end(self, status: str, summary: str = "") -> None:
        """The run is over; for a sub-agent that is the business of the tool behind which it works."""
        await self._end_child(status, summary)
        if not self.nested:
            self.ended = await heard(self.rules.session.stop(status))

    async def _end_child(self, status: str, summary: str = "") -> None:
        child, self._child = self._child, None
        if child is not None:
            child.session.summary = summary
            await heard(asyncio.to_thread(child.session.end, status))

    async def _judge_prompt(self, _context: Any, _agent: Any, given: Any) -> agents.GuardrailFunctionOutput:
        if self.nested:
            return agents.GuardrailFunctionOutput(output_info="the task of a sub-agent", tripwire_triggered=False)
        self.ended = None
        refusal, outcome = await judged(self._submitted(given), self.rules.ask)
        self._context = outcome.context if outcome is not None else ""
        return agents.GuardrailFunctionOutput(output_info=refusal, tripwire_triggered=bool(refusal))

    async def _submitted(self, given: Any) -> Outcome:
        self._prompt = _last_words(given)
        return await self.rules.session.before_submit_prompt(self._prompt)

    def _instructions(self, agent: Agent) -> Callable[[Any, Any], Awaitable[Any]]:
        """The agent's own, and what sessionStart and beforeSubmitPrompt had to add for the model."""
        session = self.rules.session

        async def instructions(context: Any, _: Any) -> Any:
            own = await agent.get_system_prompt(context)
            start = session.start.context if session.start is not None else ""
            return "\n\n".join(filter(None, (own, start, self._context))) or own

        return instructions

    def _server(self, server: Any) -> Any:
        params = getattr(server, "params", None)
        url = params.get("url") if isinstance(params, Mapping) else None
        return mcp.guarded(server, self.rules.session, server=server.name, url=url, ask=self.rules.ask)

    def _handoff(self, item: Agent | Handoff, source: Agent) -> Handoff:
        """Refused, it leads back to where it came from, and the model reads the reason as the handoff's output."""
        handing: Handoff = copy.copy(item) if isinstance(item, agents.Handoff) else agents.handoff(item)
        invoke, announce, select = handing.on_invoke_handoff, handing.get_transfer_message, handing.input_filter
        refusal = ""

        async def invoked(context: Any, arguments: str) -> Agent:
            nonlocal refusal
            refusal = await self._refuse_child(handing.agent_name, arguments)
            return source if refusal else self.agent(await invoke(context, arguments))

        async def selected(data: agents.HandoffInputData) -> Any:
            return await settled(select(data)) if select is not None and not refusal else data

        vars(handing).update(
            on_invoke_handoff=invoked,
            get_transfer_message=lambda agent: refusal or announce(agent),
            input_filter=selected if select is not None else None,
        )
        target = _target(handing)
        if target is not None:  # by this the SDK finds agents when it resumes a run, and must find those under hooks
            vars(handing).update(_agent_ref=weakref.ref(self.agent(target)))
        return handing

    async def _refuse_child(self, name: str, arguments: str) -> str:
        task = self._prompt if arguments.strip() in {"", "{}"} else arguments
        child = self.rules.session.subagent(name, task)
        refusal, _ = await judged(Subagent(child).before({}), self.rules.ask)
        if not refusal:
            await self._end_child("completed")
            self._child = child
        return refusal


class _Listening(agents.AgentHooks[Any]):
    """What an agent says and when it ends, beside the hooks that it had."""

    def __init__(self, guard: _Guard, theirs: Any) -> None:
        self.guard, self.theirs = guard, theirs or agents.AgentHooks[Any]()
        for name in ("on_start", "on_handoff", "on_tool_start", "on_tool_end", "on_llm_start"):
            setattr(self, name, getattr(self.theirs, name))

    async def on_llm_end(self, context: Any, agent: Any, response: agents.ModelResponse) -> None:
        await self.theirs.on_llm_end(context, agent, response)
        await heard(self.guard.said(response))

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        await self.theirs.on_end(context, agent, output)
        await heard(self.guard.end("completed", FUNCTION.text(output)))


async def _run(agent: Agent, prompt: Any, options: dict[str, Any]) -> agents.RunResult:
    try:
        return await agents.Runner.run(agent, prompt, **options)
    except Exception as error:
        if isinstance(agent.hooks, _Listening) and not _ours(error) and agent.hooks.guard.ended is None:
            await agent.hooks.guard.end("error")
        raise


def _ours(error: Exception) -> bool:
    """Whether a run ended before it began, because a hook refused its prompt."""
    return (
        isinstance(error, agents.InputGuardrailTripwireTriggered)
        and error.guardrail_result.guardrail.get_name() == NAME
    )


def _follow_up(result: agents.RunResult) -> str:
    hooks = result.last_agent.hooks
    ended = hooks.guard.ended if isinstance(hooks, _Listening) and not result.interruptions else None
    return ended.follow_up if ended is not None else ""


def _continued(result: agents.RunResult, follow_up: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The next message, with all before it unless somebody else keeps that: the SDK's session or the provider."""
    if options.get("previous_response_id") or options.get("auto_previous_response_id"):
        return follow_up, {**options, "previous_response_id": result.last_response_id}
    if options.get("session") or options.get("conversation_id"):
        return follow_up, options
    return [*result.to_input_list(), {"role": "user", "content": follow_up}], options


def _last_words(given: Any) -> str:
    """The text of the newest message of the person, among all that the run begins with."""
    if isinstance(given, str):
        return given
    for item in reversed(given):
        if isinstance(item, Mapping) and item.get("role") == "user":
            content = item.get("content", "")
            parts = [{"text": content}] if isinstance(content, str) else content
            return "\n".join(str(part["text"]) for part in parts if "text" in part)
    return ""


def _target(item: Any) -> Agent | None:
    """The agent that a handoff leads to; None if that is decided only when it is made."""
    if isinstance(item, agents.Agent):
        return item
    known = getattr(item, "_agent_ref", None)
    return known() if known is not None else None


def _reachable(agent: Agent, seen: set[int]) -> Iterator[Agent]:
    if id(agent) in seen:
        return
    seen.add(id(agent))
    yield agent
    for target in filter(None, map(_target, agent.handoffs)):
        yield from _reachable(target, seen)


def _unheard(agent: Agent) -> Iterator[tuple[str, str]]:
    for tool in agent.tools:
        inner = getattr(tool, "_agent_instance", None)
        if isinstance(tool, agents.ComputerTool):
            yield f"{agent.name}: {tool.name}", "what it does with the computer is no call that could be refused"
        elif not isinstance(tool, LOCAL) or (isinstance(tool, agents.ShellTool) and tool.executor is None):
            yield f"{agent.name}: {tool.name}", "it runs at the provider"
        elif inner is not None and not isinstance(inner.hooks, _Listening):
            yield f"{agent.name}: inside of {tool.name}", "that agent was not guarded before it was made a tool"
    if isinstance(agent, SandboxAgent):
        yield f"{agent.name}: the tools of its sandbox", "the SDK adds them when the run begins"
    if agent.prompt is not None:
        yield f"{agent.name}: the tools of its stored prompt", "they run at the provider"


LOCAL = (agents.FunctionTool, agents.ShellTool, agents.LocalShellTool, agents.CustomTool, agents.ApplyPatchTool)
