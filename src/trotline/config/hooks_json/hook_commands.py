"""Check the command line of a hook without running it.

Only plain commands are checked: a program, or an interpreter with a script. Nothing is reported about other lines,
because it would be a guess.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import NamedTuple

from trotline.config.hooks_json.known_names import UNSET_VARIABLES
from trotline.config.paths import Roots
from trotline.config.problems import HookFinding
from trotline.domain.hooks import Hook, LayerKind

INTERPRETERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh", "fish"), frozenset()),
    **dict.fromkeys(("python", "python3", "node", "ruby", "perl", "php", "tsx", "ts-node", "pwsh"), frozenset()),
    "with-trotline": frozenset(),
    **dict.fromkeys(("bun", "deno", "uv", "poetry", "pdm"), frozenset({"run"})),
}
"""Programs that run a script, each with the words that may come before the script."""

INLINE_OPTIONS = frozenset({"-c", "-e", "-m", "--eval", "-p", "--print", "-Command", "-EncodedCommand"})
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
BINARY_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class Program(NamedTuple):
    """The first word of a plain command and the script in its arguments, both as written."""

    name: str
    script: str


def find_command_problems(hook: Hook, roots: Roots, hooks_directory: Path) -> list[HookFinding]:
    """Return the problems of a hook's command line."""
    findings = [*_check_text(hook)]
    try:
        program = find_program(hook.command)
    except ValueError as error:
        return [*findings, HookFinding("TL410", f"the shell cannot read this command: {str(error).lower()}")]
    if program is None or not hook.layer.root:
        return findings
    if "/" in program.name:
        findings += _check_file(hook, roots, program.name, hooks_directory, is_program=True)
    else:
        findings += _check_name(program.name, roots)
    if program.script:
        findings += _check_file(hook, roots, program.script, hooks_directory, is_program=False)
    return findings


def find_program(command: str) -> Program | None:
    """Return the program of a plain command line, or None for another line. Raise ValueError for open quotes."""
    if BEYOND_PLAIN.search(QUOTED.sub("''", command)):
        shlex.split(command)
        return None
    words = list(takewhile(lambda word: not word.startswith("#"), shlex.split(command)))
    words = list(dropwhile(ASSIGNMENT.match, words))
    return Program(words[0], _find_script(words[0].rsplit("/", 1)[-1], words[1:])) if words else None


def _find_script(interpreter: str, arguments: list[str]) -> str:
    if interpreter not in INTERPRETERS:
        return ""
    for word in arguments:
        if word in INLINE_OPTIONS:
            return ""
        if not word.startswith("-") and word not in INTERPRETERS[interpreter]:
            return word if "/" in word or "." in word else ""
    return ""


def _check_text(hook: Hook) -> Iterator[HookFinding]:
    is_shared = hook.layer.kind in {LayerKind.PROJECT, LayerKind.CLAUDE_PROJECT}
    home = HOME_PATH.search(hook.command)
    if is_shared and home:
        hint = "use a path from the project root, such as `.cursor/hooks/x.sh`"
        yield HookFinding("TL405", f"`{home[0]}` exists on one machine, and this file is shared", hint)
    if INLINE_JSON.search(hook.command):
        yield HookFinding("TL407", "this inline JSON is printed with its quotes on Windows", "move it into a script")
    for match in VARIABLE.finditer(hook.command):
        if (match[1] or match[2]) in UNSET_VARIABLES:
            hint = "the event is JSON on standard input; `jq -r .file_path` reads a field"
            yield HookFinding("TL409", f"`{match[0]}` is not set for hooks, the shell puts nothing there", hint)


def _check_name(name: str, roots: Roots) -> Iterator[HookFinding]:
    if name.startswith(("$", "~", "{")) or "\\" in name or not roots.search_path:
        return
    file = _search_path(name, roots)
    if file is None:
        yield HookFinding("TL408", f"`{name}` is not on this PATH", "name it by its full path, or install it")
    elif any(shim in file for shim in SHIMS):
        yield HookFinding("TL406", f"`{name}` is `{file}`, a version manager's shim", "name the interpreter itself")


def _search_path(name: str, roots: Roots) -> str | None:
    """Return the file that the shell starts for a name, or the name itself if the shell handles it."""
    if name in SHELL_WORDS:
        return name
    candidates = (f"{directory}/{name}" for directory in roots.search_path)
    return next((file for file in candidates if _exists(Path(file)) and os.access(file, os.X_OK)), None)


SHELL_WORDS = frozenset(
    """
    . : [ ! { alias bg break case cd command continue echo eval exec exit export false fg for getopts hash if jobs kill
    local printf pwd read readonly return set shift source test time times trap true type ulimit umask unalias unset
    until wait while
    """.split()
)
"""Words that the shell handles itself; they do not have to be on the PATH."""


def _exists(path: Path) -> bool:
    """Return whether a file exists, also if its directory cannot be read."""
    try:
        path.stat()
    except PermissionError:
        return True
    except (OSError, ValueError):  # ValueError: a name that no disk can hold
        return False
    return True


def _check_file(
    hook: Hook, roots: Roots, written: str, hooks_directory: Path, *, is_program: bool
) -> Iterator[HookFinding]:
    expanded = expand_word(written, hook, roots)
    if expanded is None:
        return
    path = Path(hook.layer.cwd) / expanded
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return
    except (OSError, ValueError):
        yield _report_missing(hook, written, expanded, hooks_directory)
        return
    if hook.layer.kind.needs_trust and not Path(expanded).is_absolute():
        target = path.resolve()
        if not target.is_relative_to(Path(hook.layer.root).resolve()):
            yield HookFinding("TL505", f"`{written}` leads out of the project, to `{target}`")
    if roots.platform == "windows":
        return
    if mode & stat.S_IWOTH:
        yield HookFinding("TL504", f"`{written}` can be written by everybody", f"chmod o-w {shlex.quote(written)}")
    if is_program and stat.S_ISREG(mode):
        yield from _check_executable(path, written, roots)


def expand_word(word: str, hook: Hook, roots: Roots) -> str | None:
    """Return the path in a word of a command, or None if only the running shell knows it."""
    is_in_project = hook.layer.kind.needs_trust or not roots.projects
    project = hook.layer.root if is_in_project else str(roots.projects[0])
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


def _report_missing(hook: Hook, written: str, expanded: str, hooks_directory: Path) -> HookFinding:
    elsewhere = hooks_directory / expanded
    if not Path(expanded).is_absolute() and hook.layer.cwd != str(hooks_directory) and _exists(elsewhere):
        right = os.path.relpath(elsewhere, hook.layer.cwd)
        message = f"`{written}` is looked for in `{hook.layer.cwd}`, where it is not"
        return HookFinding("TL404", message, f"it stands beside hooks.json; write `{right}`")
    hint = f"looked for as `{Path(hook.layer.cwd) / expanded}`"
    return HookFinding("TL401", f"there is no file `{written}`", hint)


def _check_executable(path: Path, written: str, roots: Roots) -> Iterator[HookFinding]:
    if not os.access(path, os.X_OK):
        yield HookFinding("TL402", f"`{written}` is not executable", f"chmod +x {shlex.quote(written)}")
        return
    try:
        with path.open("rb") as file:
            first_line = file.readline(256)
    except OSError:
        return
    if first_line.startswith(b"#!"):
        yield from _check_interpreter(first_line[2:].decode("utf-8", "replace").split(), written, roots)
    elif not first_line.startswith(BINARY_MAGIC):
        hint = "begin it with a line such as `#!/usr/bin/env bash`"
        yield HookFinding("TL403", f"`{written}` does not say which interpreter runs it", hint)


def _check_interpreter(words: list[str], written: str, roots: Roots) -> Iterator[HookFinding]:
    """Check that the interpreter exists: a path, or a name after `env`."""
    name = words[0] if words else ""
    if len(words) > 1 and name.endswith("/env"):
        name = next((word for word in words[1:] if not word.startswith("-")), "")
        exists = not roots.search_path or _search_path(name, roots) is not None
    else:
        exists = bool(name) and _exists(Path(name))
    if not exists:
        message = f"`{written}` asks for the interpreter `{name}`, which is not here"
        yield HookFinding("TL403", message, "install it")
