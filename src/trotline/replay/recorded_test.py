"""Write a pytest test from a recorded call.

The call is played as the test will play it: by a fake agent with Trotline's guards and the policies in force. If the
decision differs, there is no test. Text of agents appears in Python literals only.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from trotline.agents.cursor.payloads import write_event
from trotline.audit.record.record import Record
from trotline.config.policies import parse_policy
from trotline.domain.errors import TrotlineError
from trotline.replay.recorded_call import IGNORED_FIELDS, RecordedCall, normalize_root, replace_paths
from trotline.templates.template_files import render_template
from trotline.testing.fake_agent import FakeAgent, HookFailed

ENVELOPE = IGNORED_FIELDS | {"workspace_roots", "cursor_version", "model", "model_id", "model_params", "raw"}
USED_BY_RULES = ("user_email", "model")
AGENT_VARIABLE = re.compile(r"(?<![.\w'\"])agent\b")
MAX_LINE = 110
MAX_NAME = 60
NAME_SUFFIXES = {"deny": "is_denied", "ask": "is_asked_about", "allow": "is_allowed", "none": "is_let_through"}
ASSERTIONS = {"deny": "outcome.is_denied", "ask": "outcome.is_asked"}
NAMING_FIELDS = ("command", "file_path", "prompt", "tool_name")
REDACTED = "redacted: "


class EventCall(NamedTuple):
    """An event of a test: its name and the fields that are passed."""

    event: str
    fields: dict[str, Any]


class RecordedTest(NamedTuple):
    """The content of a test: earlier events, the tested event, policies, and the expected decision."""

    earlier: tuple[EventCall, ...]
    raised: EventCall
    policies: Mapping[str, str]
    permission: str
    authors: tuple[str, ...] = ()  # named in the message
    redacted: tuple[str, ...] = ()
    seq: int = 0
    agent: str = ""
    day: str = ""

    def build_name(self, places: Mapping[str, str]) -> str:
        """Return a name that contains the decision and is independent of the directories of the fake agent."""
        text = next(_list_texts(self.raised.fields), self.raised.event)
        for place in sorted(places, key=len, reverse=True):
            text = text.replace(place, places[place].rpartition(".")[2])
        words = "_".join(re.findall(r"[a-z0-9]+", text.lower()))[:MAX_NAME].strip("_")
        return f"test_{words or 'it'}_{NAME_SUFFIXES[self.permission]}"

    def build_source(self, places: Mapping[str, str]) -> str:
        """Return the Python source; `places` maps directories of the fake agent to expressions."""
        policies = ", ".join(f"{layer}={layer.upper()}" for layer in self.policies)
        body = [f"    agent.enable_guards({policies})"]
        for event in self.earlier:
            body += _build_fire(event, "", places)
        body += _build_fire(self.raised, "outcome = ", places)
        body += [f"    # {line}" for line in self.redacted]
        body += [f"    assert {ASSERTIONS.get(self.permission, 'not outcome.is_denied and not outcome.is_asked')}"]
        body += [f"    assert {build_literal(name)} in outcome.user_message" for name in self.authors]
        constants = [f"{layer.upper()} = {build_literal(text)}" for layer, text in self.policies.items()]
        return render_template(
            "recorded_test.txt",
            seq=str(self.seq),
            agent=_clean_for_docstring(self.agent),
            event=_clean_for_docstring(self.raised.event),
            day=self.day,
            permission=self.permission,
            by=", ".join(map(_clean_for_docstring, self.authors)) or "no guard",
            constants="".join(f"\n{line}\n" for line in constants),
            name=self.build_name(places),
            body="\n".join(body),
        )


class WrittenTest(NamedTuple):
    """A test with its name and source."""

    test: RecordedTest
    name: str
    source: str


def build_test(
    record: Record, calls: Sequence[RecordedCall], day: str, home: Path, policies: Mapping[str, str]
) -> WrittenTest:
    """Build the test of the last of these calls; the others are earlier calls of its conversation."""
    last = calls[-1]
    redacted = tuple(part for part in last.missing.split("; ") if part.startswith(REDACTED))
    if last.missing and "; ".join(redacted) != last.missing:
        raise TrotlineError(f"no test can be made from record {last.seq}: {last.missing}")
    calls = [*(call for call in calls[:-1] if not call.missing), last]
    permission = record.decided
    authors = _name_authors(record) if permission in {"ask", "deny"} else ()
    with TemporaryDirectory(prefix="trotline-test-") as directory:
        agent = FakeAgent(Path(directory).resolve(), {})
        lean, full = ([_build_event(call, agent, home, full=full) for call in calls] for full in (False, True))
        for number, events in enumerate((lean[-1:], full[-1:], lean, full)):
            agent.conversation_id = f"trial-{number}"
            if _is_decided(agent, events, policies, permission, authors):
                break
        else:
            raise _explain_difference(last, authors, policies)
        test = RecordedTest(
            tuple(events[:-1]), events[-1], policies, permission, authors, redacted, last.seq, last.agent, day
        )
        places = {str(agent.project): "agent.project", str(agent.home): "agent.home"}
        return WrittenTest(test, test.build_name(places), test.build_source(places))


def _name_authors(record: Record) -> tuple[str, ...]:
    """Return the names by which a message names the authors of a decision."""
    return tuple(author if author.startswith(("rule ", "list ")) else f"guard {author}" for author in record.deciders)


def _is_decided(
    agent: FakeAgent, events: Sequence[EventCall], policies: Mapping[str, str], permission: str, authors: Sequence[str]
) -> bool:
    try:
        agent.enable_guards(**policies)
        outcomes = [agent.fire(event.event, **event.fields) for event in events]
    except (HookFailed, TrotlineError):
        return False
    message = outcomes[-1].user_message
    return outcomes[-1].decision.permission.word == permission and all(name in message for name in authors)


def _explain_difference(call: RecordedCall, authors: Sequence[str], policies: Mapping[str, str]) -> TrotlineError:
    parsed = [parse_policy(layer, layer, text.encode("utf-8", "replace"))[0] for layer, text in policies.items()]
    deciding = [rule for policy in parsed for rule in policy.rules if f"rule {rule.name}" in authors]
    rule = next((rule.name for rule in deciding if AGENT_VARIABLE.search(rule.when)), "")
    hint = f"the rule `{rule}` asks for `agent`, and tests have no agent"
    if not rule:
        hint = f"`trotline replay {call.seq}` says whether it would be decided otherwise by now"
    return TrotlineError(f"an agent of a test does not get the same to record {call.seq}", hint=hint)


def _build_event(call: RecordedCall, agent: FakeAgent, home: Path, *, full: bool) -> EventCall:
    """Return the event with all fields that have a value, in the directories of the fake agent."""
    event = call.parse_event()
    body = json.loads(write_event(event))
    left_out = ENVELOPE - (set(USED_BY_RULES) if full else set())
    workspaces = [place for root in event.workspace_roots if (place := normalize_root(root))]
    places = {str(home): str(agent.home), **dict.fromkeys(workspaces, str(agent.project))}
    fields = {
        field.name: replace_paths(body[field.name], places)
        for field in msgspec.structs.fields(type(event))
        if field.name in body
        and field.name not in left_out
        and (field.required or getattr(event, field.name) != field.default)
    }
    return EventCall(event.wire_name, fields)


def _build_fire(event: EventCall, prefix: str, places: Mapping[str, str]) -> list[str]:
    arguments = [build_literal(event.event)]
    arguments += [f"{name}={_build_value(value, places)}" for name, value in event.fields.items()]
    line = f"    {prefix}agent.fire({', '.join(arguments)})"
    if len(line) <= MAX_LINE:
        return [line]
    return [f"    {prefix}agent.fire(", *(f"        {argument}," for argument in arguments), "    )"]


def _build_value(value: Any, places: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return _build_text(value, places)
    if isinstance(value, dict):
        items = (f"{build_literal(str(key))}: {_build_value(child, places)}" for key, child in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_build_value(child, places) for child in value) + "]"
    return repr(value)


def _build_text(text: str, places: Mapping[str, str]) -> str:
    """Return a literal in which directories of the fake agent are expressions."""
    found = [place for place in places if place in text]
    if not found:
        return build_literal(text)
    literal = build_literal(text).replace("{", "{{").replace("}", "}}")
    for place in sorted(found, key=len, reverse=True):
        literal = literal.replace(place, "{" + places[place] + "}")
    return f"f{literal}"


def build_literal(text: str) -> str:
    """Return a Python literal; invisible characters are escaped."""
    is_visible = text.replace("\n", "").replace("\t", "").isprintable()
    return json.dumps(text, ensure_ascii=False) if is_visible else ascii(text)


def _clean_for_docstring(text: str) -> str:
    return "".join(char for char in text if char.isprintable() and char not in '"\\')[:80]


def _list_texts(fields: Mapping[str, Any]) -> Iterator[str]:
    inner = fields.get("tool_input")
    places = [fields, inner if isinstance(inner, dict) else {}]
    return (str(place[name]) for name in NAMING_FIELDS for place in places if isinstance(place.get(name), str))
