"""Names of Cursor's tools, and names of other products that occur in hooks files."""

from trotline.agents.generated_tables import FOREIGN_EVENTS

CONFIRMED_TOOLS = ("Shell", "Read", "Write", "Grep", "Delete", "Task", "LS", "MCP", "MCP:tool", "MCP:server:tool")
"""Tool names in matchers, recorded from running clients or documented by Cursor."""

UNVERIFIED_TOOLS = (
    "StrReplace",
    "Edit",
    "Glob",
    "WebFetch",
    "WebSearch",
    "ApplyPatch",
    "TabWrite",
    "TabRead",
    "MultiEdit",
)
"""Tool names that integrators use, without evidence that hooks receive them."""

FOREIGN_TOOLS = {
    **dict.fromkeys("Bash bash run_shell_command run_terminal_cmd terminal Terminal Execute shell".split(), "Shell"),
    **dict.fromkeys("write_to_file write_file write edit_file search_replace".split(), "Write"),
    **dict.fromkeys("replace_file_content Create create".split(), "Write"),
    **dict.fromkeys("read_file read view".split(), "Read"),
    "delete_file": "Delete",
    "Agent": "Task",
}
"""Tool names of other agents -> Cursor's names."""

SPECIFIC_EVENTS = {
    "beforeShellExecution": "Shell",
    "afterShellExecution": "Shell",
    "beforeReadFile": "Read",
    "afterFileEdit": "Write",
    "subagentStart": "Task",
    "subagentStop": "Task",
    "beforeMCPExecution": "MCP:tool",
    "afterMCPExecution": "MCP:tool",
}
"""Specific events -> the tools that raise them, in addition to the generic event."""

ALL_FOREIGN_EVENTS = {**FOREIGN_EVENTS, "PreTaskExec": ("Kiro", ""), "PostFileSave": ("Kiro", "afterFileEdit")}
"""Event names of other products -> the product, and Cursor's nearest event if there is one."""

INVENTED_EVENTS: dict[str, str] = {
    "beforeFileEdit": "there is no event before a write; use preToolUse with the matcher `Write|Delete`",
    "beforeWriteFile": "there is no event before a write; use preToolUse with the matcher `Write|Delete`",
    "beforeFileWrite": "there is no event before a write; use preToolUse with the matcher `Write|Delete`",
    "beforeFileRead": "the event is called `beforeReadFile`",
    "agentResponse": "the event is called `afterAgentResponse`",
    "beforeAgentResponse": "there is no event before a response; `afterAgentResponse` observes it",
    "userMessage": "the event is called `beforeSubmitPrompt`",
    "onSessionStart": "the event is called `sessionStart`",
    "onSave": "Cursor has no event for it; `afterFileEdit` fires after the agent's own edits",
    "onCommit": "Cursor has no event for it; `beforeShellExecution` with the matcher `git\\s+commit` sees the command",
    "onFileOpen": "Cursor has no event for it",
}
"""Event names that no product has but that occur in hooks files -> a hint."""

FOREIGN_KEYS: dict[str, str] = {
    "async": "Claude Code's; Cursor always waits",
    "if": "Claude Code's; use `matcher`",
    "once": "Claude Code's",
    "onFailure": "Claude Code's; Cursor's key is `failClosed`",
    "statusMessage": "Claude Code's",
    "bash": "GitHub Copilot's; Cursor's key is `command`",
    "powershell": "GitHub Copilot's; Cursor's key is `command`",
    "exec": "GitHub Copilot's; Cursor's key is `command`",
    "args": "GitHub Copilot's; write the arguments into `command`",
    "timeoutSec": "GitHub Copilot's; Cursor's key is `timeout`, in seconds",
    "timeoutMs": "another tool's; Cursor's key is `timeout`, in seconds",
    "timeout_ms": "Kiro's; Cursor's key is `timeout`, in seconds",
    "cwd": "GitHub Copilot's; Cursor runs project hooks in the project root",
    "env": "GitHub Copilot's; set variables in the command or from a sessionStart hook",
    "show_output": "Windsurf's",
    "working_directory": "Windsurf's; Cursor runs project hooks in the project root",
    "enabled": "Kiro's; an entry is on as long as it stands there",
    "disabled": "another tool's; an entry is on as long as it stands there",
    "trigger": "Kiro's; the event is the key above",
    "action": "Kiro's; Cursor's key is `command`",
    "sequential": "Gemini CLI's; Cursor runs all hooks of an event at once",
    "fail_closed": "spelt `failClosed` in Cursor",
    "failclosed": "spelt `failClosed` in Cursor",
    "fail_open": "not Cursor's; failing open is the default, `failClosed` turns it round",
    "loopLimit": "spelt `loop_limit` in Cursor",
    "matchers": "spelt `matcher` in Cursor",
    "script": "another tool's; Cursor's key is `command`",
    "run": "another tool's; Cursor's key is `command`",
    "comand": "spelt `command`",
    "event": "not needed: the event is the key above",
    "description": "a comment to people; Cursor does not read it",
    "name": "a comment to people; Cursor does not read it",
    "id": "a comment to people; Cursor does not read it",
}
"""Entry keys of other tools and common misspellings -> their origin, or the right key."""

COMMENT_KEYS = frozenset({"description", "name", "id", "event", "_comment", "$comment", "comment"})
"""Keys for readers; ignoring them does no harm."""

UNSET_VARIABLES = frozenset(
    """
    file FILE FILE_PATH filePath TOOL_INPUT TOOL_NAME CLAUDE_FILE_PATHS CLAUDE_TOOL_INPUT CURSOR_CWD CURSOR_FILE
    CURSOR_FILE_PATH CURSOR_SESSION_ID CURSOR_HOOK_EVENT PLUGIN_ROOT
    """.split()
)
"""Variables that commands use although no version of Cursor sets them."""
