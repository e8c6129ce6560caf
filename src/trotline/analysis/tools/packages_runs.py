"""Managers that run something: a package that they fetch first, a tool of the project, a script that it names."""

from trotline.analysis.scene import Argument
from trotline.analysis.step import Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.packages_installs import Line, package
from trotline.analysis.tools.packages_row import Manager
from trotline.analysis.tools.packages_specs import Wanted, wanted

_MANIFESTS = {"cargo": "Cargo.toml", "composer": "composer.json", "golang": "go.mod", "npm": "package.json"}
_SCRIPTS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".sh": "sh", ".rb": "ruby", ".php": "php"}


def fetched(line: Line) -> None:
    """`npx X ...`: the package is fetched if it is not there, and run with the words that follow."""
    step, found, kind = line.step, line.found, line.manager.kind
    words = list(found.rest)
    for text in found.values("c", "call") if kind == "npm" else ():
        step.out = step.script(text)
    named = found.values("p", "package") if kind == "npm" else found.values("from", "spec", "with")
    if kind == "golang":
        _go_run(line, words)
        return
    for word in named:
        package(step, kind, word, wanted(kind, word.text))
    if not words:
        return
    if line.verb in {"create", "init", "innit"}:
        words[0] = words[0]._replace(text=_created(words[0].text))
    want = wanted(kind, words[0].text)
    if not named:
        package(step, kind, words[0], want)
    step.out = step.carry([words[0]._replace(text=_program(words[0], want)), *words[1:]])


def _created(text: str) -> str:
    """`npm create x` is the package `create-x`."""
    scope, slash, name = text.partition("/") if text.startswith("@") else ("", "", text)
    return f"{scope}{slash}create-{name}" if name else f"{scope}/create"


def _program(word: Argument, want: Wanted) -> str:
    """What a package calls its program, as a rule: the last part of its own name."""
    return want.name.rpartition("/")[2] if want.purl else word.text


def _go_run(line: Line, words: list[Argument]) -> None:
    for word in words[:1]:
        if "@" in word.text:
            package(line.step, "golang", word, wanted("golang", word.text))
        else:
            line.step.effect("execute", "run", word, path=line.step.path(word), source="file")


def carried(line: Line) -> None:
    """`poetry run X ...`: another program with its words."""
    step, found, kind = line.step, line.found, line.manager.kind
    for word in found.values("with") if kind == "pypi" else ():
        package(step, kind, word, wanted(kind, word.text))
    words = _after_version(step, list(found.rest))
    modules = found.values("m", "module") if step.name == "uv" else []
    if modules:
        words = [step.program._replace(text="-m"), modules[0], *words]
        step.out = step.carry([step.program._replace(text="python"), *words])
        return
    if not words:
        return
    runner = next((tool for ending, tool in _SCRIPTS.items() if words[0].text.endswith(ending)), None)
    if runner is not None and step.name in {"uv", "bun", "pdm", "pipenv"}:
        words = [words[0]._replace(text=runner), *words]
    step.out = step.carry(words)


def _after_version(step: Step, words: list[Argument]) -> list[Argument]:
    """`rustup run nightly X`, `mise exec node@20 -- X`: a version stands before the program."""
    marks = [at for at, word in enumerate(words) if word.text == "--"]
    if marks and step.name in {"asdf", "fnm", "mise", "volta"}:
        return words[marks[0] + 1 :]
    return words[1:] if step.name in {"nvm", "rustup"} else words


def project_script(line: Line) -> None:
    """`npm run X`: what it does is in the project's own file; if this very line wrote that, it is read."""
    step = line.step
    if step.name == "bun" and line.found.rest and "." in line.found.rest[0].text:
        interpreted(step)
        return
    name = (
        line.found.rest[0].text if line.verb in {"run", "run-script", "rum", "task"} and line.found.rest else line.verb
    )
    at = step.program._replace(text=_MANIFESTS.get(line.manager.kind, "."))
    path = step.path(at)
    text = step.scene.written.get(path)
    known = path in step.scene.written
    step.effect("execute", "run", at, path=path, source="written" if known else "file", target=name)
    for command in _commands(text, name) if text and line.manager.kind == "npm" else ():
        step.out = step.script(at._replace(text=command), Stream())


def _commands(text: str, name: str) -> list[str]:
    import json  # noqa: PLC0415 - only a line that writes a manifest needs it

    try:
        scripts = json.loads(text)["scripts"]
        return [str(scripts[key]) for key in (f"pre{name}", name, f"post{name}") if key in scripts]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


_COMMANDS = {"apt": (), "apt-get": (), "go": ("exec", "toolexec"), "npm": ("script-shell",)}
"""Options whose value is run with what they build or run."""


def hidden_commands(step: Step, manager: Manager) -> None:
    """Options that hold a command, among many that do not."""
    if step.name not in _COMMANDS:
        return
    found = step.options(manager.valued.split(), long_dash=manager.long_dash)
    for text in found.values(*_COMMANDS[step.name]):
        step.script(text)
    for option in found.values("o", "option") if manager.kind == "deb" else ():
        key, _, value = option.text.partition("=")
        if "invoke" in key.lower() and value:
            step.script(option._replace(text=value))


def code(line: Line) -> None:
    """`deno run X`: an interpreter, with code that the line names or holds."""
    interpreted(line.step)


def interpreted(step: Step) -> None:
    from trotline.analysis.tools.interpreters import interpreter  # noqa: PLC0415 - few lines run code with a manager

    interpreter(step)
