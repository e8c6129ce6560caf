"""Variables that other programs obey: some hold a command, some say where code or settings come from."""

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step
from trotline.analysis.subscripts import reckoned

COMMANDS = frozenset(
    "BASH_ENV BROWSER CC EDITOR ENV FCEDIT GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND"
    " GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND LESSCLOSE LESSOPEN MANPAGER NODE_OPTIONS PAGER PERL5DB"
    " PROMPT_COMMAND PS0 PS1 PS2 PS4 PYTHONBREAKPOINT PYTHONSTARTUP RUBYOPT SSH_ASKPASS SUDO_ASKPASS SYSTEMD_PAGER"
    " VISUAL".split()
)
"""Their value is run, sooner or later."""

PROMPTS = frozenset("PS0 PS1 PS2 PS4".split())
"""They are printed; what is substituted in them is run."""

LOADERS = frozenset(
    "DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD PERL5LIB PERL5OPT"
    " PYTHONHOME PYTHONPATH"
    " NODE_PATH RUBYLIB CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS".split()
)
"""Code that is loaded into whatever runs next."""


def assigned(step: Step, given: dict[str, Argument]) -> None:
    """What it means that these are set."""
    for name, value in given.items():
        script = reckoned(value) if name in PROMPTS else value
        runs = name in COMMANDS and script is not None
        kind = "command" if runs else "loader" if name in LOADERS else "set"
        step.effect("environment", kind, value, target=name, source=value.text)
        if runs and script is not None and value.text.strip() and name not in {"NODE_OPTIONS", "RUBYOPT"}:
            step.script(script)
