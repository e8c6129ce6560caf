"""trotline completion: print the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from trotline.cli.command import declare
from trotline.cli.output import Result

HELP = """Print the completion script of a shell.

\b
  eval "$(trotline completion bash)"            in ~/.bashrc
  eval "$(trotline completion zsh)"             in ~/.zshrc
  trotline completion fish > ~/.config/fish/completions/trotline.fish
"""


@declare("completion", "trotline.completion/1", help=HELP, roots=False)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> Result:
    from trotline.cli import group

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    script = completion(group, {}, "trotline", "_TROTLINE_COMPLETE").source()
    return Result({"shell": shell, "script": script}, [script])
