"""Programs that lie where anybody may have put them."""

from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight


def _in_memory(effect: Effect, _: Sight) -> bool:
    return effect.path.startswith(("/proc/self/fd/", "/dev/fd/", "/dev/shm/", "/memfd"))  # noqa: S108 - names to recognise


def _temporary(effect: Effect, sight: Sight) -> bool:
    return effect.source in {"file", "written"} and sight.place(effect) is Place.TEMPORARY


def _through_a_pipe(effect: Effect, _: Sight) -> bool:
    return effect.verb == "pipe" and "file" in effect.source.split(",")


GUARD = Guard(
    name="execution",
    danger="programs that lie where anybody may have put them",
    kinds=frozenset({"execute"}),
    rows=(
        Row("memory", _in_memory, "ask deny deny", "{path} is a program that no disk holds"),
        Row(
            "temporary",
            _temporary,
            "pass ask deny",
            "{path} lies where anybody may have put it",
            "run it from the workspace",
        ),
        Row("through a pipe", _through_a_pipe, "pass pass ask", "a shell would obey a file that nobody read first"),
    ),
    stops=(
        "bash /tmp/setup.sh",
        "/tmp/tool --fast",  # noqa: S108 - a line to judge
        "source /tmp/env.sh",
        "sh /var/tmp/x",
        "bash /dev/shm/x",
        "sh /dev/fd/3",
        "scp -qo ProxyCommand=/tmp/way notes.txt build.example.org:",
        "sftp -qvoKnownHostsCommand=/tmp/keys build.example.org",
        "rsync -ne 'ssh -o LocalCommand=/var/tmp/x' src build.example.org:src",
        "gcc -O2 -fplugin=/tmp/passes.so main.c",
        "clang -fpass-plugin=/var/tmp/passes.so -c main.c",
    ),
    passes=(
        "bash scripts/setup.sh",
        "./configure",
        "source .venv/bin/activate",
        "sh build.sh",
        "bin/tool",
        "./gradlew test",
        "scp -o BatchMode=yes notes.txt build.example.org:",
        "rsync -e 'ssh -p 2222' -a src build.example.org:src",
        "gcc -fplugin=build/passes.so main.c",
    ),
)
