"""Programs that run another program: a row each, or a function where a row is not enough."""

from collections.abc import Sequence
from typing import NamedTuple

from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.programs import SHELLS, enter_directories, join_words, print_variables
from trotline.analysis.shell.invocation import Handler, Invocation, get_program_name
from trotline.analysis.shell.parser import parse_script
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream

PROGRAM = "program"  # the words are a program with its arguments
QUOTED = "quoted"  # the same, but a single word with a space is a line for a shell
LINE = "line"  # the words together are a line for a shell
LINES = "lines"  # each word is a line for a shell


class Wrapper(NamedTuple):
    """A program that runs another one: its options, and the form of the wrapped words."""

    valued: str = ""  # options of the wrapper that take a value
    verbs: str = ""  # the first word must be one of these, or nothing is run
    form: str = PROGRAM
    skips: int = 0  # words of the wrapper before the wrapped program: a time, a lock file, a user
    scripts: str = ""  # options whose value is a line for a shell
    separators: str = ""  # words after which the wrapped program comes
    bare: bool = True  # the wrapped program may also come without a separator
    privilege: bool = False  # the program gets more rights
    assigns: bool = False  # variables for the wrapped program come before it
    info_options: str = ""  # options with which it only shows something and runs nothing


_BOX = Wrapper(
    "n name c container d distro r release a additional-flags",
    "enter run exec",
    QUOTED,
    separators="-e --exec --",
    bare=False,
)

_WRAPPER_ROWS = {
    "arch busybox catchsegv chronic eatmydata firejail linux32 linux64 lvm nohup setsid shx torsocks toybox tsocks"
    " unbuffer valgrind with-contenv": Wrapper(),
    "adb": Wrapper("s t H P L", "shell", LINE),
    "caffeinate": Wrapper("t w"),
    "cargo-watch": Wrapper("w watch i ignore d delay E env C workdir features", form=QUOTED, scripts="s shell"),
    "chroot": Wrapper("userspec groups", skips=1),
    "chrt": Wrapper("T P D", skips=1),
    "concurrently": Wrapper(
        "n names c prefix-colors p prefix m max-processes l prefix-length restart-tries", form=LINES
    ),
    "cpulimit": Wrapper("l p e P limit pid exe path"),
    "cross-env": Wrapper(assigns=True),
    "cross-env-shell": Wrapper(form=LINE, assigns=True),
    "dbus-run-session": Wrapper("config-file dbus-daemon"),
    "devbox": Wrapper("c config e env env-file", "run", QUOTED),
    "direnv": Wrapper("", "exec", skips=1),
    "distrobox": _BOX,
    "distrobox-enter": _BOX._replace(verbs=""),
    "doas": Wrapper("u C", privilege=True, assigns=True),
    "dotenv": Wrapper("e f p"),
    "dotenvx": Wrapper("f env-file e env fk", "run", QUOTED),
    "dumb-init": Wrapper("r rewrite", form=QUOTED),
    "elvish osh ysh": Wrapper(scripts="c", bare=False),
    "envchain": Wrapper(form=QUOTED, skips=1),
    "fab": Wrapper("H hosts i identity c collection", form=LINE, separators="--", bare=False),
    "fakeroot": Wrapper("l s i b"),
    "faketime": Wrapper("f", skips=1),
    "fc": Wrapper(scripts="e", bare=False),
    "flatpak-spawn ifne wine wine64": Wrapper(form=QUOTED),
    "flock": Wrapper("w E timeout conflict-exit-code", skips=1, scripts="c command"),
    "foreman": Wrapper("f procfile e env d root p port", "run", QUOTED),
    "gosu": Wrapper(skips=1, privilege=True),
    "guix": Wrapper("", "shell environment time-machine", QUOTED, separators="--", bare=False),
    "honcho": Wrapper("f procfile e env d app-root p port", "run", QUOTED),
    "hyperfine": Wrapper(
        "w r m M n S u L P warmup runs min-runs max-runs command-name shell parameter-list parameter-scan export-json"
        " export-csv export-markdown export-asciidoc export-orgmode style sort input output time-unit reference",
        form=LINES,
        scripts="p prepare c cleanup s setup conclude",
    ),
    "ionice": Wrapper("c n p u P class classdata"),
    "ld.so ld-linux.so ld-linux-x86-64.so.2 ld-linux-aarch64.so.1": Wrapper(
        "library-path preload audit argv0 inhibit-rpath"
    ),
    "ltrace": Wrapper("e o p s u n a"),
    "man": Wrapper("C M m S s e L p", scripts="P pager H html", bare=False),
    "mprocs": Wrapper("c config s server ctl names", form=LINES),
    "nice": Wrapper("n adjustment"),
    "nix": Wrapper(
        "I A f file expr override-input inputs-from", "develop shell run", QUOTED, separators="-c --command", bare=False
    ),
    "nix-shell": Wrapper("p packages I A attr E expr i", scripts="run command", bare=False),
    "nodemon": Wrapper("w watch e ext i ignore d delay", scripts="x exec", bare=False),
    "nsenter": Wrapper("t S G target setuid setgid", privilege=True),
    "nu": Wrapper("config env-config I include-path", scripts="c commands e execute", bare=False),
    "numactl": Wrapper("m N C physcpubind"),
    "perf": Wrapper(
        "e event o output F freq p pid t tid C cpu g r repeat c count", "stat record trace ftrace kvm mem", QUOTED
    ),
    "pixi": Wrapper("e environment manifest-path s spec c channel p platform w with", "run exec x", QUOTED),
    "pkexec": Wrapper("user", privilege=True),
    "prlimit": Wrapper("p pid"),
    "proxychains proxychains4": Wrapper("f"),
    "pueue": Wrapper("d delay g group l label w working-directory a after o priority", "add", LINE),
    "qemu-aarch64 qemu-arm qemu-i386 qemu-x86_64": Wrapper("L E U cpu R B s", form=QUOTED),
    "retry": Wrapper("t times d delay m min x max u until w while", form=QUOTED),
    "rlwrap": Wrapper("H f"),
    "runuser": Wrapper("u g G s shell group supp-group", scripts="c command session-command", privilege=True),
    "rye": Wrapper("pyproject", "run", QUOTED),
    "script": Wrapper("E I O B T m o", scripts="c command"),
    "setarch taskset": Wrapper(skips=1),
    "setpriv": Wrapper("reuid regid groups inh-caps bounding-set"),
    "softlimit": Wrapper("a c d f l m o p r s t"),
    "ssh-agent": Wrapper("a E t P O"),
    "sshpass": Wrapper("p f d P", form=QUOTED),
    "stdbuf": Wrapper("i o e input output error"),
    "strace": Wrapper("a b e E I o O p P s S u U X"),
    "sudo": Wrapper(
        "C D g h p r R t T u U user group host prompt chdir",
        privilege=True,
        assigns=True,
        info_options="l list v validate K remove-timestamp V version",
    ),
    "systemd-inhibit": Wrapper("what who why mode"),
    "systemd-run": Wrapper("u p E unit property slice uid gid setenv working-directory on-calendar on-active on-boot"),
    "teller": Wrapper("c config", "run", QUOTED),
    "time": Wrapper("f o format output"),
    "timeout": Wrapper("k s kill-after signal", skips=1),
    "tini": Wrapper("p e", form=QUOTED),
    "toolbox": _BOX._replace(separators="-e --exec", bare=True),
    "tsp": Wrapper("L N S D W O s a o p k w r t c i u", form=QUOTED),
    "unshare": Wrapper("R S G w root wd setuid setgid"),
    "watchexec": Wrapper(
        "e exts f filter filter-prog i ignore w watch W watch-non-recursive d debounce s signal stop-signal"
        " stop-timeout shell o on-busy-update E env workdir project-origin ignore-file"
        " filter-file delay-run poll map-signal",
        form=LINE,
    ),
    "wsl": Wrapper("d distribution u user cd shell-type", form=QUOTED, separators="-e --exec"),
    "xonsh": Wrapper("D", scripts="c", bare=False),
    "xvfb-run": Wrapper("e f n p s w error-file auth-file server-num server-args"),
}
WRAPPERS = {name: row for names, row in _WRAPPER_ROWS.items() for name in names.split()}


def analyze_wrapper(call: Invocation, row: Wrapper) -> None:
    """Analyze the scripts and the program that a wrapper runs."""
    words = call.args
    if row.verbs:
        if not words or words[0].text not in row.verbs.split():
            return
        words = words[1:]
    options, rest = _split_off_wrapped_words(words, row)
    if options.flags.keys() & set(row.info_options.split()):
        return
    if row.privilege:
        call.add_effect("privilege", call.name, call.program)
    scripts = options.values(*row.scripts.split())
    # The script option may also come after the skipped words: flock FILE -c SCRIPT.
    if row.skips and len(rest) > 1 and rest[0].text.lstrip("-") in row.scripts.split():
        scripts = [rest[1]]
    for script in scripts:
        call.stdout = call.analyze_script(script)
    assignments = take_assignments(rest) if row.assigns else {}
    # With both, as in flock -c, the rest belongs to the script option and is not a program.
    if rest and not (scripts and row.skips):
        _analyze_wrapped_words(call, row, rest, assignments)
    # sudo -i, or no option at all: no command means a root shell.
    elif row.privilege and not scripts and (options.has("i", "s", "login", "shell") or not options.flags):
        call.add_effect("privilege", "shell", call.program, target="root")
        analyze_shell(call)


def _split_off_wrapped_words(words: Sequence[Argument], row: Wrapper) -> tuple[ParsedOptions, list[Argument]]:
    """Split the words into the wrapper's options and the wrapped command.

    The command begins after a word from `row.separators`; without one, after the options and `row.skips` words, if
    `row.bare` allows it.
    """
    separators = row.separators.split()
    separator_index = next((index for index, word in enumerate(words) if word.text in separators), len(words))
    # With LINES every word that is not an option is a command, so options may also follow the first command.
    stops = row.bare and row.form != LINES
    options = parse_options(words[:separator_index], f"{row.valued} {row.scripts}", stops=stops)
    if separator_index < len(words):
        return options, list(words[separator_index + 1 :])
    return options, list(options.rest[row.skips :]) if row.bare else []


def _analyze_wrapped_words(
    call: Invocation, row: Wrapper, words: list[Argument], assignments: dict[str, Argument]
) -> None:
    words = words[1:] if words and words[0].text == "--" else words
    if row.privilege and len(words) == 1 and get_program_name(words[0].text) in SHELLS:
        call.add_effect("privilege", "shell", call.program, target="root")
    if row.form == LINES:
        for word in words:
            call.stdout = call.analyze_script(word)
    elif words and (row.form == LINE or (row.form == QUOTED and len(words) == 1 and " " in words[0].text)):
        call.analyzer.analyze_assignments(call, assignments)
        call.stdout = call.analyze_script(join_words(words))
    else:
        call.stdout = call.analyzer.invoke(words, call.state, call.stdin, call, assignments, inherited=call.assignments)


def analyze_shell(call: Invocation) -> None:
    """Analyze a shell that reads the standard input."""
    call.stdout = call.analyze_command([call.program._replace(text="sh")])


def _handle_wrapper(call: Invocation) -> None:
    analyze_wrapper(call, WRAPPERS[call.name])


def _handle_trace(call: Invocation) -> None:
    """`strace -p` reads the memory of a running process."""
    options = call.parse_options(WRAPPERS[call.name].valued, stops=True)
    if options.has("p", "attach"):
        call.add_effect("read", "memory", target=options.value("p", "attach"))
    _handle_wrapper(call)


def _handle_systemd_run(call: Invocation) -> None:
    options = call.parse_options(WRAPPERS[call.name].valued, stops=True)
    if any(flag.startswith("on-") for flag in options.flags):
        call.add_effect("persist", "timer", call.program, writes=True)
    _handle_wrapper(call)


# Other users


def _handle_su(call: Invocation) -> None:
    options = call.parse_options("c s g G command shell group session-command")
    users = [word.text for word in options.rest if word.text != "-"]
    has_command = options.has("c", "command", "session-command")
    verb = call.name if has_command or call.name == "su" else "shell"
    call.add_effect("privilege", verb, call.program, target=users[0] if users else "root")
    for text in options.values("c", "command", "session-command"):
        call.stdout = call.analyze_script(text)
    if not has_command:
        analyze_shell(call)


def _handle_runuser(call: Invocation) -> None:
    """With `-u` a program follows; without it, runuser works like `su`."""
    has_user = call.parse_options("u user g G s", stops=True).has("u", "user")
    (_handle_wrapper if has_user else _handle_su)(call)


# Variables


def _handle_env(call: Invocation) -> None:
    options = call.parse_options("u C S P unset chdir split-string", stops=True)
    rest = [
        text._replace(text=part)
        for text in options.values("S", "split-string")
        for part in _split_env_string(text.text)
    ]
    rest += options.rest
    clears_environment = bool(rest) and rest[0].text == "-"  # the same as -i
    if clears_environment:
        rest.pop(0)
    assignments = take_assignments(rest)
    for name in options.values("u", "unset"):
        call.add_effect("environment", "unset", name, target=name.text)
    state = enter_directories(call.state, options.values("C", "chdir"))
    if rest:
        call.stdout = call.analyzer.invoke(rest, state, call.stdin, call, assignments, inherited=call.assignments)
        return
    if assignments:
        call.analyzer.analyze_assignments(call, assignments)
    if not clears_environment and not options.has("i", "ignore-environment"):
        print_variables(call)


def _split_env_string(text: str) -> list[str]:
    """Split the value of `env -S`, which may contain quotes."""
    import shlex  # noqa: PLC0415 - few lines have it

    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def take_assignments(words: list[Argument]) -> dict[str, Argument]:
    """Remove the variables before a program from its words, and return them."""
    assignments: dict[str, Argument] = {}
    while words and "=" in words[0].text:
        name, _, value = words[0].text.partition("=")
        assignments[name] = words.pop(0)._replace(text=value)
    return assignments


def _handle_printenv(call: Invocation) -> None:
    names = parse_options(call.args).rest
    if not names:
        print_variables(call)
        return
    for name in names:
        call.add_effect("read", "variable", name, target=name.text)
    call.stdout = Stream(None, frozenset({"environment"}))


# A program for each line of the input

MAX_RUNS = 16
"""Arguments for which a repeated command is analyzed; the rest is assumed to be like them."""

_XARGS_VALUED = "a d E I L n P s arg-file delimiter max-lines max-args max-procs max-chars process-slot-var eof"


def _handle_xargs(call: Invocation) -> None:
    options = call.parse_options(_XARGS_VALUED, stops=True)
    rest = list(options.rest) or [call.program._replace(text="echo")]
    for file in options.values("a", "arg-file"):
        call.add_read(file)
    source = _get_argument_source(call, tuple(options.values("a", "arg-file")))
    arg = call.program
    replaces = options.has("I", "i", "replace")
    names = [Argument(name, arg.start, arg.end) for name in _split_arguments(source.text or "", by_line=replaces)]
    if not names:
        foreign = call.stdin if call.stdin.origins & {"network", "decoded"} else None
        names = [Argument(UNKNOWN_CHAR, arg.start, arg.end, "names come from standard input", stream=foreign)]
    _analyze_input_as_script(call, rest, names, options.value("I") or "{}")
    state = call.state.copy()
    state.walks_tree = state.walks_tree or bool(source.listed_paths)
    names = [Argument(name, arg.start, arg.end, "what is found") for name in source.listed_paths] or names
    placeholder = options.value("I", "replace") or ("{}" if replaces else "")
    if placeholder:
        for name in names[:MAX_RUNS]:
            call.stdout = call.analyze_command(
                [_replace_placeholder(word, placeholder, name) for word in rest], Stream(), state=state
            )
        return
    call.stdout = call.analyze_command([*rest, *names], Stream(), state=state)


def _get_argument_source(call: Invocation, files: tuple[Argument, ...]) -> Stream:
    if not files:
        return call.stdin
    from trotline.analysis.programs.readers import read_contents  # noqa: PLC0415 - few lines have a file of arguments

    return read_contents(call, files)


def _split_arguments(text: str, *, by_line: bool) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()] if by_line else text.split()


def _analyze_input_as_script(call: Invocation, rest: list[Argument], names: list[Argument], placeholder: str) -> None:
    """Analyze the input as a script if a shell gets it as its arguments: `xargs -I{} sh -c '{}'`."""
    if get_program_name(rest[0].text) not in SHELLS or not any(word.text.startswith("-") for word in rest[1:2]):
        return
    script = next((word for word in rest[1:] if not word.text.startswith("-")), rest[0])
    if not all(name.is_known for name in names) and placeholder in script.text:
        call.add_opaque("names that are not known become words of a script", script, source="names")
    elif call.stdin.text and any(word in script.text for word in ("$1", "$@", "$0", "$*")):
        call.analyze_script(call.program._replace(text=call.stdin.text))


def _replace_placeholder(word: Argument, placeholder: str, name: Argument) -> Argument:
    if placeholder not in word.text:
        return word
    text = word.text.replace(placeholder, name.text)
    return word._replace(text=text, why=word.why or name.why, stream=word.stream or name.stream)


def _handle_parallel(call: Invocation) -> None:
    options = call.parse_options("j a S I jobs arg-file sshlogin delay timeout colsep results joblog", stops=True)
    words = list(options.rest)
    end = next((index for index, word in enumerate(words) if word.text in {":::", "::::", ":::+"}), len(words))
    template, values = words[:end], [word for word in words[end + 1 :] if not word.text.startswith(":::")]
    names = values or [Argument(UNKNOWN_CHAR, call.start, call.end, "names come from standard input")]
    if not template:
        unknown = call.program._replace(text=call.stdin.text or UNKNOWN_CHAR, why="commands come from standard input")
        for value in values or [unknown]:
            call.stdout = call.analyze_script(value)
        return
    if not any("{" in word.text for word in template):
        template = [*template, Argument("{}")]
    for name in names[:MAX_RUNS]:
        words = [word._replace(text=word.text.replace("{}", name.text)) for word in template]
        text = " ".join(word.text for word in words)
        if parse_script(text).error:
            call.stdout = call.analyze_command(words)  # parallel would have removed these quotes
        else:
            call.stdout = call.analyze_script(template[0]._replace(text=text, end=template[-1].end))


# Programs that repeat or delay a command


def _handle_watch(call: Invocation) -> None:
    options = call.parse_options("n interval q equexit", stops=True)
    if options.has("x", "exec"):
        call.stdout = call.analyze_command(options.rest)
    elif options.rest:
        call.stdout = call.analyze_script(join_words(options.rest))
        call.analyze_command(options.rest)  # people often expect that watch runs the words without a shell


def _handle_entr(call: Invocation) -> None:
    options = call.parse_options(stops=True)
    if options.has("s") and options.rest:
        call.analyze_script(options.rest[0], Stream())
    elif options.rest:
        call.analyze_command(options.rest, Stream())


def _handle_cargo_watch(call: Invocation) -> None:
    """`-x test` runs `cargo test`; other options work as in the row."""
    options = call.parse_options(f"{WRAPPERS[call.name].valued} s shell x exec", stops=True)
    for text in options.values("x", "exec"):
        call.analyze_script(text._replace(text=f"cargo {text.text}"))
    _handle_wrapper(call)


def _handle_at(call: Invocation) -> None:
    options = call.parse_options("f q t")
    if options.has("d", "r"):
        call.add_effect("persist", "remove", call.program, target="jobs of at", writes=True)
        return
    if options.has("l", "c", "V"):  # these list and show
        return
    call.add_effect("persist", call.name, call.program)
    if call.stdin.text is not None:
        call.analyze_script(call.program._replace(text=call.stdin.text))
    for file in options.values("f"):
        call.add_run(file)


def _handle_crontab(call: Invocation) -> None:
    options = call.parse_options("u")
    if options.has("l"):
        return
    if options.has("r"):
        call.add_effect("persist", "remove", call.program, target="crontab", writes=True)
        return
    call.add_effect("persist", "crontab", call.program, target="crontab", writes=True)
    for line in (call.stdin.text or "").splitlines():
        command = line.split(None, 5)[5:] if not line.startswith("@") else line.split(None, 1)[1:]
        if command and "=" not in line.split()[0]:
            call.analyze_script(call.program._replace(text=command[0]))


# Programs with a syntax of their own

_SAIL_PROGRAMS = frozenset("artisan php composer node npm npx yarn pnpm bun mysql psql redis mariadb".split())


def _handle_sail(call: Invocation) -> None:
    """Laravel Sail runs programs of the project by their names; any other word is one of Docker Compose."""
    if call.args and call.args[0].text in _SAIL_PROGRAMS:
        call.stdout = call.analyze_command(call.args)
    elif call.args:
        call.stdout = call.analyze_command(
            [call.program._replace(text="docker"), call.program._replace(text="compose"), *call.args]
        )


_TWO_VALUES = frozenset(
    "--bind --bind-try --ro-bind --ro-bind-try --dev-bind --symlink --setenv --file --bind-data".split()
)
_ONE_VALUE = frozenset(
    "--dev --proc --tmpfs --dir --chdir --unsetenv --uid --gid --hostname --cap-add --seccomp".split()
)


def _handle_bwrap(call: Invocation) -> None:
    words = list(call.args)
    while words and words[0].text.startswith("--"):
        option = words[0].text
        words = words[3 if option in _TWO_VALUES else 2 if option in _ONE_VALUE else 1 :]
    if words:
        call.stdout = call.analyze_command(words)


def _handle_logsave(call: Invocation) -> None:
    """`logsave FILE PROGRAM ...`."""
    words = parse_options(call.args, stops=True).rest
    if len(words) > 1:
        call.add_write(words[0])
        call.stdout = call.analyze_command(words[1:])


def _handle_run_parts(call: Invocation) -> None:
    for arg in call.parse_options("a u arg umask regex").rest[:1]:
        call.add_effect("execute", "run", arg, path=call.resolve(arg), source="file", recursive=True)


def _handle_start_stop_daemon(call: Invocation) -> None:
    call.args = [word for word in call.args if word.text != "--start"]  # not an abbreviation of `--startas`
    options = call.parse_options("x a p u g d N n s exec startas pidfile user chdir name signal")
    programs = options.values("a", "startas") or options.values("x", "exec")
    if options.has("K", "stop"):
        call.add_effect("system", "stop service", target=options.value("n", "name", "x", "exec"), writes=True)
    elif programs:
        call.analyze_command([programs[-1], *options.rest], Stream())


def _handle_hg(call: Invocation) -> None:
    """`--config alias.x='!...'` and `--config hooks.y=...` run a program, like `git -c`."""
    for setting in call.parse_options("config R cwd").values("config"):
        key, _, value = setting.text.partition("=")
        if value.startswith("!") or key.startswith("hooks."):
            call.analyze_script(setting._replace(text=value.removeprefix("!")))


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(WRAPPERS, _handle_wrapper),
    **dict.fromkeys(("strace", "ltrace"), _handle_trace),
    **dict.fromkeys(("at", "batch"), _handle_at),
    "bwrap": _handle_bwrap,
    "cargo-watch": _handle_cargo_watch,
    "crontab": _handle_crontab,
    "entr": _handle_entr,
    "env": _handle_env,
    "hg": _handle_hg,
    "logsave": _handle_logsave,
    "parallel": _handle_parallel,
    "printenv": _handle_printenv,
    "run-parts": _handle_run_parts,
    "runuser": _handle_runuser,
    "sail": _handle_sail,
    "start-stop-daemon": _handle_start_stop_daemon,
    "su": _handle_su,
    "systemd-run": _handle_systemd_run,
    "watch": _handle_watch,
    "xargs": _handle_xargs,
}
