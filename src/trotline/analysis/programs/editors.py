"""Interactive programs: editors, terminal multiplexers, debuggers, clipboard and screenshots."""

import re

from trotline.analysis.options import parse_options
from trotline.analysis.packages.package_specs import build_purl
from trotline.analysis.programs import join_words
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream
from trotline.formats.lazy_regex import lazy_regex

_SHELL_ESCAPE = lazy_regex(r"^[\s:]*(?:%|\d+,\d+|[rw]\s*)?!(.*)$", re.DOTALL)
_VIM_CALL = lazy_regex(r"""(?:call\s+)?(?:system|systemlist|termopen|jobstart)\s*\(\s*(["'])(.*?)\1""")
_LUA_CALL = lazy_regex(r"""os\.execute\s*\(\s*(["'])(.*?)\1""")


def _handle_vim(call: Invocation) -> None:
    words = [word._replace(text="-e") if word.text in {"-es", "-Es"} else word for word in call.args]
    options = parse_options(words, "c cmd u U S s w W T i")
    commands = [word._replace(text=word.text[1:]) for word in options.rest if word.text.startswith("+")]
    commands += options.values("c", "cmd")
    files = [word for word in options.rest if not word.text.startswith("+")]
    reads_script = words != call.args and call.stdin.text
    if reads_script or call.name in {"ex", "ed"}:
        arg = call.program
        commands += [Argument(line, arg.start, arg.end) for line in (call.stdin.text or "").splitlines()]
    for arg in commands:
        _analyze_vim_command(call, arg)
    for arg in options.values("S"):
        call.add_run(arg)
    for arg in commands:
        if match := _WRITE_COMMAND.match(arg.text):
            call.add_write(arg._replace(text=call.state.expand_tilde(match[1])), verb="edit")
    writes = any(re.match(r"[\s:]*(?:silent\s+)?(?:w|x|wq|wqa|xa|wa|up)\b", arg.text) for arg in commands)
    for arg in files:
        call.add_read(arg)
        if writes:
            call.add_write(arg, verb="edit")


_WRITE_COMMAND = lazy_regex(r"[\s:]*(?:silent!?\s+)?(?:w|write|sav|saveas|up)!?\s+(?:>>\s*)?([~/.\w][^\s|]*)\s*$")


def _analyze_vim_command(call: Invocation, arg: Argument) -> None:
    """Analyze the shell commands in a vi command. `|` separates vi commands, but after `!` it belongs to the shell."""
    for part in arg.text.split("|") if not _SHELL_ESCAPE.match(arg.text) else [arg.text]:
        match = _SHELL_ESCAPE.match(part.strip().removeprefix("silent ").removeprefix("exe ").strip("'\""))
        if match and match[1].strip():
            call.analyze_script(arg._replace(text=match[1]))
        for pattern in (_VIM_CALL, _LUA_CALL):
            for quoted in pattern.finditer(part):
                call.analyze_script(arg._replace(text=quoted[2]))


_ELISP_SHELL = lazy_regex(
    r'\((?:shell-command|call-process-shell-command|async-shell-command)(?:-to-string)?\s+"((?:[^"\\]|\\.)*)"'
)
_ELISP_DELETE = lazy_regex(r'\(delete-(file|directory)\s+"((?:[^"\\]|\\.)*)"')


def _handle_emacs(call: Invocation) -> None:
    options = call.parse_options("eval execute f funcall u", runs="l load script")
    for arg in options.values("eval", "execute"):
        for match in _ELISP_SHELL.finditer(arg.text):
            call.analyze_script(arg._replace(text=match[1].replace('\\"', '"')))
        for match in _ELISP_DELETE.finditer(arg.text):
            name = arg._replace(text=call.state.expand_tilde(match[2]) if match[2].startswith("~") else match[2])
            call.add_delete(name, recursive=match[1] == "directory")


def _handle_expect(call: Invocation) -> None:
    options = call.parse_options("c f d", stops=True)
    texts = options.values("c") or ([call.program._replace(text=call.stdin.text)] if call.stdin.text else [])
    for arg in texts:
        for line in re.split(r"[;\n]", arg.text):
            words = line.split(None, 1)
            if len(words) > 1 and words[0] in {"spawn", "exec", "system"}:
                call.analyze_script(arg._replace(text=words[1]))
    for arg in options.rest[:1]:
        call.add_run(arg)


_TMUX_RUN_VERBS = frozenset(
    "new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window popup"
    " display-popup run run-shell if if-shell pipep pipe-pane".split()
)


def _handle_tmux(call: Invocation) -> None:
    options = parse_options(call.args, "c f L S T", stops=True)
    rest = list(options.rest)
    while rest:
        end = next((index for index, word in enumerate(rest) if word.text == ";"), len(rest))
        _analyze_tmux_command(call, rest[:end])
        rest = rest[end + 1 :]


def _analyze_tmux_command(call: Invocation, words: list[Argument]) -> None:
    if not words:
        return
    verb = words[0].text
    if verb in {"send", "send-keys"}:
        keys = parse_options(words[1:], "t N").rest
        text = " ".join(word.text for word in keys if word.text not in {"Enter", "C-m", "Space", "KPEnter"})
        if text:
            call.analyze_script(keys[0]._replace(text=text, end=keys[-1].end), Stream())
    elif verb in _TMUX_RUN_VERBS:
        command = parse_options(words[1:], "t s n c x y e F l p S w h", stops=True).rest
        _analyze_script_or_command(call, command)
    elif verb in {"kill-server", "kill-session"}:
        call.add_effect("process", "kill by name", words[0], target=f"tmux {verb}", source="TERM", writes=True)


def _analyze_script_or_command(call: Invocation, words: tuple[Argument, ...]) -> None:
    """Analyze one word as a line for a shell, and several as a program with its arguments."""
    if len(words) == 1:
        call.analyze_script(words[0], Stream())
    elif words:
        call.analyze_command(words, Stream())


def _handle_screen(call: Invocation) -> None:
    options = call.parse_options("S c e h p s t T X", stops=True)
    sends = options.values("X")
    if sends and sends[0].text == "stuff" and options.rest:
        call.analyze_script(options.rest[0]._replace(text=options.rest[0].text.replace("\\n", "\n").rstrip()), Stream())
    elif (sends and sends[0].text == "exec") or not sends:
        call.analyze_command(options.rest, Stream())


_GDB_SHELL = lazy_regex(r"^\s*(?:shell|!|make|pipe|\|)\s*(.*)$", re.DOTALL)
_GDB_CALL = lazy_regex(r"""(?:system|popen|execl\w*)\s*\(\s*(?:\(\w+\s*\*?\)\s*)?"((?:[^"\\]|\\.)*)\"""")


def _handle_gdb(call: Invocation) -> None:
    valued = "ex eval-command iex p pid c core o one-line O k attach-pid e"
    options = call.parse_options(valued, runs="x command S source", long_dash=True)
    for arg in options.values("ex", "eval-command", "iex", "o", "one-line", "O", "k"):
        match = _GDB_SHELL.match(arg.text)
        if match and match[1]:
            call.analyze_script(arg._replace(text=match[1]))
        for quoted in _GDB_CALL.finditer(arg.text):
            call.analyze_script(arg._replace(text=quoted[1].replace('\\"', '"')))
    process = options.value("p", "pid", "attach-pid") or next(
        (w.text for w in options.rest[1:2] if w.text.isdigit()), ""
    )
    if process:
        call.add_effect("read", "memory", target=process)
    if options.has("args"):
        call.analyze_command(options.rest, Stream())


_M4_SHELL = lazy_regex(r"\b(?:esyscmd|syscmd)\(\s*[`']?([^)'`]*)")


def _handle_m4(call: Invocation) -> None:
    for match in _M4_SHELL.finditer(call.stdin.text or ""):
        call.analyze_script(call.program._replace(text=match[1]))
    for arg in call.parse_options("D I U").rest[:1]:
        call.add_run(arg)


def _handle_vscode(call: Invocation) -> None:
    """Add installs of extensions, which the editor runs as the user, from its registry or from a file."""
    options = call.parse_options("install-extension extensions-dir user-data-dir profile g goto")
    for arg in options.values("install-extension"):
        if arg.text.lower().endswith(".vsix"):
            fields = {"package": arg.text, "path": call.resolve(arg), "source": "path"}
        else:
            name, _, version = arg.text.partition("@")
            fields = {"package": build_purl("vscode", name, version), "source": "registry"}
        call.add_effect("install", "install", arg, target="user", writes=True, **fields)


# The desktop


def _handle_xdotool(call: Invocation) -> None:
    """Analyze typed keys as a script, because the front window may be a terminal."""
    words = call.parse_options("delay window file d s M m P p k key-delay key-hold").rest
    verb = next((index + 1 for index, word in enumerate(words) if word.text == "type"), len(words))
    typed = words if call.name == "wtype" and verb == len(words) else words[verb:]
    if typed:
        call.analyze_script(join_words(typed), Stream())


def _handle_clipboard(call: Invocation) -> None:
    """Reading the clipboard is an effect; writing to it is not."""
    options = call.parse_options("selection sel display d", long_dash=True)
    if call.name in {"pbpaste", "wl-paste"} or options.flags.keys() & {"o", "out", "output", "b-o", "ob", "bo"}:
        call.add_effect("read", "clipboard", target="clipboard")
        call.stdout = Stream(None, frozenset({"clipboard"}))


def _handle_screenshot(call: Invocation) -> None:
    files = [word for word in call.args if word.is_known and not word.text.startswith("-")]
    call.add_effect("read", "screen", target="screen")
    for arg in files[-1:]:
        call.add_write(arg)
        call.state.record_write(call.resolve(arg), Stream(None, frozenset({"screen"})))


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("code code-insiders codium cursor kiro positron trae vscodium windsurf".split(), _handle_vscode),
    **dict.fromkeys("vim vi nvim ex ed rvim gvim vimdiff".split(), _handle_vim),
    **dict.fromkeys("emacs emacsclient".split(), _handle_emacs),
    **dict.fromkeys("gdb lldb".split(), _handle_gdb),
    **dict.fromkeys("dotool wtype xdotool ydotool".split(), _handle_xdotool),
    **dict.fromkeys("pbcopy pbpaste xclip xsel wl-copy wl-paste".split(), _handle_clipboard),
    **dict.fromkeys("screencapture scrot gnome-screenshot grim spectacle maim".split(), _handle_screenshot),
    "expect": _handle_expect,
    "m4": _handle_m4,
    "screen": _handle_screen,
    "tmux": _handle_tmux,
}
