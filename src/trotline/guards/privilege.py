"""Rights of another user, above all of root."""

from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight


def _shell(effect: Effect, _: Sight) -> bool:
    return effect.verb in {"shell", "su"}


def _any(effect: Effect, _: Sight) -> bool:
    return effect.kind == "privilege"


GUARD = Guard(
    name="privilege",
    danger="rights of another user",
    kinds=frozenset({"privilege"}),
    rows=(
        Row("shell", _shell, "ask deny deny", "a shell with the rights of {target}: what is typed there nobody sees"),
        # What is run with them is judged by the other guards; by itself it is an opinion.
        Row("command", _any, "pass ask ask", "a command with the rights of another user ({verb})"),
    ),
    stops=(
        "sudo su -",
        "sudo -i",
        "su",
        "doas -s",
        "su - postgres",
        "sudo -s",
        "pkexec",
        "sudo su",
    ),
    passes=(
        "sudo apt-get -q update",
        "sudo systemctl status nginx",
        "sudo -u postgres psql -l",
        "sudo ls /root",
        "echo sudo",
        "sudo true",
        "man sudo",
        "which sudo",
        "sudo -v",
        "sudo -l",
    ),
)
