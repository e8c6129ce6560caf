"""A record: what is remembered of one answered call.

Nothing in it was written by the agent or by its tools: no command, no path, no message. Those will be remembered when
they can be redacted; until then they are not written anywhere.
"""

from typing import Any

from trotline.outcomes import Outcome

SCHEMA = "trotline.record/1"


def record_of(outcome: Outcome, host: str, micros: int) -> dict[str, Any]:
    """The record of an Outcome in the hook's seat."""
    event = outcome.event
    return {
        "schema": SCHEMA,
        "id": outcome.call.id,
        "at_us": outcome.call.received_us,
        "host": host,
        "event": event.wire_name,
        "conversation": event.conversation_id,
        "generation": event.generation_id,
        "tool": getattr(event, "tool_name", ""),
        "payload_bytes": len(outcome.call.payload),
        "asked": outcome.decision.permission.word,
        "deciders": list(outcome.decision.deciders),
        "voices": [
            {
                "author": voice.author,
                "said": voice.verdict.permission.word,
                "failure": voice.failure.kind if voice.failure else None,
                "micros": voice.micros,
            }
            for voice in outcome.voices
        ],
        "losses": [[loss.what, loss.why] for loss in outcome.losses],
        "alarms": len(outcome.alarms),
        "sent_exit": outcome.sent.get("exit_code", 0),
        "sent_bytes": len(str(outcome.sent.get("stdout", ""))),
        "micros": micros,
    }
