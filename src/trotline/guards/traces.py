"""Histories and logs: whoever erases them hides what was done."""

import posixpath

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_NAMES = frozenset(
    ".bash_history .zsh_history .history .sh_history .python_history .node_repl_history .mysql_history .psql_history"
    " .lesshst .viminfo fish_history .zhistory ConsoleHost_history.txt".split()
)
_LOGS = ("/var/log/", "/var/audit/", "/private/var/log/", "/Library/Logs/", "/var/run/utmp")
_SWITCHES = frozenset("HISTFILE HISTSIZE HISTFILESIZE SAVEHIST HISTCONTROL HISTIGNORE".split())


def _history(path: str) -> bool:
    return posixpath.basename(path) in _NAMES


def _erased(effect: Effect, _: Sight) -> bool:
    return effect.kind == "system" and effect.verb == "erase log"


def _history_changed(effect: Effect, _: Sight) -> bool:
    return effect.kind in {"delete", "write", "link"} and _history(effect.path)


def _log_deleted(effect: Effect, _: Sight) -> bool:
    changed = effect.kind == "delete" or (
        effect.kind == "write" and effect.verb in {"empty", ">", ">|", "copy", "link"}
    )
    return changed and (effect.path + "/").startswith(_LOGS)


def _switched(effect: Effect, _: Sight) -> bool:
    """No more history from here on."""
    if effect.kind != "environment" or effect.target not in _SWITCHES:
        return False
    if effect.verb == "unset":
        return effect.target == "HISTFILE"
    value = effect.source
    return value in {"/dev/null", "", "0"} or effect.target == "HISTIGNORE"


def _read(effect: Effect, _: Sight) -> bool:
    return effect.kind == "read" and (effect.verb == "history" or _history(effect.path)) and effect.verb != "look"


GUARD = Guard(
    name="traces",
    danger="histories and logs that tell what was done",
    kinds=frozenset({"system", "delete", "write", "link", "environment", "read"}),
    rows=(
        Row("erased", _erased, "deny deny deny", "{target} would be erased", "leave it to the person"),
        Row("history changed", _history_changed, "deny deny deny", "{path} tells what was done"),
        Row("log deleted", _log_deleted, "deny deny deny", "{path} tells what was done on this machine"),
        Row("switched off", _switched, "ask deny deny", "{target} decides whether the shell remembers what was done"),
        Row("history read", _read, "pass ask deny", "what people typed often holds secrets"),
    ),
    stops=(
        "history -c",
        "rm ~/.bash_history",
        "> ~/.zsh_history",
        "unset HISTFILE",
        "export HISTFILE=/dev/null",
        "HISTSIZE=0",
        "journalctl --vacuum-time=1s",
        "truncate -s 0 /var/log/auth.log",
        "rm -rf /var/log/nginx",
        "ln -sf /dev/null ~/.bash_history",
        "wevtutil cl Security",
        "shred -u ~/.bash_history",
        "set +o history",
    ),
    passes=(
        "git log",
        "tail -f logs/app.log",
        "rm logs/app.log",
        "journalctl -n 20",
        "echo history -c",
        "export HISTCONTROL=ignoredups",
        "tail /var/log/syslog",
        "ls /var/log",
        "dmesg | tail",
        "HISTSIZE=12345",
    ),
)
