"""The arguments and the environment of a hook's process.

The environment is inherited, as in Cursor. The variables of the agent are added last, so that a hook cannot override
them through the session.
"""

import os
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from trotline.conversation.sessions import Variable
from trotline.domain.events import Event
from trotline.domain.hooks import Hook, LayerKind
from trotline.domain.outcomes import Loss
from trotline.system.processes import RUN_VARIABLE

CLEAN_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""The variables of a clean environment."""

PRIVILEGED_VARIABLES = re.compile(
    r"PATH|HOME|XDG_.*|LD_.*|DYLD_.*|PYTHON.*|NODE_OPTIONS|BASH_ENV|ENV|GIT_.*|.*_PROXY|.*_BASE_URL"
    r"|CURSOR_.*|CLAUDE_.*|TROTLINE_.*"
    r"|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PERL5.*|RUBYOPT|NODE_PATH"
)
"""Variables with which a hook of a lower layer could take control of a hook of a higher layer."""

# Words without shell syntax; the first one is a path without `=`. Possessive quantifiers prevent backtracking.
PLAIN_WORDS = re.compile(r"[A-Za-z0-9_@%+:,./-]*/[A-Za-z0-9_@%+:,./-]*+(?: +[A-Za-z0-9_@%+=:,./-]++)*+ *")


class Shell(StrEnum):
    """The shell option for a command that is more than a list of words."""

    PLAIN = "-c"
    LOGIN = "-lc"  # as in Cursor: PATH comes from the profile


def build_argv(command: str, shell: Shell = Shell.PLAIN) -> tuple[str, ...]:
    """Return the arguments of a command. A plain list of words that begins with a path is run without a shell."""
    if shell is Shell.PLAIN and PLAIN_WORDS.fullmatch(command):
        return tuple(command.split())
    return build_shell_argv(command, shell)


def build_shell_argv(command: str, shell: Shell = Shell.PLAIN) -> tuple[str, ...]:
    """Return the arguments that run a command in a shell."""
    return ("/bin/sh", shell.value, command)


def build_base_environment(inherited: Mapping[str, str], *, clean: bool) -> dict[str, str]:
    """Return the inherited environment without the variables that the engine sets itself."""
    if clean:
        return {name: inherited[name] for name in CLEAN_VARIABLES if name in inherited}
    return {name: value for name, value in inherited.items() if name != RUN_VARIABLE and name not in AGENT_VARIABLES}


def build_session_environment(
    hook: Hook, session: Mapping[str, Sequence[Variable]]
) -> tuple[dict[str, str], list[Loss]]:
    """Return the variables that sessionStart hooks set for this hook, and those it does not get.

    A layer with less authority cannot set privileged variables, and cannot override a layer with more.
    """
    environment: dict[str, str] = {}
    losses = []
    for name, variables in session.items():
        allowed = [variable for variable in variables if _may_set(name, variable, hook)]
        with_authority = [variable for variable in allowed if variable.authority <= hook.layer.kind.authority]
        chosen = (with_authority or allowed)[-1:]
        if chosen:
            environment[name] = chosen[0].value
        if chosen != list(variables[-1:]):
            why = f"a hook of the {hook.layer.kind} layer is not told this by one with less authority"
            losses.append(Loss("trotline", f"env.{name}", why))
    return environment, losses


def _may_set(name: str, variable: Variable, hook: Hook) -> bool:
    if name in AGENT_VARIABLES:
        return False
    return variable.authority <= hook.layer.kind.authority or not PRIVILEGED_VARIABLES.fullmatch(name.upper())


AGENT_VARIABLES = frozenset(
    {
        "CURSOR_PROJECT_DIR",
        "CLAUDE_PROJECT_DIR",
        "CURSOR_VERSION",
        "CURSOR_USER_EMAIL",
        "CURSOR_TRANSCRIPT_PATH",
        "CURSOR_CODE_REMOTE",
        "CURSOR_PLUGIN_ROOT",
        "CLAUDE_PLUGIN_ROOT",
    }
)
"""Variables that only the agent may set. They are removed even if it does not set them."""


def build_agent_environment(event: Event, hook: Hook, project: str, *, remote: bool = False) -> dict[str, str]:
    """Return the variables that Cursor sets for a hook. Values that no environment can hold are omitted."""
    root = hook.layer.root if hook.layer.kind.needs_trust else project
    plugin = hook.layer.root if hook.layer.kind is LayerKind.PLUGIN else ""
    variables = {
        "CURSOR_PROJECT_DIR": root or hook.layer.root,
        "CLAUDE_PROJECT_DIR": root or hook.layer.root,
        "CURSOR_VERSION": event.cursor_version,
        "CURSOR_USER_EMAIL": event.user_email or "",
        "CURSOR_TRANSCRIPT_PATH": event.transcript_path or "",
        "CURSOR_CODE_REMOTE": "true" if remote else "",
        "CURSOR_PLUGIN_ROOT": plugin,
        "CLAUDE_PLUGIN_ROOT": plugin,
    }
    always = {"CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "CURSOR_VERSION"}
    return {name: value for name, value in variables.items() if (value or name in always) and _fits_environment(value)}


def _fits_environment(value: str) -> bool:
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False
