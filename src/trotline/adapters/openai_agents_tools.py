"""Wrappers for the tools of the OpenAI Agents SDK that run on this machine.

The SDK turns exceptions of a tool into text, includes wrappers in a tool's timeout, and validates outputs by schemas.
The wrappers apply each of these to the tool alone, so that hooks see exceptions and may take their time.
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
from pydantic_core import to_json as encode_json

from trotline.adapters.tool_call import (
    AskPerson,
    FileKind,
    ResultFormat,
    ShellKind,
    SubagentKind,
    TextFormat,
    ToolCall,
    ToolInput,
    ToolKind,
    get_command_line,
    to_json,
)
from trotline.domain.errors import UsageError
from trotline.engine.session import AsyncSession, Session

GUARDRAIL_NAME = "trotline"
"""The name of our guardrails in traces and in the SDK's exceptions."""

OUTPUT_PARTS = (agents.ToolOutputText, agents.ToolOutputImage, agents.ToolOutputFileContent)

running_session: ContextVar[Session | None] = ContextVar("running_session", default=None)
"""The session whose tool is running. An agent inside such a tool has a task, not a prompt from the user."""


class GuardSettings(NamedTuple):
    """The session, the function that asks the user, and the function tools that are shells."""

    session: AsyncSession
    ask: AskPerson | None
    shells: Mapping[str, str]

    def build_call(self, name: str, tool_input: ToolInput, kind: ToolKind | None = None, call_id: str = "") -> ToolCall:
        """Build a call of a tool in this session."""
        return ToolCall(self.session, name, tool_input, kind=kind, ask=self.ask, tool_use_id=call_id)


def guard_tool(tool: agents.Tool, settings: GuardSettings) -> agents.Tool | None:
    """Return the tool wrapped with hooks; None for a tool that runs elsewhere."""
    if isinstance(tool, agents.FunctionTool):
        return _GuardedFunction(tool, settings).build()
    if isinstance(tool, agents.ShellTool) and tool.executor is not None:
        return dataclasses.replace(tool, executor=_guard_shell(tool.executor, settings))
    if isinstance(tool, agents.LocalShellTool):
        return dataclasses.replace(tool, executor=_guard_local_shell(tool.executor, settings))
    if isinstance(tool, agents.CustomTool):
        return dataclasses.replace(tool, on_invoke_tool=_guard_custom(tool, settings))
    if isinstance(tool, agents.ApplyPatchTool):
        return dataclasses.replace(tool, editor=_GuardedEditor(tool.editor, settings))
    return None


class _HookText(str):
    """A text from hooks that replaces the tool's output; the tool's schema does not apply to it."""

    __slots__ = ()


class FunctionFormat(TextFormat):
    """Outputs of function tools: text, output parts of the SDK, or objects that the SDK turns into text."""

    def to_text(self, result: Any) -> str:
        """Return the output as JSON text, or its `str` where it has no JSON form."""
        try:
            return result if isinstance(result, str) else encode_json(result, fallback=str).decode()
        except ValueError:  # a circular object; the model reads its `str`
            return str(result)

    def is_timeout(self, error: Exception) -> bool:
        """Check for a Python timeout or a timeout of the SDK."""
        return super().is_timeout(error) or isinstance(error, agents.ToolTimeoutError)

    def build_refusal(self, message: str) -> Any:
        """Return the refusal as a text to which the tool's schema does not apply."""
        return _HookText(message)

    def replace_output(self, result: Any, output: dict[str, Any]) -> Any:
        """Return the hook's output as a text to which the tool's schema does not apply."""
        return _HookText(super().replace_output(result, output))

    def add_context(self, result: Any, context: str) -> Any:
        """Append a text part to output parts of the SDK; append to the text otherwise."""
        parts = result if isinstance(result, list) else [result]
        if parts and all(isinstance(part, OUTPUT_PARTS) for part in parts):
            return [*parts, agents.ToolOutputText(text=context)]
        return _HookText(super().add_context(result, context))


FUNCTION_FORMAT = FunctionFormat()


class _ToolError(Exception):
    """Carries an exception of a tool past the SDK to the place where the tool's own error handling applies."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error) or repr(error))
        self.error = error


class _GuardedFunction:
    """A function tool wrapped with hooks. `inner` is the same tool, but raises; errors are handled after the hooks."""

    def __init__(self, tool: agents.FunctionTool, settings: GuardSettings) -> None:
        self.tool, self.settings = tool, settings
        self.argument = _get_shell_argument(tool, settings)
        self.inner = sdk.set_function_tool_failure_error_function(copy.copy(tool), _raise_tool_error)
        self.inner.timeout_behavior = "raise_exception"

    def build(self) -> agents.FunctionTool:
        outer = copy.copy(self.tool)
        outer.on_invoke_tool = self._invoke
        outer.timeout_seconds = None  # `inner` has the timeout, which must not include hooks and questions
        if callable(self.tool.needs_approval):
            outer.needs_approval = self._needs_approval
        if self.tool.output_json_schema is not None:
            guardrail = agents.ToolOutputGuardrail[Any](_skip_schema, name=GUARDRAIL_NAME)
            outer.tool_output_guardrails = [guardrail, *(self.tool.tool_output_guardrails or [])]
        return outer

    async def _invoke(self, context: ToolContext[Any], arguments: str) -> Any:
        original = _rename_argument(_parse_arguments(arguments), self.argument, "command")
        name = "Shell" if self.argument else self.tool.name
        call = self.settings.build_call(name, original, self._build_kind(context, original), context.tool_call_id)

        async def run(tool_input: ToolInput) -> Any:
            context.tool_arguments = (
                arguments if tool_input is original else to_json(_rename_argument(tool_input, "command", self.argument))
            )
            token = running_session.set(self.settings.session.session)
            try:
                return await sdk.invoke_function_tool(
                    function_tool=self.inner, context=context, arguments=context.tool_arguments
                )
            finally:
                running_session.reset(token)

        try:
            return await call.execute(run, FUNCTION_FORMAT)
        except (_ToolError, agents.ToolTimeoutError) as failure:
            output = await self._handle_error(failure, context)
            return FUNCTION_FORMAT.add_context(output, call.context) if call.context else output

    def _build_kind(self, context: ToolContext[Any], tool_input: ToolInput) -> ToolKind:
        origin = sdk.get_function_tool_origin(self.tool)
        if origin is None or origin.type is not agents.ToolOriginType.AGENT_AS_TOOL:
            return ShellKind(self.settings.session) if self.argument else ToolKind()
        task = tool_input.get("input")
        child = self.settings.session.subagent(
            origin.agent_name or self.tool.name,
            task if isinstance(task, str) else to_json(tool_input),
            call_id=context.tool_call_id,
        )
        return SubagentKind(child)

    async def _handle_error(self, failure: Exception, context: ToolContext[Any]) -> Any:
        """Handle an error as the tool is configured: return the text for the model, or raise."""
        if isinstance(failure, _ToolError):
            output = await sdk.maybe_invoke_function_tool_failure_error_function(
                function_tool=self.tool, context=context, error=failure.error
            )
            if output is None:
                raise failure.error
            self._trace_error()
            return output
        if not isinstance(failure, agents.ToolTimeoutError) or self.tool.timeout_behavior == "raise_exception":
            raise failure
        if self.tool.timeout_error_function is not None:
            return await resolve(self.tool.timeout_error_function(context, failure))
        seconds = failure.timeout_seconds
        return _HookText(sdk.default_tool_timeout_error_message(tool_name=self.tool.name, timeout_seconds=seconds))

    def _trace_error(self) -> None:
        """Log and trace a failure as the SDK does, without the data of the call."""
        logging.getLogger("openai.agents").debug("Tool %s failed", self.tool.name)
        span = agents.get_current_span()
        if span is not None:
            data = {"tool_name": self.tool.name}
            span.set_error(agents.SpanError(message="Error running tool (non-fatal)", data=data))

    async def _needs_approval(self, context: Any, tool_input: ToolInput, call_id: str) -> bool:
        """Apply the tool's own policy. As in the SDK, input that the SDK would change always needs approval."""
        prepare = getattr(self.tool.on_invoke_tool, "prepare_arguments", None)
        prepared = prepare(to_json(tool_input), self.tool.name) if prepare is not None else None
        policy = self.tool.needs_approval
        if isinstance(policy, bool) or (prepared is not None and not prepared.unchanged):
            return True
        return bool(await resolve(policy(context, tool_input, call_id)))


def _raise_tool_error(_: Any, error: Exception) -> str:
    raise _ToolError(error) from error


def _skip_schema(data: agents.ToolOutputGuardrailData) -> agents.ToolGuardrailFunctionOutput:
    if isinstance(data.output, _HookText):
        return agents.ToolGuardrailFunctionOutput.reject_content(str(data.output))
    return agents.ToolGuardrailFunctionOutput.allow()


def _get_shell_argument(tool: agents.FunctionTool, settings: GuardSettings) -> str:
    """Return the argument that contains the command; empty for a tool that is not a shell."""
    argument = settings.shells.get(tool.name, "")
    properties = tool.params_json_schema.get("properties", {})
    if argument and (argument not in properties or (argument != "command" and "command" in properties)):
        raise UsageError(
            f"the tool `{tool.name}` has no argument `{argument}` that could be its command",
            hint=f"it has: {', '.join(properties)}",
        )
    return argument


class _ShellFormat(ResultFormat[Any]):
    """The result of a shell call, as seen by one of its commands."""

    def __init__(self, index: int, count: int) -> None:
        self.index, self.count = index, count

    def to_text(self, result: Any) -> str:
        if not isinstance(result, agents.ShellResult):
            return str(result)
        outputs = slice(self.index, self.index + 1) if len(result.output) == self.count else slice(None)
        return "\n".join(part for entry in result.output[outputs] for part in (entry.stdout, entry.stderr) if part)

    def get_error(self, result: Any) -> str:
        return result.reason if isinstance(result, _RefusedResult) else ""

    def build_refusal(self, message: str) -> Any:
        return _RefusedResult(output=[_build_entry(stderr=message, exit_code=1)], reason=message)

    def replace_output(self, result: Any, output: dict[str, Any]) -> Any:
        return self._change_output(result, lambda _: _build_entry(stdout=to_json(output)))

    def add_context(self, result: Any, context: str) -> Any:
        return self._change_output(
            result, lambda entry: dataclasses.replace(entry, stdout=f"{entry.stdout}\n\n{context}")
        )

    def _change_output(
        self, result: Any, change: Callable[[agents.ShellCommandOutput], agents.ShellCommandOutput]
    ) -> Any:
        """Change the output of this command, or the whole result if outputs and commands do not correspond."""
        if not isinstance(result, agents.ShellResult):
            return change(_build_entry(stdout=str(result))).stdout
        if len(result.output) != self.count:
            whole = _build_entry(stdout=self.to_text(result), exit_code=1 if isinstance(result, _RefusedResult) else 0)
            return dataclasses.replace(result, output=[change(whole)])
        output = [change(entry) if at == self.index else entry for at, entry in enumerate(result.output)]
        return dataclasses.replace(result, output=output)


@dataclasses.dataclass
class _RefusedResult(agents.ShellResult):
    """The result of a shell call that was not run because one of its commands was refused."""

    reason: str = ""


def _build_entry(stdout: str = "", stderr: str = "", exit_code: int = 0) -> agents.ShellCommandOutput:
    outcome = agents.ShellCallOutcome(type="exit", exit_code=exit_code)
    return agents.ShellCommandOutput(stdout=stdout, stderr=stderr, outcome=outcome)


def _guard_shell(executor: Any, settings: GuardSettings) -> Callable[[agents.ShellCommandRequest], Awaitable[Any]]:
    """Guard a tool whose calls may have several commands. Each is evaluated; either all run or none."""

    async def run(request: agents.ShellCommandRequest) -> Any:
        action = request.data.action
        total = len(action.commands)

        async def run_next(allowed: list[str]) -> Any:
            at = len(allowed)
            if at == total:
                data = dataclasses.replace(request.data, action=dataclasses.replace(action, commands=allowed))
                return await resolve(executor(dataclasses.replace(request, data=data)))
            call = settings.build_call(
                "Shell", {"command": action.commands[at]}, ShellKind(settings.session), request.data.call_id
            )
            return await call.execute(
                lambda tool_input: run_next([*allowed, get_command_line(tool_input)]), _ShellFormat(at, total)
            )

        return await run_next([])

    return run


def _guard_local_shell(
    executor: Any, settings: GuardSettings
) -> Callable[[agents.LocalShellCommandRequest], Awaitable[Any]]:
    """Guard a tool whose command is a list of words. Hooks see a line; a line that they change runs in a shell."""

    async def run(request: agents.LocalShellCommandRequest) -> Any:
        action, directory = request.data.action, request.data.action.working_directory or ""
        original = {"command": shlex.join(action.command), "cwd": directory}
        call = settings.build_call("Shell", original, ShellKind(settings.session, directory), request.data.call_id)

        async def execute(tool_input: ToolInput) -> Any:
            if tool_input is original:
                return await resolve(executor(request))
            changed_action = action.model_copy(update={"command": ["sh", "-c", get_command_line(tool_input)]})
            data = request.data.model_copy(update={"action": changed_action})
            return await resolve(executor(dataclasses.replace(request, data=data)))

        return await call.execute(execute, FUNCTION_FORMAT)

    return run


def _guard_custom(
    tool: agents.CustomTool, settings: GuardSettings
) -> Callable[[ToolContext[Any], str], Awaitable[Any]]:
    async def invoke(context: ToolContext[Any], text: str) -> Any:
        call = settings.build_call(tool.name, {"input": text}, call_id=context.tool_call_id)

        async def run(tool_input: ToolInput) -> Any:
            return await resolve(tool.on_invoke_tool(context, str(tool_input.get("input", ""))))

        return await call.execute(run, FUNCTION_FORMAT)

    return invoke


class _GuardedEditor:
    """The editor of apply_patch: each operation is a call; moving a file writes in two places, so it is two calls."""

    def __init__(self, editor: agents.ApplyPatchEditor, settings: GuardSettings) -> None:
        self.editor, self.settings = editor, settings

    async def create_file(self, operation: agents.ApplyPatchOperation) -> Any:
        return await self._edit(operation, self.editor.create_file)

    async def update_file(self, operation: agents.ApplyPatchOperation) -> Any:
        return await self._edit(operation, self.editor.update_file)

    async def delete_file(self, operation: agents.ApplyPatchOperation) -> Any:
        return await self._edit(operation, self.editor.delete_file)

    async def _edit(self, operation: agents.ApplyPatchOperation, edit: Callable[..., Any]) -> Any:
        name = "Delete" if operation.type == "delete_file" else "Write"
        original = {"file_path": operation.path, **({"diff": operation.diff} if operation.diff is not None else {})}

        async def apply(tool_input: ToolInput) -> Any:
            changed = dataclasses.replace(
                operation,
                path=str(tool_input.get("file_path", operation.path)),
                diff=tool_input.get("diff", operation.diff),
            )
            if operation.move_to is None:
                return await resolve(edit(changed))
            call = self._build_call("Write", {"file_path": operation.move_to, "moved_from": changed.path})
            return await call.execute(lambda move: resolve(edit(_set_target(changed, move))), _PATCH_FORMAT)

        return await self._build_call(name, original).execute(apply, _PATCH_FORMAT)

    def _build_call(self, name: str, tool_input: ToolInput) -> ToolCall:
        return self.settings.build_call(name, tool_input, FileKind(self.settings.session))


def _set_target(operation: agents.ApplyPatchOperation, tool_input: ToolInput) -> agents.ApplyPatchOperation:
    return dataclasses.replace(operation, move_to=str(tool_input.get("file_path", operation.move_to)))


class _PatchFormat(ResultFormat[Any]):
    """Results of an editor: a result of the SDK, a text, or None."""

    def to_text(self, result: Any) -> str:
        return (result.output if isinstance(result, agents.ApplyPatchResult) else result) or ""

    def get_error(self, result: Any) -> str:
        failed = isinstance(result, agents.ApplyPatchResult) and result.status == "failed"
        return (self.to_text(result) or "the editor gave no reason") if failed else ""

    def build_refusal(self, message: str) -> Any:
        return agents.ApplyPatchResult(status="failed", output=message)

    def replace_output(self, result: Any, output: dict[str, Any]) -> Any:
        return agents.ApplyPatchResult(status=getattr(result, "status", "completed"), output=to_json(output))

    def add_context(self, result: Any, context: str) -> Any:
        output = "\n\n".join(filter(None, (self.to_text(result), context)))
        return agents.ApplyPatchResult(status=getattr(result, "status", "completed"), output=output)


_PATCH_FORMAT = _PatchFormat()


async def resolve(value: Any) -> Any:
    """Await a value if it is awaitable: most callables of the SDK may be sync or async."""
    return await value if inspect.isawaitable(value) else value


def _parse_arguments(arguments: str) -> ToolInput:
    """Parse the arguments that the model wrote. Hooks see invalid JSON as text, and the SDK reports it."""
    try:
        tool_input = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        tool_input = None
    return tool_input if isinstance(tool_input, dict) else {"arguments": arguments}


def _rename_argument(tool_input: ToolInput, old: str, new: str) -> ToolInput:
    """Rename an argument. An argument that has the new name already is dropped: the tool does not run it."""
    if not old or not new or old == new:
        return tool_input
    others = {key: value for key, value in tool_input.items() if key not in {old, new}}
    return {**others, new: tool_input.get(old, "")}
