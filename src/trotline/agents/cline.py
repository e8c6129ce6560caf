"""Cline. It ignores exit codes, and a refusal ends the whole task. Payloads contain the call in two forms; those of its
extension only in the older one, by its documentation (hosts.md 1 and 4, measured on 3.0.65)."""

from trotline.agents.agent import Agent, Capability, CommandLine, PersonChannel, Tool, Wiring
from trotline.agents.reply_forms import write_cancelling

AGENT = Agent(
    name="cline",
    title="Cline",
    events={
        "tool_call": "preToolUse",
        "tool_result": "postToolUse",
        "agent_start": "sessionStart",
        "agent_resume": "sessionStart",
        "agent_end": "stop",
        "session_shutdown": "sessionEnd",
        "user_prompt_submit": "beforeSubmitPrompt",
        "pre_compact": "preCompact",
        "PreToolUse": "preToolUse",
        "PostToolUse": "postToolUse",
        "TaskStart": "sessionStart",
        "TaskResume": "sessionStart",
        "TaskComplete": "stop",
        "SessionShutdown": "sessionEnd",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "PreCompact": "preCompact",
    },
    capabilities={
        "preToolUse": frozenset({Capability.DENY, Capability.EDIT, Capability.CONTEXT}),
        "postToolUse": frozenset({Capability.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Capability.DENY, Capability.CONTEXT}),
    },
    reply_form=write_cancelling,
    fields={
        "*": {
            "conversation_id": "taskId",
            "workspace_roots": "workspaceRoots",
            "cwd": "workspaceInfo.rootPath",
        },
        "preToolUse": {
            "tool_name": "tool_call.name|preToolUse.toolName",
            "tool_input": "tool_call.input|preToolUse.parameters",
            "tool_use_id": "tool_call.id",
        },
        "postToolUse": {
            "tool_name": "tool_result.name|postToolUse.toolName",
            "tool_input": "tool_result.input|postToolUse.parameters",
            "tool_use_id": "tool_result.id",
            "tool_output": "tool_result.output|postToolUse.result",
            "duration": "tool_result.durationMs|postToolUse.executionTimeMs",
        },
        "beforeSubmitPrompt": {"prompt": "userPromptSubmit.prompt"},
        "stop": {"status": "turn.status", "last_assistant_message": "turn.outputText"},
    },
    tools=(
        Tool("run_commands", "Shell", {"command": "commands"}, many=""),
        Tool("editor", "Write", {"file_path": "path", "content": "new_text"}),
        Tool("editor", "Write", {"file_path": "path", "old_string": "old_text", "new_string": "new_text"}),
        Tool("read_files", "Read", {"file_path": "files"}, many="path"),
        Tool("execute_command", "Shell"),
        Tool("write_to_file", "Write", {"file_path": "path", "content": "content"}),
        Tool("replace_in_file", "Write", {"file_path": "path", "diff": "diff"}),
        Tool("read_file", "Read", {"file_path": "path"}),
        Tool("search_files", "Grep", {"pattern": "regex", "file_path": "path"}),
        Tool("list_files", "LS", {"file_path": "path"}),
    ),
    text_keys=("result",),
    event_key="hookName",
    payload_marks=("clineVersion",),
    unsupported_reasons={Capability.ASK: "Cline asks for a review that does nothing without a person"},
    person_channel=PersonChannel.WITH_REFUSAL,
    control=(".clinerules/", ".clinerules/hooks/*", ".cline/hooks/*"),
    instructions=(".clinerules", ".clinerules/*", ".clineignore"),
    command_line=CommandLine(
        names="cline cline-core",
        unattended="+yolo|y|yes",
        options_with_value="m mode",
    ),
    wiring=Wiring(
        # the directory of the extension, which the command line reads as well (measured on 3.0.65)
        files={"user": "Documents/Cline/Hooks/{event}", "project": ".clinerules/hooks/{event}"},
        events=(
            "TaskStart",
            "TaskResume",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PreCompact",
            "TaskComplete",
            "SessionShutdown",
        ),
        owns_file=True,
        seconds=40,  # measured: it waits for 45
        programs=("cline",),
        directories=(".cline", "Documents/Cline"),
        conflict_hint="Cline runs one file of each name in a directory; "
        "move yours to `~/.cline/hooks`, which it reads too",
    ),
)
