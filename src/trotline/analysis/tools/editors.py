"""Editors, terminals and debuggers: programs for people that also take commands as words."""

import re

from trotline.analysis.options import options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.packages_specs import purl

_BANG = re.compile(r"^[\s:]*(?:%|\d+,\d+|[rw]\s*)?!(.*)$", re.DOTALL)
_CALLS = re.compile(r"""(?:call\s+)?(?:system|systemlist|termopen|jobstart)\s*\(\s*(["'])(.*?)\1""")
_LUA = re.compile(r"""os\.execute\s*\(\s*(["'])(.*?)\1""")


def _vim(step: Step) -> None:
    words = [word._replace(text="-e") if word.text in {"-es", "-Es"} else word for word in step.words]
    found = options(words, "c cmd u U S s w W T i".split())
    commands = [word._replace(text=word.text[1:]) for word in found.rest if word.text.startswith("+")]
    commands += found.values("c", "cmd")
    files = [word for word in found.rest if not word.text.startswith("+")]
    reads_script = words != step.words and step.stdin.text
    if reads_script or step.name in {"ex", "ed"}:
        at = step.program
        commands += [Argument(line, at.start, at.end) for line in (step.stdin.text or "").splitlines()]
    for at in commands:
        _editor_command(step, at)
    for at in found.values("S"):
        step.effect("execute", "run", at, path=step.path(at), source="file")
    for at in commands:
        if named := _WRITTEN.match(at.text):
            step.write(at._replace(text=step.scene.tilde(named[1])), verb="edit")
    writes = any(re.match(r"[\s:]*(?:silent\s+)?(?:w|x|wq|wqa|xa|wa|up)\b", at.text) for at in commands)
    for at in files:
        step.read(at)
        if writes:
            step.write(at, verb="edit")


_WRITTEN = re.compile(r"[\s:]*(?:silent!?\s+)?(?:w|write|sav|saveas|up)!?\s+(?:>>\s*)?([~/.\w][^\s|]*)\s*$")


def _editor_command(step: Step, at: Argument) -> None:
    for part in at.text.split("|") if not _BANG.match(at.text) else [at.text]:
        match = _BANG.match(part.strip().removeprefix("silent ").removeprefix("exe ").strip("'\""))
        if match and match[1].strip():
            step.script(at._replace(text=match[1]))
        for pattern in (_CALLS, _LUA):
            for call in pattern.finditer(part):
                step.script(at._replace(text=call[2]))


_ELISP = re.compile(
    r'\((?:shell-command|call-process-shell-command|async-shell-command)(?:-to-string)?\s+"((?:[^"\\]|\\.)*)"'
)
_ELISP_DELETE = re.compile(r'\(delete-(file|directory)\s+"((?:[^"\\]|\\.)*)"')


def _emacs(step: Step) -> None:
    found = step.options("eval execute l load f funcall u script".split())
    for at in found.values("eval", "execute"):
        for match in _ELISP.finditer(at.text):
            step.script(at._replace(text=match[1].replace('\\"', '"')))
        for match in _ELISP_DELETE.finditer(at.text):
            name = at._replace(text=step.scene.tilde(match[2]) if match[2].startswith("~") else match[2])
            step.delete(name, recursive=match[1] == "directory")
    for at in found.values("l", "load", "script"):
        step.effect("execute", "run", at, path=step.path(at), source="file")


def _man(step: Step) -> None:
    found = step.options("P H pager html C M m S s e L p".split())
    for at in found.values("P", "pager", "H", "html"):
        step.script(at)


def _expect(step: Step) -> None:
    found = step.options("c f d".split(), stops=True)
    texts = found.values("c") or ([step.program._replace(text=step.stdin.text)] if step.stdin.text else [])
    for at in texts:
        for line in re.split(r"[;\n]", at.text):
            words = line.split(None, 1)
            if len(words) > 1 and words[0] in {"spawn", "exec", "system"}:
                step.script(at._replace(text=words[1]))
    for at in found.rest[:1]:
        step.effect("execute", "run", at, path=step.path(at), source="file")


_TMUX_RUNS = frozenset(
    "new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window popup"
    " display-popup run run-shell if if-shell pipep pipe-pane".split()
)


def _tmux(step: Step) -> None:
    found = options(step.words, "c f L S T".split(), stops=True)
    rest = list(found.rest)
    while rest:
        cut = next((at for at, word in enumerate(rest) if word.text == ";"), len(rest))
        _tmux_command(step, rest[:cut])
        rest = rest[cut + 1 :]


def _tmux_command(step: Step, words: list[Argument]) -> None:
    if not words:
        return
    verb = words[0].text
    if verb in {"send", "send-keys"}:
        keys = options(words[1:], "t N".split()).rest
        text = " ".join(word.text for word in keys if word.text not in {"Enter", "C-m", "Space", "KPEnter"})
        if text:
            step.script(keys[0]._replace(text=text, end=keys[-1].end), Stream())
    elif verb in _TMUX_RUNS:
        inner = options(words[1:], "t s n c x y e F l p S w h".split(), stops=True).rest
        _text_or_words(step, inner)
    elif verb in {"kill-server", "kill-session"}:
        step.effect("process", "kill by name", words[0], target=f"tmux {verb}", source="TERM", writes=True)


def _text_or_words(step: Step, inner: tuple[Argument, ...]) -> None:
    """One word is a text for the shell; several are a program with its words."""
    if len(inner) == 1:
        step.script(inner[0], Stream())
    elif inner:
        step.run(inner, Stream())


def _screen(step: Step) -> None:
    found = step.options("S c e h p s t T X".split(), stops=True)
    sends = found.values("X")
    if sends and sends[0].text == "stuff" and found.rest:
        step.script(found.rest[0]._replace(text=found.rest[0].text.replace("\\n", "\n").rstrip()), Stream())
    elif sends and sends[0].text == "exec":
        step.run(found.rest, Stream())
    elif not sends:
        _text_or_words(step, found.rest) if len(found.rest) > 1 else step.run(found.rest, Stream())


def _typed(step: Step) -> None:
    """Keys for whatever window is in front, which may be a terminal."""
    words = step.options("delay window file d s M m P p k key-delay key-hold".split()).rest
    begun = next((at + 1 for at, word in enumerate(words) if word.text == "type"), 0 if step.name == "wtype" else None)
    said = words[begun:] if begun is not None else ()
    if said:
        text = " ".join(word.text for word in said)
        step.script(said[0]._replace(text=text, end=said[-1].end), Stream())


_GDB_SHELL = re.compile(r"^\s*(?:shell|!|make|pipe|\|)\s*(.*)$", re.DOTALL)
_GDB_CALL = re.compile(r"""(?:system|popen|execl\w*)\s*\(\s*(?:\(\w+\s*\*?\)\s*)?"((?:[^"\\]|\\.)*)\"""")


def _gdb(step: Step) -> None:
    found = step.options(
        "ex eval-command iex x command p pid c core o one-line O S source k attach-pid e".split(), long_dash=True
    )
    for at in found.values("ex", "eval-command", "iex", "o", "one-line", "O", "k"):
        match = _GDB_SHELL.match(at.text)
        if match and match[1]:
            step.script(at._replace(text=match[1]))
        for call in _GDB_CALL.finditer(at.text):
            step.script(at._replace(text=call[1].replace('\\"', '"')))
    for at in found.values("x", "command", "S", "source"):
        step.effect("execute", "run", at, path=step.path(at), source="file")
    attached = found.value("p", "pid", "attach-pid") or next((w.text for w in found.rest[1:2] if w.text.isdigit()), "")
    if attached:
        step.effect("read", "memory", target=attached)
    if found.has("args"):
        step.run(found.rest, Stream())


def _applet(step: Step) -> None:
    words = step.words
    if words and not words[0].text.startswith("-"):
        step.out = step.run(words)


def _run_parts(step: Step) -> None:
    for at in step.options("a u arg umask regex".split()).rest[:1]:
        step.effect("execute", "run", at, path=step.path(at), source="file", recursive=True)


def _daemon(step: Step) -> None:
    step.words = [word for word in step.words if word.text != "--start"]  # no short form of `--startas`
    found = step.options("x a p u g d N n s exec startas pidfile user chdir name signal".split())
    programs = found.values("a", "startas") or found.values("x", "exec")
    if found.has("K", "stop"):
        step.effect("system", "stop service", target=found.value("n", "name", "x", "exec"), writes=True)
    elif programs:
        step.run([programs[-1], *found.rest], Stream())


def _after_file(step: Step) -> None:
    """`logsave FILE PROGRAM ...`."""
    words = options(step.words, stops=True).rest
    if len(words) > 1:
        step.write(words[0])
        step.out = step.run(words[1:])


def _limited(step: Step) -> None:
    found = step.options("l p e P limit pid exe path".split(), stops=True)
    if found.rest:
        step.out = step.run(found.rest)


_M4 = re.compile(r"\b(?:esyscmd|syscmd)\(\s*[`']?([^)'`]*)")


def _macro(step: Step) -> None:
    for match in _M4.finditer(step.stdin.text or ""):
        step.script(step.program._replace(text=match[1]))
    for at in step.options("D I U".split()).rest[:1]:
        step.effect("execute", "run", at, path=step.path(at), source="file")


def _loader(step: Step) -> None:
    """The loader of programs, called by its own name."""
    found = step.options("library-path preload audit argv0 inhibit-rpath".split(), stops=True)
    if found.rest:
        step.out = step.run(found.rest)


def _extended(step: Step) -> None:
    """Extensions are code that the editor runs as the person: from its registry, or a file that none has seen."""
    found = step.options("install-extension extensions-dir user-data-dir profile g goto".split())
    for at in found.values("install-extension"):
        if at.text.lower().endswith(".vsix"):
            fields = {"package": at.text, "path": step.path(at), "source": "path"}
        else:
            name, _, version = at.text.partition("@")
            fields = {"package": purl("vscode", name, version), "source": "registry"}
        step.effect("install", "install", at, target="user", writes=True, **fields)


TOOLS: dict[str, Handler] = {
    **dict.fromkeys("code code-insiders codium cursor kiro positron trae vscodium windsurf".split(), _extended),
    **dict.fromkeys("vim vi nvim ex ed rvim gvim vimdiff".split(), _vim),
    **dict.fromkeys("emacs emacsclient".split(), _emacs),
    **dict.fromkeys("busybox toybox lvm".split(), _applet),
    **dict.fromkeys("gdb lldb".split(), _gdb),
    **dict.fromkeys("ld.so ld-linux.so ld-linux-x86-64.so.2 ld-linux-aarch64.so.1".split(), _loader),
    **dict.fromkeys("dotool wtype xdotool ydotool".split(), _typed),
    "cpulimit": _limited,
    "expect": _expect,
    "logsave": _after_file,
    "m4": _macro,
    "man": _man,
    "run-parts": _run_parts,
    "screen": _screen,
    "start-stop-daemon": _daemon,
    "tmux": _tmux,
}
