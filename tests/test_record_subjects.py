"""The subject of a call is shown and searchable for every agent."""

from typing import Any

import pytest

from kit import Workspace, call_in_process, read_rows
from secret_samples import fill_template
from trotline.audit.query.query import Query
from trotline.audit.record.record import Record
from trotline.audit.store.audit_log import open_audit_log

SECRET = fill_template("ghp_{crc*36}")


def windsurf(event: str, **info: Any) -> dict[str, Any]:
    return {"agent_action_name": event, "trajectory_id": "t", "execution_id": "e", "tool_info": info}


def cline(*commands: str) -> dict[str, Any]:
    call = {"id": "1", "name": "run_commands", "input": {"commands": [*commands]}}
    return {"clineVersion": "3", "hookName": "tool_call", "taskId": "t", "workspaceRoots": ["/w"], "tool_call": call}


def claude(tool: str, **given: str) -> dict[str, Any]:
    about = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", "transcript_path": "/t"}
    return {**about, "tool_name": tool, "tool_input": given}


def store_subject(workspace: Workspace, agent: str, payload: dict[str, Any]) -> Record:
    call_in_process(workspace, payload, 1, agent)
    with open_audit_log(workspace.roots().state) as store:
        (found,) = store.search(Query())
    return found


@pytest.mark.parametrize(
    "agent,payload,subject",
    [
        ("windsurf", windsurf("pre_run_command", command_line="echo hi", cwd="/"), "echo hi"),
        ("windsurf", windsurf("post_write_code", file_path="/w/a.py", edits=[]), "/w/a.py"),
        ("windsurf", windsurf("pre_user_prompt", user_prompt="build it"), "build it"),
        ("cline", cline("echo hi"), "echo hi"),
        ("cline", cline("echo hi", "pwd"), "echo hi; pwd"),
        ("claude-code", claude("Bash", command="echo hi"), "echo hi"),
    ],
)
def test_a_record_has_a_subject(workspace: Workspace, agent: str, payload: dict[str, Any], subject: str) -> None:
    assert store_subject(workspace, agent, payload).subject == subject


PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-one
+two
*** Delete File: src/b.py
*** End Patch"""


def codex(event: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "s", "turn_id": "t", "cwd": "/w", "model": "m", **fields}


def patching(event: str) -> dict[str, Any]:
    return codex(event, tool_name="apply_patch", tool_input={"command": PATCH}, tool_use_id="u")


def cursor(event: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": event, "conversation_id": "c", "generation_id": "g", "cursor_version": "3.0.0", **fields}


ASKS = {"tool_name": "create_issue", "tool_input": '{"title": "x"}', "command": "npx gh-mcp"}
GEMINI = {"hook_event_name": "AfterAgent", "session_id": "s", "transcript_path": "/t", "cwd": "/w", "timestamp": "1"}


@pytest.mark.parametrize(
    "agent,payload,subject",
    [
        *read_rows("record_subjects", "event_subjects"),
        ("codex", patching("PreToolUse"), "/w/src/a.py; /w/src/b.py"),
        ("codex", patching("PostToolUse"), "/w/src/a.py; /w/src/b.py"),
    ],
)
def test_each_event_has_a_subject_of_its_own(
    workspace: Workspace, agent: str, payload: dict[str, Any], subject: str
) -> None:
    assert store_subject(workspace, agent, payload).subject == subject


def test_the_last_message_is_stored_once(workspace: Workspace) -> None:
    found = store_subject(workspace, "gemini-cli", {**GEMINI, "prompt": "do it", "prompt_response": "it is done"})
    assert str(found.body["detail"]).count("it is done") == 1


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_a_patch_is_found_by_its_files_and_is_no_command(workspace: Workspace, event: str) -> None:
    call_in_process(workspace, patching(event), 1, "codex")
    with open_audit_log(workspace.roots().state) as store:
        assert [len(list(store.search(Query(path=path)))) for path in ("src/a.py", "src/b.py", "c.py")] == [1, 1, 0]
        assert not list(store.search(Query(command="*Patch*")))


def test_the_line_that_starts_a_server_is_no_command(workspace: Workspace) -> None:
    call_in_process(workspace, cursor("beforeMCPExecution", **ASKS), 1)
    with open_audit_log(workspace.roots().state) as store:
        assert not list(store.search(Query(command="npx *")))
        assert list(store.search(Query(text="gh-mcp")))


def test_a_call_is_found_by_its_command_on_every_agent(workspace: Workspace) -> None:
    call_in_process(workspace, windsurf("pre_run_command", command_line="echo hi", cwd="/"), 1, "windsurf")
    call_in_process(workspace, cline("echo hi", "pwd"), 2, "cline")
    copilot = {"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": {"command": "echo hi"}}
    call_in_process(workspace, copilot, 3, "copilot", "preToolUse")
    call_in_process(workspace, claude("Bash", command="echo hi"), 4, "claude-code")
    with open_audit_log(workspace.roots().state) as store:
        assert len(list(store.search(Query(command="echo *")))) == 4


def test_a_secret_in_a_subject_is_redacted(workspace: Workspace) -> None:
    found = store_subject(workspace, "windsurf", windsurf("pre_run_command", command_line=f"echo {SECRET}", cwd="/"))
    assert found.subject.startswith("echo [redacted")
    assert SECRET not in str(found)


def test_a_payload_field_with_our_name_is_stored_once(workspace: Workspace) -> None:
    assert store_subject(workspace, "claude-code", claude("Bash", command="echo hi")).detail_or_empty.subject == {}
