"""One tool call, from the request of the model to the text that the model reads.

Generic events surround the tool's own: preToolUse, beforeShellExecution, the command, afterShellExecution,
postToolUse. A call that was refused, failed or took too long ends in postToolUseFailure instead.
"""

import json
import time
from typing import NamedTuple

from agent.model import ToolCall
from agent.tool_context import RefusedError, ToolContext, ToolOutput
from agent.tools import Tool, format_result
from agent.transcript import add_context
from trotline import Outcome, PostToolUse, PostToolUseFailure, PreToolUse


class ToolFailure(NamedTuple):
    """The failure of a tool: its type and message for the event, and the text for the model."""

    failure_type: str
    message: str
    text: str
    is_interrupt: bool = False


def perform_call(context: ToolContext, tool: Tool, call: ToolCall) -> str:
    """Run a tool with its events and return the text for the model."""
    call = call._replace(input=tool.complete_input(call.input, context.workspace))
    before = context.session.fire(
        PreToolUse(tool_name=call.name, tool_input=call.input, tool_use_id=call.id, cwd=str(context.workspace.root))
    )
    if before.edited_input is not None:
        call = call._replace(input=tool.complete_input(before.edited_input, context.workspace))
    start = time.monotonic()
    result = _run_tool(context, tool, call, before)
    milliseconds = (time.monotonic() - start) * 1000
    if isinstance(result, ToolFailure):
        after = _fire_failure(context, call, result, milliseconds)
        return add_context(result.text, before.context, after.context)
    after = context.session.fire(
        PostToolUse(
            tool_name=call.name,
            tool_input=call.input,
            tool_output=json.dumps(result.record),
            tool_use_id=call.id,
            cwd=str(context.workspace.root),
            duration=milliseconds,
        )
    )
    text = result.text if after.replaced_output is None else format_result(after.replaced_output)
    return add_context(text, before.context, after.context)


def _run_tool(context: ToolContext, tool: Tool, call: ToolCall, before: Outcome) -> ToolOutput | ToolFailure:
    """Run the tool if hooks and the person allow it. The model reads every error, and the loop goes on."""
    try:
        context.check_permission(before)
        return tool.run(context, call)
    except RefusedError as refusal:
        return ToolFailure("permission_denied", str(refusal), f"Refused: {refusal}")
    except TimeoutError as error:
        return ToolFailure("timeout", str(error), f"Timed out: {error}")
    except KeyboardInterrupt:
        _fire_failure(context, call, ToolFailure("error", "interrupted by the person", "", is_interrupt=True), 0)
        raise
    except Exception as error:  # noqa: BLE001 - see above
        message = str(error) or type(error).__name__
        return ToolFailure("error", message, f"Failed: {message}")


def _fire_failure(context: ToolContext, call: ToolCall, failed: ToolFailure, milliseconds: float) -> Outcome:
    return context.session.fire(
        PostToolUseFailure(
            tool_name=call.name,
            tool_input=call.input,
            error_message=failed.message,
            failure_type=failed.failure_type,
            tool_use_id=call.id,
            cwd=str(context.workspace.root),
            is_interrupt=failed.is_interrupt,
            duration=0 if failed.failure_type == "permission_denied" else milliseconds,
        )
    )
