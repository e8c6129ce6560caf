"""Declare commands: options that all of them have, groups that import commands when they are called, and a check for
commands that write into a home directory."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click
from click.core import ParameterSource

from trotline.agents.cursor.cursor_editions import EDITION_NAMES, NEWEST_EDITION
from trotline.cli.output import Result, dim, printable, show_result, warn
from trotline.config.paths import Roots
from trotline.domain.errors import UsageError
from trotline.machine import copy_environment, find_roots

DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
SLOW_SECONDS = 1.0

ROOT_OPTIONS = ("projects", "home", "system")
COMMON_OPTIONS = frozenset({"as_json", *ROOT_OPTIONS})

Function = Callable[..., Any]

edition_option = click.option(
    "--edition",
    "edition_name",
    type=click.Choice(EDITION_NAMES),
    default=NEWEST_EDITION,
    show_default=True,
    help="Judge by the Cursor of this date.",
)
claude_option = click.option(
    "--claude/--no-claude", default=True, help="Also read Claude Code's settings files, as Cursor does. [default: on]"
)
number_option = click.option(
    "-n", "number", type=click.IntRange(1, 1_000_000_000), default=20, show_default=True, help="How many."
)


def declare(
    name: str, schema: str, *, parent: click.Group | None = None, roots: bool = True, **settings: Any
) -> Callable[[Function], click.Command]:
    """Make a command of a function that returns a Result. Adds --json, --home, --system and --project.

    The function gets `roots`, unless it reads no files (`roots=False`): then the options are accepted and ignored, so
    that they may follow every command.
    """

    def decorate(function: Function) -> click.Command:
        @functools.wraps(function)
        def run(*args: Any, as_json: bool, **options: Any) -> int:
            root_options = {option: options.pop(option) for option in ROOT_OPTIONS}
            if roots:
                options["roots"] = _find_roots(**root_options)
            result: Result | None = function(*args, **options)
            if result is None:  # a group whose subcommand answers
                return 0
            return show_result(result, schema, as_json=as_json or options.get("form") == "json")

        _add_common_options(run, hidden=not roots)
        return (parent or click).command(name, **settings)(run)

    return decorate


def declare_group(
    name: str, schema: str, *, kind: type[click.Group] = click.Group, **settings: Any
) -> Callable[[Function], click.Group]:
    """Make a group that can be called without a subcommand: then the function answers."""

    def decorate(function: Function) -> click.Group:
        @click.pass_context
        @functools.wraps(function)
        def answer(context: click.Context, *args: Any, **options: Any) -> Any:
            if context.invoked_subcommand is None:
                return function(*args, **options)
            refuse_options_before(context)
            return None

        group = declare(name, schema, cls=kind, invoke_without_command=True, **settings)(answer)
        return cast("click.Group", group)

    return decorate


def refuse_options_before(context: click.Context) -> None:
    """Raise a usage error for options before a subcommand, because they would be ignored."""
    if list_used_options(context):
        word = context.invoked_subcommand
        raise click.UsageError(f"options come after the word: `{context.command_path} {word} --...`", context)


def list_used_options(context: click.Context) -> set[str]:
    """Return the parameters that were given on the command line."""
    return {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}


def _add_common_options(function: Function, *, hidden: bool) -> None:
    """Put the options behind those of the command; click lists parameters in reverse order."""

    def common() -> None: ...

    for option in (
        click.option("--system", type=DIRECTORY, hidden=hidden, help="Another root of the system."),
        click.option("--home", type=DIRECTORY, hidden=hidden, help="Another home directory."),
        click.option(
            "--project",
            "projects",
            type=DIRECTORY,
            hidden=hidden,
            multiple=True,
            help="A workspace root; may be repeated.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Answer in one JSON envelope."),
    ):
        option(common)
    command_options, common_options = (getattr(declared, "__click_params__", []) for declared in (function, common))
    vars(function)["__click_params__"] = [*common_options, *command_options]


def _find_roots(projects: tuple[Path, ...], home: Path | None, system: Path | None) -> Roots:
    try:
        return find_roots(projects, home, system)
    except FileNotFoundError:
        raise UsageError("the directory that this runs in is gone", hint="go to one that is there") from None


def wants_json() -> bool:
    """Return whether the command was called with --json, so that it must not ask or print on the way."""
    return bool(click.get_current_context().params.get("as_json"))


def may_ask(*, yes: bool, dry_run: bool) -> bool:
    """Return whether the person can be asked and wants to be."""
    return not (yes or dry_run or wants_json()) and sys.stdin.isatty()


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called. `summaries` has one line for each command; the code of
    a command is the module of its name in `package`."""

    def __init__(
        self, *args: Any, summaries: Mapping[str, str], package: str, noun: str = "command", **rest: Any
    ) -> None:
        super().__init__(*args, **rest)
        self.summaries = summaries
        self.package = package
        self.noun = noun

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands, in the order of `summaries`."""
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command, or return None if the group has no command of this name."""
        if cmd_name not in self.summaries:
            return None
        command: click.Command = import_module(f"{self.package}.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. A usage error for an unknown name suggests a similar one."""
        if args and args[0] not in self.summaries and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.summaries, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise click.UsageError(f"there is no {self.noun} `{args[0]}`{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the section of commands in the help text, without importing the commands."""
        with formatter.section(f"{self.noun.capitalize()}s"):
            formatter.write_dl(list(self.summaries.items()))


@contextmanager
def announce_if_slow(text: str) -> Iterator[None]:
    """Print the text to standard error if the block takes longer than a second."""
    timer = threading.Timer(SLOW_SECONDS, click.echo, [dim(f"{text} ...")], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# Commands that write into a home directory


def _describe_home_conflict(roots: Roots) -> str:
    """Return a warning if HOME and the password database name different directories and --home does not decide."""
    named = copy_environment().get("HOME", "")
    is_chosen = click.get_current_context().params.get("home") is not None
    if is_chosen or not named or Path(named).resolve() == roots.home:
        return ""
    return f"HOME is {printable(named)}, and the password database says {printable(str(roots.home))}"


def check_home(roots: Roots, *, asks: bool) -> None:
    """Warn of a home conflict if the person is asked next; otherwise refuse to write into either home."""
    conflict = _describe_home_conflict(roots)
    if conflict and not asks:
        named = printable(copy_environment()["HOME"])
        hint = f"say which is meant: --home {named} or --home {printable(str(roots.home))}"
        raise UsageError(f"{conflict}: nothing was written", hint=hint)
    if conflict:
        warn(f"{conflict}: it is written into {printable(str(roots.home))}, unless --home says otherwise")
