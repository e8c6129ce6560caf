"""Guard: text that is run although the command does not show it."""

from trotline.domain.effects import Certainty
from trotline.guards.guard import ASK, DENY, HIGH, LOW, MEDIUM, Filter, build_guard, rule

GUARD = build_guard(
    "opaque",
    "something is run that this line does not show",
    {
        "line": rule(
            Filter("execute: *", sources={"line"}, certainty=Certainty.OPAQUE),
            (ASK, ASK, DENY),
            "{why}",
            "write it as several simple commands",
        ),
        "not closed": rule(
            Filter("execute: *", sources={"unclosed"}, certainty=Certainty.OPAQUE),
            LOW,
            "{why}; it was read as if it were closed",
        ),
        "text": rule(
            Filter("execute: *", sources={"text"}, certainty=Certainty.OPAQUE),
            HIGH,
            "a text is run that is not in the line: {why}",
            "write the command itself",
        ),
        "program": rule(
            Filter("execute: *", sources={"name"}, certainty=Certainty.OPAQUE),
            HIGH,
            "which program is run is not in the line: {why}",
            "name the program",
        ),
        # Programs that print commands for a shell (ssh-agent, direnv) are known; standard trusts other local programs.
        "output": rule(
            Filter("execute: *", sources={"output"}, certainty=Certainty.OPAQUE),
            MEDIUM,
            "what a program prints is run: {why}",
        ),
        "other": rule(
            Filter("execute: *", certainty=Certainty.OPAQUE), MEDIUM, "what is run here is not in the line: {why}"
        ),
    },
)
