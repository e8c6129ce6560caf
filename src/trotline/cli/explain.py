"""trotline explain: what an action would do, and which guards and rules match it."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import click
import msgspec

from trotline.agents.recognition import CURSOR_TOOLS, decode_any_event, to_cursor_tool
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Environment
from trotline.cli.command import declare
from trotline.cli.output import PERMISSION_EXITS, Result, bold, dim, printable, warn
from trotline.config.paths import Roots
from trotline.config.policies import read_policies
from trotline.domain.effects import Certainty, Effect
from trotline.domain.errors import TrotlineError, UsageError
from trotline.domain.events import BeforeMCP, BeforeShell, Event, PreToolUse
from trotline.domain.hooks import split_mcp_name
from trotline.domain.verdicts import Permission
from trotline.evaluation.explain import Explanation, explain_command, explain_event, measure_deletion
from trotline.evaluation.machine_panel import build_environment, build_scanning
from trotline.evaluation.text_findings import KIND, Scanning, TextFindings
from trotline.guards.guard import PRESETS, RuleMatch
from trotline.machine import get_today
from trotline.policy.policy import Policy

HELP = """Say what an action would do, and what the guards say about it. Nothing is run.

Exit 0 when it would be let through, 10 when a person would be asked, 20 when it would be denied.

\b
  trotline explain 'cd / && rm -rf *'
  trotline explain --preset strict 'git reset --hard'
  trotline explain --file ~/.ssh/id_rsa                      an agent reads this file
  trotline explain --tool Write --file .cursor/hooks.json    an agent writes it
  trotline explain --mcp db:run_query --input '{"sql": "drop table users"}'
  trotline explain --event payload.json                      a whole event, as an agent sends it
  trotline explain --batch < commands.jsonl                  one JSON line in, one out
"""
COLOURS = {Permission.DENY: "red", Permission.ASK: "yellow"}
QUIET_KINDS = frozenset({"environment"})
"""Effects that are shown only if a guard matches them."""

OTHER_ACTIONS = ("tool", "mcp", "file", "event_file")
MAX_LINE = 160


@declare("explain", "trotline.explain/1", help=HELP)
@click.argument("command_line", metavar="[COMMAND]", required=False)
@click.option("--preset", type=click.Choice(PRESETS), help="Judge by this preset, whatever the policies say.")
@click.option("--cwd", help="The directory that the command is run in.")
@click.option(
    "--tool",
    metavar="NAME",
    help="A tool of the agent: Read, Write, Delete, Grep, or by another agent's name; with --file or --input.",
)
@click.option("--file", metavar="PATH", help="The file that the tool is given; without --tool it is read.")
@click.option("--mcp", metavar="SERVER:TOOL", help="A call of an MCP server; with --input.")
@click.option("--input", "given", metavar="JSON", default="{}", help="The input of the tool.")
@click.option("--event", "event_file", type=click.File("rb"), help="A whole event as JSON; - for standard input.")
@click.option("--batch", is_flag=True, help="JSON lines on standard input, one JSON line out for each.")
def command(roots: Roots, *, batch: bool, **options: Any) -> Result:
    policy = _read_policy(roots, options["preset"])
    scanning = build_scanning(roots)._replace(key=bytes)  # nothing is kept, so nothing needs a digest
    if batch:
        _explain_batch(sys.stdin, roots, policy, scanning)
        return Result()
    world = _build_world(roots, options["cwd"])
    line = options["command_line"]
    if line is not None and (other := [name for name in OTHER_ACTIONS if options[name]]):
        hint = "what a tool is given is --input"
        raise UsageError(f"a command and --{other[0].removesuffix('_file')} are two questions", hint=hint)
    if line is not None:
        explanation = explain_command(line, world, policy, scanning).mask()
    else:
        explanation = explain_event(_build_event(options), world, policy, scanning).mask()
    permission = explanation.evaluation.permission
    lines = _format(explanation.content.mask(line or ""), explanation, policy)
    return Result(_build_data(explanation, policy), lines, ok=not permission, exit_code=PERMISSION_EXITS[permission])


def _read_policy(roots: Roots, preset: str | None) -> Policy:
    read = read_policies(roots, roots.projects, today=get_today())
    for problem in read.problems:
        warn(f"{problem.code} {printable(str(problem.place))}: {printable(problem.message)}")
    policy = read.policy
    return policy._replace(preset=preset, preset_layer="asked for") if preset else policy


def _build_world(roots: Roots, cwd: str | None = None, workspaces: Sequence[str] = ()) -> Environment:
    return build_environment(roots, workspaces or [str(project) for project in roots.projects], cwd or "")


def _build_event(options: dict[str, Any]) -> Event:
    if options["event_file"] is not None:
        return decode_any_event(options["event_file"].read())
    try:
        tool_input = json.loads(options["given"])
    except ValueError as error:
        raise UsageError(f"--input is no JSON: {error}") from None
    if not isinstance(tool_input, dict):
        raise UsageError("--input is an object: the names and values that the tool is given")
    if options["mcp"]:
        server, _, tool = options["mcp"].rpartition(":")
        return BeforeMCP(tool_name=tool, tool_input=tool_input, mcp_server_name=server or None)
    if options["tool"] or options["file"]:
        tool_input = {"file_path": options["file"], **tool_input} if options["file"] else tool_input
        return _build_tool_use(options["tool"] or "Read", tool_input)
    raise UsageError("there is nothing to explain", hint="give a command, or --file, --tool, --mcp, --event or --batch")


def _build_tool_use(name: str, tool_input: Any) -> PreToolUse:
    """Return the use of a tool by the name of any agent; a note says if no agent has such a tool."""
    ours, tool_input = to_cursor_tool(name, tool_input)
    if ours == name and name not in CURSOR_TOOLS and not split_mcp_name(name)[1]:
        click.echo(
            f"note: Trotline does not know what a tool `{printable(name)}` does; a hook would say nothing", err=True
        )
    return PreToolUse(tool_name=ours, tool_input=tool_input)


# For people


def _format(line: str, explanation: Explanation, policy: Policy) -> Iterator[str]:
    yield from _format_invocations(explanation.analysis.invocations, explanation.content)
    matched = {match.effect for match in explanation.evaluation.matches}
    for effect in explanation.analysis.effects:
        if effect.kind not in QUIET_KINDS or effect in matched:
            yield from _format_effect(line, effect)
    for match in explanation.evaluation.matches:
        yield from _format_match(match)
    permission = explanation.evaluation.permission
    word = permission.word if permission else "none: no guard has anything against it"
    yield f"{bold(click.style(word, fg=COLOURS.get(permission, 'green')))} {dim(f'(preset {policy.preset})')}"
    if explanation.smallest and explanation.smallest != line:
        yield f"  smallest part that gets the same: {printable(explanation.smallest)}"


def _format_invocations(invocations: Iterable[Invocation], content: TextFindings, depth: int = 0) -> Iterator[str]:
    for step in invocations:
        words = content.mask(" ".join([step.program.text, *(word.text for word in step.args)]).replace("\0", "…"))
        yield dim("  " * depth + "runs ") + printable(words[:MAX_LINE])
        yield from _format_invocations(step.children, content, depth + 1)


def _format_effect(line: str, effect: Effect) -> Iterator[str]:
    subject = effect.path or effect.host or effect.package or effect.target
    if effect.kind == KIND:
        subject = f"{effect.target} in {effect.path or effect.source}, {effect.why}"
    marks = [word for word, value in (("recursive", effect.recursive), (effect.certainty, effect.certainty)) if value]
    marks = [mark for mark in marks if mark != Certainty.KNOWN]
    note = f" ({', '.join(marks)})" if marks else ""
    yield f"{bold(effect.kind)} {effect.verb} {printable(subject)}{note}"
    if line and effect.column_to > effect.column_from and "\n" not in line and len(line) <= MAX_LINE:
        yield dim(f"    {printable(line)}")
        yield "    " + " " * effect.column_from + "^" * (effect.column_to - effect.column_from)
    reached = measure_deletion(effect.path) if effect.writes and effect.path.startswith("/") else None
    if reached is not None:
        yield dim(f"    {reached.path}: {reached.words}")


def _format_match(match: RuleMatch) -> Iterator[str]:
    action = click.style(match.action, fg=COLOURS.get(match.action.permission, "blue"))
    mandatory = dim(" (mandatory)") if match.rule.mandatory else ""
    yield f"{action} {match.guard}, {match.rule.name}: {printable(match.reason)}{mandatory}"
    if match.rule.instead:
        yield dim(f"    instead: {match.rule.instead}")


# For programs


def _build_data(explanation: Explanation, policy: Policy) -> dict[str, Any]:
    return {
        "permission": explanation.evaluation.permission.word,
        "preset": policy.preset,
        "steps": [_build_step(step, explanation.content) for step in explanation.analysis.invocations],
        "effects": [msgspec.to_builtins(effect) for effect in explanation.analysis.effects],
        "matches": [
            {
                "guard": match.guard,
                "rule": match.rule.name,
                "layer": match.layer,
                "action": match.action,
                "reason": match.reason,
                "instead": match.rule.instead,
            }
            for match in explanation.evaluation.matches
        ],
        "smallest": explanation.smallest,
    }


def _build_step(step: Invocation, content: TextFindings) -> dict[str, Any]:
    words = [content.mask(word.text.replace("\0", "…")) for word in (step.program, *step.args)]
    inner = [_build_step(child, content) for child in step.children]
    return {"words": words, "from": step.start, "to": step.end, "runs": inner}


def _explain_batch(lines: TextIO, roots: Roots, policy: Policy, scanning: Scanning) -> None:
    for line in lines:
        if line.strip():
            click.echo(json.dumps(_explain_line(line, roots, policy, scanning), ensure_ascii=False))


def _explain_line(line: str, roots: Roots, policy: Policy, scanning: Scanning) -> dict[str, Any]:
    """Return the answer to one line of a batch; for a wrong line, the error."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise UsageError("a line of a batch is an object")
        preset = row.get("preset") or policy.preset
        if preset not in PRESETS:
            raise UsageError(f"there is no preset `{preset}`")
        workspace = [str(row["workspace"])] if row.get("workspace") else [*map(str, row.get("workspace_roots") or ())]
        world = _build_world(roots, row.get("cwd"), workspace)
        start = time.perf_counter_ns()
        explanation = explain_event(_build_row_event(row, line), world, policy._replace(preset=preset), scanning).mask()
        micros = (time.perf_counter_ns() - start) // 1000
    except (ValueError, TrotlineError) as error:
        return {"error": str(error)}
    return {
        "permission": explanation.evaluation.permission.word,
        "reasons": [f"{match.guard}: {match.reason}" for match in explanation.evaluation.matches],
        "effects": [msgspec.to_builtins(effect) for effect in explanation.analysis.effects],
        "opaque": any(effect.certainty is Certainty.OPAQUE for effect in explanation.analysis.effects),
        "micros": micros,
    }


def _build_row_event(row: dict[str, Any], line: str) -> Event:
    if row.get("hook_event_name") or not {"command", "tool_name"} & row.keys():
        return decode_any_event(line)
    if "command" in row:
        if not isinstance(row["command"], str):
            raise UsageError("a command is a text")
        return BeforeShell(command=row["command"])
    return _build_tool_use(str(row["tool_name"]), row.get("tool_input"))
