"""The last two acts of `make demo`: the audit log, and its integrity."""

import json

from stage import Repair, Scene, Step, Tampering, Watching


def build_payload(command: str) -> str:
    """Return the payload that Cursor sends to our line."""
    body = {"hook_event_name": "beforeShellExecution", "conversation_id": "from-cursor", "cursor_version": "3.21.16"}
    return json.dumps({**body, "workspace_roots": ["/srv/shop"], "command": command, "cwd": "/srv/shop"})


PROPOSED = """[[rule]]
name = "services are the operators'"
when = 'programs.exists(p, p == "systemctl")'
ask = "services are restarted by operators: is this one yours?"
"""

REMEMBERED: tuple[Scene, ...] = (
    Step(
        "Everything that the agent did is in the audit log. What was refused, and by whom?",
        ["log", "--verdict", "denied"],
    ),
    Step("All about the last of these:", ["log", "show", "{denied}"]),
    Step("Where was the ticket spoken of?", ["log", "--text", "SHOP-42", "-n", "3"]),
    Step("How long did it work, and how did it end?", ["log", "conversations"]),
    Step("How did it go on the whole?", ["log", "stats"]),
    Watching(
        "Somebody watches, while Cursor runs our line and hears an answer:",
        ["log", "--follow", "-n", "1"],
        Step("Meanwhile, under Cursor:", ["hook", "cursor"], build_payload("sudo systemctl restart shop")),
        "systemctl",
    ),
    Step("Would a stricter preset have decided otherwise?", ["replay", "--agent", "cursor", "--preset", "strict"]),
    Repair("A rule that is proposed:", "project/new.toml", "", PROPOSED),
    Step("What would it change?", ["replay", "--agent", "cursor", "--policy", "new.toml"]),
    Step("What happened once becomes a test:", ["new", "test", "--from", "{cursor}"]),
)

ALERTS = """[[alert]]
name = "refused"
on = "denied"
command = ["/usr/bin/tee", "-a", "~/told.jsonl"]
"""

BELIEVED: tuple[Scene, ...] = (
    Step("Its head is noted where the agent cannot write:", ["log", "anchor", "--file", "~/elsewhere.anchor"]),
    Step("Does it hold?", ["log", "verify", "--anchor", "~/elsewhere.anchor"]),
    Tampering(
        "In a copy, somebody takes a refusal back:",
        "copy",
        "UPDATE entries SET body = replace(body, 'deny', 'allow') WHERE body LIKE '%\"decided\":\"deny\"%'",
    ),
    Step("Is it seen?", ["log", "verify"], home="copy"),
    Step(
        "For a spreadsheet; or `ocsf` for a SIEM, `otlp` for a collector:",
        ["log", "export", "--format", "csv", "--verdict", "denied"],
    ),
    Repair("Somebody wants to be told:", "home/.config/trotline/trotline.toml", "", ALERTS),
    Step("Cursor again:", ["hook", "cursor"], build_payload("rm -rf ~")),
    Step("Who was told?", ["log", "send"]),
    Step("And this conversation is nobody's business any more:", ["log", "conversations", "--clear", "from-cursor"]),
    Step("It still holds, and says that something is gone:", ["log", "verify", "--anchor", "~/elsewhere.anchor"]),
    Step("What else is there without writing a hook?", ["builtin"]),
)
