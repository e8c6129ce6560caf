"""The command line: one thin file per command, imported when it is called.

Exit codes: 0 fine, 1 findings, 64 usage, 70 a bug of ours, 75 try again, 141 nobody read to the end. With --json every
answer, errors too, is one envelope: {"schema", "ok", "data", "problems"}.
"""

import contextlib
from itertools import pairwise
from typing import Any

import click

from trotline import __version__
from trotline.cli.lazy import Lazy
from trotline.cli.output import envelope
from trotline.errors import TrotlineError

COMMANDS: dict[str, str] = {
    "check": "read every layer and say what is wrong with it",
    "scan": "secrets, injection and dangerous settings in files, without running anything",
    "show": "the hooks in the order in which they run, and which apply to an action",
    "explain": "what an action would do, what the guards say about it, and why",
    "guards": "every guard with its level, and which layer says so",
    "policy": "rules of your own: check, test and explain them",
    "ready": "hooks that are there already: formatters, tests, scans, telemetry, commits",
    "new": "write a hook with its test, or a project that begins with some",
    "fire": "play the host for one event and show what every hook said",
    "init": "find the agents on this machine, put our line into their hooks, and see that it holds",
    "doctor": "look at everything between an agent and a refusal, and name the next step",
    "hosts": "what hooks can do under each agent, and which agents are here",
    "install": "put our line into the hooks of the agents on this machine",
    "uninstall": "take it out again; the files are as they were",
    "prove": "send a canary through the installed lines, and say what that proves",
    "hook": "answer a call of a host; this is the line that hosts run",
    "service": "the warm half of `trotline hook`: status, stop, logs, run, unit",
    "trace": "the last calls of hosts, and what they were answered",
    "log": "what agents did: ask, follow, count, export, verify, forget",
    "packages": "the list of malicious packages that installs are judged by: load, check",
    "mcp": "the MCP servers and tools that were called, and those that are configured",
    "alerts": "of which records somebody is told, and whether that arrives",
    "replay": "judge recorded or given events again by a candidate, and show which decisions would change",
    "diff": "two states of hooks and policy: what was added, removed, changed, and which decisions with it",
    "test": "a test from what happened: `trotline test new --from ID`",
    "simulate": "play a conversation against the configured hooks",
    "conform": "put an engine, ours or another, into every situation of the corpus",
    "trust": "look at a project's hooks, and let them run",
    "untrust": "take that back",
    "sessions": "what conversations left behind between events",
    "events": "every event: when it fires, what a hook may answer",
    "schema": "JSON Schemas of hooks.json, payloads and replies",
    "completion": "shell completion for bash, zsh and fish",
}
"""Command -> its sentence. The code of each is the module of the same name in this package."""

UNREAD = 141
"""What a shell says of a program that wrote into a pipe which nobody reads any more: 0 would say that all is well."""

HELP = """Hooks for coding agents: see what an agent is about to do, stop what must not
happen, and know that it is on.

\b
Begin:
  trotline init                     find the agents here, install, and prove it
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
  trotline simulate talk.toml       a whole conversation

\b
In CI:
  trotline check --format github    annotations on the pull request
  trotline check --json | jq .ok
  trotline scan --format sarif      secrets and dangerous settings in what is pulled
"""


@click.group(
    cls=Lazy,
    rows=COMMANDS,
    package=__name__,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="trotline %(version)s")
def group() -> None:
    pass


def run(argv: list[str]) -> int:
    """Run one command line and give its exit code; whatever goes wrong becomes a sentence for a person."""
    as_json = "--json" in argv or "--format=json" in argv or ("--format", "json") in pairwise(argv)
    try:
        return _code(group.main(argv or ["--help"], prog_name="trotline", standalone_mode=False))
    except SystemExit as left:
        return UNREAD if left.code else 0  # so click leaves when nobody reads us any more, and to complete words
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "trotline"
        message = " ".join(error.format_message().split())
        return _failed(message, f"`{where} --help` shows how", 64, as_json=as_json)
    except click.ClickException as error:
        return _failed(error.format_message(), "", error.exit_code, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except TrotlineError as error:
        return _failed(error.message, error.hint, error.exit_code, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - the one place where a bug becomes a report
        if isinstance(error, OSError) and error.filename:
            hint = "look at what is there: its owner, its mode, the space on its disk"
            return _failed(f"`{error.filename}`: {(error.strerror or str(error)).lower()}", hint, 1, as_json=as_json)
        import traceback

        hint = "this is a bug in trotline; please report it with the lines above"
        traceback.print_exc()
        return _failed("something went wrong that should not", hint, 70, as_json=as_json)


def _code(returned: Any) -> int:
    return returned if isinstance(returned, int) else 0


def _failed(message: str, hint: str, code: int, *, as_json: bool) -> int:
    if as_json:
        problem = {"code": f"EXIT{code}", "severity": "error", "message": message, "hint": hint}
        with contextlib.suppress(BrokenPipeError):
            click.echo(envelope("trotline.error/1", ok=False, data=None, problems=[problem]))
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    return code
