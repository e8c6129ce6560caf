"""What a command line would start, as far as that can be said without running it.

Only the plain case is judged: a program, perhaps an interpreter, and a script. As soon as a line is more of a shell
program than that, silence is more honest than a guess.
"""

import os
import re
import shlex
import stat
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from trotline.config.hooks_json import foreign_names
from trotline.config.paths import Roots
from trotline.domain.hooks import Hook, LayerKind

INTERPRETERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh", "fish"), frozenset()),
    **dict.fromkeys(("python", "python3", "node", "ruby", "perl", "php", "tsx", "ts-node", "pwsh"), frozenset()),
    "with-trotline": frozenset(),
    **dict.fromkeys(("bun", "deno", "uv", "poetry", "pdm"), frozenset({"run"})),
}
"""Programs that run the script named after them, and the words that may stand in between."""

INLINE = frozenset({"-c", "-e", "-m", "--eval", "-p", "--print", "-Command", "-EncodedCommand"})
SHIMS = ("/.pyenv/shims", "/.rbenv/shims", "/.nodenv/shims", "/.asdf/shims", "/mise/shims", "/.volta/bin")
HOME_PATH = re.compile(
    r"""(?<![A-Za-z0-9._/~-])(?:(?:/home|/Users)/[A-Za-z0-9._-]++(?=[/"' ]|$)|/root/)"""
    r"""|[A-Za-z]:[\\/]++Users[\\/]++[^\\/ "']++"""
)
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*+)\}|([A-Za-z_][A-Za-z0-9_]*+))")
INLINE_JSON = re.compile(r"(?:echo|printf)\b[^|;&']{0,40}+'\s*+\{")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+=")
BEYOND_PLAIN = re.compile(r"[;&|<>()`\n]|\$\(|\\[A-Za-z0-9_.]")
QUOTED = re.compile(r"""'[^']*+'|"(?:[^"\\`$]++|\$(?!\())*+\"""")


class CommandFinding(NamedTuple):
    """Something about a command, to be placed on its line by the reader of the file."""

    code: str
    message: str
    hint: str = ""


class Program(NamedTuple):
    """The first word of a plain command, and the script it is given, both as written."""

    name: str
    script: str


def find_command_problems(hook: Hook, roots: Roots, hooks_directory: Path) -> list[CommandFinding]:
    """Everything worth saying about a hook's command line."""
    found = [*_about_the_text(hook)]
    try:
        program = find_program(hook.command)
    except ValueError as error:
        return [*found, CommandFinding("TL410", f"the shell cannot read this command: {str(error).lower()}")]
    if program is None or not hook.layer.root:
        return found
    if "/" in program.name:
        found += _file(hook, roots, program.name, hooks_directory, runs_itself=True)
    else:
        found += _on_the_path(program.name, roots)
    if program.script:
        found += _file(hook, roots, program.script, hooks_directory, runs_itself=False)
    return found


def find_program(command: str) -> Program | None:
    """The program that a plain command line starts; None when only a shell could tell. Raises on open quotes."""
    if BEYOND_PLAIN.search(QUOTED.sub("''", command)):
        shlex.split(command)
        return None
    words = list(takewhile(lambda word: not word.startswith("#"), shlex.split(command)))
    while words and ASSIGNMENT.match(words[0]):
        words = words[1:]
    if not words:
        return None
    base = words[0].rsplit("/", 1)[-1]
    return Program(words[0], _script_after(base, words[1:]))


def _script_after(interpreter: str, arguments: list[str]) -> str:
    if interpreter not in INTERPRETERS:
        return ""
    for word in arguments:
        if word in INLINE:
            return ""
        if not word.startswith("-") and word not in INTERPRETERS[interpreter]:
            return word if "/" in word or "." in word else ""
    return ""


def _about_the_text(hook: Hook) -> list[CommandFinding]:
    found = []
    shared = hook.layer.kind in {LayerKind.PROJECT, LayerKind.CLAUDE_PROJECT}
    home = HOME_PATH.search(hook.command)
    if shared and home:
        hint = "use a path from the project root, such as `.cursor/hooks/x.sh`"
        found.append(CommandFinding("TL405", f"`{home[0]}` exists on one machine, and this file is shared", hint))
    if INLINE_JSON.search(hook.command):
        found.append(
            CommandFinding("TL407", "this inline JSON is printed with its quotes on Windows", "move it into a script")
        )
    for match in VARIABLE.finditer(hook.command):
        name = match[1] or match[2]
        if name in foreign_names.NOT_SET_FOR_HOOKS:
            hint = "the event is JSON on standard input; `jq -r .file_path` reads a field"
            found.append(
                CommandFinding("TL409", f"`{match[0]}` is not set for hooks, the shell puts nothing there", hint)
            )
    return found


def _on_the_path(name: str, roots: Roots) -> list[CommandFinding]:
    if name.startswith(("$", "~", "{")) or "\\" in name or not roots.search_path:
        return []
    found = _which(name, roots)
    if found is None:
        return [CommandFinding("TL408", f"`{name}` is not on this PATH", "name it by its full path, or install it")]
    shim = next((shim for shim in SHIMS if shim in found), "")
    if shim:
        return [
            CommandFinding("TL406", f"`{name}` is `{found}`, a version manager's shim", "name the interpreter itself")
        ]
    return []


def _which(name: str, roots: Roots) -> str | None:
    if name in SHELL_WORDS:
        return name
    for directory in roots.search_path:
        candidate = f"{directory}/{name}"
        if isinstance(_status(candidate), os.stat_result) and os.access(candidate, os.X_OK):
            return candidate
    return None


SHELL_WORDS = frozenset(
    """
    . : [ ! { alias bg break case cd command continue echo eval exec exit export false fg for getopts hash if jobs kill
    local printf pwd read readonly return set shift source test time times trap true type ulimit umask unalias unset
    until wait while
    """.split()
)
"""What the shell does itself; none of it is on the PATH, or need be."""


class _Hidden:
    """Something is or is not there, and we may not look."""


HIDDEN = _Hidden()


def _status(path: str | Path) -> os.stat_result | _Hidden | None:
    """What stands at a path; None for nothing, which a name that no disk can hold is as well."""
    try:
        return Path(path).stat()
    except PermissionError:
        return HIDDEN
    except (OSError, ValueError):
        return None


def _file(hook: Hook, roots: Roots, written: str, hooks_directory: Path, *, runs_itself: bool) -> list[CommandFinding]:
    expanded = expand(written, hook, roots)
    if expanded is None:
        return []
    path = Path(hook.layer.cwd) / expanded
    status = _status(path)
    if status is None:
        return [_missing(hook, written, expanded, hooks_directory)]
    if not isinstance(status, os.stat_result):
        return []
    found = []
    if hook.layer.kind.needs_trust and not _stays_in(path, Path(hook.layer.root)) and not Path(expanded).is_absolute():
        found.append(CommandFinding("TL505", f"`{written}` leads out of the project, to `{path.resolve()}`"))
    if status.st_mode & stat.S_IWOTH and roots.platform != "windows":
        found.append(
            CommandFinding("TL504", f"`{written}` can be written by everybody", f"chmod o-w {shlex.quote(written)}")
        )
    if runs_itself and stat.S_ISREG(status.st_mode):
        found += _starts(path, written, roots)
    return found


def expand(word: str, hook: Hook, roots: Roots) -> str | None:
    """The path a word stands for; None when it holds a variable that only the running shell knows."""
    of_a_project = hook.layer.kind.needs_trust or not roots.projects
    project = hook.layer.root if of_a_project else str(roots.projects[0])
    known = {
        "HOME": str(roots.home),
        "CURSOR_PROJECT_DIR": project,
        "CLAUDE_PROJECT_DIR": project,
        "CURSOR_PLUGIN_ROOT": hook.layer.root,
        "CLAUDE_PLUGIN_ROOT": hook.layer.root,
    }
    if word == "~" or word.startswith("~/"):
        word = str(roots.home) + word[1:]
    expanded = VARIABLE.sub(lambda match: known.get(match[1] or match[2], match[0]), word)
    return None if set("$*?[\\{") & set(expanded) or re.match(r"[A-Za-z]:", expanded) else expanded


def _missing(hook: Hook, written: str, expanded: str, hooks_directory: Path) -> CommandFinding:
    elsewhere = hooks_directory / expanded
    if not Path(expanded).is_absolute() and _status(elsewhere) is not None and hook.layer.cwd != str(hooks_directory):
        right = os.path.relpath(elsewhere, hook.layer.cwd)
        message = f"`{written}` is looked for in `{hook.layer.cwd}`, where it is not"
        return CommandFinding("TL404", message, f"it stands beside hooks.json; write `{right}`")
    return CommandFinding(
        "TL401", f"there is no file `{written}`", f"looked for as `{Path(hook.layer.cwd) / expanded}`"
    )


def _stays_in(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _starts(path: Path, written: str, roots: Roots) -> list[CommandFinding]:
    if roots.platform == "windows":
        return []
    if not os.access(path, os.X_OK):
        return [CommandFinding("TL402", f"`{written}` is not executable", f"chmod +x {shlex.quote(written)}")]
    try:
        with path.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return []
    if first.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")):
        return []
    if not first.startswith(b"#!"):
        hint = "begin it with a line such as `#!/usr/bin/env bash`"
        return [CommandFinding("TL403", f"`{written}` does not say which interpreter runs it", hint)]
    return _interpreter(first[2:].decode("utf-8", "replace").split(), written, roots)


def _interpreter(words: list[str], written: str, roots: Roots) -> list[CommandFinding]:
    by_name = len(words) > 1 and words[0].endswith("/env")
    name = next((word for word in words[1:] if not word.startswith("-")), "") if by_name else (words or [""])[0]
    if by_name and not roots.search_path:
        return []
    if by_name and _which(name, roots):
        return []
    if not by_name and name and _status(name) is not None:
        return []
    return [CommandFinding("TL403", f"`{written}` asks for the interpreter `{name}`, which is not here", "install it")]
