"""Programs that run another in a place they make ready, at a time they choose, or over and over: one row each."""

from typing import NamedTuple

from trotline.analysis.options import Options, options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step


class Way(NamedTuple):
    """Where the words of the other program begin."""

    valued: str = ""  # options of its own that take a value
    verbs: str = ""  # the first word must be one of these, or nothing is run
    text: str = ""  # options whose value is a line for a shell
    words: str = ""  # options behind which the other program stands
    skips: int = 0  # words of its own before the other's
    marked: bool = False  # the other program stands behind `--` and nowhere else
    lines: bool = False  # each of its words is a line for a shell
    joined: bool = False  # its words together are one
    bare: bool = True  # plain words are the other program's


_BOX = Way("n name c container d distro r release a additional-flags", "enter run exec", words="e exec", marked=True)

_MACHINE = Way("L E U cpu R B s")

WAYS = {
    "adb": Way("s t H P L", "shell", joined=True),
    "cargo-watch": Way("w watch i ignore d delay E env C workdir features", text="s shell"),
    "devbox": Way("c config e env env-file", "run"),
    "distrobox": _BOX,
    "distrobox-enter": _BOX._replace(verbs=""),
    "dotenvx": Way("f env-file e env fk", "run"),
    "dumb-init": Way("r rewrite"),
    "elvish": Way(text="c", bare=False),
    "envchain": Way(skips=1),
    "fab": Way("H hosts i identity c collection", marked=True, joined=True),
    "flatpak-spawn": Way(),
    "foreman": Way("f procfile e env d root p port", "run"),
    "guix": Way(verbs="shell environment time-machine", marked=True),
    "honcho": Way("f procfile e env d app-root p port", "run"),
    "hyperfine": Way(
        "w r m M n S u L P warmup runs min-runs max-runs command-name shell parameter-list parameter-scan export-json"
        " export-csv export-markdown export-asciidoc export-orgmode style sort input output time-unit reference",
        text="p prepare c cleanup s setup conclude",
        lines=True,
    ),
    "ifne": Way(),
    "incus": Way("t mode T user group cwd env project", "exec", marked=True),
    "lxc": Way("t mode T user group cwd env project", "exec", marked=True),
    "mprocs": Way("c config s server ctl names", lines=True),
    "nix": Way("I A f file expr override-input inputs-from", "develop shell run", words="c command", bare=False),
    "nix-shell": Way("p packages I A attr E expr i", text="run command", bare=False),
    "nu": Way("config env-config I include-path", text="c commands e execute", bare=False),
    "osh": Way(text="c", bare=False),
    "perf": Way("e event o output F freq p pid t tid C cpu g r repeat c count", "stat record trace ftrace kvm mem"),
    "pixi": Way("e environment manifest-path s spec c channel p platform w with", "run exec x"),
    "pueue": Way("d delay g group l label w working-directory a after o priority", "add", joined=True),
    "qemu-aarch64": _MACHINE,
    "qemu-arm": _MACHINE,
    "qemu-i386": _MACHINE,
    "qemu-x86_64": _MACHINE,
    "retry": Way("t times d delay m min x max u until w while"),
    "rye": Way("pyproject", "run"),
    "sshpass": Way("p f d P"),
    "teller": Way("c config", "run"),
    "tini": Way("p e"),
    "toolbox": _BOX._replace(marked=False),
    "tsp": Way("L N S D W O s a o p k w r t c i u"),
    "watchexec": Way(
        "e exts f filter filter-prog i ignore w watch W watch-non-recursive d debounce s signal stop-signal"
        " stop-timeout shell o on-busy-update E env workdir project-origin ignore-file"
        " filter-file delay-run poll map-signal",
        joined=True,
    ),
    "wine": Way(),
    "wine64": Way(),
    "wsl": Way("d distribution u user cd shell-type", words="e exec"),
    "xonsh": Way("D", text="c", bare=False),
    "ysh": Way(text="c", bare=False),
}
_SAIL = frozenset("artisan php composer node npm npx yarn pnpm bun mysql psql redis mariadb".split())


def _way(step: Step) -> None:
    row, words = WAYS[step.name], step.words
    if row.verbs:
        if not words or words[0].text not in row.verbs.split():
            return
        words = words[1:]
    rest, found = _split(words, row)
    for text in found.values(*row.text.split()) if row.text else ():
        step.out = step.script(text)
    if rest and rest[0].text == "--":
        rest = rest[1:]
    if not rest:
        return
    if row.lines:
        for word in rest:
            step.out = step.script(word)
    elif row.joined or (len(rest) == 1 and " " in rest[0].text):
        line = " ".join(word.text for word in rest)
        step.out = step.script(rest[0]._replace(text=line, end=rest[-1].end))
    else:
        step.out = step.run(rest)


def _split(words: list[Argument], row: Way) -> tuple[list[Argument], Options]:
    """The words of the other program, and the options of this one."""
    marks = {f"-{name}" if len(name) == 1 else f"--{name}" for name in row.words.split()}
    marks |= {"--"} if row.marked else set()
    mark = next((at for at, word in enumerate(words) if word.text in marks), len(words))
    found = options(words[:mark], f"{row.valued} {row.text}".split(), stops=row.bare and not row.lines)
    if mark < len(words):
        return list(words[mark + 1 :]), found
    return list(found.rest[row.skips :]) if row.bare and not row.marked else [], found


def _autossh(step: Step) -> None:
    """The words of ssh, with a port of its own for watching."""
    words = list(step.words)
    while words and words[0].text.startswith(("-M", "-f")):
        words = words[2 if words[0].text == "-M" else 1 :]
    step.out = step.run([step.program._replace(text="ssh"), *words])


def _mosh(step: Step) -> None:
    found = step.options("p port family predict ssh client server bind-server".split(), stops=True)
    for text in found.values("ssh", "client"):
        step.script(text)
    step.out = step.run([step.program._replace(text="ssh"), *(word for word in found.rest if word.text != "--")])


def _sail(step: Step) -> None:
    """Laravel's box: programs of the project by their names; everything else is a word of Compose."""
    if step.words and step.words[0].text in _SAIL:
        step.out = step.run(step.words)
    elif step.words:
        step.out = step.run([step.program._replace(text="docker"), step.program._replace(text="compose"), *step.words])


_BINDS = frozenset("--bind --bind-try --ro-bind --ro-bind-try --dev-bind --symlink --setenv --file --bind-data".split())
_PLACES = frozenset("--dev --proc --tmpfs --dir --chdir --unsetenv --uid --gid --hostname --cap-add --seccomp".split())


def _bwrap(step: Step) -> None:
    words = list(step.words)
    while words and words[0].text.startswith("--"):
        first = words[0].text
        words = words[3 if first in _BINDS else 2 if first in _PLACES else 1 :]
    if words:
        step.out = step.run(words)


def _cargo_watch(step: Step) -> None:
    """`-x test` is `cargo test`; the rest is a row as others are."""
    found = step.options(f"{WAYS[step.name].valued} s shell x exec".split(), stops=True)
    for text in found.values("x", "exec"):
        step.script(text._replace(text=f"cargo {text.text}"))
    _way(step)


def _hg(step: Step) -> None:
    """`--config alias.x='!...'`, `--config hooks.y=...`: as `git -c`."""
    for setting in step.options(("config", "R", "cwd")).values("config"):
        key, _, value = setting.text.partition("=")
        if value.startswith("!") or key.startswith("hooks."):
            step.script(setting._replace(text=value.removeprefix("!")))


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(WAYS, _way),
    "autossh": _autossh,
    "bwrap": _bwrap,
    "cargo-watch": _cargo_watch,
    "hg": _hg,
    "mosh": _mosh,
    "sail": _sail,
}
