"""Guard: shell histories and logs, which show what was done."""

import posixpath

from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, HIGH, MEDIUM, Filter, GuardContext, build_guard, rule

_HISTORY_FILES = frozenset(
    ".bash_history .zsh_history .history .sh_history .python_history .node_repl_history .mysql_history .psql_history"
    " .lesshst .viminfo fish_history .zhistory ConsoleHost_history.txt".split()
)
_LOGS = ("/var/log/", "/var/audit/", "/private/var/log/", "/Library/Logs/", "/var/run/utmp")
_SWITCHES = frozenset("HISTFILE HISTSIZE HISTFILESIZE SAVEHIST HISTCONTROL HISTIGNORE".split())


def _is_shell_history(effect: Effect, _: GuardContext) -> bool:
    return posixpath.basename(effect.path) in _HISTORY_FILES


def _deletes_log(effect: Effect, _: GuardContext) -> bool:
    empties = effect.kind == "write" and effect.verb in {"empty", ">", ">|", "copy", "link"}
    return (effect.kind == "delete" or empties) and (effect.path + "/").startswith(_LOGS)


def _disables_history(effect: Effect, _: GuardContext) -> bool:
    if effect.verb == "unset":
        return effect.target == "HISTFILE"
    return effect.source in {"/dev/null", "", "0"} or effect.target == "HISTIGNORE"


def _reads_history(effect: Effect, context: GuardContext) -> bool:
    return (effect.verb == "history" or _is_shell_history(effect, context)) and effect.verb != "look"


GUARD = build_guard(
    "traces",
    "histories and logs that tell what was done",
    {
        "erased": rule("system: erase log", CRITICAL, "{target} would be erased", "leave it to the person"),
        "history changed": rule(
            Filter("delete|link|write: *", when=_is_shell_history), CRITICAL, "{path} tells what was done"
        ),
        "log deleted": rule(
            Filter("delete|write: *", when=_deletes_log), CRITICAL, "{path} tells what was done on this machine"
        ),
        "switched off": rule(
            Filter("environment: *", targets=_SWITCHES, when=_disables_history),
            HIGH,
            "{target} decides whether the shell remembers what was done",
        ),
        "history read": rule(Filter("read: *", when=_reads_history), MEDIUM, "what people typed often holds secrets"),
    },
)
