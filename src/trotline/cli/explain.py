"""trotline explain: what an action would do, who says what about it, and why."""

import json
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import click
import msgspec

from trotline.analysis.scene import World
from trotline.analysis.step import Step
from trotline.blast import blast
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, printable
from trotline.config.places import Roots
from trotline.config.policies import read_policies
from trotline.config.problems import Severity
from trotline.content import KIND, Content, Scanning
from trotline.effects import Certainty, Effect
from trotline.errors import TrotlineError, UsageError
from trotline.events import BeforeMCP, BeforeShell, Event, PreToolUse
from trotline.explanation import Explanation, explained, explained_event
from trotline.guarding import scanning_of, world_at
from trotline.guards.guard import PRESETS, Opinion
from trotline.guards.policy import Policy
from trotline.hooks import mcp_parts
from trotline.hosts.recognition import OURS, anyones_event, anyones_tool
from trotline.machine import today
from trotline.verdicts import Permission

HELP = """Say what an action would do, and what the guards say about it. Nothing is run.

Exit 0 when it would be let through, 10 when a person would be asked, 20 when it would be denied.

\b
  trotline explain 'cd / && rm -rf *'
  trotline explain --preset strict 'git reset --hard'
  trotline explain --file ~/.ssh/id_rsa                      an agent reads this file
  trotline explain --tool Write --file .cursor/hooks.json    an agent writes it
  trotline explain --mcp db:run_query --input '{"sql": "drop table users"}'
  trotline explain --event payload.json                      a whole event, as a host sends it
  trotline explain --batch < commands.jsonl                  one JSON line in, one out
"""
EXIT = {Permission.SILENT: 0, Permission.ALLOW: 0, Permission.ASK: 10, Permission.DENY: 20}
COLOURS = {Permission.DENY: "red", Permission.ASK: "yellow"}
QUIET = frozenset({"environment"})
"""Effects that are shown only when a guard speaks about them."""


@click.command("explain", help=HELP)
@click.argument("command_line", metavar="[COMMAND]", required=False)
@click.option("--preset", type=click.Choice(PRESETS), help="Judge by this preset, whatever the policies say.")
@click.option("--cwd", help="The directory that the command is run in.")
@click.option(
    "--tool",
    metavar="NAME",
    help="A tool of the agent: Read, Write, Delete, Grep, or by another host's name; with --file or --input.",
)
@click.option("--file", metavar="PATH", help="The file that the tool is given; without --tool it is read.")
@click.option("--mcp", metavar="SERVER:TOOL", help="A call of an MCP server; with --input.")
@click.option("--input", "given", metavar="JSON", default="{}", help="The input of the tool.")
@click.option("--event", "event_file", type=click.File("rb"), help="A whole event as JSON; - for standard input.")
@click.option("--batch", is_flag=True, help="JSON lines on standard input, one JSON line out for each.")
@json_option
@roots_options
@click.pass_context
def command(context: click.Context, /, roots: Roots, *, as_json: bool, batch: bool, **asked: Any) -> None:
    policy = _policy(roots, asked["preset"])
    scanning = scanning_of(roots)._replace(key=bytes)  # nothing is kept, so nothing needs a digest
    if batch:
        _batch(sys.stdin, roots, policy, scanning)
        return
    world = _world(roots, asked["cwd"])
    line = asked["command_line"]
    if line is not None and (other := [name for name in OTHERS if asked[name]]):
        hint = "what a tool is given is --input"
        raise UsageError(f"a command and --{other[0].removesuffix('_file')} are two questions", hint=hint)
    found = explained(line, world, policy, scanning) if line is not None else _other(asked, world, policy, scanning)
    found = found.clean
    if as_json:
        ok = not found.judgement.permission
        click.echo(envelope("trotline.explain/1", ok=ok, data=_data(found, policy), problems=[]))
    else:
        _show(found.content.without(line or ""), found, policy)
    context.exit(EXIT[found.judgement.permission])


OTHERS = ("tool", "mcp", "file", "event_file")


def _policy(roots: Roots, preset: str | None) -> Policy:
    read = read_policies(roots, roots.projects, today=today())
    for problem in read.problems:
        told = f"{problem.code} {printable(str(problem.place))}: {printable(problem.message)}"
        click.echo(paint(told, Severity.WARNING), err=True)
    policy = read.policy
    return policy._replace(preset=preset, preset_layer="asked for") if preset else policy


def _world(roots: Roots, cwd: str | None = None, workspaces: Sequence[str] = ()) -> World:
    """As a hook would see it that was called in this project."""
    return world_at(roots, workspaces or [str(project) for project in roots.projects], cwd or "")


def _other(asked: dict[str, Any], world: World, policy: Policy, scanning: Scanning) -> Explanation:
    """An action that is no command line."""
    return explained_event(_event(asked), world, policy, scanning)


def _event(asked: dict[str, Any]) -> Event:
    if asked["event_file"] is not None:
        return anyones_event(asked["event_file"].read())
    try:
        given = json.loads(asked["given"])
    except ValueError as error:
        raise UsageError(f"--input is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("--input is an object: the names and values that the tool is given")
    if asked["mcp"]:
        server, _, tool = asked["mcp"].rpartition(":")
        return BeforeMCP(tool_name=tool, tool_input=given, mcp_server_name=server or None)
    if asked["tool"] or asked["file"]:
        given = {"file_path": asked["file"], **given} if asked["file"] else given
        return _tool(asked["tool"] or "Read", given)
    raise UsageError("there is nothing to explain", hint="give a command, or --file, --tool, --mcp, --event or --batch")


def _tool(name: str, given: Any) -> PreToolUse:
    """A tool by any host's name. One that nobody has is no mistake, but what it does is not known either."""
    ours, given = anyones_tool(name, given)
    if ours == name and name not in OURS and not mcp_parts(name)[1]:
        click.echo(
            f"note: Trotline does not know what a tool `{printable(name)}` does; a hook would say nothing", err=True
        )
    return PreToolUse(tool_name=ours, tool_input=given)


# For people


def _show(line: str, found: Explanation, policy: Policy) -> None:
    _tree(found.analysis.steps, found.content)
    spoken = {opinion.effect for opinion in found.judgement.opinions}
    for effect in found.analysis.effects:
        if effect.kind not in QUIET or effect in spoken:
            _effect(line, effect)
    for opinion in found.judgement.opinions:
        _opinion(opinion)
    permission = found.judgement.permission
    word = permission.word if permission else "silent: no guard has anything against it"
    click.echo(f"{bold(click.style(word, fg=COLOURS.get(permission, 'green')))} {dim(f'(preset {policy.preset})')}")
    if found.smallest and found.smallest != line:
        click.echo(f"  smallest part that gets the same: {printable(found.smallest)}")
    for text in found.instead:
        click.echo(f"  would be let through: {text}")


def _tree(steps: Iterable[Step], content: Content, depth: int = 0) -> None:
    for step in steps:
        words = content.without(" ".join([step.program.text, *(word.text for word in step.words)]).replace("\0", "…"))
        click.echo(dim("  " * depth + "runs ") + printable(words[:160]))
        _tree(step.inner, content, depth + 1)


def _effect(line: str, effect: Effect) -> None:
    what = _found(effect) if effect.kind == KIND else effect.path or effect.host or effect.package or effect.target
    marks = [word for word, given in (("recursive", effect.recursive), (effect.certainty, effect.certainty)) if given]
    marks = [mark for mark in marks if mark != Certainty.KNOWN]
    note = f" ({', '.join(marks)})" if marks else ""
    click.echo(f"{bold(effect.kind)} {effect.verb} {printable(what)}{note}")
    if line and effect.column_to > effect.column_from and "\n" not in line and len(line) <= 160:
        click.echo(dim(f"    {printable(line)}"))
        click.echo("    " + " " * effect.column_from + "^" * (effect.column_to - effect.column_from))
    reached = blast(effect.path) if effect.writes and effect.path.startswith("/") else None
    if reached is not None:
        click.echo(dim(f"    {reached.path}: {reached.words}"))


def _found(effect: Effect) -> str:
    return f"{effect.target} in {effect.path or effect.source}, {effect.why}"


def _opinion(opinion: Opinion) -> None:
    says = click.style(opinion.says, fg=COLOURS.get(opinion.says.permission, "blue"))
    floor = dim(" (floor)") if opinion.row.floor else ""
    click.echo(f"{says} {opinion.guard}, {opinion.row.name}: {printable(opinion.reason)}{floor}")
    if opinion.row.instead:
        click.echo(dim(f"    instead: {opinion.row.instead}"))


# For programs


def _data(found: Explanation, policy: Policy) -> dict[str, Any]:
    return {
        "permission": found.judgement.permission.word,
        "preset": policy.preset,
        "steps": [_step(step, found.content) for step in found.analysis.steps],
        "effects": [msgspec.to_builtins(effect) for effect in found.analysis.effects],
        "opinions": [
            {
                "guard": one.guard,
                "row": one.row.name,
                "says": one.says,
                "reason": one.reason,
                "instead": one.row.instead,
            }
            for one in found.judgement.opinions
        ],
        "smallest": found.smallest,
        "instead": list(found.instead),
    }


def _step(step: Step, content: Content) -> dict[str, Any]:
    words = [content.without(word.text.replace("\0", "…")) for word in (step.program, *step.words)]
    inner = [_step(one, content) for one in step.inner]
    return {"words": words, "from": step.start, "to": step.end, "runs": inner}


def _batch(lines: TextIO, roots: Roots, policy: Policy, scanning: Scanning) -> None:
    for line in lines:
        if line.strip():
            click.echo(json.dumps(_answered(line, roots, policy, scanning), ensure_ascii=False))


def _answered(line: str, roots: Roots, policy: Policy, scanning: Scanning) -> dict[str, Any]:
    """One line of a batch; what is wrong with it is its answer."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise UsageError("a line of a batch is an object")
        preset = row.get("preset") or policy.preset
        if preset not in PRESETS:
            raise UsageError(f"there is no preset `{preset}`")
        workspace = [str(row["workspace"])] if row.get("workspace") else [*map(str, row.get("workspace_roots") or ())]
        world = _world(roots, row.get("cwd"), workspace)
        begun = time.perf_counter_ns()
        found = explained_event(_of_row(row, line), world, policy._replace(preset=preset), scanning).clean
        micros = (time.perf_counter_ns() - begun) // 1000
    except (ValueError, TrotlineError) as error:
        return {"error": str(error)}
    return {
        "permission": found.judgement.permission.word,
        "reasons": [f"{one.guard}: {one.reason}" for one in found.judgement.opinions],
        "effects": [msgspec.to_builtins(effect) for effect in found.analysis.effects],
        "opaque": any(effect.certainty is Certainty.OPAQUE for effect in found.analysis.effects),
        "micros": micros,
    }


def _of_row(row: dict[str, Any], line: str) -> Event:
    if row.get("hook_event_name") or not {"command", "tool_name"} & row.keys():
        return anyones_event(line)
    if "command" in row:
        if not isinstance(row["command"], str):
            raise UsageError("a command is a text")
        return BeforeShell(command=row["command"])
    return _tool(str(row["tool_name"]), row.get("tool_input"))
