"""Environment variables that make programs run commands or load code."""

from trotline.analysis.shell.expansion import get_arithmetic_script
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument

COMMAND_VARIABLES = frozenset(
    "BASH_ENV BROWSER CC EDITOR ENV FCEDIT GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND"
    " GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND LESSCLOSE LESSOPEN MANPAGER NODE_OPTIONS PAGER PERL5DB"
    " PROMPT_COMMAND PS0 PS1 PS2 PS4 PYTHONBREAKPOINT PYTHONSTARTUP RUBYOPT SSH_ASKPASS SUDO_ASKPASS SYSTEMD_PAGER"
    " VISUAL".split()
)
"""A program runs their value."""

PROMPT_VARIABLES = frozenset("PS0 PS1 PS2 PS4".split())
"""The shell prints them, and runs substitutions in them."""

LOADER_VARIABLES = frozenset(
    "DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD PERL5LIB PERL5OPT"
    " PYTHONHOME PYTHONPATH NODE_PATH RUBYLIB CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS".split()
)
"""Programs load code from them."""


def add_assignments(call: Invocation, assignments: dict[str, Argument]) -> None:
    """Add the effects of variables that are set."""
    for name, value in assignments.items():
        script = get_arithmetic_script(value) if name in PROMPT_VARIABLES else value
        is_command = name in COMMAND_VARIABLES and script is not None
        kind = "command" if is_command else "loader" if name in LOADER_VARIABLES else "set"
        call.add_effect("environment", kind, value, target=name, source=value.text)
        if is_command and script is not None and value.text.strip() and name not in {"NODE_OPTIONS", "RUBYOPT"}:
            call.analyze_script(script)
