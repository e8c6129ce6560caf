"""Guard: text that is run although the command does not show it."""

from trotline.domain.effects import Certainty
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardRule

GUARD = Guard(
    name="opaque",
    danger="something is run that this line does not show",
    kinds={"execute"},
    rules=(
        GuardRule(
            "line",
            Filter(sources={"line"}, certainty=Certainty.OPAQUE),
            (ASK, ASK, DENY),
            "{why}",
            "write it as several simple commands",
        ),
        GuardRule(
            "not closed",
            Filter(sources={"unclosed"}, certainty=Certainty.OPAQUE),
            (PASS, PASS, ASK),
            "{why}; it was read as if it were closed",
        ),
        GuardRule(
            "text",
            Filter(sources={"text"}, certainty=Certainty.OPAQUE),
            (ASK, DENY, DENY),
            "a text is run that is not in the line: {why}",
            "write the command itself",
        ),
        GuardRule(
            "program",
            Filter(sources={"name"}, certainty=Certainty.OPAQUE),
            (ASK, DENY, DENY),
            "which program is run is not in the line: {why}",
            "name the program",
        ),
        # Programs that print commands for a shell (ssh-agent, direnv) are known; standard trusts other local programs.
        GuardRule(
            "output",
            Filter(sources={"output"}, certainty=Certainty.OPAQUE),
            (PASS, ASK, DENY),
            "what a program prints is run: {why}",
        ),
        GuardRule(
            "other", Filter(certainty=Certainty.OPAQUE), (PASS, ASK, DENY), "what is run here is not in the line: {why}"
        ),
    ),
)
