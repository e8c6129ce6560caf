"""Every tool of the OpenAI Agents SDK that runs on this machine, wrapped where the SDK invokes it.

The SDK turns what a tool raises into text before anyone could hear of it, counts the time of whatever stands around a
tool, and holds outputs against schemas; each of these is the tool's own business again in here.
"""

import copy
import dataclasses
import inspect
import json
import logging
import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import agents
from agents import tool as sdk
from agents.tool_context import ToolContext
from pydantic_core import to_json

from trotline.adapters.call import Ask, Call, FileEdit, Input, Kind, Shape, Shell, Subagent, Text, command_of, json_text
from trotline.awaited import AsyncSession
from trotline.errors import UsageError
from trotline.session import Session

NAME = "trotline"
"""The name of our guardrails, in traces and in the SDK's exceptions."""

PARTS = (agents.ToolOutputText, agents.ToolOutputImage, agents.ToolOutputFileContent)

at_work: ContextVar[Session | None] = ContextVar("at_work", default=None)
"""The conversation that a tool is at work for: an agent that runs inside of one has a task, and no prompt."""


class Rules(NamedTuple):
    """Who judges: a conversation, the person to ask, and which function tools are shells."""

    session: AsyncSession
    ask: Ask | None
    shells: Mapping[str, str]

    def call(self, name: str, given: Input, kind: Kind | None = None, call_id: str = "") -> Call:
        return Call(self.session, name, given, kind=kind, ask=self.ask, tool_use_id=call_id)


def guarded_tool(tool: agents.Tool, rules: Rules) -> agents.Tool | None:
    """The tool under hooks; None for one that they cannot reach."""
    if isinstance(tool, agents.FunctionTool):
        return _Function(tool, rules).guarded()
    if isinstance(tool, agents.ShellTool) and tool.executor is not None:
        return dataclasses.replace(tool, executor=_shell(tool.executor, rules))
    if isinstance(tool, agents.LocalShellTool):
        return dataclasses.replace(tool, executor=_local_shell(tool.executor, rules))
    if isinstance(tool, agents.CustomTool):
        return dataclasses.replace(tool, on_invoke_tool=_custom(tool, rules))
    if isinstance(tool, agents.ApplyPatchTool):
        return dataclasses.replace(tool, editor=_Editor(tool.editor, rules))
    return None


class _Said(str):
    """What we say in place of a tool's own output, which no schema of the tool's applies to."""

    __slots__ = ()


class FunctionShape(Text):
    """The outputs of function tools: text, the SDK's own parts, or whatever else the SDK makes text of."""

    def text(self, result: Any) -> str:
        try:
            return result if isinstance(result, str) else to_json(result, fallback=str).decode()
        except ValueError:  # it goes round in circles, and the model will read what Python shows of it
            return str(result)

    def timed_out(self, error: Exception) -> bool:
        return super().timed_out(error) or isinstance(error, agents.ToolTimeoutError)

    def refused(self, message: str) -> Any:
        return _Said(message)

    def replaced(self, result: Any, output: dict[str, Any]) -> Any:
        return _Said(super().replaced(result, output))

    def noted(self, result: Any, context: str) -> Any:
        parts = result if isinstance(result, list) else [result]
        if parts and all(isinstance(part, PARTS) for part in parts):
            return [*parts, agents.ToolOutputText(text=context)]
        return _Said(super().noted(result, context))


FUNCTION = FunctionShape()


class _Handled(Exception):  # noqa: N818 - it carries an error to where the tool's own policy for it is applied
    """A tool raised what the SDK would have made a text of."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error) or repr(error))
        self.error = error


class _Function:
    """A function tool. `inner` is the same tool, but raises; its settings for failures apply after hooks heard."""

    def __init__(self, tool: agents.FunctionTool, rules: Rules) -> None:
        self.tool, self.rules = tool, rules
        self.argument = _shell_argument(tool, rules)
        self.inner = sdk.set_function_tool_failure_error_function(copy.copy(tool), _hand_over)
        self.inner.timeout_behavior = "raise_exception"

    def guarded(self) -> agents.FunctionTool:
        outer = copy.copy(self.tool)
        outer.on_invoke_tool = self._invoke
        outer.timeout_seconds = None  # counted by `inner`: hooks and people are waited for outside of a tool's time
        if callable(self.tool.needs_approval):
            outer.needs_approval = self._needs_approval
        if self.tool.output_json_schema is not None:
            ours = agents.ToolOutputGuardrail[Any](_past_the_schema, name=NAME)
            outer.tool_output_guardrails = [ours, *(self.tool.tool_output_guardrails or [])]
        return outer

    async def _invoke(self, context: ToolContext[Any], arguments: str) -> Any:
        given = _moved(_object(arguments), self.argument, "command")
        name = "Shell" if self.argument else self.tool.name
        call = self.rules.call(name, given, self._kind(context, given), context.tool_call_id)

        async def run(edited: Input) -> Any:
            context.tool_arguments = (
                arguments if edited is given else json_text(_moved(edited, "command", self.argument))
            )
            token = at_work.set(self.rules.session.session)
            try:
                return await sdk.invoke_function_tool(
                    function_tool=self.inner, context=context, arguments=context.tool_arguments
                )
            finally:
                at_work.reset(token)

        try:
            return await call.make(run, FUNCTION)
        except (_Handled, agents.ToolTimeoutError) as failure:
            said = await self._by_its_settings(failure, context)
            return FUNCTION.noted(said, call.context) if call.context else said

    def _kind(self, context: ToolContext[Any], given: Input) -> Kind:
        origin = sdk.get_function_tool_origin(self.tool)
        if origin is None or origin.type is not agents.ToolOriginType.AGENT_AS_TOOL:
            return Shell(self.rules.session) if self.argument else Kind()
        task = given.get("input")
        child = self.rules.session.subagent(
            origin.agent_name or self.tool.name,
            task if isinstance(task, str) else json_text(given),
            call_id=context.tool_call_id,
        )
        return Subagent(child)

    async def _by_its_settings(self, failure: Exception, context: ToolContext[Any]) -> Any:
        """What the model reads of a failure, or the failure itself, raised."""
        if isinstance(failure, _Handled):
            said = await sdk.maybe_invoke_function_tool_failure_error_function(
                function_tool=self.tool, context=context, error=failure.error
            )
            if said is None:
                raise failure.error
            self._report()
            return said
        if not isinstance(failure, agents.ToolTimeoutError) or self.tool.timeout_behavior == "raise_exception":
            raise failure
        if self.tool.timeout_error_function is not None:
            return await settled(self.tool.timeout_error_function(context, failure))
        seconds = failure.timeout_seconds
        return _Said(sdk.default_tool_timeout_error_message(tool_name=self.tool.name, timeout_seconds=seconds))

    def _report(self) -> None:
        """As the SDK does for a failure that the model is told of; without the data of the call."""
        logging.getLogger("openai.agents").debug("Tool %s failed", self.tool.name)
        span = agents.get_current_span()
        if span is not None:
            data = {"tool_name": self.tool.name}
            span.set_error(agents.SpanError(message="Error running tool (non-fatal)", data=data))

    async def _needs_approval(self, context: Any, given: Input, call_id: str) -> bool:
        """The tool's own policy. As in the SDK, it is not asked about input that the tool would get in another form."""
        prepare = getattr(self.tool.on_invoke_tool, "prepare_arguments", None)
        prepared = prepare(json_text(given), self.tool.name) if prepare is not None else None
        policy = self.tool.needs_approval
        if isinstance(policy, bool) or (prepared is not None and not prepared.unchanged):
            return True
        return bool(await settled(policy(context, given, call_id)))


def _hand_over(_: Any, error: Exception) -> str:
    raise _Handled(error) from error


def _past_the_schema(data: agents.ToolOutputGuardrailData) -> agents.ToolGuardrailFunctionOutput:
    if isinstance(data.output, _Said):
        return agents.ToolGuardrailFunctionOutput.reject_content(str(data.output))
    return agents.ToolGuardrailFunctionOutput.allow()


def _shell_argument(tool: agents.FunctionTool, rules: Rules) -> str:
    """The argument that holds the command; empty for a tool that is no shell."""
    argument = rules.shells.get(tool.name, "")
    known = tool.params_json_schema.get("properties", {})
    if argument and (argument not in known or (argument != "command" and "command" in known)):
        raise UsageError(
            f"the tool `{tool.name}` has no argument `{argument}` that could be its command",
            hint=f"it has: {', '.join(known)}",
        )
    return argument


class _Commands(Shape[Any]):
    """The results of a shell, seen from one of its commands."""

    def __init__(self, index: int, count: int) -> None:
        self.index, self.count = index, count

    def text(self, result: Any) -> str:
        if not isinstance(result, agents.ShellResult):
            return str(result)
        own = slice(self.index, self.index + 1) if len(result.output) == self.count else slice(None)
        return "\n".join(part for entry in result.output[own] for part in (entry.stdout, entry.stderr) if part)

    def failure(self, result: Any) -> str:
        return result.why if isinstance(result, _NotRun) else ""

    def refused(self, message: str) -> Any:
        return _NotRun(output=[_entry(stderr=message, exit_code=1)], why=message)

    def replaced(self, result: Any, output: dict[str, Any]) -> Any:
        return self._with(result, lambda _: _entry(stdout=json_text(output)))

    def noted(self, result: Any, context: str) -> Any:
        return self._with(result, lambda entry: dataclasses.replace(entry, stdout=f"{entry.stdout}\n\n{context}"))

    def _with(self, result: Any, change: Callable[[agents.ShellCommandOutput], agents.ShellCommandOutput]) -> Any:
        """The result with this command's part changed; all of it where parts and commands do not correspond."""
        if not isinstance(result, agents.ShellResult):
            return change(_entry(stdout=str(result))).stdout
        if len(result.output) != self.count:
            whole = _entry(stdout=self.text(result), exit_code=1 if isinstance(result, _NotRun) else 0)
            return dataclasses.replace(result, output=[change(whole)])
        output = [change(entry) if at == self.index else entry for at, entry in enumerate(result.output)]
        return dataclasses.replace(result, output=output)


@dataclasses.dataclass
class _NotRun(agents.ShellResult):
    """What came of commands of which one was refused: none was run."""

    why: str = ""


def _entry(stdout: str = "", stderr: str = "", exit_code: int = 0) -> agents.ShellCommandOutput:
    outcome = agents.ShellCallOutcome(type="exit", exit_code=exit_code)
    return agents.ShellCommandOutput(stdout=stdout, stderr=stderr, outcome=outcome)


def _shell(executor: Any, rules: Rules) -> Callable[[agents.ShellCommandRequest], Awaitable[Any]]:
    """One call of the tool may hold several commands. Each is judged, and they run together or not at all."""

    async def run(request: agents.ShellCommandRequest) -> Any:
        action = request.data.action
        total = len(action.commands)

        async def next_of(allowed: list[str]) -> Any:
            at = len(allowed)
            if at == total:
                data = dataclasses.replace(request.data, action=dataclasses.replace(action, commands=allowed))
                return await settled(executor(dataclasses.replace(request, data=data)))
            call = rules.call("Shell", {"command": action.commands[at]}, Shell(rules.session), request.data.call_id)
            return await call.make(lambda given: next_of([*allowed, command_of(given)]), _Commands(at, total))

        return await next_of([])

    return run


def _local_shell(executor: Any, rules: Rules) -> Callable[[agents.LocalShellCommandRequest], Awaitable[Any]]:
    """Its command is a list of words; hooks read and write a line, and a line that they wrote is run by a shell."""

    async def run(request: agents.LocalShellCommandRequest) -> Any:
        action, where = request.data.action, request.data.action.working_directory or ""
        asked = {"command": shlex.join(action.command), "cwd": where}
        call = rules.call("Shell", asked, Shell(rules.session, where), request.data.call_id)

        async def execute(given: Input) -> Any:
            if given is asked:
                return await settled(executor(request))
            words = action.model_copy(update={"command": ["sh", "-c", command_of(given)]})
            data = request.data.model_copy(update={"action": words})
            return await settled(executor(dataclasses.replace(request, data=data)))

        return await call.make(execute, FUNCTION)

    return run


def _custom(tool: agents.CustomTool, rules: Rules) -> Callable[[ToolContext[Any], str], Awaitable[Any]]:
    async def invoke(context: ToolContext[Any], text: str) -> Any:
        call = rules.call(tool.name, {"input": text}, call_id=context.tool_call_id)
        return await call.make(
            lambda given: settled(tool.on_invoke_tool(context, str(given.get("input", "")))), FUNCTION
        )

    return invoke


class _Editor:
    """The editor behind apply_patch: one operation is one call, and a file that is moved is written in two places."""

    def __init__(self, editor: agents.ApplyPatchEditor, rules: Rules) -> None:
        self.editor, self.rules = editor, rules

    async def create_file(self, operation: agents.ApplyPatchOperation) -> Any:
        return await self._edit(operation, self.editor.create_file)

    async def update_file(self, operation: agents.ApplyPatchOperation) -> Any:
        return await self._edit(operation, self.editor.update_file)

    async def delete_file(self, operation: agents.ApplyPatchOperation) -> Any:
        return await self._edit(operation, self.editor.delete_file)

    async def _edit(self, operation: agents.ApplyPatchOperation, edit: Callable[..., Any]) -> Any:
        name = "Delete" if operation.type == "delete_file" else "Write"
        asked = {"file_path": operation.path, **({"diff": operation.diff} if operation.diff is not None else {})}

        async def there(given: Input) -> Any:
            changed = dataclasses.replace(
                operation, path=str(given.get("file_path", operation.path)), diff=given.get("diff", operation.diff)
            )
            if operation.move_to is None:
                return await settled(edit(changed))
            call = self._call("Write", {"file_path": operation.move_to, "moved_from": changed.path})
            return await call.make(lambda moved: settled(edit(_moved_to(changed, moved))), _PATCHES)

        return await self._call(name, asked).make(there, _PATCHES)

    def _call(self, name: str, given: Input) -> Call:
        return self.rules.call(name, given, FileEdit(self.rules.session))


def _moved_to(operation: agents.ApplyPatchOperation, given: Input) -> agents.ApplyPatchOperation:
    return dataclasses.replace(operation, move_to=str(given.get("file_path", operation.move_to)))


class _Patches(Shape[Any]):
    """The results of an editor: the SDK's own, a text, or nothing."""

    def text(self, result: Any) -> str:
        return (result.output if isinstance(result, agents.ApplyPatchResult) else result) or ""

    def failure(self, result: Any) -> str:
        failed = isinstance(result, agents.ApplyPatchResult) and result.status == "failed"
        return (self.text(result) or "the editor gave no reason") if failed else ""

    def refused(self, message: str) -> Any:
        return agents.ApplyPatchResult(status="failed", output=message)

    def replaced(self, result: Any, output: dict[str, Any]) -> Any:
        return agents.ApplyPatchResult(status=getattr(result, "status", "completed"), output=json_text(output))

    def noted(self, result: Any, context: str) -> Any:
        output = "\n\n".join(filter(None, (self.text(result), context)))
        return agents.ApplyPatchResult(status=getattr(result, "status", "completed"), output=output)


_PATCHES = _Patches()


async def settled(value: Any) -> Any:
    """The SDK lets most callables be sync or async."""
    return await value if inspect.isawaitable(value) else value


def _object(arguments: str) -> Input:
    """What the model wrote; text that is no JSON object is shown to hooks as it is, and is the SDK's to complain of."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    return given if isinstance(given, dict) else {"arguments": arguments}


def _moved(given: Input, old: str, new: str) -> Input:
    """The input with one argument under another name. What stood there is dropped: it is not what the tool will run."""
    if not old or not new or old == new:
        return given
    return {**{key: value for key, value in given.items() if key not in {old, new}}, new: given.get(old, "")}
