"""`make test-clients`: our installed line under real agents, offline, with a scripted model.

The kit that drives them lies beside this repository (../shared/clients); it installs pinned versions and runs each in a
network namespace of its own. For each agent: `trotline install`, then a shell command with the canary's word, which
must leave no trace, and a harmless one, which must run; and the records must say so.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
KIT = ROOT.parent / "shared" / "clients"
BIN = Path(sys.executable).parent
AGENTS = {
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini-cli": "gemini-cli",
    "qwen-code": "qwen-code",
    "copilot-cli": "copilot",
    "factory-droid": "factory-droid",
    "cline": "cline",
    "opencode": "opencode",
}
"""The kit's names, and ours."""

MUTE = frozenset({"cline"})
"""Agents that end the whole task with a refusal: there is no model any more that could be told why."""

COMMANDS = {"canary": "echo trotline-canary > marker.txt", "harmless": "echo harmless > marker.txt"}


class Seen(NamedTuple):
    """What became of one command under one agent."""

    agent: str
    version: str
    command: str
    ran: bool
    told: bool  # whether the model was given our reason
    recorded: str

    @property
    def right(self) -> bool:
        canary = self.command == "canary"
        told = canary and self.agent not in MUTE
        return self.ran is not canary and self.recorded == ("deny" if canary else "none") and self.told is told


def main() -> int:
    if not KIT.exists():
        print("there is no kit of real agents beside this repository (../shared/clients); nothing was tested")
        return 1
    names = sys.argv[1:] or list(AGENTS)
    subprocess.run([KIT / "install", *names], check=True, stdout=subprocess.DEVNULL)
    print("| agent | version | refused command ran | model was told why | harmless command ran | records |")
    print("|---|---|---|---|---|---|")
    seen = [[_play(name, command) for command in COMMANDS] for name in names]
    for canary, harmless in seen:
        records = f"{canary.recorded}, {harmless.recorded}"
        cells = [canary.agent, canary.version, canary.ran, canary.told, harmless.ran, records]
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    wrong = [one for pair in seen for one in pair if not one.right]
    for one in wrong:
        print(f"wrong: {one}")
    return 1 if wrong else 0


def _play(agent: str, command: str) -> Seen:
    with tempfile.TemporaryDirectory(prefix="trotline-clients-") as directory:
        out = Path(directory) / "out"
        setup = Path(directory) / "setup.sh"
        setup.write_text(
            f'#!/bin/sh\nexec "{BIN}/trotline" install {AGENTS[agent]} --yes --home "$HOME" --system "$HOME"\n'
        )
        setup.chmod(0o755)
        argv = [
            str(KIT / "run"),
            agent,
            "--home-setup",
            str(setup),
            "--shell",
            COMMANDS[command],
            "--out",
            str(out),
            "--keep",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{agent}: {done.stderr[-500:]}")
        result: dict[str, Any] = json.loads(done.stdout)
        recorded = _recorded(Path(result["out"]))
    told = any("canary" in text for text in result["model_saw"])
    return Seen(agent, result["version"], command, bool(result["command_ran"]), told, recorded)


def _recorded(out: Path) -> str:
    """What the spool says of the last shell command that was judged."""
    from trotline.audit.store.spool import Spool

    spools = list(out.rglob("spool.log"))
    records = [record for file in spools for record in Spool(file.parent).read().records]
    judged = [record["decided"] for record in records if record["event"] in {"preToolUse", "beforeShellExecution"}]
    return judged[-1] if judged else "nothing"


if __name__ == "__main__":
    sys.exit(main())
