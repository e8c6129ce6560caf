"""Package managers: find the action of a command line, and what it installs, publishes or runs."""

from collections.abc import Callable

from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.packages.installs import (
    ManagerCommand,
    add_installs,
    add_package,
    add_removals,
    add_setting,
    add_source,
)
from trotline.analysis.packages.managers import LETTER_MANAGERS, MANAGERS, PackageManager
from trotline.analysis.packages.package_specs import parse_request
from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream

_DRY_RUN_OPTIONS = ("dry-run", "simulate", "just-print", "no-act", "whatif", "download-only", "print-uris")
_READ_ONLY_VERBS = frozenset("ls list get info show".split())

_PLUGINS = {"cargo": {"diesel": "diesel", "sqlx": "sqlx", "watch": "cargo-watch"}, "dotnet": {"ef": "dotnet-ef"}}
"""Programs that extend a manager, by the verb that runs them."""

_NODE_MANAGERS = frozenset({"bun", "pnpm", "yarn"})
"""They run a program of an installed package by its bare name, or after `run`."""

_NODE_PROGRAMS = frozenset(
    "ace cdk concurrently cross-env cross-env-shell del-cli drizzle-kit firebase knex mikro-orm netlify nodemon payload"
    " prisma rimraf sequelize sequelize-cli serverless shx sls supabase ts-node tsx typeorm typeorm-ts-node-commonjs"
    " vercel wrangler".split()
)
"""Names of such programs that are hardly ever scripts of a project."""

_SCRIPT_MANIFESTS = {"cargo": "Cargo.toml", "composer": "composer.json", "golang": "go.mod", "npm": "package.json"}
_INTERPRETERS = expand_names({".py": "python", ".js .mjs .cjs": "node", ".sh": "sh", ".rb": "ruby", ".php": "php"})
_COMMAND_OPTIONS = {"apt": "", "apt-get": "", "go": "exec toolexec", "npm": "script-shell"}
"""Options whose value is a command that the manager runs."""


def _handle_manager(call: Invocation) -> None:
    manager = MANAGERS.get(call.name.lower()) or MANAGERS[call.name.lower().rstrip("0123456789.-")]
    before = call.parse_options(manager.all_valued, stops=True, long_dash=manager.long_dash)
    call.stdout = Stream()
    _analyze_command_options(call, manager)
    words = _drop_project_words(call.name, list(before.rest))
    if _analyze_forwarded_program(call, words):
        return
    action, count = manager.find_action(words[0].text if words else "", words[1].text if len(words) > 1 else "")
    if manager.default and not action:
        action, count = (manager.default, 0) if not words or manager.default != "install" else ("script", 0)
    if not action:
        if call.name in {"bun", "deno"}:
            _analyze_as_interpreter(call)
        return
    runs_words = action in {"run", "code", "fetch"}
    after = parse_options(words[count:], manager.all_valued, stops=runs_words, long_dash=manager.long_dash)
    options = ParsedOptions({**before.flags, **after.flags}, after.rest)
    if options.has("help", "version") and not (runs_words or options.values("version")):
        return
    if not runs_words and _is_dry_run(manager, options):
        return
    verb = ".".join(word.text for word in words[:count])
    _ACTIONS[action](ManagerCommand(call, manager, verb, options))


def _drop_project_words(name: str, words: list[Argument]) -> list[Argument]:
    """Return the words without the name of a project or toolchain.

    Examples: `dotnet add APP package X`, `yarn workspace APP add X`, `cargo +X`.
    """
    if name == "dotnet" and len(words) > 2 and words[2].text in {"package", "reference"}:
        return [words[0], *words[2:]]
    if name == "cargo" and words and words[0].text.startswith("+"):
        return words[1:]
    if name == "yarn" and len(words) > 2 and words[0].text == "workspace":
        return words[2:]
    return words


def _is_dry_run(manager: PackageManager, options: ParsedOptions) -> bool:
    short = {"deb": "s", "brew": "n"}.get(manager.kind)
    return options.has(*_DRY_RUN_OPTIONS) or (short is not None and options.has(short))


def _analyze_command_options(call: Invocation, manager: PackageManager) -> None:
    if call.name not in _COMMAND_OPTIONS:
        return
    options = call.parse_options(manager.all_valued, scripts=_COMMAND_OPTIONS[call.name], long_dash=manager.long_dash)
    for option in options.values("o", "option") if manager.kind == "deb" else ():
        key, _, value = option.text.partition("=")
        if "invoke" in key.lower() and value:
            call.analyze_script(option._replace(text=value))


# Programs that a manager runs


def _analyze_forwarded_program(call: Invocation, words: list[Argument]) -> bool:
    """Analyze a plugin or a program of the project's packages if the words name one; return whether they do."""
    first = words[0].text if words else ""
    if call.name == "mix":
        return _analyze_mix_tasks(call, words)
    if call.name in _NODE_MANAGERS:
        words = words[1:] if first == "run" else words
        if not words or words[0].text not in _NODE_PROGRAMS:
            return False
        call.stdout = call.analyze_wrapped(words)
        return True
    program = _PLUGINS.get(call.name, {}).get(first)
    if program is not None:
        call.stdout = call.analyze_wrapped([words[0]._replace(text=program), *words[1:]])
    return program is not None


def _analyze_mix_tasks(call: Invocation, words: list[Argument]) -> bool:
    """Analyze the Ecto tasks of `mix ecto.drop`, `mix do ecto.drop, ecto.create` or `mix do a + b`."""
    has_many = bool(words) and words[0].text == "do"
    tasks: list[list[Argument]] = [[]]
    for word in words[has_many:]:
        if word.text != "+":
            tasks[-1].append(word._replace(text=word.text.rstrip(",")) if has_many else word)
        if has_many and (word.text == "+" or word.text.endswith(",")):
            tasks.append([])
    ecto_tasks = [task for task in tasks if task and task[0].text.startswith("ecto.")]
    for first, *others in ecto_tasks:
        task = first._replace(text=first.text.removeprefix("ecto."))
        call.analyze_wrapped([first._replace(text="ecto"), task, *others])
    return bool(ecto_tasks)


def _analyze_fetched_program(command: ManagerCommand) -> None:
    """Analyze `npx X ...`, which fetches a package if needed and runs it."""
    call, options, kind = command.call, command.options, command.manager.kind
    words = list(options.rest)
    for text in options.values("c", "call") if kind == "npm" else ():
        call.stdout = call.analyze_script(text)
    if kind == "golang":
        _analyze_go_program(command, words)
        return
    packages = options.values("p", "package") if kind == "npm" else options.values("from", "spec", "with")
    for word in packages:
        add_package(call, kind, word, parse_request(kind, word.text))
    if not words:
        return
    if command.verb in {"create", "init", "innit"}:
        words[0] = words[0]._replace(text=_get_creator(words[0].text))
    request = parse_request(kind, words[0].text)
    if not packages:
        add_package(call, kind, words[0], request)
    # a program is usually named after its package
    program = request.name.rpartition("/")[2] if request.purl else words[0].text
    call.stdout = call.analyze_wrapped([words[0]._replace(text=program), *words[1:]])


def _get_creator(text: str) -> str:
    """Return the package that `npm create x` runs: `create-x`."""
    scope, slash, name = text.partition("/") if text.startswith("@") else ("", "", text)
    return f"{scope}{slash}create-{name}" if name else f"{scope}/create"


def _analyze_go_program(command: ManagerCommand, words: list[Argument]) -> None:
    call = command.call
    for word in words[:1]:
        if "@" in word.text:
            add_package(call, "golang", word, parse_request("golang", word.text))
        else:
            call.add_run(word)


def _analyze_run(command: ManagerCommand) -> None:
    """Analyze the program of `poetry run X ...`."""
    call, options, kind = command.call, command.options, command.manager.kind
    for word in options.values("with") if kind == "pypi" else ():
        add_package(call, kind, word, parse_request(kind, word.text))
    words = _skip_version(call, list(options.rest))
    modules = options.values("m", "module") if call.name == "uv" else []
    if modules:
        words = [call.program._replace(text="-m"), modules[0], *words]
        call.stdout = call.analyze_wrapped([call.program._replace(text="python"), *words])
        return
    if not words:
        return
    interpreter = next((name for suffix, name in _INTERPRETERS.items() if words[0].text.endswith(suffix)), None)
    if interpreter is not None and call.name in {"uv", "bun", "pdm", "pipenv"}:
        words = [words[0]._replace(text=interpreter), *words]
    call.stdout = call.analyze_wrapped(words)


def _skip_version(call: Invocation, words: list[Argument]) -> list[Argument]:
    """Skip the version before the program: `rustup run nightly X`, `mise exec node@20 -- X`."""
    separators = [at for at, word in enumerate(words) if word.text == "--"]
    if separators and call.name in {"asdf", "fnm", "mise", "volta"}:
        return words[separators[0] + 1 :]
    return words[1:] if call.name in {"nvm", "rustup"} else words


def _analyze_project_script(command: ManagerCommand) -> None:
    """Analyze `npm run X`. The script is in the manifest, whose text is known if the same line wrote it."""
    call, words = command.call, command.options.rest
    if call.name == "bun" and words and "." in words[0].text:
        _analyze_as_interpreter(call)
        return
    name = words[0].text if command.verb in {"run", "run-script", "rum", "task"} and words else command.verb
    at = call.program._replace(text=_SCRIPT_MANIFESTS.get(command.manager.kind, "."))
    call.add_run(at, target=name)
    text = call.state.written_texts.get(call.resolve(at))
    for script in _list_scripts(text, name) if text and command.manager.kind == "npm" else ():
        call.stdout = call.analyze_script(at._replace(text=script), Stream())


def _list_scripts(text: str, name: str) -> list[str]:
    import json  # noqa: PLC0415 - only a line that writes a manifest needs it

    try:
        scripts = json.loads(text)["scripts"]
        return [str(scripts[key]) for key in (f"pre{name}", name, f"post{name}") if key in scripts]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _analyze_code(command: ManagerCommand) -> None:
    """Analyze `deno run X`, which runs a file, or code in the command line."""
    _analyze_as_interpreter(command.call)


def _analyze_as_interpreter(call: Invocation) -> None:
    from trotline.analysis.programs.interpreters import handle_interpreter  # noqa: PLC0415 - few lines run code with a manager

    handle_interpreter(call)


# Other actions


def _add_publish(command: ManagerCommand) -> None:
    words, options = command.options.rest, command.options
    if (words and words[0].text in _READ_ONLY_VERBS) or options.has("list"):
        return
    registry = options.value("registry", "repository-url", "publish-url", "source", "host")
    command.call.add_effect("publish", "publish", target=_describe_packages(words), source=registry, writes=True)


def _add_unpublish(command: ManagerCommand) -> None:
    words = command.options.rest
    if words and words[0].text in _READ_ONLY_VERBS:
        return
    verb = command.verb.rpartition(".")[2]
    command.call.add_effect("publish", "unpublish", target=_describe_packages(words), source=verb, writes=True)


def _describe_packages(words: tuple[Argument, ...]) -> str:
    return " ".join(word.text for word in words) or "this project"


def _add_cache_cleanup(command: ManagerCommand) -> None:
    command.call.add_effect("install", "clean-cache", target=command.manager.kind, writes=True)


def _add_unlock(command: ManagerCommand) -> None:
    verb = "unlock" if command.options.has("force") else "install"
    command.call.add_effect("install", verb, source="manifest", target="project", writes=True)


_ACTIONS: dict[str, Callable[[ManagerCommand], None]] = {
    "clean": _add_cache_cleanup,
    "code": _analyze_code,
    "fetch": _analyze_fetched_program,
    "install": add_installs,
    "publish": _add_publish,
    "remove": add_removals,
    "run": _analyze_run,
    "script": _analyze_project_script,
    "setting": add_setting,
    "source": add_source,
    "unlock": _add_unlock,
    "unpublish": _add_unpublish,
}


def _handle_letter_manager(call: Invocation) -> None:
    manager = LETTER_MANAGERS[call.name]
    options = call.parse_options(manager.valued)
    call.stdout = Stream()
    if options.has("q", "query", "print", "test", "dry-run", "no-act", "help", "version"):
        return
    is_sync = manager.kind == "alpm" and options.has("S", "sync")
    if is_sync and options.has("s", "i", "l", "g", "search", "info", "list"):
        return
    command = ManagerCommand(call, PackageManager(manager.kind, "", scope="system"), call.name, options)
    if options.has(*manager.remove.split()):
        add_removals(command)
    elif options.has(*manager.install.split()):
        add_installs(command)


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(MANAGERS, _handle_manager),
    **dict.fromkeys(LETTER_MANAGERS, _handle_letter_manager),
}
