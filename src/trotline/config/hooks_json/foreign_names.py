"""Names from elsewhere that end up in hooks.json, and what they are called here."""

from trotline.agents.generated_tables import FOREIGN_EVENTS

EVENTS_ELSEWHERE = {**FOREIGN_EVENTS, "PreTaskExec": ("Kiro", ""), "PostFileSave": ("Kiro", "afterFileEdit")}
"""Event name -> the product that raises it, and Cursor's nearest event if there is one."""

NO_SUCH_EVENT: dict[str, str] = {
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
"""Names that were invented, with a word for whoever believed them."""

KEYS_ELSEWHERE: dict[str, str] = {
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
"""Entry keys of other tools and common misspellings -> whose they are."""

COMMENTS_TO_PEOPLE = frozenset({"description", "name", "id", "event", "_comment", "$comment", "comment"})
"""Keys that are meant for readers; ignored without harm."""

NOT_SET_FOR_HOOKS = frozenset(
    {
        "file",
        "FILE",
        "FILE_PATH",
        "filePath",
        "TOOL_INPUT",
        "TOOL_NAME",
        "CLAUDE_FILE_PATHS",
        "CLAUDE_TOOL_INPUT",
        "CURSOR_CWD",
        "CURSOR_FILE",
        "CURSOR_FILE_PATH",
        "CURSOR_SESSION_ID",
        "CURSOR_HOOK_EVENT",
        "PLUGIN_ROOT",
    }
)
"""Variables that people expect in a command and that no Cursor sets."""
