"""Build programs: make, cmake, Maven, Gradle, compilers, and programs that rewrite binaries."""

from itertools import pairwise
from typing import NamedTuple

from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.packages.installs import add_package
from trotline.analysis.packages.package_specs import PackageRequest, build_purl, get_foreign_host
from trotline.analysis.programs import enter_directories
from trotline.analysis.programs.interpreters import analyze_code_file
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream
from trotline.formats.lazy_regex import lazy_regex

_BUILD_FILES = {
    "gmake": "Makefile",
    "just": "justfile",
    "mage": "magefile.go",
    "make": "Makefile",
    "ninja": "build.ninja",
    "task": "Taskfile.yml",
}
_TOOL_VARIABLES = frozenset("CC CXX CPP LD AR AS RM INSTALL PYTHON NODE CARGO GO".split())
_PUBLISH_GOALS = frozenset(
    "deploy release:perform release publishsigned uploadarchives publishplugins closeandrelease".split()
)


def _handle_make(call: Invocation) -> None:
    options = call.parse_options(
        "f C I j l o W E file makefile directory jobs eval old-file justfile d working-directory t"
    )
    call.state = enter_directories(call.state, options.values("C", "directory", "working-directory"))
    call.stdout = Stream()
    for text in options.values("eval", "E"):
        _analyze_recipes(call, text, text.text)
    for word in options.rest:
        _analyze_make_variable(call, word)
    if options.has("n", "just-print", "dry-run", "recon", "list", "l", "summary", "help", "version"):
        return
    _analyze_build_file(call, options)


def _analyze_build_file(call: Invocation, options: ParsedOptions) -> None:
    names = options.values("f", "file", "makefile", "justfile") or [call.program._replace(text=_BUILD_FILES[call.name])]
    targets = " ".join(word.text for word in options.rest if "=" not in word.text)
    for name in names:
        stream = call.stdin if name.text == "-" else name.pipe
        if stream is not None:
            if stream.origins & {"network", "decoded"}:
                why = f"{call.name} runs what comes through the pipe"
                call.add_effect("execute", "pipe", name, source=stream.origin, why=why)
            _analyze_recipes(call, name, stream.text)
            continue
        if call.add_run(name, target=targets):
            _analyze_recipes(call, name, call.state.written_texts[call.resolve(name)])


_CMAKE_COMMANDS = {
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
"""The commands of `cmake -E`, and the programs that do the same."""


def _handle_cmake(call: Invocation) -> None:
    for index, word in enumerate(call.args):
        inner, rest = call.args[index + 1 : index + 2], call.args[index + 2 :]
        if word.text == "-E" and inner and inner[0].text in _CMAKE_COMMANDS:
            program = [inner[0]._replace(text=part) for part in _CMAKE_COMMANDS[inner[0].text].split()]
            call.analyze_command((*program, *rest))
            return
        if word.text == "-P" and inner:
            analyze_code_file(call, (*inner, *rest), "others")
            return
    call.stdout = Stream()


_SHELL_FUNCTION = lazy_regex(r"\$[({]shell[ \t]+([^\n)}]*)")
"""make runs this while it reads the file."""


def _analyze_recipes(call: Invocation, arg: Argument, text: str | None) -> None:
    """Analyze the commands of a makefile whose text is in the line."""
    if text is None:
        call.add_opaque("what is built is not known", arg, source="text")
        return
    for match in _SHELL_FUNCTION.finditer(text):
        call.analyze_script(arg._replace(text=match[1].replace("$$", "$")))
    for line in text.splitlines():
        command = line.strip() if line.startswith("\t") else line.partition(":;")[2].strip()
        if command:
            call.analyze_script(arg._replace(text=command.lstrip("@-+").replace("$$", "$")))


def _analyze_make_variable(call: Invocation, word: Argument) -> None:
    """Analyze `SHELL=...`, which runs every recipe, or `CC=/tmp/x`, which names a program that make runs."""
    name, equals, value = word.text.partition("=")
    if not equals:
        return
    if name == "SHELL" or (name in _TOOL_VARIABLES and "/" in value.split(" ")[0]):
        call.analyze_script(word._replace(text=value))
    elif name in {"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "NODE_OPTIONS"}:
        call.analyzer.analyze_assignments(call, {name: word._replace(text=value)})


def _handle_maven(call: Invocation) -> None:
    defined = {word.text[2:].partition("=")[0]: word for word in call.args if word.text.startswith("-D")}
    others = [word for word in call.args if not word.text.startswith("-D")]
    valued = "f file s settings P activate-profiles pl projects T threads b I init-script p project-dir x exclude-task"
    options = parse_options(others, valued)
    call.stdout = Stream()
    if options.has("dry-run", "m", "help", "version", "v"):
        return
    if "/" in call.program.text:
        call.add_run(call.program)
    _add_artifact(call, defined)
    if "exec.executable" in defined:
        parts = [defined[name].text.partition("=")[2] for name in ("exec.executable", "exec.args") if name in defined]
        call.analyze_script(defined["exec.executable"]._replace(text=" ".join(parts)))
    for goal in options.rest:
        _analyze_migration_goal(call, goal)
        name = goal.text.rpartition(":")[2] if not goal.text.startswith("release:") else goal.text
        lower = name.lower()
        if lower in _PUBLISH_GOALS or (lower.startswith("publish") and "local" not in lower):
            call.add_effect("publish", "publish", goal, target="this project", source=goal.text, writes=True)


_PLUGIN_GOAL = lazy_regex(r"(?:^|[.:])(?P<tool>flyway|liquibase)(?:-\w+)*(?::[\d.]+)?:(?P<goal>\w+)$")
_GRADLE_TASK = lazy_regex(r"(?:^|:)(?P<tool>flyway)(?P<goal>[A-Z]\w*)$")


def _analyze_migration_goal(call: Invocation, goal: Argument) -> None:
    """Analyze goals of migration plugins: `flyway:clean`, `flywayClean`, Gradle's `dropAll`."""
    match = _PLUGIN_GOAL.search(goal.text) or _GRADLE_TASK.search(goal.text)
    tool, task = (match["tool"], match["goal"]) if match else ("liquibase", "dropAll")
    if match or goal.text.rpartition(":")[2] == "dropAll":
        call.analyze_command([goal._replace(text=tool), goal._replace(text=task[0].lower() + task[1:])])


def _add_artifact(call: Invocation, defined: dict[str, Argument]) -> None:
    """Add the package of `-Dartifact=group:name:version -DremoteRepositories=URL`."""
    host = ""
    for name in ("remoteRepositories", "repoUrl"):
        if name in defined:
            host = get_foreign_host("maven", defined[name].text.partition("=")[2]) or host
    if "artifact" in defined:
        group, _, rest = defined["artifact"].text.partition("=")[2].partition(":")
        name, _, version = rest.partition(":")
        request = PackageRequest(build_purl("maven", f"{group}/{name}", version.partition(":")[0]), name)
        request = request._replace(source="index" if host else "registry", host=host)
        add_package(call, "maven", defined["artifact"], request, "project")


_PLUGIN_OPTIONS = ("-fplugin=", "-fpass-plugin=")
_COMPILERS = "c++ cc clang clang++ g++ gcc gfortran".split()


def _handle_compiler(call: Invocation) -> None:
    """A compiler executes its plugins; it does not run what it compiles."""
    words = [word for word in call.args if word.text != "-Xclang"]
    plugins = [
        word._replace(text=word.text.partition("=")[2]) for word in words if word.text.startswith(_PLUGIN_OPTIONS)
    ]
    plugins += [word for before, word in pairwise(words) if before.text in {"-load", "-fplugin", "-fpass-plugin"}]
    for plugin in plugins:
        path = call.resolve(plugin)
        origins = call.state.get_content(path).origins
        source = "network" if "network" in origins else "written" if path in call.state.written_texts else "file"
        call.add_effect("execute", "load", plugin, path=path, source=source)


# Programs that rewrite binaries


class Rewriter(NamedTuple):
    """A program that changes files: its options, and the words that are these files."""

    valued: str = ""  # options that take a value
    pairs: str = ""  # options that take two values
    output: str = ""  # options that name the file to write instead
    only: str = ""  # it changes files only with one of these options
    info_options: str = ""  # options with which it changes nothing
    last: bool = False  # only the last file is written
    long_dash: bool = False  # `-name` is one option, not four letters


_OBJCOPY = Rewriter(
    "I O F B j R K N L G W b i input-target output-target target binary-architecture only-section remove-section"
    " keep-symbol strip-symbol localize-symbol globalize-symbol weaken-symbol add-section update-section dump-section"
    " rename-section set-section-flags set-section-alignment redefine-sym redefine-syms set-start add-symbol gap-fill"
    " add-gnu-debuglink prefix-symbols prefix-sections",
    last=True,
)
_STRIP = Rewriter("F I O K N R target input-target output-target keep-symbol strip-symbol remove-section", output="o")

REWRITERS = {
    "chrpath": Rewriter("r replace", only="r replace d delete c convert"),
    "codesign": Rewriter(
        "s sign i identifier r requirements R test-requirement o options D detached entitlements keychain prefix",
        only="s sign remove-signature",
    ),
    "fallocate": Rewriter("l length o offset"),
    "install_name_tool": Rewriter("id add_rpath delete_rpath", "change rpath", last=True, long_dash=True),
    "llvm-objcopy": _OBJCOPY,
    "llvm-strip": _STRIP,
    "objcopy": _OBJCOPY,
    "patchelf": Rewriter(
        "set-interpreter set-soname set-rpath add-rpath add-needed remove-needed page-size set-os-abi"
        " allowed-rpath-prefixes rename-dynamic-symbols clear-symbol-version",
        "replace-needed",
        output="output",
        info_options="print-interpreter print-soname print-rpath print-needed print-os-abi print-execstack",
    ),
    "strip": _STRIP,
}


def _handle_rewriter(call: Invocation) -> None:
    row = REWRITERS[call.name]
    valued = f"{row.valued} {row.pairs} {row.output}"
    options = parse_options(_drop_second_values(call.args, row), valued, long_dash=row.long_dash)
    if options.has(*row.info_options.split()) or (row.only and not options.has(*row.only.split())):
        return
    written = options.values(*row.output.split()) or list(options.rest[-1:] if row.last else options.rest)
    for file in options.rest:
        if file not in written:
            call.add_read(file, verb="copy")
    for file in written:
        call.add_write(file)


def _drop_second_values(words: list[Argument], row: Rewriter) -> list[Argument]:
    """Return the words without the second value of options that take two."""
    pair_options = {word for name in row.pairs.split() for word in (f"-{name}", f"--{name}")}
    return [word for index, word in enumerate(words) if index < 2 or words[index - 2].text not in pair_options]


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(REWRITERS, _handle_rewriter),
    **dict.fromkeys(_COMPILERS, _handle_compiler),
    **dict.fromkeys(_BUILD_FILES, _handle_make),
    "cmake": _handle_cmake,
    **dict.fromkeys(("gradle", "gradlew", "lein", "mvn", "mvnw", "sbt"), _handle_maven),
}
