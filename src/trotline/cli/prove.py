"""trotline prove: send a canary through the exact lines that are installed, and say what that proves and what not."""

import json
import subprocess
import time
from typing import Any, NamedTuple

import click

from trotline.canary import REASON, WORD
from trotline.cli.install import planned_for
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, printable
from trotline.config.installation import Done
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.wires import Wired, lines_of, wired
from trotline.events import BeforeShell, Event, PreToolUse
from trotline.hosts import HOSTS, host_named
from trotline.hosts.translation import write_event
from trotline.service.line import is_ours

HELP = """Send a canary through each installed line: a shell command that must be refused.

One line for each agent: whether its file is valid and our entries in it are current, whether the line ran, whether it
refused. What this cannot prove is said as well: that the agent has loaded the file, and does what it is answered.

\b
  trotline prove
  trotline prove --layer project
"""

PATIENCE = 10.0
SLOW = 0.2
GATES = ("beforeShellExecution", "preToolUse")


class Proof(NamedTuple):
    """What one installed line did with the canary."""

    host: str
    title: str
    file: str
    current: bool
    executed: bool
    refused: bool
    seconds: float
    said: str

    @property
    def holds(self) -> bool:
        return self.executed and self.refused


@click.command("prove", help=HELP)
@click.argument("hosts", nargs=-1, type=click.Choice(list(HOSTS)))
@click.option("--layer", type=click.Choice(["user", "project", "enterprise"]), default="user", show_default=True)
@json_option
@roots_options
def command(hosts: tuple[str, ...], layer: str, as_json: bool, roots: Roots) -> int:
    known = [host_named(name) for name in hosts or HOSTS]
    wires = [wired(host, layer, roots) for host in known if host.wiring is not None and layer in host.wiring.files]
    proofs = [proof for wire in wires if (proof := _proof(wire, roots)) is not None]
    if as_json:
        ok = bool(proofs) and all(proof.holds for proof in proofs)
        click.echo(envelope("trotline.prove/1", ok=ok, data=[proof._asdict() for proof in proofs], problems=[]))
    else:
        click.echo("\n".join(line for proof in proofs for line in _told(proof)) or "nothing of ours is installed here")
        click.echo(
            dim("Not proven: that the agent has loaded the file, and does what it is answered.") if proofs else ""
        )
    return 0 if proofs and all(proof.holds for proof in proofs) else 1


def _proof(wire: Wired, roots: Roots) -> Proof | None:
    """The canary through the gate of this host; None when nothing of ours is in its file."""
    lines = {event: line for event, line in lines_of(wire) if is_ours(line)}
    gate = next((event for ours in GATES for event in lines if wire.host.events.get(event) == ours), None)
    if not lines:
        return None
    current = planned_for(wire, roots).done is Done.NOTHING
    about = (wire.host.name, wire.host.title, str(wire.file), current)
    if gate is None:
        return Proof(*about, executed=False, refused=False, seconds=0, said="no gate of ours is in the file")
    begun = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - our own line, as the host runs it
            ["/bin/sh", "-c", lines[gate]],
            input=write_event(wire.host, _canary(wire.host.events[gate])),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Proof(*about, executed=False, refused=False, seconds=time.monotonic() - begun, said=str(error))
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    refused = REASON in said and (done.returncode == 2 or _is_object(done.stdout))
    return Proof(*about, executed=True, refused=refused, seconds=time.monotonic() - begun, said=said)


def _canary(event: str) -> Event:
    shell = f"echo {WORD}"
    if event == "preToolUse":
        return PreToolUse(tool_name="Shell", tool_input={"command": shell}, conversation_id="trotline-prove")
    return BeforeShell(command=shell, conversation_id="trotline-prove")


def _is_object(output: bytes) -> bool:
    try:
        body: Any = json.loads(output)
    except ValueError:
        return False
    return isinstance(body, dict)


def _told(proof: Proof) -> list[str]:
    words = ["valid" + ("" if proof.current else ", not current: run `trotline install`")]
    words.append("executed" if proof.executed else "not executed")
    words.append("refused" if proof.refused else "NOT refused")
    severity = Severity.NOTE if proof.holds else Severity.ERROR
    lines = [f"{bold(proof.title)}  {paint(' / '.join(words), severity)}  {dim(f'{proof.seconds * 1000:.0f} ms')}"]
    lines += [] if proof.holds else [f"  {printable(proof.said)[:300]}"]
    return lines + ([f"  slower than {SLOW * 1000:.0f} ms"] if proof.seconds > SLOW else [])
