"""A group whose commands are imported when they are called, not when they are listed."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class Lazy(click.Group):
    """`rows` has the sentence of each command; the code of each is the module of that name in `package`."""

    def __init__(self, *args: Any, rows: Mapping[str, str], package: str, what: str = "command", **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.rows = rows
        self.package = package
        self.what = what

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.rows:
            return None
        command: click.Command = import_module(f"{self.package}.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.rows and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.rows, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise click.UsageError(f"there is no {self.what} `{args[0]}`{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section(f"{self.what.capitalize()}s"):
            formatter.write_dl(list(self.rows.items()))
