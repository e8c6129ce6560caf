"""Payloads of every agent in our words: the event, whose conversation it is, the tool and its input, and nothing lost.

What is expected of the recordings of real clients is written here from hosts.md 2 and 5. The payloads that stand in
this file are shorter ones of the same shapes, and those of agents and versions of which there is no recording.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies as our
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent
from trotline.agents.cursor import payloads as cursors_wire
from trotline.agents.derived_events import derive_events
from trotline.agents.generated_tables import VARIABLES
from trotline.agents.recognition import recognise_agent
from trotline.agents.translation import read_event, write_event
from trotline.domain.errors import UnreadablePayload
from trotline.domain.event_fields import build_sample
from trotline.domain.event_records import Edit
from trotline.domain.events import (
    EVENTS,
    AfterAgentResponse,
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    BeforeSubmitPrompt,
    Event,
    OtherEvent,
    PostToolUse,
    PostToolUseFailure,
    PreCompact,
    PreToolUse,
    SessionEnd,
    SessionStart,
    Stop,
    SubagentStart,
    SubagentStop,
    ToolEvent,
)

KIT = Path(__file__).parents[2] / "shared" / "clients" / "agents"
AGENT_OF = {"copilot-cli": "copilot"}

CLAUDES: dict[str, type[Event]] = {
    "SessionStart": SessionStart,
    "SessionEnd": SessionEnd,
    "UserPromptSubmit": BeforeSubmitPrompt,
    "PreToolUse": PreToolUse,
    "PostToolUse": PostToolUse,
    "PostToolUseFailure": PostToolUseFailure,
    "Stop": Stop,
}
MEANT: dict[str, dict[str, type[Event]]] = {
    **dict.fromkeys(("claude-code", "codex", "qwen-code", "factory-droid", "openhands"), CLAUDES),
    "gemini-cli": {
        "SessionStart": SessionStart,
        "SessionEnd": SessionEnd,
        "BeforeAgent": BeforeSubmitPrompt,
        "AfterAgent": Stop,
        "BeforeTool": PreToolUse,
        "AfterTool": PostToolUse,
        "PreCompress": PreCompact,
    },
    "copilot": {
        **CLAUDES,
        "sessionStart": SessionStart,
        "sessionEnd": SessionEnd,
        "userPromptSubmitted": BeforeSubmitPrompt,
        "preToolUse": PreToolUse,
        "postToolUse": PostToolUse,
        "agentStop": Stop,
    },
    "cline": {
        "TaskStart": SessionStart,
        "SessionShutdown": SessionEnd,
        "PreToolUse": PreToolUse,
        "PostToolUse": PostToolUse,
        "TaskComplete": Stop,
    },
    "opencode": {
        "session.created": SessionStart,
        "session.idle": Stop,
        "chat.message": BeforeSubmitPrompt,
        "tool.execute.before": PreToolUse,
        "tool.execute.after": PostToolUse,
        "experimental.text.complete": AfterAgentResponse,
    },
}
"""hosts.md 2: what the names in the recordings mean; any other is an event that we do not know."""


OURS_BY_CLAUDE = """SessionStart=sessionStart SessionEnd=sessionEnd UserPromptSubmit=beforeSubmitPrompt
PreToolUse=preToolUse PostToolUse=postToolUse Stop=stop"""
SUBAGENTS = "SubagentStart=subagentStart SubagentStop=subagentStop PreCompact=preCompact"
NAMES = {
    "claude-code": f"{OURS_BY_CLAUDE} {SUBAGENTS} PostToolUseFailure=postToolUseFailure",
    "codex": f"{OURS_BY_CLAUDE} {SUBAGENTS}",
    "qwen-code": f"{OURS_BY_CLAUDE} {SUBAGENTS} PostToolUseFailure=postToolUseFailure",
    "factory-droid": f"{OURS_BY_CLAUDE} SubagentStop=subagentStop PreCompact=preCompact",
    "openhands": OURS_BY_CLAUDE,
    "gemini-cli": """SessionStart=sessionStart SessionEnd=sessionEnd BeforeAgent=beforeSubmitPrompt AfterAgent=stop
        BeforeTool=preToolUse AfterTool=postToolUse PreCompress=preCompact""",
    "copilot": f"""{OURS_BY_CLAUDE} {SUBAGENTS} PostToolUseFailure=postToolUseFailure sessionStart=sessionStart
        sessionEnd=sessionEnd userPromptSubmitted=beforeSubmitPrompt preToolUse=preToolUse postToolUse=postToolUse
        postToolUseFailure=postToolUseFailure agentStop=stop subagentStart=subagentStart subagentStop=subagentStop
        preCompact=preCompact""",
    "windsurf": """pre_run_command=beforeShellExecution post_run_command=afterShellExecution
        pre_read_code=beforeReadFile post_read_code=postToolUse pre_write_code=preToolUse post_write_code=afterFileEdit
        pre_mcp_tool_use=beforeMCPExecution post_mcp_tool_use=afterMCPExecution pre_user_prompt=beforeSubmitPrompt
        post_cascade_response=afterAgentResponse""",
    "cline": """PreToolUse=preToolUse PostToolUse=postToolUse TaskStart=sessionStart TaskResume=sessionStart
        TaskComplete=stop SessionShutdown=sessionEnd UserPromptSubmit=beforeSubmitPrompt PreCompact=preCompact
        tool_call=preToolUse tool_result=postToolUse agent_start=sessionStart agent_resume=sessionStart agent_end=stop
        session_shutdown=sessionEnd user_prompt_submit=beforeSubmitPrompt pre_compact=preCompact""",
    "opencode": """tool.execute.before=preToolUse tool.execute.after=postToolUse chat.message=beforeSubmitPrompt
        session.created=sessionStart session.idle=stop experimental.session.compacting=preCompact
        experimental.text.complete=afterAgentResponse""",
}
"""hosts.md 2, whole."""


@pytest.mark.parametrize("name", AGENTS)
def test_the_names_of_events_are_those_that_the_agent_raises(name: str) -> None:
    named = (
        dict(pair.split("=") for pair in NAMES[name].split())
        if name in NAMES
        else dict(zip(EVENTS, EVENTS, strict=True))
    )
    assert get_agent(name).events == named


class Recorded(NamedTuple):
    """A call that a real client made."""

    agent: str
    event: str
    body: dict[str, Any]
    environ: dict[str, str]


def recordings() -> list[Any]:
    """Every call, once; the kit's plugin in OpenCode puts `event.` before some names and announces itself."""
    if not KIT.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the recordings of real clients are not here"))]
    found: dict[str, Any] = {}
    for folder in sorted(KIT.iterdir()):
        agent = AGENT_OF.get(folder.name, folder.name)
        for scenario, calls in json.loads((folder / "payloads.json").read_text("utf-8")).items():
            for number, call in enumerate(calls):
                one = Recorded(agent, call["event"].removeprefix("event."), call["stdin"], call["env_set_by_host"])
                if one.event != "plugin.init":
                    name = f"{agent}-{scenario}-{number}-{one.event}"
                    found.setdefault(json.dumps(one), pytest.param(one, id=name))
    return list(found.values())


RECORDINGS = recordings()


@pytest.mark.parametrize("call", RECORDINGS)
def test_a_recorded_call_is_the_event_that_it_means_in_its_conversation_and_its_directory(call: Recorded) -> None:
    event = read_event(get_agent(call.agent), json.dumps(call.body), call.event)
    meant = MEANT[call.agent].get(call.event)
    assert type(event) is (meant or OtherEvent)
    if meant is None:
        assert event.wire_name == call.event
        assert event.raw == call.body
        return
    ids = json.dumps(call.body)
    assert event.conversation_id
    assert f'"{event.conversation_id}"' in ids
    assert "turn_id" not in call.body or event.generation_id == call.body["turn_id"]
    assert "prompt_id" not in call.body or event.generation_id == call.body["prompt_id"]
    knows_where = call.agent != "opencode" or call.event == "session.created"
    assert event.workspace_roots == (("/workspace",) if knows_where else ())
    if isinstance(event, ToolEvent):
        assert event.cwd == ("/workspace" if knows_where else "")


COMMANDS = ("echo ran > marker.txt; echo hi-from-shell", "echo oops >&2; exit 3", "cat f.txt")
FILE = "/workspace/f.txt"
SHELLS = {"Bash", "run_shell_command", "bash", "Execute", "terminal", "run_commands"}
READS = {"Read", "read_file", "view", "read", "read_files"}
ECHOES = {"mcp__srv__echo", "mcp_srv_echo", "srv-echo", "srv___echo", "srv_echo", "echo"}
PRINTED = {
    "claude-code": "hi-from-shell",
    "codex": "hi-from-shell\n",
    "gemini-cli": "<untrusted_context>\nOutput: hi-from-shell\n",
    "qwen-code": "Command: echo ran > marker.txt; echo hi-from-shell\nDirectory: (root)\nOutput: hi-from-shell\n",
    "copilot": "hi-from-shell\n<shellId: 0 completed with exit code 0>",
    "factory-droid": "hi-from-shell\n\n\n[Process exited with code 0]",
    "openhands": "hi-from-shell",
    "opencode": "hi-from-shell\n",
    "cline": "hi-from-shell\n",
}
"""How each begins to tell what the first of the commands printed."""


def tool_of(body: dict[str, Any]) -> str:
    """The agent's name of the tool, wherever it stands."""
    inner: list[dict[str, Any]] = [body[key] for key in ("tool_call", "tool_result", "input") if key in body]
    named = [one.get(key) for one in (body, *inner) for key in ("tool_name", "toolName", "name", "tool")]
    return str(next(name for name in named if name))


CALLS_OF_TOOLS = [
    case
    for case in RECORDINGS
    if not case.values[0] or "ToolUse" in case.values[0].event or "ool" in case.values[0].event
]
TOOL_CALLS = [
    case
    for case in CALLS_OF_TOOLS
    if not case.values[0] or MEANT[case.values[0].agent].get(case.values[0].event) in {PreToolUse, PostToolUse}
]


@pytest.mark.parametrize("call", TOOL_CALLS)
def test_a_recorded_tool_has_our_name_our_fields_and_the_events_that_it_also_is(call: Recorded) -> None:
    event = read_event(get_agent(call.agent), json.dumps(call.body), call.event)
    assert isinstance(event, PreToolUse | PostToolUse)
    given, theirs, also = event.tool_input, tool_of(call.body), derive_events(event)
    assert isinstance(given, dict)
    assert [one.conversation_id for one in also] == [event.conversation_id] * len(also)
    before = isinstance(event, PreToolUse)
    if theirs in SHELLS:
        assert event.tool_name == "Shell"
        assert given["command"] in COMMANDS or "apply_patch" in given["command"]
        assert [(type(one), one.command, one.cwd) for one in also] == [  # type: ignore[attr-defined]
            (BeforeShell if before else AfterShell, given["command"], event.cwd or ("" if before else None))
        ]
    elif theirs in READS or event.tool_name == "Read":
        assert (event.tool_name, given["file_path"]) == ("Read", FILE)
        assert [one.file_path for one in also if isinstance(one, BeforeReadFile)] == [FILE] * before
    elif theirs in ECHOES:
        server = None if call.agent == "openhands" else "srv"
        assert (event.tool_name, given) == (f"MCP:{server}:echo" if server else "MCP:echo", {"text": "hello"})
        (one,) = also
        assert isinstance(one, BeforeMCP if before else AfterMCP)
        assert (one.tool_name, one.tool_input, one.mcp_server_name) == ("echo", given, server)
    else:
        assert event.tool_name == "Write"
        assert [type(one) for one in also] == [AfterFileEdit] * (not before)
        changes = {"patch": "Add File: f.txt", "content": "alpha\nbeta\n", "old_string": "beta", "new_string": "gamma"}
        found = {key for key, text in changes.items() if text in str(given.get(key))}
        assert found in ({"patch"}, {"content"}, {"old_string", "new_string"})
        assert found == {"patch"} or given["file_path"] == FILE
        assert [one.file_path for one in also if isinstance(one, AfterFileEdit)] == [FILE] * (not before)
    if isinstance(event, PostToolUse) and given.get("command") == COMMANDS[0]:
        assert event.tool_output.startswith(PRINTED[call.agent])
        assert [one.output for one in also if isinstance(one, AfterShell)] == [event.tool_output]
    if isinstance(event, PostToolUse) and theirs in ECHOES:
        (result,) = [json.loads(one.result_json) for one in also if isinstance(one, AfterMCP)]
        assert "echo: hello" in result["content"][0]["text"]


IMPLIED = {("kind", '"MCPToolAction"'), *(("command", f'"{word}"') for word in ("create", "view", "str_replace"))}
"""What the name of our tool and the fields of its input say."""


def leaves(value: Any, at: str = "") -> set[tuple[str, str]]:
    """All that is not a structure, each with the key it stands under."""
    if isinstance(value, dict):
        return {leaf for key, inner in value.items() for leaf in leaves(inner, key)}
    if isinstance(value, list | tuple):
        return {leaf for inner in value for leaf in leaves(inner, at)}
    return {(at, json.dumps(float(value) if type(value) is int else value))}


@pytest.mark.parametrize("call", RECORDINGS)
def test_nothing_of_a_recorded_call_is_lost(call: Recorded) -> None:
    event = read_event(get_agent(call.agent), json.dumps(call.body), call.event)
    kept = {value for _, value in leaves(msgspec.to_builtins(event))}
    lost = {(key, value) for key, value in leaves(call.body) if value not in kept and (key, value) not in IMPLIED}
    by_its_meaning = {
        "server_name",
        "hook_event_name",
        "hookName",
        "event_type",
        "hook",
        "type",
        "tool_name",
        "toolName",
        "name",
        "tool",
    }
    assert {key for key, _ in lost} <= by_its_meaning
    assert not isinstance(event, OtherEvent) or not lost


@pytest.mark.parametrize("call", RECORDINGS)
def test_a_recorded_call_written_again_is_the_same_event(call: Recorded) -> None:
    agent = get_agent(call.agent)
    event = read_event(agent, json.dumps(call.body), call.event)
    if not isinstance(event, OtherEvent):
        assert read_event(agent, write_event(agent, event), call.event) == event


# -- who is calling

EVERYBODYS = dict.fromkeys((*VARIABLES, "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"), "1")
"""The variables of an agent in an agent in an agent."""


@pytest.mark.parametrize("call", RECORDINGS)
def test_a_recorded_call_is_recognised_whoever_started_the_agent_that_makes_it(call: Recorded) -> None:
    for name in AGENTS:
        others = dict.fromkeys(get_agent(name).variables, "1")
        assert recognise_agent(call.body, {**others, **call.environ}) == call.agent
    assert recognise_agent(call.body, EVERYBODYS) == call.agent
    assert recognise_agent(call.body, {}) == call.agent


def test_a_payload_of_cursor_is_cursors_although_a_variable_of_claude_code_is_set() -> None:
    environ = {"CLAUDE_PROJECT_DIR": "/w", "CLAUDECODE": "1", "CURSOR_VERSION": "3.21.16"}
    for name in EVENTS:
        assert recognise_agent({**build_sample(name), "cursor_version": "3.21.16"}, environ) == "cursor"


def test_a_variable_decides_only_where_the_payload_says_nothing() -> None:
    for name in AGENTS:
        for variable in get_agent(name).variables:
            assert recognise_agent({}, {variable: "1"}) == name
    assert recognise_agent({"tool_name": "x"}, {"CLAUDE_PROJECT_DIR": "/w"}) == "generic"


# -- payloads that stand here

ID = "c-1"
TOUCH = {"command": "touch x"}
SHARED: dict[str, Any] = {"conversation_id": ID, "workspace_roots": ("/w",)}
PATCH = (
    "*** Begin Patch\n*** Add File: a\n+x\n+\n+y\n*** Update File: /b\n*** Move to: c\n"
    "@@ def f():\n k\n-o\n+n\n@@\n+end\n*** End of File\n*** End Patch\n"
)
RAN: dict[str, Any] = {"tool_name": "Shell", "tool_input": TOUCH, "cwd": "/w", **SHARED}


class Case(NamedTuple):
    """What an agent sends, the event in it, and what else that is."""

    agent: str
    name: str  # as the installed line has it
    body: dict[str, Any]
    event: Event
    also: tuple[Event, ...] = ()


def claude(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": ID, "cwd": "/w", **fields}


def before_shell(**raw: Any) -> BeforeShell:
    return BeforeShell(command="touch x", cwd="/w", raw=raw, **SHARED)


def mcp(before: bool, server: str | None, **raw: Any) -> Event:
    if before:
        return BeforeMCP(tool_name="echo", tool_input={"a": 1}, mcp_server_name=server, raw=raw, **SHARED)
    result = '{"content": [{"type": "text", "text": "one"}]}'
    return AfterMCP(
        tool_name="echo", tool_input={"a": 1}, mcp_server_name=server, result_json=result, raw=raw, **SHARED
    )


CASES = {
    "claude-code runs a command": Case(
        "claude-code",
        "",
        claude(
            "PreToolUse", prompt_id="g", tool_name="Bash", tool_input=TOUCH, tool_use_id="t", permission_mode="plan"
        ),
        PreToolUse(generation_id="g", tool_use_id="t", raw={"permission_mode": "plan"}, **RAN),
        (BeforeShell(generation_id="g", command="touch x", cwd="/w", raw={"permission_mode": "plan"}, **SHARED),),
    ),
    "claude-code ran a command, and stderr is output too": Case(
        "claude-code",
        "",
        claude("PostToolUse", tool_name="Bash", tool_input=TOUCH, tool_response={"stdout": "out", "stderr": "err"}),
        PostToolUse(tool_output="out\nerr", raw={"tool_response": {"stdout": "out", "stderr": "err"}}, **RAN),
        (
            AfterShell(
                command="touch x",
                output="out\nerr",
                cwd="/w",
                raw={"tool_response": {"stdout": "out", "stderr": "err"}},
                **SHARED,
            ),
        ),
    ),
    "claude-code failed to run a command": Case(
        "claude-code",
        "",
        claude(
            "PostToolUseFailure", tool_name="Bash", tool_input=TOUCH, error="exit 3", is_interrupt=True, duration_ms=2
        ),
        PostToolUseFailure(error_message="exit 3", is_interrupt=True, duration=2, **RAN),
        (AfterShell(command="touch x", output="exit 3", duration=2, cwd="/w", **SHARED),),
    ),
    "claude-code names the server, also one with the separator in its name": Case(
        "claude-code",
        "",
        claude(
            "PreToolUse", tool_name="mcp__a__b__echo", tool_input={"a": 1}, mcp_server={"name": "a__b", "source": "x"}
        ),
        PreToolUse(
            tool_name="MCP:a__b:echo", tool_input={"a": 1}, cwd="/w", raw={"mcp_server": {"source": "x"}}, **SHARED
        ),
        (mcp(True, "a__b", mcp_server={"source": "x"}),),
    ),
    "claude-code starts a sub-agent": Case(
        "claude-code",
        "",
        claude(
            "PreToolUse", tool_name="Agent", tool_input={"subagent_type": "explore", "prompt": "look"}, tool_use_id="t"
        ),
        PreToolUse(
            tool_name="Task",
            tool_input={"subagent_type": "explore", "prompt": "look"},
            tool_use_id="t",
            cwd="/w",
            **SHARED,
        ),
        (SubagentStart(subagent_type="explore", task="look", tool_call_id="t", **SHARED),),
    ),
    "claude-code edited a file in two places": Case(
        "claude-code",
        "",
        claude(
            "PostToolUse",
            tool_name="MultiEdit",
            tool_input={"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}]},
            tool_response="done",
        ),
        PostToolUse(
            tool_name="Write",
            tool_input={"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}]},
            tool_output="done",
            cwd="/w",
            **SHARED,
        ),
        (AfterFileEdit(file_path="/w/a.py", edits=(Edit("a", "b"), Edit("", "c")), **SHARED),),
    ),
    "claude-code of old does not say which sub-agent stopped": Case(
        "claude-code", "", claude("SubagentStop"), SubagentStop(subagent_type="", **SHARED)
    ),
    "claude-code stops": Case(
        "claude-code",
        "",
        claude("Stop", stop_hook_active=False, last_assistant_message="done"),
        Stop(raw={"stop_hook_active": False, "last_assistant_message": "done"}, **SHARED),
        (AfterAgentResponse(text="done", raw={"stop_hook_active": False, "last_assistant_message": "done"}, **SHARED),),
    ),
    "codex applies a patch to three files": Case(
        "codex",
        "",
        claude(
            "PostToolUse",
            turn_id="g",
            tool_name="apply_patch",
            tool_input={"command": PATCH},
            tool_response="ok",
        ),
        PostToolUse(
            tool_name="Write",
            tool_input={"patch": PATCH},
            tool_output="ok",
            generation_id="g",
            cwd="/w",
            **SHARED,
        ),
        tuple(
            AfterFileEdit(file_path=path, edits=edits, generation_id="g", **SHARED)
            for path, edits in (
                ("/w/a", (Edit("", "x\n\ny"),)),
                ("/b", ()),
                ("/w/c", (Edit("k\no", "k\nn"), Edit("", "end"))),
            )
        ),
    ),
    "codex called an MCP tool": Case(
        "codex",
        "",
        claude(
            "PostToolUse",
            tool_name="mcp__srv__echo",
            tool_input={"a": 1},
            tool_response={"content": [{"type": "text", "text": "one"}]},
        ),
        PostToolUse(
            tool_name="MCP:srv:echo",
            tool_input={"a": 1},
            tool_output="one",
            cwd="/w",
            raw={"tool_response": {"content": [{"type": "text", "text": "one"}]}},
            **SHARED,
        ),
        (mcp(False, "srv", tool_response={"content": [{"type": "text", "text": "one"}]}),),
    ),
    "gemini-cli calls a tool of a server with an underscore": Case(
        "gemini-cli",
        "",
        claude(
            "BeforeTool",
            tool_name="mcp_my_srv_echo",
            tool_input={"a": 1},
            mcp_context={"server_name": "my_srv", "tool_name": "echo", "command": "py"},
        ),
        PreToolUse(
            tool_name="MCP:my_srv:echo", tool_input={"a": 1}, cwd="/w", raw={"mcp_context": {"command": "py"}}, **SHARED
        ),
        (mcp(True, "my_srv", mcp_context={"command": "py"}),),
    ),
    "gemini-cli stops": Case(
        "gemini-cli",
        "",
        claude("AfterAgent", prompt="do", prompt_response="done"),
        Stop(raw={"prompt": "do", "last_assistant_message": "done"}, **SHARED),
        (AfterAgentResponse(text="done", raw={"prompt": "do", "last_assistant_message": "done"}, **SHARED),),
    ),
    "qwen-code submits an empty prompt after a tool": Case(
        "qwen-code", "", claude("UserPromptSubmit", prompt=""), BeforeSubmitPrompt(prompt="", **SHARED)
    ),
    "qwen-code edits a file": Case(
        "qwen-code",
        "",
        claude("PreToolUse", tool_name="edit", tool_input={"file_path": "/a", "old_string": "x", "new_string": "y"}),
        PreToolUse(
            tool_name="Write",
            tool_input={"file_path": "/a", "old_string": "x", "new_string": "y"},
            cwd="/w",
            **SHARED,
        ),
    ),
    "copilot in its own spelling, with arguments as text": Case(
        "copilot",
        "preToolUse",
        {"sessionId": ID, "timestamp": 1, "cwd": "/w", "toolName": "bash", "toolArgs": '{"command": "touch x"}'},
        PreToolUse(raw={"timestamp": 1}, **RAN),
        (before_shell(timestamp=1),),
    ),
    "copilot in Claude Code's spelling": Case(
        "copilot",
        "PreToolUse",
        claude("PreToolUse", timestamp="t", tool_name="Bash", tool_input=TOUCH),
        PreToolUse(raw={"timestamp": "t"}, **RAN),
        (before_shell(timestamp="t"),),
    ),
    "copilot in Claude Code's spelling says what a tool gave": Case(
        "copilot",
        "PostToolUse",
        claude("PostToolUse", tool_name="Read", tool_input={"path": "/a"}, tool_result={"text_result_for_llm": "x"}),
        PostToolUse(tool_name="Read", tool_input={"file_path": "/a"}, tool_output="x", cwd="/w", **SHARED),
    ),
    "copilot in VS Code": Case(
        "copilot",
        "",
        {
            "hookEventName": "PreToolUse",
            "sessionId": ID,
            "cwd": "/w",
            "tool_name": "Bash",
            "tool_input": TOUCH,
            "tool_use_id": "t",
        },
        PreToolUse(tool_use_id="t", **RAN),
        (before_shell(),),
    ),
    "copilot creates a file": Case(
        "copilot",
        "postToolUse",
        {
            "sessionId": ID,
            "cwd": "/w",
            "toolName": "create",
            "toolArgs": {"path": "/a", "file_text": "x"},
            "toolResult": {"resultType": "success", "textResultForLlm": "made"},
        },
        PostToolUse(
            tool_name="Write",
            tool_input={"file_path": "/a", "content": "x"},
            tool_output="made",
            cwd="/w",
            raw={"toolResult": {"resultType": "success"}},
            **SHARED,
        ),
        (
            AfterFileEdit(
                file_path="/a", edits=(Edit("", "x"),), raw={"toolResult": {"resultType": "success"}}, **SHARED
            ),
        ),
    ),
    "factory-droid runs a command": Case(
        "factory-droid",
        "",
        claude("PreToolUse", tool_name="Execute", tool_input={"command": "touch x", "riskLevel": "low"}),
        PreToolUse(tool_name="Shell", tool_input={"command": "touch x", "riskLevel": "low"}, cwd="/w", **SHARED),
        (before_shell(),),
    ),
    "factory-droid ends": Case(
        "factory-droid",
        "",
        claude("SessionEnd", reason="other", session_duration_ms=7, message_count=9),
        SessionEnd(reason="other", duration_ms=7, raw={"message_count": 9}, **SHARED),
    ),
    "cline runs two commands at once": Case(
        "cline",
        "PreToolUse",
        {
            "clineVersion": "3",
            "hookName": "tool_call",
            "taskId": ID,
            "workspaceRoots": ["/w"],
            "tool_call": {
                "id": "t",
                "name": "run_commands",
                "input": {"commands": ["a", {"command": "b", "args": ["-c"]}]},
            },
            "preToolUse": {"toolName": "run_commands", "parameters": {"commands": "…"}},
        },
        PreToolUse(
            tool_name="Shell",
            tool_input={"command": ["a", {"command": "b", "args": ["-c"]}]},
            tool_use_id="t",
            raw={"clineVersion": "3", "preToolUse": {"toolName": "run_commands", "parameters": {"commands": "…"}}},
            **SHARED,
        ),
        tuple(
            BeforeShell(
                command=command,
                raw={"clineVersion": "3", "preToolUse": {"toolName": "run_commands", "parameters": {"commands": "…"}}},
                **SHARED,
            )
            for command in ("a", "b -c")
        ),
    ),
    "cline in the older form": Case(
        "cline",
        "PreToolUse",
        {
            "clineVersion": "3",
            "hookName": "PreToolUse",
            "taskId": ID,
            "workspaceRoots": ["/w"],
            "preToolUse": {"toolName": "execute_command", "parameters": {"command": "touch x"}},
        },
        PreToolUse(tool_name="Shell", tool_input=TOUCH, raw={"clineVersion": "3"}, **SHARED),
        (BeforeShell(command="touch x", raw={"clineVersion": "3"}, **SHARED),),
    ),
    "cline edits": Case(
        "cline",
        "PostToolUse",
        {
            "hookName": "tool_result",
            "taskId": ID,
            "workspaceRoots": ["/w"],
            "tool_result": {
                "name": "editor",
                "input": {"path": "/a", "old_text": "x", "new_text": "y"},
                "output": {"query": "edit:/a", "result": "done"},
                "durationMs": 3,
            },
        },
        PostToolUse(
            tool_name="Write",
            tool_input={"file_path": "/a", "old_string": "x", "new_string": "y"},
            tool_output="done",
            duration=3,
            raw={"tool_result": {"output": {"query": "edit:/a", "result": "done"}}},
            **SHARED,
        ),
        (
            AfterFileEdit(
                file_path="/a",
                edits=(Edit("x", "y"),),
                raw={"tool_result": {"output": {"query": "edit:/a", "result": "done"}}},
                **SHARED,
            ),
        ),
    ),
    "cline resumes": Case(
        "cline",
        "TaskResume",
        {"taskId": ID, "workspaceRoots": ["/w"], "hookName": "new"},
        SessionStart(raw={"hookName": "new"}, **SHARED),
    ),
    "opencode writes by a patch, which is no server `apply`": Case(
        "opencode",
        "",
        {
            "hook": "tool.execute.before",
            "directory": "/w",
            "input": {"tool": "apply_patch", "sessionID": ID, "callID": "t"},
            "output": {"args": {"patchText": "*** Delete File: a"}},
        },
        PreToolUse(tool_name="Write", tool_input={"patch": "*** Delete File: a"}, tool_use_id="t", cwd="/w", **SHARED),
    ),
    "opencode is told something": Case(
        "opencode",
        "",
        {
            "hook": "chat.message",
            "directory": "/w",
            "input": {"sessionID": ID},
            "output": {"parts": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        },
        BeforeSubmitPrompt(
            prompt="one\ntwo",
            raw={"output": {"parts": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}},
            **SHARED,
        ),
    ),
    "openhands calls an MCP tool, of whose server nothing is known": Case(
        "openhands",
        "",
        {
            "event_type": "PreToolUse",
            "tool_name": "echo",
            "tool_input": {"data": {"a": 1}, "kind": "MCPToolAction"},
            "session_id": ID,
            "working_dir": "/w",
        },
        PreToolUse(tool_name="MCP:echo", tool_input={"a": 1}, cwd="/w", **SHARED),
        (mcp(True, None),),
    ),
    "openhands inserts a line": Case(
        "openhands",
        "",
        {
            "event_type": "PreToolUse",
            "tool_name": "file_editor",
            "tool_input": {"command": "insert", "path": "/a", "insert_line": 1, "new_str": "x", "file_text": None},
            "session_id": ID,
            "working_dir": "/w",
        },
        PreToolUse(
            tool_name="Write",
            tool_input={"command": "insert", "file_path": "/a", "insert_line": 1, "new_str": "x", "file_text": None},
            cwd="/w",
            **SHARED,
        ),
    ),
    "windsurf runs a command": Case(
        "windsurf",
        "",
        {
            "agent_action_name": "pre_run_command",
            "trajectory_id": ID,
            "execution_id": "g",
            "timestamp": "t",
            "tool_info": {"command_line": "touch x", "cwd": "/w"},
        },
        BeforeShell(command="touch x", cwd="/w", generation_id="g", raw={"timestamp": "t"}, **SHARED),
        (
            PreToolUse(
                tool_name="Shell", tool_input=TOUCH, cwd="/w", generation_id="g", raw={"timestamp": "t"}, **SHARED
            ),
        ),
    ),
    "windsurf reads a file": Case(
        "windsurf",
        "",
        {"agent_action_name": "pre_read_code", "trajectory_id": ID, "tool_info": {"file_path": "/a"}},
        BeforeReadFile(file_path="/a", conversation_id=ID),
        (PreToolUse(tool_name="Read", tool_input={"file_path": "/a"}, conversation_id=ID),),
    ),
    "windsurf writes a file": Case(
        "windsurf",
        "",
        {
            "agent_action_name": "pre_write_code",
            "trajectory_id": ID,
            "tool_info": {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
        },
        PreToolUse(
            tool_name="Write",
            tool_input={"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
            conversation_id=ID,
        ),
    ),
    "windsurf wrote a file": Case(
        "windsurf",
        "",
        {
            "agent_action_name": "post_write_code",
            "trajectory_id": ID,
            "tool_info": {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
        },
        AfterFileEdit(file_path="/a", edits=(Edit("x", "y"),), conversation_id=ID),
        (
            PostToolUse(
                tool_name="Write",
                tool_input={"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]},
                conversation_id=ID,
            ),
        ),
    ),
    "windsurf calls an MCP tool": Case(
        "windsurf",
        "",
        {
            "agent_action_name": "pre_mcp_tool_use",
            "trajectory_id": ID,
            "tool_info": {"mcp_server_name": "srv", "mcp_tool_name": "echo", "mcp_tool_arguments": {"a": 1}},
        },
        BeforeMCP(tool_name="echo", tool_input={"a": 1}, mcp_server_name="srv", conversation_id=ID),
        (PreToolUse(tool_name="MCP:srv:echo", tool_input={"a": 1}, conversation_id=ID),),
    ),
    "windsurf is told something": Case(
        "windsurf",
        "",
        {"agent_action_name": "pre_user_prompt", "trajectory_id": ID, "tool_info": {"user_prompt": "do"}},
        BeforeSubmitPrompt(prompt="do", conversation_id=ID),
    ),
    "cursor sends one event for one thing": Case(
        "cursor",
        "",
        {"hook_event_name": "beforeShellExecution", "conversation_id": ID, "command": "touch x", "new": 1},
        BeforeShell(command="touch x", conversation_id=ID, raw={"new": 1}),
        (PreToolUse(tool_name="Shell", tool_input=TOUCH, conversation_id=ID, raw={"new": 1}),),
    ),
    "generic sends ours": Case(
        "generic",
        "",
        {"hook_event_name": "stop", "conversation_id": ID, "loop_count": 2},
        Stop(conversation_id=ID, loop_count=2),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_payload_is_read_as_the_event_that_it_means(case: Case) -> None:
    event = read_event(get_agent(case.agent), json.dumps(case.body), case.name)
    assert event == case.event
    assert derive_events(event) == case.also


def test_every_agent_has_a_payload_here() -> None:
    assert {case.agent for case in CASES.values()} == set(AGENTS)


NEWS = {
    "claude-code": "PostToolBatch",
    "gemini-cli": "BeforeModel",
    "windsurf": "post_setup_worktree",
    "cline": "TaskError",
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_event_that_we_do_not_know_is_kept_whole(name: str) -> None:
    agent = get_agent(name)
    key = agent.event_key.split("|")[-1]
    for theirs in (NEWS.get(name, "somethingNew"), "unheardOf"):
        body = {key: theirs, "tool_name": "x", "deep": {"a": [1, None]}}
        assert read_event(agent, json.dumps(body)) == OtherEvent(hook_event_name=theirs, raw=body)


@pytest.mark.parametrize("name", AGENTS)
def test_the_payload_knows_better_than_the_line_which_event_it_is(name: str) -> None:
    """A line that was copied to another event must not turn a guard off."""
    agent = get_agent(name)
    *_, key = agent.event_key.split("|")
    tool = next(theirs for theirs, ours in reversed(agent.events.items()) if ours == "preToolUse")
    other = next(theirs for theirs, ours in agent.events.items() if ours in {"stop", "afterAgentResponse"})
    with pytest.raises(UnreadablePayload, match="needs `tool_name`") if name != "windsurf" else _nothing():
        read_event(agent, json.dumps({key: tool}), other)


class _nothing:  # noqa: N801 - stands where a context manager does
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


INPUTS: list[tuple[str, Any]] = [
    ("Shell", {"command": "touch x"}),
    ("Shell", {"command": ["a", "b"]}),
    ("Shell", {"command": "x", "timeout": 3}),
    ("Read", {"file_path": "/a"}),
    ("Write", {"file_path": "/a", "content": "x"}),
    ("Write", {"file_path": "/a", "old_string": "x", "new_string": "y"}),
    ("Grep", {"pattern": "x"}),
    ("Task", {"prompt": "look", "subagent_type": "explore"}),
    ("MCP:srv:echo", {"a": 1, "command": "c", "path": "/p", "file_path": "/f"}),
    ("MCP:srv:echo", {}),
    ("SomethingNew", {"a": [1, {"b": None}]}),
]


def without_the_server(agent: Agent, name: str) -> str:
    """One agent does not know the server of a tool."""
    return "MCP:echo" if agent.name == "openhands" and name.startswith("MCP:") else name


def canonical(agent: Agent, event: Event) -> Event:
    """As this agent could have meant it: its session is the conversation, and its workspace is its directory."""
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
def test_what_is_written_for_an_agent_is_read_as_the_same_event(name: str, wire_name: str, data: st.DataObject) -> None:
    agent = get_agent(name)
    cls = EVENTS[wire_name]
    fields = {**our.COMMON, **our.FIELDS[wire_name]}
    if issubclass(cls, ToolEvent):
        tool, given_input = data.draw(st.sampled_from(INPUTS))
        tool = agent.constants.get(wire_name, {}).get("tool_name", without_the_server(agent, tool))
        fields |= {"tool_name": st.just(tool), "tool_input": st.just(given_input)}
    event = canonical(agent, data.draw(st.builds(cls, **fields)))
    theirs = next(theirs for theirs, ours in agent.events.items() if ours == wire_name)
    assert read_event(agent, write_event(agent, event), theirs) == event


@pytest.mark.parametrize("wire_name", EVENTS)
def test_cursor_is_read_here_as_it_is_read_there(wire_name: str) -> None:
    payload = json.dumps({"hook_event_name": wire_name, **build_sample(wire_name)})
    assert read_event(get_agent("cursor"), payload) == cursors_wire.read_event(payload)
