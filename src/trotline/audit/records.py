"""A record: what is remembered of one answered call.

Nothing in it was written by the agent or by its tools: no command, no path, no message. Those stand in its detail,
which is redacted first. What the host calls things by is in it, and is no longer than a name.
"""

from collections.abc import Callable
from typing import Any

from trotline.findings import SHORT
from trotline.outcomes import Outcome, Run, Voice
from trotline.pattern import pattern

SCHEMA = "trotline.record/1"
DETAIL = "trotline.detail/1"
"""What stands first in a record, and in the words that are kept beside one."""
MOST_FINDINGS = 50
LONGEST_NAME = 256
PLAIN = pattern(
    r"(?=.{0,64}\Z)(?!.*(?:live|secret|token|pass|key|gl[a-z]{2,6}-))(?:MCP:)?"
    r"(?:(?:(?:[a-z]{1,12}(?:MCP)?|MCP|[A-Z][a-z]{2,11})(?:[A-Z][a-z]{2,11}){0,3}[0-9]{0,3}|[0-9]{1,3})(?:[-_]{1,2}|\Z)){1,8}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|"
)
"""Names that are made of words, in which no scanner of ours finds anything: most calls have no others, and need not
wait for one. What a person's own rules find may be made of words as well."""

Named = Callable[[str], str]
"""Gives the form in which a name is kept."""

HOOK, HOST = "hook", "host"
"""The two seats: a host called us, or we called hooks for an agent."""


def record_of(outcome: Outcome, host: str, micros: int, named: Named, seat: str = HOOK) -> dict[str, Any]:
    """The record of an Outcome, the same from either seat."""
    event = outcome.event
    decision, sent = outcome.decision, outcome.sent
    asked = decision.permission.word
    return {
        "schema": SCHEMA,
        "id": outcome.call.id,
        "at_us": outcome.call.received_us,
        "seat": seat,
        "host": host,
        "event": named(event.wire_name),
        "conversation": named(event.conversation_id),
        "generation": named(event.generation_id),
        "tool": named(getattr(event, "tool_name", "")),
        "payload_bytes": len(outcome.call.payload),
        "asked": asked,
        "sent": asked if not sent or sent["permission"] is decision.permission else sent["permission"].word,
        "edited": decision.verdict.edited_input is not None,
        "deciders": list(decision.deciders),
        "voices": [_voice(voice) for voice in outcome.voices],
        "findings": [
            [found.scanner, found.kind, found.certainty, found.digest[:SHORT], found.place.line]
            for found in outcome.findings[:MOST_FINDINGS]
        ],
        "losses": [[loss.what, loss.why] for loss in outcome.losses],
        "monitored": outcome.monitored,
        "withheld": list(outcome.withheld),
        "alarms": len(outcome.alarms),
        "sent_exit": sent["exit_code"] if sent else 0,
        "sent_bytes": len(sent["stdout"]) if sent else 0,
        "micros": micros,
    }


def _voice(voice: Voice) -> dict[str, Any]:
    return {
        "author": voice.author,
        "layer": voice.layer,
        "said": voice.verdict.permission.word,
        "noted": bool(voice.notes),
        "failure": voice.failure.kind if voice.failure else None,
        "micros": voice.micros,
    }


def with_exits(record: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Beside each voice that had a process: how that ended."""
    pairs = zip(record["voices"], outcome.voices, strict=True)
    voices = [{**said, "exit": voice.exit_code} if isinstance(voice, Run) else said for said, voice in pairs]
    return {**record, "voices": voices}
