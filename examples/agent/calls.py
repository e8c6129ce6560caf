"""One tool call, from the model's wish to what the model reads: asked, done, told.

Generic events stand around the tool's own: preToolUse, beforeShellExecution, the command, afterShellExecution,
postToolUse. A call that was refused, failed or took too long ends in postToolUseFailure instead.
"""

import json
import time
from typing import NamedTuple

from agent.hand import Done, Hand, Refused
from agent.model import ToolCall
from agent.tools import Tool, text_of
from agent.transcript import with_context
from trotline import Outcome


class Failed(NamedTuple):
    """Why a tool has nothing to show, in the words of the event and in those for the model."""

    kind: str
    why: str
    told: str
    is_interrupt: bool = False


def perform(hand: Hand, tool: Tool, call: ToolCall) -> str:
    """What the model is told about its call."""
    call = call._replace(input=tool.whole(call.input, hand.workspace))
    before = hand.session.pre_tool_use(call.name, call.input, tool_use_id=call.id, cwd=str(hand.workspace.root))
    if before.edited_input is not None:
        call = call._replace(input=tool.whole(before.edited_input, hand.workspace))
    begun = time.monotonic()
    ended = _attempt(hand, tool, call, before)
    milliseconds = (time.monotonic() - begun) * 1000
    if isinstance(ended, Failed):
        after = _raise_failure(hand, call, ended, milliseconds)
        return with_context(ended.told, before.context, after.context)
    after = hand.session.post_tool_use(
        call.name,
        call.input,
        json.dumps(ended.record),
        tool_use_id=call.id,
        cwd=str(hand.workspace.root),
        duration=milliseconds,
    )
    told = ended.text if after.replaced_output is None else text_of(after.replaced_output)
    return with_context(told, before.context, after.context)


def _attempt(hand: Hand, tool: Tool, call: ToolCall, before: Outcome) -> Done | Failed:
    """The tool's work, if nobody minds. Whatever a tool raises is for the model to read, and ends nothing."""
    try:
        hand.pass_gate(before)
        return tool.run(hand, call)
    except Refused as refusal:
        return Failed("permission_denied", str(refusal), f"Refused: {refusal}")
    except TimeoutError as error:
        return Failed("timeout", str(error), f"Timed out: {error}")
    except KeyboardInterrupt:
        _raise_failure(hand, call, Failed("error", "interrupted by the person", "", is_interrupt=True), 0)
        raise
    except Exception as error:  # noqa: BLE001 - see above
        why = str(error) or type(error).__name__
        return Failed("error", why, f"Failed: {why}")


def _raise_failure(hand: Hand, call: ToolCall, failed: Failed, milliseconds: float) -> Outcome:
    return hand.session.post_tool_use_failure(
        call.name,
        call.input,
        failed.why,
        failure_type=failed.kind,
        tool_use_id=call.id,
        cwd=str(hand.workspace.root),
        is_interrupt=failed.is_interrupt,
        duration=0 if failed.kind == "permission_denied" else milliseconds,
    )
