"""The names of Cursor's tools, as matchers meet them."""

SEEN = ("Shell", "Read", "Write", "Grep", "Delete", "Task", "LS", "MCP", "MCP:tool", "MCP:server:tool")
"""Recorded from running clients, or documented by Cursor."""

UNVERIFIED = ("StrReplace", "Edit", "Glob", "WebFetch", "WebSearch", "ApplyPatch", "TabWrite", "TabRead", "MultiEdit")
"""Used by integrators; nobody has shown that hooks see them."""

CALLED_ELSEWHERE = {
    "Bash": "Shell",
    "bash": "Shell",
    "run_shell_command": "Shell",
    "run_terminal_cmd": "Shell",
    "terminal": "Shell",
    "Terminal": "Shell",
    "Execute": "Shell",
    "shell": "Shell",
    "write_to_file": "Write",
    "write_file": "Write",
    "write": "Write",
    "edit_file": "Write",
    "search_replace": "Write",
    "replace_file_content": "Write",
    "Create": "Write",
    "create": "Write",
    "read_file": "Read",
    "read": "Read",
    "view": "Read",
    "delete_file": "Delete",
    "Agent": "Task",
}
"""What other agents call the same tools."""

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
"""Specific event -> the tool whose use raises it, beside the generic event."""
