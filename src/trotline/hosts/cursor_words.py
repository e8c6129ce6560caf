"""The sentences in which Cursor tells the model that an action was refused (cursor-protocol.md 1.5)."""

AGENT_NOTE = "Agent note: Do not suggest workarounds to the blocked tool."

OPENINGS = {
    "beforeShellExecution": "Command execution was blocked by a hook: ",
    "beforeReadFile": "File read was blocked by a hook: ",
}


def refusal_text(event: str, message: str) -> str:
    """What the model reads in place of the tool's result."""
    return f"{OPENINGS.get(event, '')}{message}\n\n{AGENT_NOTE}"
