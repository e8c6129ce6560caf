"""trotline completion: the script that teaches a shell our commands and options."""

import click
from click.shell_completion import get_completion_class

from trotline.cli.options import accepts_roots

HELP = """Print the completion script of a shell.

\b
  eval "$(trotline completion bash)"            in ~/.bashrc
  eval "$(trotline completion zsh)"             in ~/.zshrc
  trotline completion fish > ~/.config/fish/completions/trotline.fish
"""


@click.command("completion", help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@accepts_roots
def command(shell: str) -> int:
    from trotline.cli import group

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(maker(group, {}, "trotline", "_TROTLINE_COMPLETE").source())
    return 0
