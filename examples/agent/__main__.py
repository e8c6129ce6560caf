"""Play the agent on a workspace: `python examples/agent --script SCRIPT.json "Put it right."`.

A script is a JSON list of replies: {"thought": ..., "text": ..., "calls": [{"name": "Shell", "input": {...}}]}. Without
one, AGENT_BASE_URL and AGENT_MODEL name a real model. Hooks of all layers run, and their answers are printed.
"""

import argparse
import json
import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

if __package__ in {None, ""}:  # run as a directory, not as a module
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agent.endpoint import EndpointModel
from agent.loop import Limits, run_conversation
from agent.mcp_client import Server
from agent.model import Model, Reply, ScriptedModel, ToolCall
from agent.narrator import Narrator, make_printable, make_watched_engine
from agent.tool_context import Workspace


class Terminal:
    """A person at a terminal. Without a terminal, every question is answered with no."""

    def confirm(self, question: str) -> bool:
        return sys.stdin.isatty() and input(f"{make_printable(question)} [y/N] ").strip().lower() in {"y", "yes"}

    def show(self, text: str) -> None:
        print(make_printable(text), file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    args = _build_parser().parse_args(argv)
    model = _load_model(args.script)
    if model is None:
        print("no model: give --script, or set AGENT_BASE_URL and AGENT_MODEL", file=sys.stderr)
        return 64
    engine = make_watched_engine(Narrator()).load(
        project=args.project, home=args.home, system=args.system, audit_log=True
    )
    with ExitStack() as running:
        servers = {
            name: running.enter_context(Server(name, shlex.split(command)))
            for name, _, command in (text.partition("=") for text in args.mcp)
        }
        workspace = Workspace(Path(args.project), servers)
        agent = run_conversation(
            engine, model, [args.prompt], workspace, person=Terminal(), limits=Limits(transcript=args.transcript)
        )
    return 0 if agent else 20


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agent", description="A small agent whose loop raises every hook event.")
    parser.add_argument("prompt")
    parser.add_argument("--project", default=".", help="the workspace")
    parser.add_argument("--home", help="whose hooks run; yours, if not given")
    parser.add_argument("--system", help="where the enterprise's hooks are looked for")
    parser.add_argument("--script", type=Path, help="a JSON list of replies, played instead of a model")
    parser.add_argument("--mcp", action="append", default=[], metavar="NAME=COMMAND", help="an MCP server")
    parser.add_argument("--transcript", type=Path, help="a file that gets every message")
    return parser


def _load_model(script: Path | None) -> Model | None:
    if script is None:
        return EndpointModel.from_environment(os.environ)
    return ScriptedModel([_build_reply(reply) for reply in json.loads(script.read_text("utf-8"))])


def _build_reply(part: dict[str, object]) -> Reply:
    calls = part.get("calls") or []
    tool_calls = tuple(ToolCall(**call) for call in calls) if isinstance(calls, list) else ()
    return Reply(str(part.get("text", "")), str(part.get("thought", "")), tool_calls)


if __name__ == "__main__":
    sys.exit(main())
