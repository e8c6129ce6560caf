"""`make demo`: an agent in a sample shop, with hooks in four layers. Found out, put right, trusted, and played.

Everything happens in a scratch copy: real hooks, real tools, a scripted model.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from agent import notes_server, story
from agent.editor import Editor
from agent.hand import Workspace
from agent.loop import Limits, play
from agent.mcp_client import Server
from agent.model import ScriptedModel
from agent.narrator import Narrator, watched
from trotline.events import EVENTS

SAMPLE = Path(__file__).parent / "shop"
FITS = 600
"""Tokens that the model's context holds here: few, so that it has to be folded once."""


class Step(NamedTuple):
    """What the person thinks, and what they type."""

    thought: str
    argv: list[str]


class Repair(NamedTuple):
    """What the person changes in a file."""

    thought: str
    file: str
    old: str
    new: str


FIRST_ACT: tuple[Step | Repair, ...] = (
    Step("A guard keeps the agent away from .env. Is it on?", ["show", "beforeReadFile"]),
    Step("It is off, and nobody was told. What else is wrong, where, and what is there to do?", ["check"]),
    Repair("The event's name:", "home/.cursor/hooks.json", "beforeShellExec", "beforeShellExecution"),
    Repair("The formatter's path:", "project/.cursor/hooks.json", "./hooks/format.py", ".cursor/hooks/format.py"),
    Repair("Seconds, not milliseconds:", "project/.cursor/hooks.json", "30000", "30"),
    Step("Better?", ["check"]),
    Step("The project's hooks are code from a repository. Look at them, and let them run:", ["trust", "--yes"]),
)


class Person:
    """Somebody careful: asked, they say no."""

    def __init__(self, narrator: Narrator) -> None:
        self.narrator = narrator

    def agrees(self, question: str) -> bool:
        self.narrator.say(f'  The person is asked: "{question}", and says no.')
        return False

    def reads(self, text: str) -> None:
        """The narrator has told it already."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="trotline-demo-") as scratch:
        world = Path(scratch).resolve()
        shutil.copytree(SAMPLE, world, dirs_exist_ok=True)
        _title("First act: a guard that is off")
        if not all(_take(world, step) for step in FIRST_ACT):
            return 1
        _title("Second act: the agent")
        _second_act(world)
    print("\n# Your own project: run `.venv/bin/trotline check` in it. Nothing is run and nothing is changed.")
    return 0


def _title(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}")


def _take(world: Path, step: Step | Repair) -> bool:
    print(f"\n# {step.thought}")
    if isinstance(step, Step):
        return _type(world, step.argv)
    path = world / step.file
    path.write_text(path.read_text("utf-8").replace(step.old, step.new), "utf-8")
    print(f"- {step.old}\n+ {step.new}")
    return True


def _type(world: Path, argv: list[str]) -> bool:
    print(f"$ trotline {' '.join(argv)}", flush=True)
    roots = [f"--{name}={world / name}" for name in ("home", "system", "project")]
    done = subprocess.run(
        [sys.executable, "-m", "trotline", *argv, *roots],
        cwd=world / "project",
        env={**os.environ, "TMPDIR": str(world)},
        capture_output=True,
        text=True,
        check=False,
    )
    print(_as_seen(done.stdout, world).rstrip(), flush=True)
    if done.returncode in {0, 1}:
        return True
    print(done.stderr, file=sys.stderr)
    return False


def _second_act(world: Path) -> None:
    """The editor opens, a person types, the agent works; every sentence is told by what hooks could see."""
    narrator = Narrator(lambda text: _as_seen(text, world))
    engine = watched(narrator).load(project=world / "project", home=world / "home", system=world / "system")
    print("\nHooks in four layers:")
    for hook in engine.current.configuration.hooks:
        print(f"  {hook.layer.kind:<11} {hook.event:<21} {hook.line}")
    model = ScriptedModel(story.shop(), {"explore": story.explorer})
    with Server("notes", [sys.executable, notes_server.__file__, str(world / "home" / "notes.txt")]) as notes:
        workspace = Workspace(world / "project", {"notes": notes})
        editor = Editor(engine, workspace)
        editor.open_workspace()
        for name in ("cart.py", ".env"):
            narrator.say("Tab knows it now." if editor.read_for_tab(name) else "Tab learns nothing of it.")
        editor.complete("cart.py", 1, "  # see SHOP-42")
        play(engine, model, [story.PROMPT], workspace, person=Person(narrator), limits=Limits(tokens=FITS))
    _title("What is left")
    _remains(world, model, narrator)


def _remains(world: Path, model: ScriptedModel, narrator: Narrator) -> None:
    read = {message.text for request in model.requests for message in request}
    leaked = sum(secret in text for text in read for secret in ("key-of-the-sample-shop", "tok-31337-sample"))
    privileged = "privileged" in (world / "project" / "deploy" / "shop.yaml").read_text("utf-8")
    audit = (world / "system" / "etc" / "cursor" / "audit.jsonl").read_text("utf-8").splitlines()
    told = narrator.events
    print(f"\nThe model read {len(read)} messages. The key in .env and the token in the notes are in {leaked} of them.")
    print(f"The manifest was written {'with' if privileged else 'without'} `privileged`.")
    print(f"The company's audit has {len(audit)} tool calls. Hooks ran {narrator.runs} times.")
    print(f"{len(set(told))} of {len(EVENTS)} events were raised, {len(told)} times in all.")


def _as_seen(text: str, world: Path) -> str:
    """Paths as a person knows them, instead of where the sample was copied to."""
    for name, shown in (("project", "~/shop"), ("home", "~"), ("system", "")):
        text = text.replace(str(world / name), shown)
    return text


if __name__ == "__main__":
    sys.exit(main())
