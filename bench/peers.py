"""Install hooks to compare with: bare ones in other languages, and those of other projects.

They are installed into a directory outside of the repository, which a second run uses again. A hook that cannot be
installed, or that does not let a harmless command pass, is named on standard error and left out. A library gets the
smallest hook that its documentation shows.

    python bench/hook_path.py --peers DIRECTORY [ROUNDS]
"""

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = "npm test -- --shard=@turn && git status --short"
WORKSPACE = tempfile.gettempdir()  # an existing directory, because one of the peers refuses everything elsewhere
SECONDS = 300

CURSOR: dict[str, Any] = {
    "hook_event_name": "beforeShellExecution",
    "conversation_id": "bench",
    "generation_id": "g",
    "cursor_version": "3.21.16",
    "workspace_roots": [WORKSPACE],
    "command": COMMAND,
    "cwd": WORKSPACE,
}
CURSOR_TOOL: dict[str, Any] = {
    **{key: value for key, value in CURSOR.items() if key != "command"},
    "hook_event_name": "preToolUse",
    "tool_name": "Shell",
    "tool_input": {"command": COMMAND},
    "tool_use_id": "t",
}
CLAUDE: dict[str, Any] = {
    "hook_event_name": "PreToolUse",
    "session_id": "bench",
    "transcript_path": f"{WORKSPACE}/t.jsonl",
    "cwd": WORKSPACE,
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": COMMAND},
    "tool_use_id": "t",
}
"""The same harmless command in the payload of each agent; `@turn` makes every call different."""


class Contender(NamedTuple):
    """A hook line and its payload."""

    words: tuple[str, ...]
    payload: bytes
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed


class Peer(NamedTuple):
    """A hook of another project. `line` has placeholders: `{bin}` and `{modules}` are directories with the programs of
    pip and npm, `{hooks}` is one with our hooks, and `{hook}` is the hook."""

    name: str
    line: str
    event: dict[str, Any]
    pip: str = ""
    npm: tuple[str, ...] = ()
    hook: tuple[str, str] = ("", "")


BUN = "bun@1.4.4"
JS_HOOK = """
const event = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ permission: event.command.includes("terraform") ? "deny" : "allow" }));
"""
TS_HOOK = """
const event: { command: string } = await Bun.stdin.json();
console.log(JSON.stringify({ permission: event.command.includes("terraform") ? "deny" : "allow" }));
"""
CCHOOKS = """
from cchooks import create_context

create_context().output.exit_success()
"""
POLYHOOK = """
import polyhook

polyhook.read()
polyhook.respond(polyhook.approve())
"""
CLAUDE_HOOK_UTILS = """
from claude_hook_utils import HookHandler


class Silent(HookHandler):
    def pre_tool_use(self, event):
        return None


Silent().run()
"""
AGENT_HOOKS = """
from agent_hooks import AgentHook, PermissionRequestEvent, build_permission_response
from agent_hooks.enums import DialogButton

app = AgentHook()


@app.permission()
def judged(event: PermissionRequestEvent):
    return build_permission_response(DialogButton.ALLOW_ONCE, event)
"""
CC_HOOKS_TS = """
import { defineHook, runHook } from "cc-hooks-ts";

await runHook(defineHook({ trigger: { PreToolUse: true }, run: (context) => context.success() }));
"""

PEERS = (
    Peer("a hook for node", "{node} {hook}", CURSOR, hook=("plain.js", JS_HOOK)),
    Peer("a hook for bun", "{modules}/bun {hook}", CURSOR, npm=(BUN,), hook=("plain.ts", TS_HOOK)),
    Peer("cchooks 0.1.5", "{bin}/python {hook}", CLAUDE, pip="cchooks==0.1.5", hook=("cchooks_hook.py", CCHOOKS)),
    Peer(
        "cc-hooks-ts 2.1.251, bun",
        "{modules}/bun run -i --silent {hook}",
        CLAUDE,
        npm=(BUN, "cc-hooks-ts@2.1.251"),
        hook=("cc_hooks.ts", CC_HOOKS_TS),
    ),
    Peer("cursor-secret-scan 0.1.14", "{bin}/cursor-secret-scan --mode=pre", CURSOR, pip="cursor-secret-scan==0.1.14"),
    Peer(
        "claude-hook-utils 0.4.0",
        "{bin}/python {hook}",
        CLAUDE,
        pip="claude-hook-utils==0.4.0",
        hook=("utils_hook.py", CLAUDE_HOOK_UTILS),
    ),
    Peer("nah 0.11.0", "{bin}/nah _claude-hook", CLAUDE, pip="nah==0.11.0"),
    Peer(
        "agent-hooks 0.2.0",
        "{bin}/agent-hooks run --app-dir {hooks} --provider codex {hook}",
        CLAUDE,
        pip="agent-hooks==0.2.0",
        hook=("agent_hook.py", AGENT_HOOKS),
    ),
    Peer("polyhook 0.2.0", "{bin}/python {hook}", CURSOR, pip="polyhook==0.2.0", hook=("poly_hook.py", POLYHOOK)),
    Peer("block-no-verify 1.3.0", "{modules}/block-no-verify", CURSOR_TOOL, npm=("block-no-verify@1.3.0",)),
    Peer("cc-safety-net 2.4.5", "{modules}/cc-safety-net hook --cursor", CURSOR_TOOL, npm=("cc-safety-net@2.4.5",)),
    Peer("@cdot65/prisma-airs-cursor-hooks", "", CURSOR, npm=("@cdot65/prisma-airs-cursor-hooks",)),
    Peer("@pivanov/agent-hooks-bridge", "", CURSOR, npm=("@pivanov/agent-hooks-bridge",)),
    Peer("@safedep/gryph", "", CURSOR, npm=("@safedep/gryph",)),
    Peer("@eqtylab/cupcake", "", CURSOR, npm=("@eqtylab/cupcake",)),
)


def install_peers(directory: Path) -> dict[str, Contender]:
    """Install all peers. Return those that work, and print a line on standard error for each of the others."""
    directory = directory.resolve()
    if directory.is_relative_to(Path(__file__).resolve().parent.parent):
        raise SystemExit("peers are not installed into the repository: name another directory")
    (directory / "hooks").mkdir(parents=True, exist_ok=True)
    (directory / "home").mkdir(exist_ok=True)
    found = {}
    for peer in PEERS:
        try:
            found[peer.name] = _ready(peer, directory)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            print(f"LEFT OUT: {peer.name}: {_describe_error(error)}", file=sys.stderr)
    return found


def _ready(peer: Peer, directory: Path) -> Contender:
    for command in _list_install_commands(peer, directory):
        subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=SECONDS)
    name, text = peer.hook
    hooks = directory / "hooks"
    hook = hooks / (name or "none")
    hook.write_text(text, "utf-8")
    node = shutil.which("node") or ""
    programs = {"bin": directory / "python" / "bin", "modules": directory / "node_modules" / ".bin"}
    places = {**programs, "hooks": hooks, "hook": hook}
    words = tuple(word.format(node=node, **places) for word in peer.line.split())
    if not words or not words[0]:
        raise ValueError("it is installed, and no way to run it offline is known" if node else "there is no node here")
    environment = {"HOME": str(directory / "home"), "PATH": f"{Path(node).parent}:/usr/bin:/bin"}
    one = Contender(words, json.dumps(peer.event).encode(), environment)
    done = subprocess.run(words, input=one.payload, env=environment, capture_output=True, check=True, timeout=SECONDS)
    if any(word in done.stdout for word in (b'"deny"', b'"ask"', b'"block"')):
        raise ValueError(f"it does not let the command pass: {done.stdout[:200]!r}")
    return one


def _list_install_commands(peer: Peer, directory: Path) -> Iterator[list[str]]:
    python = directory / "python" / "bin" / "python"
    if peer.pip:
        if not python.exists():
            venv.create(python.parent.parent, with_pip=True)
        yield [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.pip]
    missing = [package for package in peer.npm if not (directory / "node_modules" / _remove_version(package)).is_dir()]
    if missing:
        npm = shutil.which("npm")
        if npm is None:
            raise FileNotFoundError("there is no npm here")
        yield [npm, "install", "--prefix", str(directory), "--no-audit", "--no-fund", "--loglevel=error", *missing]


def _remove_version(package: str) -> str:
    return package[0] + package[1:].partition("@")[0]


def _describe_error(error: Exception) -> str:
    """Return the line that names the error: npm prints it first, Python last."""
    output = getattr(error, "stderr", None) or b""
    text = output if isinstance(output, str) else output.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in text else lines[0]) if lines else str(error)
