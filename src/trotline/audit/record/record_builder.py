"""Build the record of an answered call.

A record contains no text from the agent or its tools: no command, path or message. Those are in its detail, which is
redacted first. It does contain the agent's names for tools and conversations, limited in length.
"""

from collections.abc import Callable
from typing import Any

from trotline.domain.findings import SHOWN_DIGEST_DIGITS
from trotline.domain.outcomes import Outcome, Response, Run
from trotline.formats.lazy_regex import lazy_regex

RECORD_SCHEMA = "trotline.record/2"
DETAIL_SCHEMA = "trotline.detail/2"
"""Values of the `schema` field of records and details."""
MAX_FINDINGS = 50
MAX_NAME = 256
PLAIN_NAME = lazy_regex(
    r"(?=.{0,64}\Z)(?!.*(?:live|secret|token|pass|key|gl[a-z]{2,6}-))(?:MCP:)?"
    r"(?:(?:(?:[a-z]{1,12}(?:MCP)?|MCP|[A-Z][a-z]{2,11})(?:[A-Z][a-z]{2,11}){0,3}[0-9]{0,3}|[0-9]{1,3})(?:[-_]{1,2}|\Z)){1,8}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|"
)
"""Names made of plain words, in which the built-in scanners find nothing.

Most calls have only such names and need no scan. Do not use it if the user has their own rules: those may match words.
"""

NameFilter = Callable[[str], str]
"""A function that returns the form of a name that records keep."""

HOOK_SIDE, ENGINE_SIDE = "hook", "engine"
"""Values of the `side` field: an agent called our hook, or our engine called hooks for an agent."""


def build_record(
    outcome: Outcome, agent: str, micros: int, redact_name: NameFilter, side: str = HOOK_SIDE
) -> dict[str, Any]:
    """Return the record of an outcome. Hook side and engine side use the same format."""
    event = outcome.event
    decision, sent = outcome.decision, outcome.sent
    decided = decision.permission.word
    return {
        "schema": RECORD_SCHEMA,
        "id": outcome.call.id,
        "at_us": outcome.call.received_us,
        "side": side,
        "agent": agent,
        "event": redact_name(event.wire_name),
        "conversation": redact_name(event.conversation_id),
        "generation": redact_name(event.generation_id),
        "tool": redact_name(getattr(event, "tool_name", "")),
        "payload_bytes": len(outcome.call.payload),
        "decided": decided,
        "sent": decided if not sent or sent["permission"] is decision.permission else sent["permission"].word,
        "edited": decision.verdict.edited_input is not None,
        "deciders": list(decision.deciders),
        "responses": [_build_response(response) for response in outcome.responses],
        "findings": [
            [found.scanner, found.kind, found.certainty, found.digest[:SHOWN_DIGEST_DIGITS], found.place.line]
            for found in outcome.findings[:MAX_FINDINGS]
        ],
        "losses": [[loss.what, loss.why] for loss in outcome.losses],
        "monitored": outcome.monitored,
        "withheld": list(outcome.withheld),
        "alarms": len(outcome.alarms),
        "sent_exit": sent["exit_code"] if sent else 0,
        "sent_bytes": len(sent["stdout"]) if sent else 0,
        "micros": micros,
    }


def _build_response(response: Response) -> dict[str, Any]:
    return {
        "author": response.author,
        "layer": response.layer,
        "permission": response.verdict.permission.word,
        "has_notes": bool(response.notes),
        "failure": response.failure.kind if response.failure else None,
        "micros": response.micros,
    }


def add_exit_codes(record: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Return the record with the exit code of each response that came from a process."""
    pairs = zip(record["responses"], outcome.responses, strict=True)
    responses = [
        {**recorded, "exit": response.exit_code} if isinstance(response, Run) else recorded
        for recorded, response in pairs
    ]
    return {**record, "responses": responses}
