"""`make test-clients`: run our installed line under real agents, offline, with a scripted model.

The kit that drives them is in ../shared/clients; it installs pinned versions and runs each in its own network
namespace. For each agent this script runs `trotline install`, then a shell command with the canary's word, which must
have no effect, and a harmless one, which must run. The records must show both.
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
"""The kit's names of agents, and ours."""

ENDS_TASK = frozenset({"cline"})
"""Agents that end the whole task with a refusal, so that no model reads the reason."""

COMMANDS = {"canary": "echo trotline-canary > marker.txt", "harmless": "echo harmless > marker.txt"}


class CommandResult(NamedTuple):
    """The effects of one command under one agent."""

    agent: str
    version: str
    command: str
    ran: bool
    has_reason: bool  # whether the model read our reason
    recorded: str

    @property
    def is_right(self) -> bool:
        canary = self.command == "canary"
        has_reason = canary and self.agent not in ENDS_TASK
        return (
            self.ran is not canary and self.recorded == ("deny" if canary else "none") and self.has_reason is has_reason
        )


def main() -> int:
    if not KIT.exists():
        print("there is no kit of real agents beside this repository (../shared/clients); nothing was tested")
        return 1
    names = sys.argv[1:] or list(AGENTS)
    subprocess.run([KIT / "install", *names], check=True, stdout=subprocess.DEVNULL)
    print("| agent | version | refused command ran | model was told why | harmless command ran | records |")
    print("|---|---|---|---|---|---|")
    results = [[_play(name, command) for command in COMMANDS] for name in names]
    for canary, harmless in results:
        records = f"{canary.recorded}, {harmless.recorded}"
        cells = [canary.agent, canary.version, canary.ran, canary.has_reason, harmless.ran, records]
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    wrong = [result for pair in results for result in pair if not result.is_right]
    for result in wrong:
        print(f"wrong: {result}")
    return 1 if wrong else 0


def _play(agent: str, command: str) -> CommandResult:
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
        recorded = _read_verdict(Path(result["out"]))
    has_reason = any("canary" in text for text in result["model_saw"])
    return CommandResult(agent, result["version"], command, bool(result["command_ran"]), has_reason, recorded)


def _read_verdict(out: Path) -> str:
    """Return the recorded verdict of the last shell command."""
    from trotline.audit.store.spool import Spool

    spools = list(out.rglob("spool.log"))
    records = [record for file in spools for record in Spool(file.parent).read().records]
    verdicts = [record["decided"] for record in records if record["event"] in {"preToolUse", "beforeShellExecution"}]
    return verdicts[-1] if verdicts else "nothing"


if __name__ == "__main__":
    sys.exit(main())
