"""Processes: everything ended at once, or so many started that nothing else runs."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight
from trotline.guards.machine import protects

_HARD = frozenset({"9", "KILL", "STOP", "19", "TSTP", "20", "17", "CONT", "18"})


def _endless(effect: Effect, _: Sight) -> bool:
    return effect.verb == "endless"


def _bomb(effect: Effect, _: Sight) -> bool:
    return effect.verb == "fork bomb"


def _everything(effect: Effect, _: Sight) -> bool:
    return (effect.verb == "kill" and effect.target in {"-1", "1"}) or (effect.recursive and effect.verb != "probe")


def _by_pattern(effect: Effect, _: Sight) -> bool:
    """A name that fits every process."""
    return effect.verb == "kill by name" and (effect.target.strip(".*^$") == "" or effect.target in {"init", "systemd"})


def _protector(effect: Effect, _: Sight) -> bool:
    return effect.verb.startswith("kill") and protects(effect.target)


def _by_name(effect: Effect, _: Sight) -> bool:
    return effect.verb == "kill by name"


def _hard(effect: Effect, _: Sight) -> bool:
    return effect.verb == "kill" and effect.source in _HARD and not effect.target.startswith("%")


def _elsewhere(effect: Effect, _: Sight) -> bool:
    return effect.verb in {"start elsewhere", "processes"}


GUARD = Guard(
    name="processes",
    danger="processes of others ended, or the machine filled with new ones",
    kinds=frozenset({"process"}),
    rows=(
        Row(
            "fork bomb",
            _bomb,
            "deny deny deny",
            "{target} starts itself again and again until the machine stops",
            floor=True,
        ),
        Row("endless", _endless, "pass ask deny", "{target} calls itself without end"),
        Row(
            "everything",
            _everything,
            "deny deny deny",
            "every process would be ended: {target}",
            "name the one process that you started",
            floor=True,
        ),
        Row("by a pattern that fits all", _by_pattern, "deny deny deny", "{target} fits every process"),
        Row("protector", _protector, "deny deny deny", "{target} watches over this machine"),
        Row("elsewhere", _elsewhere, "ask deny deny", "a process would be started or ended by the system: {target}"),
        Row(
            "by name", _by_name, "pass ask deny", "every process named {target} would be ended", "end it by its number"
        ),
        Row("by force", _hard, "pass ask deny", "process {target} would be stopped without a chance to clean up"),
    ),
    stops=(
        "x(){ x|x& };x",
        "b() { b | b & }; b",
        "kill -9 -1",
        "Get-Process | Stop-Process",
        "kill -KILL 1",
        "pkill -9 -u alice",
        "killall -9 node",
        "pkill -f falco",
        "kill -s STOP 4242",
        "taskkill /F /IM explorer.exe",
        "pkill .",
        "sudo kill -9 4242",
    ),
    passes=(
        "kill 4242",
        "kill -0 4242",
        "kill %1",
        "kill $PID",
        "ps aux",
        "pgrep -f server",
        "kill -l",
        "f() { echo hi; }; f",
        "pkill -f 'vite --port 5173'",
        "top -b -n1",
    ),
)
