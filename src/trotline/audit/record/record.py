"""The record of one call and its detail: the only declaration of their fields, and the values derived from them.

The audit log stores both as JSON objects. `record_reader` decodes them into these types, and `record_schema` builds
JSON schemas from them. Fields of later versions are not declared here; they stay in `Record.body`.

A detail may come later than its record, or never. Executions and edits count once, even if an agent reports them with
several events.
"""

import json
import re
import uuid
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent
from trotline.audit.record.record_builder import DETAIL_SCHEMA, ENGINE_SIDE, HOOK_SIDE, RECORD_SCHEMA
from trotline.audit.record.subjects import (
    DEFAULT_SUBJECT_FIELDS,
    PATH_FIELDS,
    SUBJECT_FIELDS,
    SUBJECT_SEPARATOR,
    WRITE_TOOL,
)
from trotline.config.detail_levels import FULL, MINIMAL, STANDARD
from trotline.domain.effects import Certainty
from trotline.domain.hooks import split_mcp_name

MAX_TIME_US = 1 << 54
"""Upper limit for times, in the year 2540: later ones do not fit into a 64-bit number of nanoseconds."""

MAX_COLUMN = 4_096
"""Maximum characters of a database or CSV column."""

MAX_RESULT = 1_000_000
"""Maximum characters of an MCP result that are searched for an error flag, so that a long result costs little time."""

Count = Annotated[int, Meta(ge=0, lt=MAX_TIME_US)]
PermissionWord = Annotated[str, Meta(extra_json_schema={"enum": ["none", "allow", "ask", "deny"]})]
"""A permission; readers accept any word, because later versions may add some."""

Level = Annotated[str, Meta(extra_json_schema={"enum": [MINIMAL, STANDARD, FULL]})]
Side = Annotated[str, Meta(extra_json_schema={"enum": [HOOK_SIDE, ENGINE_SIDE]})]


class RecordedResponse(msgspec.Struct, kw_only=True):
    """The response of a hook, guard or rule."""

    author: Annotated[str, Meta(description="the hook, guard or rule")]
    layer: Annotated[str, Meta(description="guard, agent, user, project, team or enterprise")] = ""
    permission: PermissionWord = "none"
    has_notes: Annotated[bool, Meta(description="whether it has notes, which are recorded and not sent")] = False
    failure: Annotated[str | None, Meta(description="why it gave no verdict")] = None
    micros: Annotated[Count, Meta(description="duration in microseconds")] = 0
    exit: Annotated[int | None, Meta(description="exit code of its process")] = None


class RecordedFinding(msgspec.Struct, array_like=True):
    """A finding of a scanner in a text. The digest is an HMAC of the text found."""

    scanner: str
    kind: str
    certainty: str = ""
    digest: str = ""
    line: int | None = None


class RecordedLoss(msgspec.Struct, array_like=True):
    """A part of the decision that the agent does not support, and the reason."""

    part: str
    why: str = ""


class EffectFields(msgspec.Struct, kw_only=True):
    """The fields of an effect that are not always set."""

    host: Annotated[str, Meta(description="machine, registry or cluster")] = ""
    target: Annotated[str, Meta(description="object without a path, or object on the host")] = ""
    package: Annotated[str, Meta(description="package URL, or database")] = ""
    source: Annotated[str, Meta(description="where the data comes from")] = ""
    why: Annotated[str, Meta(description="why the effect is not known exactly")] = ""
    writes: bool = False
    recursive: bool = False
    certainty: Annotated[
        str, Meta(description="absent if known", extra_json_schema={"enum": [*map(str, Certainty)]})
    ] = ""


class RecordedEffect(msgspec.Struct, array_like=True):
    """An effect: its kind, verb and object (path, host or target), and its other fields."""

    kind: str
    verb: str
    object: str
    more: EffectFields = msgspec.field(default_factory=EffectFields)

    @property
    def path(self) -> str:
        """The object, if it is a path."""
        return "" if self.object in (self.more.host, self.more.target) else self.object


class RecordedReason(msgspec.Struct, array_like=True):
    """The reason that an author gave."""

    author: str
    text: str


class SkippedHook(msgspec.Struct, array_like=True):
    """A hook that did not run."""

    id: str
    line: str
    why: str


class RecordedAttachment(msgspec.Struct, array_like=True):
    """A file or rule attached to a prompt."""

    type: str
    path: str


class LineCounts(msgspec.Struct, array_like=True):
    """The numbers of lines that an edit adds and removes."""

    path: str
    added: Count
    removed: Count


class RecordedDiff(msgspec.Struct, array_like=True):
    """The diff of an edit."""

    path: str
    text: str


Invalid = Annotated[dict[str, Any], Meta(description="original values of fields with an invalid value")]


class Detail(msgspec.Struct, kw_only=True):
    """The redacted texts of a call and its response."""

    schema: Annotated[str, Meta(description="schema and version", extra_json_schema={"const": DETAIL_SCHEMA})] = (
        DETAIL_SCHEMA
    )
    id: Annotated[str, Meta(description="id of the record")] = ""
    payload: Annotated[
        dict[str, Any] | str | UnsetType, Meta(description="payload of the agent, without secrets and personal data")
    ] = UNSET
    subject: Annotated[
        dict[str, Any], Meta(description="command, file or prompt, if the payload has other names for them")
    ] = {}
    reasons: Annotated[list[RecordedReason], Meta(description="author and reason")] = []
    warnings: Annotated[list[str], Meta(description="faults in the responses of hooks")] = []
    hooks: Annotated[dict[str, str], Meta(description="configured lines of hooks, by author")] = {}
    not_run: Annotated[list[SkippedHook], Meta(description="hooks that did not run: id, line, reason")] = []
    effects: Annotated[
        list[RecordedEffect],
        Meta(description="effects of the action: kind, verb, object (path, host or target), other fields by name"),
    ] = []
    attachments: Annotated[list[RecordedAttachment], Meta(description="attachments of a prompt: type, path")] = []
    lines: Annotated[
        list[LineCounts] | UnsetType, Meta(description="edits: path, number of lines added and removed")
    ] = UNSET
    diffs: Annotated[list[RecordedDiff], Meta(description="edits: path, diff; only at level full")] = []
    sizes: Annotated[dict[str, Any], Meta(description="texts by field: characters, HMAC; only at level minimal")] = {}
    measures: Annotated[dict[str, Any], Meta(description="tokens, times, exit code, and how the call ended")] = {}
    level: Annotated[Level, Meta(description="detail level")] = ""
    machine: Annotated[str, Meta(description="name of the machine")] = ""
    user: Annotated[str, Meta(description="name of the user")] = ""
    version: Annotated[str, Meta(description="version of the agent")] = ""
    missing: Annotated[str, Meta(description="why the rest of the detail is missing")] = ""
    reply: Annotated[str, Meta(description="reply in the agent's format")] = ""
    redacted: Annotated[list[str], Meta(description="kinds of values that were redacted")] = []
    action: Annotated[str, Meta(description="id that pairs the events before and after one action")] = ""
    related: Annotated[
        list[str], Meta(description="ids of related actions: edits, a subagent, the prompt of the turn")
    ] = []
    invalid: Invalid = {}

    @property
    def subject_paths(self) -> list[str]:
        """The files of a patch and of edits. At the minimal level they are digests, and the list is empty."""
        if self.level == MINIMAL:
            return []
        paths = self.subject.get("paths")
        named = paths if isinstance(paths, list) else []
        edited = [] if self.lines is UNSET else [counts.path for counts in self.lines]
        return list(dict.fromkeys(path for path in (*named, *edited) if isinstance(path, str)))


NO_DETAIL = Detail()

PROOF_CONVERSATION = "trotline-prove"
REPLAY_CONVERSATION = "trotline-replay"
SELF_TEST_CONVERSATION = re.compile(r"trotline-(?:doctor|prove|replay)(?:-[0-9a-f]{12})?")
"""Conversations of self-tests have reserved names, because their records are not the work of an agent."""

BEFORE_MCP, AFTER_MCP = "beforeMCPExecution", "afterMCPExecution"
BEFORE_TOOL, AFTER_TOOL, FAILED_TOOL = "preToolUse", "postToolUse", "postToolUseFailure"
EXECUTION_EVENTS = {"afterShellExecution": "Shell", AFTER_MCP: "", AFTER_TOOL: "", FAILED_TOOL: ""}
"""Events that report an executed tool, with the tool name for events that contain none."""

EDIT_AUTHORS = {"afterFileEdit": "agent", "afterTabFileEdit": "tab"}
UNKNOWN_FILE = "(not kept)"
"""File name of an edit whose path is not kept."""

RESULT_FIELDS = ("result_json", "tool_output", "tool_response")
MCP_ERROR = "tool_error"
OTHER_ERROR = "_OTHER"
"""Error types of the OpenTelemetry semantic conventions."""

PERMISSION_DENIED = "permission_denied"
"""Failure type that Cursor sends if a tool did not run because it was denied."""

WOULD_PREFIX = "would_"


class FileEdit(NamedTuple):
    """A file with its numbers of added and removed lines."""

    path: str
    added: int
    removed: int


class Record(msgspec.Struct, kw_only=True, dict=True):
    """The record of one answered call."""

    schema: Annotated[str, Meta(description="schema and version", extra_json_schema={"const": RECORD_SCHEMA})] = (
        RECORD_SCHEMA
    )
    seq: Annotated[Count, Meta(description="number in the audit log; records are ordered by it")] = 0
    id: Annotated[str, Meta(min_length=1, max_length=128, description="id of the call")]
    at_us: Annotated[Count, Meta(description="time of the call, in microseconds since 1970, UTC")]
    side: Annotated[
        Side, Meta(description="hook: an agent called our hook; engine: our engine called hooks for an agent")
    ] = ""
    agent: Annotated[str, Meta(description="name of the agent")]
    event: Annotated[str, Meta(description="name of the event")]
    conversation: Annotated[str, Meta(description="the agent's id of the conversation")] = ""
    generation: Annotated[str, Meta(description="the agent's id of the turn")] = ""
    tool: Annotated[str, Meta(description="the tool, if the event has one")] = ""
    payload_bytes: Annotated[Count, Meta(description="length of the payload")] = 0
    decided: Annotated[PermissionWord, Meta(description="permission that was decided")]
    sent: Annotated[
        PermissionWord,
        Meta(description="permission that was sent: an agent may not support the decided one; see detail.reply"),
    ] = ""
    observed: Annotated[
        list[int] | UnsetType,
        Meta(description="seq of records that report the action as done; added when read, absent without an action"),
    ] = UNSET
    edited: Annotated[bool, Meta(description="whether a hook rewrote the input")] = False
    deciders: Annotated[list[str], Meta(description="authors of the decision")] = []
    responses: Annotated[list[RecordedResponse], Meta(description="all responses")] = []
    findings: Annotated[
        list[RecordedFinding], Meta(description="findings in texts: scanner, kind, certainty, HMAC, line")
    ] = []
    losses: Annotated[
        list[RecordedLoss], Meta(description="parts of the decision that the agent does not support: part, reason")
    ] = []
    monitored: Annotated[bool, Meta(description="whether the decision was not enforced (monitor mode)")] = False
    withheld: Annotated[
        list[str], Meta(description="parts of the decision (permission, context, ...) that monitor mode did not send")
    ] = []
    alarms: Annotated[Count, Meta(description="number of alarms")] = 0
    sent_exit: Annotated[int, Meta(description="exit code of the reply")] = 0
    sent_bytes: Annotated[Count, Meta(description="length of the reply")] = 0
    micros: Annotated[Count, Meta(description="duration of the call, in microseconds")] = 0
    detail: Annotated[Detail | UnsetType, Meta(description="redacted texts; absent if missing or not yet written")] = (
        UNSET
    )
    invalid: Invalid = {}

    @cached_property
    def texts(self) -> tuple[str, str | None]:
        """The JSON of the record and of its detail, as they are stored."""
        return msgspec.json.encode(self).decode(), None

    @cached_property
    def body(self) -> dict[str, Any]:
        """The record and its detail as a JSON object, including the fields of later versions.

        It is decoded on first use, because most readers only need the declared fields.
        """
        record, detail = self.texts
        return decode_body(record) | ({} if detail is None else {"detail": decode_body(detail)})

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a JSON object with the fields that are added when it is read."""
        observed = {} if self.observed is UNSET else {"observed": self.observed}
        return {**self.body, "seq": self.seq, **observed}

    @property
    def has_detail(self) -> bool:
        """True if the detail has been written."""
        return self.detail is not UNSET

    @property
    def detail_or_empty(self) -> Detail:
        """The detail, or an empty one."""
        return NO_DETAIL if self.detail is UNSET else self.detail

    @property
    def payload(self) -> dict[str, Any]:
        """The redacted payload, or an empty dict if it is not kept."""
        payload = self.detail_or_empty.payload
        return payload if isinstance(payload, dict) else {}

    @cached_property
    def measures(self) -> dict[str, Any]:
        """The payload fields and the measures; measures are kept even without the payload."""
        return {**self.payload, **self.detail_or_empty.measures}

    @cached_property
    def effective_verdict(self) -> str:
        """The verdict that took effect.

        An "ask" that the agent does not support was sent as "deny" and counts as such. A verdict that was withheld in
        monitor mode did not take effect and has the prefix `would_`.
        """
        if self.sent == "deny":
            return "deny"
        return f"{WOULD_PREFIX}{self.decided}" if self.decided in self.withheld else self.decided

    @property
    def is_self_test(self) -> bool:
        """True if the call was made by Trotline to test the hooks, and not by an agent."""
        return SELF_TEST_CONVERSATION.fullmatch(self.conversation) is not None

    @cached_property
    def is_mcp(self) -> bool:
        """True for an MCP call, by its event or its tool name."""
        return self.event in (BEFORE_MCP, AFTER_MCP) or bool(split_mcp_name(self.tool)[1])

    @property
    def mcp_call(self) -> tuple[str, str]:
        """Server and tool of an MCP call, or two empty strings for any other call."""
        server, tool = split_mcp_name(self.tool)
        if tool or not self.is_mcp:
            return server, tool
        for effect in self.detail_or_empty.effects:
            if effect.kind == "mcp" and effect.object.endswith(f":{self.tool}"):
                return effect.object[: -len(self.tool) - 1], self.tool
        return str(self.payload.get("mcp_server_name") or self.payload.get("server") or ""), self.tool

    @property
    def tool_name(self) -> str:
        """The name of the tool, without the server for MCP tools."""
        return split_mcp_name(self.tool)[1] or self.tool or EXECUTION_EVENTS.get(self.event, "")

    @property
    def command(self) -> str:
        """The shell command; a patch and the command that starts an MCP server do not count as one."""
        return "" if self.tool == WRITE_TOOL or self.is_mcp else self.find_text("command")

    @property
    def subject(self) -> str:
        """The MCP tool, command, file, prompt or last message that the call was about."""
        names = SUBJECT_FIELDS.get(self.event, DEFAULT_SUBJECT_FIELDS)
        return clean_text(self._mcp_subject or self._written_paths or self.find_first_text(names))

    @property
    def _mcp_subject(self) -> str:
        server, tool = self.mcp_call
        if server or not tool:
            return f"{server}:{tool}" if tool else ""
        started = self.find_first_text(("command", "url")) if self.event == BEFORE_MCP else ""
        return f"{tool} ({started})" if started else tool

    @property
    def _written_paths(self) -> str:
        if self.tool != WRITE_TOOL:
            return ""
        return self.find_first_text(PATH_FIELDS) or SUBJECT_SEPARATOR.join(self.detail_or_empty.subject_paths)

    def find_text(self, name: str) -> str:
        """Return a field of the subject, of the payload or of its tool input as text, or an empty string."""
        tool_input = self.payload.get("tool_input")
        for fields in (self.detail_or_empty.subject, self.payload, tool_input if isinstance(tool_input, dict) else {}):
            if value := fields.get(name):
                return SUBJECT_SEPARATOR.join(map(str, value)) if isinstance(value, list) else str(value)
        return ""

    def find_first_text(self, names: tuple[str, ...]) -> str:
        """Return the first of these fields that has a text."""
        return next((text for name in names if (text := self.find_text(name))), "")

    def name_author(self, author: str) -> str:
        """Return the configured line of a hook, or the name of another author."""
        return self.detail_or_empty.hooks.get(author, author)

    @property
    def decider_names(self) -> list[str]:
        """The names of the authors of the decision."""
        return [self.name_author(author) for author in self.deciders]

    @property
    def sends_paired_events(self) -> bool:
        """True if the agent raises specific events for commands, edits and MCP calls beside the generic ones.

        Unknown agents count as doing so.
        """
        return self.agent not in AGENTS or get_agent(self.agent).raises_paired_events

    @cached_property
    def is_execution(self) -> bool:
        """True if this record is the one to count for an executed tool.

        Some agents raise a specific event for a command or an MCP call in addition to the generic tool event, and each
        execution counts once. For commands the generic event counts, because only it reports how the command ended.
        """
        denied = self.event == FAILED_TOOL and self.measures.get("failure_type") == PERMISSION_DENIED
        if self.event not in EXECUTION_EVENTS or denied:
            return False
        agent = get_agent(self.agent) if self.agent in AGENTS else None
        if agent is None or not agent.raises_paired_events:
            return True
        if self.event == "afterShellExecution":
            return not self._is_reported_twice(agent)
        if self.event == AFTER_TOOL and self.tool == "Shell":
            return self._is_reported_twice(agent)
        return self.event != AFTER_TOOL or not self.is_mcp

    def _is_reported_twice(self, agent: Agent) -> bool:
        """Check whether this agent version also raises postToolUse. Versions without it did not send their version."""
        version = self.detail_or_empty.version
        return bool(version) and agent.wiring is not None and AFTER_TOOL in agent.wiring.get_known_events(version)

    @property
    def failure(self) -> str:
        """The error type of an executed tool; empty if it succeeded or the result is unknown."""
        measures = self.measures
        if self.event not in EXECUTION_EVENTS:
            return ""
        if self.event == FAILED_TOOL:
            return str(measures.get("failure_type") or OTHER_ERROR)
        if self.is_mcp and any(_is_mcp_error(measures.get(name)) for name in RESULT_FIELDS):
            return MCP_ERROR
        if measures.get("failed") is True:  # the result is not kept, or the agent reports errors differently
            return MCP_ERROR if self.is_mcp else OTHER_ERROR
        status = measures.get("exit")
        return OTHER_ERROR if isinstance(status, int) and status else ""

    @property
    def edits(self) -> list[FileEdit]:
        """The edited files with their line counts, if this record is the one to count for the edit."""
        if not self._reports_edit:
            return []
        path = self.payload.get("file_path")
        unknown = FileEdit(clean_text(path) if path and isinstance(path, str) else UNKNOWN_FILE, 0, 0)
        return self._sum_lines() or [unknown]

    @property
    def planned_edits(self) -> list[FileEdit]:
        """The planned edits of a preToolUse record, if only that event has the line counts.

        Only the event after it tells whether the file is new.
        """
        is_write = self.event == BEFORE_TOOL and self.tool == WRITE_TOOL and self.effective_verdict != "deny"
        return self._sum_lines() if is_write and self.sends_paired_events else []

    @property
    def creates_file(self) -> bool:
        """True if the record reports a new file: Cursor then sends no edits."""
        return self.event in EDIT_AUTHORS and self.detail_or_empty.lines == []

    @property
    def _reports_edit(self) -> bool:
        if self.event in EDIT_AUTHORS:
            return True
        is_write = self.event == AFTER_TOOL and self.tool == WRITE_TOOL
        return is_write and not self.detail_or_empty.measures.get("failed") and not self.sends_paired_events

    def _sum_lines(self) -> list[FileEdit]:
        sums: dict[str, FileEdit] = {}
        is_named = self.detail_or_empty.level != MINIMAL  # at level minimal, paths are digests
        lines = self.detail_or_empty.lines
        for counts in () if lines is UNSET else lines:
            path = clean_text(counts.path) if is_named else UNKNOWN_FILE
            _, added, removed = sums.get(path, FileEdit(path, 0, 0))
            sums[path] = FileEdit(path, added + counts.added, removed + counts.removed)
        return list(sums.values())

    def list_search_texts(self) -> Iterator[str]:
        """Yield the names in the record and the texts of its detail, for full-text search."""
        detail = self.body.get("detail")
        fields = detail if isinstance(detail, dict) else {}
        waiting = [fields.get(name) for name in reversed(SEARCHED_DETAIL_FIELDS)]
        waiting += [self.body.get(name) for name in reversed(SEARCHED_FIELDS)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                waiting += reversed(value.values())
            elif isinstance(value, list):
                waiting += reversed(value)


SEARCHED_FIELDS = ("event", "agent", "tool", "deciders", "losses")
SEARCHED_DETAIL_FIELDS = (
    "payload",
    "reasons",
    "warnings",
    "effects",
    "reply",
    "hooks",
    "attachments",
    "diffs",
    "measures",
)


def decode_body(body: str) -> dict[str, Any]:
    """Return the object of a JSON body."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        # msgspec rejects lone surrogates, which agents may send. NaN becomes a string: other readers reject it.
        return dict(json.loads(body, parse_constant=str))


def new_test_conversation() -> str:
    """Return a unique conversation name for one `doctor` run, to find its records again."""
    return f"trotline-doctor-{uuid.uuid4().hex[:12]}"


def clean_text(value: Any, limit: int = MAX_COLUMN) -> str:
    """Return a value as text that a database accepts.

    Lone surrogates, which JSON allows, cannot be encoded, and a NUL character would end the text.
    """
    return str(value if value is not None else "")[:limit].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _is_mcp_error(result: Any) -> bool:
    """Return whether an MCP result, as an object or as JSON, says `isError`."""
    if isinstance(result, str) and "isError" in result[:MAX_RESULT]:
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return False
    return isinstance(result, dict) and result.get("isError") is True
