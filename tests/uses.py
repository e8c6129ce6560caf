"""A recipe with its example files in place, called through an engine and as a Cursor hook."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from trotline import Engine, Outcome
from trotline.agents.cursor.payloads import build_event
from trotline.cli import group

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "uses"


class CursorReply(NamedTuple):
    """The reply of the Cursor hook: permission, body, and the text on standard error."""

    permission: str
    body: dict[str, Any]
    log_output: str


class Use:
    """One example, installed as its page describes: policy in the configuration, hooks in ~/.cursor."""

    def __init__(self, name: str, root: Path) -> None:
        self.home, self.system, self.project = root / "home", root / "system", root / "home" / "shop"
        self.config = self.home / ".config" / "trotline"
        for directory in (self.system, self.project, self.config, self.home / ".cursor"):
            directory.mkdir(parents=True)
        example = EXAMPLES / name
        for file, place in (("trotline.toml", self.config), ("hooks.json", self.home / ".cursor")):
            if (example / file).exists():
                shutil.copy(example / file, place)
        if (example / "hooks").exists():
            shutil.copytree(example / "hooks", self.home / ".cursor" / "hooks")
        config = self.config / "trotline.toml"
        policy = config.read_text("utf-8") if config.exists() else ""
        config.write_text(f'ask_fallback = "ask"\n{policy}', "utf-8")
        self.conversations = 0

    def payload(self, event: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Build a payload in a new conversation, unless the fields name one."""
        self.conversations += 1
        shared = {"conversation_id": f"talk-{self.conversations}", "workspace_roots": [str(self.project)]}
        return {**shared, "hook_event_name": event, **fields}

    def engine(self, event: str, **fields: Any) -> Outcome:
        engine = Engine.load(project=self.project, home=self.home, system=self.system, guarded=True)
        body = self.payload(event, fields)
        return engine.dispatch(build_event(body, body.pop("hook_event_name")))

    def cursor(self, event: str, **fields: Any) -> CursorReply:
        argv = [sys.executable, "-I", "-m", "trotline", "hook", "cursor", "--event", event, "--home", str(self.home)]
        payload = json.dumps(self.payload(event, fields))
        done = subprocess.run(argv, input=payload, capture_output=True, text=True, check=False, cwd=self.project)
        assert done.returncode == 0, done.stderr
        body = json.loads(done.stdout or "{}")
        continue_permission = {True: "allow", False: "deny"}.get(body.get("continue"), "")
        return CursorReply(body.get("permission") or continue_permission, body, done.stderr)

    def both(self, event: str, **fields: Any) -> tuple[str, str]:
        """Return the permission of the engine and of the hook; no opinion is allow."""
        word = self.engine(event, **fields).decision.permission.word
        return {"none": "allow"}.get(word, word), self.cursor(event, **fields).permission

    def trotline(self, *words: str) -> tuple[int, str]:
        from click.testing import CliRunner

        roots = ["--home", str(self.home), "--system", str(self.system), "--project", str(self.project)]
        done = CliRunner().invoke(group, [*words, *roots], standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.return_value, done.output
