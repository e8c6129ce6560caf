"""Programs that build a project: what they run is in its files, unless the line says otherwise."""

import re
from itertools import pairwise

from trotline.analysis.options import Options, options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.interpreters import run_file
from trotline.analysis.tools.packages_installs import foreign, package
from trotline.analysis.tools.packages_specs import Wanted, purl

_FILES = {
    "gmake": "Makefile",
    "just": "justfile",
    "mage": "magefile.go",
    "make": "Makefile",
    "ninja": "build.ninja",
    "task": "Taskfile.yml",
}
_TOOLS = frozenset("CC CXX CPP LD AR AS RM INSTALL PYTHON NODE CARGO GO".split())
_PUBLISHES = frozenset(
    "deploy release:perform release publishsigned uploadarchives publishplugins closeandrelease".split()
)


def _make(step: Step) -> None:
    found = step.options(
        "f C I j l o W E file makefile directory jobs eval old-file justfile d working-directory t".split()
    )
    scene = step.scene
    for directory in found.values("C", "directory", "working-directory"):
        scene = scene.copy()
        scene.cwd = scene.absolute(directory.text)
    step.scene = scene
    step.out = Stream()
    for text in found.values("eval", "E"):
        _recipes(step, text, text.text)
    for word in found.rest:
        _variable(step, word)
    if found.has("n", "just-print", "dry-run", "recon", "list", "l", "summary", "help", "version"):
        return
    _file(step, found)


def _file(step: Step, found: Options) -> None:
    names = found.values("f", "file", "makefile", "justfile") or [step.program._replace(text=_FILES[step.name])]
    targets = " ".join(word.text for word in found.rest if "=" not in word.text)
    for name in names:
        given = step.stdin if name.text == "-" else name.pipe
        if given is not None:
            if given.origins & {"network", "decoded"}:
                step.effect(
                    "execute", "pipe", name, source=given.origin, why=f"{step.name} runs what comes through the pipe"
                )
            _recipes(step, name, given.text)
            continue
        path = step.path(name)
        known = path in step.scene.written
        step.effect("execute", "run", name, path=path, source="written" if known else "file", target=targets)
        if known:
            _recipes(step, name, step.scene.written[path])


_CMAKE = {
    "cat": "cat",
    "chdir": "env -C",
    "copy": "cp",
    "copy_directory": "cp -r",
    "env": "env",
    "make_directory": "mkdir -p",
    "remove": "rm",
    "remove_directory": "rm -r",
    "rename": "mv",
    "rm": "rm",
    "tar": "tar",
    "time": "env",
    "touch": "touch",
}
"""What `cmake -E` does on every system, by the name that it has on this one."""


def _cmake(step: Step) -> None:
    for at, word in enumerate(step.words):
        inner, rest = step.words[at + 1 : at + 2], step.words[at + 2 :]
        if word.text == "-E" and inner and inner[0].text in _CMAKE:
            step.run((*(inner[0]._replace(text=part) for part in _CMAKE[inner[0].text].split()), *rest))
            return
        if word.text == "-P" and inner:
            run_file(step, (*inner, *rest), "others")
            return
    step.out = Stream()


_SHELL = re.compile(r"\$[({]shell[ \t]+([^\n)}]*)")
"""What make runs while it reads."""


def _recipes(step: Step, at: Argument, text: str | None) -> None:
    """The commands of a makefile that this very line holds."""
    if text is None:
        step.opaque("what is built is not known", at, source="text")
        return
    for found in _SHELL.finditer(text):
        step.script(at._replace(text=found[1].replace("$$", "$")))
    for line in text.splitlines():
        command = line.strip() if line.startswith("\t") else line.partition(":;")[2].strip()
        if command:
            step.script(at._replace(text=command.lstrip("@-+").replace("$$", "$")))


def _variable(step: Step, word: Argument) -> None:
    """`SHELL=...` runs every command; `CC=/tmp/x` is a program that will be run."""
    name, equals, value = word.text.partition("=")
    if not equals:
        return
    if name == "SHELL" or (name in _TOOLS and "/" in value.split(" ")[0]):
        step.script(word._replace(text=value))
    elif name in {"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "NODE_OPTIONS"}:
        step.reading.environment(step, {name: word._replace(text=value)})


def _maven(step: Step) -> None:
    defined = {word.text[2:].partition("=")[0]: word for word in step.words if word.text.startswith("-D")}
    others = [word for word in step.words if not word.text.startswith("-D")]
    valued = "f file s settings P activate-profiles pl projects T threads b I init-script p project-dir x exclude-task"
    found = options(others, valued.split())
    step.out = Stream()
    if found.has("dry-run", "m", "help", "version", "v"):
        return
    if "/" in step.program.text:
        step.effect("execute", "run", step.program, path=step.path(step.program), source="file")
    _artifact(step, defined)
    if "exec.executable" in defined:
        parts = [defined[name].text.partition("=")[2] for name in ("exec.executable", "exec.args") if name in defined]
        step.script(defined["exec.executable"]._replace(text=" ".join(parts)))
    for goal in found.rest:
        _migrates(step, goal)
        name = goal.text.rpartition(":")[2] if not goal.text.startswith("release:") else goal.text
        lower = name.lower()
        if lower in _PUBLISHES or (lower.startswith("publish") and "local" not in lower):
            step.effect("publish", "publish", goal, target="this project", source=goal.text, writes=True)


_PLUGIN = re.compile(r"(?:^|[.:])(?P<tool>flyway|liquibase)(?:-\w+)*(?::[\d.]+)?:(?P<goal>\w+)$")
_TASK = re.compile(r"(?:^|:)(?P<tool>flyway)(?P<goal>[A-Z]\w*)$")


def _migrates(step: Step, goal: Argument) -> None:
    """`flyway:clean`, `flywayClean`, Gradle's `dropAll`: what the plugin of a program for databases does."""
    found = _PLUGIN.search(goal.text) or _TASK.search(goal.text)
    tool, task = (found["tool"], found["goal"]) if found else ("liquibase", "dropAll")
    if found or goal.text.rpartition(":")[2] == "dropAll":
        step.run([goal._replace(text=tool), goal._replace(text=task[0].lower() + task[1:])])


def _artifact(step: Step, defined: dict[str, Argument]) -> None:
    """`-Dartifact=group:name:version -DremoteRepositories=URL`."""
    host = ""
    for name in ("remoteRepositories", "repoUrl"):
        if name in defined:
            host = foreign("maven", defined[name].text.partition("=")[2]) or host
    if "artifact" in defined:
        group, _, rest = defined["artifact"].text.partition("=")[2].partition(":")
        name, _, version = rest.partition(":")
        want = Wanted(purl("maven", f"{group}/{name}", version.partition(":")[0]), name)
        package(
            step,
            "maven",
            defined["artifact"],
            want._replace(source="index" if host else "registry", host=host),
            "project",
        )


_PLUGINS = ("-fplugin=", "-fpass-plugin=")
_COMPILERS = "c++ cc clang clang++ g++ gcc gfortran".split()


def _compiler(step: Step) -> None:
    """It loads a plugin as it is, and does what that says; what it compiles it does not run."""
    words = [word for word in step.words if word.text != "-Xclang"]
    plugins = [word._replace(text=word.text.partition("=")[2]) for word in words if word.text.startswith(_PLUGINS)]
    plugins += [word for before, word in pairwise(words) if before.text in {"-load", "-fplugin", "-fpass-plugin"}]
    for plugin in plugins:
        path = step.path(plugin)
        made = step.scene.content(path).origins
        source = "network" if "network" in made else "written" if path in step.scene.written else "file"
        step.effect("execute", "load", plugin, path=path, source=source)


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(_COMPILERS, _compiler),
    **dict.fromkeys(_FILES, _make),
    "cmake": _cmake,
    **dict.fromkeys(("gradle", "gradlew", "lein", "mvn", "mvnw", "sbt"), _maven),
}
