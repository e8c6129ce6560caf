"""A call of one host under another: what that one would send, and whether it is the same action there."""

import json
from typing import Any

import pytest

from trotline.errors import TrotlineError
from trotline.events import PostToolUse, PreToolUse
from trotline.hosts import HOSTS, host_named
from trotline.hosts.patches import patched
from trotline.hosts.translation import write_event
from trotline.replay.abroad import abroad, event_of
from trotline.replay.recalled import Recalled

ASKED = ("beforeShellExecution", "beforeReadFile", "beforeMCPExecution")
INPUTS: dict[str, dict[str, Any]] = {
    "Shell": {"command": "rm -rf /"},
    "Read": {"file_path": "/home/ann/.ssh/id_rsa"},
    "Write": {"file_path": "/srv/a.py", "content": "x"},
    "MCP:github:delete_repository": {"repo": "x"},
}


def call(host: str, event: str, **fields: Any) -> Recalled:
    """A call that this host made, of an event under our name."""
    cls = {"preToolUse": PreToolUse, "postToolUse": PostToolUse}[event]
    made = cls(conversation_id="c", workspace_roots=("/srv",), cwd="/srv", **fields)
    return Recalled(host=host, event=event, conversation="c", payload=write_event(host_named(host), made), seq=7)


def cursors(event: str, **fields: Any) -> Recalled:
    """A call of Cursor, with all that it says of itself."""
    envelope = {
        "conversation_id": "c",
        "generation_id": "g",
        "model": "m",
        "user_email": "ann@acme.io",
        "session_id": "c",
        "cursor_version": "3.1.0",
        "workspace_roots": ["/srv"],
    }
    body = {"hook_event_name": event, **envelope, **fields}
    return Recalled(host="cursor", event=event, conversation="c", payload=json.dumps(body).encode(), seq=7)


@pytest.mark.parametrize("tool", INPUTS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_tool_is_the_same_tool_under_every_host(host: str, tool: str) -> None:
    there = abroad(call("claude-code", "preToolUse", tool_name=tool, tool_input=INPUTS[tool]), host_named(host))
    event = event_of(there)
    if isinstance(event, PreToolUse):
        names = {tool, "MCP:delete_repository"} if tool.startswith("MCP") else {tool}
        assert event.tool_name in names
    else:
        assert event.wire_name in ASKED
        assert str(next(iter(INPUTS[tool].values()))) in there.payload.decode()


def test_a_command_is_a_command_where_the_generic_event_is_about_files() -> None:
    there = abroad(
        call("claude-code", "preToolUse", tool_name="Shell", tool_input=INPUTS["Shell"]), host_named("windsurf")
    )
    body = json.loads(there.payload)
    assert (body["agent_action_name"], body["tool_info"]["command_line"]) == ("pre_run_command", "rm -rf /")


def test_cursor_is_asked_by_the_event_that_our_line_waits_for() -> None:
    there = abroad(
        call("claude-code", "preToolUse", tool_name="Shell", tool_input=INPUTS["Shell"]), host_named("cursor")
    )
    assert there.event == "beforeShellExecution"


@pytest.mark.parametrize("tool", ["Grep", "Task"])
def test_a_host_whose_event_is_about_another_tool_raises_nothing_like_it(tool: str) -> None:
    one = call("claude-code", "preToolUse", tool_name=tool, tool_input={"pattern": "x", "prompt": "x"})
    with pytest.raises(TrotlineError, match=f"Windsurf raises nothing like preToolUse about {tool}"):
        abroad(one, host_named("windsurf"))


def test_an_output_of_another_tool_is_not_taken_for_a_read_file() -> None:
    one = call("claude-code", "postToolUse", tool_name="Shell", tool_input={"command": "ls"}, tool_output="x")
    assert abroad(one, host_named("windsurf")).event == "afterShellExecution"
    other = call("claude-code", "postToolUse", tool_name="Grep", tool_input={"pattern": "x"}, tool_output="x")
    with pytest.raises(TrotlineError, match="Windsurf raises nothing like postToolUse"):
        abroad(other, host_named("windsurf"))


def test_several_commands_of_one_call_are_not_shown_as_the_first_of_them() -> None:
    one = call("cline", "preToolUse", tool_name="Shell", tool_input={"command": ["ls", "rm -rf /"]})
    with pytest.raises(TrotlineError, match="would raise beforeShellExecution 2 times, and one call is shown"):
        abroad(one, host_named("windsurf"))


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "copilot", "opencode", "factory-droid"])
def test_a_tool_of_a_server_without_a_name_cannot_be_said_where_tools_are_called_by_it(host: str) -> None:
    one = cursors("beforeMCPExecution", tool_name="delete_repository", tool_input='{"repo": "x"}')
    with pytest.raises(TrotlineError, match=r"record 7 .* cannot be said: .* the server has no name"):
        abroad(one, host_named(host))
    named = cursors("beforeMCPExecution", tool_name="delete", tool_input="{}", mcp_server_name="github")
    assert event_of(abroad(named, host_named(host))).tool_name == "MCP:github:delete"  # type: ignore[attr-defined]


def test_what_another_host_does_not_say_is_not_put_into_its_mouth() -> None:
    one = cursors("beforeShellExecution", command="ls", cwd="/srv")
    assert json.loads(abroad(one, host_named("openhands")).payload) == {
        "event_type": "PreToolUse",
        "session_id": "c",
        "working_dir": "/srv",
        "tool_name": "terminal",
        "tool_input": {"command": "ls"},
    }
    claudes = json.loads(abroad(one, host_named("claude-code")).payload)
    assert ("user_email" in claudes, claudes["session_id"]) == (False, "c")


@pytest.mark.parametrize("host", [name for name in HOSTS if name not in {"cursor", "generic"}])
def test_what_only_cursor_says_is_in_no_payload_of_another(host: str) -> None:
    theirs = {"attachments": [{"type": "file", "file_path": "/a"}], "input_tokens": 3, "model_id": "m"}
    sent = abroad(cursors("beforeSubmitPrompt", prompt="hello", **theirs), host_named(host)).payload.decode()
    assert "hello" in sent
    assert not [name for name in (*theirs, "cursor_version", "user_email") if f'"{name}"' in sent]


@pytest.mark.parametrize(
    "host,says",
    [
        ("claude-code", {"prompt_id", "tool_use_id"}),
        ("codex", {"turn_id", "model", "tool_use_id"}),
        ("gemini-cli", set()),
        ("qwen-code", {"prompt_id", "tool_use_id"}),
        ("factory-droid", set()),
        ("openhands", set()),
    ],
)
def test_of_a_turn_a_model_and_a_call_each_says_what_it_says(host: str, says: set[str]) -> None:
    """As their recordings have it."""
    one = cursors("preToolUse", tool_name="Shell", tool_input={"command": "ls"}, tool_use_id="t", agent_message="x")
    sent = json.loads(abroad(one, host_named(host)).payload)
    assert sent.keys() & {"turn_id", "prompt_id", "model", "tool_use_id", "agent_message"} == says


def test_what_an_event_says_by_itself_is_not_said_beside_it() -> None:
    one = cursors("preToolUse", tool_name="Write", tool_input=INPUTS["Write"], tool_use_id="t", cwd="/srv")
    assert json.loads(abroad(one, host_named("windsurf")).payload) == {
        "agent_action_name": "pre_write_code",
        "trajectory_id": "c",
        "execution_id": "g",
        "tool_info": {**INPUTS["Write"], "cwd": "/srv"},
    }


def test_a_patch_goes_only_to_those_who_take_one() -> None:
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
    one = cursors("preToolUse", tool_name="Write", tool_input={"patch": patch})
    assert json.loads(abroad(one, host_named("codex")).payload)["tool_input"] == {"command": patch}
    with pytest.raises(TrotlineError, match="Gemini CLI has no tool that takes `patch`"):
        abroad(one, host_named("gemini-cli"))
    both = cursors("preToolUse", tool_name="Write", tool_input={**INPUTS["Write"], "patch": patch})
    assert json.loads(abroad(both, host_named("gemini-cli")).payload)["tool_input"] == INPUTS["Write"]


@pytest.mark.parametrize(
    "given,edits",
    [
        ({"content": "x\ny"}, [("", "x\ny")]),
        ({"old_string": "a", "new_string": "b\nc"}, [("a", "b\nc")]),
    ],
)
def test_a_host_that_only_patches_is_told_of_a_file_by_a_patch(
    given: dict[str, str], edits: list[tuple[str, str]]
) -> None:
    one = cursors("preToolUse", tool_name="Write", tool_input={"file_path": "/srv/a.py", **given})
    (patch,) = json.loads(abroad(one, host_named("codex")).payload)["tool_input"].values()
    (file,) = patched(patch)
    assert (file.path, [(edit.old_string, edit.new_string) for edit in file.edits]) == ("/srv/a.py", edits)
