"""The command line: one file per command, imported when the command is called. `output.Exit` lists the exit codes."""

import contextlib
from itertools import pairwise
from typing import Any

import click

from trotline import __version__
from trotline.cli.command import LazyGroup
from trotline.cli.output import Exit, build_envelope
from trotline.domain.errors import TrotlineError, describe_os_error

COMMANDS: dict[str, str] = {
    "install": "find the agents on this machine, put our line into their hooks, and see that it holds",
    "doctor": "look at everything between an agent and a refusal, and name the next step",
    "agents": "what hooks can do under each agent, and which agents are here",
    "uninstall": "take it out again; the files are as they were",
    "check": "read every layer and say what is wrong with it; `--test` runs the tests of policy rules",
    "scan": "secrets, injection and dangerous settings in files, without running anything",
    "show": "the hooks in the order in which they run, and which apply to an action",
    "explain": "what an action would do, what the guards say about it, and why",
    "guards": "every guard with its level, and which layer says so; lists of malicious packages",
    "builtin": "hooks that are there already: formatters, tests, scans, telemetry, commits",
    "new": "write a hook with its test, a project with sample hooks, or a test from a recorded call",
    "fire": "play the agent for one event, or for a scripted conversation, and show what every hook said",
    "trust": "look at a project's hooks, and let them run; `--revoke` takes that back",
    "hook": "answer a call of an agent; this is the line that agents run",
    "service": "the warm half of `trotline hook`: status, stop, run",
    "log": "what agents did: ask, follow, count, export, verify, prune",
    "replay": "judge recorded or given events again by a candidate, and show which decisions would change",
    "conform": "put an engine, ours or another, into every situation of the corpus",
    "events": "every event: when it fires, what a hook may answer",
    "schema": "JSON Schemas of hooks.json, trotline.toml, payloads and replies",
    "completion": "shell completion for bash, zsh and fish",
}
"""Command -> its summary. The code of each is the module of the same name in this package."""

HELP = """Hooks for coding agents: see what an agent is about to do, stop what must not
happen, and know that it is on.

\b
Begin:
  trotline install                  find the agents here, install, and prove it
  trotline doctor                   look at everything, and name the next step

\b
Point it at a project:
  trotline check                    what is wrong in any layer of this project
  trotline check .cursor/hooks.json just this file
  trotline show                     every hook, in the order in which they run
  trotline show --for 'curl x.sh'   which of them would see this command, and why
  trotline events preToolUse        one event: payload, answers, where it fires

\b
Write hooks, and run them:
  trotline new hook no-force-push   a hook, its test, and its line in hooks.json
  trotline trust                    look at a project's hooks, and let them run
  trotline fire beforeShellExecution --set command='curl x'
  trotline fire --script talk.toml  a whole conversation

\b
In CI:
  trotline check --format github    annotations on the pull request
  trotline check --json | jq .ok
  trotline scan --format sarif      secrets and dangerous settings in what is pulled
"""


@click.group(
    cls=LazyGroup,
    summaries=COMMANDS,
    package=__name__,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="trotline %(version)s")
def group() -> None:
    """Run a command; the help text is HELP."""


def run(argv: list[str]) -> int:
    """Run one command line and return its exit code; every error becomes a message for a person."""
    as_json = "--json" in argv or "--format=json" in argv or ("--format", "json") in pairwise(argv)
    try:
        return _get_code(group.main(argv or ["--help"], prog_name="trotline", standalone_mode=False))
    except SystemExit as left:  # click exits so when the reader of a pipe is gone, and after completing words
        return Exit.BROKEN_PIPE if left.code else Exit.OK
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "trotline"
        message = " ".join(error.format_message().split())
        return _show_error(message, f"`{where} --help` shows how", Exit.USAGE, as_json=as_json)
    except click.ClickException as error:
        return _show_error(error.format_message(), "", error.exit_code, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except TrotlineError as error:
        return _show_error(error.message, error.hint, error.exit_code, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the one place where a bug becomes a report
        if isinstance(error, OSError) and error.filename:
            hint = "look at what is there: its owner, its mode, the space on its disk"
            message = f"`{error.filename}`: {describe_os_error(error)}"
            return _show_error(message, hint, Exit.FINDINGS, as_json=as_json)
        import traceback

        hint = "this is a bug in trotline; please report it with the lines above"
        traceback.print_exc()
        return _show_error("something went wrong that should not", hint, Exit.BUG, as_json=as_json)


def _get_code(returned: Any) -> int:
    return int(returned) if isinstance(returned, int) else Exit.OK


def _show_error(message: str, hint: str, code: int, *, as_json: bool) -> int:
    if as_json:
        problem = {"code": f"EXIT{int(code)}", "severity": "error", "message": message, "hint": hint}
        with contextlib.suppress(BrokenPipeError):
            click.echo(build_envelope("trotline.error/1", ok=False, data=None, problems=[problem]))
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    return code
