"""Payloads of every agent: the event, its conversation, the tool and its input, and no value lost.

The expected values of recordings of real clients come from hosts.md 2 and 5. The payloads in corpus/agent_payloads.json
have the same shapes and cover agents and versions without a recording.
"""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies as our
from kit import build_event, read_corpus, read_rows
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent
from trotline.agents.cursor import payloads as cursor_payloads
from trotline.agents.derived_events import derive_events
from trotline.agents.generated_tables import VARIABLES
from trotline.agents.recognition import recognise_agent
from trotline.agents.translation import read_event, write_event
from trotline.domain.errors import UnreadablePayload
from trotline.domain.event_fields import build_sample
from trotline.domain.events import (
    EVENTS,
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    Event,
    OtherEvent,
    PostToolUse,
    PreToolUse,
    ToolEvent,
)

RECORDINGS_DIRECTORY = Path(__file__).parents[2] / "shared" / "clients" / "agents"
AGENT_BY_FOLDER = {"copilot-cli": "copilot"}

CASES = read_corpus("agent_payloads")
EVENT_NAMES: dict[str, dict[str, str]] = CASES["event_names"]
"""Trotline's name of each event of an agent, from hosts.md 2; an agent that is not listed uses the same names."""


@pytest.mark.parametrize("name", AGENTS)
def test_events_have_the_names_that_the_agent_uses(name: str) -> None:
    assert get_agent(name).events == EVENT_NAMES.get(name, dict(zip(EVENTS, EVENTS, strict=True)))


class RecordedCall(NamedTuple):
    """A call that a real client made."""

    agent: str
    event: str
    body: dict[str, Any]
    environ: dict[str, str]

    @property
    def event_type(self) -> type[Event]:
        """The type of the event according to hosts.md 2."""
        name = EVENT_NAMES[self.agent].get(self.event)
        return EVENTS[name] if name else OtherEvent

    def decode(self) -> Event:
        return read_event(get_agent(self.agent), json.dumps(self.body), self.event)


def read_recordings() -> list[Any]:
    """Read every call once; the recording plugin of OpenCode puts `event.` before some names and reports its start."""
    if not RECORDINGS_DIRECTORY.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the recordings of real clients are not here"))]
    recordings: dict[str, Any] = {}
    for folder in sorted(RECORDINGS_DIRECTORY.iterdir()):
        agent = AGENT_BY_FOLDER.get(folder.name, folder.name)
        for scenario, calls in json.loads((folder / "payloads.json").read_text("utf-8")).items():
            for number, call in enumerate(calls):
                event = call["event"].removeprefix("event.")
                recorded = RecordedCall(agent, event, call["stdin"], call["env_set_by_host"])
                if event != "plugin.init":
                    name = f"{agent}-{scenario}-{number}-{event}"
                    recordings.setdefault(json.dumps(recorded), pytest.param(recorded, id=name))
    return list(recordings.values())


RECORDINGS = read_recordings()


@pytest.mark.parametrize("call", RECORDINGS)
def test_recorded_call_decodes_to_its_event_conversation_and_directory(call: RecordedCall) -> None:
    event = call.decode()
    assert type(event) is call.event_type
    if isinstance(event, OtherEvent):
        assert event.wire_name == call.event
        assert event.raw == call.body
        return
    assert event.conversation_id
    assert f'"{event.conversation_id}"' in json.dumps(call.body)
    assert "turn_id" not in call.body or event.generation_id == call.body["turn_id"]
    assert "prompt_id" not in call.body or event.generation_id == call.body["prompt_id"]
    has_directory = call.agent != "opencode" or call.event == "session.created"
    assert event.workspace_roots == (("/workspace",) if has_directory else ())
    if isinstance(event, ToolEvent):
        assert event.cwd == ("/workspace" if has_directory else "")


COMMANDS = ("echo ran > marker.txt; echo hi-from-shell", "echo oops >&2; exit 3", "cat f.txt")
FILE = "/workspace/f.txt"
SHELLS = {"Bash", "run_shell_command", "bash", "Execute", "terminal", "run_commands"}
READS = {"Read", "read_file", "view", "read", "read_files"}
ECHOES = {"mcp__srv__echo", "mcp_srv_echo", "srv-echo", "srv___echo", "srv_echo", "echo"}
PRINTED_OUTPUT: dict[str, str] = CASES["printed_output"]
"""The beginning of the tool output of the first command, by agent."""


def find_tool_name(body: dict[str, Any]) -> str:
    """Return the agent's name of the tool, from any of its places."""
    inner: list[dict[str, Any]] = [body[key] for key in ("tool_call", "tool_result", "input") if key in body]
    names = [part.get(key) for part in (body, *inner) for key in ("tool_name", "toolName", "name", "tool")]
    return str(next(name for name in names if name))


def is_tool_call(call: RecordedCall | None) -> bool:
    return call is None or call.event_type in {PreToolUse, PostToolUse}


TOOL_CALLS = [case for case in RECORDINGS if is_tool_call(case.values[0])]


@pytest.mark.parametrize("call", TOOL_CALLS)
def test_recorded_tool_call_has_trotline_names_and_paired_events(call: RecordedCall) -> None:
    event = call.decode()
    assert isinstance(event, PreToolUse | PostToolUse)
    tool_input, tool, paired = event.tool_input, find_tool_name(call.body), derive_events(event)
    assert isinstance(tool_input, dict)
    assert [other.conversation_id for other in paired] == [event.conversation_id] * len(paired)
    before = isinstance(event, PreToolUse)
    if tool in SHELLS:
        assert event.tool_name == "Shell"
        assert tool_input["command"] in COMMANDS or "apply_patch" in tool_input["command"]
        assert [(type(other), other.command, other.cwd) for other in paired] == [  # type: ignore[attr-defined]
            (BeforeShell if before else AfterShell, tool_input["command"], event.cwd or ("" if before else None))
        ]
    elif tool in READS or event.tool_name == "Read":
        assert (event.tool_name, tool_input["file_path"]) == ("Read", FILE)
        assert [other.file_path for other in paired if isinstance(other, BeforeReadFile)] == [FILE] * before
    elif tool in ECHOES:
        server = None if call.agent == "openhands" else "srv"
        assert (event.tool_name, tool_input) == (f"MCP:{server}:echo" if server else "MCP:echo", {"text": "hello"})
        (mcp_event,) = paired
        assert isinstance(mcp_event, BeforeMCP if before else AfterMCP)
        assert (mcp_event.tool_name, mcp_event.tool_input, mcp_event.mcp_server_name) == ("echo", tool_input, server)
    else:
        assert event.tool_name == "Write"
        assert [type(other) for other in paired] == [AfterFileEdit] * (not before)
        changes = {"patch": "Add File: f.txt", "content": "alpha\nbeta\n", "old_string": "beta", "new_string": "gamma"}
        present = {key for key, text in changes.items() if text in str(tool_input.get(key))}
        assert present in ({"patch"}, {"content"}, {"old_string", "new_string"})
        assert present == {"patch"} or tool_input["file_path"] == FILE
        assert [other.file_path for other in paired if isinstance(other, AfterFileEdit)] == [FILE] * (not before)
    if isinstance(event, PostToolUse) and tool_input.get("command") == COMMANDS[0]:
        assert event.tool_output.startswith(PRINTED_OUTPUT[call.agent])
        assert [other.output for other in paired if isinstance(other, AfterShell)] == [event.tool_output]
    if isinstance(event, PostToolUse) and tool in ECHOES:
        (result,) = [json.loads(other.result_json) for other in paired if isinstance(other, AfterMCP)]
        assert "echo: hello" in result["content"][0]["text"]


IMPLIED = {("kind", '"MCPToolAction"'), *(("command", f'"{word}"') for word in ("create", "view", "str_replace"))}
"""Values that Trotline's tool name and the fields of its input express."""

NAMING_KEYS = set("server_name hook_event_name hookName event_type hook type tool_name toolName name tool".split())
"""Keys of event, tool and server names, which Trotline translates."""


def collect_leaves(value: Any, key: str = "") -> set[tuple[str, str]]:
    """Return all scalars, each with its key."""
    if isinstance(value, dict):
        return {leaf for inner_key, inner in value.items() for leaf in collect_leaves(inner, inner_key)}
    if isinstance(value, list | tuple):
        return {leaf for inner in value for leaf in collect_leaves(inner, key)}
    return {(key, json.dumps(float(value) if type(value) is int else value))}


@pytest.mark.parametrize("call", RECORDINGS)
def test_no_value_of_a_recorded_call_is_lost(call: RecordedCall) -> None:
    event = call.decode()
    values = {value for _, value in collect_leaves(msgspec.to_builtins(event))}
    lost = {leaf for leaf in collect_leaves(call.body) if leaf[1] not in values and leaf not in IMPLIED}
    assert {key for key, _ in lost} <= NAMING_KEYS
    assert not isinstance(event, OtherEvent) or not lost


@pytest.mark.parametrize("call", RECORDINGS)
def test_recorded_call_survives_a_round_trip(call: RecordedCall) -> None:
    agent, event = get_agent(call.agent), call.decode()
    if not isinstance(event, OtherEvent):
        assert read_event(agent, write_event(agent, event), call.event) == event


# -- recognition of the agent

ALL_VARIABLES = dict.fromkeys((*VARIABLES, "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"), "1")
"""The environment variables of an agent that runs in an agent that runs in an agent."""


@pytest.mark.parametrize("call", RECORDINGS)
def test_recorded_call_is_recognised_inside_any_other_agent(call: RecordedCall) -> None:
    for name in AGENTS:
        others = dict.fromkeys(get_agent(name).variables, "1")
        assert recognise_agent(call.body, {**others, **call.environ}) == call.agent
    assert recognise_agent(call.body, ALL_VARIABLES) == call.agent
    assert recognise_agent(call.body, {}) == call.agent


def test_cursor_payload_is_recognised_despite_a_variable_of_claude_code() -> None:
    environ = {"CLAUDE_PROJECT_DIR": "/w", "CLAUDECODE": "1", "CURSOR_VERSION": "3.21.16"}
    for name in EVENTS:
        assert recognise_agent({**build_sample(name), "cursor_version": "3.21.16"}, environ) == "cursor"


def test_variable_identifies_the_agent_only_if_the_payload_does_not() -> None:
    for name in AGENTS:
        for variable in get_agent(name).variables:
            assert recognise_agent({}, {variable: "1"}) == name
    assert recognise_agent({"tool_name": "x"}, {"CLAUDE_PROJECT_DIR": "/w"}) == "generic"


# -- payloads without a recording


@pytest.mark.parametrize("case", CASES["payloads"], ids=lambda case: case["id"])
def test_payload_decodes_to_its_event_and_paired_events(case: dict[str, Any]) -> None:
    event = read_event(get_agent(case["agent"]), json.dumps(case["payload"]), case["line_event"])
    assert event == build_event(case["event"])
    assert derive_events(event) == tuple(map(build_event, case["paired"]))


def test_every_agent_has_a_payload() -> None:
    assert {case["agent"] for case in CASES["payloads"]} == set(AGENTS)


UNKNOWN_EVENTS = {
    "claude-code": "PostToolBatch",
    "gemini-cli": "BeforeModel",
    "windsurf": "post_setup_worktree",
    "cline": "TaskError",
}


@pytest.mark.parametrize("name", AGENTS)
def test_unknown_event_keeps_its_payload(name: str) -> None:
    agent = get_agent(name)
    key = agent.event_key.split("|")[-1]
    for event_name in (UNKNOWN_EVENTS.get(name, "somethingNew"), "unheardOf"):
        body = {key: event_name, "tool_name": "x", "deep": {"a": [1, None]}}
        assert read_event(agent, json.dumps(body)) == OtherEvent(hook_event_name=event_name, raw=body)


@pytest.mark.parametrize("name", AGENTS)
def test_event_name_of_the_payload_overrides_that_of_the_hook_line(name: str) -> None:
    """A line that was copied to another event must not turn a guard off."""
    agent = get_agent(name)
    *_, key = agent.event_key.split("|")
    tool = next(theirs for theirs, ours in reversed(agent.events.items()) if ours == "preToolUse")
    other = next(theirs for theirs, ours in agent.events.items() if ours in {"stop", "afterAgentResponse"})
    with pytest.raises(UnreadablePayload, match="needs `tool_name`") if name != "windsurf" else nullcontext():
        read_event(agent, json.dumps({key: tool}), other)


def remove_server(agent: Agent, name: str) -> str:
    """Remove the server from a tool name for the agent that does not send it."""
    return "MCP:echo" if agent.name == "openhands" and name.startswith("MCP:") else name


def normalize_event(agent: Agent, event: Event) -> Event:
    """Return the event as this agent can express it: the session is the conversation, the workspace its directory."""
    changed: dict[str, Any] = {}
    if agent.fields.get("*"):
        changed["session_id"] = None
        if event.workspace_roots in {(), ("",)} and "workspace_roots" not in agent.fields["*"]:
            changed["workspace_roots"] = tuple(filter(None, [getattr(event, "cwd", None)]))
    return msgspec.structs.replace(event, **changed)


PAIRS = [(agent, event) for agent in AGENTS for event in dict.fromkeys(get_agent(agent).events.values())]


@pytest.mark.parametrize("name,wire_name", PAIRS)
@settings(max_examples=8)
@given(data=st.data())
def test_written_event_is_read_as_the_same_event(name: str, wire_name: str, data: st.DataObject) -> None:
    agent = get_agent(name)
    cls = EVENTS[wire_name]
    fields = {**our.COMMON, **our.FIELDS[wire_name]}
    if issubclass(cls, ToolEvent):
        tool, tool_input = data.draw(st.sampled_from(read_rows("agent_payloads", "tool_inputs")))
        tool = agent.constants.get(wire_name, {}).get("tool_name", remove_server(agent, tool))
        fields |= {"tool_name": st.just(tool), "tool_input": st.just(tool_input)}
    event = normalize_event(agent, data.draw(st.builds(cls, **fields)))
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == wire_name)
    assert read_event(agent, write_event(agent, event), theirs) == event


@pytest.mark.parametrize("wire_name", EVENTS)
def test_translation_reads_cursor_payloads_like_the_cursor_reader(wire_name: str) -> None:
    payload = json.dumps({"hook_event_name": wire_name, **build_sample(wire_name)})
    assert read_event(get_agent("cursor"), payload) == cursor_payloads.read_event(payload)
