"""What would be started again later, without the agent and without anybody asking."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight


def _removed(effect: Effect, _: Sight) -> bool:
    return effect.verb == "remove"


def _key(effect: Effect, _: Sight) -> bool:
    return effect.verb == "ssh key"


def _scheduled(effect: Effect, _: Sight) -> bool:
    return effect.verb in {"crontab", "at", "batch", "schtasks", "start entry", "timer"}


def _service(effect: Effect, _: Sight) -> bool:
    return effect.kind == "persist"


GUARD = Guard(
    name="persistence",
    danger="what is started again later, without anybody asking",
    kinds=frozenset({"persist"}),
    rows=(
        Row(
            "removed", _removed, "ask deny deny", "all that is scheduled would be removed: {target}", "change one line"
        ),
        Row("key", _key, "ask deny deny", "{target} would let in whoever has the key"),
        Row(
            "scheduled",
            _scheduled,
            "ask deny deny",
            "something would be run later, when nobody looks ({verb})",
            "run it now, or show the person the line",
        ),
        Row("service", _service, "ask deny deny", "{target} would be started with the machine"),
    ),
    stops=(
        "crontab -r",
        "echo '* * * * * ./x' | crontab -",
        "at now + 1 hour < job.sh",
        "systemctl enable x.service",
        "launchctl load ~/Library/LaunchAgents/org.example.x.plist",
        "ssh-copy-id me@in.example.net",
        "schtasks /create /tn x /tr x.exe",
        "loginctl enable-linger me",
        "reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v x /d x.exe",
        "crontab jobs.txt",
        "sudo update-rc.d x defaults",
    ),
    passes=(
        "crontab -l",
        "systemctl status cron",
        "launchctl list org.example.x",
        "systemctl is-enabled nginx",
        "echo '* * * * *'",
        "atq",
        "cat /etc/crontab",
        "grep cron README.md",
        "schtasks /query /fo csv",
        "ls /etc/cron.d",
    ),
)
