"""Programs that run another: where its words begin. One row each; what needs more than a row is a function."""

from typing import NamedTuple

from trotline.analysis.options import options
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.shell.parser import parsed
from trotline.analysis.step import Handler, Step, program_name
from trotline.analysis.streams import Stream
from trotline.analysis.tools.ssh_options import started

SHELLS = frozenset("ash bash csh dash fish ksh sh tcsh zsh".split())


class Prefix(NamedTuple):
    """A program whose own words end where another's begin."""

    valued: str = ""  # options of its own that take a value
    skips: int = 0  # words of its own after the options: a time, a lock file, a user
    verbs: str = ""  # the first word must be one of these, or nothing is run
    text: str = ""  # options whose value is a script
    privilege: bool = False
    elsewhere: bool = False  # it runs on another machine, or in another root


PREFIXES = {
    "arch": Prefix(),
    "caffeinate": Prefix("t w"),
    "catchsegv": Prefix(),
    "chronic": Prefix(),
    "chroot": Prefix("userspec groups", 1, elsewhere=True),
    "chrt": Prefix("T P D", 1),
    "doas": Prefix("u C", privilege=True),
    "dbus-run-session": Prefix("config-file dbus-daemon"),
    "direnv": Prefix("", 1, "exec"),
    "dotenv": Prefix("e f p"),
    "eatmydata": Prefix(),
    "fakeroot": Prefix("l s i b"),
    "faketime": Prefix("f", 1),
    "firejail": Prefix(),
    "flock": Prefix("w E timeout conflict-exit-code", 1, text="c command"),
    "gosu": Prefix("", 1, privilege=True),
    "ionice": Prefix("c n p u P class classdata"),
    "linux32": Prefix(),
    "linux64": Prefix(),
    "ltrace": Prefix("e o p s u n a"),
    "nice": Prefix("n adjustment"),
    "nohup": Prefix(),
    "nsenter": Prefix("t S G target setuid setgid", privilege=True),
    "numactl": Prefix("m N C physcpubind"),
    "pkexec": Prefix("user", privilege=True),
    "prlimit": Prefix("p pid"),
    "proxychains": Prefix("f"),
    "proxychains4": Prefix("f"),
    "rlwrap": Prefix("H f"),
    "runuser": Prefix("u g G s shell group supp-group", text="c command session-command", privilege=True),
    "script": Prefix("c E I O B T m o", text="c command"),
    "setarch": Prefix("", 1),
    "setpriv": Prefix("reuid regid groups inh-caps bounding-set"),
    "setsid": Prefix(),
    "softlimit": Prefix("a c d f l m o p r s t"),
    "ssh-agent": Prefix("a E t P O"),
    "stdbuf": Prefix("i o e input output error"),
    "strace": Prefix("a b e E I o O p P s S u U X"),
    "sudo": Prefix("C D g h p r R t T u U user group host prompt chdir", privilege=True),
    "systemd-inhibit": Prefix("what who why mode"),
    "systemd-run": Prefix("u p E unit property slice uid gid setenv working-directory on-calendar on-active on-boot"),
    "taskset": Prefix("", 1),
    "time": Prefix("f o format output"),
    "timeout": Prefix("k s kill-after signal", 1),
    "torsocks": Prefix(),
    "tsocks": Prefix(),
    "unbuffer": Prefix(),
    "unshare": Prefix("R S G w root wd setuid setgid", elsewhere=True),
    "valgrind": Prefix(),
    "with-contenv": Prefix(),
    "xvfb-run": Prefix("e f n p s w error-file auth-file server-num server-args"),
}


_ASKED = {"sudo": {"l", "list", "v", "validate", "K", "remove-timestamp", "V", "version"}}
"""Options with which a program says something about itself and runs nothing."""


def _prefix(step: Step) -> None:
    row = PREFIXES.get(step.name) or PREFIXES[step.name.lower()]
    words = step.words
    if row.verbs:
        if not words or words[0].text not in row.verbs.split():
            return
        words = words[1:]
    found = options(words, row.valued.split(), stops=True)
    texts = found.values(*row.text.split()) if row.text else []
    if step.name in _ASKED and found.flags.keys() & _ASKED[step.name]:
        return
    if row.privilege:
        step.effect("privilege", step.name, step.program)
    if step.name in {"strace", "ltrace"} and found.has("p", "attach"):
        step.effect("read", "memory", target=found.value("p", "attach"))
    if any(flag.startswith("on-") for flag in found.flags) and step.name == "systemd-run":
        step.effect("persist", "timer", step.program, writes=True)
    rest = list(found.rest[row.skips :])
    if row.text and row.skips and len(rest) > 1 and rest[0].text.lstrip("-") in row.text.split():
        texts = [rest[1]]  # `flock FILE -c SCRIPT`
    for text in texts:
        step.out = step.script(text)
    given = _assignments(rest) if step.name in {"sudo", "doas"} else {}
    if not texts and rest and rest[0].text == "--":
        rest.pop(0)
    if rest and not (texts and row.skips):
        if row.privilege and len(rest) == 1 and program_name(rest[0].text) in SHELLS:
            step.effect("privilege", "shell", step.program, target="root")
        step.out = step.reading.invoke(rest, step.scene, step.stdin, step, given, inherited=step.given)
    elif row.privilege and not texts and (found.has("i", "s", "login", "shell") or not found.flags):
        step.effect("privilege", "shell", step.program, target="root")
        _shell_of(step)


def _shell_of(step: Step) -> None:
    """A shell that reads its standard input."""
    step.out = step.run([step.program._replace(text="sh")])


def _su(step: Step) -> None:
    found = step.options("c s g G command shell group session-command".split())
    users = [word.text for word in found.rest if word.text != "-"]
    alone = not found.has("c", "command", "session-command")
    verb = "shell" if alone and step.name != "su" else step.name
    step.effect("privilege", verb, step.program, target=users[0] if users else "root")
    for text in found.values("c", "command", "session-command"):
        step.out = step.script(text)
    if alone:
        _shell_of(step)


def _runuser(step: Step) -> None:
    """With `-u` it is followed by a program; without, it is `su` by another name."""
    as_prefix = step.options("u user g G s".split(), stops=True).has("u", "user")
    (_prefix if as_prefix else _su)(step)


def _env(step: Step) -> None:
    found = step.options("u C S P unset chdir split-string".split(), stops=True)
    rest = [text._replace(text=part) for text in found.values("S", "split-string") for part in _split(text.text)]
    rest += found.rest
    bare = bool(rest) and rest[0].text == "-"  # the same as -i
    if bare:
        rest.pop(0)
    given = _assignments(rest)
    for name in found.values("u", "unset"):
        step.effect("environment", "unset", name, target=name.text)
    scene = step.scene
    for directory in found.values("C", "chdir"):
        scene = scene.copy()
        scene.cwd = scene.absolute(directory.text)
    if rest:
        step.out = step.reading.invoke(rest, scene, step.stdin, step, given, inherited=step.given)
        return
    if given:
        step.reading.environment(step, given)
    if not bare and not found.has("i", "ignore-environment"):
        _all_variables(step)


def _split(text: str) -> list[str]:
    """As `env -S` does, which knows quotes."""
    import shlex  # noqa: PLC0415 - few lines have it

    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _assignments(words: list[Argument]) -> dict[str, Argument]:
    """Take the variables that stand before a program off its words."""
    given: dict[str, Argument] = {}
    while words and "=" in words[0].text:
        name, _, value = words[0].text.partition("=")
        given[name] = words.pop(0)._replace(text=value)
    return given


def _all_variables(step: Step) -> None:
    step.effect("read", "environment", target="environment")
    step.out = Stream(None, frozenset({"environment"}))


def _printenv(step: Step) -> None:
    names = options(step.words).rest
    if not names:
        _all_variables(step)
        return
    for name in names:
        step.effect("read", "variable", name, target=name.text)
    step.out = Stream(None, frozenset({"environment"}))


XARGS_VALUED = "a d E I L n P s arg-file delimiter max-lines max-args max-procs max-chars process-slot-var eof".split()


def _xargs(step: Step) -> None:
    found = step.options(XARGS_VALUED, stops=True)
    rest = list(found.rest) or [step.program._replace(text="echo")]
    for file in found.values("a", "arg-file"):
        step.read(file)
    listed = _named_in(step, tuple(found.values("a", "arg-file")))
    at = step.program
    by_line = found.has("I", "i", "replace")
    names = [Argument(name, at.start, at.end) for name in _listed(listed.text or "", by_line=by_line)]
    if not names:
        foreign = step.stdin if step.stdin.origins & {"network", "decoded"} else None
        names = [Argument(UNKNOWN, at.start, at.end, "names come from standard input", stream=foreign)]
    _becomes_script(step, rest, names, found.value("I") or "{}")
    scene = step.scene.copy()
    scene.walks = scene.walks or bool(listed.names)
    names = [Argument(name, at.start, at.end, "what is found") for name in listed.names] or names
    mark = found.value("I", "replace") or ("{}" if found.has("I", "i", "replace") else "")
    if mark:
        for name in names[:16]:
            step.out = step.run([_replaced(word, mark, name) for word in rest], Stream(), scene=scene)
        return
    step.out = step.run([*rest, *names], Stream(), scene=scene)


def _named_in(step: Step, files: tuple[Argument, ...]) -> Stream:
    if not files:
        return step.stdin
    from trotline.analysis.tools.readers import contents  # noqa: PLC0415 - few lines have a file of arguments

    return contents(step, files)


def _listed(text: str, *, by_line: bool) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()] if by_line else text.split()


def _becomes_script(step: Step, rest: list[Argument], names: list[Argument], mark: str) -> None:
    """What comes through the pipe, where a shell reads it as words of its own."""
    if program_name(rest[0].text) not in SHELLS or not any(word.text.startswith("-") for word in rest[1:2]):
        return
    script = next((word for word in rest[1:] if not word.text.startswith("-")), rest[0])
    if not all(name.known for name in names) and mark in script.text:
        step.opaque("names that are not known become words of a script", script, source="names")
    elif step.stdin.text and any(word in script.text for word in ("$1", "$@", "$0", "$*")):
        step.script(step.program._replace(text=step.stdin.text))


def _replaced(word: Argument, mark: str, name: Argument) -> Argument:
    if mark not in word.text:
        return word
    text = word.text.replace(mark, name.text)
    return word._replace(text=text, why=word.why or name.why, stream=word.stream or name.stream)


def _parallel(step: Step) -> None:
    found = step.options("j a S I jobs arg-file sshlogin delay timeout colsep results joblog".split(), stops=True)
    words = list(found.rest)
    cut = next((at for at, word in enumerate(words) if word.text in {":::", "::::", ":::+"}), len(words))
    template, values = words[:cut], [word for word in words[cut + 1 :] if not word.text.startswith(":::")]
    names = values or [Argument(UNKNOWN, step.start, step.end, "names come from standard input")]
    if not template:
        for value in values or [
            step.program._replace(text=step.stdin.text or UNKNOWN, why="commands come from standard input")
        ]:
            step.out = step.script(value)
        return
    if not any("{" in word.text for word in template):
        template = [*template, Argument("{}")]
    for name in names[:16]:
        words = [word._replace(text=word.text.replace("{}", name.text)) for word in template]
        text = " ".join(word.text for word in words)
        if parsed(text).fault:
            step.out = step.run(words)  # quotes that parallel would have taken away
        else:
            step.out = step.script(template[0]._replace(text=text, end=template[-1].end))


def _watch(step: Step) -> None:
    found = step.options("n interval q equexit".split(), stops=True)
    if found.has("x", "exec"):
        step.out = step.run(found.rest)
    elif found.rest:
        text = " ".join(word.text for word in found.rest)
        step.out = step.script(found.rest[0]._replace(text=text, end=found.rest[-1].end))
        step.run(found.rest)  # people write it as if it were run so


def _entr(step: Step) -> None:
    found = step.options(stops=True)
    if found.has("s") and found.rest:
        step.script(found.rest[0], Stream())
    elif found.rest:
        step.run(found.rest, Stream())


SSH_VALUED = "B b c D E e F I i J L l m O o p Q R S W w".split()


def _ssh(step: Step) -> None:
    found = step.options(SSH_VALUED, stops=True)
    started(step, found.values("o"))
    for key in found.values("i"):
        step.effect("read", "authenticate", key, path=step.path(key))
    if not found.rest:
        return
    host = found.rest[0].text.rpartition("@")[2]
    step.effect("connect", "ssh", found.rest[0], host=host)
    for way in found.values("R", "D", "w"):
        step.effect("connect", "way back", way, host=host, target=way.text)
    words = found.rest[1:]
    if words and step.stdin.carried:
        step.send(host, found.rest[0], source=step.stdin.carried, verb="ssh")
    if words:
        remote = step.scene.elsewhere()
        remote.cwd = remote.world.home
        text = " ".join(word.text for word in words)
        step.script(words[0]._replace(text=text, end=words[-1].end), scene=remote)
    elif step.stdin.text or step.stdin.origins:
        _shell_of(step)
    step.out = Stream(None, frozenset({"network"}))


def _at(step: Step) -> None:
    found = step.options("f q t".split())
    if found.has("d", "r"):
        step.effect("persist", "remove", step.program, target="jobs of at", writes=True)
        return
    if found.has("l", "c", "V"):  # they list and show
        return
    step.effect("persist", step.name, step.program)
    if step.stdin.text is not None:
        step.script(step.program._replace(text=step.stdin.text))
    for file in found.values("f"):
        step.effect("execute", "run", file, path=step.path(file), source="file")


def _crontab(step: Step) -> None:
    found = step.options("u".split())
    if found.has("l"):
        return
    if found.has("r"):
        step.effect("persist", "remove", step.program, target="crontab", writes=True)
        return
    step.effect("persist", "crontab", step.program, target="crontab", writes=True)
    text = step.stdin.text or ""
    for line in text.splitlines():
        command = line.split(None, 5)[5:] if not line.startswith("@") else line.split(None, 1)[1:]
        if command and "=" not in line.split()[0]:
            step.script(step.program._replace(text=command[0]))


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(PREFIXES, _prefix),
    "at": _at,
    "batch": _at,
    "crontab": _crontab,
    "entr": _entr,
    "env": _env,
    "parallel": _parallel,
    "printenv": _printenv,
    "runuser": _runuser,
    "ssh": _ssh,
    "su": _su,
    "watch": _watch,
    "xargs": _xargs,
}
